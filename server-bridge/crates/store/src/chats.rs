//! Conversations. Each belongs to one user; for other users it does not exist.

use sqlx::FromRow;

use crate::error::{Error, Result, check_length};
use crate::limits::{SETTING_VALUE_MAX_BYTES, TITLE_MAX_CHARS};
use crate::messages::title_from;
use crate::sql::{On, Scope, query, query_as, query_scalar};
use crate::{APPROVAL, ChatId, MessageRole, Store, UserId};

/// A user's conversation, without its messages.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct Chat {
    /// The conversation's id.
    pub id: ChatId,
    /// The user who owns it.
    #[sqlx(rename = "user_id")]
    pub user: UserId,
    /// The title; empty until it is set by the user's first message or [`Store::rename_chat`].
    pub title: String,
    /// The place this chat is bound to (a runner's name, `__docker__`, `none`); it takes precedence over the active runner.
    pub runner: Option<String>,
    /// When it was created, in Unix milliseconds.
    pub created_at_ms: i64,
    /// When it was last active, in Unix milliseconds.
    pub updated_at_ms: i64,
}

impl Store {
    /// Creates a conversation, in the approval mode that its user set with [`APPROVAL`].
    ///
    /// # Errors
    /// [`Error::Database`], also if the user was removed concurrently.
    pub async fn create_chat(&self, user: UserId) -> Result<Chat> {
        create_in(self.database.writer(Scope::User(user)), user, self.now_ms()).await
    }

