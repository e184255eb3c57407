//! Chats that are looked through once for what may be worth keeping.

use crate::error::Result;
use crate::limits::rows;
use crate::sql::{Scope, query, query_as, query_scalar};
use crate::{ChatId, Store, User, UserId};

impl Store {
    /// Claims a user's own chat for being looked through; returns true if nobody did before.
    ///
    /// # Errors
    /// [`Error::Database`](crate::Error::Database).
    pub async fn claim_memorising(&self, user: UserId, chat: &ChatId) -> Result<bool> {
        let claimed = query(
            "INSERT INTO memorised_chats (chat_id, at_ms)
             SELECT c.id, $3 FROM chats c WHERE c.id = $1 AND c.user_id = $2 AND c.parent_id IS NULL AND NOT c.is_copying
             ON CONFLICT (chat_id) DO NOTHING",
        )
        .bind(chat)
        .bind(user)
        .bind(self.now_ms())
        .execute(self.database.writer(Scope::User(user)))
        .await?;
        Ok(claimed.rows_affected() == 1)
    }

    /// Chats that nothing happened in since a time, with their users, of those who have this setting `on`, that were not looked through; at most `limit`.
    ///
    /// # Errors
    /// [`Error::Database`](crate::Error::Database).
    pub async fn idle_chats(&self, setting: &str, since_ms: i64, limit: u32) -> Result<Vec<(User, ChatId)>> {
        let found: Vec<(UserId, ChatId)> = query_as(
            "SELECT c.user_id, c.id FROM chats c JOIN settings s ON s.user_id = c.user_id AND s.name = $1 AND s.value = 'on'
             WHERE c.updated_at_ms < $2 AND c.parent_id IS NULL AND NOT c.is_copying
               AND NOT EXISTS (SELECT 1 FROM memorised_chats m WHERE m.chat_id = c.id)
               AND EXISTS (SELECT 1 FROM turns t WHERE t.chat_id = c.id)
             ORDER BY c.updated_at_ms DESC LIMIT $3",
        )
        .bind(setting)
        .bind(since_ms)
        .bind(rows(limit))
        .fetch_all(self.database.reader())
        .await?;
        let users = if found.is_empty() { Vec::new() } else { self.users().await? };
        let user_of = |(id, chat)| Some((users.iter().find(|user| user.id == id)?.clone(), chat));
        Ok(found.into_iter().filter_map(user_of).collect())
    }

    /// The latest texts that a user wrote in their own words in a chat, at most `limit`, the oldest first.
    ///
    /// # Errors
    /// [`Error::Database`](crate::Error::Database).
    pub async fn own_words(&self, user: UserId, chat: &ChatId, limit: u32) -> Result<Vec<String>> {
        let mut texts: Vec<String> = query_scalar(
            "SELECT m.text FROM messages m JOIN chats c ON c.id = m.chat_id
             WHERE m.chat_id = $1 AND c.user_id = $2 AND m.role = 'user' AND m.document_json IS NULL AND NOT m.undone
               AND m.text NOT LIKE '!%' AND m.text NOT LIKE '/%'
             ORDER BY m.id DESC LIMIT $3",
        )
        .bind(chat)
        .bind(user)
        .bind(rows(limit))
        .fetch_all(self.database.reader())
        .await?;
        texts.reverse();
        Ok(texts)
    }
}
