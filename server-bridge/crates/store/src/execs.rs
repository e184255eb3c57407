//! Recorded commands: each is started once per id and request, and ended once (see `exec_ends`).

use sqlx::FromRow;

use crate::error::{Error, Result};
use crate::limits::{EXEC_COMMAND_MAX_BYTES, beginning, rows};
use crate::messages::{Author, NewMessage, append_to};
use crate::sql::{Scope, Transaction, query, query_as};
use crate::{ChatId, ExecId, Message, MessageId, MessageRole, Store, UserId};

/// The state of an exec.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, sqlx::Type)]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum ExecStatus {
    /// The exec was sent, and has not ended as far as the server knows.
    Running,
    /// The exec ended with an exit code.
    Exited,
    /// A signal ended the exec.
    Signaled,
    /// The exec was ended because it exceeded its time limit.
    TimedOut,
    /// The exec was ended on request.
    Cancelled,
    /// The command could not be run.
    Failed,
    /// The end of the exec is unknown.
    Lost,
}

impl ExecStatus {
    /// The status's name in the database and on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Exited => "exited",
            Self::Signaled => "signaled",
            Self::TimedOut => "timed_out",
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
            Self::Lost => "lost",
        }
    }
}

crate::sql::bind_as_word!(ExecStatus);

/// The originator of an exec.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, sqlx::Type)]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum ExecKind {
    /// A person, by a `!command` in a chat; a message shows the exec.
    Chat,
    /// A model, by its tool `Shell`; a detached exec is a task.
    Tool,
    /// A client of the exec socket.
    Client,
    /// A person at a terminal, which clients can reconnect to.
    Terminal,
    /// A client of the Model Context Protocol; a detached exec is a task.
    Mcp,
}

impl ExecKind {
    /// The kind's name in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Tool => "tool",
            Self::Client => "client",
            Self::Terminal => "terminal",
            Self::Mcp => "mcp",
        }
    }
}

crate::sql::bind_as_word!(ExecKind);

/// An exec about to be sent.
#[derive(Clone, Debug)]
pub struct ExecRequest {
    /// The id that its originator chose.
    pub exec_id: ExecId,
    /// The kind of originator.
    pub kind: ExecKind,
    /// The user who owns it.
    pub user: UserId,
    /// The conversation it came from.
    pub chat: Option<ChatId>,
    /// The message that shows it.
    pub message: Option<MessageId>,
    /// A hash over the whole request; distinguishes a repetition from a different request.
    pub request_hash: String,
    /// The place where the command runs: a runner's name, `__docker__` or `none`.
    pub runner: Option<String>,
    /// The command as it is shown to people; cut beyond 4 KiB.
    pub command: String,
    /// The command in the audit trail; `None` if it is the same as `command`. Cut beyond 4 KiB.
    pub audited: Option<String>,
    /// True if the command continues when its client disconnects.
    pub detached: bool,
    /// How long the command continues without a client, in milliseconds; only for terminals.
    pub linger_ms: Option<i64>,
}

/// The outcome of an exec that ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecOutcome {
    /// Any status but [`ExecStatus::Running`].
    pub status: ExecStatus,
    /// The exit code, if the command exited.
    pub exit_code: Option<i32>,
    /// The number of the signal that ended the command, if one did.
    pub signal: Option<i32>,
    /// True if the sandbox denied the command an operation.
    pub sandbox_denied: bool,
    /// True if some of the command's output was not kept.
    pub truncated: bool,
    /// The length of the command's standard output, in bytes.
    pub stdout_bytes: u64,
    /// The length of the command's standard error, in bytes.
    pub stderr_bytes: u64,
    /// The file in the workspace that contains the whole output, if a chat shows only its beginning and end.
    pub output_path: Option<String>,
    /// The error for the user; cut beyond 4 KiB.
    pub error: Option<String>,
}

