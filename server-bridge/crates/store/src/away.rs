//! Records when PostgreSQL was last found unreachable or silent: connections made before then may be broken.
//!
//! A server whose machine or network vanished closes no connection, so a statement that it received is never answered. A server that runs checks
//! one connection regularly, the one that holds the right to the database ([`crate::Hold`]). Once that is lost, every statement in progress
//! fails, and no connection from before is used again ([`Connections`]).

use std::fmt;
use std::io;
use std::pin::pin;
use std::sync::{Arc, LazyLock, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use futures_util::future::{Either, select};
use sqlx::PgPool;
use tokio::sync::watch;

use crate::limits::POSTGRES_SUSPECT;

/// When any caller in this process last found the database unreachable.
static FOUND_AWAY: Mutex<Option<Instant>> = Mutex::new(None);
/// How often the connection to the database was found lost.
static LOSSES: LazyLock<watch::Sender<u64>> = LazyLock::new(watch::Sender::default);

/// Records that the database was found unreachable.
pub(crate) fn note_away() {
    *FOUND_AWAY.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
}

/// Records that a connection was lost that was just checked, so others may be too: all [`answer`]s in progress fail.
pub(crate) fn note_lost() {
    note_away();
    LOSSES.send_modify(|losses| *losses += 1);
}

/// True if the last outage may have broken a connection of this age.
pub(crate) fn is_suspect(age: Duration) -> bool {
    let found = *FOUND_AWAY.lock().unwrap_or_else(PoisonError::into_inner);
    found.map(|found| found.elapsed()).is_some_and(|since| since < age && since < POSTGRES_SUSPECT)
}

/// The database's answer, or an error if the connection to the database is found lost before it comes. An answer that comes just then is not
/// used: its connection is not used again either.
pub(crate) async fn answer<T>(asked: impl Future<Output = sqlx::Result<T>>) -> sqlx::Result<T> {
    let mut losses = LOSSES.subscribe();
    match select(pin!(losses.changed()), pin!(asked)).await {
        Either::Left(_) => Err(silence()),
        Either::Right((answer, _)) => answer,
    }
}

/// The error of a statement that the database does not answer.
pub(crate) fn silence() -> sqlx::Error {
    io::Error::new(io::ErrorKind::TimedOut, "the database server does not answer").into()
}

/// The connections to a PostgreSQL server for one purpose. They are replaced after one of the server's connections was lost: before a connection
/// is used again, sqlx waits without a limit for the answers that are still due, so silent ones would take up the places of others.
#[derive(Clone)]
pub(crate) struct Connections(Arc<RwLock<Current>>);

struct Current {
    pool: PgPool,
    /// The value of [`LOSSES`] when the pool was made.
    losses: u64,
}

impl Connections {
    pub(crate) fn new(pool: PgPool) -> Self {
        Self(Arc::new(RwLock::new(Current { pool, losses: *LOSSES.borrow() })))
    }

    /// The pool of the connections, without any from before the last loss.
    pub(crate) fn pool(&self) -> PgPool {
        let losses = *LOSSES.borrow();
        let current = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if current.losses == losses || current.pool.is_closed() {
            return current.pool.clone();
        }
        drop(current);
        let mut current = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if current.losses != losses {
            let options = current.pool.options().clone();
            let fresh = options.connect_lazy_with(current.pool.connect_options().as_ref().clone());
            let old = std::mem::replace(&mut *current, Current { pool: fresh, losses }).pool;
            // Marks the pool as closed at once, so that what returns to it is closed. Waiting for that would mean waiting for silent connections.
            drop(old.close());
        }
        current.pool.clone()
    }
}

impl fmt::Debug for Connections {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let current = self.0.read().unwrap_or_else(PoisonError::into_inner);
        current.pool.fmt(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::is_away;
    use crate::sql::{Scope, query_scalar};

    /// The longest wait for anything in this test.
    const PATIENCE: Duration = Duration::from_secs(30);

    #[tokio::test]
    async fn on_postgres_a_loss_ends_what_is_in_progress_and_replaces_the_connections() {
        let database = crate::testing::empty_on_postgres().await.database;
        let backend = async || {
            query_scalar::<i32>("SELECT pg_backend_pid()").fetch_one(database.reader()).await.unwrap()
        };
        let before = backend().await;
        let change = database.write(Scope::System).await.unwrap();
        let endless = tokio::spawn({
            let database = database.clone();
            async move {
                query_scalar::<i32>("SELECT 1 FROM (SELECT pg_sleep(600)) s")
                    .fetch_one(database.reader())
                    .await
            }
        });
        let is_asked =
            "SELECT COUNT(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%pg_sleep(600)%'
            AND pid <> pg_backend_pid() AND datname = current_database()";
        let asked = async {
            while query_scalar::<i64>(is_asked).fetch_one(database.reader()).await.unwrap() == 0 {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(PATIENCE, asked).await.expect("the statement reaches the server");
        note_lost();
        assert!(is_away(&endless.await.unwrap().unwrap_err()));
        assert_ne!(backend().await, before, "the connection is another one");
        // A change from before ends with its connection, which frees its lock.
        drop(change);
        let next = tokio::time::timeout(PATIENCE, database.write(Scope::System)).await;
        next.expect("the next change begins").unwrap().commit().await.unwrap();
    }
}
