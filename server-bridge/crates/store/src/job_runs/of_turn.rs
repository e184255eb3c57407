//! Finds the run of a job whose message a turn answers, for the hooks of that run.

use sqlx::FromRow;

use crate::error::Result;
use crate::limits::{JOB_NOTE_MAX_BYTES, beginning};
use crate::sql::{Scope, query, query_as};
use crate::{JobKind, Store, TurnId, UserId};

/// The run whose message a turn answers.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct RunOfTurn {
    /// The id of the run.
    pub id: i64,
    /// The slot of a schedule, or a delivery's key.
    pub slot: String,
    /// The message that it posted.
    pub text: String,
    /// The delivery in its original form, if it is kept.
    pub payload: Option<String>,
    /// The delivery's event, if its sender named one.
    pub event: Option<String>,
    /// The name of its job.
    pub name: String,
    /// The kind of its job.
    pub kind: JobKind,
}

/// The send id under which a run posts its message.
pub fn run_send_id(run: i64) -> String {
    format!("run/{run}")
}

impl Store {
    /// The run whose message a user's turn answers; `None` if no run posted the message. The run is found as soon as the message is recorded.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn run_of_turn(&self, user: UserId, turn: TurnId) -> Result<Option<RunOfTurn>> {
        Ok(query_as(
            "SELECT r.id, r.slot, r.text, r.payload, r.event, j.name, j.kind
             FROM turns t JOIN job_runs r ON r.chat_id = t.chat_id JOIN jobs j ON j.id = r.job_id
             JOIN sends s ON s.chat_id = t.chat_id AND s.send_id = 'run/' || CAST(r.id AS TEXT) AND s.message_id = t.said_id
             WHERE t.id = $1 AND j.user_id = $2 AND r.state IN ('due', 'posted')",
        )
        .bind(turn)
        .bind(user)
        .fetch_optional(self.database.reader())
        .await?)
    }

    /// Records the reason why a run was stopped after its message was posted.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn stop_run(&self, user: UserId, run: i64, note: &str) -> Result<()> {
        query("UPDATE job_runs SET note = $1 WHERE id = $2 AND state IN ('due', 'posted')")
            .bind(beginning(note, JOB_NOTE_MAX_BYTES))
            .bind(run)
            .execute(self.database.writer(Scope::User(user)))
            .await?;
        Ok(())
    }
}
