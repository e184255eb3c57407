//! Copies of the database: written while it is in use, and looked at before anybody relies on them.

use std::fmt::Display;
use std::path::Path;

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions, Connection};

use crate::Store;
use crate::database::newest_step;
use crate::error::{Error, Result};
use crate::sql::{query, query_scalar};

/// Looks at a copy, which nobody may have open: whether it is one, whole, and of a schema that this version knows.
///
/// # Errors
/// [`Error::Invalid`] where it is none or is damaged, [`Error::NewerSchema`].
pub async fn check_backup(file: &Path) -> Result<()> {
    let options = SqliteConnectOptions::new().filename(file).read_only(true).immutable(true);
    let opened = options.disable_statement_logging().connect().await;
    let mut connection =
        opened.map_err(|error| invalid(format!("is not a database ({error}); name another file")))?;
    let looked = look(&mut connection).await;
    // Nothing was written, so nothing can be lost at the end.
    let _ = connection.close().await;
    looked
}

async fn look(connection: &mut SqliteConnection) -> Result<()> {
    let damaged = |found: &dyn Display| {
        invalid(format!("is not a database, or is a damaged one ({found}); name another file"))
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
            "is not a database of Sandbridge; name a file that `sandbridge backup` wrote".to_owned(),
        )),
        (Some(found), known) if found > known => Err(Error::NewerSchema { found, known }),
        (Some(_), _) => Ok(()),
    }
}

impl Store {
    /// Writes a copy of the database, as it is in this moment, into a file that is empty. What earlier versions stored plain is no
    /// part of a copy.
    ///
    /// # Errors
    /// [`Error::Invalid`] while keys of models lie here plain, and for a database of PostgreSQL, which has programs for that; [`Error::Database`] where the file cannot be written.
    pub async fn back_up(&self, file: &Path) -> Result<()> {
        if self.database.is_postgres() {
            let rule = "is PostgreSQL's; copy it with pg_dump".to_owned();
            return Err(Error::Invalid { what: "database", rule });
        }
        let is_plain = "SELECT EXISTS (SELECT 1 FROM subscriptions WHERE key_sealed LIKE 'plain:%')";
        if query_scalar(is_plain).fetch_one(self.database.latest()).await? {
            let rule =
                "still holds keys of models that are not sealed; start this version's server once first"
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
