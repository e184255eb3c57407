//! Counts of attempts, such as failed logins, which all nodes share: a token bucket per key, stored as one time.
//!
//! A bucket holds the attempts of one minute. `full_at_ms` is when it is full again: each attempt moves it on by the time that one attempt
//! takes to come back, and an attempt that would move it more than a minute ahead is refused (the generic cell rate algorithm). So one
//! statement counts an attempt, whatever other nodes do at that moment, and a bucket that is full needs no row.

use sha2::{Digest, Sha256};

use crate::error::Result;
use crate::limits::{ATTEMPTS_KEPT, ATTEMPTS_WINDOW_MS};
use crate::sql::{Scope, Transaction, query, query_scalar};
use crate::{Store, hex};

/// The attempts that are counted together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// Names them; what it consists of is not stored in readable form, as people also type passwords where names belong.
    pub key: String,
    /// How many there may be in a minute, and at once; at least 1.
    pub per_minute: u32,
}

impl Bucket {
    fn hash(&self) -> String {
        hex(&Sha256::digest(&self.key))
    }

    /// The time after which one more attempt is available.
    fn step_ms(&self) -> i64 {
        ATTEMPTS_WINDOW_MS / i64::from(self.per_minute.max(1))
    }
}

impl Store {
    /// Counts an attempt. Returns `None` if it is allowed; else it does not count, and this is the time until one is allowed, in
    /// milliseconds.
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
        // A flood of refused attempts changes nothing.
        if (1..=ATTEMPTS_WINDOW_MS).contains(&wait_ms) {
            return Ok(Some(wait_ms));
        }
        // A time further ahead than attempts can have moved it comes from a clock that was set back: the bucket then begins empty, so
        // that nobody waits for the time that was.
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

    /// Gives an attempt back that turned out to be legitimate.
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

/// Removes the buckets that are full, and of too many those that are nearest to it.
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
