//! Long values of rows, as objects in an S3 bucket.
//!
//! ```text
//!   write:  hash ─► entry in `blobs`, touched ─► object ─► row that names it                (each committed before the next begins)
//!   read:   row ─► entry ─► object, whose hash is verified
//!   sweep:  entry that no row names, untouched for a day ─► deleted ─► its object deleted
//!           object without an entry, a day old ─► deleted
//! ```
//! An entry cannot be deleted while a row names it (a foreign key), and an entry that is created again gets another object name. So a
//! late deletion never hits an object that a row names, and a late row never names an object that is still to be written. An entry is
//! written before its object, so an object without an entry is a leftover.
//!
//! To add a table, write a migration (`blob`, its index and its check), add a line to [`UNNAMED`] and one to [`COLUMNS`], and pass its
//! values through [`Store::put_away`] and [`Store::bring`].

use std::collections::HashSet;

use s3::Bucket;
use sha2::{Digest, Sha256};
use sqlx::FromRow;

use crate::error::{Error, Result};
use crate::limits::{BLOB_AGE_MS, BLOB_LIST_EVERY_MS, BLOB_MIN_BYTES, BLOB_SWEEP_EVERY_MS, BLOB_SWEEP_ROWS};
use crate::patience;
use crate::server_settings::{BLOBS_ID, BLOBS_LISTED, BLOBS_SWEPT};
use crate::sql::{Scope, query, query_as, query_scalar};
use crate::{Store, hex};

/// The tables with long values, and the column of each that is empty if `blob` names an object: values that grow with use (results of
/// tools, files as they were before a turn) and values that many users share (plugins). Items of turns stay in their rows because they are
/// all read for each answer, and parts of uploads because they are deleted once the upload is indexed.
pub(crate) const COLUMNS: [(&str, &str); 3] =
    [("offloads", "text"), ("checkpoint_contents", "content"), ("plugin_files", "content")];

/// Deletes some entries that no row names. PostgreSQL evaluates the outer condition again if an entry is touched concurrently.
const UNNAMED: &str = "DELETE FROM blobs WHERE touched_at_ms <= $1 AND object IN (
       SELECT b.object FROM blobs b WHERE b.touched_at_ms <= $1
         AND NOT EXISTS (SELECT 1 FROM offloads r WHERE r.blob = b.object)
         AND NOT EXISTS (SELECT 1 FROM checkpoint_contents r WHERE r.blob = b.object)
         AND NOT EXISTS (SELECT 1 FROM plugin_files r WHERE r.blob = b.object)
       LIMIT $2)
     RETURNING object";

/// An empty object that is put into a bucket before any other. Its absence shows that a bucket is not the database's.
const MARKER: &str = "marker";

/// A reference from a row to an object, if any.
#[derive(Clone, Debug, FromRow)]
pub(crate) struct Blob {
    /// The object's name.
    pub(crate) object: Option<String>,
    /// The value's length, in bytes.
    pub(crate) object_bytes: Option<i64>,
}

impl Store {
    /// Uses this bucket for values beyond 256 KiB, below a prefix that belongs to the database. Checks that objects can be written, read,
    /// listed and deleted there.
    ///
    /// # Errors
    /// [`Error::Blobs`] if the check fails; [`Error::OtherBucket`] if the objects of this database are elsewhere; [`Error::Invalid`] for a
    /// database that is a file; [`Error::Database`].
    pub async fn with_blobs(self, bucket: &Bucket) -> Result<Self> {
        let has_objects = self.lacks_blobs().await?;
        let store = self.with_blobs_unchecked(bucket).await?;
        if let Some(bucket) = &store.blobs {
            let failed = |source| failed(bucket, source);
            bucket.check().await.map_err(failed)?;
            match bucket.get(MARKER, 0).await {
                Ok(_) => {}
                Err(s3::Error::Missing { .. }) if has_objects => {
                    return Err(Error::OtherBucket { place: bucket.to_string() });
                }
                Err(s3::Error::Missing { .. }) => bucket.put(MARKER, b"").await.map_err(failed)?,
                Err(error) => return Err(failed(error)),
            }
        }
        Ok(store)
    }

    /// Like [`Self::with_blobs`], without the test that writes, reads, lists and deletes an object.
    pub(crate) async fn with_blobs_unchecked(mut self, bucket: &Bucket) -> Result<Self> {
        if !self.database.is_postgres() {
            let rule =
                "is a file, which contains all values itself; only a PostgreSQL database can use a bucket";
            return Err(Error::Invalid { what: "database", rule: rule.to_owned() });
        }
        query("INSERT INTO server_settings (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING")
            .bind(BLOBS_ID)
            .bind(format!("{:032x}", rand::random::<u128>()))
            .execute(self.database.writer(Scope::System))
            .await?;
        let id: String = query_scalar("SELECT value FROM server_settings WHERE name = $1")
            .bind(BLOBS_ID)
            .fetch_one(self.database.latest())
            .await?;
        self.blobs = Some(bucket.below(&id));
        Ok(self)
    }

