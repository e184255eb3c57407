//! The log of a group. Entries are only added, never changed or removed.

use sqlx::FromRow;

use super::calls::NewCall;
use super::members::touch;
use crate::error::{Result, check_length};
use crate::limits::{ENTRY_MAX_BYTES, SEND_ID_MAX_BYTES, rows};
use crate::pages::last_fitting;
use crate::sql::{Scope, Transaction, query_as, query_scalar};
use crate::{Store, UserId};

/// The kind of an entry's author.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, sqlx::Type)]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum EntryKind {
    /// A person.
    Person,
    /// An agent.
    Agent,
    /// The server.
    Server,
}

impl EntryKind {
    /// The kind's name in the database and on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Agent => "agent",
            Self::Server => "server",
        }
    }
}

crate::sql::bind_as_word!(EntryKind);

/// A recorded entry of a group's log.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct GroupEntry {
    /// The id; later entries have larger ones.
    pub id: i64,
    /// The id of its group.
    pub group_id: i64,
    /// The kind of its author.
    pub kind: EntryKind,
    /// The person's name or the agent's handle; empty for the server.
    pub author: String,
    /// The text of the entry.
    pub text: String,
    /// The handles of the agents that it mentions, as a JSON list.
    pub asks_json: String,
    /// The call that it answers; `None` for other entries.
    pub call_id: Option<i64>,
    /// When it was posted, in Unix milliseconds.
    pub created_at_ms: i64,
}

/// An entry to post.
#[derive(Clone, Copy, Debug)]
pub struct NewEntry<'a> {
    /// The group's id.
    pub group: i64,
    /// The kind of its author.
    pub kind: EntryKind,
    /// The person's name or the agent's handle; empty for the server.
    pub author: &'a str,
    /// The id of the person; `None` for other authors.
    pub user: Option<UserId>,
    /// The text, at most 1 MiB.
    pub text: &'a str,
    /// The handles of the agents that it mentions, as a JSON list.
    pub asks_json: &'a str,
    /// An id chosen by the client. A person who sends the same id again gets the same entry.
    pub send_id: Option<&'a str>,
}

macro_rules! entry_columns {
    () => {
        "id, group_id, kind, author, text, asks_json, call_id, created_at_ms"
    };
}

impl<'a> NewEntry<'a> {
    /// A message from the server.
    pub(super) fn of_server(group: i64, text: &'a str) -> Self {
        let kind = EntryKind::Server;
        Self { group, kind, author: "", user: None, text, asks_json: "[]", send_id: None }
    }

    pub(super) async fn insert(
        &self,
        transaction: &mut Transaction,
        call: Option<i64>,
        now_ms: i64,
    ) -> Result<GroupEntry> {
        Ok(query_as(concat!(
            "INSERT INTO group_entries (group_id, kind, author, author_id, text, asks_json, call_id, send_id, created_at_ms)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) RETURNING ",
            entry_columns!()
        ))
        .bind(self.group)
        .bind(self.kind)
        .bind(self.author)
        .bind(self.user)
        .bind(self.text)
        .bind(self.asks_json)
        .bind(call)
        .bind(self.send_id)
        .bind(now_ms)
        .fetch_one(&mut *transaction)
        .await?)
    }
}