    /// A user's newest empty conversation without settings; creates one if there is none.
    ///
    /// # Errors
    /// As for [`Store::create_chat`].
    pub async fn empty_chat(&self, user: UserId) -> Result<Chat> {
        let mut transaction = self.database.write(Scope::User(user)).await?;
        let empty: Option<Chat> = query_as(
            "SELECT c.id, c.user_id, c.title, c.runner, c.created_at_ms, c.updated_at_ms FROM chats c
             WHERE c.user_id = $1 AND c.title = '' AND c.runner IS NULL AND c.model IS NULL AND c.cwd = ''
                AND c.parent_id IS NULL AND NOT c.is_copying
                AND c.approval = COALESCE((SELECT s.value FROM settings s WHERE s.user_id = $1 AND s.name = $2), 'ask')
                AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.chat_id = c.id)
             ORDER BY c.created_at_ms DESC, c.id LIMIT 1",
        )
        .bind(user)
        .bind(APPROVAL)
        .fetch_optional(&mut transaction)
        .await?;
        let chat = match empty {
            Some(chat) => chat,
            None => create_in(&mut transaction, user, self.now_ms()).await?,
        };
        transaction.commit().await?;
        Ok(chat)
    }

    /// A user's conversation.
    ///
    /// # Errors
    /// [`Error::NotFound`], also for another user's, and for an incomplete fork.
    pub async fn chat(&self, user: UserId, id: &ChatId) -> Result<Chat> {
        query_as(
            "SELECT id, user_id, title, runner, created_at_ms, updated_at_ms FROM chats
             WHERE id = $1 AND user_id = $2 AND NOT is_copying",
        )
        .bind(id)
        .bind(user)
        .fetch_optional(self.database.reader())
        .await?
        .ok_or_else(|| Error::not_found("chat", id))
    }

    /// Sets a conversation's title.
    ///
    /// # Errors
    /// [`Error::NotFound`], also for another user's; [`Error::Invalid`] beyond 200 characters.
    pub async fn rename_chat(&self, user: UserId, id: &ChatId, title: &str) -> Result<Chat> {
        if title.chars().count() > TITLE_MAX_CHARS {
            return Err(Error::Invalid {
                what: "title",
                rule: format!("is longer than {TITLE_MAX_CHARS} characters; shorten it"),
            });
        }
        query_as(
            "UPDATE chats SET title = $1, updated_at_ms = $2 WHERE id = $3 AND user_id = $4 AND NOT is_copying
             RETURNING id, user_id, title, runner, created_at_ms, updated_at_ms",
        )
        .bind(title)
        .bind(self.now_ms())
        .bind(id)
        .bind(user)
        .fetch_optional(self.database.writer(Scope::User(user)))
        .await?
        .ok_or_else(|| Error::not_found("chat", id))
    }

    /// Replaces the title that a conversation got from its first message; keeps its position among the others. Returns `None` if the conversation
    /// was deleted, or has another title, such as one that a person gave it.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn replace_automatic_title(
        &self,
        user: UserId,
        id: &ChatId,
        title: &str,
    ) -> Result<Option<Chat>> {
        let mut transaction = self.database.write(Scope::User(user)).await?;
        let first: Option<String> =
            query_scalar("SELECT text FROM messages WHERE chat_id = $1 AND role = $2 ORDER BY id LIMIT 1")
                .bind(id)
                .bind(MessageRole::User)
                .fetch_optional(&mut transaction)
                .await?;
        let Some(first) = first else { return Ok(None) };
        let chat = query_as(
            "UPDATE chats SET title = $1 WHERE id = $2 AND user_id = $3 AND title = $4 AND NOT is_copying
             RETURNING id, user_id, title, runner, created_at_ms, updated_at_ms",
        )
        .bind(title.chars().take(TITLE_MAX_CHARS).collect::<String>())
        .bind(id)
        .bind(user)
        .bind(title_from(&first))
        .fetch_optional(&mut transaction)
        .await?;
        transaction.commit().await?;
        Ok(chat)
    }

    /// Binds a conversation to a place, or, with `None`, lets it follow the active runner again. The router checks whether the choice is valid.
    ///
    /// # Errors
    /// [`Error::NotFound`], also for another user's.
    pub async fn bind_chat_runner(&self, user: UserId, id: &ChatId, runner: Option<&str>) -> Result<Chat> {
        check_length("runner's name", runner.unwrap_or_default(), SETTING_VALUE_MAX_BYTES)?;
        query_as(
            "UPDATE chats SET runner = $1, updated_at_ms = $2 WHERE id = $3 AND user_id = $4 AND NOT is_copying
             RETURNING id, user_id, title, runner, created_at_ms, updated_at_ms",
        )
        .bind(runner)
        .bind(self.now_ms())
        .bind(id)
        .bind(user)
        .fetch_optional(self.database.writer(Scope::User(user)))
        .await?
        .ok_or_else(|| Error::not_found("chat", id))
    }

    /// Records activity in a conversation.
    ///
    /// # Errors
    /// [`Error::NotFound`], also for another user's.
    pub async fn touch_chat(&self, user: UserId, id: &ChatId) -> Result<()> {
        let touched =
            query("UPDATE chats SET updated_at_ms = $1 WHERE id = $2 AND user_id = $3 AND NOT is_copying")
                .bind(self.now_ms())
                .bind(id)
                .bind(user)
                .execute(self.database.writer(Scope::User(user)))
                .await?;
        if touched.rows_affected() == 0 { Err(Error::not_found("chat", id)) } else { Ok(()) }
    }

    /// Deletes a conversation with its messages and its sub-agents. The records of its execs stay in the database.
    ///
    /// # Errors
    /// [`Error::NotFound`], also for another user's.
    pub async fn delete_chat(&self, user: UserId, id: &ChatId) -> Result<()> {
        let deleted = query("DELETE FROM chats WHERE id = $1 AND user_id = $2 AND NOT is_copying")
            .bind(id)
            .bind(user)
            .execute(self.database.writer(Scope::User(user)))
            .await?;
        if deleted.rows_affected() == 0 {
            return Err(Error::not_found("chat", id));
        }
        self.database.checkpoint().await
    }
}

/// Creates a conversation, alone or as a part of a transaction.
pub(crate) async fn create_in(executor: impl On<'_>, user: UserId, now_ms: i64) -> Result<Chat> {
    Ok(query_as(
        "INSERT INTO chats (id, user_id, title, created_at_ms, updated_at_ms, approval) VALUES ($1, $2, '', $3, $3,
            COALESCE((SELECT value FROM settings WHERE user_id = $2 AND name = $4), 'ask'))
         RETURNING id, user_id, title, runner, created_at_ms, updated_at_ms",
    )
    .bind(ChatId::random())
    .bind(user)
    .bind(now_ms)
    .bind(APPROVAL)
    .fetch_one(executor)
    .await?)
}
