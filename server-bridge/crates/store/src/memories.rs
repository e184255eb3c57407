//! An agent's memories of a user, for all of their conversations, and for no other user's.

use sqlx::FromRow;

use crate::error::{Error, Result, check_length};
use crate::limits::{MEMORIES_PER_USER, MEMORY_NAME_MAX_BYTES, MEMORY_TEXT_MAX_BYTES};
use crate::sql::{Scope, query, query_as, query_scalar};
use crate::{ChatId, Store, UserId, is_unseen};

/// Something kept.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct Memory {
    /// Its name, unique among its user's memories.
    pub name: String,
    /// The text of the memory.
    pub text: String,
    /// When it was written, in Unix milliseconds.
    pub updated_at_ms: i64,
}

impl Store {
    /// All memories of a user, by name.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn memories(&self, user: UserId) -> Result<Vec<Memory>> {
        Ok(query_as("SELECT name, text, updated_at_ms FROM memories WHERE user_id = $1 ORDER BY name")
            .bind(user)
            .fetch_all(self.database.reader())
            .await?)
    }

    /// Stores a memory under a name, replacing an earlier one.
    ///
    /// # Errors
    /// [`Error::Invalid`] for an empty name or one beyond 64 bytes, a text beyond 2 KiB, and if there are 100 already.
    pub async fn remember(&self, user: UserId, name: &str, text: &str) -> Result<()> {
        let invalid = |rule: String| Error::Invalid { what: "memory", rule };
        if name.trim().is_empty() {
            return Err(invalid("needs a name".to_owned()));
        }
        check_length("memory's name", name, MEMORY_NAME_MAX_BYTES)?;
        check_length("memory", text, MEMORY_TEXT_MAX_BYTES)?;
        // Models read invisible text too, in each later conversation.
        let unseen = |c: &char| is_unseen(*c) && !matches!(c, '\n' | '\t');
        if let Some(found) = name.chars().chain(text.chars()).find(unseen) {
            let code = u32::from(found);
            return Err(invalid(format!("holds U+{code:04X}, an invisible character; leave it out")));
        }
        let kept = query(
            "INSERT INTO memories (user_id, name, text, updated_at_ms)
             SELECT $1, $2, $3, $4 WHERE (SELECT COUNT(*) FROM memories WHERE user_id = $1 AND name <> $2) < $5
             ON CONFLICT (user_id, name) DO UPDATE SET text = excluded.text, updated_at_ms = excluded.updated_at_ms",
        )
        .bind(user)
        .bind(name)
        .bind(text)
        .bind(self.now_ms())
        .bind(MEMORIES_PER_USER)
        .execute(self.database.writer(Scope::User(user)))
        .await?;
        if kept.rows_affected() == 0 {
            return Err(invalid(format!(
                "cannot be kept beside {MEMORIES_PER_USER} others; forget or merge some first"
            )));
        }
        Ok(())
    }

    /// Deletes the memory of this name; returns true if there was one.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn forget(&self, user: UserId, name: &str) -> Result<bool> {
        let forgotten = query("DELETE FROM memories WHERE user_id = $1 AND name = $2")
            .bind(user)
            .bind(name)
            .execute(self.database.writer(Scope::User(user)))
            .await?;
        Ok(forgotten.rows_affected() == 1)
    }

    /// The memory text in the prompt of a user's conversation: the one it began with, which is `now` if there is none yet.
    ///
    /// # Errors
    /// [`Error::NotFound`] for a conversation that is gone or another user's.
    pub async fn chat_memory(&self, user: UserId, chat: &ChatId, now: &str) -> Result<String> {
        let told: Option<Option<String>> =
            query_scalar("SELECT memory FROM chats WHERE id = $1 AND user_id = $2")
                .bind(chat)
                .bind(user)
                .fetch_optional(self.database.reader())
                .await?;
        if let Some(told) = told.ok_or_else(|| Error::not_found("chat", chat))? {
            return Ok(told);
        }
        // Two callers that begin it at once get the same text.
        let told: Option<String> = query_scalar(
            "UPDATE chats SET memory = COALESCE(memory, $1) WHERE id = $2 AND user_id = $3 RETURNING memory",
        )
        .bind(now)
        .bind(chat)
        .bind(user)
        .fetch_optional(self.database.writer(Scope::User(user)))
        .await?;
        told.ok_or_else(|| Error::not_found("chat", chat))
    }
}
