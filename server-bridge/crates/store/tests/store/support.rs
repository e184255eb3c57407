//! A store with a clock the test turns, and users in it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use store::{Clock, Name, Store, User};

/// When the test clock starts, in Unix milliseconds.
pub(crate) const START_MS: i64 = 1_800_000_000_000;
/// One day in milliseconds.
pub(crate) const DAY_MS: i64 = 86_400_000;
/// A password that is long enough.
pub(crate) const PASSWORD: &str = "correct horse";

/// A clock that stands still until it is turned.
#[derive(Clone, Default)]
pub(crate) struct TestClock(Arc<AtomicI64>);

impl TestClock {
    pub(crate) fn advance(&self, milliseconds: i64) {
        self.0.fetch_add(milliseconds, Ordering::SeqCst);
    }
}

/// An empty store in memory, and its clock.
pub(crate) async fn store() -> (Store, TestClock) {
    let clock = TestClock::default();
    let hand = Arc::clone(&clock.0);
    let told = Clock::from_fn(move || START_MS + hand.load(Ordering::SeqCst));
    (Store::open_in_memory().await.unwrap().with_clock(told), clock)
}

/// Adds a user with [`PASSWORD`].
pub(crate) async fn add_user(store: &Store, name: &str) -> User {
    store.add_user(&Name::parse(name).unwrap(), PASSWORD, false).await.unwrap()
}
