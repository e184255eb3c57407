//! Replaces the words of passages that an older version of the analysis made; the passages themselves stay as they are.

use search::limits::ANALYSIS;
use sqlx::FromRow;

use super::vectors::BarePassage;
use crate::error::Result;
use crate::homes::at_home;
use crate::sql::{Scope, query, query_as};
use crate::{ChunkId, DocumentId, Store, UserId};

/// A document whose words are out of date.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct OutdatedDocument {
    /// The document's id.
    pub id: DocumentId,
    /// The owner of its collection.
    pub user_id: UserId,
    /// The version that is searched.
    pub version: i64,
}

/// The new words of a passage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewWords {
    /// The passage's id.
    pub id: ChunkId,
    /// The words in order, as in [`NewPassage::words`](super::NewPassage::words).
    pub words: String,
    /// The stems and whole identifiers, as in [`NewPassage::others`](super::NewPassage::others).
    pub others: String,
}

impl Store {
    /// The first document after `after` whose words an older version of the analysis made; `None` if there is none.
    ///
    /// # Errors
    /// [`Error::Database`](crate::Error::Database).
    pub async fn outdated_document(&self, after: DocumentId) -> Result<Option<OutdatedDocument>> {
        let document = query_as(concat!(
            "SELECT d.id, c.user_id, d.version FROM documents d JOIN collections c ON c.id = d.collection_id
             WHERE d.id > $1 AND d.version > 0 AND d.analysis < $2 AND ",
            at_home!("c.user_id", "$3"),
            " ORDER BY d.id LIMIT 1"
        ));
        let document = document.bind(after).bind(ANALYSIS).bind(self.database.node_id());
        Ok(document.fetch_optional(self.database.latest()).await?)
    }

    /// The passages of a document's version after `after`, at most `limit`.
    ///
    /// # Errors
    /// [`Error::Database`](crate::Error::Database).
    pub async fn passages_of(
        &self,
        document: &OutdatedDocument,
        after: ChunkId,
        limit: u32,
    ) -> Result<Vec<BarePassage>> {
        let passages = query_as(
            "SELECT k.id, k.document_id, k.version, d.name AS document, k.headings, k.span_start, k.span_end, p.text AS page_text
             FROM documents d JOIN chunks k ON k.document_id = d.id AND k.version = d.version
             JOIN document_pages p ON p.document_id = k.document_id AND p.version = k.version AND p.page = k.page
             WHERE d.id = $1 AND d.version = $2 AND k.id > $3 ORDER BY k.id LIMIT $4",
        );
        let passages = passages.bind(document.id).bind(document.version).bind(after).bind(i64::from(limit));
        Ok(passages.fetch_all(self.database.latest()).await?)
    }

    /// Replaces the words of passages; skips passages that no longer exist.
    ///
    /// # Errors
    /// [`Error::Database`](crate::Error::Database).
    pub async fn replace_words(&self, user: UserId, passages: &[NewWords]) -> Result<()> {
        let mut transaction = self.database.write(Scope::User(user)).await?;
        for NewWords { id, words, others } in passages {
            query("UPDATE chunks SET words = $2, others = $3 WHERE id = $1")
                .bind(*id)
                .bind(words.as_str())
                .bind(others.as_str())
                .execute(&mut transaction)
                .await?;
        }
        transaction.commit().await?;
        Ok(())
    }

    /// Records that all words of a version are up to date.
    ///
    /// # Errors
    /// [`Error::Database`](crate::Error::Database).
    pub async fn set_analysed(&self, document: &OutdatedDocument) -> Result<()> {
        query("UPDATE documents SET analysis = $3 WHERE id = $1 AND version = $2")
            .bind(document.id)
            .bind(document.version)
            .bind(ANALYSIS)
            .execute(self.database.writer(Scope::User(document.user_id)))
            .await?;
        Ok(())
    }
}
