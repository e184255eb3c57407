//! Memories of users, and of their agents in groups: core blocks and typed items, their earlier texts, and proposals that wait for the user.
//!
//! ```text
//!   proposed ──accepted──► kept ──changed──► kept, the earlier text a revision ──superseded──► kept, valid until then
//!       └─────rejected─────────┴──────────────────────forgotten──────────────────────────────► deleted with its revisions
//! ```

use sqlx::{AssertSqlSafe, FromRow};

use crate::error::{Error, Result, check_length};
use crate::limits::{MEMORY_NAME_MAX_BYTES, MEMORY_PROPOSALS_PER_USER, MEMORY_TEXT_MAX_BYTES};
use crate::sql::{Transaction, query, query_as, query_scalar};
use crate::{ChatId, MessageId, Store, UserId, is_unseen};

/// Makes an enum whose values are stored as words in the database.
macro_rules! words {
    ($(#[$about:meta])* $name:ident { $($(#[$of:meta])* $value:ident = $word:literal,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, sqlx::Type)]
        #[sqlx(type_name = "text", rename_all = "snake_case")]
        pub enum $name {
            $($(#[$of])* $value,)+
        }

        impl $name {
            /// The value's name in the database and on the wire.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$value => $word,)+
                }
            }

            /// The value with this name.
            pub fn parse(word: &str) -> Option<Self> {
                match word {
                    $($word => Some(Self::$value),)+
                    _ => None,
                }
            }
        }

        crate::sql::bind_as_word!($name);
    };
}

words! {
    /// The kind of an item.
    MemoryKind {
        /// A block that is part of every prompt.
        Core = "core",
        /// A fact, such as a preference of the user.
        Semantic = "semantic",
        /// An event that happened.
        Episodic = "episodic",
        /// A way to do something.
        Procedural = "procedural",
    }
}

words! {
    /// The chats that an item applies to.
    MemoryScope {
        /// All of its user's chats.
        User = "user",
        /// Chats that work on one machine.
        Project = "project",
        /// The chat of one agent of a group.
        Agent = "agent",
    }
}

words! {
    /// The origin of an item.
    MemorySource {
        /// The user wrote the item.
        Person = "person",
        /// The user asked a model to store the item.
        Asked = "asked",
        /// A model proposed the item.
        Model = "model",
        /// The item was taken from a chat that ended or was summarised.
        Chat = "chat",
        /// The item was a named note in an earlier version of Sandbridge.
        Note = "note",
    }
}

/// A memory, or a proposal of one.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct MemoryItem {
    /// The item's id.
    pub id: i64,
    /// The item's kind.
    pub kind: MemoryKind,
    /// The chats that it applies to.
    pub scope: MemoryScope,
    /// The name of the machine; empty for other scopes.
    pub scope_name: String,
    /// The agent of a group that has this memory; `None` if its user has it.
    pub agent_id: Option<i64>,
    /// A short name; may be empty, and need not be unique except for core blocks.
    pub name: String,
    /// The text of the memory.
    pub text: String,
    /// The origin of the memory.
    pub source: MemorySource,
    /// The chat that it came from.
    pub source_chat: Option<ChatId>,
    /// The message that it came from.
    pub source_message: Option<MessageId>,
    /// True for a proposal that waits for its user.
    pub is_proposed: bool,
    /// The item whose text a proposal would change.
    pub replaces_id: Option<i64>,
    /// The time from which it applies, in Unix milliseconds.
    pub valid_from_ms: i64,
    /// The time until which it applies, in Unix milliseconds; `None` if it has no end.
    pub valid_to_ms: Option<i64>,
    /// The item that supersedes it; `None` if it was not superseded.
    pub superseded_by: Option<i64>,
    /// The revision number of its text, from 1.
    pub revision: i64,
    /// When it was added, in Unix milliseconds.
    pub created_at_ms: i64,
    /// When it was last changed, in Unix milliseconds.
    pub updated_at_ms: i64,
}

/// An earlier text of an item.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct MemoryRevision {
    /// The revision number of the text, from 1.
    pub revision: i64,
    /// The name that the item had.
    pub name: String,
    /// The text that the item had.
    pub text: String,
    /// The origin of the change that replaced it: a [`MemorySource`].
    pub replaced_by: MemorySource,
    /// When it was replaced, in Unix milliseconds.
    pub replaced_at_ms: i64,
}

