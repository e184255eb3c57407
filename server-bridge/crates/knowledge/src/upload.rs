//! Uploads: the content of a document is stored in pieces as it arrives, so that it is never in memory as a whole.

use api::knowledge::DocumentView;
use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use store::{CollectionId, JobId, User};

use crate::error::{Error, Result};
use crate::faults::{Point, fault};
use crate::limits::{DOCUMENT_BYTES, PART_BYTES};
use crate::service::{Knowledge, document_view};

impl Knowledge {
    /// Adds a document to a user's own collection, or replaces the content of the one with this name; it is queued for indexing.
    ///
    /// # Errors
    /// [`Error::TooLarge`], [`Error::Broken`]; [`Error::Store`] if the collection is another user's or a folder's, for an invalid name, and
    /// if too many documents wait.
    pub async fn upload<E>(
        &self,
        user: &User,
        key: &str,
        name: &str,
        length: Option<u64>,
        content: impl Stream<Item = Result<Bytes, E>> + Send + Unpin,
    ) -> Result<DocumentView> {
        if length.is_some_and(|length| length > DOCUMENT_BYTES) {
            return Err(Error::TooLarge);
        }
        let collection = self.find_collection(user.id, key).await?.id;
        let job = self.0.store.begin_upload(user.id, collection).await?;
        let done = self.arrive(user, collection, job, name, content).await;
        // The content that arrived is dropped. If the server is killed here, or the store fails, the next start removes it.
        if done.is_err()
            && let Err(error) = self.0.store.drop_job(job).await
        {
            tracing::warn!(%error, job = job.0, "an upload that failed stays in the database until the next start");
        }
        done
    }

    async fn arrive<E>(
        &self,
        user: &User,
        collection: CollectionId,
        job: JobId,
        name: &str,
        mut content: impl Stream<Item = Result<Bytes, E>> + Send + Unpin,
    ) -> Result<DocumentView> {
        let (mut part, mut parts, mut size) = (Vec::new(), 0, 0_u64);
        while let Some(piece) = content.next().await {
            let piece = piece.map_err(|_| Error::Broken)?;
            size += piece.len() as u64;
            if size > DOCUMENT_BYTES {
                return Err(Error::TooLarge);
            }
            part.extend_from_slice(&piece);
            if part.len() >= PART_BYTES {
                self.0.store.add_upload_part(job, parts, &part).await?;
                part.clear();
                parts += 1;
            }
        }
        self.0.store.add_upload_part(job, parts, &part).await?;
        fault(Point::Uploaded);
        let size = i64::try_from(size).unwrap_or(i64::MAX);
        let document = self.0.store.finish_upload(user.id, collection, job, name, size).await?;
        self.0.wake.notify_one();
        Ok(document_view(self.0.store.document(user.id, document).await?))
    }
}
