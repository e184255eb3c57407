//! Commands on record: started once per id and request, finished once.
//!
//! ```text
//!   start ─► running ──finish──► exited | signaled | timed_out | cancelled | failed
//!               └─ nobody can tell any more ─► lost ──finish (it could be told after all)──► …
//! ```

use sqlx::FromRow;

use crate::error::{Error, Result};
use crate::limits::{EXEC_COMMAND_MAX_BYTES, EXEC_ERROR_MAX_BYTES, beginning, rows};
use crate::{ChatId, ExecId, MessageId, Store, UserId};

/// How an exec stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, sqlx::Type)]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum ExecStatus {
    /// It was sent, and nothing is known of its end.
    Running,
    /// It ended by itself, with a code.
    Exited,
    /// A signal ended it.
    Signaled,
    /// It was ended because its time was up.
    TimedOut,
    /// It was ended because somebody asked.
    Cancelled,
    /// It could not be run.
    Failed,
    /// How it ended cannot be known.
    Lost,
}

impl ExecStatus {
    /// The word that stands for it in the database and on the wire.
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

/// An exec about to be sent.
#[derive(Clone, Debug)]
pub struct ExecRequest {
    /// The id its originator chose.
    pub exec_id: ExecId,
    /// Whose it is.
    pub user: UserId,
    /// The conversation it came from.
    pub chat: Option<ChatId>,
    /// The message that shows it.
    pub message: Option<MessageId>,
    /// A hash over all that was asked for; tells a repetition from a different request.
    pub request_hash: String,
    /// Where it runs: a runner's name, `__docker__` or `none`.
    pub runner: Option<String>,
    /// What runs, as shown to people; beyond 4 KiB it is cut.
    pub command: String,
    /// Whether it goes on without its client.
    pub detached: bool,
}

/// How an exec ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecOutcome {
    /// Any status but [`ExecStatus::Running`].
    pub status: ExecStatus,
    /// Its exit code, if it exited.
    pub exit_code: Option<i32>,
    /// The number of the signal that ended it, if one did.
    pub signal: Option<i32>,
    /// Whether the sandbox denied it something.
    pub sandbox_denied: bool,
    /// Whether some of its output was not kept.
    pub truncated: bool,
    /// All it wrote to its standard output, in bytes.
    pub stdout_bytes: u64,
    /// All it wrote to its standard error, in bytes.
    pub stderr_bytes: u64,
    /// The file in its workspace that holds its whole output, if a chat shows only head and tail.
    pub output_path: Option<String>,
    /// What a user is told went wrong; beyond 4 KiB it is cut.
    pub error: Option<String>,
}

/// An exec on record.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct Exec {
    /// The id its originator chose.
    pub exec_id: ExecId,
    /// Whose it is.
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
    /// Where it runs: a runner's name, `__docker__` or `none`.
    pub runner: Option<String>,
    /// What runs, at most 4 KiB of it.
    pub command: String,
    /// Whether it goes on without its client.
    pub detached: bool,
    /// How it stands.
    pub status: ExecStatus,
    /// Its exit code, if it exited.
    pub exit_code: Option<i32>,
    /// The number of the signal that ended it, if one did.
    pub signal: Option<i32>,
    /// Whether the sandbox denied it something.
    pub sandbox_denied: bool,
    /// Whether some of its output was not kept.
    pub truncated: bool,
    /// All it wrote to its standard output, in bytes.
    #[sqlx(try_from = "i64")]
    pub stdout_bytes: u64,
    /// All it wrote to its standard error, in bytes.
    #[sqlx(try_from = "i64")]
    pub stderr_bytes: u64,
    /// The file in its workspace that holds its whole output.
    pub output_path: Option<String>,
    /// What a user is told went wrong.
    pub error: Option<String>,
    /// When it was sent, in Unix milliseconds.
    pub started_at_ms: i64,
    /// When its end was recorded, in Unix milliseconds.
    pub finished_at_ms: Option<i64>,
    /// How long it goes on without anybody who looks at it, in milliseconds; only a terminal has this.
    pub linger_ms: Option<i64>,
}

/// What came of [`Store::start_exec`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExecStart {
    /// It is on record now: send it.
    New,
    /// The same request was made before: attach to it, or tell its outcome.
    Existing(Box<Exec>),
}

/// The columns of an [`Exec`].
macro_rules! exec_columns {
    () => {
        "exec_id, user_id, chat_id, message_id, request_hash, runner, command, detached, status, exit_code, signal,
         sandbox_denied, truncated, stdout_bytes, stderr_bytes, output_path, error, started_at_ms, finished_at_ms,
         linger_ms"
    };
}