/// An item to add.
#[derive(Clone, Debug)]
pub struct NewMemory<'a> {
    /// The item's kind.
    pub kind: MemoryKind,
    /// The chats that it applies to.
    pub scope: MemoryScope,
    /// The name of the machine; empty for other scopes.
    pub scope_name: &'a str,
    /// A short name; may be empty.
    pub name: &'a str,
    /// The text of the memory.
    pub text: &'a str,
    /// The origin of the memory.
    pub source: MemorySource,
    /// The chat that it came from.
    pub chat: Option<&'a ChatId>,
    /// The message that it came from.
    pub message: Option<MessageId>,
    /// True for a proposal.
    pub is_proposed: bool,
    /// The item whose text a proposal would change.
    pub replaces: Option<i64>,
    /// The items that it makes untrue. An item supersedes them at once, a proposal once it is accepted.
    pub supersedes: &'a [i64],
    /// The time until which it applies, in Unix milliseconds; `None` if it has no end.
    pub valid_to_ms: Option<i64>,
}

/// A change to an item; `None` leaves a field unchanged.
#[derive(Clone, Copy, Debug)]
pub struct MemoryChange<'a> {
    /// The new name.
    pub name: Option<&'a str>,
    /// The new text.
    pub text: Option<&'a str>,
    /// The new time until which it applies, in Unix milliseconds; `Some(None)` removes the end.
    pub valid_to_ms: Option<Option<i64>>,
    /// The origin of the change.
    pub by: MemorySource,
}

macro_rules! item_columns {
    () => {
        "id, kind, scope, scope_name, agent_id, name, text, source, source_chat, source_message, is_proposed, replaces_id, valid_from_ms, \
         valid_to_ms, superseded_by, revision, created_at_ms, updated_at_ms"
    };
}

/// True for an item of the holder whose user is `$1`, and whose agent is `$2`.
macro_rules! is_held {
    () => {
        "user_id = $1 AND COALESCE(agent_id, 0) = $2"
    };
}

mod holder;
mod replaced;
mod room;
pub(crate) mod traces;

pub(crate) use self::holder::{Gone, forget_agents};
pub use self::holder::{MemoryHolder, OwnAgent};
pub use self::replaced::MemoryReplacement;
pub use self::traces::{marked_from, memory_mark};

