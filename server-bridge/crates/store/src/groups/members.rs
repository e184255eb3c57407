//! The people and agents of a group.

use sqlx::FromRow;

use crate::error::{Error, Result, check_length};
use crate::limits::{
    AGENT_TOOLS_MAX_BYTES, GROUP_AGENTS, GROUP_PEOPLE, PERSONA_MAX_BYTES, SETTING_VALUE_MAX_BYTES,
};
use crate::memory_items::{Gone, forget_agents};
use crate::sql::{Scope, Transaction, query, query_as, query_scalar};
use crate::{ChatId, Store, UserId};

/// A person's access to a group. Each level includes the lower ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, sqlx::Type)]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum Access {
    /// The person can read.
    Reader,
    /// The person can also post, ask agents and begin chains.
    Member,
    /// The person can also add and remove people and agents, and change chains.
    Editor,
    /// The person can also delete the group and change other people's access.
    Owner,
}

impl Access {
    /// The level's name in the database and on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reader => "reader",
            Self::Member => "member",
            Self::Editor => "editor",
            Self::Owner => "owner",
        }
    }
}

crate::sql::bind_as_word!(Access);

/// A person in a group.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct GroupPerson {
    /// The person's user id.
    #[sqlx(rename = "user_id")]
    pub user: UserId,
    /// The person's name.
    pub name: String,
    /// The person's access.
    pub access: Access,
}

/// A recorded agent of a group.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct GroupAgent {
    /// The id, which is never reused.
    pub id: i64,
    /// The id of its group.
    pub group_id: i64,
    /// The handle, without `@`.
    pub handle: String,
    /// The user whose machine it works on.
    #[sqlx(rename = "owner_id")]
    pub owner: UserId,
    /// The name of the user whose machine it works on.
    pub owner_name: String,
    /// The place where it works: a runner's name, `__docker__` or `none`.
    pub runner: String,
    /// The agent's approval mode.
    pub approval: String,
    /// The agent's model; `None` for its owner's choice for new chats.
    pub model: Option<String>,
    /// The description of the agent's role, which its model is given.
    pub persona: String,
    /// The names of the tools that it may use, as a JSON list; `None` for all of its owner's.
    pub tools_json: Option<String>,
    /// The agent's folder, relative to the workspace of its machine; empty for the whole workspace.
    pub folder: String,
    /// The chat that it works in, once it has one.
    #[sqlx(rename = "chat_id")]
    pub chat: Option<ChatId>,
    /// The last entry that was shown to the agent.
    pub seen_id: i64,
    /// True if it was removed.
    pub is_removed: bool,
}

/// The settings of an agent.
#[derive(Clone, Copy, Debug)]
pub struct AgentDraft<'a> {
    /// The handle, without `@`.
    pub handle: &'a str,
    /// The place where it works: a runner's name, `__docker__` or `none`.
    pub runner: &'a str,
    /// The agent's approval mode.
    pub approval: &'a str,
    /// The agent's model; `None` for its owner's choice for new chats.
    pub model: Option<&'a str>,
    /// The description of the agent's role, which its model is given.
    pub persona: &'a str,
    /// The names of the tools that it may use, as a JSON list in which `*` matches any text. `None` keeps the current list; a new agent may then
    /// use all of its owner's tools.
    pub tools_json: Option<&'a str>,
    /// The agent's folder, relative to the workspace of its machine; empty for the whole workspace. `None` keeps the current folder; a new agent then
    /// gets the whole workspace.
    pub folder: Option<&'a str>,
}

macro_rules! agents {
    () => {
        "SELECT a.id, a.group_id, a.handle, a.owner_id, u.name AS owner_name, a.runner, a.approval, a.model, a.persona, a.tools_json, a.folder,
            a.chat_id, a.seen_id, a.removed_at_ms IS NOT NULL AS is_removed
         FROM group_agents a JOIN users u ON u.id = a.owner_id"
    };
}

