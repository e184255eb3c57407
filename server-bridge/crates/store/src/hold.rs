//! The right of one server, or of nodes, to use a PostgreSQL database.
//!
//! A second server would mistake the first one's running commands for those of a dead one. A server's SQLite file is protected by a lock on its
//! home directory; here the right is an advisory lock, held by a connection that does nothing else. PostgreSQL releases the lock when that
//! connection ends, so the lock is taken again after an outage. Nodes share the lock: it keeps them and a server that works alone apart, while
//! their leases coordinate the nodes.

use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{ConnectOptions, Connection};
use tokio::time::{Instant, sleep, timeout};

use crate::away;
use crate::database::postgres;
use crate::error::{Error, Result};
use crate::limits::{HOLD_ANSWER, HOLD_CHECK, HOLD_PATIENCE};
use crate::location::PostgresUrl;

/// The key of the lock: `sandserv` in ASCII.
const SERVING: i64 = i64::from_be_bytes(*b"sandserv");
/// The pause before the next attempt to take the lock.
const PAUSE: Duration = Duration::from_millis(50);

/// A change of the right to use a database.
#[derive(Debug)]
pub enum HoldNews {
    /// The database cannot be reached; the right will be requested again.
    Away(Error),
    /// The database can be reached again, and the right was taken again.
    Back,
    /// Another server took the right while this one could not reach the database: [`Error::InUse`].
    Lost(Error),
}

/// The right to use a database; dropping it releases the right.
#[derive(Debug)]
pub struct Hold {
    /// `None` while the database cannot be reached.
    connection: Option<PgConnection>,
    /// The statement that takes the lock, exclusively or shared.
    lock: &'static str,
    options: PgConnectOptions,
    place: String,
    name: String,
}

impl Hold {
    /// Takes the right. A server that was just killed still holds it for a moment, so this retries for up to 3 s.
    ///
    /// # Errors
    /// [`Error::InUse`] if another server holds it, [`Error::Unreachable`], [`Error::Database`].
    pub async fn take(url: &PostgresUrl) -> Result<Self> {
        Self::lock(url, "SELECT pg_try_advisory_lock($1)").await
    }

    /// Like [`Hold::take`], but for a node, which shares the right with other nodes.
    ///
    /// # Errors
    /// As for [`Hold::take`].
    pub async fn share(url: &PostgresUrl) -> Result<Self> {
        Self::lock(url, "SELECT pg_try_advisory_lock_shared($1)").await
    }

    async fn lock(url: &PostgresUrl, lock: &'static str) -> Result<Self> {
        // The name identifies the connection even if the server has not noticed yet that the connection ended.
        let name = format!("sandbridge {:016x}", rand::random::<u64>());
        let options = postgres::options(url.expose())?.application_name(&name);
        let mut hold = Self { connection: None, lock, options, place: url.to_string(), name };
        let deadline = Instant::now() + HOLD_PATIENCE;
        while !hold.try_take().await? {
            if Instant::now() >= deadline {
                return Err(Error::InUse { place: hold.place });
            }
            sleep(PAUSE).await;
        }
        Ok(hold)
    }

    /// Keeps the right, and returns when it changes. May be dropped and called again. Once its connection is lost, all statements in progress fail
    /// as well, since theirs may be lost without a sign.
    pub async fn news(&mut self) -> HoldNews {
        loop {
            sleep(HOLD_CHECK).await;
            let failed = match &mut self.connection {
                Some(connection) => match timeout(HOLD_ANSWER, connection.ping()).await {
                    Ok(Ok(())) => continue,
                    Ok(Err(error)) => Error::from(error),
                    Err(_) => Error::from(away::silence()),
                },
                None => match timeout(HOLD_ANSWER, self.try_take()).await {
                    Ok(Ok(true)) => return HoldNews::Back,
                    Ok(Ok(false)) => return HoldNews::Lost(Error::InUse { place: self.place.clone() }),
                    // The next check tries again. Connections that were made in the meantime may be lost, too.
                    Ok(Err(_)) | Err(_) => {
                        away::note_lost();
                        continue;
                    }
                },
            };
            away::note_lost();
            self.connection = None;
            return HoldNews::Away(failed);
        }
    }

    async fn try_take(&mut self) -> Result<bool> {
        let unreachable = |source| Error::Unreachable { place: self.place.clone(), source };
        let mut connection = self.options.connect().await.map_err(unreachable)?;
        // A broken connection of this process may still have the lock.
        sqlx::query("SELECT pg_terminate_backend(pid, 2000) FROM pg_stat_activity WHERE application_name = $1 AND pid <> pg_backend_pid()")
            .bind(&self.name)
            .execute(&mut connection)
            .await?;
        let taken: bool = sqlx::query_scalar(self.lock).bind(SERVING).fetch_one(&mut connection).await?;
        if taken {
            self.connection = Some(connection);
        }
        Ok(taken)
    }
}
