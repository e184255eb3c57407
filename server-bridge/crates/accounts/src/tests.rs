//! The rights of accounts, and their audit entries.

use std::net::{IpAddr, Ipv4Addr};

use store::{Store, User};

use crate::{AccountEvent, Accounts, Change, Error, NewRunner, NewUser, Showing, TokenRefused, Trail};

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
const PASSWORD: &str = "correct horse";

/// A store of accounts that contains the first administrator, `ada`.
async fn accounts() -> (Accounts, User) {
    let accounts = Accounts::new(Store::open_in_memory().await.unwrap());
    let secret = accounts.begin_first("").await.unwrap().unwrap();
    let ada = accounts.make_first(&secret, "ada", PASSWORD, HERE).await.unwrap();
    (accounts, ada)
}

async fn add(accounts: &Accounts, by: &User, name: &str, admin: bool) -> User {
    accounts.add_user(by, NewUser { name, password: PASSWORD, admin }).await.unwrap()
}

/// The newest entry of the trail, as `USER ACTION LOCATION TARGET OUTCOME`.
async fn last(accounts: &Accounts, reader: &User) -> String {
    let page = accounts.trail(reader, Trail { limit: 1, ..Trail::default() }).await.unwrap();
    let entry = &page.entries[0];
    let or_dash = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let (user, location) = (or_dash(&entry.user), or_dash(&entry.location));
    format!("{user} {} {location} {} {}", entry.action, entry.target, entry.outcome)
}

#[tokio::test]
async fn the_first_account_is_made_once_by_who_shows_the_secret() {
    let accounts = Accounts::new(Store::open_in_memory().await.unwrap());
    assert!(!accounts.is_first_due().await.unwrap(), "no secret was printed yet");
    let secret = accounts.begin_first("").await.unwrap().unwrap();
    assert!(accounts.is_first_due().await.unwrap());
    let wrong = accounts.make_first("guess", "eve", PASSWORD, HERE).await;
    assert!(matches!(wrong, Err(Error::WrongSecret)), "{wrong:?}");
    let ada = accounts.make_first(&secret, "ada", PASSWORD, HERE).await.unwrap();
    assert!(ada.admin && accounts.is_known_address("ada", HERE).await.unwrap());
    assert_eq!(last(&accounts, &ada).await, "ada setup - ada ok");
    let trail = accounts.trail(&ada, Trail { action: "setup", limit: 9, ..Trail::default() }).await.unwrap();
    assert_eq!(
        (trail.entries[1].outcome.as_str(), trail.entries[1].target.as_str()),
        ("forbidden", "192.0.2.1")
    );
    let again = accounts.make_first(&secret, "eve", PASSWORD, HERE).await;
    assert!(matches!(again, Err(Error::SetUpAlready)), "{again:?}");
    assert_eq!(accounts.begin_first("").await.unwrap(), None);
}

#[tokio::test]
async fn a_secret_of_any_node_makes_the_first_account_and_a_later_one_of_its_node_replaces_it() {
    let accounts = Accounts::new(Store::open_in_memory().await.unwrap());
    let old = accounts.begin_first("http://a:1").await.unwrap().unwrap();
    let of_other = accounts.begin_first("http://b:1").await.unwrap().unwrap();
    let new = accounts.begin_first("http://a:1").await.unwrap().unwrap();
    let is_secret = async |secret: &str| accounts.is_first_secret(secret).await.unwrap();
    assert!(!is_secret(&old).await && is_secret(&new).await && is_secret(&of_other).await);
    assert!(!is_secret("").await && !is_secret(&new[1..]).await);
    let unnamed = accounts.make_first(&of_other, "not a name!", PASSWORD, HERE).await;
    assert!(matches!(unnamed, Err(Error::Invalid(_))), "{unnamed:?}");
    accounts.make_first(&of_other, "ada", PASSWORD, HERE).await.unwrap();
    assert!(!is_secret(&new).await && !is_secret(&of_other).await, "there is an account");
    assert!(!accounts.is_first_due().await.unwrap());
}

