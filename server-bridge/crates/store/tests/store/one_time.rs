//! Secrets that work once, and counts of attempts.

use std::time::Duration;

use store::{Bucket, NewOneTime, OneTimeKind};

use crate::support::store;

const MINUTE: Duration = Duration::from_secs(60);

/// A new ticket secret of `owner`.
pub(crate) fn new<'a>(secret: &'a str, owner: &'a str) -> NewOneTime<'a> {
    NewOneTime {
        kind: OneTimeKind::Ticket,
        secret,
        owner,
        document: "a document",
        lifetime: MINUTE,
        most: 5,
        most_of_owner: 2,
    }
}

/// A bucket of three attempts per minute.
pub(crate) fn bucket(key: &str) -> Bucket {
    Bucket { key: key.to_owned(), per_minute: 3 }
}

#[tokio::test]
async fn a_secret_is_found_again_and_again_and_taken_once() {
    let (store, _) = store().await;
    let ticket = OneTimeKind::Ticket;
    assert!(store.put_one_time(&new("a secret", "ann")).await.unwrap());
    for _ in 0..2 {
        assert_eq!(store.find_one_time(ticket, "a secret").await.unwrap().as_deref(), Some("a document"));
    }
    for (kind, secret) in [(ticket, "a secre"), (ticket, ""), (OneTimeKind::SignIn, "a secret")] {
        assert_eq!(store.take_one_time(kind, secret).await.unwrap(), None, "{kind:?} {secret}");
    }
    assert_eq!(store.take_one_time(ticket, "a secret").await.unwrap().as_deref(), Some("a document"));
    assert_eq!(store.take_one_time(ticket, "a secret").await.unwrap(), None);
    assert_eq!(store.find_one_time(ticket, "a secret").await.unwrap(), None);
}

#[tokio::test]
async fn an_expired_secret_is_none_makes_room_and_is_removed() {
    let (store, clock) = store().await;
    let ticket = OneTimeKind::Ticket;
    for secret in ["one", "two"] {
        assert!(store.put_one_time(&new(secret, "ann")).await.unwrap());
    }
    assert!(!store.put_one_time(&new("three", "ann")).await.unwrap(), "one owner has at most two");
    for (secret, owner) in [("three", "bob"), ("four", "bob"), ("five", "eve")] {
        assert!(store.put_one_time(&new(secret, owner)).await.unwrap(), "{secret}");
    }
    assert!(!store.put_one_time(&new("six", "mia")).await.unwrap(), "all owners have at most five");
    assert!(
        store.has_one_time(ticket).await.unwrap() && !store.has_one_time(OneTimeKind::SignIn).await.unwrap()
    );
    assert_eq!(store.purge_sign_in().await.unwrap(), 0, "none has expired");
    clock.advance(60_000);
    assert_eq!(store.find_one_time(ticket, "one").await.unwrap(), None);
    assert_eq!(store.take_one_time(ticket, "one").await.unwrap(), None);
    assert!(!store.has_one_time(ticket).await.unwrap());
    assert!(store.put_one_time(&new("seven", "ann")).await.unwrap());
    assert_eq!(store.purge_sign_in().await.unwrap(), 5);
    assert_eq!(store.take_one_time(ticket, "seven").await.unwrap().as_deref(), Some("a document"));
}

#[tokio::test]
async fn the_secrets_of_one_owner_or_of_a_kind_are_forgotten() {
    let (store, _) = store().await;
    for (secret, owner) in [("one", "ann"), ("two", "bob"), ("three", "eve")] {
        assert!(store.put_one_time(&new(secret, owner)).await.unwrap());
    }
    let known = async |secret| store.find_one_time(OneTimeKind::Ticket, secret).await.unwrap().is_some();
    store.forget_one_time(OneTimeKind::Ticket, Some("ann")).await.unwrap();
    store.forget_one_time(OneTimeKind::SignIn, None).await.unwrap();
    assert!(!known("one").await && known("two").await && known("three").await);
    store.forget_one_time(OneTimeKind::Ticket, None).await.unwrap();
    assert!(!known("two").await && !known("three").await);
}

#[tokio::test]
async fn attempts_are_few_at_once_and_come_back_one_by_one() {
    let (store, clock) = store().await;
    let (ann, bob) = (bucket("ann"), bucket("bob"));
    for _ in 0..3 {
        assert_eq!(store.take_attempt(&ann).await.unwrap(), None);
    }
    for _ in 0..2 {
        assert_eq!(store.take_attempt(&ann).await.unwrap(), Some(20_000), "a refused one does not count");
    }
    assert_eq!(store.take_attempt(&bob).await.unwrap(), None);
    clock.advance(19_000);
    assert_eq!(store.take_attempt(&ann).await.unwrap(), Some(1_000));
    clock.advance(1_000);
    assert_eq!(store.take_attempt(&ann).await.unwrap(), None);
    assert_eq!(store.take_attempt(&ann).await.unwrap(), Some(20_000));
    store.refund_attempt(&ann).await.unwrap();
    assert_eq!(store.take_attempt(&ann).await.unwrap(), None, "the attempt was refunded");
    clock.advance(59_999);
    assert_eq!(store.purge_sign_in().await.unwrap(), 1, "bob's bucket is full, ann's is not");
    clock.advance(1);
    assert_eq!(store.purge_sign_in().await.unwrap(), 1);
    assert_eq!(store.take_attempt(&ann).await.unwrap(), None);
}

#[tokio::test]
async fn a_clock_that_was_set_back_keeps_nobody_out_for_long() {
    let (store, clock) = store().await;
    let ann = bucket("ann");
    for _ in 0..3 {
        assert_eq!(store.take_attempt(&ann).await.unwrap(), None);
    }
    clock.advance(-3_600_000);
    assert_eq!(store.take_attempt(&ann).await.unwrap(), None);
    assert_eq!(
        store.take_attempt(&ann).await.unwrap(),
        Some(20_000),
        "setting the clock back gains no attempts"
    );
    clock.advance(20_000);
    assert_eq!(store.take_attempt(&ann).await.unwrap(), None);
}
