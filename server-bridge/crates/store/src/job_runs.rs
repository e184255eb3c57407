//! The runs of jobs: a row for each slot of a schedule and each delivery to a trigger, written before anything is posted.
//!
//! ```text
//!   due ──posted──▶ the outcome is that of its turn or command
//!    └──▶ skipped | failed            refused: a delivery with a wrong signature, or one that cannot be run
//! ```

mod of_turn;

use sqlx::FromRow;

use crate::chats::create_in;
use crate::error::{Error, Result, check_length};
use crate::homes::at_home;
use crate::limits::{
    JOB_NOTE_MAX_BYTES, JOB_PAYLOAD_MAX_BYTES, JOB_PAYLOADS_KEPT, JOB_RUNS_WAITING, JOB_TEXT_MAX_BYTES,
    beginning,
};
use crate::sql::{Scope, Transaction, query, query_as, query_scalar};
use crate::{ChatId, ExecStatus, Job, MessageId, Store, TurnStatus, UserId};

pub use of_turn::{RunOfTurn, run_send_id};

/// The state of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, sqlx::Type)]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum RunState {
    /// The run's message has yet to be posted.
    #[default]
    Due,
    /// The run's message was posted; the outcome is that of the turn or the command.
    Posted,
    /// Nothing was posted, as the definition of the run's job requires.
    Skipped,
    /// The run's message could not be posted.
    Failed,
    /// The run's delivery was refused.
    Refused,
}

impl RunState {
    /// The state's name in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Due => "due",
            Self::Posted => "posted",
            Self::Skipped => "skipped",
            Self::Failed => "failed",
            Self::Refused => "refused",
        }
    }
}

crate::sql::bind_as_word!(RunState);

/// A run to record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewRun {
    /// The slot, which identifies the run within its job.
    pub slot: String,
    /// When it should begin, in Unix milliseconds.
    pub due_ms: i64,
    /// The state in which it is recorded.
    pub state: RunState,
    /// The reason, if it is skipped or refused.
    pub note: String,
    /// The message that it posts.
    pub text: String,
    /// The delivery in its original form; `None` for other runs.
    pub payload: Option<String>,
    /// The delivery's event, if its sender names one.
    pub event: Option<String>,
}

/// A recorded run of a job.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct JobRun {
    /// The id; later runs have larger ones.
    pub id: i64,
    /// The id of its job.
    pub job_id: i64,
    /// The slot, which identifies the run within its job.
    pub slot: String,
    /// The run's state.
    pub state: RunState,
    /// The reason why it was skipped, stopped, failed or refused.
    pub note: String,
    /// The number of deliveries that this row counts: refused ones for the same reason, or a genuine one and its repetitions.
    pub times: i64,
    /// The chat to which it posted.
    #[sqlx(rename = "chat_id")]
    pub chat: Option<ChatId>,
    /// The message that it posted.
    #[sqlx(rename = "message_id")]
    pub message: Option<MessageId>,
    /// True if the delivery is kept, so that it can be run again.
    pub has_payload: bool,
    /// When it should begin, in Unix milliseconds.
    pub due_ms: i64,
    /// When it was recorded, in Unix milliseconds.
    pub created_at_ms: i64,
    /// When it ended, in Unix milliseconds.
    pub ended_at_ms: Option<i64>,
    /// The status of the turn that answers its message.
    pub turn_status: Option<TurnStatus>,
    /// The reason why that turn failed.
    pub turn_error: Option<String>,
    /// The status of the command that its message ran.
    pub exec_status: Option<ExecStatus>,
    /// The exit code of the command that its message ran.
    pub exit_code: Option<i32>,
}

/// A run whose message is to be posted.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct DueRun {
    /// The id of the run.
    pub run_id: i64,
    /// The slot, which identifies the run within its job.
    pub slot: String,
    /// The message that it posts.
    pub text: String,
    /// The run's chat, once it has one.
    pub run_chat_id: Option<ChatId>,
    /// True if its user requested it: such a run does not wait for earlier ones.
    pub is_asked: bool,
    /// The job that it belongs to.
    #[sqlx(flatten)]
    pub job: Job,
}

/// The settings of a chat to create for a run.
#[derive(Clone, Copy, Debug)]
pub struct RunChat<'a> {
    /// True if all runs of the job share one chat.
    pub is_shared: bool,
    /// The chat's title.
    pub title: &'a str,
    /// The place that the chat is bound to; `None` for the active runner.
    pub runner: Option<&'a str>,
    /// The chat's approval mode; `None` for the user's own.
    pub approval: Option<&'a str>,
}