impl Store {
    /// All items of a holder, including proposals, in the order in which they were added.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn memory_items(&self, holder: impl Into<MemoryHolder>) -> Result<Vec<MemoryItem>> {
        let holder = holder.into();
        let held =
            concat!("SELECT ", item_columns!(), " FROM memory_items WHERE ", is_held!(), " ORDER BY id");
        Ok(query_as(held).bind(holder.user).bind(holder.agent_id()).fetch_all(self.database.reader()).await?)
    }

    /// All proposals that wait for a user: their own, and those of their agents in groups.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn proposed_memories(&self, user: UserId) -> Result<Vec<MemoryItem>> {
        Ok(query_as(concat!(
            "SELECT ",
            item_columns!(),
            " FROM memory_items WHERE user_id = $1 AND is_proposed ORDER BY id"
        ))
        .bind(user)
        .fetch_all(self.database.reader())
        .await?)
    }

    /// The item of a holder with this id.
    ///
    /// # Errors
    /// [`Error::NotFound`], also for another holder's.
    pub async fn memory_item(&self, holder: impl Into<MemoryHolder>, id: i64) -> Result<MemoryItem> {
        let holder = holder.into();
        query_as(concat!("SELECT ", item_columns!(), " FROM memory_items WHERE ", is_held!(), " AND id = $3"))
            .bind(holder.user)
            .bind(holder.agent_id())
            .bind(id)
            .fetch_optional(self.database.reader())
            .await?
            .ok_or_else(|| Error::not_found("memory", id))
    }

    /// The earlier texts of an item, the latest first.
    ///
    /// # Errors
    /// [`Error::NotFound`], also for another holder's.
    pub async fn memory_revisions(
        &self,
        holder: impl Into<MemoryHolder>,
        id: i64,
    ) -> Result<Vec<MemoryRevision>> {
        self.memory_item(holder, id).await?;
        Ok(query_as(
            "SELECT revision, name, text, replaced_by, replaced_at_ms FROM memory_revisions WHERE item_id = $1
             ORDER BY revision DESC",
        )
        .bind(id)
        .fetch_all(self.database.reader())
        .await?)
    }

    /// Adds an item or a proposal for a holder.
    ///
    /// # Errors
    /// [`Error::NotFound`] for an agent that was removed; [`Error::Invalid`] for an empty text or one beyond 4 KiB, a name beyond 64 bytes,
    /// invisible characters, and beyond 1,000 items that apply or 200 proposals; [`Error::Taken`] for a core block that exists;
    /// [`Error::NotFound`] if the item to change was deleted; for `supersedes` as
    /// [`Store::supersede_memories`].
    pub async fn add_memory(
        &self,
        holder: impl Into<MemoryHolder>,
        new: &NewMemory<'_>,
    ) -> Result<MemoryItem> {
        let holder = holder.into();
        check(new.name, new.text)?;
        check_length("memory's scope", new.scope_name, MEMORY_TEXT_MAX_BYTES)?;
        let now_ms = self.now_ms();
        let mut transaction = self.write_memories(holder).await?;
        if let Some(replaces) = new.replaces {
            item_in(&mut transaction, holder, replaces).await?;
        }
        if new.is_proposed {
            check_proposals(&mut transaction, holder).await?;
        }
        let added: MemoryItem = query_as(concat!(
            "INSERT INTO memory_items (user_id, kind, scope, scope_name, name, text, source, source_chat, source_message,
                is_proposed, replaces_id, valid_from_ms, valid_to_ms, revision, created_at_ms, updated_at_ms, agent_id)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, 1, $12, $12, $14) RETURNING ",
            item_columns!()
        ))
        .bind(holder.user)
        .bind(new.kind)
        .bind(new.scope)
        .bind(new.scope_name)
        .bind(new.name)
        .bind(new.text)
        .bind(new.source)
        .bind(new.chat)
        .bind(new.message)
        .bind(new.is_proposed)
        .bind(new.replaces)
        .bind(now_ms)
        .bind(new.valid_to_ms)
        .bind(holder.agent)
        .fetch_one(&mut transaction)
        .await
        .map_err(|error| Error::or_taken(error, "memory", new.name))?;
        replaced::replace_in(&mut transaction, holder, new.supersedes, &added, now_ms).await?;
        room::check(&mut transaction, holder, now_ms).await?;
        transaction.commit().await?;
        Ok(added)
    }

    /// Changes an item; its earlier text becomes a revision. A superseded item that gets a later end, or none, applies again.
    ///
    /// # Errors
    /// [`Error::NotFound`], also for another holder's item; [`Error::Invalid`] as for [`Store::add_memory`], also for an item that would apply
    /// again.
    pub async fn change_memory(
        &self,
        holder: impl Into<MemoryHolder>,
        id: i64,
        change: &MemoryChange<'_>,
    ) -> Result<MemoryItem> {
        let holder = holder.into();
        let mut transaction = self.write_memories(holder).await?;
        let now_ms = self.now_ms();
        let changed = change_in(&mut transaction, holder, id, change, now_ms).await?;
        room::check(&mut transaction, holder, now_ms).await?;
        transaction.commit().await?;
        Ok(changed)
    }

    /// Deletes items of a holder with their revisions, the proposals to change them, and the lines that showed them in the user's chats; returns
    /// the number of deleted items. All chats of the user, or the agent's chat, read the core blocks again. SQLite's files contain no trace of the
    /// deleted texts after the next [`Store::forget_deleted`]; PostgreSQL removes them when it vacuums.
    ///
    /// # Errors
    /// [`Error::NotFound`] for an agent that was removed.
    pub async fn forget_memories(&self, holder: impl Into<MemoryHolder>, ids: &[i64]) -> Result<u64> {
        let holder = holder.into();
        let mut transaction = self.write_memories(holder).await?;
        let mut gone = Vec::new();
        for id in ids {
            if delete(&mut transaction, holder, *id).await? > 0 {
                gone.push(*id);
            }
        }
        if !gone.is_empty() {
            traces::remove(&mut transaction, holder.user, &gone).await?;
            let chats = match holder.agent {
                None => "user_id = $1 AND $2 = 0",
                Some(_) => "user_id = $1 AND id = (SELECT a.chat_id FROM group_agents a WHERE a.id = $2)",
            };
            query(AssertSqlSafe(format!("UPDATE chats SET memory = NULL WHERE {chats}")))
                .bind(holder.user)
                .bind(holder.agent_id())
                .execute(&mut transaction)
                .await?;
        }
        transaction.commit().await?;
        if !gone.is_empty() {
            self.leave_no_trace().await?;
        }
        Ok(gone.len() as u64)
    }
}

