//! Secrets that work once and expire: download tickets, codes that log a page in, the secret for creating the first account.
//!
//! ```text
//!   put ──► find, any number of times ──► take: the row is deleted, and one caller has its document
//!    └──► expired: treated as unknown, and removed within a minute
//! ```
//! Any node may issue a secret, and any node may take it: if several try at once, one succeeds. A secret has at least 128 random bits, so its plain
//! hash is a safe key for looking it up. Its document is sealed with a key that is derived from the secret and stored nowhere: the database alone
//! reveals neither the secret nor the document.

use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::error::{Result, check_length};
use crate::limits::ONE_TIME_DOCUMENT_MAX_BYTES;
use crate::seal::Sealer;
use crate::sql::{Scope, query, query_as, query_scalar};
use crate::{Store, hex};

/// The purpose of a secret. A secret is not valid for another purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OneTimeKind {
    /// A request that a browser sends without a token, such as a download.
    Ticket,
    /// A code that logs a page in without a password.
    SignIn,
    /// The secret with which the first account is created.
    FirstAccount,
}

impl OneTimeKind {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Ticket => "ticket",
            Self::SignIn => "sign_in",
            Self::FirstAccount => "first_account",
        }
    }
}

/// A secret to be issued.
#[derive(Clone, Copy)]
pub struct NewOneTime<'a> {
    /// The purpose of the secret.
    pub kind: OneTimeKind,
    /// The secret itself.
    pub secret: &'a str,
    /// The owner for whom it is issued; this text may be secret too.
    pub owner: &'a str,
    /// The data that belongs to the secret.
    pub document: &'a str,
    /// The time for which it is valid.
    pub lifetime: Duration,
    /// The limit on unused secrets of its kind. Nodes that issue secrets concurrently may exceed it by a few.
    pub most: i64,
    /// The limit on unused secrets of its kind and owner, counted in the same way.
    pub most_of_owner: i64,
}

/// The hash by which a secret or an owner is looked up.
fn hash(text: &str) -> String {
    hex(&Sha256::digest(text))
}

impl Store {
    /// Issues a secret; returns false if a limit on unused secrets is reached.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) for a document beyond 64 KiB; [`Error::Database`](crate::Error::Database).
    pub async fn put_one_time(&self, new: &NewOneTime<'_>) -> Result<bool> {
        check_length("one-time document", new.document, ONE_TIME_DOCUMENT_MAX_BYTES)?;
        let sealed = Sealer::of_secret(new.secret).seal(new.kind.as_str(), new.document)?;
        let now_ms = self.shared_now_ms().await?;
        let lifetime_ms = i64::try_from(new.lifetime.as_millis()).unwrap_or(i64::MAX);
        let put = query(
            "INSERT INTO one_time_secrets (kind, secret_sha256, owner_sha256, document_sealed, expires_at_ms)
             SELECT $1, $2, $3, $4, $5
             WHERE (SELECT COUNT(*) FROM one_time_secrets WHERE kind = $1 AND expires_at_ms > $6) < $7
               AND (SELECT COUNT(*) FROM one_time_secrets
                    WHERE kind = $1 AND owner_sha256 = $3 AND expires_at_ms > $6) < $8",
        )
        .bind(new.kind.as_str())
        .bind(hash(new.secret))
        .bind(hash(new.owner))
        .bind(sealed)
        .bind(now_ms.saturating_add(lifetime_ms))
        .bind(now_ms)
        .bind(new.most)
        .bind(new.most_of_owner)
        .execute(self.database.writer(Scope::Alone))
        .await?;
        Ok(put.rows_affected() == 1)
    }