/// A recorded exec.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct Exec {
    /// The id that its originator chose.
    pub exec_id: ExecId,
    /// The kind of originator.
    pub kind: ExecKind,
    /// The user who owns it.
    #[sqlx(rename = "user_id")]
    pub user: UserId,
    /// The conversation it came from, unless that was deleted.
    #[sqlx(rename = "chat_id")]
    pub chat: Option<ChatId>,
    /// The message that shows it, unless that was deleted.
    #[sqlx(rename = "message_id")]
    pub message: Option<MessageId>,
    /// See [`ExecRequest::request_hash`].
    pub request_hash: String,
    /// The place where the command runs: a runner's name, `__docker__` or `none`.
    pub runner: Option<String>,
    /// The command, at most 4 KiB of it.
    pub command: String,
    /// True if the command continues when its client disconnects.
    pub detached: bool,
    /// The exec's state.
    pub status: ExecStatus,
    /// The exit code, if the command exited.
    pub exit_code: Option<i32>,
    /// The number of the signal that ended the command, if one did.
    pub signal: Option<i32>,
    /// True if the sandbox denied the command an operation.
    pub sandbox_denied: bool,
    /// True if some of the command's output was not kept.
    pub truncated: bool,
    /// The length of the command's standard output, in bytes.
    #[sqlx(try_from = "i64")]
    pub stdout_bytes: u64,
    /// The length of the command's standard error, in bytes.
    #[sqlx(try_from = "i64")]
    pub stderr_bytes: u64,
    /// The file in the workspace that contains the whole output, if a chat shows only its beginning and end.
    pub output_path: Option<String>,
    /// The error for the user; `None` if there is none.
    pub error: Option<String>,
    /// When it was sent, in Unix milliseconds.
    pub started_at_ms: i64,
    /// When its end was recorded, in Unix milliseconds.
    pub finished_at_ms: Option<i64>,
    /// How long the command continues without a client, in milliseconds; only for terminals.
    pub linger_ms: Option<i64>,
    /// See [`ExecRequest::audited`].
    pub audited: Option<String>,
}

impl Exec {
    /// The command in the audit trail.
    pub fn audited(&self) -> &str {
        self.audited.as_deref().unwrap_or(&self.command)
    }
}

/// The result of [`Store::start_exec`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExecStart {
    /// The exec is new and is now recorded: send it.
    New,
    /// The same request was already recorded: attach to its exec, or report the outcome.
    Existing(Box<Exec>),
}

/// The columns of an [`Exec`].
macro_rules! exec_columns {
    () => {
        "exec_id, user_id, chat_id, message_id, request_hash, runner, command, detached, status, exit_code, signal,
         sandbox_denied, truncated, stdout_bytes, stderr_bytes, output_path, error, started_at_ms, finished_at_ms,
         linger_ms, kind, audited"
    };
}

impl Store {
    /// Records an exec before it is sent. Repeating the call is harmless.
    ///
    /// # Errors
    /// [`Error::Conflict`] if the user has used this id for a different request.
    pub async fn start_exec(&self, request: &ExecRequest) -> Result<ExecStart> {
        let mut transaction = self.database.write(Scope::User(request.user)).await?;
        let is_new = insert(&mut transaction, self.now_ms(), request).await?;
        transaction.commit().await?;
        if is_new {
            return Ok(ExecStart::New);
        }
        let existing = self.exec(request.user, &request.exec_id).await?;
        if existing.request_hash == request.request_hash {
            Ok(ExecStart::Existing(Box::new(existing)))
        } else {
            Err(Error::Conflict { exec_id: request.exec_id.to_string() })
        }
    }

    /// Records a new exec together with the message that shows it, which has the role [`MessageRole::Exec`] and this document, in one transaction.
    /// `request.message` is ignored.
    ///
    /// # Errors
    /// [`Error::NotFound`] for a conversation that does not exist or belongs to another user; [`Error::Conflict`] for an id that the user has used;
    /// as for [`Store::append_message`].
    pub async fn start_shown_exec(
        &self,
        request: &ExecRequest,
        chat: &ChatId,
        document_json: &str,
    ) -> Result<Message> {
        let now_ms = self.now_ms();
        let mut transaction = self.database.write(Scope::Chat(chat)).await?;
        let (user, role, document_json) = (request.user, MessageRole::Exec, Some(document_json));
        let new = NewMessage { user, chat, turn: None, role, author: Author::Owner, text: "", document_json };
        let message = append_to(&mut transaction, now_ms, new).await?;
        let shown = ExecRequest { message: Some(message.id), ..request.clone() };
        if !insert(&mut transaction, now_ms, &shown).await? {
            return Err(Error::Conflict { exec_id: request.exec_id.to_string() });
        }
        transaction.commit().await?;
        Ok(message)
    }

