//! Holders of memories: a user, or one of the user's agents in a group. No holder sees or changes another holder's memories.

use std::collections::HashMap;

use sqlx::FromRow;

use super::traces;
use crate::error::{Error, Result};
use crate::sql::{Scope, Transaction, query, query_as, query_scalar};
use crate::{ChatId, Store, UserId};

/// The holder of memories.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MemoryHolder {
    /// The user; for an agent, its owner.
    pub user: UserId,
    /// The agent of a group, by its id; `None` for the user.
    pub agent: Option<i64>,
}

impl MemoryHolder {
    /// The holder for a user's agent in a group.
    #[must_use]
    pub fn agent(user: UserId, agent: i64) -> Self {
        Self { user, agent: Some(agent) }
    }

    /// The agent's id for SQL statements; 0, which no agent has, for the user.
    pub(crate) fn agent_id(self) -> i64 {
        self.agent.unwrap_or(0)
    }
}

impl From<UserId> for MemoryHolder {
    fn from(user: UserId) -> Self {
        Self { user, agent: None }
    }
}

/// An agent of a group, in the list of its owner's agents.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct OwnAgent {
    /// The agent's id.
    pub id: i64,
    /// The handle, without `@`; unique in the group.
    pub handle: String,
    /// The group's id.
    pub group_id: i64,
    /// The group's title.
    pub group_title: String,
}

impl Store {
    /// The agents that a user has in groups, in the order in which they were added.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn own_agents(&self, user: UserId) -> Result<Vec<OwnAgent>> {
        Ok(query_as(
            "SELECT a.id, a.handle, a.group_id, g.title AS group_title FROM group_agents a JOIN groups g ON g.id = a.group_id
             WHERE a.owner_id = $1 AND a.removed_at_ms IS NULL ORDER BY a.id",
        )
        .bind(user)
        .fetch_all(self.database.latest())
        .await?)
    }

    /// The holder for a user's top-level conversation: the agent of a group that works there, or the user.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn memory_holder_in(&self, user: UserId, root: &ChatId) -> Result<MemoryHolder> {
        Ok(MemoryHolder { user, agent: self.group_agent_in(root).await? })
    }

    /// The holder of an item: its user, or one of their agents.
    ///
    /// # Errors
    /// [`Error::NotFound`], also for another user's item.
    pub async fn holder_of_memory(&self, user: UserId, id: i64) -> Result<MemoryHolder> {
        let agent: Option<Option<i64>> =
            query_scalar("SELECT agent_id FROM memory_items WHERE id = $1 AND user_id = $2")
                .bind(id)
                .bind(user)
                .fetch_optional(self.database.reader())
                .await?;
        let agent = agent.ok_or_else(|| Error::not_found("memory", id))?;
        Ok(MemoryHolder { user, agent })
    }

    /// Begins a transaction that changes a holder's memories. An agent cannot be removed from its group before the transaction ends.
    ///
    /// # Errors
    /// [`Error::NotFound`] if the agent was removed, or is another user's.
    pub(super) async fn write_memories(&self, holder: MemoryHolder) -> Result<Transaction> {
        let mut transaction = self.database.write(Scope::User(holder.user)).await?;
        let Some(agent) = holder.agent else { return Ok(transaction) };
        // Locks the row: on PostgreSQL, removing the agent takes the lock of the group, not that of the owner.
        let held = query(
            "UPDATE group_agents SET seen_id = seen_id WHERE id = $1 AND owner_id = $2 AND removed_at_ms IS NULL",
        );
        let held = held.bind(agent).bind(holder.user).execute(&mut transaction).await?;
        match held.rows_affected() {
            0 => Err(Error::not_found("agent", agent)),
            _ => Ok(transaction),
        }
    }
}

/// The agents whose memories are deleted.
#[derive(Clone, Copy)]
pub(crate) enum Gone {
    /// One agent.
    Agent(i64),
    /// All agents that a person has in the group.
    Of(UserId),
    /// All agents of the group.
    All,
}

/// Deletes the memories of a group's agents, in the transaction that removes them and after their removal. Their core blocks in the
/// prompts of their chats, and the lines that showed other memories there, are deleted too.
pub(crate) async fn forget_agents(transaction: &mut Transaction, group: i64, gone: Gone) -> Result<()> {
    let (which, other) = match gone {
        Gone::Agent(agent) => ("a.group_id = $1 AND a.id = $2", agent),
        Gone::Of(user) => ("a.group_id = $1 AND a.owner_id = $2", user.0),
        // No agent has this id.
        Gone::All => ("a.group_id = $1 AND a.id <> $2", 0),
    };
    let held = format!(
        "SELECT user_id, id FROM memory_items WHERE agent_id IN (SELECT a.id FROM group_agents a WHERE {which})"
    );
    let held: Vec<(UserId, i64)> =
        query_as(sqlx::AssertSqlSafe(held)).bind(group).bind(other).fetch_all(&mut *transaction).await?;
    let mut gone: HashMap<UserId, Vec<i64>> = HashMap::new();
    for (owner, item) in held {
        gone.entry(owner).or_default().push(item);
    }
    for (owner, items) in gone {
        traces::remove(transaction, owner, &items).await?;
    }
    for statement in [
        format!("DELETE FROM memory_items WHERE agent_id IN (SELECT a.id FROM group_agents a WHERE {which})"),
        format!(
            "UPDATE chats SET memory = NULL WHERE id IN (SELECT a.chat_id FROM group_agents a WHERE {which})"
        ),
    ] {
        query(sqlx::AssertSqlSafe(statement)).bind(group).bind(other).execute(&mut *transaction).await?;
    }
    Ok(())
}
