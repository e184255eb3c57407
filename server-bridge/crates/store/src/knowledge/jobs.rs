//! The queue of indexing jobs. A job stays in the queue until its result is stored, so a restarted server continues with it.

use sqlx::FromRow;

use super::collections::check_owner;
use super::documents::DocumentState;
use crate::error::{Error, Result, check_length};
use crate::homes::at_home;
use crate::limits::{
    DOCUMENT_BYTES_PER_USER, DOCUMENT_NAME_MAX_BYTES, DOCUMENT_NOTE_MAX_BYTES, DOCUMENTS_PER_COLLECTION,
    INDEX_JOBS_PER_USER,
};
use crate::sql::{Scope, Transaction, query, query_as, query_scalar};
use crate::{CollectionId, DocumentId, JobId, Store, UserId};

/// A job that was taken from the queue.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct IndexJob {
    /// The id, which is also the version that the job makes.
    pub id: JobId,
    /// The owner of the collection.
    pub user_id: UserId,
    /// The id of the collection.
    pub collection_id: CollectionId,
    /// The runner of the collection's folder; empty for an upload.
    pub place: String,
    /// The path of the folder.
    pub path: String,
    /// The id of its document; `None` for a scan of the folder.
    pub document_id: Option<DocumentId>,
    /// The document's name; empty for a scan of the folder.
    pub name: String,
    /// The SHA-256 of the document's current version, in hex; empty if there is none.
    pub sha256: String,
    /// True if documents that are missing from the folder are to be removed, however many there are.
    pub accepts_missing: bool,
    /// The number of times that the job was begun, including this time.
    pub attempts: i64,
}

/// A series of jobs that are done one after the other: those of a user's uploads, or of the folders on one of the user's runners.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, FromRow)]
pub struct Lane {
    /// The owner of the collections.
    pub user_id: UserId,
    /// The name of the runner; empty for uploads.
    pub place: String,
}

/// The work in the queue, as one user sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromRow)]
pub struct IndexQueue {
    /// The number of the user's own jobs in the queue.
    pub waiting: i64,
    /// The number of other users' jobs that may be done before the user's last one, since users take turns.
    pub ahead: i64,
}

/// A file that a scan of a folder found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSeen {
    /// The file's path below the folder.
    pub name: String,
    /// The file's size, in bytes.
    pub size_bytes: i64,
    /// When the file was last changed, in Unix milliseconds.
    pub modified_ms: i64,
}

const NEXT: &str = "SELECT j.id, c.user_id, j.collection_id, c.place, c.path, j.document_id, COALESCE(d.name, '') AS name,
       COALESCE(d.sha256, '') AS sha256, j.accepts_missing, j.attempts
     FROM index_jobs j JOIN collections c ON c.id = j.collection_id LEFT JOIN documents d ON d.id = j.document_id
     WHERE j.is_ready AND c.user_id = $1 AND c.place = $2 ORDER BY j.id LIMIT 1";

impl Store {
    /// Begins an upload into a user's own collection.
    ///
    /// # Errors
    /// [`Error::NotFound`] if the collection does not exist or belongs to another user; [`Error::Invalid`] if it mirrors a folder, if 1,000 documents
    /// are waiting, or if the user's documents already have 4 GiB.
    pub async fn begin_upload(&self, user: UserId, collection: CollectionId) -> Result<JobId> {
        let invalid = |rule: String| Error::Invalid { what: "upload", rule };
        let mut transaction = self.database.write(Scope::User(user)).await?;
        check_owner(&mut transaction, user, collection).await?;
        let of_folder: bool = query_scalar("SELECT place <> '' FROM collections WHERE id = $1")
            .bind(collection)
            .fetch_one(&mut transaction)
            .await?;
        if of_folder {
            return Err(invalid(
                "cannot be added to a collection that mirrors a folder; put the file into that folder"
                    .to_owned(),
            ));
        }
        check_queue(&mut transaction, user, 1).await?;
        check_bytes(used_bytes(&mut transaction, user).await?)?;
        let job = add_job(&mut transaction, collection, None, false, false, self.now_ms()).await?;
        transaction.commit().await?;
        Ok(job)
    }

    /// Stores the next piece of an upload.
    ///
    /// # Errors
    /// [`Error::NotFound`] if the upload was abandoned.
    pub async fn add_upload_part(&self, job: JobId, part: i64, content: &[u8]) -> Result<()> {
        let added = query(
            "INSERT INTO job_parts (job_id, part, content)
             SELECT $1, $2, $3 WHERE EXISTS (SELECT 1 FROM index_jobs WHERE id = $1 AND NOT is_ready)",
        )
        .bind(job)
        .bind(part)
        .bind(content)
        .execute(self.database.writer(Scope::Alone))
        .await?;
        if added.rows_affected() == 1 { Ok(()) } else { Err(Error::not_found("upload", job.0)) }
    }