    /// Records that a user's exec continues without the caller that waited for it.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn detach_exec(&self, user: UserId, exec_id: &ExecId) -> Result<()> {
        query("UPDATE execs SET detached = TRUE WHERE user_id = $1 AND exec_id = $2")
            .bind(user)
            .bind(exec_id)
            .execute(self.database.writer(Scope::User(user)))
            .await?;
        Ok(())
    }

    /// The execs of a user, or of all users, whose end is not recorded, in the order in which they were started. Called when the server starts or
    /// claims the user's home, because execs that an earlier server sent may still run.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn running_execs(&self, user: Option<UserId>) -> Result<Vec<Exec>> {
        Ok(query_as(concat!(
            "SELECT ",
            exec_columns!(),
            " FROM execs WHERE status = $1 AND (user_id = $2 OR $2 IS NULL) ORDER BY started_at_ms, exec_id"
        ))
        .bind(ExecStatus::Running)
        .bind(user)
        .fetch_all(self.database.reader())
        .await?)
    }

    /// A user's exec.
    ///
    /// # Errors
    /// [`Error::NotFound`], also for another user's.
    pub async fn exec(&self, user: UserId, exec_id: &ExecId) -> Result<Exec> {
        query_as(concat!("SELECT ", exec_columns!(), " FROM execs WHERE user_id = $1 AND exec_id = $2"))
            .bind(user)
            .bind(exec_id)
            .fetch_optional(self.database.reader())
            .await?
            .ok_or_else(|| Error::not_found("exec", exec_id))
    }

    /// The background commands of a user's conversation, running or ended, the most recently started first; `limit` is at most 1,000.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn chat_tasks(&self, user: UserId, chat: &ChatId, limit: u32) -> Result<Vec<Exec>> {
        Ok(query_as(concat!(
            "SELECT ",
            exec_columns!(),
            " FROM execs WHERE chat_id = $1 AND user_id = $2 AND detached AND message_id IS NULL
             ORDER BY started_at_ms DESC, exec_id LIMIT $3"
        ))
        .bind(chat)
        .bind(user)
        .bind(rows(limit))
        .fetch_all(self.database.reader())
        .await?)
    }

    /// A user's background commands, running or ended, of one conversation or of all, the most recently started first; without terminals. `limit` is
    /// at most 1,000.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn tasks(
        &self,
        user: UserId,
        chat: Option<&ChatId>,
        only_running: bool,
        limit: u32,
    ) -> Result<Vec<Exec>> {
        Ok(query_as(concat!(
            "SELECT ",
            exec_columns!(),
            " FROM execs WHERE user_id = $1 AND detached AND message_id IS NULL AND linger_ms IS NULL
                AND (chat_id = $2 OR $2 IS NULL) AND (status = 'running' OR NOT $3)
             ORDER BY started_at_ms DESC, exec_id LIMIT $4"
        ))
        .bind(user)
        .bind(chat)
        .bind(only_running)
        .bind(rows(limit))
        .fetch_all(self.database.reader())
        .await?)
    }

    /// Marks a conversation's running background commands as abandoned, and returns them. The caller is to end them, as it ends a command whose
    /// client disconnected.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn abandon_chat_tasks(&self, user: UserId, chat: &ChatId) -> Result<Vec<Exec>> {
        Ok(query_as(concat!(
            "UPDATE execs SET detached = FALSE
             WHERE chat_id = $1 AND user_id = $2 AND detached AND message_id IS NULL AND status = 'running'
             RETURNING ",
            exec_columns!()
        ))
        .bind(chat)
        .bind(user)
        .fetch_all(self.database.writer(Scope::User(user)))
        .await?)
    }

    /// A user's execs, the most recently started first; `limit` is at most 1,000.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn execs(&self, user: UserId, limit: u32) -> Result<Vec<Exec>> {
        Ok(query_as(concat!(
            "SELECT ",
            exec_columns!(),
            " FROM execs WHERE user_id = $1 ORDER BY started_at_ms DESC, exec_id LIMIT $2"
        ))
        .bind(user)
        .bind(rows(limit))
        .fetch_all(self.database.reader())
        .await?)
    }
}

/// Adds the row unless the user has already used the id; returns true if the row was added.
async fn insert(transaction: &mut Transaction, now_ms: i64, request: &ExecRequest) -> Result<bool> {
    let inserted = query(
        "INSERT INTO execs (exec_id, user_id, chat_id, message_id, request_hash, runner, command, status,
                            sandbox_denied, truncated, stdout_bytes, stderr_bytes, started_at_ms, detached,
                            linger_ms, kind, audited)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9, 0, 0, $10, $11, $12, $13, $14)
         ON CONFLICT (user_id, exec_id) DO NOTHING",
    )
    .bind(&request.exec_id)
    .bind(request.user)
    .bind(request.chat.as_ref())
    .bind(request.message)
    .bind(&request.request_hash)
    .bind(request.runner.as_deref())
    .bind(beginning(&request.command, EXEC_COMMAND_MAX_BYTES))
    .bind(ExecStatus::Running)
    .bind(false)
    .bind(now_ms)
    .bind(request.detached)
    .bind(request.linger_ms)
    .bind(request.kind)
    .bind(request.audited.as_deref().map(|audited| beginning(audited, EXEC_COMMAND_MAX_BYTES)))
    .execute(&mut *transaction)
    .await?;
    Ok(inserted.rows_affected() > 0)
}