/// The prefix of the slots of runs that a user requested.
pub const ASKED_SLOT: &str = "asked/";

/// Runs `r` of jobs `j`, with the outcome of their turn or command.
macro_rules! runs {
    () => {
        "SELECT r.id, r.job_id, r.slot, r.state, r.note, r.times, r.chat_id, r.message_id, r.payload IS NOT NULL AS has_payload,
                    r.due_ms, r.created_at_ms, COALESCE(t.finished_at_ms, e.finished_at_ms, r.ended_at_ms) AS ended_at_ms,
                    t.status AS turn_status, t.error AS turn_error, e.status AS exec_status, e.exit_code
             FROM job_runs r JOIN jobs j ON j.id = r.job_id
             LEFT JOIN turns t ON t.said_id = r.message_id AND t.chat_id = r.chat_id
             LEFT JOIN execs e ON e.message_id = r.answer_id AND e.user_id = j.user_id"
    };
}

impl NewRun {
    /// Records the run within a transaction; returns its id, or `None` if its slot is already recorded.
    pub(crate) async fn insert(
        &self,
        transaction: &mut Transaction,
        job: i64,
        now_ms: i64,
    ) -> Result<Option<i64>> {
        check_length("message", &self.text, JOB_TEXT_MAX_BYTES)?;
        check_length("delivery", self.payload.as_deref().unwrap_or_default(), JOB_PAYLOAD_MAX_BYTES)?;
        Ok(query_scalar(
            "INSERT INTO job_runs (job_id, slot, state, note, text, payload, event, due_ms, created_at_ms, ended_at_ms)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, CASE WHEN $3 = 'due' THEN NULL ELSE CAST($9 AS BIGINT) END)
             ON CONFLICT (job_id, slot) DO NOTHING RETURNING id",
        )
        .bind(job)
        .bind(&self.slot)
        .bind(self.state)
        .bind(beginning(&self.note, JOB_NOTE_MAX_BYTES))
        .bind(&self.text)
        .bind(self.payload.as_deref())
        .bind(self.event.as_deref())
        .bind(self.due_ms)
        .bind(now_ms)
        .fetch_optional(transaction)
        .await?)
    }
}