    /// Ends an upload and queues its document, in place of older waiting content.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a name that is empty or too long, beyond 20,000 documents, and beyond 4 GiB of the user's documents.
    pub async fn finish_upload(
        &self,
        user: UserId,
        collection: CollectionId,
        job: JobId,
        name: &str,
        size_bytes: i64,
    ) -> Result<DocumentId> {
        let mut transaction = self.database.write(Scope::User(user)).await?;
        check_owner(&mut transaction, user, collection).await?;
        check_bytes(used_bytes(&mut transaction, user).await?)?;
        let file = FileSeen { name: name.to_owned(), size_bytes, modified_ms: 0 };
        let document = wait(&mut transaction, collection, &file, self.now_ms()).await?;
        check_documents(&mut transaction, collection).await?;
        query("DELETE FROM index_jobs WHERE document_id = $1")
            .bind(document)
            .execute(&mut transaction)
            .await?;
        let begun = query(
            "UPDATE index_jobs SET document_id = $2, is_ready = TRUE WHERE id = $1 AND collection_id = $3 AND NOT is_ready",
        )
        .bind(job)
        .bind(document)
        .bind(collection)
        .execute(&mut transaction)
        .await?;
        if begun.rows_affected() != 1 {
            return Err(Error::not_found("upload", job.0));
        }
        transaction.commit().await?;
        Ok(document)
    }

    /// Queues the changed files of a folder's collection, and drops older jobs for these files. Returns the number of files that were left out
    /// because the user's documents would exceed 4 GiB.
    ///
    /// # Errors
    /// [`Error::NotFound`] if the collection is not the user's; [`Error::Invalid`] beyond 20,000 documents.
    pub async fn queue_files(
        &self,
        user: UserId,
        collection: CollectionId,
        files: &[FileSeen],
    ) -> Result<usize> {
        let mut transaction = self.database.write(Scope::User(user)).await?;
        check_owner(&mut transaction, user, collection).await?;
        let (mut used, mut left_out) = (used_bytes(&mut transaction, user).await?, 0);
        for file in files {
            if used + file.size_bytes > DOCUMENT_BYTES_PER_USER {
                left_out += 1;
                continue;
            }
            used += file.size_bytes;
            let document = wait(&mut transaction, collection, file, self.now_ms()).await?;
            query("DELETE FROM index_jobs WHERE document_id = $1")
                .bind(document)
                .execute(&mut transaction)
                .await?;
            add_job(&mut transaction, collection, Some(document), true, false, self.now_ms()).await?;
        }
        check_documents(&mut transaction, collection).await?;
        transaction.commit().await?;
        Ok(left_out)
    }

    /// Queues a scan of the folder of a user's own collection, unless one is already waiting.
    ///
    /// # Errors
    /// [`Error::NotFound`] if the collection does not exist or belongs to another user; [`Error::Invalid`] if it has no folder.
    pub async fn queue_sync(
        &self,
        user: UserId,
        collection: CollectionId,
        accepts_missing: bool,
    ) -> Result<()> {
        let mut transaction = self.database.write(Scope::User(user)).await?;
        check_owner(&mut transaction, user, collection).await?;
        let of_folder: bool = query_scalar("SELECT place <> '' FROM collections WHERE id = $1")
            .bind(collection)
            .fetch_one(&mut transaction)
            .await?;
        if !of_folder {
            let rule =
                "consists of uploads; only a collection of a runner's folder can be synchronised".to_owned();
            return Err(Error::Invalid { what: "collection", rule });
        }
        query("DELETE FROM index_jobs WHERE collection_id = $1 AND document_id IS NULL")
            .bind(collection)
            .execute(&mut transaction)
            .await?;
        add_job(&mut transaction, collection, None, true, accepts_missing, self.now_ms()).await?;
        transaction.commit().await?;
        Ok(())
    }