impl Store {
    /// Puts an exec on record, before it is sent. Repeating it is harmless.
    ///
    /// # Errors
    /// [`Error::Conflict`] if the user has used this id for a different request.
    pub async fn start_exec(&self, request: &ExecRequest) -> Result<ExecStart> {
        let inserted = sqlx::query(
            "INSERT INTO execs (exec_id, user_id, chat_id, message_id, request_hash, runner, command, status,
                                sandbox_denied, truncated, stdout_bytes, stderr_bytes, started_at_ms, detached)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9, 0, 0, $10, $11)
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
        .bind(self.now_ms())
        .bind(request.detached)
        .execute(self.database.writer())
        .await?;
        if inserted.rows_affected() > 0 {
            return Ok(ExecStart::New);
        }
        let existing = self.exec(request.user, &request.exec_id).await?;
        if existing.request_hash == request.request_hash {
            Ok(ExecStart::Existing(Box::new(existing)))
        } else {
            Err(Error::Conflict { exec_id: request.exec_id.to_string() })
        }
    }

    /// Records that a user's exec goes on without whoever waited for it.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn detach_exec(&self, user: UserId, exec_id: &ExecId) -> Result<()> {
        sqlx::query("UPDATE execs SET detached = TRUE WHERE user_id = $1 AND exec_id = $2")
            .bind(user)
            .bind(exec_id)
            .execute(self.database.writer())
            .await?;
        Ok(())
    }

    /// Records that an exec is a terminal, and how long it goes on without anybody who looks at it.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn linger_exec(&self, user: UserId, exec_id: &ExecId, linger_ms: i64) -> Result<()> {
        sqlx::query("UPDATE execs SET linger_ms = $1 WHERE user_id = $2 AND exec_id = $3")
            .bind(linger_ms)
            .bind(user)
            .bind(exec_id)
            .execute(self.database.writer())
            .await?;
        Ok(())
    }

    /// Records how a user's exec ended. Returns `false`, and changes nothing, if its end was recorded before; a lost
    /// exec may still be told.
    ///
    /// # Errors
    /// [`Error::NotFound`], also for another user's; [`Error::Invalid`] for the status `running`.
    pub async fn finish_exec(&self, user: UserId, exec_id: &ExecId, outcome: &ExecOutcome) -> Result<bool> {
        if outcome.status == ExecStatus::Running {
            return Err(Error::Invalid { what: "outcome", rule: "must not be \"running\"".to_owned() });
        }
        let finished = sqlx::query(
            "UPDATE execs SET status = $1, exit_code = $2, signal = $3, sandbox_denied = $4, truncated = $5,
                              stdout_bytes = $6, stderr_bytes = $7, output_path = $8, error = $9, finished_at_ms = $10
             WHERE user_id = $11 AND exec_id = $12 AND status IN ('running', 'lost')",
        )
        .bind(outcome.status)
        .bind(outcome.exit_code)
        .bind(outcome.signal)
        .bind(outcome.sandbox_denied)
        .bind(outcome.truncated)
        .bind(i64::try_from(outcome.stdout_bytes).unwrap_or(i64::MAX))
        .bind(i64::try_from(outcome.stderr_bytes).unwrap_or(i64::MAX))
        .bind(outcome.output_path.as_deref())
        .bind(outcome.error.as_deref().map(|error| beginning(error, EXEC_ERROR_MAX_BYTES)))
        .bind(self.now_ms())
        .bind(user)
        .bind(exec_id)
        .execute(self.database.writer())
        .await?;
        if finished.rows_affected() > 0 {
            return Ok(true);
        }
        self.exec(user, exec_id).await.map(|_| false)
    }

    /// The execs of every user whose end is not on record, the first started first. For a server's start: what an
    /// earlier one had sent may still run.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn running_execs(&self) -> Result<Vec<Exec>> {
        Ok(sqlx::query_as(concat!(
            "SELECT ",
            exec_columns!(),
            " FROM execs WHERE status = $1 ORDER BY started_at_ms, exec_id"
        ))
        .bind(ExecStatus::Running)
        .fetch_all(self.database.reader())
        .await?)
    }

    /// A user's exec.
    ///
    /// # Errors
    /// [`Error::NotFound`], also for another user's.
    pub async fn exec(&self, user: UserId, exec_id: &ExecId) -> Result<Exec> {
        sqlx::query_as(concat!("SELECT ", exec_columns!(), " FROM execs WHERE user_id = $1 AND exec_id = $2"))
            .bind(user)
            .bind(exec_id)
            .fetch_optional(self.database.reader())
            .await?
            .ok_or_else(|| Error::not_found("exec", exec_id))
    }

    /// The commands of a user's conversation that go on by themselves or did, the last started first; `limit` is at most
    /// 1,000.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn chat_tasks(&self, user: UserId, chat: &ChatId, limit: u32) -> Result<Vec<Exec>> {
        Ok(sqlx::query_as(concat!(
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

    /// A user's commands that go on by themselves or did, of one conversation or wherever they were started, the last started
    /// first; terminals are none of them. `limit` is at most 1,000.
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
        Ok(sqlx::query_as(concat!(
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

    /// Records that nobody is left who could ask for those of them that run, and returns these: like a command whose client
    /// is gone, they are to be ended.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn abandon_chat_tasks(&self, user: UserId, chat: &ChatId) -> Result<Vec<Exec>> {
        Ok(sqlx::query_as(concat!(
            "UPDATE execs SET detached = FALSE
             WHERE chat_id = $1 AND user_id = $2 AND detached AND message_id IS NULL AND status = 'running'
             RETURNING ",
            exec_columns!()
        ))
        .bind(chat)
        .bind(user)
        .fetch_all(self.database.writer())
        .await?)
    }

    /// A user's execs, the last started first; `limit` is at most 1,000.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn execs(&self, user: UserId, limit: u32) -> Result<Vec<Exec>> {
        Ok(sqlx::query_as(concat!(
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
