//! The database: one SQLite file, or a database on a PostgreSQL server.
//!
//! | | SQLite | PostgreSQL |
//! |---|---|---|
//! | a change | takes its turn on one connection, `BEGIN IMMEDIATE` | `BEGIN` and the lock of its [`Scope`] |
//! | a reader | never waits | never waits |
//! | a search | its own connections, a progress handler | its own connections, `statement_timeout` |
//!
//! So all changes to one user's data happen one after the other on both: data that was read at the beginning of a change is still current at its
//! end, and the ids of rows become visible in their order.

pub(crate) mod postgres;
mod sqlite;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::timeout;

pub(crate) use self::sqlite::newest_step;
use crate::clock::Clock;
use crate::error::Result;
use crate::limits::POSTGRES_CLOSE_TIMEOUT;
use crate::membership::Membership;
use crate::sql::{Connection, Locked, On, Pool, Scope, Transaction, Writer, query, query_scalar};

/// The usage of the database connections that serve one purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolUse {
    /// The purpose: `write`, `read` or `search`.
    pub purpose: &'static str,
    /// The number of connections that are running a statement or have a change open.
    pub in_use: u32,
    /// The maximum number of connections.
    pub most: u32,
}

/// The connections to the database, for changes, for reads and for searches.
#[derive(Clone, Debug)]
pub(crate) struct Database {
    writer: Pool,
    reader: Pool,
    /// The connections for searches; `None` in memory, where there is only one connection.
    searcher: Option<Pool>,
    /// The node that makes the changes; `None` for a server that works alone.
    node: Option<Arc<Membership>>,
}

impl Database {
    /// Opens the file, creates it (mode 0600) if it is missing, and brings its schema up to date.
    pub(crate) async fn open(path: &Path) -> Result<Self> {
        Box::pin(sqlite::open(path)).await
    }

    /// An empty database in memory, which is deleted with its last handle.
    pub(crate) async fn open_in_memory() -> Result<Self> {
        sqlite::open_in_memory().await
    }

    /// Connects to a PostgreSQL server and brings the schema of the database there up to date. With `stand_still`, the PostgreSQL server ends a
    /// change that is idle for this long, which releases its locks.
    pub(crate) async fn connect(url: &str, stand_still: Option<Duration>) -> Result<Self> {
        Box::pin(postgres::connect(url, stand_still)).await
    }

    /// Turns this database into that of a node: each change is made only while the node may make it.
    pub(crate) fn of_node(mut self, node: Arc<Membership>) -> Self {
        self.node = Some(node);
        self
    }

    /// The same database, but changes are made without checking that the node may make them.
    pub(crate) fn unfenced(&self) -> Self {
        Self { node: None, ..self.clone() }
    }

    /// The writer for single statements that change something in this scope.
    pub(crate) fn writer<'e>(&'e self, scope: Scope<'e>) -> Writer<'e> {
        match (&self.writer, scope) {
            (pool @ Pool::Sqlite(_), _) => Writer::Free(pool),
            (pool @ Pool::Postgres(_), Scope::Alone) if self.node.is_none() => Writer::Free(pool),
            (Pool::Postgres(connections), scope) => {
                Writer::Locked(Locked { connections, scope, node: self.node.as_deref() })
            }
        }
    }

    /// The id of the node whose changes these are; `None` for a server that works alone.
    pub(crate) fn node_id(&self) -> Option<&str> {
        self.node.as_ref().map(|node| node.id().as_str())
    }

    /// True if this is a PostgreSQL database.
    pub(crate) fn is_postgres(&self) -> bool {
        matches!(self.writer, Pool::Postgres(_))
    }

    /// The connections for statements that only read.
    pub(crate) fn reader(&self) -> &Pool {
        &self.reader
    }

    /// The connections for statements that only read, but must see every earlier change, whichever connection made it.
    pub(crate) fn latest(&self) -> &Pool {
        &self.writer
    }

    /// One connection for several statements that only read.
    pub(crate) async fn reading(&self) -> Result<Connection> {
        acquire(&self.reader).await
    }