    /// The lanes that have jobs, by user and runner.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn index_lanes(&self) -> Result<Vec<Lane>> {
        let lanes = query_as(concat!(
            "SELECT DISTINCT c.user_id, c.place FROM collections c
             WHERE EXISTS (SELECT 1 FROM index_jobs j WHERE j.collection_id = c.id AND j.is_ready) AND ",
            at_home!("c.user_id", "$1"),
            " ORDER BY c.user_id, c.place"
        ));
        Ok(lanes.bind(self.database.node_id()).fetch_all(self.database.latest()).await?)
    }

    /// The next job of a lane; counts one more attempt at it.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn next_index_job(&self, lane: &Lane) -> Result<Option<IndexJob>> {
        let mut transaction = self.database.write(Scope::Alone).await?;
        let next = query_as(NEXT).bind(lane.user_id).bind(lane.place.as_str());
        let Some(mut job): Option<IndexJob> = next.fetch_optional(&mut transaction).await? else {
            return Ok(None);
        };
        query("UPDATE index_jobs SET attempts = attempts + 1 WHERE id = $1")
            .bind(job.id)
            .execute(&mut transaction)
            .await?;
        transaction.commit().await?;
        job.attempts += 1;
        Ok(Some(job))
    }

    /// Counts the attempts of a user's job from the first one again, after one that failed for a reason other than its document.
    ///
    /// # Errors
    /// [`Error::Fenced`] at a node that is not the user's home; [`Error::Database`].
    pub async fn forgive_attempts(&self, user: UserId, job: JobId) -> Result<()> {
        let forgiven = query("UPDATE index_jobs SET attempts = 1 WHERE id = $1").bind(job);
        forgiven.execute(self.database.writer(Scope::User(user))).await?;
        Ok(())
    }

    /// The piece `part` of a job's content, counted from 0; `None` after the last one.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn upload_part(&self, job: JobId, part: i64) -> Result<Option<Vec<u8>>> {
        let content = query_scalar("SELECT content FROM job_parts WHERE job_id = $1 AND part = $2");
        Ok(content.bind(job).bind(part).fetch_optional(self.database.reader()).await?)
    }

    /// Ends a job without a new version: an abandoned upload, a finished scan, or an unchanged file.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn drop_job(&self, job: JobId) -> Result<()> {
        let done = query("DELETE FROM index_jobs WHERE id = $1").bind(job);
        done.execute(self.database.writer(Scope::Alone)).await?;
        Ok(())
    }

    /// Ends a job whose document has not changed: its current version already has the newest content.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn keep_version(&self, job: &IndexJob, size_bytes: i64, modified_ms: i64) -> Result<()> {
        let mut transaction = self.database.write(Scope::User(job.user_id)).await?;
        if end(&mut transaction, job.id).await? {
            query("UPDATE documents SET state = $2, size_bytes = $3, modified_ms = $4 WHERE id = $1")
                .bind(job.document_id.unwrap_or(DocumentId(0)))
                .bind(DocumentState::Ready.as_str())
                .bind(size_bytes)
                .bind(modified_ms)
                .execute(&mut transaction)
                .await?;
        }
        transaction.commit().await?;
        Ok(())
    }

    /// Ends a job whose document cannot be indexed. `seen` is the size and the time of the content that failed, so that the document is retried
    /// only after a change.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn fail_job(&self, job: &IndexJob, note: &str, seen: Option<(i64, i64)>) -> Result<()> {
        let mut transaction = self.database.write(Scope::User(job.user_id)).await?;
        if end(&mut transaction, job.id).await? {
            let (size_bytes, modified_ms) = seen.unwrap_or((-1, -1));
            query(
                "UPDATE documents SET state = $2, note = $3, updated_at_ms = $4,
                   size_bytes = CASE WHEN $5 < 0 THEN size_bytes ELSE $5 END,
                   modified_ms = CASE WHEN $5 < 0 THEN modified_ms ELSE $6 END
                 WHERE id = $1",
            )
            .bind(job.document_id.unwrap_or(DocumentId(0)))
            .bind(DocumentState::Failed.as_str())
            .bind(&note[..note.floor_char_boundary(DOCUMENT_NOTE_MAX_BYTES)])
            .bind(self.now_ms())
            .bind(size_bytes)
            .bind(modified_ms)
            .execute(&mut transaction)
            .await?;
        }
        transaction.commit().await?;
        Ok(())
    }

    /// The work in the queue, as one user sees it.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn index_queue(&self, user: UserId) -> Result<IndexQueue> {
        Ok(query_as(
            "SELECT (SELECT COUNT(*) FROM index_jobs j JOIN collections c ON c.id = j.collection_id
                     WHERE c.user_id = $1 AND j.is_ready) AS waiting,
               (SELECT CAST(COALESCE(SUM(CASE WHEN o.count < m.count THEN o.count ELSE m.count END), 0) AS BIGINT) FROM
                 (SELECT COUNT(*) AS count FROM index_jobs j JOIN collections c ON c.id = j.collection_id
                  WHERE c.user_id <> $1 AND j.is_ready GROUP BY c.user_id) o,
                 (SELECT COUNT(*) AS count FROM index_jobs j JOIN collections c ON c.id = j.collection_id
                  WHERE c.user_id = $1 AND j.is_ready) m) AS ahead",
        )
        .bind(user)
        .fetch_one(self.database.reader())
        .await?)
    }
}

