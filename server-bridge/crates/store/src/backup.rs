//! Copies of the database: written while it is in use, and verified before use.

use std::fmt::Display;
use std::path::Path;

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions, Connection};

use crate::Store;
use crate::database::newest_step;
use crate::error::{Error, Result};
use crate::sql::{query, query_scalar};

/// Verifies that a copy is an intact database with a schema that this version supports. No other process may have the file open.
///
/// # Errors
/// [`Error::Invalid`] if it is not a database or is damaged, [`Error::NewerSchema`].
pub async fn check_backup(file: &Path) -> Result<()> {
    let options = SqliteConnectOptions::new().filename(file).read_only(true).immutable(true);
    let opened = options.disable_statement_logging().connect().await;
    let mut connection =
        opened.map_err(|error| invalid(format!("is not a database ({error}); name another file")))?;
    let looked = look(&mut connection).await;
    // Nothing was written, so an error while closing loses nothing.
    let _ = connection.close().await;
    looked
}

async fn look(connection: &mut SqliteConnection) -> Result<()> {
    let damaged = |found: &dyn Display| {
        invalid(format!("is not a database, or is damaged ({found}); name another file"))
    };
    let found: String = sqlx::query_scalar("PRAGMA integrity_check(1)")
        .fetch_one(&mut *connection)
        .await
        .map_err(|error| damaged(&error))?;
    if found != "ok" {
        return Err(damaged(&found));
    }
    let found = sqlx::query_scalar("SELECT MAX(version) FROM _sqlx_migrations WHERE success");
    let found: Option<i64> = found.fetch_one(&mut *connection).await.unwrap_or_default();
    match (found, newest_step()) {
        (None, _) => Err(invalid(
            "is not a Sandbridge database; name a file that `sandbridge backup` wrote".to_owned(),
        )),
        (Some(found), known) if found > known => Err(Error::NewerSchema { found, known }),
        (Some(_), _) => Ok(()),
    }
}

impl Store {
    /// Writes a copy of the database in its current state into an empty file. Secrets that earlier versions stored in plain text are not part of a
    /// copy.
    ///
    /// # Errors
    /// [`Error::Invalid`] while the database contains unsealed keys of models, and for a PostgreSQL database, which has its own tools for backups;
    /// [`Error::Database`] if the file cannot be written.
    pub async fn back_up(&self, file: &Path) -> Result<()> {
        if self.database.is_postgres() {
            let rule =
                "is in PostgreSQL; copy it with pg_dump, and then the bucket of --blobs if there is one"
                    .to_owned();
            return Err(Error::Invalid { what: "database", rule });
        }
        let is_plain = "SELECT EXISTS (SELECT 1 FROM subscriptions WHERE key_sealed LIKE 'plain:%')";
        if query_scalar(is_plain).fetch_one(self.database.latest()).await? {
            let rule =
                "still contains unsealed keys of models; start the server of this version once, and then try again"
                    .to_owned();
            return Err(Error::Invalid { what: "database", rule });
        }
        query("VACUUM INTO $1").bind(file.to_string_lossy().as_ref()).execute(self.database.latest()).await?;
        Ok(())
    }
}

fn invalid(rule: String) -> Error {
    Error::Invalid { what: "backup", rule }
}