#[tokio::test]
async fn a_login_leaves_its_address_and_a_failed_one_its_name() {
    let (accounts, ada) = accounts().await;
    let there = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2));
    let long = format!("x{}", "é".repeat(60));
    let wrong = accounts.log_in(&long, PASSWORD, there).await;
    assert!(matches!(wrong, Err(Error::WrongLogin)), "{wrong:?}");
    let shown = format!("{} login - 192.0.2.2 unauthorized", &long[..63]);
    assert_eq!(last(&accounts, &ada).await, shown);
    assert!(!accounts.is_known_address("ada", there).await.unwrap());
    assert_eq!(accounts.log_in("ada", PASSWORD, there).await.unwrap(), ada);
    assert!(accounts.is_known_address("ada", there).await.unwrap());
    assert_eq!(last(&accounts, &ada).await, "ada login - 192.0.2.2 ok");
}

#[tokio::test]
async fn only_administrators_manage_accounts_and_one_of_them_stays() {
    let (accounts, ada) = accounts().await;
    let eve = add(&accounts, &ada, "eve", false).await;
    let new = NewUser { name: "mallory", password: PASSWORD, admin: true };
    assert!(matches!(accounts.add_user(&eve, new).await, Err(Error::NotAdmin)));
    assert!(matches!(accounts.users(&eve).await, Err(Error::NotAdmin)));
    assert!(matches!(accounts.remove_user(&eve, "ada").await, Err(Error::NotAdmin)));
    let take = Change { admin: Some(false), password: None };
    assert!(matches!(accounts.change_user(&ada, "ada", take).await, Err(Error::Yourself { .. })));
    let own = Change { admin: None, password: Some("another horse") };
    assert!(matches!(accounts.change_user(&ada, "ada", own).await, Err(Error::OwnPassword)));
    assert!(matches!(accounts.remove_user(&ada, "ada").await, Err(Error::Yourself { .. })));
    // Two administrators who demote each other: the second demotion would leave none.
    let eve = accounts.change_user(&ada, "eve", Change { admin: Some(true), password: None }).await.unwrap();
    accounts.change_user(&eve, "ada", take).await.unwrap();
    let last_one = accounts.change_user(&ada, "eve", take).await;
    assert!(matches!(last_one, Err(Error::LastAdmin)), "{last_one:?}");
    assert_eq!(last(&accounts, &eve).await, "ada user.no_admin - eve refused");
    assert_eq!(accounts.remove_user(&eve, "ada").await.unwrap().map(|user| user.id), Some(ada.id));
    assert_eq!(last(&accounts, &eve).await, "eve user.remove - ada ok");
}

#[tokio::test]
async fn a_password_is_changed_by_who_knows_it_and_ends_sessions() {
    let (accounts, ada) = accounts().await;
    let session = accounts.begin_session(&ada, false).await.unwrap();
    let wrong = accounts.change_own_password(&ada, "guess", "another horse").await;
    assert!(matches!(wrong, Err(Error::WrongPassword(_))), "{wrong:?}");
    assert_eq!(last(&accounts, &ada).await, "ada user.password - ada forbidden");
    assert!(accounts.still_opens(session.token.expose()).await.unwrap());
    let wrong = accounts.confirm(&ada, session.token.expose(), "guess").await;
    assert!(matches!(wrong, Err(Error::WrongPassword(_))), "{wrong:?}");
    assert_eq!(last(&accounts, &ada).await, "ada session.confirm - ada forbidden");
    accounts.change_own_password(&ada, PASSWORD, "another horse").await.unwrap();
    assert!(!accounts.still_opens(session.token.expose()).await.unwrap());
    assert!(accounts.log_in("ada", PASSWORD, HERE).await.is_err());
}

