//! Records when PostgreSQL was last found unreachable or silent: connections made before then may be broken.
//!
//! A server whose machine or network vanished closes no connection, so a statement that it received is never answered. The connection that holds
//! the right to the database ([`crate::Hold`]) is checked regularly; once the check is not answered, every statement in progress fails, and no
//! connection from before is used again ([`Connections`]).

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
/// How often the database was found silent.
static SILENCES: LazyLock<watch::Sender<u64>> = LazyLock::new(watch::Sender::default);

/// Records that the database was found unreachable.
pub(crate) fn note_away() {
    *FOUND_AWAY.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
}

/// Records that the database accepts statements and answers none: all [`answer`]s in progress fail. Returns their error.
pub(crate) fn note_silent() -> sqlx::Error {
    note_away();
    SILENCES.send_modify(|silences| *silences += 1);
    silence()
}

/// True if the last outage may have broken a connection of this age.
pub(crate) fn is_suspect(age: Duration) -> bool {
    let found = *FOUND_AWAY.lock().unwrap_or_else(PoisonError::into_inner);
    found.map(|found| found.elapsed()).is_some_and(|since| since < age && since < POSTGRES_SUSPECT)
}

/// The database's answer, or an error if the database is found silent before it comes.
pub(crate) async fn answer<T>(asked: impl Future<Output = sqlx::Result<T>>) -> sqlx::Result<T> {
    let mut silences = SILENCES.subscribe();
    match select(pin!(asked), pin!(silences.changed())).await {
        Either::Left((answer, _)) => answer,
        Either::Right(_) => Err(silence()),
    }
}

fn silence() -> sqlx::Error {
    io::Error::new(io::ErrorKind::TimedOut, "the database server does not answer").into()
}

/// The connections to a PostgreSQL server for one purpose. They are replaced after the server was found silent: before a connection is used again,
/// sqlx waits without a limit for the answers that are still due, so silent ones would take up the places of others.
#[derive(Clone)]
pub(crate) struct Connections(Arc<RwLock<Current>>);

struct Current {
    pool: PgPool,
    /// The value of [`SILENCES`] when the pool was made.
    silences: u64,
}

impl Connections {
    pub(crate) fn new(pool: PgPool) -> Self {
        Self(Arc::new(RwLock::new(Current { pool, silences: *SILENCES.borrow() })))
    }

    /// The pool of the connections, without any from before the last silence.
    pub(crate) fn pool(&self) -> PgPool {
        let silences = *SILENCES.borrow();
        let current = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if current.silences == silences || current.pool.is_closed() {
            return current.pool.clone();
        }
        drop(current);
        let mut current = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if current.silences != silences {
            let options = current.pool.options().clone();
            let fresh = options.connect_lazy_with(current.pool.connect_options().as_ref().clone());
            // The old pool is not closed: that would wait for its silent connections, and those who wait for one of them would get another error.
            *current = Current { pool: fresh, silences };
        }
        current.pool.clone()
    }
}

impl fmt::Debug for Connections {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pool().fmt(out)
    }
}
