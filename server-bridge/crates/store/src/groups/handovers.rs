//! Hand-overs: files that are passed from the agent of one step to the agent of the next one. A row is written before the files are read, and ends
//! once.
//!
//! Each row belongs to one call, and ends with it at the latest (`calls`).

use sqlx::FromRow;

use super::calls::GroupCall;
use super::entries::NewEntry;
use super::members::touch;
use crate::Store;
use crate::error::{Error, Result};
use crate::sql::{Scope, query, query_as, query_scalar};

/// A recorded hand-over of files.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct HandOver {
    /// The id; later hand-overs have larger ones.
    pub id: i64,
    /// The call whose agent gets the files.
    pub call_id: i64,
    /// The step that made the files, counted from 0.
    pub from_step: i64,
    /// The place that the files are copied from.
    pub from_runner: String,
    /// The place that the files are copied to.
    pub to_runner: String,
    /// The token in the files' temporary name, which they have until they are complete.
    pub token: String,
    /// `running`, `done`, `failed` or `stopped`.
    pub state: String,
    /// The directory with the files, relative to the workspace; empty until they have arrived.
    pub directory: String,
    /// The number of files.
    pub files: i64,
    /// The size of the files' contents, in bytes.
    pub size_bytes: i64,
    /// The SHA-256 of the files' listing, in hexadecimal digits.
    pub sha256: Option<String>,
    /// The reason why it failed.
    pub error: String,
    /// When it began, in Unix milliseconds.
    pub created_at_ms: i64,
    /// When it ended, in Unix milliseconds.
    pub ended_at_ms: Option<i64>,
}

/// Files to hand over.
#[derive(Clone, Copy, Debug)]
pub struct NewHandOver<'a> {
    /// The step that made the files, counted from 0.
    pub from_step: i64,
    /// The place that the files are copied from.
    pub from_runner: &'a str,
    /// The place that the files are copied to.
    pub to_runner: &'a str,
    /// The token in the files' temporary name, which they have until they are complete; random.
    pub token: &'a str,
}

/// Files that have arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandedOver {
    /// The directory with the files, relative to the workspace.
    pub directory: String,
    /// The number of files.
    pub files: i64,
    /// The size of the files' contents, in bytes.
    pub size_bytes: i64,
    /// The SHA-256 of the files' listing, in hexadecimal digits.
    pub sha256: String,
}

macro_rules! columns {
    () => {
        "id, call_id, from_step, from_runner, to_runner, token, state, directory, files, size_bytes, sha256, error, created_at_ms,
         ended_at_ms"
    };
}

impl Store {
    /// Records that files are passed to a call's agent, before any file is read. A call has one row: if it exists and has not ended, only its
    /// places change.
    ///
    /// # Errors
    /// [`Error::NotFound`] if the call does not exist, has ended without a hand-over, or does not belong to a run.
    pub async fn begin_handover(&self, call: &GroupCall, new: NewHandOver<'_>) -> Result<HandOver> {
        let mut transaction = self.database.write(Scope::Group(call.group_id)).await?;
        query(
            "INSERT INTO group_handovers (run_id, call_id, from_step, from_runner, to_runner, token, state, created_at_ms)
             SELECT c.run_id, c.id, $2, $3, $4, $5, 'running', $6 FROM group_calls c
             WHERE c.id = $1 AND c.run_id IS NOT NULL AND c.ended_at_ms IS NULL
             ON CONFLICT (call_id) DO UPDATE SET from_runner = excluded.from_runner, to_runner = excluded.to_runner
             WHERE group_handovers.ended_at_ms IS NULL",
        )
        .bind(call.id)
        .bind(new.from_step)
        .bind(new.from_runner)
        .bind(new.to_runner)
        .bind(new.token)
        .bind(self.now_ms())
        .execute(&mut transaction)
        .await?;
        let row: Option<HandOver> =
            query_as(concat!("SELECT ", columns!(), " FROM group_handovers WHERE call_id = $1"))
                .bind(call.id)
                .fetch_optional(&mut transaction)
                .await?;
        transaction.commit().await?;
        row.ok_or_else(|| Error::not_found("call", call.id.to_string()))
    }

    /// The hand-over to a call's agent, if there is one.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn handover(&self, call: i64) -> Result<Option<HandOver>> {
        Ok(query_as(concat!("SELECT ", columns!(), " FROM group_handovers WHERE call_id = $1"))
            .bind(call)
            .fetch_optional(self.database.latest())
            .await?)
    }

    /// True if the hand-over with this token has ended.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn is_handover_ended(&self, token: &str) -> Result<bool> {
        Ok(query_scalar(
            "SELECT EXISTS (SELECT 1 FROM group_handovers WHERE token = $1 AND ended_at_ms IS NOT NULL)",
        )
        .bind(token)
        .fetch_one(self.database.latest())
        .await?)
    }

    /// The hand-overs of a run, both ended and in progress, in the order in which they began.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn handovers(&self, run: i64) -> Result<Vec<HandOver>> {
        Ok(query_as(concat!("SELECT ", columns!(), " FROM group_handovers WHERE run_id = $1 ORDER BY id"))
            .bind(run)
            .fetch_all(self.database.latest())
            .await?)
    }

    /// Records that files have arrived, and adds the server's message about it to the log, once. Returns true if this ended the hand-over.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn end_handover(&self, group: i64, id: i64, done: &HandedOver, note: &str) -> Result<bool> {
        let mut transaction = self.database.write(Scope::Group(group)).await?;
        let ended = query(
            "UPDATE group_handovers SET state = 'done', directory = $1, files = $2, size_bytes = $3, sha256 = $4, ended_at_ms = $5
             WHERE id = $6 AND ended_at_ms IS NULL",
        )
        .bind(&done.directory)
        .bind(done.files)
        .bind(done.size_bytes)
        .bind(&done.sha256)
        .bind(self.now_ms())
        .bind(id)
        .execute(&mut transaction)
        .await?;
        if ended.rows_affected() == 0 {
            return Ok(false);
        }
        NewEntry::of_server(group, note).insert(&mut transaction, None, self.now_ms()).await?;
        touch(&mut transaction, group, self.now_ms()).await?;
        transaction.commit().await?;
        Ok(true)
    }
}