    /// Several statements that only read, all from one consistent state.
    pub(crate) async fn snapshot(&self) -> Result<Transaction> {
        Ok(match &self.reader {
            Pool::Sqlite(pool) => Transaction::Sqlite(pool.begin().await?),
            Pool::Postgres(connections) => {
                Transaction::Postgres(Box::pin(postgres::snapshot(connections)).await?)
            }
        })
    }

    /// A connection for searches, whose statements may read all rows. A statement that runs longer than `timeout` fails;
    /// [`Error::or_slow`](crate::Error::or_slow) recognises that error.
    pub(crate) async fn search(&self, timeout: Duration) -> Result<Connection> {
        let Some(searcher) = &self.searcher else { return self.reading().await };
        let mut connection = acquire(searcher).await?;
        match &mut connection {
            Connection::Sqlite(connection) => sqlite::end_after(connection, timeout).await?,
            Connection::Postgres(connection) => Box::pin(postgres::end_after(connection, timeout)).await?,
        }
        Ok(connection)
    }

    /// A transaction for several statements as one change in this scope; dropping it without a commit undoes them.
    pub(crate) async fn write(&self, scope: Scope<'_>) -> Result<Transaction> {
        Ok(match &self.writer {
            Pool::Sqlite(pool) => Transaction::Sqlite(pool.begin_with("BEGIN IMMEDIATE").await?),
            Pool::Postgres(connections) => {
                let locked = Locked { connections, scope, node: self.node.as_deref() };
                Transaction::Postgres(Box::pin(locked.begin()).await?)
            }
        })
    }

    /// The time by the database's clock, in Unix milliseconds; for a file, that of the store's clock.
    pub(crate) async fn now_ms<'e>(&self, clock: &Clock, on: impl On<'e>) -> Result<i64> {
        if !self.is_postgres() {
            return Ok(clock.now_ms());
        }
        let now = "SELECT CAST(EXTRACT(EPOCH FROM pg_catalog.clock_timestamp()) * 1000 AS BIGINT)";
        Ok(query_scalar(now).fetch_one(on).await?)
    }

    /// Removes the remains of deleted and replaced rows of `subscriptions` from the database's files; returns true if nothing is left there.
    /// PostgreSQL's own log may keep some of them until it is overwritten.
    pub(crate) async fn scrub(&self) -> Result<bool> {
        if self.is_postgres() {
            query("VACUUM FULL subscriptions").execute(&self.writer).await?;
            return Ok(true);
        }
        query("VACUUM").execute(&self.writer).await?;
        let was_busy: i64 = query_scalar("PRAGMA wal_checkpoint(TRUNCATE)").fetch_one(&self.writer).await?;
        Ok(was_busy == 0)
    }

    /// Removes the remains of deleted data from SQLite's log, unless a reader still needs them; then the next writer removes them.
    pub(crate) async fn checkpoint(&self) -> Result<()> {
        if !self.is_postgres() {
            let _was_busy: i64 =
                query_scalar("PRAGMA wal_checkpoint(TRUNCATE)").fetch_one(&self.writer).await?;
        }
        Ok(())
    }

    /// The usage of the connections, by purpose.
    pub(crate) fn pools(&self) -> Vec<PoolUse> {
        let pools =
            [("write", Some(&self.writer)), ("read", Some(&self.reader)), ("search", self.searcher.as_ref())];
        let named = pools.into_iter().filter_map(|(purpose, pool)| Some((purpose, pool?)));
        named
            .map(|(purpose, pool)| {
                let (open, idle, most) = match pool {
                    Pool::Sqlite(pool) => {
                        (pool.size(), pool.num_idle(), pool.options().get_max_connections())
                    }
                    Pool::Postgres(connections) => {
                        let pool = connections.pool();
                        (pool.size(), pool.num_idle(), pool.options().get_max_connections())
                    }
                };
                // The two counts are read one after the other, so they may not match.
                let in_use = open.saturating_sub(u32::try_from(idle).unwrap_or(u32::MAX));
                PoolUse { purpose, in_use, most }
            })
            .collect()
    }

    /// True if the database was closed.
    pub(crate) fn is_closed(&self) -> bool {
        match &self.writer {
            Pool::Sqlite(pool) => pool.is_closed(),
            Pool::Postgres(connections) => connections.pool().is_closed(),
        }
    }

    pub(crate) async fn close(&self) {
        let (mut of_file, mut of_server) = (Vec::new(), Vec::new());
        for pool in self.searcher.iter().chain([&self.reader, &self.writer]) {
            match pool {
                Pool::Sqlite(pool) => of_file.push(pool.close()),
                // What a lost connection still has to answer never comes.
                Pool::Postgres(connections) => {
                    let pool = connections.pool();
                    of_server.push(async move { timeout(POSTGRES_CLOSE_TIMEOUT, pool.close()).await });
                }
            }
        }
        // One after the other: SQLite removes the files beside the database with the last connection, and of two that close at the same time, each
        // takes the other for the last one.
        for closing in of_file {
            closing.await;
        }
        join_all(of_server).await;
    }
}

