//! Runners, their tokens and their epochs.

use store::{Error, RunnerAuth, RunnerName, Store, UserId};

use crate::support::{DAY_MS, START_MS, TestClock, add_user, store};

async fn store_with_two_users() -> (Store, TestClock, UserId, UserId) {
    let (store, clock) = store().await;
    let (ann, bob) = (add_user(&store, "ann").await.id, add_user(&store, "bob").await.id);
    (store, clock, ann, bob)
}

async fn add(store: &Store, user: UserId, name: &str) -> store::NewToken {
    store.add_runner(user, &RunnerName::parse(name).unwrap()).await.unwrap()
}

fn is_accepted(auth: &RunnerAuth) -> bool {
    matches!(auth, RunnerAuth::Accepted { .. })
}

#[tokio::test]
async fn a_token_opens_the_door_to_its_runner_only() {
    let (store, _, ann, bob) = store_with_two_users().await;
    let laptop = add(&store, ann, "laptop").await;
    let bobs = add(&store, bob, "laptop").await;
    assert_eq!(laptop.old_token_expires_at_ms, None);
    let RunnerAuth::Accepted { user, runner } =
        store.authenticate_runner(laptop.token.expose()).await.unwrap()
    else {
        panic!("a fresh token is accepted");
    };
    assert_eq!((user.id, user.name.as_str()), (ann, "ann"));
    assert_eq!((runner.id, runner.user, runner.name.as_str()), (laptop.runner, ann, "laptop"));
    assert_eq!(
        (runner.created_at_ms, runner.last_seen_ms, runner.token_expires_at_ms),
        (START_MS, None, None)
    );
    let RunnerAuth::Accepted { user, runner } = store.authenticate_runner(bobs.token.expose()).await.unwrap()
    else {
        panic!("a fresh token is accepted");
    };
    assert_eq!((user.id, runner.id), (bob, bobs.runner));
}

#[tokio::test]
async fn a_token_never_issued_is_unknown() {
    let (store, _, ann, _) = store_with_two_users().await;
    let token = add(&store, ann, "laptop").await.token;
    let session = store.create_session(ann).await.unwrap().token;
    let one_off = format!("{}A", &token.expose()[..token.expose().len() - 1]);
    let other_off = format!("{}B", &token.expose()[..token.expose().len() - 1]);
    for presented in ["", "sbr_", session.expose(), &"x".repeat(1 << 20), &token.expose().to_uppercase()] {
        assert_eq!(store.authenticate_runner(presented).await.unwrap(), RunnerAuth::Unknown);
    }
    for presented in [one_off, other_off] {
        let is_the_token = presented == token.expose();
        assert_eq!(is_accepted(&store.authenticate_runner(&presented).await.unwrap()), is_the_token);
    }
}

#[tokio::test]
async fn a_user_sees_and_changes_only_their_own_runners() {
    let (store, _, ann, bob) = store_with_two_users().await;
    add(&store, ann, "tower").await;
    add(&store, ann, "laptop").await;
    add(&store, bob, "server").await;
    let names: Vec<_> = store.runners(ann).await.unwrap().into_iter().map(|runner| runner.name).collect();
    assert_eq!(names, ["laptop", "tower"]);
    assert!(matches!(store.runner_by_name(bob, "laptop").await, Err(Error::NotFound { .. })));
    assert!(matches!(store.rotate_token(bob, "laptop").await, Err(Error::NotFound { .. })));
    assert!(matches!(store.revoke_runner(bob, "laptop").await, Err(Error::NotFound { .. })));
    assert_eq!(store.runners(ann).await.unwrap().len(), 2);
}

#[tokio::test]
async fn a_taken_runner_name_is_told() {
    let (store, _, ann, _) = store_with_two_users().await;
    add(&store, ann, "laptop").await;
    let error = store.add_runner(ann, &RunnerName::parse("laptop").unwrap()).await.unwrap_err();
    assert!(matches!(error, Error::Taken { what: "runner", .. }));
    assert_eq!(store.runners(ann).await.unwrap().len(), 1);
}

#[tokio::test]
async fn after_a_rotation_the_old_token_works_for_a_day_beside_the_new_one() {
    let (store, clock, ann, _) = store_with_two_users().await;
    let first = add(&store, ann, "laptop").await;
    clock.advance(1_000);
    let second = store.rotate_token(ann, "laptop").await.unwrap();
    assert_eq!(second.runner, first.runner);
    assert_eq!(second.old_token_expires_at_ms, Some(START_MS + 1_000 + DAY_MS));
    assert_eq!(store.runner_by_name(ann, "laptop").await.unwrap().token_expires_at_ms, None);
    clock.advance(DAY_MS - 1);
    assert!(is_accepted(&store.authenticate_runner(first.token.expose()).await.unwrap()));
    assert!(is_accepted(&store.authenticate_runner(second.token.expose()).await.unwrap()));
    clock.advance(1);
    assert_eq!(store.authenticate_runner(first.token.expose()).await.unwrap(), RunnerAuth::Expired);
    assert!(is_accepted(&store.authenticate_runner(second.token.expose()).await.unwrap()));
}

