//! A user's settings: one text per key.

use crate::error::{Result, check_length};
use crate::limits::{SETTING_KEY_MAX_BYTES, SETTING_VALUE_MAX_BYTES};
use crate::sql::{Scope, query, query_scalar};
use crate::{Store, UserId};

/// The key of the active runner: a runner's name, `__docker__` or `none`. Without a value, the router chooses.
pub const ACTIVE_RUNNER: &str = "active_runner";
/// The key of the language in which a user wants answers. Without a value, it is the language of the user's messages.
pub const LANGUAGE: &str = "agent_language";
/// The key of the approval mode of a user's new conversations. Without a value, it is `ask`.
pub const APPROVAL: &str = "approval";
/// The key that marks users who have finished the first steps, or postponed them.
const WELCOMED: &str = "welcomed";

impl Store {
    /// The value of a user's setting, if it is set.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn setting(&self, user: UserId, key: &str) -> Result<Option<String>> {
        Ok(query_scalar("SELECT value FROM settings WHERE user_id = $1 AND name = $2")
            .bind(user)
            .bind(key)
            .fetch_optional(self.database.reader())
            .await?)
    }

    /// Sets a user's setting, or with `None` resets it.
    ///
    /// # Errors
    /// [`crate::Error::Invalid`] for a key beyond 128 bytes or a value beyond 64 KiB.
    pub async fn set_setting(&self, user: UserId, key: &str, value: Option<&str>) -> Result<()> {
        check_length("setting's name", key, SETTING_KEY_MAX_BYTES)?;
        let Some(value) = value else {
            query("DELETE FROM settings WHERE user_id = $1 AND name = $2")
                .bind(user)
                .bind(key)
                .execute(self.database.writer(Scope::User(user)))
                .await?;
            return Ok(());
        };
        check_length("setting", value, SETTING_VALUE_MAX_BYTES)?;
        query(
            "INSERT INTO settings (user_id, name, value) VALUES ($1, $2, $3)
             ON CONFLICT (user_id, name) DO UPDATE SET value = excluded.value",
        )
        .bind(user)
        .bind(key)
        .bind(value)
        .execute(self.database.writer(Scope::User(user)))
        .await?;
        Ok(())
    }

    /// A user's active place: see [`ACTIVE_RUNNER`].
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn active_runner(&self, user: UserId) -> Result<Option<String>> {
        self.setting(user, ACTIVE_RUNNER).await
    }

    /// Sets a user's active place: see [`ACTIVE_RUNNER`]. The router checks whether the choice is valid.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn set_active_runner(&self, user: UserId, choice: Option<&str>) -> Result<()> {
        self.set_setting(user, ACTIVE_RUNNER, choice).await
    }

    /// True if a user has no chat, no runner and no model, and has not finished or postponed the first steps.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn is_welcome_due(&self, user: UserId) -> Result<bool> {
        let has_begun: bool = query_scalar(
            "SELECT EXISTS (SELECT 1 FROM settings WHERE user_id = $1 AND name = $2)
                 OR EXISTS (SELECT 1 FROM chats WHERE user_id = $1)
                 OR EXISTS (SELECT 1 FROM runners WHERE user_id = $1)
                 OR EXISTS (SELECT 1 FROM subscriptions WHERE user_id = $1)",
        )
        .bind(user)
        .bind(WELCOMED)
        .fetch_one(self.database.reader())
        .await?;
        Ok(!has_begun)
    }

    /// Marks a user's first steps as finished, so that they are never shown again.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn end_welcome(&self, user: UserId) -> Result<()> {
        self.set_setting(user, WELCOMED, Some("1")).await
    }
}
