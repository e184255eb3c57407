//! Accounts, passwords, sessions and settings.

use store::{Error, KeyScope, Name, UserId};

use crate::support::{DAY_MS, PASSWORD, START_MS, add_user, store};

#[tokio::test]
async fn the_first_user_is_an_administrator_and_the_next_is_not() {
    let (store, _) = store().await;
    assert!(add_user(&store, "ann").await.admin);
    assert!(!add_user(&store, "bob").await.admin);
    let carol = store.add_user(&Name::parse("carol").unwrap(), PASSWORD, true).await.unwrap();
    assert!(carol.admin);
    assert_eq!(carol.created_at_ms, START_MS);
    let names: Vec<_> = store.users().await.unwrap().into_iter().map(|user| user.name).collect();
    assert_eq!(names, ["ann", "bob", "carol"]);
    assert_eq!(store.user_by_id(carol.id).await.unwrap(), Some(carol.clone()));
    assert_eq!(store.user_by_name("carol").await.unwrap(), Some(carol));
}

#[tokio::test]
async fn a_taken_user_name_is_told() {
    let (store, _) = store().await;
    add_user(&store, "ann").await;
    let error = store.add_user(&Name::parse("ann").unwrap(), PASSWORD, false).await.unwrap_err();
    assert!(matches!(error, Error::Taken { .. }));
    assert!(error.is_callers());
    assert_eq!(error.to_string(), "the name \"ann\" is already used by another user; choose another name");
}

#[tokio::test]
async fn only_the_right_password_opens_an_account() {
    let (store, _) = store().await;
    let ann = add_user(&store, "ann").await;
    add_user(&store, "bob").await;
    assert_eq!(store.verify_password("ann", PASSWORD).await.unwrap(), Some(ann));
    for (name, password) in
        [("ann", "wrong horse"), ("ann", ""), ("nobody", PASSWORD), ("", ""), ("'--", PASSWORD)]
    {
        assert_eq!(store.verify_password(name, password).await.unwrap(), None, "{name:?} {password:?}");
    }
    assert_eq!(store.verify_password("ann", &"x".repeat(1 << 20)).await.unwrap(), None);
}

#[tokio::test]
async fn a_password_that_is_too_short_or_too_long_is_refused() {
    let (store, _) = store().await;
    let name = Name::parse("ann").unwrap();
    for password in ["", "seven77", &"x".repeat(1025)] {
        let error = store.add_user(&name, password, false).await.unwrap_err();
        assert!(matches!(error, Error::Invalid { what: "password", .. }), "{error}");
    }
    assert!(store.users().await.unwrap().is_empty());
    store.add_user(&name, "äöüßäöüß", false).await.unwrap();
    assert!(store.set_password("ann", "short").await.is_err());
    assert!(store.verify_password("ann", "äöüßäöüß").await.unwrap().is_some());
}

#[tokio::test]
async fn a_new_password_ends_that_users_sessions_and_keys_and_no_others() {
    let (store, _) = store().await;
    let (ann, bob) = (add_user(&store, "ann").await, add_user(&store, "bob").await);
    let anns = store.create_session(ann.id).await.unwrap().token;
    let bobs = store.create_session(bob.id).await.unwrap().token;
    let mut keys = Vec::new();
    for user in [&ann, &bob] {
        keys.push(store.add_key(user.id, &Name::parse("k").unwrap(), KeyScope::Full, None).await.unwrap().1);
    }
    store.set_password("ann", "another horse").await.unwrap();
    assert!(store.key_user(keys[0].expose()).await.unwrap().is_none());
    assert!(store.key_user(keys[1].expose()).await.unwrap().is_some());
    assert_eq!(store.session_user(anns.expose()).await.unwrap(), None);
    assert_eq!(store.session_user(bobs.expose()).await.unwrap(), Some(bob));
    assert!(store.verify_password("ann", PASSWORD).await.unwrap().is_none());
    assert!(store.verify_password("ann", "another horse").await.unwrap().is_some());
    assert!(matches!(store.set_password("nobody", PASSWORD).await, Err(Error::NotFound { .. })));
}

#[tokio::test]
async fn a_user_is_changed_as_a_whole_or_not_at_all() {
    let (store, _) = store().await;
    let ann = add_user(&store, "ann").await;
    assert_eq!(store.change_user("ann", Some(false), Some("another horse")).await.unwrap(), None);
    assert!(store.change_user("ann", Some(true), Some("short")).await.is_err());
    assert!(
        store.verify_password("ann", PASSWORD).await.unwrap().is_some(),
        "the only administrator's password stays"
    );
    let bob = add_user(&store, "bob").await;
    let token = store.create_session(bob.id).await.unwrap().token;
    assert!(store.change_user("bob", Some(true), None).await.unwrap().unwrap().admin);
    assert!(store.session_user(token.expose()).await.unwrap().is_some(), "the password was not changed");
    assert!(store.change_user("bob", None, Some("another horse")).await.unwrap().unwrap().admin);
    assert_eq!(store.session_user(token.expose()).await.unwrap(), None);
    assert_eq!(store.user_by_name("ann").await.unwrap(), Some(ann));
    assert!(matches!(store.change_user("nobody", None, None).await, Err(Error::NotFound { .. })));
}