impl Store {
    /// Posts an entry with the calls that it makes; if the send id is already known, nothing is posted. Returns the entry, the ids of its calls, and
    /// true if the entry is new.
    ///
    /// # Errors
    /// [`crate::Error::Invalid`] beyond 1 MiB of text, or beyond 100 open calls of an agent.
    pub async fn post_entry(
        &self,
        entry: NewEntry<'_>,
        calls: &[NewCall<'_>],
    ) -> Result<(GroupEntry, Vec<i64>, bool)> {
        check_length("message", entry.text, ENTRY_MAX_BYTES)?;
        check_length("send id", entry.send_id.unwrap_or_default(), SEND_ID_MAX_BYTES)?;
        let mut transaction = self.database.write(Scope::Group(entry.group)).await?;
        if let (Some(send_id), Some(user)) = (entry.send_id, entry.user) {
            let known: Option<GroupEntry> = query_as(concat!(
                "SELECT ",
                entry_columns!(),
                " FROM group_entries WHERE group_id = $1 AND author_id = $2 AND send_id = $3"
            ))
            .bind(entry.group)
            .bind(user)
            .bind(send_id)
            .fetch_optional(&mut transaction)
            .await?;
            if let Some(known) = known {
                let calls = query_scalar("SELECT id FROM group_calls WHERE entry_id = $1 ORDER BY id")
                    .bind(known.id)
                    .fetch_all(&mut transaction)
                    .await?;
                return Ok((known, calls, false));
            }
        }
        let posted = entry.insert(&mut transaction, None, self.now_ms()).await?;
        let mut ids = Vec::with_capacity(calls.len());
        for call in calls {
            ids.extend(call.insert(&mut transaction, Some(posted.id), self.now_ms()).await?);
        }
        touch(&mut transaction, entry.group, self.now_ms()).await?;
        transaction.commit().await?;
        Ok((posted, ids, true))
    }

    /// Adds a message from the server to a group's log.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn post_notice(&self, group: i64, text: &str) -> Result<()> {
        let mut transaction = self.database.write(Scope::Group(group)).await?;
        NewEntry::of_server(group, text).insert(&mut transaction, None, self.now_ms()).await?;
        touch(&mut transaction, group, self.now_ms()).await?;
        Ok(transaction.commit().await?)
    }

    /// The entries of a group after `after`, the oldest first, at most `limit` entries and 8 MiB of text. The second value is true if there are more.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn entries_after(&self, group: i64, after: i64, limit: u32) -> Result<(Vec<GroupEntry>, bool)> {
        let found: Vec<(i64, i64)> = query_as(
            "SELECT id, CAST(OCTET_LENGTH(text) AS BIGINT) FROM group_entries WHERE group_id = $1 AND id > $2 ORDER BY id LIMIT $3",
        )
        .bind(group)
        .bind(after)
        .bind(rows(limit) + 1)
        .fetch_all(self.database.reader())
        .await?;
        let (Some(last), more) = last_fitting(&found, rows(limit)) else {
            return Ok((Vec::new(), !found.is_empty()));
        };
        let entries = query_as(concat!(
            "SELECT ",
            entry_columns!(),
            " FROM group_entries WHERE group_id = $1 AND id > $2 AND id <= $3 ORDER BY id"
        ))
        .bind(group)
        .bind(after)
        .bind(last)
        .fetch_all(self.database.reader())
        .await?;
        Ok((entries, more))
    }

    /// The newest entries of a group after `after`, the newest first, each with the first `most` characters of its text.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn newest_entries(
        &self,
        group: i64,
        after: i64,
        limit: i64,
        most: i64,
    ) -> Result<Vec<GroupEntry>> {
        Ok(query_as(
            "SELECT id, group_id, kind, author, substr(text, 1, CAST($4 AS INTEGER)) AS text, asks_json, call_id, created_at_ms
             FROM group_entries WHERE group_id = $1 AND id > $2 ORDER BY id DESC LIMIT $3",
        )
        .bind(group)
        .bind(after)
        .bind(limit)
        .bind(most)
        .fetch_all(self.database.reader())
        .await?)
    }

    /// The last entries of a group before `before`, the oldest first, at most `limit` entries and 8 MiB of text. The second value is true if there
    /// are more.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn entries_before(
        &self,
        group: i64,
        before: i64,
        limit: u32,
    ) -> Result<(Vec<GroupEntry>, bool)> {
        let found: Vec<(i64, i64)> = query_as(
            "SELECT id, CAST(OCTET_LENGTH(text) AS BIGINT) FROM group_entries WHERE group_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3",
        )
        .bind(group)
        .bind(before)
        .bind(rows(limit) + 1)
        .fetch_all(self.database.reader())
        .await?;
        let (Some(first), more) = last_fitting(&found, rows(limit)) else {
            return Ok((Vec::new(), !found.is_empty()));
        };
        let entries = query_as(concat!(
            "SELECT ",
            entry_columns!(),
            " FROM group_entries WHERE group_id = $1 AND id >= $2 AND id < $3 ORDER BY id"
        ))
        .bind(group)
        .bind(first)
        .bind(before)
        .fetch_all(self.database.reader())
        .await?;
        Ok((entries, more))
    }
}
