//! Writes a new version of a document, and reads passages of the current one.

use search::limits::ANALYSIS;
use sqlx::FromRow;

use super::documents::DocumentState;
use super::jobs::{IndexJob, end};
use super::visible;
use crate::error::Result;
use crate::limits::{DOCUMENT_NOTE_MAX_BYTES, SWEEP_ROWS};
use crate::sql::{Scope, Transaction, query, query_as, query_scalar};
use crate::{ChunkId, CollectionId, DocumentId, JobId, Store, UserId};

/// A page of the version that a job makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewPage {
    /// The page's number, from 1.
    pub page: i64,
    /// The name of the page's sheet; empty for documents without sheets.
    pub title: String,
    /// The text of the page.
    pub text: String,
    /// The page's passages, in order.
    pub passages: Vec<NewPassage>,
}

/// A passage of a new page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewPassage {
    /// The offset of its first byte in the page's text.
    pub start: i64,
    /// The offset after its last byte in the page's text.
    pub end: i64,
    /// The headings above it, one per line.
    pub headings: String,
    /// The words of the passage in order, separated by spaces, as crate `search` makes them.
    pub words: String,
    /// The stems and whole identifiers of the passage, separated by spaces.
    pub others: String,
}

/// The properties of a complete version that is to be published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Published<'a> {
    /// The kind of the document, such as `pdf`.
    pub kind: &'a str,
    /// The number of the document's pages.
    pub pages: i64,
    /// The SHA-256 of the document's content, in hex.
    pub sha256: &'a str,
    /// The size of the document's content, in bytes.
    pub size_bytes: i64,
    /// When the file was last changed, in Unix milliseconds; 0 for an upload.
    pub modified_ms: i64,
    /// A note about the document; empty if there is none.
    pub note: &'a str,
}

/// A passage of a document that a user may search.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct Passage {
    /// The passage's id.
    pub id: ChunkId,
    /// The id of its document.
    pub document_id: DocumentId,
    /// The name of its document.
    pub document: String,
    /// The id of its collection.
    pub collection_id: CollectionId,
    /// The name of its collection.
    pub collection: String,
    /// The number of its page.
    pub page: i64,
    /// The name of the page's sheet; empty for documents without sheets.
    pub title: String,
    /// The offset of its first byte in the page's text.
    pub span_start: i64,
    /// The offset after its last byte in the page's text.
    pub span_end: i64,
    /// The headings above it, one per line.
    pub headings: String,
    /// The text of the whole page.
    pub page_text: String,
}

impl Passage {
    /// The text of the passage.
    pub fn text(&self) -> &str {
        part(&self.page_text, self.span_start, self.span_end)
    }
}

/// The bytes of a page's text from `start` to before `end`; empty if the range is not valid.
pub(super) fn part(text: &str, start: i64, end: i64) -> &str {
    let span = usize::try_from(start).ok().zip(usize::try_from(end).ok());
    span.and_then(|(start, end)| text.get(start..end)).unwrap_or_default()
}

impl Store {
    /// Adds pages to the version that a job makes; they are not read before the version is published. Returns false if the job was deleted because
    /// the document was removed or has newer content.
    ///
    /// # Errors
    /// [`Error::Database`](crate::Error::Database).
    pub async fn add_pages(&self, job: &IndexJob, pages: &[NewPage]) -> Result<bool> {
        let Some(document) = job.document_id else { return Ok(false) };
        let mut transaction = self.database.write(Scope::User(job.user_id)).await?;
        let is_there: bool = query_scalar("SELECT EXISTS (SELECT 1 FROM index_jobs WHERE id = $1)")
            .bind(job.id)
            .fetch_one(&mut transaction)
            .await?;
        if !is_there {
            return Ok(false);
        }
        insert_pages(&mut transaction, document, job.id, pages).await?;
        transaction.commit().await?;
        Ok(true)
    }