impl Store {
    /// The people of a group, by name.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn group_people(&self, group: i64) -> Result<Vec<GroupPerson>> {
        Ok(query_as(
            "SELECT p.user_id, u.name, p.access FROM group_people p JOIN users u ON u.id = p.user_id
             WHERE p.group_id = $1 ORDER BY u.name",
        )
        .bind(group)
        .fetch_all(self.database.reader())
        .await?)
    }

    /// Adds a person to a group, or changes the person's access.
    ///
    /// # Errors
    /// [`Error::Invalid`] beyond 100 people, and if the group would have no owner.
    pub async fn put_group_person(&self, group: i64, user: UserId, access: Access) -> Result<()> {
        let mut transaction = self.database.write(Scope::Group(group)).await?;
        if access != Access::Owner {
            check_other_owner(&mut transaction, group, user).await?;
        }
        let others: i64 =
            query_scalar("SELECT COUNT(*) FROM group_people WHERE group_id = $1 AND user_id <> $2")
                .bind(group)
                .bind(user)
                .fetch_one(&mut transaction)
                .await?;
        if others >= GROUP_PEOPLE {
            let rule = format!("has {others} people, which is the limit; remove one first");
            return Err(Error::Invalid { what: "group", rule });
        }
        query(
            "INSERT INTO group_people (group_id, user_id, access, created_at_ms) VALUES ($1, $2, $3, $4)
             ON CONFLICT (group_id, user_id) DO UPDATE SET access = excluded.access",
        )
        .bind(group)
        .bind(user)
        .bind(access)
        .bind(self.now_ms())
        .execute(&mut transaction)
        .await?;
        if access < Access::Member {
            let theirs = "group_id = $1 AND asked_by_id = $2";
            unwant(&mut transaction, theirs, group, user.0).await?;
        }
        touch(&mut transaction, group, self.now_ms()).await?;
        Ok(transaction.commit().await?)
    }

    /// Removes a person with their grants, their agents and the agents' memories. Stops the person's requests and the work of the agents. Returns
    /// true if the person was in the group.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the group would have no owner.
    pub async fn remove_group_person(&self, group: i64, user: UserId) -> Result<bool> {
        let mut transaction = self.database.write(Scope::Group(group)).await?;
        check_other_owner(&mut transaction, group, user).await?;
        let gone = query("DELETE FROM group_people WHERE group_id = $1 AND user_id = $2")
            .bind(group)
            .bind(user)
            .execute(&mut transaction)
            .await?;
        if gone.rows_affected() == 0 {
            return Ok(false);
        }
        query(
            "DELETE FROM group_grants WHERE user_id = $2 AND agent_id IN (SELECT id FROM group_agents WHERE group_id = $1)",
        )
        .bind(group)
        .bind(user)
        .execute(&mut transaction)
        .await?;
        unwant(&mut transaction, "group_id = $1 AND asked_by_id = $2", group, user.0).await?;
        let of_theirs = "group_id = $1 AND agent_id IN (SELECT id FROM group_agents WHERE owner_id = $2)";
        unwant(&mut transaction, of_theirs, group, user.0).await?;
        query(
            "UPDATE groups SET lead_id = NULL WHERE id = $1
                AND lead_id IN (SELECT id FROM group_agents WHERE group_id = $1 AND owner_id = $2)",
        )
        .bind(group)
        .bind(user)
        .execute(&mut transaction)
        .await?;
        query(
            "UPDATE group_agents SET removed_at_ms = $3 WHERE group_id = $1 AND owner_id = $2 AND removed_at_ms IS NULL",
        )
        .bind(group)
        .bind(user)
        .bind(self.now_ms())
        .execute(&mut transaction)
        .await?;
        forget_agents(&mut transaction, group, Gone::Of(user)).await?;
        touch(&mut transaction, group, self.now_ms()).await?;
        transaction.commit().await?;
        self.leave_no_trace().await?;
        Ok(true)
    }

    /// The agents of a group, by handle.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn group_agents(&self, group: i64) -> Result<Vec<GroupAgent>> {
        Ok(query_as(concat!(
            agents!(),
            " WHERE a.group_id = $1 AND a.removed_at_ms IS NULL ORDER BY a.handle_key"
        ))
        .bind(group)
        .fetch_all(self.database.latest())
        .await?)
    }

    /// The agent with this id, even a removed one.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub async fn group_agent(&self, agent: i64) -> Result<GroupAgent> {
        query_as(concat!(agents!(), " WHERE a.id = $1"))
            .bind(agent)
            .fetch_optional(self.database.latest())
            .await?
            .ok_or_else(|| Error::not_found("agent", agent.to_string()))
    }

    /// The group's agent that works in a chat, if there is one.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn agent_of_chat(&self, chat: &ChatId) -> Result<Option<GroupAgent>> {
        Ok(query_as(concat!(agents!(), " WHERE a.chat_id = $1 AND a.removed_at_ms IS NULL"))
            .bind(chat)
            .fetch_optional(self.database.reader())
            .await?)
    }

    /// Adds an agent to a group, or changes the settings of the agent that this user already has there under the handle; returns its id.
    ///
    /// # Errors
    /// [`Error::Taken`] if another user's agent has the handle; [`Error::Invalid`] beyond 50 agents, 16 KiB of persona and 16 KiB of tools.
    pub async fn put_group_agent(&self, group: i64, owner: UserId, draft: AgentDraft<'_>) -> Result<i64> {
        let AgentDraft { handle, runner, approval, model, persona, tools_json, folder } = draft;
        check_length("persona", persona, PERSONA_MAX_BYTES)?;
        for (what, text) in [
            ("handle", handle),
            ("runner's name", runner),
            ("model's name", model.unwrap_or("")),
            ("folder", folder.unwrap_or("")),
        ] {
            check_length(what, text, SETTING_VALUE_MAX_BYTES)?;
        }
        check_length("list of tools", tools_json.unwrap_or(""), AGENT_TOOLS_MAX_BYTES)?;
        let key = handle.to_lowercase();
        let mut transaction = self.database.write(Scope::Group(group)).await?;
        let known: Option<(i64, UserId)> = query_as(
            "SELECT id, owner_id FROM group_agents WHERE group_id = $1 AND handle_key = $2 AND removed_at_ms IS NULL",
        )
        .bind(group)
        .bind(&key)
        .fetch_optional(&mut transaction)
        .await?;
        let id = match known {
            Some((_, other)) if other != owner => {
                return Err(Error::Taken { what: "agent", name: handle.to_owned() });
            }
            Some((id, _)) => {
                // If the folder or the machine has changed, the agent's chat moves to the new folder.
                query(
                    "UPDATE chats SET cwd = (SELECT COALESCE($1, a.folder) FROM group_agents a WHERE a.id = $2)
                     WHERE id = (SELECT a.chat_id FROM group_agents a
                        WHERE a.id = $2 AND (a.folder <> COALESCE($1, a.folder) OR a.runner <> $3))",
                )
                .bind(folder)
                .bind(id)
                .bind(runner)
                .execute(&mut transaction)
                .await?;
                query(
                    "UPDATE group_agents SET handle = $1, runner = $2, approval = $3, model = $4, persona = $5,
                        tools_json = COALESCE($6, tools_json), folder = COALESCE($8, folder)
                     WHERE id = $7",
                )
                .bind(handle)
                .bind(runner)
                .bind(approval)
                .bind(model)
                .bind(persona)
                .bind(tools_json)
                .bind(id)
                .bind(folder)
                .execute(&mut transaction)
                .await?;
                id
            }
            None => {
                let agents: i64 = query_scalar(
                    "SELECT COUNT(*) FROM group_agents WHERE group_id = $1 AND removed_at_ms IS NULL",
                )
                .bind(group)
                .fetch_one(&mut transaction)
                .await?;
                if agents >= GROUP_AGENTS {
                    let rule = format!("has {agents} agents, which is the limit; remove one first");
                    return Err(Error::Invalid { what: "group", rule });
                }
                query_scalar(
                    "INSERT INTO group_agents (group_id, handle, handle_key, owner_id, runner, approval, model, persona, created_at_ms, tools_json, folder)
                     SELECT $1, $2, $3, p.user_id, $5, $6, $7, $8, $9, $10, $11 FROM group_people p WHERE p.group_id = $1 AND p.user_id = $4
                     RETURNING id",
                )
                .bind(group)
                .bind(handle)
                .bind(&key)
                .bind(owner)
                .bind(runner)
                .bind(approval)
                .bind(model)
                .bind(persona)
                .bind(self.now_ms())
                .bind(tools_json)
                .bind(folder.unwrap_or(""))
                .fetch_optional(&mut transaction)
                .await?
                // The owner was removed meanwhile.
                .ok_or_else(|| Error::not_found("group", group.to_string()))?
            }
        };
        touch(&mut transaction, group, self.now_ms()).await?;
        transaction.commit().await?;
        Ok(id)
    }

    /// Removes an agent from its group with its memories, and stops its work. Its chat stays with its owner.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn remove_group_agent(&self, group: i64, agent: i64) -> Result<()> {
        let mut transaction = self.database.write(Scope::Group(group)).await?;
        query("UPDATE group_agents SET removed_at_ms = $1 WHERE id = $2 AND group_id = $3 AND removed_at_ms IS NULL")
            .bind(self.now_ms())
            .bind(agent)
            .bind(group)
            .execute(&mut transaction)
            .await?;
        query("UPDATE groups SET lead_id = NULL WHERE id = $1 AND lead_id = $2")
            .bind(group)
            .bind(agent)
            .execute(&mut transaction)
            .await?;
        forget_agents(&mut transaction, group, Gone::Agent(agent)).await?;
        unwant(&mut transaction, "group_id = $1 AND agent_id = $2", group, agent).await?;
        touch(&mut transaction, group, self.now_ms()).await?;
        transaction.commit().await?;
        self.leave_no_trace().await
    }
}

