//! Two nodes that use one secret, or one count of attempts, concurrently, with clocks that differ.

use store::{Clock, OneTimeKind, Store};
use testkit::postgres::Postgres;

use super::fences::peer;
use super::races::both;
use crate::one_time::{bucket, new};
use crate::support::postgres_url;

/// The number of pairs in each race.
const PAIRS: usize = 100;
/// The difference between the clocks of the nodes.
const APART_MS: i64 = 300_000;

/// The stores of two nodes of one database, whose clocks disagree.
async fn two_nodes() -> [Store; 2] {
    let url = postgres_url();
    let of = async |at: &str, ahead_ms: i64| {
        let clock = Clock::from_fn(move || Clock::system().now_ms() + ahead_ms);
        peer(&url, at).await.store.with_clock(clock)
    };
    [of("http://a:1", APART_MS).await, of("http://b:1", -APART_MS).await]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_secret_is_taken_once_by_two_nodes_at_once() {
    let stores = two_nodes().await;
    for number in 0..PAIRS {
        let secret = format!("secret {number}");
        assert!(stores[number % 2].put_one_time(&new(&secret, "ann")).await.unwrap());
        let taken = both(&stores, |store| {
            let secret = secret.clone();
            async move { store.take_one_time(OneTimeKind::Ticket, &secret).await.unwrap() }
        });
        let taken = taken.await;
        assert_eq!(taken.iter().flatten().collect::<Vec<_>>(), ["a document"], "{taken:?}");
    }
    assert_eq!(stores[0].purge_sign_in().await.unwrap(), 0, "nothing is left");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attempts_at_two_nodes_count_together() {
    let stores = two_nodes().await;
    for number in 0..PAIRS {
        let ann = bucket(&format!("ann {number}"));
        let attempts = both(&stores, |store| {
            let ann = ann.clone();
            async move {
                let mut allowed = 0;
                for _ in 0..3 {
                    allowed += usize::from(store.take_attempt(&ann).await.unwrap().is_none());
                }
                allowed
            }
        });
        let allowed = attempts.await;
        assert_eq!(allowed.iter().sum::<usize>(), 3, "{allowed:?}");
        assert!(stores[1].take_attempt(&ann).await.unwrap().is_some());
        stores[0].refund_attempt(&ann).await.unwrap();
        assert_eq!(stores[1].take_attempt(&ann).await.unwrap(), None);
    }
}

#[tokio::test]
async fn the_database_tells_neither_secrets_nor_documents_nor_who_tried_to_log_in() {
    let url = postgres_url();
    let store = Store::connect(&url).await.unwrap();
    assert!(store.put_one_time(&new("a secret", "an owner")).await.unwrap());
    assert_eq!(store.take_attempt(&bucket("a password in the wrong field")).await.unwrap(), None);
    let database =
        url.rsplit('/').find(|part| part.contains("?host=")).and_then(|part| part.split('?').next());
    let rows = Postgres::shared().ask(
        database.unwrap(),
        "SELECT CAST(o AS TEXT) FROM one_time_secrets o UNION ALL SELECT CAST(a AS TEXT) FROM attempts a",
    );
    assert_eq!(rows.lines().count(), 2, "{rows}");
    for hidden in ["a secret", "an owner", "a document", "a password"] {
        assert!(!rows.contains(hidden), "{hidden}: {rows}");
    }
    assert!(rows.contains("ticket"), "{rows}");
}
