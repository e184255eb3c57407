//! Vectors of passages, keyed by the model that made them.

use sqlx::{AssertSqlSafe, FromRow};

use super::search::Scope as SearchScope;
use super::visible;
use crate::error::Result;
use crate::limits::{SWEEP_ROWS, VECTOR_ROWS};
use crate::sql::{Scope, query, query_as, query_scalar};
use crate::{ChunkId, CollectionId, DocumentId, Store, UserId};

/// A model that made vectors.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct EmbeddingModel {
    /// The model's id.
    pub id: i64,
    /// The model's name, which includes every setting that its vectors depend on.
    pub name: String,
    /// The number of dimensions of its vectors.
    pub dimensions: i64,
    /// The value of the server's setting that selected it.
    pub chosen: String,
    /// True once every passage that could be embedded had its vector.
    pub is_complete: bool,
    /// When it was first seen, in Unix milliseconds.
    pub created_at_ms: i64,
}

/// A passage that does not have a vector of the given model yet.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct BarePassage {
    /// The passage's id.
    pub id: ChunkId,
    /// The id of its document.
    pub document_id: DocumentId,
    /// The version of the document that it is part of.
    pub version: i64,
    /// The document's name.
    pub document: String,
    /// The headings above it, one per line.
    pub headings: String,
    /// The offset of its first byte in the page's text.
    pub span_start: i64,
    /// The offset after its last byte in the page's text.
    pub span_end: i64,
    /// The text of the whole page.
    pub page_text: String,
}

/// The vector of a passage.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct PassageVector {
    /// The passage's id.
    pub id: ChunkId,
    /// The id of its document.
    pub document_id: DocumentId,
    /// The version of the document that it is part of.
    pub version: i64,
    /// The vector: a signed byte for each dimension.
    pub vector: Vec<u8>,
}

/// The position of a passage among all passages of its collection. The default is before the first passage.
pub type PassagePlace = (DocumentId, ChunkId);

const MODELS: &str = "SELECT id, name, dimensions, chosen, is_complete, created_at_ms FROM embedding_models";

impl BarePassage {
    /// The text of the passage.
    pub fn text(&self) -> &str {
        super::passages::part(&self.page_text, self.span_start, self.span_end)
    }

    /// The position of the passage in its collection.
    pub fn place(&self) -> PassagePlace {
        (self.document_id, self.id)
    }
}

impl Store {
    /// The model with this name, added if it is new; `chosen` is the value of the setting that selects it now.
    ///
    /// # Errors
    /// [`Error::Database`](crate::Error::Database).
    pub async fn embedding_model(&self, name: &str, dimensions: i64, chosen: &str) -> Result<EmbeddingModel> {
        let mut transaction = self.database.write(Scope::System).await?;
        query(
            "INSERT INTO embedding_models (name, dimensions, chosen, is_complete, created_at_ms) VALUES ($1, $2, $3, FALSE, $4)
             ON CONFLICT (name) DO UPDATE SET chosen = excluded.chosen",
        )
        .bind(name)
        .bind(dimensions)
        .bind(chosen)
        .bind(self.now_ms())
        .execute(&mut transaction)
        .await?;
        let model = query_as(AssertSqlSafe(format!("{MODELS} WHERE name = $1")))
            .bind(name)
            .fetch_one(&mut transaction)
            .await?;
        transaction.commit().await?;
        Ok(model)
    }

    /// Stores the vectors of a model under another name, unless that name is taken.
    ///
    /// # Errors
    /// [`Error::Database`](crate::Error::Database).
    pub async fn rename_embedding_model(&self, model: i64, name: &str) -> Result<()> {
        query(
            "UPDATE embedding_models SET name = $2
             WHERE id = $1 AND NOT EXISTS (SELECT 1 FROM embedding_models m WHERE m.name = $2)",
        )
        .bind(model)
        .bind(name)
        .execute(self.database.writer(Scope::System))
        .await?;
        Ok(())
    }

    /// The models that made vectors, the oldest first.
    ///
    /// # Errors
    /// [`Error::Database`](crate::Error::Database).
    pub async fn embedding_models(&self) -> Result<Vec<EmbeddingModel>> {
        let models = query_as(AssertSqlSafe(format!("{MODELS} ORDER BY id")));
        Ok(models.fetch_all(self.database.reader()).await?)
    }

    /// Records that a model has the vectors of all passages, and removes the vectors of every other model.
    ///
    /// # Errors
    /// [`Error::Database`](crate::Error::Database).
    pub async fn complete_embedding_model(&self, model: i64) -> Result<()> {
        query("UPDATE embedding_models SET is_complete = TRUE WHERE id = $1 AND NOT is_complete")
            .bind(model)
            .execute(self.database.writer(Scope::System))
            .await?;
        let others = self.embedding_models().await?.into_iter().filter(|other| other.id != model);
        for other in others {
            self.remove_embedding_model(other.id).await?;
        }
        Ok(())
    }

