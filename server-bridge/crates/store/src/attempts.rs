//! Counts of attempts, such as failed logins, which all nodes share: a token bucket per key, stored as a single timestamp.
//!
//! A bucket holds the attempts of one minute. `full_at_ms` is the time at which it is full again: each attempt delays it by the refill
//! time of one attempt, and an attempt that would move it more than a minute ahead is refused (the generic cell rate algorithm). So one
//! statement counts an attempt, even if other nodes count at the same moment, and a full bucket needs no row.

use sha2::{Digest, Sha256};

use crate::error::Result;
use crate::limits::{ATTEMPTS_KEPT, ATTEMPTS_WINDOW_MS};
use crate::sql::{Scope, Transaction, query, query_scalar};
use crate::{Store, hex};

/// A group of attempts that are counted together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// Identifies the bucket. Only its hash is stored, since people sometimes type a password into the field for a name.
    pub key: String,
    /// The limit on attempts per minute, which is also the limit on a burst; at least 1.
    pub per_minute: u32,
}

impl Bucket {
    fn hash(&self) -> String {
        hex(&Sha256::digest(&self.key))
    }

    /// The time in which one attempt is refilled, in milliseconds.
    fn step_ms(&self) -> i64 {
        ATTEMPTS_WINDOW_MS / i64::from(self.per_minute.max(1))
    }
}

impl Store {
    /// Counts an attempt. Returns `None` if it is allowed; otherwise the attempt does not count, and the result is the time until the
    /// next one is allowed, in milliseconds.
    ///
    /// # Errors
    /// [`Error::Database`](crate::Error::Database).
    pub async fn take_attempt(&self, bucket: &Bucket) -> Result<Option<i64>> {
        let (now_ms, step_ms) = (self.shared_now_ms().await?, bucket.step_ms());
        let full_at_ms: Option<i64> =
            query_scalar("SELECT full_at_ms FROM attempts WHERE bucket_sha256 = $1")
                .bind(bucket.hash())
                .fetch_optional(self.database.reader())
                .await?;
        let wait_ms = full_at_ms.map_or(0, |full_at_ms| full_at_ms + step_ms - now_ms - ATTEMPTS_WINDOW_MS);
        // Refused attempts write nothing, so a flood of them is cheap.
        if (1..=ATTEMPTS_WINDOW_MS).contains(&wait_ms) {
            return Ok(Some(wait_ms));
        }
        // A time further ahead than attempts can move it means that the clock was set back. The bucket then starts empty, so that no caller waits
        // for the old time.
        let taken: Option<i64> = query_scalar(
            "INSERT INTO attempts (bucket_sha256, full_at_ms) VALUES ($1, CAST($2 AS BIGINT) + $3)
             ON CONFLICT (bucket_sha256) DO UPDATE SET full_at_ms =
                 CASE WHEN attempts.full_at_ms + $3 > $5 THEN $4
                      WHEN attempts.full_at_ms > $2 THEN attempts.full_at_ms + $3
                      ELSE $2 + $3 END
             WHERE attempts.full_at_ms + $3 <= $4 OR attempts.full_at_ms + $3 > $5
             RETURNING full_at_ms",
        )
        .bind(bucket.hash())
        .bind(now_ms)
        .bind(step_ms)
        .bind(now_ms + ATTEMPTS_WINDOW_MS)
        .bind(now_ms + 2 * ATTEMPTS_WINDOW_MS)
        .fetch_optional(self.database.writer(Scope::Alone))
        .await?;
        Ok(taken.is_none().then_some(step_ms))
    }

    /// Refunds an attempt that turned out to be legitimate.
    ///
    /// # Errors
    /// [`Error::Database`](crate::Error::Database).
    pub async fn refund_attempt(&self, bucket: &Bucket) -> Result<()> {
        query("UPDATE attempts SET full_at_ms = full_at_ms - $2 WHERE bucket_sha256 = $1")
            .bind(bucket.hash())
            .bind(bucket.step_ms())
            .execute(self.database.writer(Scope::Alone))
            .await?;
        Ok(())
    }
}

/// Removes full buckets, and if there are still too many, those that are closest to full.
pub(crate) async fn purge(transaction: &mut Transaction, now_ms: i64) -> Result<u64> {
    let over =
        query("DELETE FROM attempts WHERE full_at_ms <= $1").bind(now_ms).execute(&mut *transaction).await?;
    let more = query(
        "DELETE FROM attempts WHERE full_at_ms <=
             (SELECT full_at_ms FROM attempts ORDER BY full_at_ms DESC LIMIT 1 OFFSET $1)",
    )
    .bind(ATTEMPTS_KEPT)
    .execute(&mut *transaction)
    .await?;
    Ok(over.rows_affected() + more.rows_affected())
}
