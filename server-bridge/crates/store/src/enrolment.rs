//! One-use tokens: a new machine shows its token once, and gets a permanent one.
//!
//! ```text
//! issued ──shown by a process of a runner──▶ claimed ──its permanent token is shown──▶ used
//!    │                                         │  ▲
//!    └─time─▶ expired                          └──┘ shown again by the same process: the answer was lost on the way, and so was
//!                                                   the token in it; another one is issued
//! ```
//! The runner that claimed a token may ask again until it has shown that the permanent token arrived, so a connection that breaks in between does
//! not lock a runner out. No other runner can use the token, however soon it asks.

use sqlx::FromRow;

use crate::error::{Error, Result};
use crate::limits::{ENROLMENT_TTL_MAX_MS, ENROLMENT_TTL_MIN_MS};
use crate::runners::NewToken;
use crate::sql::{Scope, query, query_as};
use crate::tokens::{ENROLMENT_TOKEN_PREFIX, RUNNER_TOKEN_PREFIX, Secret, TokenHash};
use crate::{RunnerId, RunnerName, Store, UserId};

/// The result for a runner that showed an enrolment token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Enrolment {
    /// The token was accepted. Contains the runner's permanent token.
    Enrolled(Secret),
    /// The token is unknown, used up, or claimed by another process.
    Used,
    /// The token expired before it was shown.
    Expired,
}

#[derive(FromRow)]
struct EnrolmentRow {
    id: i64,
    runner_id: RunnerId,
    expires_at_ms: Option<i64>,
    used_at_ms: Option<i64>,
    claimed_by: Option<String>,
}

impl Store {
    /// Adds a runner for a user and issues a one-use token that is valid for `ttl_ms` milliseconds.
    ///
    /// # Errors
    /// [`Error::Taken`] if the user has a runner of this name; [`Error::Invalid`] for a time under 1 minute or over 7 days.
    pub async fn add_runner_to_enrol(
        &self,
        user: UserId,
        name: &RunnerName,
        ttl_ms: i64,
    ) -> Result<NewToken> {
        if !(ENROLMENT_TTL_MIN_MS..=ENROLMENT_TTL_MAX_MS).contains(&ttl_ms) {
            let rule = "must be between 1 minute and 7 days".to_owned();
            return Err(Error::Invalid { what: "lifetime of an enrolment token", rule });
        }
        let expires_at_ms = self.now_ms() + ttl_ms;
        let mut transaction = self.database.write(Scope::User(user)).await?;
        let runner = self.insert_runner(&mut transaction, user, name).await?;
        let token = Secret::random(ENROLMENT_TOKEN_PREFIX);
        query(
            "INSERT INTO runner_tokens (token_sha256, runner_id, kind, created_at_ms, expires_at_ms)
             VALUES ($1, $2, 'enrolment', $3, $4)",
        )
        .bind(token.hash().as_str())
        .bind(runner)
        .bind(self.now_ms())
        .bind(expires_at_ms)
        .execute(&mut transaction)
        .await?;
        transaction.commit().await?;
        Ok(NewToken {
            runner,
            name: name.to_string(),
            token,
            expires_at_ms: Some(expires_at_ms),
            old_token_expires_at_ms: None,
        })
    }

    /// Claims an enrolment token for one process of a runner and issues its permanent token.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn enrol(&self, token: &str, boot_id: &str) -> Result<Enrolment> {
        let Some(hash) = TokenHash::of_presented(ENROLMENT_TOKEN_PREFIX, token) else {
            return Ok(Enrolment::Used);
        };
        // The transaction writes from the beginning, so that if two runners race, the second one sees the claim of the first one.
        let mut transaction = self.database.write(Scope::Token(&hash)).await?;
        let row: Option<EnrolmentRow> = query_as(
            "SELECT id, runner_id, expires_at_ms, used_at_ms, claimed_by FROM runner_tokens
             WHERE token_sha256 = $1 AND kind = 'enrolment'",
        )
        .bind(hash.as_str())
        .fetch_optional(&mut transaction)
        .await?;
        let Some(row) = row.filter(|row| row.used_at_ms.is_none()) else { return Ok(Enrolment::Used) };
        match &row.claimed_by {
            Some(claimed_by) if claimed_by != boot_id => return Ok(Enrolment::Used),
            Some(_) => {}
            None if row.expires_at_ms.is_some_and(|expires_at_ms| expires_at_ms <= self.now_ms()) => {
                return Ok(Enrolment::Expired);
            }
            None => {}
        }
        query("UPDATE runner_tokens SET claimed_by = $1 WHERE id = $2")
            .bind(boot_id)
            .bind(row.id)
            .execute(&mut transaction)
            .await?;
        // A runner that asks again did not get the earlier permanent token, so that one is deleted.
        query("DELETE FROM runner_tokens WHERE enrolment_id = $1 AND used_at_ms IS NULL")
            .bind(row.id)
            .execute(&mut transaction)
            .await?;
        let permanent = Secret::random(RUNNER_TOKEN_PREFIX);
        query(
            "INSERT INTO runner_tokens (token_sha256, runner_id, kind, created_at_ms, enrolment_id)
             VALUES ($1, $2, 'permanent', $3, $4)",
        )
        .bind(permanent.hash().as_str())
        .bind(row.runner_id)
        .bind(self.now_ms())
        .bind(row.id)
        .execute(&mut transaction)
        .await?;
        transaction.commit().await?;
        Ok(Enrolment::Enrolled(permanent))
    }

    /// Called when a runner shows the permanent token of an enrolment: marks the enrolment token as used up.
    pub(crate) async fn finish_enrolment(
        &self,
        runner: RunnerId,
        permanent_id: i64,
        enrolment_id: i64,
    ) -> Result<()> {
        query("UPDATE runner_tokens SET used_at_ms = $1 WHERE id IN ($2, $3) AND used_at_ms IS NULL")
            .bind(self.now_ms())
            .bind(permanent_id)
            .bind(enrolment_id)
            .execute(self.database.writer(Scope::Runner(runner)))
            .await?;
        Ok(())
    }
}
