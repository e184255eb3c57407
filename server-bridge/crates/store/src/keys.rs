//! API keys for programs: each is a Bearer token that is shown once, of which only the hash is stored, with a scope.

use std::str::FromStr;

use sqlx::FromRow;

use crate::User;
use crate::error::{Error, Result};
use crate::limits::{
    API_KEY_TTL_MAX_MS, API_KEY_TTL_MIN_MS, API_KEY_USE_STEP_MS, API_KEYS_PER_USER, DEAD_TOKEN_RETENTION_MS,
};
use crate::sql::{Scope, query, query_as, query_scalar};
use crate::tokens::{API_KEY_PREFIX, Secret, TokenHash};
use crate::{KeyId, Name, Store, UserId};

/// The permissions of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyScope {
    /// Everything that its owner may do, except what needs a login: changing keys, users, passwords, runner tokens or server settings.
    Full,
    /// Commands, files and tasks on its owner's runners.
    Exec,
    /// Read access only.
    Read,
}

/// A key, without its secret.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct ApiKey {
    /// The id of the key's row.
    #[sqlx(rename = "key_id")]
    pub id: KeyId,
    /// The key's name, unique among its user's keys.
    #[sqlx(rename = "key_name")]
    pub name: String,
    /// The key's permissions.
    #[sqlx(try_from = "String")]
    pub scope: KeyScope,
    /// When it was created, in Unix milliseconds.
    #[sqlx(rename = "key_created_at_ms")]
    pub created_at_ms: i64,
    /// When it was last used, in Unix milliseconds, to the minute; `None` if it never was.
    pub last_used_ms: Option<i64>,
    /// When it expires, in Unix milliseconds; `None` if it does not.
    pub expires_at_ms: Option<i64>,
}

#[derive(FromRow)]
struct OwnedKey {
    token_sha256: String,
    #[sqlx(flatten)]
    key: ApiKey,
    #[sqlx(flatten)]
    user: User,
}

/// The columns of an [`ApiKey`], from `api_keys k`. Their names differ from those of a user's columns, since both are read in one row.
macro_rules! key_columns {
    () => {
        "k.id AS key_id, k.name AS key_name, k.scope, k.created_at_ms AS key_created_at_ms, k.last_used_ms,
         k.expires_at_ms"
    };
}

impl KeyScope {
    /// The scope's name in the database and on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Exec => "exec",
            Self::Read => "read",
        }
    }
}

impl FromStr for KeyScope {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let all = [Self::Full, Self::Exec, Self::Read];
        let rule = || "must be full, exec or read".to_owned();
        let found = all.into_iter().find(|scope| scope.as_str() == text);
        found.ok_or_else(|| Error::Invalid { what: "scope of a key", rule: rule() })
    }
}

impl TryFrom<String> for KeyScope {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl Store {
    /// Creates a key for a user's programs that expires after `ttl_ms` milliseconds, or never. Returns it with its secret, which cannot be shown
    /// again.
    ///
    /// # Errors
    /// [`Error::Taken`] if the user has a key of this name; [`Error::Invalid`] for a lifetime under 1 minute or over 10
    /// years, and for the 101st key.
    pub async fn add_key(
        &self,
        user: UserId,
        name: &Name,
        scope: KeyScope,
        ttl_ms: Option<i64>,
    ) -> Result<(ApiKey, Secret)> {
        if ttl_ms.is_some_and(|ttl_ms| !(API_KEY_TTL_MIN_MS..=API_KEY_TTL_MAX_MS).contains(&ttl_ms)) {
            let rule = "must be between 1 minute and 10 years".to_owned();
            return Err(Error::Invalid { what: "lifetime of a key", rule });
        }
        let secret = Secret::random(API_KEY_PREFIX);
        let now_ms = self.now_ms();
        let mut transaction = self.database.write(Scope::User(user)).await?;
        let count: i64 = query_scalar("SELECT COUNT(*) FROM api_keys WHERE user_id = $1")
            .bind(user)
            .fetch_one(&mut transaction)
            .await?;
        if count >= API_KEYS_PER_USER {
            let rule = format!("cannot exceed {API_KEYS_PER_USER}; remove a key that you no longer use");
            return Err(Error::Invalid { what: "number of keys", rule });
        }
        let expires_at_ms = ttl_ms.map(|ttl_ms| now_ms + ttl_ms);
        let id = query_scalar(
            "INSERT INTO api_keys (user_id, name, token_sha256, scope, created_at_ms, expires_at_ms)
             VALUES ($1, $2, $3, $4, $5, $6) RETURNING id",
        )
        .bind(user)
        .bind(name.as_str())
        .bind(secret.hash().as_str())
        .bind(scope.as_str())
        .bind(now_ms)
        .bind(expires_at_ms)
        .fetch_one(&mut transaction)
        .await
        .map_err(|error| Error::or_taken(error, "key", name))?;
        transaction.commit().await?;
        let name = name.to_string();
        Ok((ApiKey { id, name, scope, created_at_ms: now_ms, last_used_ms: None, expires_at_ms }, secret))
    }

