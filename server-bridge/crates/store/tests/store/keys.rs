//! API keys for programs.

use store::{Error, KeyScope, Name};

use crate::support::{DAY_MS, START_MS, add_user, store};

fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

#[tokio::test]
async fn a_key_opens_its_owners_account_with_its_scope_until_it_is_removed() {
    let (store, _) = store().await;
    let (ann, bob) = (add_user(&store, "ann").await, add_user(&store, "bob").await);
    let (made, secret) = store.add_key(ann.id, &name("ci"), KeyScope::Exec, None).await.unwrap();
    assert!(secret.expose().starts_with("sbk_"));
    assert_eq!((made.created_at_ms, made.last_used_ms, made.expires_at_ms), (START_MS, None, None));
    let (user, key) = store.key_user(secret.expose()).await.unwrap().unwrap();
    assert_eq!((user, key), (ann.clone(), made));
    assert_eq!(store.session_user(secret.expose()).await.unwrap(), None, "a key is not a session");
    assert!(matches!(store.remove_key(bob.id, "ci").await, Err(Error::NotFound { .. })));
    store.remove_key(ann.id, "ci").await.unwrap();
    assert_eq!(store.key_user(secret.expose()).await.unwrap(), None);
    assert!(matches!(store.remove_key(ann.id, "ci").await, Err(Error::NotFound { .. })));
}

#[tokio::test]
async fn names_are_unique_among_one_users_keys_and_listings_hold_no_others() {
    let (store, _) = store().await;
    let (ann, bob) = (add_user(&store, "ann").await, add_user(&store, "bob").await);
    store.add_key(ann.id, &name("ci"), KeyScope::Full, None).await.unwrap();
    store.add_key(bob.id, &name("ci"), KeyScope::Read, None).await.unwrap();
    store.add_key(ann.id, &name("a"), KeyScope::Read, None).await.unwrap();
    let taken = store.add_key(ann.id, &name("ci"), KeyScope::Read, None).await.unwrap_err();
    assert!(matches!(taken, Error::Taken { what: "key", .. }), "{taken}");
    let names: Vec<_> = store.keys(ann.id).await.unwrap().into_iter().map(|key| key.name).collect();
    assert_eq!(names, ["a", "ci"]);
}

#[tokio::test]
async fn a_key_ends_when_it_was_said_and_is_forgotten_later() {
    let (store, clock) = store().await;
    let ann = add_user(&store, "ann").await;
    let (_, secret) = store.add_key(ann.id, &name("ci"), KeyScope::Full, Some(DAY_MS)).await.unwrap();
    clock.advance(DAY_MS - 1);
    assert!(store.key_user(secret.expose()).await.unwrap().is_some());
    clock.advance(1);
    assert_eq!(store.key_user(secret.expose()).await.unwrap(), None);
    store.purge_expired().await.unwrap();
    assert_eq!(store.keys(ann.id).await.unwrap().len(), 1, "its owner still sees why it does not work");
    clock.advance(90 * DAY_MS);
    assert_eq!(store.purge_expired().await.unwrap(), 1);
    assert!(store.keys(ann.id).await.unwrap().is_empty());
    for ttl_ms in [0, -1, 59_999, 3650 * DAY_MS + 1, i64::MAX] {
        let error = store.add_key(ann.id, &name("x"), KeyScope::Full, Some(ttl_ms)).await.unwrap_err();
        assert!(matches!(error, Error::Invalid { .. }), "{ttl_ms}: {error}");
    }
}

#[tokio::test]
async fn the_last_use_is_remembered_to_the_minute() {
    let (store, clock) = store().await;
    let ann = add_user(&store, "ann").await;
    let (_, secret) = store.add_key(ann.id, &name("ci"), KeyScope::Full, None).await.unwrap();
    for (later_ms, expected_ms) in [(0, 0), (59_999, 0), (1, 60_000)] {
        clock.advance(later_ms);
        store.key_user(secret.expose()).await.unwrap().unwrap();
        assert_eq!(store.keys(ann.id).await.unwrap()[0].last_used_ms, Some(START_MS + expected_ms));
    }
}

#[tokio::test]
async fn nobody_has_more_keys_than_they_can_look_through_and_nonsense_is_no_key() {
    let (store, _) = store().await;
    let ann = add_user(&store, "ann").await;
    for index in 0..100 {
        store.add_key(ann.id, &name(&format!("k{index}")), KeyScope::Read, None).await.unwrap();
    }
    let error = store.add_key(ann.id, &name("more"), KeyScope::Read, None).await.unwrap_err();
    assert!(error.to_string().contains("cannot exceed 100"), "{error}");
    for text in ["", "sbk_", "sbs_x", &"x".repeat(1 << 20)] {
        assert_eq!(store.key_user(text).await.unwrap(), None);
    }
    assert!("FULL".parse::<KeyScope>().is_err());
    store.remove_user("ann").await.unwrap();
    assert!(store.keys(ann.id).await.unwrap().is_empty());
}