async fn acquire(pool: &Pool) -> Result<Connection> {
    Ok(match pool {
        Pool::Sqlite(pool) => Connection::Sqlite(pool.acquire().await?),
        Pool::Postgres(connections) => {
            Connection::Postgres(Box::pin(crate::sql::acquire(connections)).await?)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::limits::SEARCH_CONNECTIONS;

    async fn a_slow_search_fails_and_the_next_one_does_not(database: &Database) {
        let count = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000) SELECT COUNT(*) FROM n";
        for _ in 0..=SEARCH_CONNECTIONS {
            let mut connection = database.search(Duration::ZERO).await.unwrap();
            let slow = query_scalar::<i64>(count).fetch_one(&mut connection).await.unwrap_err();
            assert!(matches!(Error::or_slow(slow), Error::Invalid { what: "search", .. }));
        }
        let mut connection = database.search(Duration::from_secs(60)).await.unwrap();
        let counted: i64 = query_scalar(count).fetch_one(&mut connection).await.unwrap();
        assert_eq!(counted, 100_000);
    }

    #[tokio::test]
    async fn a_search_that_takes_too_long_fails_and_the_next_one_does_not() {
        let home = tempfile::tempdir().unwrap();
        let database = Database::open(&home.path().join("db")).await.unwrap();
        a_slow_search_fails_and_the_next_one_does_not(&database).await;
    }

    #[tokio::test]
    async fn on_postgres_a_search_that_takes_too_long_fails_and_the_next_one_does_not() {
        a_slow_search_fails_and_the_next_one_does_not(&crate::testing::empty_on_postgres().await.database)
            .await;
    }

    async fn a_change_in_progress_is_a_connection_in_use(database: &Database) {
        let writing = || database.pools().into_iter().find(|pool| pool.purpose == "write").unwrap();
        let most = writing().most;
        let settles = async |in_use| {
            let settled = async {
                // A separate task returns the connection to the pool.
                while writing() != (PoolUse { purpose: "write", in_use, most }) {
                    tokio::task::yield_now().await;
                }
            };
            tokio::time::timeout(Duration::from_secs(30), settled)
                .await
                .expect("the number of connections in use becomes right");
        };
        settles(0).await;
        let change = database.write(Scope::System).await.unwrap();
        settles(1).await;
        drop(change);
        settles(0).await;
    }

    #[tokio::test]
    async fn the_use_of_connections_is_that_of_changes_in_progress() {
        let home = tempfile::tempdir().unwrap();
        a_change_in_progress_is_a_connection_in_use(&Database::open(&home.path().join("db")).await.unwrap())
            .await;
    }

    #[tokio::test]
    async fn on_postgres_the_use_of_connections_is_that_of_changes_in_progress() {
        a_change_in_progress_is_a_connection_in_use(&crate::testing::empty_on_postgres().await.database)
            .await;
    }

    #[tokio::test]
    async fn on_postgres_an_idle_change_of_a_server_has_a_limit_and_that_of_a_copy_has_none() {
        let url = testkit::postgres::database();
        let location = crate::Location::parse(&url).unwrap();
        let limit = async |store: crate::Store| {
            let mut change = store.database.write(Scope::System).await.unwrap();
            let shown = "SELECT current_setting('idle_in_transaction_session_timeout')";
            query_scalar::<String>(shown).fetch_one(&mut change).await.unwrap()
        };
        assert_eq!(limit(crate::Store::at(&location).await.unwrap()).await, "1min");
        assert_eq!(limit(crate::Store::connect(&url).await.unwrap()).await, "0");
    }
}
