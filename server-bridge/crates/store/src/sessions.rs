//! Logins: a program's token, or a page's token and cookie, neither of which is valid alone. Only their hashes are stored.

use sqlx::FromRow;

use crate::User;
use crate::checkpoints::drop_before;
use crate::error::Result;
use crate::limits::{CHECKPOINT_LIFETIME_MS, DEAD_TOKEN_RETENTION_MS, SESSION_LIFETIME_MS};
use crate::sql::{Scope, query, query_as};
use crate::tokens::{SESSION_COOKIE_PREFIX, SESSION_TOKEN_PREFIX, Secret, TokenHash};
use crate::{Store, UserId};

/// A new session.
#[derive(Clone, Debug)]
pub struct NewSession {
    /// The token that the client presents from now on; it is shown to no one else.
    pub token: Secret,
    /// The cookie that a page's browser presents with it.
    pub cookie: Option<Secret>,
    /// When it expires, in Unix milliseconds.
    pub expires_at_ms: i64,
}

/// A session whose token (and cookie, for a page) was presented.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// The user who is logged in.
    pub user: User,
    /// True if it belongs to a page.
    pub is_browser: bool,
    /// When its user last entered their password, in Unix milliseconds.
    pub confirmed_at_ms: i64,
}

#[derive(FromRow)]
struct SessionRow {
    token_sha256: String,
    cookie_sha256: Option<String>,
    confirmed_at_ms: i64,
    expires_at_ms: i64,
    #[sqlx(flatten)]
    user: User,
}

impl Store {
    /// Logs a user's program in for 30 days.
    ///
    /// # Errors
    /// [`crate::Error::Database`], also if the user was removed concurrently.
    pub async fn create_session(&self, user: UserId) -> Result<NewSession> {
        self.begin_session(user, None).await
    }

    /// Logs a user's page in for 30 days, with a token and a cookie.
    ///
    /// # Errors
    /// As for [`Store::create_session`].
    pub async fn create_browser_session(&self, user: UserId) -> Result<NewSession> {
        self.begin_session(user, Some(Secret::random(SESSION_COOKIE_PREFIX))).await
    }

    async fn begin_session(&self, user: UserId, cookie: Option<Secret>) -> Result<NewSession> {
        let token = Secret::random(SESSION_TOKEN_PREFIX);
        let now_ms = self.now_ms();
        let expires_at_ms = now_ms + SESSION_LIFETIME_MS;
        query(
            "INSERT INTO sessions (token_sha256, cookie_sha256, user_id, created_at_ms, confirmed_at_ms, expires_at_ms)
             VALUES ($1, $2, $3, $4, $4, $5)",
        )
        .bind(token.hash().as_str())
        .bind(cookie.as_ref().map(|cookie| cookie.hash().as_str().to_owned()))
        .bind(user)
        .bind(now_ms)
        .bind(expires_at_ms)
        .execute(self.database.writer(Scope::Login(user)))
        .await?;
        Ok(NewSession { token, cookie, expires_at_ms })
    }

    /// The session with this token; `None` if it is unknown or has expired, or if it belongs to a page and its cookie is not among `cookies`. A
    /// browser may be made to send several cookies with the same name, so each is tried.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn session(&self, token: &str, cookies: &[&str]) -> Result<Option<Session>> {
        let Some(row) = self.session_row(token).await? else { return Ok(None) };
        let is_shown = |stored: &String| {
            let mut hashes =
                cookies.iter().filter_map(|cookie| TokenHash::of_presented(SESSION_COOKIE_PREFIX, cookie));
            hashes.any(|hash| hash.matches(stored))
        };
        if !row.cookie_sha256.as_ref().is_none_or(is_shown) {
            return Ok(None);
        }
        let (is_browser, confirmed_at_ms) = (row.cookie_sha256.is_some(), row.confirmed_at_ms);
        Ok(Some(Session { user: row.user, is_browser, confirmed_at_ms }))
    }

    /// The user of a session that was fully checked before, to check it again; `None` if it has expired.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn session_user(&self, token: &str) -> Result<Option<User>> {
        Ok(self.session_row(token).await?.map(|row| row.user))
    }

    async fn session_row(&self, token: &str) -> Result<Option<SessionRow>> {
        let Some(hash) = TokenHash::of_presented(SESSION_TOKEN_PREFIX, token) else {
            return Ok(None);
        };
        let row: Option<SessionRow> = query_as(
            "SELECT s.token_sha256, s.cookie_sha256, s.confirmed_at_ms, s.expires_at_ms,
                u.id, u.name, u.admin, u.created_at_ms
             FROM sessions s JOIN users u ON u.id = s.user_id WHERE s.token_sha256 = $1",
        )
        .bind(hash.as_str())
        .fetch_optional(self.database.reader())
        .await?;
        let now_ms = self.now_ms();
        Ok(row.filter(|row| hash.matches(&row.token_sha256) && row.expires_at_ms > now_ms))
    }

    /// Records that a session's user just entered their password.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn confirm_session(&self, token: &str) -> Result<()> {
        if let Some(hash) = TokenHash::of_presented(SESSION_TOKEN_PREFIX, token) {
            query("UPDATE sessions SET confirmed_at_ms = $1 WHERE token_sha256 = $2")
                .bind(self.now_ms())
                .bind(hash.as_str())
                .execute(self.database.writer(Scope::System))
                .await?;
        }
        Ok(())
    }

    /// Logs a session out; does nothing for an unknown one.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn delete_session(&self, token: &str) -> Result<()> {
        if let Some(hash) = TokenHash::of_presented(SESSION_TOKEN_PREFIX, token) {
            query("DELETE FROM sessions WHERE token_sha256 = $1")
                .bind(hash.as_str())
                .execute(self.database.writer(Scope::System))
                .await?;
        }
        Ok(())
    }

    /// Deletes expired sessions at once; expired runner tokens and keys and revoked runners after 90 days, so that until then their owners learn what
    /// happened to them; and file states after 30 days. Returns the number of deleted rows. Call it at startup and from time to time.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn purge_expired(&self) -> Result<u64> {
        let now_ms = self.now_ms();
        let forgotten_ms = now_ms - DEAD_TOKEN_RETENTION_MS;
        let mut transaction = self.database.write(Scope::System).await?;
        let sessions = query("DELETE FROM sessions WHERE expires_at_ms <= $1")
            .bind(now_ms)
            .execute(&mut transaction)
            .await?;
        let tokens = query("DELETE FROM runner_tokens WHERE expires_at_ms <= $1")
            .bind(forgotten_ms)
            .execute(&mut transaction)
            .await?;
        let runners = query("DELETE FROM runners WHERE revoked_at_ms <= $1")
            .bind(forgotten_ms)
            .execute(&mut transaction)
            .await?;
        drop_before(&mut transaction, now_ms - CHECKPOINT_LIFETIME_MS).await?;
        transaction.commit().await?;
        let keys = self.purge_keys().await?;
        Ok(sessions.rows_affected() + tokens.rows_affected() + runners.rows_affected() + keys)
    }
}