    /// Returns the document of a secret without using it up; `None` if the secret is unknown, used or expired.
    ///
    /// # Errors
    /// [`Error::Database`](crate::Error::Database).
    pub async fn find_one_time(&self, kind: OneTimeKind, secret: &str) -> Result<Option<String>> {
        let row: Option<(String, i64)> = query_as(
            "SELECT document_sealed, expires_at_ms FROM one_time_secrets WHERE kind = $1 AND secret_sha256 = $2",
        )
        .bind(kind.as_str())
        .bind(hash(secret))
        .fetch_optional(self.database.reader())
        .await?;
        self.opened(kind, secret, row).await
    }

    /// Uses up a secret and returns its document; `None` if the secret is unknown, used or expired. Of several concurrent calls, one gets the
    /// document.
    ///
    /// # Errors
    /// [`Error::Database`](crate::Error::Database).
    pub async fn take_one_time(&self, kind: OneTimeKind, secret: &str) -> Result<Option<String>> {
        // Wrong guesses write nothing, and wait for no lock.
        if self.find_one_time(kind, secret).await?.is_none() {
            return Ok(None);
        }
        let row: Option<(String, i64)> = query_as(
            "DELETE FROM one_time_secrets WHERE kind = $1 AND secret_sha256 = $2
             RETURNING document_sealed, expires_at_ms",
        )
        .bind(kind.as_str())
        .bind(hash(secret))
        .fetch_optional(self.database.writer(Scope::Alone))
        .await?;
        self.opened(kind, secret, row).await
    }

    async fn opened(
        &self,
        kind: OneTimeKind,
        secret: &str,
        row: Option<(String, i64)>,
    ) -> Result<Option<String>> {
        let Some((sealed, expires_at_ms)) = row else { return Ok(None) };
        if expires_at_ms <= self.shared_now_ms().await? {
            return Ok(None);
        }
        Ok(Some(Sealer::of_secret(secret).open(kind.as_str(), &sealed)?))
    }

    /// True if there is an unused secret of this kind.
    ///
    /// # Errors
    /// [`Error::Database`](crate::Error::Database).
    pub async fn has_one_time(&self, kind: OneTimeKind) -> Result<bool> {
        let now_ms = self.shared_now_ms().await?;
        Ok(query_scalar(
            "SELECT EXISTS (SELECT 1 FROM one_time_secrets WHERE kind = $1 AND expires_at_ms > $2)",
        )
        .bind(kind.as_str())
        .bind(now_ms)
        .fetch_one(self.database.reader())
        .await?)
    }

    /// Removes all secrets of this kind, or those of one owner.
    ///
    /// # Errors
    /// [`Error::Database`](crate::Error::Database).
    pub async fn forget_one_time(&self, kind: OneTimeKind, owner: Option<&str>) -> Result<()> {
        query("DELETE FROM one_time_secrets WHERE kind = $1 AND owner_sha256 = COALESCE($2, owner_sha256)")
            .bind(kind.as_str())
            .bind(owner.map(hash))
            .execute(self.database.writer(Scope::System))
            .await?;
        Ok(())
    }

    /// Removes expired secrets and counts of attempts, and counts beyond their limit. Call it every minute; it writes nothing if there are none.
    ///
    /// # Errors
    /// [`Error::Database`](crate::Error::Database).
    pub async fn purge_sign_in(&self) -> Result<u64> {
        let now_ms = self.shared_now_ms().await?;
        let is_due: bool = query_scalar(
            "SELECT EXISTS (SELECT 1 FROM one_time_secrets WHERE expires_at_ms <= $1)
                 OR EXISTS (SELECT 1 FROM attempts WHERE full_at_ms <= $1)",
        )
        .bind(now_ms)
        .fetch_one(self.database.reader())
        .await?;
        if !is_due {
            return Ok(0);
        }
        let mut transaction = self.database.write(Scope::System).await?;
        let secrets = query("DELETE FROM one_time_secrets WHERE expires_at_ms <= $1")
            .bind(now_ms)
            .execute(&mut transaction)
            .await?;
        let attempts = crate::attempts::purge(&mut transaction, now_ms).await?;
        transaction.commit().await?;
        Ok(secrets.rows_affected() + attempts)
    }
}
