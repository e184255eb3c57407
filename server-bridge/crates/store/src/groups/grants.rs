//! Grants, which let people ask agents that are not their own.

use sqlx::FromRow;

use super::members::touch;
use crate::error::Result;
use crate::sql::{Scope, query, query_as, query_scalar};
use crate::{Store, UserId};

/// How an agent works for a person who is not its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, sqlx::Type)]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum GrantMode {
    /// The agent's owner is asked before each change.
    Ask,
    /// The agent works in its own approval mode.
    Own,
}

impl GrantMode {
    /// The mode's name in the database and on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Own => "own",
        }
    }
}

crate::sql::bind_as_word!(GrantMode);

/// A grant for one agent to one person.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct GroupGrant {
    /// The id of the agent.
    pub agent_id: i64,
    /// The person who may ask it.
    #[sqlx(rename = "user_id")]
    pub user: UserId,
    /// The person's name.
    pub name: String,
    /// How the agent works for that person.
    pub mode: GrantMode,
}

impl Store {
    /// The grants of a group's agents.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn group_grants(&self, group: i64) -> Result<Vec<GroupGrant>> {
        Ok(query_as(
            "SELECT g.agent_id, g.user_id, u.name, g.mode FROM group_grants g JOIN group_agents a ON a.id = g.agent_id
             JOIN users u ON u.id = g.user_id WHERE a.group_id = $1 AND a.removed_at_ms IS NULL ORDER BY g.agent_id, u.name",
        )
        .bind(group)
        .fetch_all(self.database.latest())
        .await?)
    }

    /// Lets a person of the group ask an agent. Returns false if they are not in the group.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn put_grant(&self, group: i64, agent: i64, user: UserId, mode: GrantMode) -> Result<bool> {
        let mut transaction = self.database.write(Scope::Group(group)).await?;
        let put = query(
            "INSERT INTO group_grants (agent_id, user_id, mode, created_at_ms)
             SELECT a.id, p.user_id, $4, $5 FROM group_agents a JOIN group_people p ON p.group_id = a.group_id
             WHERE a.id = $2 AND a.group_id = $1 AND p.user_id = $3
             ON CONFLICT (agent_id, user_id) DO UPDATE SET mode = excluded.mode",
        )
        .bind(group)
        .bind(agent)
        .bind(user)
        .bind(mode)
        .bind(self.now_ms())
        .execute(&mut transaction)
        .await?;
        touch(&mut transaction, group, self.now_ms()).await?;
        transaction.commit().await?;
        Ok(put.rows_affected() == 1)
    }

    /// Revokes a grant, and stops the person's open calls of the agent. Returns true if there was one.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn remove_grant(&self, group: i64, agent: i64, user: UserId) -> Result<bool> {
        let mut transaction = self.database.write(Scope::Group(group)).await?;
        let gone = query("DELETE FROM group_grants WHERE agent_id = $1 AND user_id = $2")
            .bind(agent)
            .bind(user)
            .execute(&mut transaction)
            .await?;
        if gone.rows_affected() == 1 {
            query("UPDATE group_calls SET is_unwanted = TRUE WHERE agent_id = $1 AND asked_by_id = $2 AND ended_at_ms IS NULL")
                .bind(agent)
                .bind(user)
                .execute(&mut transaction)
                .await?;
            touch(&mut transaction, group, self.now_ms()).await?;
        }
        transaction.commit().await?;
        Ok(gone.rows_affected() == 1)
    }

    /// The current grant of a person for an agent.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn grant(&self, agent: i64, user: UserId) -> Result<Option<GrantMode>> {
        Ok(query_scalar("SELECT mode FROM group_grants WHERE agent_id = $1 AND user_id = $2")
            .bind(agent)
            .bind(user)
            .fetch_optional(self.database.latest())
            .await?)
    }
    /// True if a person may ask an agent now: both are in the group, the person with more than read access, and the agent belongs to the person or
    /// is granted to them.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn may_ask(&self, agent: i64, user: UserId) -> Result<bool> {
        let found: i64 = query_scalar(
            "SELECT COUNT(*) FROM group_agents a
                JOIN group_people p ON p.group_id = a.group_id AND p.user_id = $2 AND p.access <> 'reader'
                LEFT JOIN group_grants g ON g.agent_id = a.id AND g.user_id = $2
             WHERE a.id = $1 AND a.removed_at_ms IS NULL AND (a.owner_id = $2 OR g.user_id IS NOT NULL)",
        )
        .bind(agent)
        .bind(user)
        .fetch_one(self.database.latest())
        .await?;
        Ok(found > 0)
    }
}
