//! Server-wide settings, which administrators change: one text per key.

use crate::Store;
use crate::audit::{AuditEntry, append_entry};
use crate::error::{Result, check_length};
use crate::limits::{SETTING_KEY_MAX_BYTES, SETTING_VALUE_MAX_BYTES};
use crate::sql::{Scope, query, query_as, query_scalar};

/// The key under which a database records the database that has replaced it. Users never see this entry.
pub(crate) const MOVED_TO: &str = "store.moved_to";
/// The key of the prefix that this database's objects have in a bucket.
pub(crate) const BLOBS_ID: &str = "store.blobs_id";
/// The key of the time when a node last deleted objects that no row names, in Unix milliseconds.
pub(crate) const BLOBS_SWEPT: &str = "store.blobs_swept_ms";
/// The key of the time when a node last searched the bucket for objects without an entry, in Unix milliseconds.
pub(crate) const BLOBS_LISTED: &str = "store.blobs_listed_ms";

impl Store {
    /// The location, for people, of the database that has replaced this one; `None` if none has.
    pub(crate) async fn moved_to(&self) -> Result<Option<String>> {
        Ok(query_scalar("SELECT value FROM server_settings WHERE name = $1")
            .bind(MOVED_TO)
            .fetch_optional(self.database.latest())
            .await?)
    }

    /// Every setting that is set, by key.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn server_settings(&self) -> Result<Vec<(String, String)>> {
        Ok(query_as("SELECT name, value FROM server_settings ORDER BY name")
            .fetch_all(self.database.reader())
            .await?)
    }

    /// Changes some settings, or with `None` resets them, together with an audit entry for each, in one transaction.
    ///
    /// # Errors
    /// [`crate::Error::Invalid`] for a key beyond 128 bytes or a value beyond 64 KiB.
    pub async fn set_server_settings(&self, changes: &[(&str, Option<String>, AuditEntry)]) -> Result<()> {
        let mut transaction = self.database.write(Scope::System).await?;
        for (key, value, entry) in changes {
            check_length("setting's name", key, SETTING_KEY_MAX_BYTES)?;
            check_length("setting", value.as_deref().unwrap_or_default(), SETTING_VALUE_MAX_BYTES)?;
            let statement = match value {
                Some(value) => query(
                    "INSERT INTO server_settings (name, value) VALUES ($1, $2)
                     ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                )
                .bind(key)
                .bind(value),
                None => query("DELETE FROM server_settings WHERE name = $1").bind(key),
            };
            statement.execute(&mut transaction).await?;
            append_entry(&mut transaction, self.now_ms(), entry).await?;
        }
        transaction.commit().await?;
        Ok(())
    }
}