#[tokio::test]
async fn a_code_signs_in_while_its_session_lasts() {
    let (accounts, ada) = accounts().await;
    let session = accounts.begin_session(&ada, false).await.unwrap();
    let token = session.token.expose();
    let code = accounts.issue_sign_in(&ada, token).await.unwrap();
    assert!(accounts.is_sign_in(&code).await.unwrap() && !accounts.is_sign_in("guess").await.unwrap());
    assert_eq!(accounts.redeem_sign_in(&code, HERE).await.unwrap(), ada);
    assert_eq!(last(&accounts, &ada).await, "ada sign_in - 192.0.2.1 ok");
    assert!(matches!(accounts.redeem_sign_in(&code, HERE).await, Err(Error::WrongCode)), "once");
    let code = accounts.issue_sign_in(&ada, token).await.unwrap();
    accounts.log_out(token).await.unwrap();
    assert!(matches!(accounts.redeem_sign_in(&code, HERE).await, Err(Error::WrongCode)));
    assert_eq!(last(&accounts, &ada).await, "- sign_in - 192.0.2.1 unauthorized");
}

#[tokio::test]
async fn a_place_is_chosen_among_ones_runners_and_the_places_of_all() {
    let (accounts, ada) = accounts().await;
    let eve = add(&accounts, &ada, "eve", false).await;
    let new = NewRunner { name: "laptop", enrol: false, ttl_ms: None };
    accounts.add_runner(&ada, new).await.unwrap();
    accounts.choose_runner(&ada, Some("laptop"), &["none"]).await.unwrap();
    assert_eq!(accounts.active_runner(ada.id).await.unwrap().as_deref(), Some("laptop"));
    assert_eq!(last(&accounts, &ada).await, "ada settings.active_runner - laptop ok");
    let others = accounts.choose_runner(&eve, Some("laptop"), &["none"]).await;
    assert!(matches!(others, Err(Error::NotFound(_))), "{others:?}");
    assert_eq!(accounts.active_runner(eve.id).await.unwrap(), None);
    accounts.choose_runner(&eve, Some("none"), &["none"]).await.unwrap();
    accounts.choose_runner(&eve, None, &["none"]).await.unwrap();
    assert_eq!(last(&accounts, &ada).await, "eve settings.active_runner - auto ok");
}

#[tokio::test]
async fn a_runner_is_let_in_by_its_token_and_a_used_one_is_shown_to_its_owner() {
    let (accounts, ada) = accounts().await;
    let forever = NewRunner { name: "laptop", enrol: false, ttl_ms: Some(60_000) };
    assert!(matches!(accounts.add_runner(&ada, forever).await, Err(Error::Invalid(_))));
    let once = NewRunner { name: "laptop", enrol: true, ttl_ms: None };
    let token = accounts.add_runner(&ada, once).await.unwrap().token;
    assert_eq!(last(&accounts, &ada).await, "ada runner.add_to_enrol - laptop ok");
    let showing = |boot_id| Showing {
        token: token.expose(),
        claimed_users: &["ada"],
        boot_id,
        hostname: "host",
        takes_token: true,
        facts_json: "{}",
    };
    let other = accounts.admit_runner(Showing { claimed_users: &["ada", "eve"], ..showing("1") }).await;
    assert!(matches!(other, Err(TokenRefused::OtherUser)), "{other:?}");
    let old = accounts.admit_runner(Showing { takes_token: false, ..showing("1") }).await;
    assert!(matches!(old, Err(TokenRefused::TakesNoToken(_))), "{old:?}");
    let admitted = accounts.admit_runner(showing("1")).await.unwrap();
    assert_eq!((admitted.user.id, admitted.name.as_str()), (ada.id, "laptop"));
    let own = admitted.token.unwrap();
    let again = Showing { token: own.expose(), ..showing("1") };
    assert_eq!(accounts.admit_runner(again).await.unwrap().epoch, admitted.epoch + 1);
    let thief = accounts.admit_runner(showing("2")).await;
    assert!(matches!(thief, Err(TokenRefused::Used(_))), "{thief:?}");
    assert_eq!(last(&accounts, &ada).await, "ada runner.enrol laptop host used");
    accounts.revoke_runner(&ada, "laptop").await.unwrap();
    assert_eq!(last(&accounts, &ada).await, "ada runner.revoke - laptop ok");
    let revoked = accounts.admit_runner(again).await;
    assert!(matches!(revoked, Err(TokenRefused::Revoked)), "{revoked:?}");
    assert!(!accounts.touch_runner(admitted.runner).await.unwrap());
}