impl Store {
    /// Records the due slots of a schedule and stores its next slot, in one transaction. Returns false, without any change, if the stored next slot
    /// differs from `job`'s: the job was changed or advanced in the meantime.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn advance_job(&self, job: &Job, next_ms: Option<i64>, runs: &[NewRun]) -> Result<bool> {
        let mut transaction = self.database.write(Scope::User(job.user)).await?;
        let moved = query("UPDATE jobs SET next_ms = $1 WHERE id = $2 AND next_ms = $3")
            .bind(next_ms)
            .bind(job.id)
            .bind(job.next_ms)
            .execute(&mut transaction)
            .await?;
        if moved.rows_affected() == 0 {
            return Ok(false);
        }
        for run in runs {
            run.insert(&mut transaction, job.id, self.now_ms()).await?;
        }
        transaction.commit().await?;
        Ok(true)
    }

    /// Records a run of a job; returns its id, or `None` if its slot is already recorded, whose row then counts one more. The newest 20 deliveries of
    /// a job are kept.
    ///
    /// # Errors
    /// [`Error::Invalid`] beyond 1 MiB of delivery or 256 KiB of message, and if 100 runs are already waiting; [`Error::Database`].
    pub async fn add_run(&self, job: &Job, run: &NewRun) -> Result<Option<i64>> {
        let mut transaction = self.database.write(Scope::User(job.user)).await?;
        // A repetition needs no place among the waiting runs.
        let repeated = query("UPDATE job_runs SET times = times + 1 WHERE job_id = $1 AND slot = $2")
            .bind(job.id)
            .bind(&run.slot)
            .execute(&mut transaction)
            .await?;
        if repeated.rows_affected() > 0 {
            transaction.commit().await?;
            return Ok(None);
        }
        let waiting: i64 = query_scalar("SELECT COUNT(*) FROM job_runs WHERE job_id = $1 AND state = 'due'")
            .bind(job.id)
            .fetch_one(&mut transaction)
            .await?;
        if waiting >= JOB_RUNS_WAITING {
            let rule = format!("exceeds the limit: {waiting} are already waiting; try again later");
            return Err(Error::Invalid { what: "run", rule });
        }
        let added = run.insert(&mut transaction, job.id, self.now_ms()).await?;
        if run.payload.is_some() {
            query(
                "UPDATE job_runs SET payload = NULL WHERE job_id = $1 AND payload IS NOT NULL AND state <> 'due' AND id NOT IN
                    (SELECT r.id FROM job_runs r WHERE r.job_id = $1 AND r.payload IS NOT NULL ORDER BY r.id DESC LIMIT $2)",
            )
            .bind(job.id)
            .bind(JOB_PAYLOADS_KEPT)
            .execute(&mut transaction)
            .await?;
        }
        transaction.commit().await?;
        Ok(added)
    }

    /// Records a refused delivery. Refused deliveries with the same slot share one row, which counts them.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn refuse_run(&self, job: &Job, slot: &str, note: &str) -> Result<()> {
        query(
            "INSERT INTO job_runs (job_id, slot, state, note, due_ms, created_at_ms, ended_at_ms)
             VALUES ($1, $2, 'refused', $3, $4, $4, $4)
             ON CONFLICT (job_id, slot) DO UPDATE SET times = job_runs.times + 1, ended_at_ms = excluded.ended_at_ms",
        )
        .bind(job.id)
        .bind(slot)
        .bind(beginning(note, JOB_NOTE_MAX_BYTES))
        .bind(self.now_ms())
        .execute(self.database.writer(Scope::User(job.user)))
        .await?;
        Ok(())
    }

    /// The runs of a user's job that are older than `before`, the newest first, at most `limit`.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn job_runs(
        &self,
        user: UserId,
        name: &str,
        before: Option<i64>,
        limit: i64,
    ) -> Result<Vec<JobRun>> {
        Ok(query_as(concat!(
            runs!(),
            " WHERE j.user_id = $1 AND j.name = $2 AND r.id < $3 ORDER BY r.id DESC LIMIT $4"
        ))
        .bind(user)
        .bind(name)
        .bind(before.unwrap_or(i64::MAX))
        .bind(limit)
        .fetch_all(self.database.reader())
        .await?)
    }

    /// The newest run of each of a user's jobs.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn newest_runs(&self, user: UserId) -> Result<Vec<JobRun>> {
        Ok(query_as(concat!(
            runs!(),
            " WHERE j.user_id = $1 AND r.id = (SELECT MAX(n.id) FROM job_runs n WHERE n.job_id = j.id)"
        ))
        .bind(user)
        .fetch_all(self.database.reader())
        .await?)
    }

    /// A delivery to a user's trigger in its original form, and its event.
    ///
    /// # Errors
    /// [`Error::NotFound`] if the delivery is no longer kept, or the run is another user's.
    pub async fn run_payload(&self, user: UserId, name: &str, run: i64) -> Result<(String, Option<String>)> {
        let kept: Option<(Option<String>, Option<String>)> = query_as(
            "SELECT r.payload, r.event FROM job_runs r JOIN jobs j ON j.id = r.job_id
             WHERE j.user_id = $1 AND j.name = $2 AND r.id = $3",
        )
        .bind(user)
        .bind(name)
        .bind(run)
        .fetch_optional(self.database.reader())
        .await?;
        match kept {
            Some((Some(payload), event)) => Ok((payload, event)),
            _ => Err(Error::not_found("delivery", run.to_string())),
        }
    }

    /// The runs of all users after the run `after` whose message is to be posted, the oldest first, at most `limit`.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn due_runs(&self, after: i64, limit: i64) -> Result<Vec<DueRun>> {
        Ok(query_as(concat!(
            "SELECT r.id AS run_id, r.slot, r.text, r.chat_id AS run_chat_id, r.slot LIKE 'asked/%' AS is_asked,
                    j.id, j.user_id, j.name, j.kind, j.document_json, j.chat_id, j.paused, j.next_ms, j.created_at_ms, j.updated_at_ms
             FROM job_runs r JOIN jobs j ON j.id = r.job_id WHERE r.state = 'due' AND r.id > $1 AND ",
            at_home!("j.user_id", "$3"),
            " ORDER BY r.id LIMIT $2"
        ))
        .bind(after)
        .bind(limit)
        .bind(self.database.node_id())
        .fetch_all(self.database.reader())
        .await?)
    }

    /// True if an earlier run of the job is in progress: its message was posted, and the turn or the command has not ended.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn is_job_at_work(&self, job: i64, before: i64) -> Result<bool> {
        Ok(query_scalar(
            "SELECT EXISTS (SELECT 1 FROM job_runs r JOIN turns t ON t.said_id = r.message_id AND t.chat_id = r.chat_id
                    WHERE r.job_id = $1 AND r.id < $2 AND r.state = 'posted' AND t.status IN ('queued', 'running'))
                OR EXISTS (SELECT 1 FROM job_runs r JOIN execs e ON e.message_id = r.answer_id
                    WHERE r.job_id = $1 AND r.id < $2 AND r.state = 'posted' AND e.status = 'running')",
        )
        .bind(job)
        .bind(before)
        .fetch_one(self.database.reader())
        .await?)
    }

    /// The number of a user's runs that were recorded at or after `since_ms` and have posted a message.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn runs_posted_since(&self, user: UserId, since_ms: i64) -> Result<i64> {
        Ok(query_scalar(
            "SELECT COUNT(*) FROM job_runs r JOIN jobs j ON j.id = r.job_id
             WHERE j.user_id = $1 AND r.state = 'posted' AND r.created_at_ms >= $2",
        )
        .bind(user)
        .bind(since_ms)
        .fetch_one(self.database.reader())
        .await?)
    }

    /// The chat of a run: its own, the job's shared one, or a new one. It is chosen in one transaction, so that a run never gets two.
    ///
    /// # Errors
    /// [`Error::NotFound`] if the run was deleted.
    pub async fn run_chat(&self, job: &Job, run: i64, chat: RunChat<'_>) -> Result<ChatId> {
        let mut transaction = self.database.write(Scope::User(job.user)).await?;
        let known: Option<(Option<ChatId>, Option<ChatId>)> = query_as(
            "SELECT r.chat_id, j.chat_id FROM job_runs r JOIN jobs j ON j.id = r.job_id WHERE r.id = $1 AND j.id = $2",
        )
        .bind(run)
        .bind(job.id)
        .fetch_optional(&mut transaction)
        .await?;
        let (of_run, of_job) = known.ok_or_else(|| Error::not_found("run", run.to_string()))?;
        if let Some(known) = of_run {
            return Ok(known);
        }
        let shared = of_job.filter(|_| chat.is_shared);
        let id = match shared {
            Some(id) => {
                // The automation's current definition is used, which may have changed since the chat was created.
                query("UPDATE chats SET runner = $1, approval = COALESCE($2, approval) WHERE id = $3")
                    .bind(chat.runner)
                    .bind(chat.approval)
                    .bind(&id)
                    .execute(&mut transaction)
                    .await?;
                id
            }
            None => {
                let made = create_in(&mut transaction, job.user, self.now_ms()).await?.id;
                query("UPDATE chats SET title = $1, runner = $2, approval = COALESCE($3, approval) WHERE id = $4")
                    .bind(chat.title)
                    .bind(chat.runner)
                    .bind(chat.approval)
                    .bind(&made)
                    .execute(&mut transaction)
                    .await?;
                made
            }
        };
        query("UPDATE job_runs SET chat_id = $1 WHERE id = $2")
            .bind(&id)
            .bind(run)
            .execute(&mut transaction)
            .await?;
        if chat.is_shared {
            query("UPDATE jobs SET chat_id = $1 WHERE id = $2")
                .bind(&id)
                .bind(job.id)
                .execute(&mut transaction)
                .await?;
        }
        transaction.commit().await?;
        Ok(id)
    }

    /// Records that a run's message was posted, and the message that answers it.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn post_run(
        &self,
        user: UserId,
        run: i64,
        message: MessageId,
        answer: Option<MessageId>,
    ) -> Result<()> {
        query("UPDATE job_runs SET state = 'posted', message_id = $1, answer_id = $2 WHERE id = $3 AND state = 'due'")
            .bind(message)
            .bind(answer)
            .bind(run)
            .execute(self.database.writer(Scope::User(user)))
            .await?;
        Ok(())
    }

    /// Ends a run whose message was not posted.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn end_run(&self, user: UserId, run: i64, state: RunState, note: &str) -> Result<()> {
        query("UPDATE job_runs SET state = $1, note = $2, ended_at_ms = $3 WHERE id = $4 AND state = 'due'")
            .bind(state)
            .bind(beginning(note, JOB_NOTE_MAX_BYTES))
            .bind(self.now_ms())
            .bind(run)
            .execute(self.database.writer(Scope::User(user)))
            .await?;
        Ok(())
    }

    /// Removes the runs that were recorded before `before_ms`, except waiting ones and each job's newest.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn purge_runs(&self, before_ms: i64) -> Result<u64> {
        let purged = query(
            "DELETE FROM job_runs WHERE created_at_ms < $1 AND state <> 'due'
                AND id NOT IN (SELECT MAX(r.id) FROM job_runs r GROUP BY r.job_id)",
        )
        .bind(before_ms)
        .execute(self.database.writer(Scope::System))
        .await?;
        Ok(purged.rows_affected())
    }
}

#[cfg(test)]
mod tests;
