//! Groups: people and agents that share a log, the calls of agents, and chains.
//!
//! | module | contents |
//! |---|---|
//! | `members` | people and agents |
//! | `grants` | the people who may ask agents that are not their own |
//! | `entries` | the log, and the calls that an entry makes |
//! | `calls` | calls of agents, from asking to the answer |
//! | `messages` | messages between agents |
//! | `chains` | chains, their runs and gates |
//! | `handovers` | files that are passed from one agent of a run to the next |
//! | `heirs` | the next owner of a group whose last owner was removed |

mod agent_chats;
mod calls;
mod chains;
mod entries;
mod grants;
mod handovers;
mod heirs;
mod members;
mod messages;
#[cfg(test)]
mod tests;

use sqlx::FromRow;

use crate::error::{Error, Result, check_length};
use crate::limits::{GROUP_TITLE_MAX_BYTES, GROUPS_PER_USER};
use crate::memory_items::{Gone, forget_agents};
use crate::sql::{Scope, query, query_as, query_scalar};
use crate::{Store, UserId};

pub use calls::{CallEnd, CallState, GroupCall, NewCall};
pub use chains::{ChainBase, ChainRun, GateRow, GroupChain, NewGate, NewRunOfChain, RunEnd};
pub use entries::{EntryKind, GroupEntry, NewEntry};
pub use grants::{GrantMode, GroupGrant};
pub use handovers::{HandOver, HandedOver, NewHandOver};
pub(crate) use heirs::pass_on;
pub use members::{Access, AgentDraft, GroupAgent, GroupPerson};
pub use messages::{AgentMessage, Asker, Asks, CallMode, Passed};

/// A group, as one of its people sees it.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct Group {
    /// The id, which is never reused.
    pub id: i64,
    /// The group's title.
    pub title: String,
    /// The agent that answers messages that mention no agent.
    pub lead_id: Option<i64>,
    /// The person's permissions.
    pub access: Access,
    /// When it last changed, in Unix milliseconds.
    pub updated_at_ms: i64,
}

macro_rules! groups_of {
    () => {
        "SELECT g.id, g.title, g.lead_id, p.access, g.updated_at_ms FROM groups g JOIN group_people p ON p.group_id = g.id
         WHERE p.user_id = $1"
    };
}

impl Store {
    /// A user's groups, the most recently changed first.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn groups(&self, user: UserId) -> Result<Vec<Group>> {
        Ok(query_as(concat!(groups_of!(), " ORDER BY g.updated_at_ms DESC, g.id DESC"))
            .bind(user)
            .fetch_all(self.database.reader())
            .await?)
    }

    /// A group of which a user is a member.
    ///
    /// # Errors
    /// [`Error::NotFound`], also for a group of which the user is not a member.
    pub async fn group(&self, user: UserId, group: i64) -> Result<Group> {
        query_as(concat!(groups_of!(), " AND g.id = $2"))
            .bind(user)
            .bind(group)
            .fetch_optional(self.database.latest())
            .await?
            .ok_or_else(|| Error::not_found("group", group.to_string()))
    }

    /// Creates a group that a user owns; returns its id.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a title that is empty or has more than 200 bytes, and beyond 100 groups.
    pub async fn create_group(&self, user: UserId, title: &str) -> Result<i64> {
        check_title(title)?;
        let mut transaction = self.database.write(Scope::User(user)).await?;
        let owned: i64 =
            query_scalar("SELECT COUNT(*) FROM group_people WHERE user_id = $1 AND access = 'owner'")
                .bind(user)
                .fetch_one(&mut transaction)
                .await?;
        if owned >= GROUPS_PER_USER {
            let rule = format!("exceeds the limit: you already own {owned}; delete one first");
            return Err(Error::Invalid { what: "group", rule });
        }
        let id: i64 = query_scalar(
            "INSERT INTO groups (title, created_at_ms, updated_at_ms) VALUES ($1, $2, $2) RETURNING id",
        )
        .bind(title)
        .bind(self.now_ms())
        .fetch_one(&mut transaction)
        .await?;
        query("INSERT INTO group_people (group_id, user_id, access, created_at_ms) VALUES ($1, $2, $3, $4)")
            .bind(id)
            .bind(user)
            .bind(Access::Owner)
            .bind(self.now_ms())
            .execute(&mut transaction)
            .await?;
        transaction.commit().await?;
        Ok(id)
    }

    /// Changes a group's title.
    ///
    /// # Errors
    /// [`Error::Invalid`] as for [`Store::create_group`].
    pub async fn rename_group(&self, group: i64, title: &str) -> Result<()> {
        check_title(title)?;
        query("UPDATE groups SET title = $1, updated_at_ms = $2 WHERE id = $3")
            .bind(title)
            .bind(self.now_ms())
            .bind(group)
            .execute(self.database.writer(Scope::Group(group)))
            .await?;
        Ok(())
    }

    /// Chooses the agent that answers messages that mention no agent.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn set_lead(&self, group: i64, agent: Option<i64>) -> Result<()> {
        query("UPDATE groups SET lead_id = $1, updated_at_ms = $2 WHERE id = $3")
            .bind(agent)
            .bind(self.now_ms())
            .bind(group)
            .execute(self.database.writer(Scope::Group(group)))
            .await?;
        Ok(())
    }

    /// Deletes a group with its log, calls and chains, and its agents' memories. The chats of its agents stay with their owners.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn delete_group(&self, group: i64) -> Result<()> {
        let mut transaction = self.database.write(Scope::Group(group)).await?;
        // The group is marked as removed first, so that no memory is added before the deletion.
        query("UPDATE group_agents SET removed_at_ms = $2 WHERE group_id = $1 AND removed_at_ms IS NULL")
            .bind(group)
            .bind(self.now_ms())
            .execute(&mut transaction)
            .await?;
        forget_agents(&mut transaction, group, Gone::All).await?;
        query("DELETE FROM groups WHERE id = $1").bind(group).execute(&mut transaction).await?;
        transaction.commit().await?;
        self.leave_no_trace().await
    }

    /// The users of a group.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn users_of_group(&self, group: i64) -> Result<Vec<UserId>> {
        Ok(query_scalar("SELECT user_id FROM group_people WHERE group_id = $1 ORDER BY user_id")
            .bind(group)
            .fetch_all(self.database.reader())
            .await?)
    }
}

fn check_title(title: &str) -> Result<()> {
    check_length("title", title, GROUP_TITLE_MAX_BYTES)?;
    if title.trim().is_empty() {
        return Err(Error::Invalid { what: "title", rule: "is empty; enter one".to_owned() });
    }
    Ok(())
}