#[tokio::test]
async fn others_than_administrators_read_their_own_trail_page_by_page() {
    let (accounts, ada) = accounts().await;
    let eve = add(&accounts, &ada, "eve", false).await;
    for _ in 0..3 {
        accounts.choose_runner(&eve, None, &[]).await.unwrap();
    }
    let wanted = Trail { user: Some("ada"), limit: 2, ..Trail::default() };
    let page = accounts.trail(&eve, wanted).await.unwrap();
    assert!(page.more && page.entries.iter().all(|entry| entry.user.as_deref() == Some("eve")));
    let before = Some(page.entries[1].id.0);
    let rest = accounts.trail(&eve, Trail { before, ..wanted }).await.unwrap();
    assert_eq!((rest.entries.len(), rest.more), (1, false));
    let of_ada = accounts.trail(&ada, Trail { limit: 500, ..wanted }).await.unwrap();
    assert!(of_ada.entries.iter().all(|entry| entry.user.as_deref() == Some("ada")));
}

#[tokio::test]
async fn every_listener_hears_of_runners_and_choices_and_of_nothing_that_was_refused() {
    let (accounts, ada) = accounts().await;
    let mut listeners = [accounts.subscribe(), accounts.clone().subscribe()];
    let new = NewRunner { name: "laptop", enrol: false, ttl_ms: None };
    accounts.add_runner(&ada, new).await.unwrap();
    assert!(accounts.add_runner(&ada, new).await.is_err());
    accounts.choose_runner(&ada, Some("laptop"), &[]).await.unwrap();
    assert!(accounts.choose_runner(&ada, Some("nobody"), &[]).await.is_err());
    accounts.rotate_token(&ada, "laptop").await.unwrap();
    accounts.revoke_runner(&ada, "laptop").await.unwrap();
    assert!(accounts.revoke_runner(&ada, "laptop").await.is_err());
    let (user, name) = (ada.id, "laptop".to_owned());
    for listener in &mut listeners {
        let heard: Vec<AccountEvent> = std::iter::from_fn(|| listener.try_recv().ok()).collect();
        let expected = [
            AccountEvent::Runner { user, name: name.clone() },
            AccountEvent::ActiveRunner { user, choice: Some(name.clone()) },
            AccountEvent::Runner { user, name: name.clone() },
            AccountEvent::RunnerRevoked { user, name: name.clone() },
        ];
        assert_eq!(heard, expected);
    }
}

#[tokio::test]
async fn a_listener_that_is_far_behind_hears_of_a_revocation_all_the_same() {
    let (accounts, ada) = accounts().await;
    let mut late = accounts.subscribe();
    accounts.add_runner(&ada, NewRunner { name: "laptop", enrol: false, ttl_ms: None }).await.unwrap();
    for _ in 0..10_000 {
        accounts.tell(AccountEvent::ActiveRunner { user: ada.id, choice: None });
    }
    accounts.revoke_runner(&ada, "laptop").await.unwrap();
    let heard: Vec<AccountEvent> = std::iter::from_fn(|| late.try_recv().ok()).collect();
    assert_eq!(heard.len(), 10_002);
    let revoked = AccountEvent::RunnerRevoked { user: ada.id, name: "laptop".to_owned() };
    assert_eq!(heard.last(), Some(&revoked));
}
