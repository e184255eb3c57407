//! One-use tokens.

use store::limits::{ENROLMENT_TTL_MAX_MS, ENROLMENT_TTL_MS};
use store::{Enrolment, Error, NewToken, RunnerAuth, RunnerName, Secret, Store, UserId};

use crate::support::{DAY_MS, START_MS, TestClock, add_user, store};

async fn to_enrol() -> (Store, TestClock, UserId, NewToken) {
    let (store, clock) = store().await;
    let ann = add_user(&store, "ann").await.id;
    let name = RunnerName::parse("laptop").unwrap();
    let token = store.add_runner_to_enrol(ann, &name, ENROLMENT_TTL_MS).await.unwrap();
    (store, clock, ann, token)
}

async fn enrolled(store: &Store, token: &NewToken, boot_id: &str) -> Secret {
    match store.enrol(token.token.expose(), boot_id).await.unwrap() {
        Enrolment::Enrolled(permanent) => permanent,
        other => panic!("{other:?}"),
    }
}

async fn auth(store: &Store, token: &Secret) -> RunnerAuth {
    store.authenticate_runner(token.expose()).await.unwrap()
}

#[tokio::test]
async fn it_is_exchanged_for_a_permanent_token_of_the_same_runner() {
    let (store, _, ann, token) = to_enrol().await;
    assert!(token.token.expose().starts_with("sbe_"));
    assert_eq!(token.expires_at_ms, Some(START_MS + ENROLMENT_TTL_MS));
    let RunnerAuth::Enrolling { user, runner } = auth(&store, &token.token).await else {
        panic!("it enrols")
    };
    assert_eq!((user.id, runner.id), (ann, token.runner));
    let permanent = enrolled(&store, &token, "one").await;
    assert!(permanent.expose().starts_with("sbr_"));
    let RunnerAuth::Accepted { user, runner } = auth(&store, &permanent).await else { panic!("it opens") };
    assert_eq!((user.id, runner.id, runner.token_expires_at_ms), (ann, token.runner, None));
}

#[tokio::test]
async fn a_second_runner_is_refused_from_the_first_moment() {
    let (store, _, _, token) = to_enrol().await;
    enrolled(&store, &token, "one").await;
    assert_eq!(store.enrol(token.token.expose(), "two").await.unwrap(), Enrolment::Used);
}

#[tokio::test]
async fn of_many_that_race_exactly_one_is_enrolled() {
    let (store, _, _, token) = to_enrol().await;
    let mut racers = tokio::task::JoinSet::new();
    for number in 0..16 {
        let (store, token) = (store.clone(), token.token.expose().to_owned());
        racers.spawn(async move { store.enrol(&token, &format!("boot-{number}")).await.unwrap() });
    }
    let outcomes = racers.join_all().await;
    let is_enrolled = |outcome: &&Enrolment| matches!(outcome, Enrolment::Enrolled(_));
    assert_eq!(outcomes.iter().filter(is_enrolled).count(), 1, "{outcomes:?}");
}

#[tokio::test]
async fn whoever_claimed_it_may_ask_again_until_the_permanent_token_was_shown() {
    let (store, clock, _, token) = to_enrol().await;
    let lost = enrolled(&store, &token, "one").await;
    // This works even if the token has expired meanwhile.
    clock.advance(ENROLMENT_TTL_MS + 1);
    let permanent = enrolled(&store, &token, "one").await;
    assert_eq!(auth(&store, &lost).await, RunnerAuth::Unknown, "the lost token is no longer valid");
    assert!(matches!(auth(&store, &permanent).await, RunnerAuth::Accepted { .. }));
    assert_eq!(store.enrol(token.token.expose(), "one").await.unwrap(), Enrolment::Used);
    assert!(matches!(auth(&store, &permanent).await, RunnerAuth::Accepted { .. }), "a use changes nothing");
}

#[tokio::test]
async fn it_expires_when_nobody_shows_it() {
    let (store, clock, _, token) = to_enrol().await;
    clock.advance(ENROLMENT_TTL_MS);
    assert_eq!(store.enrol(token.token.expose(), "one").await.unwrap(), Enrolment::Expired);
    clock.advance(90 * DAY_MS);
    assert_eq!(store.purge_expired().await.unwrap(), 1);
    assert_eq!(auth(&store, &token.token).await, RunnerAuth::Unknown);
}

#[tokio::test]
async fn what_became_permanent_outlives_the_memory_of_it() {
    let (store, clock, _, token) = to_enrol().await;
    let permanent = enrolled(&store, &token, "one").await;
    assert!(matches!(auth(&store, &permanent).await, RunnerAuth::Accepted { .. }));
    clock.advance(91 * DAY_MS);
    assert_eq!(store.purge_expired().await.unwrap(), 1);
    assert!(matches!(auth(&store, &permanent).await, RunnerAuth::Accepted { .. }));
}

#[tokio::test]
async fn a_revoked_runner_cannot_be_enrolled() {
    let (store, _, ann, token) = to_enrol().await;
    store.revoke_runner(ann, "laptop").await.unwrap();
    assert_eq!(auth(&store, &token.token).await, RunnerAuth::Revoked);
}

#[tokio::test]
async fn a_rotation_gives_a_runner_that_was_never_enrolled_a_token_and_does_not_lengthen_the_other() {
    let (store, clock, ann, token) = to_enrol().await;
    let permanent = store.rotate_token(ann, "laptop").await.unwrap().token;
    assert!(matches!(auth(&store, &permanent).await, RunnerAuth::Accepted { .. }));
    clock.advance(ENROLMENT_TTL_MS);
    assert_eq!(store.enrol(token.token.expose(), "one").await.unwrap(), Enrolment::Expired);
}

#[tokio::test]
async fn a_time_without_sense_and_what_is_no_enrolment_token_are_refused() {
    let (store, _, ann, _) = to_enrol().await;
    let name = RunnerName::parse("tower").unwrap();
    for ttl_ms in [i64::MIN, -1, 0, 59_999, ENROLMENT_TTL_MAX_MS + 1, i64::MAX] {
        let error = store.add_runner_to_enrol(ann, &name, ttl_ms).await.unwrap_err();
        assert!(matches!(error, Error::Invalid { .. }), "{error}");
    }
    let permanent = store.add_runner(ann, &name).await.unwrap().token;
    for token in ["", "sbe_", permanent.expose()] {
        assert_eq!(store.enrol(token, "one").await.unwrap(), Enrolment::Used);
    }
}
