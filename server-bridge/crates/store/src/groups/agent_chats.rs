//! The chats that agents of groups work in.

use super::GroupAgent;
use crate::chats::create_in;
use crate::error::{Error, Result};
use crate::sql::{Scope, query, query_scalar};
use crate::{ChatId, Store};

impl Store {
    /// The id of the agent that works in this chat, even after its removal; `None` for a user's own chat.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn group_agent_in(&self, chat: &ChatId) -> Result<Option<i64>> {
        Ok(query_scalar("SELECT id FROM group_agents WHERE chat_id = $1")
            .bind(chat)
            .fetch_optional(self.database.latest())
            .await?)
    }

    /// The names of the tools that the agent of this chat may use, as a JSON list; `None` for an agent that may use all of its owner's tools, and
    /// for a user's own chat.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn tools_of_agent_in(&self, chat: &ChatId) -> Result<Option<String>> {
        let tools: Option<Option<String>> =
            query_scalar("SELECT tools_json FROM group_agents WHERE chat_id = $1")
                .bind(chat)
                .fetch_optional(self.database.latest())
                .await?;
        Ok(tools.flatten())
    }

    /// The folder of the agent that works in this chat; `None` for a user's own chat.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn folder_of_agent_in(&self, chat: &ChatId) -> Result<Option<String>> {
        Ok(query_scalar("SELECT folder FROM group_agents WHERE chat_id = $1")
            .bind(chat)
            .fetch_optional(self.database.latest())
            .await?)
    }

    /// The chat that an agent works in, updated to the agent's current settings; it is created if needed. `approval` is its approval mode.
    ///
    /// # Errors
    /// [`Error::NotFound`] if the agent was removed.
    pub async fn agent_chat(&self, agent: &GroupAgent, title: &str, approval: &str) -> Result<ChatId> {
        let mut transaction = self.database.write(Scope::User(agent.owner)).await?;
        let known: Option<Option<ChatId>> =
            query_scalar("SELECT chat_id FROM group_agents WHERE id = $1 AND removed_at_ms IS NULL")
                .bind(agent.id)
                .fetch_optional(&mut transaction)
                .await?;
        let known = known.ok_or_else(|| Error::not_found("agent", &agent.handle))?;
        let chat = match known {
            Some(chat) => chat,
            None => {
                let chat = create_in(&mut transaction, agent.owner, self.now_ms()).await?.id;
                query("UPDATE chats SET title = $1, cwd = $3 WHERE id = $2")
                    .bind(title)
                    .bind(&chat)
                    .bind(&agent.folder)
                    .execute(&mut transaction)
                    .await?;
                query("UPDATE group_agents SET chat_id = $1 WHERE id = $2")
                    .bind(&chat)
                    .bind(agent.id)
                    .execute(&mut transaction)
                    .await?;
                chat
            }
        };
        query("UPDATE chats SET runner = $1, approval = $2, model = COALESCE($3, model) WHERE id = $4")
            .bind(&agent.runner)
            .bind(approval)
            .bind(agent.model.as_deref())
            .bind(&chat)
            .execute(&mut transaction)
            .await?;
        transaction.commit().await?;
        Ok(chat)
    }
}
