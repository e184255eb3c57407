//! Sub-agents: conversations below the conversation whose agent called them.

use crate::error::{Error, Result, check_length};
use crate::limits::{PAGE_MAX_ROWS, SETTING_KEY_MAX_BYTES, SETTING_VALUE_MAX_BYTES, rows};
use crate::sql::{Scope, Transaction, query, query_as};
use crate::{ChatId, MessageId, Store, SubAgent, UserId};

/// A sub-agent to create.
#[derive(Clone, Copy, Debug)]
pub struct NewSubAgent<'a> {
    /// The conversation whose agent calls it.
    pub parent: &'a ChatId,
    /// The message in that conversation that shows the call.
    pub message: MessageId,
    /// The sub-agent's role.
    pub role: Option<&'a str>,
    /// The name by which the sub-agent can be called again.
    pub instance: Option<&'a str>,
    /// The runner that it works on; `None` if it works in the same place and directory as its parent.
    pub place: Option<&'a str>,
    /// The sub-agent's tools, as JSON.
    pub tools_json: &'a str,
}

/// Selects sub-agents of the user `$1` that match the condition `$rest`.
macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT s.chat_id, c.parent_id, s.message_id, s.role, s.instance, s.place, s.worktree, s.tools_json, c.title,
                (SELECT t.status FROM turns t WHERE t.chat_id = s.chat_id ORDER BY t.id DESC LIMIT 1) AS status,
                c.created_at_ms, s.used_at_ms
             FROM sub_agents s JOIN chats c ON c.id = s.chat_id WHERE c.user_id = $1 AND ",
            $rest
        )
    };
}
pub(crate) use select;

impl Store {
    /// Begins the conversation of a sub-agent, which works in the same place as its parent unless another runner is named.
    ///
    /// # Errors
    /// [`Error::NotFound`] for a parent that does not exist or belongs to another user; [`Error::Invalid`] for a role, an instance or a place
    /// beyond 128 bytes, or a list of tools beyond 64 KiB.
    pub async fn create_sub_agent(&self, user: UserId, new: NewSubAgent<'_>) -> Result<SubAgent> {
        let NewSubAgent { parent, message, role, instance, place, tools_json } = new;
        check_length("role", role.unwrap_or_default(), SETTING_KEY_MAX_BYTES)?;
        check_length("instance", instance.unwrap_or_default(), SETTING_KEY_MAX_BYTES)?;
        check_length("place", place.unwrap_or_default(), SETTING_KEY_MAX_BYTES)?;
        check_length("list of tools", tools_json, SETTING_VALUE_MAX_BYTES)?;
        let (chat, now_ms) = (ChatId::random(), self.now_ms());
        let mut transaction = self.database.write(Scope::User(user)).await?;
        let made = query(
            "INSERT INTO chats (id, user_id, title, runner, cwd, parent_id, created_at_ms, updated_at_ms)
             SELECT $1, user_id, '', COALESCE($5, runner), CASE WHEN $5 IS NULL THEN cwd ELSE '' END, id, $2, $2
             FROM chats WHERE id = $3 AND user_id = $4",
        )
        .bind(&chat)
        .bind(now_ms)
        .bind(parent)
        .bind(user)
        .bind(place)
        .execute(&mut transaction)
        .await?;
        if made.rows_affected() == 0 {
            return Err(Error::not_found("chat", parent));
        }
        query(
            "INSERT INTO sub_agents (chat_id, message_id, role, instance, place, tools_json, used_at_ms)
             VALUES ($1, $2, $3, $4, $5, $6, $7)",
        )
        .bind(&chat)
        .bind(message)
        .bind(role)
        .bind(instance)
        .bind(place)
        .bind(tools_json)
        .bind(now_ms)
        .execute(&mut transaction)
        .await?;
        transaction.commit().await?;
        self.sub_agent(user, &chat).await?.ok_or_else(|| Error::not_found("chat", &chat))
    }

