//! A store with a clock that the test controls, and users in it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use store::{Clock, MemoryKind, MemoryScope, MemorySource, Name, NewMemory, Store, User};

/// The start of the test clock, in Unix milliseconds.
pub(crate) const START_MS: i64 = 1_800_000_000_000;
/// One day in milliseconds.
pub(crate) const DAY_MS: i64 = 86_400_000;
/// A password that is long enough.
pub(crate) const PASSWORD: &str = "correct horse";

/// A memory that its user wrote.
pub(crate) const MEMORY: NewMemory<'static> = NewMemory {
    kind: MemoryKind::Semantic,
    scope: MemoryScope::User,
    scope_name: "",
    name: "",
    text: "likes tabs",
    source: MemorySource::Person,
    chat: None,
    message: None,
    is_proposed: false,
    replaces: None,
    supersedes: &[],
    valid_to_ms: None,
};

/// A clock that does not move until it is advanced.
#[derive(Clone, Default)]
pub(crate) struct TestClock(Arc<AtomicI64>);

impl TestClock {
    pub(crate) fn advance(&self, milliseconds: i64) {
        self.0.fetch_add(milliseconds, Ordering::SeqCst);
    }
}

/// An empty store: in memory, or, if `SANDBRIDGE_TEST_DATABASE` is `postgres`, in a new PostgreSQL database.
pub(crate) async fn empty() -> Store {
    if testkit::postgres::is_wanted() {
        Store::connect(&postgres_url()).await.unwrap()
    } else {
        Store::open_in_memory().await.unwrap()
    }
}

/// The address of a new PostgreSQL database with this version's schema.
pub(crate) fn postgres_url() -> String {
    let schema = concat!(env!("CARGO_MANIFEST_DIR"), "/migrations-postgres");
    testkit::postgres::database_of(schema, fill)
}

/// Creates the schema in an empty database, on a separate thread, since the waiting test is already in a runtime.
fn fill(url: String) {
    let filled = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async { Store::connect(&url).await.unwrap().close().await });
    });
    filled.join().unwrap();
}

/// An empty store, and its clock.
pub(crate) async fn store() -> (Store, TestClock) {
    let clock = TestClock::default();
    let hand = Arc::clone(&clock.0);
    let told = Clock::from_fn(move || START_MS + hand.load(Ordering::SeqCst));
    (empty().await.with_clock(told), clock)
}

/// Adds a user with [`PASSWORD`].
pub(crate) async fn add_user(store: &Store, name: &str) -> User {
    store.add_user(&Name::parse(name).unwrap(), PASSWORD, false).await.unwrap()
}