    /// A user's keys by name, including expired ones.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn keys(&self, user: UserId) -> Result<Vec<ApiKey>> {
        let query =
            concat!("SELECT ", key_columns!(), " FROM api_keys k WHERE k.user_id = $1 ORDER BY k.name");
        Ok(query_as(query).bind(user).fetch_all(self.database.reader()).await?)
    }

    /// Removes a key, which is then no longer accepted.
    ///
    /// # Errors
    /// [`Error::NotFound`] if the user has no key of this name.
    pub async fn remove_key(&self, user: UserId, name: &str) -> Result<()> {
        let removed = query("DELETE FROM api_keys WHERE user_id = $1 AND name = $2")
            .bind(user)
            .bind(name)
            .execute(self.database.writer(Scope::User(user)))
            .await?;
        if removed.rows_affected() == 0 { Err(Error::not_found("key", name)) } else { Ok(()) }
    }

    /// The user and scope of a key; `None` if it is unknown or has expired. Records its use, at most once a minute.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn key_user(&self, presented: &str) -> Result<Option<(User, ApiKey)>> {
        let Some(hash) = TokenHash::of_presented(API_KEY_PREFIX, presented) else { return Ok(None) };
        let row: Option<OwnedKey> = query_as(concat!(
            "SELECT k.token_sha256, u.id, u.name, u.admin, u.created_at_ms, ",
            key_columns!(),
            " FROM api_keys k JOIN users u ON u.id = k.user_id WHERE k.token_sha256 = $1"
        ))
        .bind(hash.as_str())
        .fetch_optional(self.database.reader())
        .await?;
        let now_ms = self.now_ms();
        let is_live = |key: &ApiKey| key.expires_at_ms.is_none_or(|expires_at_ms| expires_at_ms > now_ms);
        let Some(OwnedKey { key, user, .. }) =
            row.filter(|row| hash.matches(&row.token_sha256) && is_live(&row.key))
        else {
            return Ok(None);
        };
        if key.last_used_ms.is_none_or(|last_ms| now_ms - last_ms >= API_KEY_USE_STEP_MS) {
            query("UPDATE api_keys SET last_used_ms = $1 WHERE id = $2")
                .bind(now_ms)
                .bind(key.id)
                .execute(self.database.writer(Scope::Login(user.id)))
                .await?;
        }
        Ok(Some((user, key)))
    }

    /// Deletes keys 90 days after they expired.
    pub(crate) async fn purge_keys(&self) -> Result<u64> {
        let purged = query("DELETE FROM api_keys WHERE expires_at_ms <= $1")
            .bind(self.now_ms() - DEAD_TOKEN_RETENTION_MS)
            .execute(self.database.writer(Scope::System))
            .await?;
        Ok(purged.rows_affected())
    }
}
