//! Registered machines and their tokens.
//!
//! ```text
//!   add, to enrol ─► one-use token ──shown once──► token A      (see `enrolment`)
//!   add ─► token A ──rotate──► token A (24 h more) + token B ──► token B
//!                     revoke, at any time ──► the runner is removed; its tokens are reported as `Revoked`
//! ```

use sqlx::FromRow;

use crate::User;
use crate::error::{Error, Result, check_length};
use crate::limits::{FACTS_MAX_BYTES, TOKEN_OVERLAP_MS};
use crate::sql::{Scope, Transaction, query, query_as, query_scalar};
use crate::tokens::{ENROLMENT_TOKEN_PREFIX, RUNNER_TOKEN_PREFIX, Secret, TokenHash};
use crate::{RunnerId, RunnerName, Store, UserId};

/// A registered machine.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct Runner {
    /// The id of the runner's row.
    #[sqlx(rename = "runner_id")]
    pub id: RunnerId,
    /// The user who owns it.
    #[sqlx(rename = "user_id")]
    pub user: UserId,
    /// The runner's name, unique among its user's runners.
    #[sqlx(rename = "runner_name")]
    pub name: String,
    /// When it was added, in Unix milliseconds.
    #[sqlx(rename = "runner_created_at_ms")]
    pub created_at_ms: i64,
    /// When it was last connected, in Unix milliseconds; `None` if it never was.
    pub last_seen_ms: Option<i64>,
    /// The runner's description of itself in its last registration: the JSON text given to [`Store::record_registration`].
    pub facts_json: Option<String>,
    /// When its newest token expires, in Unix milliseconds; `None` if it does not.
    pub token_expires_at_ms: Option<i64>,
}

/// A new token, which cannot be shown again.
#[derive(Clone, Debug)]
pub struct NewToken {
    /// The id of the runner that it is for.
    pub runner: RunnerId,
    /// The name of that runner.
    pub name: String,
    /// The token itself.
    pub token: Secret,
    /// The time until which a one-use token can be used, in Unix milliseconds; `None` for other tokens.
    pub expires_at_ms: Option<i64>,
    /// After a rotation, the time until which the earlier tokens work, in Unix milliseconds.
    pub old_token_expires_at_ms: Option<i64>,
}

/// The result of checking a runner's token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunnerAuth {
    /// The token is valid for this user's runner.
    Accepted {
        /// The runner's owner.
        user: User,
        /// The runner.
        runner: Runner,
    },
    /// The token is a one-use token of this user's runner, to be passed to [`Store::enrol`].
    Enrolling {
        /// The runner's owner.
        user: User,
        /// The runner.
        runner: Runner,
    },
    /// The token was never issued, or its record was already deleted.
    Unknown,
    /// The token has expired, as an old token does some time after a rotation.
    Expired,
    /// The token's runner was revoked.
    Revoked,
}

#[derive(FromRow)]
struct TokenRow {
    token_id: i64,
    kind: String,
    enrolment_id: Option<i64>,
    used_at_ms: Option<i64>,
    token_sha256: String,
    expires_at_ms: Option<i64>,
    revoked_at_ms: Option<i64>,
    #[sqlx(flatten)]
    user: User,
    #[sqlx(flatten)]
    runner: Runner,
}

/// The columns of a [`Runner`], from `runners r`. Their names differ from those of a user's columns, since both are read in one row.
macro_rules! runner_columns {
    () => {
        "r.id AS runner_id, r.user_id, r.name AS runner_name, r.created_at_ms AS runner_created_at_ms,
         r.last_seen_ms, r.facts_json,
         (SELECT n.expires_at_ms FROM runner_tokens n WHERE n.runner_id = r.id ORDER BY n.id DESC LIMIT 1)
         AS token_expires_at_ms"
    };
}

impl Store {
    /// Adds a runner for a user and issues its token, which does not expire on its own.
    ///
    /// # Errors
    /// [`Error::Taken`] if the user has a runner of this name.
    pub async fn add_runner(&self, user: UserId, name: &RunnerName) -> Result<NewToken> {
        let mut transaction = self.database.write(Scope::User(user)).await?;
        let runner = self.insert_runner(&mut transaction, user, name).await?;
        let token = self.issue_token(&mut transaction, runner).await?;
        transaction.commit().await?;
        let name = name.to_string();
        Ok(NewToken { runner, name, token, expires_at_ms: None, old_token_expires_at_ms: None })
    }

