//! Recording the end of an exec: its row, its entry in the audit trail and the message that shows it, in one transaction.
//!
//! ```text
//!   running ──end──► exited | signaled | timed_out | cancelled | failed
//!      └─ the end is unknown ─► lost ──end (it became known after all)──► …
//! ```

use crate::audit::append_entry;
use crate::error::{Error, Result};
use crate::limits::{EXEC_ERROR_MAX_BYTES, beginning};
use crate::messages::update_in;
use crate::sql::{Scope, Transaction, query, query_scalar};
use crate::{AuditEntry, ExecId, ExecOutcome, ExecStatus, Message, MessageId, Store, UserId};

/// The audit action for an end that became known after the exec had been recorded as lost. In that case, the exec already has its only `exec` entry.
pub const EXEC_CORRECTED: &str = "exec.corrected";

/// The end of an exec, with everything to record about it.
#[derive(Clone, Copy, Debug)]
pub struct ExecEnd<'a> {
    /// The user who owns the exec.
    pub user: UserId,
    /// The exec's id.
    pub exec_id: &'a ExecId,
    /// The outcome of the exec.
    pub outcome: &'a ExecOutcome,
    /// The exec's audit entry.
    pub audit: &'a AuditEntry,
    /// The new state of the message that shows the exec, if there is one.
    pub message: Option<ShownEnd<'a>>,
}

/// The new state of a message that shows an exec.
#[derive(Clone, Copy, Debug)]
pub struct ShownEnd<'a> {
    /// The message's id.
    pub id: MessageId,
    /// The message's new text.
    pub text: &'a str,
    /// The message's new document, as JSON.
    pub document_json: &'a str,
}

/// The result of [`Store::end_exec`]. The message is `None` if there was no message to change, or if it was deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExecEnded {
    /// This call recorded the end.
    Now(Option<Message>),
    /// The exec had been recorded as lost; this call recorded its end.
    Corrected(Option<Message>),
    /// The end was already recorded; nothing was changed.
    Before,
}

impl Store {
    /// Records the end of a user's exec, in one transaction. `before_commit` is called right before the commit.
    ///
    /// A recorded end is final, except that of a lost exec, which may become known later; then the audit entry's action is [`EXEC_CORRECTED`].
    ///
    /// # Errors
    /// [`Error::NotFound`], also for another user's; [`Error::Invalid`] for the status `running` and as for
    /// [`Store::update_message`]; [`Error::Database`].
    pub async fn end_exec(&self, end: ExecEnd<'_>, before_commit: impl FnOnce() + Send) -> Result<ExecEnded> {
        if end.outcome.status == ExecStatus::Running {
            return Err(Error::Invalid { what: "outcome", rule: "must not be \"running\"".to_owned() });
        }
        let mut transaction = self.database.write(Scope::User(end.user)).await?;
        let status: Option<ExecStatus> =
            query_scalar("SELECT status FROM execs WHERE user_id = $1 AND exec_id = $2")
                .bind(end.user)
                .bind(end.exec_id)
                .fetch_optional(&mut transaction)
                .await?;
        let was_lost = match status.ok_or_else(|| Error::not_found("exec", end.exec_id))? {
            ExecStatus::Running => false,
            ExecStatus::Lost if end.outcome.status != ExecStatus::Lost => true,
            _ => return Ok(ExecEnded::Before),
        };
        let now_ms = self.now_ms();
        update(&mut transaction, now_ms, &end).await?;
        let entry = match was_lost {
            true => &AuditEntry { action: EXEC_CORRECTED.to_owned(), ..end.audit.clone() },
            false => end.audit,
        };
        append_entry(&mut transaction, now_ms, entry).await?;
        let message = match end.message {
            Some(ShownEnd { id, text, document_json }) => {
                update_in(&mut transaction, end.user, id, text, Some(document_json)).await?
            }
            None => None,
        };
        before_commit();
        transaction.commit().await?;
        Ok(if was_lost { ExecEnded::Corrected(message) } else { ExecEnded::Now(message) })
    }
}

async fn update(transaction: &mut Transaction, now_ms: i64, end: &ExecEnd<'_>) -> Result<()> {
    let outcome = end.outcome;
    query(
        "UPDATE execs SET status = $1, exit_code = $2, signal = $3, sandbox_denied = $4, truncated = $5,
                          stdout_bytes = $6, stderr_bytes = $7, output_path = COALESCE($8, output_path), error = $9,
                          finished_at_ms = $10
         WHERE user_id = $11 AND exec_id = $12",
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
    .bind(now_ms)
    .bind(end.user)
    .bind(end.exec_id)
    .execute(&mut *transaction)
    .await?;
    Ok(())
}