/// Fails, as part of a transaction, if no owner would be left in a group without this user.
async fn check_other_owner(transaction: &mut Transaction, group: i64, user: UserId) -> Result<()> {
    let (is_owner, others): (bool, i64) = query_as(
        "SELECT EXISTS (SELECT 1 FROM group_people WHERE group_id = $1 AND user_id = $2 AND access = 'owner'),
            (SELECT COUNT(*) FROM group_people WHERE group_id = $1 AND user_id <> $2 AND access = 'owner')",
    )
    .bind(group)
    .bind(user)
    .fetch_one(&mut *transaction)
    .await?;
    if is_owner && others == 0 {
        let rule = "would have no owner; make someone else an owner first, or delete the group".to_owned();
        return Err(Error::Invalid { what: "group", rule });
    }
    Ok(())
}

/// Asks, as part of a transaction, to stop the open calls that match a condition on the group `$1` and on `$2`.
pub(super) async fn unwant(
    transaction: &mut Transaction,
    which: &'static str,
    group: i64,
    other: i64,
) -> Result<()> {
    query(sqlx::AssertSqlSafe(format!(
        "UPDATE group_calls SET is_unwanted = TRUE WHERE ended_at_ms IS NULL AND {which}"
    )))
    .bind(group)
    .bind(other)
    .execute(&mut *transaction)
    .await?;
    Ok(())
}

/// Records, as part of a transaction, that a group changed.
pub(super) async fn touch(transaction: &mut Transaction, group: i64, now_ms: i64) -> Result<()> {
    query("UPDATE groups SET updated_at_ms = $1 WHERE id = $2")
        .bind(now_ms)
        .bind(group)
        .execute(&mut *transaction)
        .await?;
    Ok(())
}