    /// The sub-agent with this conversation; `None` for a user's own conversation.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn sub_agent(&self, user: UserId, chat: &ChatId) -> Result<Option<SubAgent>> {
        Ok(query_as(select!("s.chat_id = $2"))
            .bind(user)
            .bind(chat)
            .fetch_optional(self.database.reader())
            .await?)
    }

    /// The last 1,000 sub-agents that a conversation's agent called, the oldest first.
    ///
    /// # Errors
    /// [`Error::NotFound`] for a conversation that does not exist or belongs to another user.
    pub async fn sub_agents(&self, user: UserId, parent: &ChatId) -> Result<Vec<SubAgent>> {
        self.chat(user, parent).await?;
        let mut found: Vec<SubAgent> = query_as(select!(
            "c.parent_id = $2 ORDER BY c.created_at_ms DESC, s.message_id DESC, s.chat_id DESC LIMIT $3"
        ))
        .bind(user)
        .bind(parent)
        .bind(rows(PAGE_MAX_ROWS))
        .fetch_all(self.database.reader())
        .await?;
        found.reverse();
        Ok(found)
    }

    /// The sub-agent with this name in a conversation, if it was used since this time, in Unix milliseconds.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn sub_agent_called(
        &self,
        user: UserId,
        parent: &ChatId,
        instance: &str,
        since_ms: i64,
    ) -> Result<Option<SubAgent>> {
        Ok(query_as(select!(
            "c.parent_id = $2 AND s.instance = $3 AND s.used_at_ms >= $4
             ORDER BY s.used_at_ms DESC, c.created_at_ms DESC LIMIT 1"
        ))
        .bind(user)
        .bind(parent)
        .bind(instance)
        .bind(since_ms)
        .fetch_optional(self.database.reader())
        .await?)
    }

    /// Records the path of a sub-agent's worktree.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a path beyond 64 KiB; [`Error::Database`]. It is not an error if the sub-agent was deleted.
    pub async fn set_sub_agent_worktree(&self, user: UserId, chat: &ChatId, worktree: &str) -> Result<()> {
        check_length("worktree", worktree, SETTING_VALUE_MAX_BYTES)?;
        query(
            "UPDATE sub_agents SET worktree = $1
             WHERE chat_id = $2 AND chat_id IN (SELECT c.id FROM chats c WHERE c.user_id = $3)",
        )
        .bind(worktree)
        .bind(chat)
        .bind(user)
        .execute(self.database.writer(Scope::User(user)))
        .await?;
        Ok(())
    }

    /// The user's sub-agent whose worktree has this path; if there are several, the one used last.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn sub_agent_of_worktree(&self, user: UserId, worktree: &str) -> Result<Option<SubAgent>> {
        Ok(query_as(select!("s.worktree = $2 ORDER BY s.used_at_ms DESC, s.chat_id LIMIT 1"))
            .bind(user)
            .bind(worktree)
            .fetch_optional(self.database.reader())
            .await?)
    }

    /// Records the use of a sub-agent, by the call that this message shows.
    ///
    /// # Errors
    /// [`Error::NotFound`] for a sub-agent that does not exist or belongs to another user.
    pub async fn use_sub_agent(&self, user: UserId, chat: &ChatId, message: MessageId) -> Result<()> {
        let mut transaction = self.database.write(Scope::User(user)).await?;
        use_in(&mut transaction, user, chat, message, self.now_ms()).await?;
        transaction.commit().await?;
        Ok(())
    }
}

/// Records the use of a sub-agent, as part of a transaction.
pub(crate) async fn use_in(
    transaction: &mut Transaction,
    user: UserId,
    chat: &ChatId,
    message: MessageId,
    now_ms: i64,
) -> Result<()> {
    let used = query(
        "UPDATE sub_agents SET used_at_ms = $1, message_id = $2
         WHERE chat_id = $3 AND chat_id IN (SELECT c.id FROM chats c WHERE c.user_id = $4)",
    )
    .bind(now_ms)
    .bind(message)
    .bind(chat)
    .bind(user)
    .execute(&mut *transaction)
    .await?;
    if used.rows_affected() == 1 { Ok(()) } else { Err(Error::not_found("chat", chat)) }
}