    /// Publishes the version of a job, in one transaction; returns false if the job was deleted.
    ///
    /// # Errors
    /// [`Error::Database`](crate::Error::Database).
    pub async fn publish(&self, job: &IndexJob, published: &Published<'_>) -> Result<bool> {
        self.publish_with(job, &[], published).await
    }

    /// Adds the last pages to the version of a job and publishes it, in one transaction; returns false if the job was deleted.
    ///
    /// # Errors
    /// [`Error::Database`](crate::Error::Database).
    pub async fn publish_with(
        &self,
        job: &IndexJob,
        last_pages: &[NewPage],
        published: &Published<'_>,
    ) -> Result<bool> {
        let Some(document) = job.document_id else { return Ok(false) };
        let mut transaction = self.database.write(Scope::User(job.user_id)).await?;
        if !end(&mut transaction, job.id).await? {
            return Ok(false);
        }
        insert_pages(&mut transaction, document, job.id, last_pages).await?;
        query(
            "UPDATE documents SET state = $2, note = $3, version = $4, kind = $5, pages = $6, sha256 = $7, size_bytes = $8,
               modified_ms = $9, updated_at_ms = $10, analysis = $11 WHERE id = $1",
        )
        .bind(document)
        .bind(DocumentState::Ready.as_str())
        .bind(&published.note[..published.note.floor_char_boundary(DOCUMENT_NOTE_MAX_BYTES)])
        .bind(job.id)
        .bind(published.kind)
        .bind(published.pages)
        .bind(published.sha256)
        .bind(published.size_bytes)
        .bind(published.modified_ms)
        .bind(self.now_ms())
        .bind(ANALYSIS)
        .execute(&mut transaction)
        .await?;
        transaction.commit().await?;
        Ok(true)
    }