    /// True if values of this database are in a bucket, but this store was opened without one.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn lacks_blobs(&self) -> Result<bool> {
        if self.blobs.is_some() {
            return Ok(false);
        }
        Ok(query_scalar("SELECT EXISTS (SELECT 1 FROM blobs)").fetch_one(self.database.reader()).await?)
    }

    /// Writes a long value as an object, before the row that will name it. Called outside of a transaction, because it may take a while. Returns
    /// the object's name for the row; `None` if the row has to contain the value itself.
    ///
    /// # Errors
    /// [`Error::Blobs`]; [`Error::Database`].
    pub(crate) async fn put_away(&self, value: &[u8]) -> Result<Option<String>> {
        let Some(bucket) = self.blobs.as_ref().filter(|_| value.len() > BLOB_MIN_BYTES) else {
            return Ok(None);
        };
        let sha256 = hex(&Sha256::digest(value));
        loop {
            // Touched for each attempt, so that the sweep does not mistake the entry for an unused one after a long wait.
            let object = self.touch(&sha256, value.len()).await?;
            match bucket.put(&object, value).await {
                Ok(()) => return Ok(Some(object)),
                Err(error) => self.wait_after(failed(bucket, error)).await?,
            }
        }
    }

    /// Reads a value from its row, or from the object that the row names.
    ///
    /// # Errors
    /// [`Error::NoBlobs`] without a bucket; [`Error::BlobLost`] if the object is missing or is not what was written; [`Error::Blobs`].
    pub(crate) async fn bring(&self, held: Option<Vec<u8>>, blob: Blob) -> Result<Vec<u8>> {
        let (object, size_bytes) = match (held, blob.object, blob.object_bytes) {
            (Some(held), _, _) => return Ok(held),
            (None, Some(object), Some(size_bytes)) => {
                (object, usize::try_from(size_bytes).unwrap_or(usize::MAX))
            }
            // The schema excludes this case.
            (None, _, _) => return Err(Error::Database(sqlx::Error::RowNotFound)),
        };
        let Some(bucket) = &self.blobs else { return Err(Error::NoBlobs { object }) };
        loop {
            match bucket.get(&object, size_bytes).await {
                Ok(value) if object.starts_with(&hex(&Sha256::digest(&value))) => return Ok(value),
                Ok(_) => {
                    let why = "its content differs from what was written".to_owned();
                    return Err(Error::BlobLost { place: bucket.to_string(), object, why });
                }
                Err(error @ (s3::Error::Missing { .. } | s3::Error::Length { .. })) => {
                    return Err(Error::BlobLost {
                        place: bucket.to_string(),
                        object,
                        why: error.to_string(),
                    });
                }
                Err(error) => self.wait_after(failed(bucket, error)).await?,
            }
        }
    }

    /// Like [`Self::bring`], for a text.
    pub(crate) async fn bring_text(&self, held: Option<String>, blob: Blob) -> Result<String> {
        let object = blob.object.clone().unwrap_or_default();
        let value = self.bring(held.map(String::into_bytes), blob).await?;
        String::from_utf8(value).map_err(|_| {
            let place = self.blobs.as_ref().map(Bucket::to_string).unwrap_or_default();
            Error::BlobLost { place, object, why: "its content is not valid UTF-8".to_owned() }
        })
    }

    /// Reads the value from the object with this name.
    pub(crate) async fn bring_object(&self, object: &str) -> Result<Vec<u8>> {
        let blob = query_as("SELECT object, size_bytes AS object_bytes FROM blobs WHERE object = $1")
            .bind(object)
            .fetch_one(self.database.reader())
            .await?;
        self.bring(None, blob).await
    }

    /// Deletes the objects that no row has named for a day, and those without an entry. Does nothing unless the work is due, and only one
    /// node does it. Returns the number of deleted objects.
    ///
    /// # Errors
    /// [`Error::Blobs`]; [`Error::Database`].
    pub async fn sweep_blobs(&self) -> Result<u64> {
        let Some(bucket) = &self.blobs else { return Ok(0) };
        let before_ms = self.now_ms() - BLOB_AGE_MS;
        let mut deleted = 0;
        if self.is_due(BLOBS_SWEPT, BLOB_SWEEP_EVERY_MS).await? {
            deleted += self.or_due_again(BLOBS_SWEPT, self.sweep_unnamed(bucket, before_ms).await).await?;
        }
        if self.is_due(BLOBS_LISTED, BLOB_LIST_EVERY_MS).await? {
            deleted += self.or_due_again(BLOBS_LISTED, self.sweep_leftovers(bucket, before_ms).await).await?;
        }
        Ok(deleted)
    }

    /// Deletes entries that no row names, and then their objects.
    async fn sweep_unnamed(&self, bucket: &Bucket, before_ms: i64) -> Result<u64> {
        let mut deleted = 0;
        loop {
            let unnamed = query_scalar(UNNAMED).bind(before_ms).bind(BLOB_SWEEP_ROWS);
            let objects: Vec<String> = match unnamed.fetch_all(self.database.writer(Scope::Alone)).await {
                // A copied chat has just named one of them; the next sweep deletes the rest.
                Err(error)
                    if error.as_database_error().is_some_and(|error| error.is_foreign_key_violation()) =>
                {
                    return Ok(deleted);
                }
                objects => objects?,
            };
            if objects.is_empty() {
                return Ok(deleted);
            }
            for object in objects {
                bucket.delete(&object).await.map_err(|source| failed(bucket, source))?;
                deleted += 1;
            }
        }
    }

    /// Deletes objects without an entry: the server died or lost S3 after it deleted their entries, or the database is an older copy.
    async fn sweep_leftovers(&self, bucket: &Bucket, before_ms: i64) -> Result<u64> {
        let (mut deleted, mut after) = (0, String::new());
        loop {
            // The objects are listed before the entries are read: every listed object was written after its entry.
            let (objects, is_cut) = bucket.list(&after).await.map_err(|source| failed(bucket, source))?;
            let Some(last) = objects.last().map(|object| object.name.clone()) else { return Ok(deleted) };
            let known: Vec<String> =
                query_scalar("SELECT object FROM blobs WHERE object > $1 AND object <= $2")
                    .bind(&after)
                    .bind(&last)
                    .fetch_all(self.database.latest())
                    .await?;
            let known: HashSet<_> = known.into_iter().collect();
            for object in objects {
                if object.modified_ms <= before_ms && object.name != MARKER && !known.contains(&object.name) {
                    bucket.delete(&object.name).await.map_err(|source| failed(bucket, source))?;
                    deleted += 1;
                }
            }
            if !is_cut {
                return Ok(deleted);
            }
            after = last;
        }
    }

    /// True if the cluster's work with this name is due and this node has claimed it.
    async fn is_due(&self, name: &str, every_ms: i64) -> Result<bool> {
        let now_ms = self.now_ms();
        let taken = query(
            "INSERT INTO server_settings (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value
             WHERE CAST(server_settings.value AS BIGINT) <= $3",
        )
        .bind(name)
        .bind(now_ms.to_string())
        .bind(now_ms - every_ms)
        .execute(self.database.writer(Scope::Alone))
        .await?;
        Ok(taken.rows_affected() == 1)
    }

    /// Makes failed work due again at the next check.
    async fn or_due_again<T>(&self, name: &str, done: Result<T>) -> Result<T> {
        if done.is_err() {
            query("DELETE FROM server_settings WHERE name = $1")
                .bind(name)
                .execute(self.database.writer(Scope::Alone))
                .await?;
        }
        done
    }

    /// Creates or touches the entry for a value with this hash; returns the name of its object, which a row may soon name.
    async fn touch(&self, sha256: &str, size_bytes: usize) -> Result<String> {
        Ok(query_scalar(
            "INSERT INTO blobs (sha256, object, size_bytes, touched_at_ms) VALUES ($1, $2, $3, $4)
             ON CONFLICT (sha256) DO UPDATE SET touched_at_ms = CASE
                 WHEN blobs.touched_at_ms < excluded.touched_at_ms THEN excluded.touched_at_ms ELSE blobs.touched_at_ms END
             RETURNING object",
        )
        .bind(sha256)
        .bind(format!("{sha256}-{:016x}", rand::random::<u64>()))
        .bind(i64::try_from(size_bytes).unwrap_or(i64::MAX))
        .bind(self.now_ms())
        .fetch_one(self.database.writer(Scope::Alone))
        .await?)
    }

    /// In a task that waits for unreachable services, returns when the next attempt is due; otherwise fails. Closing the store ends the
    /// wait.
    async fn wait_after(&self, error: Error) -> Result<()> {
        if error.is_away() && !self.database.is_closed() && patience::pause().await {
            return Ok(());
        }
        Err(error)
    }
}

fn failed(bucket: &Bucket, source: s3::Error) -> Error {
    Error::Blobs { place: bucket.to_string(), source: Box::new(source) }
}
