//! The problems that the server's administrators are notified of. They contain only names, and no text that people wrote.

use sqlx::FromRow;

use crate::error::Result;
use crate::sql::query_as;
use crate::{Store, UserId};

/// A problem, such as a runner that is away or a job that failed.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct Trouble {
    /// The id of the row that it concerns.
    pub id: i64,
    /// The name of the user who owns that row.
    pub owner: String,
    /// The name of the runner or job; empty for the user's account itself.
    pub name: String,
    /// When it happened, in Unix milliseconds.
    pub at_ms: i64,
}

/// The maximum number of problems that are listed at once.
const MOST: i64 = 1_000;

impl Store {
    /// The runners that were last connected between these times, in Unix milliseconds.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn runners_away(&self, from_ms: i64, until_ms: i64) -> Result<Vec<Trouble>> {
        Ok(query_as(
            "SELECT r.id, u.name AS owner, r.name, r.last_seen_ms AS at_ms FROM runners r JOIN users u ON u.id = r.user_id
             WHERE r.revoked_at_ms IS NULL AND r.last_seen_ms >= $1 AND r.last_seen_ms < $2 ORDER BY r.last_seen_ms DESC LIMIT $3",
        )
        .bind(from_ms)
        .bind(until_ms)
        .bind(MOST)
        .fetch_all(self.database.reader())
        .await?)
    }

    /// The runs of jobs that failed since this time: nothing could be posted, or the turn or the command failed. Runs that people stopped do not
    /// count. The id is that of the job.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn failed_runs(&self, from_ms: i64) -> Result<Vec<Trouble>> {
        Ok(query_as(
            "SELECT j.id, u.name AS owner, j.name, r.created_at_ms AS at_ms
             FROM job_runs r JOIN jobs j ON j.id = r.job_id JOIN users u ON u.id = j.user_id
             LEFT JOIN turns t ON t.said_id = r.message_id AND t.chat_id = r.chat_id
             LEFT JOIN execs e ON e.message_id = r.answer_id AND e.user_id = j.user_id
             WHERE r.created_at_ms >= $1 AND (r.state = 'failed' OR (r.state = 'posted' AND r.note = ''
                AND (t.status IN ('failed', 'interrupted') OR (t.id IS NULL
                    AND (e.status IN ('signaled', 'timed_out', 'failed', 'lost') OR (e.status = 'exited' AND e.exit_code <> 0))))))
             ORDER BY r.created_at_ms DESC LIMIT $2",
        )
        .bind(from_ms)
        .bind(MOST)
        .fetch_all(self.database.reader())
        .await?)
    }

    /// The jobs that the server, not their user, paused since this time.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn paused_jobs(&self, from_ms: i64) -> Result<Vec<Trouble>> {
        Ok(query_as(
            "SELECT j.id, u.name AS owner, j.name, j.updated_at_ms AS at_ms FROM jobs j JOIN users u ON u.id = j.user_id
             WHERE j.paused <> '' AND j.updated_at_ms >= $1 ORDER BY j.updated_at_ms DESC LIMIT $2",
        )
        .bind(from_ms)
        .bind(MOST)
        .fetch_all(self.database.reader())
        .await?)
    }

    /// The accounts whose logins were refused since this time because of too many wrong passwords, according to the audit trail.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn locked_logins(&self, from_ms: i64) -> Result<Vec<Trouble>> {
        Ok(query_as(
            "SELECT u.id, u.name AS owner, '' AS name, a.at_ms FROM audit a JOIN users u ON u.name = a.user_name
             WHERE a.action = 'login.locked' AND a.at_ms >= $1 ORDER BY a.at_ms DESC LIMIT $2",
        )
        .bind(from_ms)
        .bind(MOST)
        .fetch_all(self.database.reader())
        .await?)
    }

    /// True if, according to the audit trail, a user's logins were refused since this time.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn is_login_locked(&self, user: UserId, from_ms: i64) -> Result<bool> {
        let sql = "SELECT EXISTS (SELECT 1 FROM audit a JOIN users u ON u.name = a.user_name
            WHERE a.action = 'login.locked' AND a.at_ms >= $1 AND u.id = $2)";
        Ok(crate::sql::query_scalar(sql).bind(from_ms).bind(user).fetch_one(self.database.reader()).await?)
    }
}