async fn check_proposals(transaction: &mut Transaction, holder: MemoryHolder) -> Result<()> {
    let proposed = concat!("SELECT COUNT(*) FROM memory_items WHERE ", is_held!(), " AND is_proposed");
    let count: i64 =
        query_scalar(proposed).bind(holder.user).bind(holder.agent_id()).fetch_one(transaction).await?;
    if count < MEMORY_PROPOSALS_PER_USER {
        return Ok(());
    }
    Err(invalid(format!(
        "cannot be stored: there are already {MEMORY_PROPOSALS_PER_USER} proposals; accept or reject some first"
    )))
}

fn invalid(rule: String) -> Error {
    Error::Invalid { what: "memory", rule }
}

fn check(name: &str, text: &str) -> Result<()> {
    if text.trim().is_empty() {
        return Err(invalid("needs a text".to_owned()));
    }
    check_length("memory's name", name, MEMORY_NAME_MAX_BYTES)?;
    check_length("memory", text, MEMORY_TEXT_MAX_BYTES)?;
    // People do not see invisible characters, but models would read them in each later conversation.
    let unseen = |c: &char| is_unseen(*c) && !matches!(c, '\n' | '\t');
    match name.chars().chain(text.chars()).find(unseen) {
        Some(found) => {
            Err(invalid(format!("contains U+{:04X}, an invisible character; leave it out", u32::from(found))))
        }
        None => Ok(()),
    }
}

async fn item_in(transaction: &mut Transaction, holder: MemoryHolder, id: i64) -> Result<MemoryItem> {
    query_as(concat!("SELECT ", item_columns!(), " FROM memory_items WHERE ", is_held!(), " AND id = $3"))
        .bind(holder.user)
        .bind(holder.agent_id())
        .bind(id)
        .fetch_optional(transaction)
        .await?
        .ok_or_else(|| Error::not_found("memory", id))
}

async fn change_in(
    transaction: &mut Transaction,
    holder: MemoryHolder,
    id: i64,
    change: &MemoryChange<'_>,
    now_ms: i64,
) -> Result<MemoryItem> {
    let before = item_in(&mut *transaction, holder, id).await?;
    let (name, text) = (change.name.unwrap_or(&before.name), change.text.unwrap_or(&before.text));
    check(name, text)?;
    let is_new_text = (name, text) != (before.name.as_str(), before.text.as_str());
    if is_new_text {
        query(
            "INSERT INTO memory_revisions (item_id, revision, name, text, replaced_by, replaced_at_ms)
             VALUES ($1, $2, $3, $4, $5, $6)",
        )
        .bind(id)
        .bind(before.revision)
        .bind(&before.name)
        .bind(&before.text)
        .bind(change.by)
        .bind(now_ms)
        .execute(&mut *transaction)
        .await?;
    }
    let valid_to_ms = change.valid_to_ms.unwrap_or(before.valid_to_ms);
    let applies_again = change.valid_to_ms.is_some() && valid_to_ms.is_none_or(|until_ms| now_ms < until_ms);
    query_as(concat!(
        "UPDATE memory_items SET name = $1, text = $2, valid_to_ms = $3, revision = $4, updated_at_ms = $5, superseded_by = $6
         WHERE id = $7 RETURNING ",
        item_columns!()
    ))
    .bind(name)
    .bind(text)
    .bind(valid_to_ms)
    .bind(before.revision + i64::from(is_new_text))
    .bind(now_ms)
    .bind(before.superseded_by.filter(|_| !applies_again))
    .bind(id)
    .fetch_optional(transaction)
    .await
    .map_err(|error| Error::or_taken(error, "memory", name))?
    .ok_or_else(|| Error::not_found("memory", id))
}

async fn delete(transaction: &mut Transaction, holder: MemoryHolder, id: i64) -> Result<u64> {
    query(concat!(
        "DELETE FROM memory_items WHERE ",
        is_held!(),
        " AND is_proposed AND id IN (SELECT item_id FROM memory_replacements WHERE replaces_id = $3)"
    ))
    .bind(holder.user)
    .bind(holder.agent_id())
    .bind(id)
    .execute(&mut *transaction)
    .await?;
    let deleted = query(concat!("DELETE FROM memory_items WHERE ", is_held!(), " AND id = $3"))
        .bind(holder.user)
        .bind(holder.agent_id())
        .bind(id)
        .execute(transaction)
        .await?;
    Ok(deleted.rows_affected())
}
