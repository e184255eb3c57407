//! Stores for tests of this crate.

use crate::{Store, database, seal};

/// An empty store, unlocked: in memory, or, if `SANDBRIDGE_TEST_DATABASE` is `postgres`, in a new PostgreSQL database.
pub(crate) async fn empty() -> Store {
    if testkit::postgres::is_wanted() {
        empty_on_postgres().await
    } else {
        Store::open_in_memory().await.unwrap()
    }
}

/// An empty store in a new PostgreSQL database, unlocked.
pub(crate) async fn empty_on_postgres() -> Store {
    let schema = concat!(env!("CARGO_MANIFEST_DIR"), "/migrations-postgres");
    let url = testkit::postgres::database_of(schema, |url| {
        // The calling test is already in a runtime.
        let filled = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async { Store::connect(&url).await.unwrap().close().await });
        });
        filled.join().unwrap();
    });
    Store::with(database::Database::connect(&url, None).await.unwrap(), Some(seal::Sealer::random()))
}