#[tokio::test]
async fn another_rotation_never_lengthens_an_older_tokens_life() {
    let (store, clock, ann, _) = store_with_two_users().await;
    let first = add(&store, ann, "laptop").await;
    store.rotate_token(ann, "laptop").await.unwrap();
    clock.advance(DAY_MS / 2);
    let third = store.rotate_token(ann, "laptop").await.unwrap();
    clock.advance(DAY_MS / 2);
    assert_eq!(store.authenticate_runner(first.token.expose()).await.unwrap(), RunnerAuth::Expired);
    assert!(is_accepted(&store.authenticate_runner(third.token.expose()).await.unwrap()));
}

#[tokio::test]
async fn an_expired_token_is_forgotten_after_ninety_days() {
    let (store, clock, ann, _) = store_with_two_users().await;
    let first = add(&store, ann, "laptop").await;
    store.rotate_token(ann, "laptop").await.unwrap();
    clock.advance(91 * DAY_MS - 1);
    assert_eq!(store.purge_expired().await.unwrap(), 0);
    clock.advance(1);
    assert_eq!(store.purge_expired().await.unwrap(), 1);
    assert_eq!(store.authenticate_runner(first.token.expose()).await.unwrap(), RunnerAuth::Unknown);
}

#[tokio::test]
async fn a_revoked_runner_is_gone_and_its_token_says_so() {
    let (store, clock, ann, _) = store_with_two_users().await;
    let laptop = add(&store, ann, "laptop").await;
    assert!(store.touch_last_seen(laptop.runner).await.unwrap());
    assert_eq!(store.revoke_runner(ann, "laptop").await.unwrap(), laptop.runner);
    assert_eq!(store.authenticate_runner(laptop.token.expose()).await.unwrap(), RunnerAuth::Revoked);
    assert!(store.runners(ann).await.unwrap().is_empty());
    assert!(!store.touch_last_seen(laptop.runner).await.unwrap());
    assert!(matches!(store.record_registration(laptop.runner, "{}").await, Err(Error::NotFound { .. })));
    assert!(matches!(store.revoke_runner(ann, "laptop").await, Err(Error::NotFound { .. })));

    let successor = add(&store, ann, "laptop").await;
    assert_ne!(successor.runner, laptop.runner);
    assert!(is_accepted(&store.authenticate_runner(successor.token.expose()).await.unwrap()));
    assert_eq!(store.authenticate_runner(laptop.token.expose()).await.unwrap(), RunnerAuth::Revoked);
    clock.advance(90 * DAY_MS);
    assert_eq!(store.purge_expired().await.unwrap(), 1);
    assert_eq!(store.authenticate_runner(laptop.token.expose()).await.unwrap(), RunnerAuth::Unknown);
}

#[tokio::test]
async fn a_removed_users_runner_token_is_unknown() {
    let (store, _, _, bob) = store_with_two_users().await;
    let token = add(&store, bob, "laptop").await;
    store.remove_user("bob").await.unwrap();
    assert_eq!(store.authenticate_runner(token.token.expose()).await.unwrap(), RunnerAuth::Unknown);
    assert!(!store.touch_last_seen(token.runner).await.unwrap());
}

#[tokio::test]
async fn a_registration_is_noted_and_gets_the_next_epoch() {
    let (store, clock, ann, _) = store_with_two_users().await;
    let laptop = add(&store, ann, "laptop").await.runner;
    let tower = add(&store, ann, "tower").await.runner;
    assert_eq!(store.record_registration(laptop, r#"{"os":"linux"}"#).await.unwrap(), 1);
    clock.advance(5);
    assert_eq!(store.record_registration(laptop, r#"{"os":"freebsd"}"#).await.unwrap(), 2);
    assert_eq!(store.record_registration(tower, "{}").await.unwrap(), 1);
    let runner = store.runner_by_name(ann, "laptop").await.unwrap();
    assert_eq!(runner.facts_json.as_deref(), Some(r#"{"os":"freebsd"}"#));
    assert_eq!(runner.last_seen_ms, Some(START_MS + 5));
    clock.advance(5);
    assert!(store.touch_last_seen(laptop).await.unwrap());
    assert_eq!(store.runner_by_name(ann, "laptop").await.unwrap().last_seen_ms, Some(START_MS + 10));
    let huge = "x".repeat(64 * 1024 + 1);
    assert!(matches!(store.record_registration(laptop, &huge).await, Err(Error::Invalid { .. })));
}

#[tokio::test]
async fn a_runner_added_again_under_its_name_goes_on_counting_epochs() {
    let (store, _, ann, bob) = store_with_two_users().await;
    let first = add(&store, ann, "laptop").await.runner;
    for epoch in 1..=3 {
        assert_eq!(store.record_registration(first, "{}").await.unwrap(), epoch);
    }
    store.revoke_runner(ann, "laptop").await.unwrap();
    let second = add(&store, ann, "laptop").await.runner;
    assert_eq!(store.record_registration(second, "{}").await.unwrap(), 4);
    let bobs = add(&store, bob, "laptop").await.runner;
    assert_eq!(store.record_registration(bobs, "{}").await.unwrap(), 1);
}