    /// Removes the rows of all versions of a user's document except the current one, in batches.
    ///
    /// # Errors
    /// [`Error::Fenced`](crate::Error::Fenced) at a node that is not the user's home: there, such rows may be those that the home is writing.
    /// [`Error::Database`](crate::Error::Database).
    pub async fn sweep_versions(&self, user: UserId, document: DocumentId) -> Result<()> {
        for sql in [
            "DELETE FROM chunks WHERE id IN (SELECT k.id FROM chunks k JOIN documents d ON d.id = k.document_id
               WHERE k.document_id = $1 AND k.version <> d.version LIMIT $2)",
            "DELETE FROM document_pages WHERE document_id = $1 AND (version, page) IN (SELECT p.version, p.page FROM document_pages p
               JOIN documents d ON d.id = p.document_id WHERE p.document_id = $1 AND p.version <> d.version LIMIT $2)",
        ] {
            loop {
                let gone = query(sql).bind(document).bind(SWEEP_ROWS);
                let gone = gone.execute(self.database.writer(Scope::User(user))).await?.rows_affected();
                if gone < SWEEP_ROWS.unsigned_abs() {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Removes incomplete data that a killed server left: versions that were not published, and uploads that did not arrive in full.
    ///
    /// # Errors
    /// [`Error::Database`](crate::Error::Database).
    pub async fn recover_index(&self, user: Option<UserId>) -> Result<()> {
        query(
            "DELETE FROM index_jobs
             WHERE NOT is_ready AND (CAST($1 AS BIGINT) IS NULL OR collection_id IN (SELECT c.id FROM collections c WHERE c.user_id = $1))",
        )
        .bind(user)
        .execute(self.database.writer(Scope::System))
        .await?;
        let half: Vec<(UserId, DocumentId)> = query_as(
            "SELECT c.user_id, d.id FROM documents d JOIN collections c ON c.id = d.collection_id
             WHERE (CAST($1 AS BIGINT) IS NULL OR c.user_id = $1) AND (EXISTS (SELECT 1 FROM chunks k WHERE k.document_id = d.id AND k.version <> d.version)
               OR EXISTS (SELECT 1 FROM document_pages p WHERE p.document_id = d.id AND p.version <> d.version))",
        )
        .bind(user)
        .fetch_all(self.database.latest())
        .await?;
        for (owner, document) in half {
            self.sweep_versions(owner, document).await?;
        }
        Ok(())
    }

    /// A passage by its id, if it belongs to the current version and the user may search its collection.
    ///
    /// # Errors
    /// [`Error::Database`](crate::Error::Database).
    pub async fn passage(&self, user: UserId, id: ChunkId) -> Result<Option<Passage>> {
        let passage = query_as(concat!(
            "SELECT k.id, k.document_id, d.name AS document, c.id AS collection_id, c.name AS collection, k.page, p.title,
               k.span_start, k.span_end, k.headings, p.text AS page_text
             FROM chunks k JOIN documents d ON d.id = k.document_id AND d.version = k.version
             JOIN document_pages p ON p.document_id = k.document_id AND p.version = k.version AND p.page = k.page
             JOIN collections c ON c.id = d.collection_id WHERE ",
            visible!(),
            " AND k.id = $2"
        ));
        Ok(passage.bind(user).bind(id).fetch_optional(self.database.reader()).await?)
    }
}

/// The number of passages that one statement inserts.
const PASSAGES_AT_ONCE: usize = 16;
const INSERT_PASSAGE: &str =
    "INSERT INTO chunks (document_id, version, page, span_start, span_end, headings, words, others)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
/// Like [`INSERT_PASSAGE`], but for [`PASSAGES_AT_ONCE`] passages.
const INSERT_PASSAGES: &str =
    "INSERT INTO chunks (document_id, version, page, span_start, span_end, headings, words, others) VALUES
     ($1, $2, $3, $4, $5, $6, $7, $8), ($1, $2, $9, $10, $11, $12, $13, $14),
     ($1, $2, $15, $16, $17, $18, $19, $20), ($1, $2, $21, $22, $23, $24, $25, $26),
     ($1, $2, $27, $28, $29, $30, $31, $32), ($1, $2, $33, $34, $35, $36, $37, $38),
     ($1, $2, $39, $40, $41, $42, $43, $44), ($1, $2, $45, $46, $47, $48, $49, $50),
     ($1, $2, $51, $52, $53, $54, $55, $56), ($1, $2, $57, $58, $59, $60, $61, $62),
     ($1, $2, $63, $64, $65, $66, $67, $68), ($1, $2, $69, $70, $71, $72, $73, $74),
     ($1, $2, $75, $76, $77, $78, $79, $80), ($1, $2, $81, $82, $83, $84, $85, $86),
     ($1, $2, $87, $88, $89, $90, $91, $92), ($1, $2, $93, $94, $95, $96, $97, $98)";

async fn insert_pages(
    transaction: &mut Transaction,
    document: DocumentId,
    version: JobId,
    pages: &[NewPage],
) -> Result<()> {
    for page in pages {
        query("INSERT INTO document_pages (document_id, version, page, title, text) VALUES ($1, $2, $3, $4, $5)")
            .bind(document)
            .bind(version)
            .bind(page.page)
            .bind(page.title.as_str())
            .bind(page.text.as_str())
            .execute(&mut *transaction)
            .await?;
    }
    let passages: Vec<(i64, &NewPassage)> =
        pages.iter().flat_map(|page| page.passages.iter().map(|passage| (page.page, passage))).collect();
    let mut rest = passages.as_slice();
    while !rest.is_empty() {
        let (sql, count) = match rest.len() >= PASSAGES_AT_ONCE {
            true => (INSERT_PASSAGES, PASSAGES_AT_ONCE),
            false => (INSERT_PASSAGE, 1),
        };
        let (these, others) = rest.split_at(count);
        let mut insert = query(sql).bind(document).bind(version);
        for (page, passage) in these {
            insert = insert
                .bind(*page)
                .bind(passage.start)
                .bind(passage.end)
                .bind(passage.headings.as_str())
                .bind(passage.words.as_str())
                .bind(passage.others.as_str());
        }
        insert.execute(&mut *transaction).await?;
        rest = others;
    }
    Ok(())
}