    pub(crate) async fn insert_runner(
        &self,
        transaction: &mut Transaction,
        user: UserId,
        name: &RunnerName,
    ) -> Result<RunnerId> {
        // A successor of a revoked runner with the same name continues its count, so no epoch is issued twice.
        query_scalar(
            "INSERT INTO runners (user_id, name, created_at_ms, epoch)
             VALUES ($1, $2, $3, (SELECT COALESCE(MAX(o.epoch), 0) FROM runners o WHERE o.user_id = $1 AND o.name = $2))
             RETURNING id",
        )
        .bind(user)
        .bind(name.as_str())
        .bind(self.now_ms())
        .fetch_one(&mut *transaction)
        .await
        .map_err(|error| Error::or_taken(error, "runner", name))
    }

    /// A user's runners, by name; without revoked ones.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn runners(&self, user: UserId) -> Result<Vec<Runner>> {
        Ok(query_as(concat!(
            "SELECT ",
            runner_columns!(),
            " FROM runners r WHERE r.user_id = $1 AND r.revoked_at_ms IS NULL ORDER BY r.name"
        ))
        .bind(user)
        .fetch_all(self.database.reader())
        .await?)
    }

    /// A user's runner of this name.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub async fn runner_by_name(&self, user: UserId, name: &str) -> Result<Runner> {
        query_as(concat!(
            "SELECT ",
            runner_columns!(),
            " FROM runners r WHERE r.user_id = $1 AND r.name = $2 AND r.revoked_at_ms IS NULL"
        ))
        .bind(user)
        .bind(name)
        .fetch_optional(self.database.reader())
        .await?
        .ok_or_else(|| Error::not_found("runner", name))
    }

    /// Issues another token for a runner; the earlier ones work for 24 more hours, unless they expire sooner.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub async fn rotate_token(&self, user: UserId, name: &str) -> Result<NewToken> {
        let old_token_expires_at_ms = self.now_ms() + TOKEN_OVERLAP_MS;
        let mut transaction = self.database.write(Scope::User(user)).await?;
        let runner: Option<RunnerId> =
            query_scalar("SELECT id FROM runners WHERE user_id = $1 AND name = $2 AND revoked_at_ms IS NULL")
                .bind(user)
                .bind(name)
                .fetch_optional(&mut transaction)
                .await?;
        let runner = runner.ok_or_else(|| Error::not_found("runner", name))?;
        query(
            "UPDATE runner_tokens SET expires_at_ms = $1
             WHERE runner_id = $2 AND (expires_at_ms IS NULL OR expires_at_ms > $1)",
        )
        .bind(old_token_expires_at_ms)
        .bind(runner)
        .execute(&mut transaction)
        .await?;
        let token = self.issue_token(&mut transaction, runner).await?;
        transaction.commit().await?;
        let old_token_expires_at_ms = Some(old_token_expires_at_ms);
        Ok(NewToken { runner, name: name.to_owned(), token, expires_at_ms: None, old_token_expires_at_ms })
    }

    /// Removes a runner from its user: its name is free again and its tokens are no longer valid. Returns the removed
    /// runner, so that its connection can be closed.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub async fn revoke_runner(&self, user: UserId, name: &str) -> Result<RunnerId> {
        let runner = query_scalar(
            "UPDATE runners SET revoked_at_ms = $1
             WHERE user_id = $2 AND name = $3 AND revoked_at_ms IS NULL RETURNING id",
        )
        .bind(self.now_ms())
        .bind(user)
        .bind(name)
        .fetch_optional(self.database.writer(Scope::User(user)))
        .await?;
        runner.ok_or_else(|| Error::not_found("runner", name))
    }

    /// Checks a token that a connecting runner presents.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn authenticate_runner(&self, token: &str) -> Result<RunnerAuth> {
        let hash = TokenHash::of_presented(RUNNER_TOKEN_PREFIX, token)
            .or_else(|| TokenHash::of_presented(ENROLMENT_TOKEN_PREFIX, token));
        let Some(hash) = hash else { return Ok(RunnerAuth::Unknown) };
        let row: Option<TokenRow> = query_as(concat!(
            "SELECT t.id AS token_id, t.kind, t.enrolment_id, t.used_at_ms, t.token_sha256, t.expires_at_ms,
             r.revoked_at_ms, u.id, u.name, u.admin, u.created_at_ms, ",
            runner_columns!(),
            " FROM runner_tokens t JOIN runners r ON r.id = t.runner_id JOIN users u ON u.id = r.user_id
              WHERE t.token_sha256 = $1"
        ))
        .bind(hash.as_str())
        .fetch_optional(self.database.reader())
        .await?;
        let now_ms = self.now_ms();
        let row = match row {
            Some(row) if hash.matches(&row.token_sha256) => row,
            Some(_) | None => return Ok(RunnerAuth::Unknown),
        };
        if row.revoked_at_ms.is_some() {
            return Ok(RunnerAuth::Revoked);
        }
        if row.kind == "enrolment" {
            // This includes a token that is shown too late: `enrol` refuses it, unless the same machine claimed it in time.
            return Ok(RunnerAuth::Enrolling { user: row.user, runner: row.runner });
        }
        if row.expires_at_ms.is_some_and(|expires_at_ms| expires_at_ms <= now_ms) {
            return Ok(RunnerAuth::Expired);
        }
        if let (Some(enrolment_id), None) = (row.enrolment_id, row.used_at_ms) {
            self.finish_enrolment(row.runner.id, row.token_id, enrolment_id).await?;
        }
        Ok(RunnerAuth::Accepted { user: row.user, runner: row.runner })
    }

    /// The user whose runner this token is for, even if it is expired or revoked; `None` for an unknown token. Changes nothing.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn runner_token_user(&self, token: &str) -> Result<Option<UserId>> {
        let hash = TokenHash::of_presented(RUNNER_TOKEN_PREFIX, token)
            .or_else(|| TokenHash::of_presented(ENROLMENT_TOKEN_PREFIX, token));
        let Some(hash) = hash else { return Ok(None) };
        let found: Option<(String, UserId)> = query_as(
            "SELECT t.token_sha256, r.user_id FROM runner_tokens t JOIN runners r ON r.id = t.runner_id
             WHERE t.token_sha256 = $1",
        )
        .bind(hash.as_str())
        .fetch_optional(self.database.reader())
        .await?;
        Ok(found.filter(|(stored, _)| hash.matches(stored)).map(|(_, user)| user))
    }

    /// Records a registration with the runner's description of itself (a JSON text), and issues the runner's epoch: the first is 1, and each is
    /// larger than all earlier ones of this user's runners with this name.
    ///
    /// # Errors
    /// [`Error::NotFound`] if the runner was revoked meanwhile; [`Error::Invalid`] for a description beyond 64 KiB.
    pub async fn record_registration(&self, runner: RunnerId, facts_json: &str) -> Result<u64> {
        check_length("runner's description of itself", facts_json, FACTS_MAX_BYTES)?;
        let epoch: Option<i64> = query_scalar(
            "UPDATE runners SET epoch = epoch + 1, facts_json = $1, last_seen_ms = $2, connected = TRUE
             WHERE id = $3 AND revoked_at_ms IS NULL RETURNING epoch",
        )
        .bind(facts_json)
        .bind(self.now_ms())
        .bind(runner)
        .fetch_optional(self.database.writer(Scope::Runner(runner)))
        .await?;
        let epoch = epoch.ok_or_else(|| Error::not_found("runner", runner))?;
        Ok(u64::try_from(epoch).expect("an epoch starts at 0 and only grows"))
    }

    /// Records that a runner is connected now. Returns false if the runner was revoked or its user removed, perhaps by another process: its
    /// connection must then be closed.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn touch_last_seen(&self, runner: RunnerId) -> Result<bool> {
        let touched = query(
            "UPDATE runners SET last_seen_ms = $1, connected = TRUE WHERE id = $2 AND revoked_at_ms IS NULL",
        )
        .bind(self.now_ms())
        .bind(runner)
        .execute(self.database.writer(Scope::Runner(runner)))
        .await?;
        Ok(touched.rows_affected() > 0)
    }

    /// Records that a runner's connection ended and that the runner is not expected back.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn note_disconnected(&self, runner: RunnerId) -> Result<()> {
        query("UPDATE runners SET connected = FALSE WHERE id = $1")
            .bind(runner)
            .execute(self.database.writer(Scope::Runner(runner)))
            .await?;
        Ok(())
    }

    /// The runners that were connected when the server's last run ended, or were expected back; marks all of them as disconnected. Called when the
    /// server starts.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn take_connected_runners(&self, user: Option<UserId>) -> Result<Vec<(UserId, String)>> {
        Ok(query_as(
            "UPDATE runners SET connected = FALSE WHERE connected AND revoked_at_ms IS NULL AND (CAST($1 AS BIGINT) IS NULL OR user_id = $1)
             RETURNING user_id, name",
        )
        .bind(user)
        .fetch_all(self.database.writer(Scope::System))
        .await?)
    }

    async fn issue_token(&self, transaction: &mut Transaction, runner: RunnerId) -> Result<Secret> {
        let token = Secret::random(RUNNER_TOKEN_PREFIX);
        query(
            "INSERT INTO runner_tokens (token_sha256, runner_id, kind, created_at_ms)
             VALUES ($1, $2, 'permanent', $3)",
        )
        .bind(token.hash().as_str())
        .bind(runner)
        .bind(self.now_ms())
        .execute(&mut *transaction)
        .await?;
        Ok(token)
    }
}