/// Deletes a job; returns true if it still existed.
pub(super) async fn end(transaction: &mut Transaction, job: JobId) -> Result<bool> {
    let ended = query("DELETE FROM index_jobs WHERE id = $1").bind(job).execute(transaction).await?;
    Ok(ended.rows_affected() == 1)
}

async fn add_job(
    transaction: &mut Transaction,
    collection: CollectionId,
    document: Option<DocumentId>,
    is_ready: bool,
    accepts_missing: bool,
    now_ms: i64,
) -> Result<JobId> {
    let id = query_scalar(
        "INSERT INTO index_jobs (collection_id, document_id, is_ready, accepts_missing, attempts, created_at_ms)
         VALUES ($1, $2, $3, $4, 0, $5) RETURNING id",
    )
    .bind(collection)
    .bind(document)
    .bind(is_ready)
    .bind(accepts_missing)
    .bind(now_ms)
    .fetch_one(transaction)
    .await?;
    Ok(JobId(id))
}

/// Marks a document as waiting to be indexed; adds it if it is new. The time of its last change stays: its content may turn out to be the same.
async fn wait(
    transaction: &mut Transaction,
    collection: CollectionId,
    file: &FileSeen,
    now_ms: i64,
) -> Result<DocumentId> {
    check_length("name", &file.name, DOCUMENT_NAME_MAX_BYTES)?;
    if file.name.trim().is_empty() || file.name.chars().any(char::is_control) {
        let rule = "needs a name that is not empty and has no line breaks".to_owned();
        return Err(Error::Invalid { what: "document", rule });
    }
    let document = query_scalar(
        "INSERT INTO documents
         (collection_id, name, state, note, version, kind, pages, sha256, size_bytes, modified_ms, updated_at_ms)
         VALUES ($1, $2, $3, '', 0, '', 0, '', $4, $5, $6)
         ON CONFLICT (collection_id, name) DO UPDATE SET state = excluded.state, note = ''
         RETURNING id",
    )
    .bind(collection)
    .bind(file.name.as_str())
    .bind(DocumentState::Waiting.as_str())
    .bind(file.size_bytes)
    .bind(file.modified_ms)
    .bind(now_ms)
    .fetch_one(&mut *transaction)
    .await?;
    Ok(DocumentId(document))
}

/// Fails if a collection has more documents than allowed.
async fn check_documents(transaction: &mut Transaction, collection: CollectionId) -> Result<()> {
    let count: i64 = query_scalar("SELECT COUNT(*) FROM documents WHERE collection_id = $1")
        .bind(collection)
        .fetch_one(transaction)
        .await?;
    if count > DOCUMENTS_PER_COLLECTION {
        let rule = format!(
            "exceeds the limit: a collection can have at most {DOCUMENTS_PER_COLLECTION}; delete some, or add another collection"
        );
        return Err(Error::Invalid { what: "document", rule });
    }
    Ok(())
}

/// Fails if more of a user's documents are waiting than allowed.
async fn check_queue(transaction: &mut Transaction, user: UserId, more: i64) -> Result<()> {
    let waiting: i64 = query_scalar(
        "SELECT COUNT(*) FROM index_jobs j JOIN collections c ON c.id = j.collection_id WHERE c.user_id = $1",
    )
    .bind(user)
    .fetch_one(transaction)
    .await?;
    if waiting + more > INDEX_JOBS_PER_USER {
        let rule =
            format!("is refused for now: {waiting} of your documents are not indexed yet; try again later");
        return Err(Error::Invalid { what: "upload", rule });
    }
    Ok(())
}

/// The size of a user's documents in bytes: those that are indexed, and those that are waiting. An upload counts with its content until it is
/// indexed.
const USED_BYTES: &str = "SELECT CAST(COALESCE((SELECT SUM(d.size_bytes) FROM documents d JOIN collections c ON c.id = d.collection_id
         WHERE c.user_id = $1 AND (d.version > 0 OR c.place <> '' AND d.state = 'waiting')), 0)
       + COALESCE((SELECT SUM(LENGTH(p.content)) FROM job_parts p JOIN index_jobs j ON j.id = p.job_id
         JOIN collections c ON c.id = j.collection_id WHERE c.user_id = $1), 0) AS BIGINT)";

async fn used_bytes(transaction: &mut Transaction, user: UserId) -> Result<i64> {
    Ok(query_scalar(USED_BYTES).bind(user).fetch_one(transaction).await?)
}

/// Fails if a user's documents have more bytes than allowed.
fn check_bytes(used: i64) -> Result<()> {
    if used > DOCUMENT_BYTES_PER_USER {
        let rule = format!(
            "is refused: your documents can have at most {} GiB in total; delete some first",
            DOCUMENT_BYTES_PER_USER >> 30
        );
        return Err(Error::Invalid { what: "upload", rule });
    }
    Ok(())
}