    /// Removes a model with its vectors, in batches, so that others can write in between.
    ///
    /// # Errors
    /// [`Error::Database`](crate::Error::Database).
    pub async fn remove_embedding_model(&self, model: i64) -> Result<()> {
        loop {
            let gone = query(
                "DELETE FROM embeddings WHERE model_id = $1 AND chunk_id IN (SELECT chunk_id FROM embeddings WHERE model_id = $1 LIMIT $2)",
            )
            .bind(model)
            .bind(SWEEP_ROWS)
            .execute(self.database.writer(Scope::Alone))
            .await?;
            if gone.rows_affected() < SWEEP_ROWS.unsigned_abs() {
                break;
            }
        }
        let gone = query("DELETE FROM embedding_models WHERE id = $1").bind(model);
        gone.execute(self.database.writer(Scope::System)).await?;
        Ok(())
    }

    /// Every collection with its owner.
    ///
    /// # Errors
    /// [`Error::Database`](crate::Error::Database).
    pub async fn all_collections(&self) -> Result<Vec<(UserId, CollectionId)>> {
        let all = query_as("SELECT user_id, id FROM collections ORDER BY id");
        Ok(all.fetch_all(self.database.latest()).await?)
    }

    /// The number of passages of a collection that have no vector of this model.
    ///
    /// # Errors
    /// [`Error::Database`](crate::Error::Database).
    pub async fn bare_passage_count(&self, model: i64, collection: CollectionId) -> Result<i64> {
        let count = query_scalar(
            "SELECT COUNT(*) FROM documents d JOIN chunks k ON k.document_id = d.id AND k.version = d.version
             WHERE d.collection_id = $1
               AND NOT EXISTS (SELECT 1 FROM embeddings e WHERE e.chunk_id = k.id AND e.model_id = $2)",
        );
        Ok(count.bind(collection).bind(model).fetch_one(self.database.latest()).await?)
    }

    /// Passages of a collection without a vector of this model, after `after`, in the order of their positions.
    ///
    /// # Errors
    /// [`Error::Database`](crate::Error::Database).
    pub async fn bare_passages(
        &self,
        model: i64,
        collection: CollectionId,
        after: PassagePlace,
        limit: u32,
    ) -> Result<Vec<BarePassage>> {
        let passages = query_as(
            "SELECT k.id, k.document_id, k.version, d.name AS document, k.headings, k.span_start, k.span_end, p.text AS page_text
             FROM documents d JOIN chunks k ON k.document_id = d.id AND k.version = d.version
             JOIN document_pages p ON p.document_id = k.document_id AND p.version = k.version AND p.page = k.page
             WHERE d.collection_id = $1 AND d.id >= $3 AND (d.id > $3 OR k.id > $4)
               AND NOT EXISTS (SELECT 1 FROM embeddings e WHERE e.chunk_id = k.id AND e.model_id = $2)
             ORDER BY d.id, k.id LIMIT $5",
        );
        let passages = passages.bind(collection).bind(model).bind(after.0).bind(after.1);
        Ok(passages.bind(i64::from(limit)).fetch_all(self.database.latest()).await?)
    }

    /// Stores vectors of passages; skips those of passages that no longer exist.
    ///
    /// # Errors
    /// [`Error::Database`](crate::Error::Database).
    pub async fn add_vectors(&self, model: i64, vectors: &[PassageVector]) -> Result<()> {
        let mut transaction = self.database.write(Scope::Alone).await?;
        for PassageVector { id, vector, .. } in vectors {
            query(
                "INSERT INTO embeddings (chunk_id, model_id, vector)
                 SELECT k.id, m.id, $3 FROM chunks k JOIN embedding_models m ON m.id = $2 WHERE k.id = $1
                 ON CONFLICT (chunk_id, model_id) DO UPDATE SET vector = excluded.vector",
            )
            .bind(*id)
            .bind(model)
            .bind(vector.as_slice())
            .execute(&mut transaction)
            .await?;
        }
        transaction.commit().await?;
        Ok(())
    }

    /// The collections in scope that a user may search.
    ///
    /// # Errors
    /// [`Error::Database`](crate::Error::Database).
    pub async fn searched_collections(&self, user: UserId, scope: &SearchScope) -> Result<Vec<CollectionId>> {
        let found = query_scalar(concat!(
            "SELECT c.id FROM collections c WHERE ($2 = '' OR $2 LIKE '%,' || CAST(c.id AS TEXT) || ',%') AND ",
            visible!(),
            " ORDER BY c.id"
        ));
        Ok(found.bind(user).bind(scope.listed()).fetch_all(self.database.reader()).await?)
    }

    /// The vectors that one model made of a collection's passages, at most 4,096, after a position, in the order of the positions. The caller has
    /// checked with [`Store::searched_collections`] that the user may search the collection.
    ///
    /// # Errors
    /// [`Error::Database`](crate::Error::Database).
    pub async fn collection_vectors(
        &self,
        model: i64,
        collection: CollectionId,
        after: PassagePlace,
    ) -> Result<Vec<PassageVector>> {
        let vectors = query_as(
            "SELECT k.id, k.document_id, k.version, e.vector
             FROM documents d JOIN chunks k ON k.document_id = d.id AND k.version = d.version
             JOIN embeddings e ON e.chunk_id = k.id AND e.model_id = $2
             WHERE d.collection_id = $1 AND d.id >= $3 AND (d.id > $3 OR k.id > $4) ORDER BY d.id, k.id LIMIT $5",
        );
        let vectors = vectors.bind(collection).bind(model).bind(after.0).bind(after.1).bind(VECTOR_ROWS);
        Ok(vectors.fetch_all(self.database.reader()).await?)
    }
}