#[tokio::test]
async fn a_session_lasts_thirty_days() {
    let (store, clock) = store().await;
    let ann = add_user(&store, "ann").await;
    let session = store.create_session(ann.id).await.unwrap();
    assert_eq!(session.expires_at_ms, START_MS + 30 * DAY_MS);
    assert_eq!(store.purge_expired().await.unwrap(), 0);
    clock.advance(30 * DAY_MS - 1);
    assert_eq!(store.session_user(session.token.expose()).await.unwrap(), Some(ann));
    clock.advance(1);
    assert_eq!(store.session_user(session.token.expose()).await.unwrap(), None);
    assert_eq!(store.purge_expired().await.unwrap(), 1);
}

#[tokio::test]
async fn a_logged_out_session_opens_nothing() {
    let (store, _) = store().await;
    let ann = add_user(&store, "ann").await;
    let token = store.create_session(ann.id).await.unwrap().token;
    store.delete_session(token.expose()).await.unwrap();
    store.delete_session(token.expose()).await.unwrap();
    store.delete_session("nonsense").await.unwrap();
    assert_eq!(store.session_user(token.expose()).await.unwrap(), None);
    assert_eq!(store.session_user("sbs_").await.unwrap(), None);
}

#[tokio::test]
async fn a_removed_user_leaves_nothing_and_their_id_is_not_given_again() {
    let (store, _) = store().await;
    add_user(&store, "ann").await;
    let bob = add_user(&store, "bob").await;
    let token = store.create_session(bob.id).await.unwrap().token;
    let chat = store.create_chat(bob.id).await.unwrap();
    store.set_active_runner(bob.id, Some("laptop")).await.unwrap();
    store.remove_user("bob").await.unwrap();
    assert_eq!(store.session_user(token.expose()).await.unwrap(), None);
    assert!(store.chat(bob.id, &chat.id).await.is_err());
    assert_eq!(store.active_runner(bob.id).await.unwrap(), None);
    assert_ne!(add_user(&store, "bob").await.id, bob.id);
    assert!(matches!(store.remove_user("nobody").await, Err(Error::NotFound { .. })));
    assert!(store.create_session(UserId(999)).await.is_err());
}

#[tokio::test]
async fn a_setting_is_set_changed_and_taken_back_for_one_user() {
    let (store, _) = store().await;
    let (ann, bob) = (add_user(&store, "ann").await.id, add_user(&store, "bob").await.id);
    assert_eq!(store.active_runner(ann).await.unwrap(), None);
    store.set_active_runner(ann, Some("laptop")).await.unwrap();
    store.set_active_runner(ann, Some("__docker__")).await.unwrap();
    assert_eq!(store.active_runner(ann).await.unwrap().as_deref(), Some("__docker__"));
    assert_eq!(store.setting(ann, store::ACTIVE_RUNNER).await.unwrap().as_deref(), Some("__docker__"));
    assert_eq!(store.active_runner(bob).await.unwrap(), None);
    store.set_active_runner(ann, None).await.unwrap();
    assert_eq!(store.active_runner(ann).await.unwrap(), None);
    let too_long = "x".repeat(64 * 1024 + 1);
    assert!(matches!(store.set_setting(ann, "theme", Some(&too_long)).await, Err(Error::Invalid { .. })));
}

#[tokio::test]
async fn a_pages_session_opens_with_its_token_and_its_cookie_only() {
    let (store, clock) = store().await;
    let ann = add_user(&store, "ann").await;
    let page = store.create_browser_session(ann.id).await.unwrap();
    let other = store.create_browser_session(ann.id).await.unwrap();
    let program = store.create_session(ann.id).await.unwrap();
    assert!(program.cookie.is_none());
    let (token, cookie) = (page.token.expose(), page.cookie.as_ref().unwrap().expose());
    let others = other.cookie.as_ref().unwrap().expose();
    for (token, cookies) in [
        (token, &[][..]),
        (token, &[others]),
        (token, &[token, "", "sbc_"]),
        (cookie, &[cookie]),
        (cookie, &[]),
        (others, &[cookie]),
        ("sbs_", &[cookie]),
    ] {
        assert_eq!(store.session(token, cookies).await.unwrap(), None, "{cookies:?}");
    }
    let session = store.session(token, &["planted", others, cookie]).await.unwrap().unwrap();
    assert_eq!((&session.user, session.is_browser, session.confirmed_at_ms), (&ann, true, START_MS));
    // A program's session needs no cookie, and an additional cookie does no harm.
    assert!(!store.session(program.token.expose(), &[cookie]).await.unwrap().unwrap().is_browser);
    clock.advance(5);
    store.confirm_session(token).await.unwrap();
    store.confirm_session("nonsense").await.unwrap();
    assert_eq!(store.session(token, &[cookie]).await.unwrap().unwrap().confirmed_at_ms, START_MS + 5);
    store.delete_session(token).await.unwrap();
    assert_eq!(store.session(token, &[cookie]).await.unwrap(), None);
}
