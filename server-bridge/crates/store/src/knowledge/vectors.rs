//! Vectors of passages, keyed by the model that made them.

use sqlx::{AssertSqlSafe, FromRow};

use super::search::Scope as SearchScope;
use super::visible;
use crate::error::Result;
use crate::limits::rows;
use crate::sql::{Scope, query, query_as, query_scalar};
use crate::{ChunkId, Store, UserId};

/// A model that made vectors.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct EmbeddingModel {
    /// The id.
    pub id: i64,
    /// Its name, which includes every setting that its vectors depend on.
    pub name: String,
    /// The dimensions of its vectors.
    pub dimensions: i64,
    /// When it was first used, in Unix milliseconds.
    pub created_at_ms: i64,
}

impl Store {
    /// The model with this name, added if it is new.
    ///
    /// # Errors
    /// [`Error::Database`](crate::Error::Database).
    pub async fn embedding_model(&self, name: &str, dimensions: i64) -> Result<EmbeddingModel> {
        let mut transaction = self.database.write(Scope::System).await?;
        query(
            "INSERT INTO embedding_models (name, dimensions, created_at_ms) VALUES ($1, $2, $3) ON CONFLICT (name) DO NOTHING",
        )
        .bind(name)
        .bind(dimensions)
        .bind(self.now_ms())
        .execute(&mut transaction)
        .await?;
        let model =
            query_as("SELECT id, name, dimensions, created_at_ms FROM embedding_models WHERE name = $1")
                .bind(name)
                .fetch_one(&mut transaction)
                .await?;
        transaction.commit().await?;
        Ok(model)
    }

    /// Passages of present versions without a vector of this model, the oldest first, each with its owner.
    ///
    /// # Errors
    /// [`Error::Database`](crate::Error::Database).
    pub async fn passages_without_vector(&self, model: i64, limit: u32) -> Result<Vec<(ChunkId, UserId)>> {
        let passages = query_as(
            "SELECT k.id, c.user_id FROM chunks k JOIN documents d ON d.id = k.document_id AND d.version = k.version
             JOIN collections c ON c.id = d.collection_id
             WHERE NOT EXISTS (SELECT 1 FROM embeddings e WHERE e.chunk_id = k.id AND e.model_id = $1) ORDER BY k.id LIMIT $2",
        );
        Ok(passages.bind(model).bind(rows(limit)).fetch_all(self.database.reader()).await?)
    }

    /// Stores vectors of passages; those of passages that no longer exist are dropped.
    ///
    /// # Errors
    /// [`Error::Database`](crate::Error::Database).
    pub async fn add_vectors(&self, model: i64, vectors: &[(ChunkId, Vec<u8>)]) -> Result<()> {
        let mut transaction = self.database.write(Scope::Alone).await?;
        for (chunk, vector) in vectors {
            query(
                "INSERT INTO embeddings (chunk_id, model_id, vector)
                 SELECT k.id, $2, $3 FROM chunks k WHERE k.id = $1
                 ON CONFLICT (chunk_id, model_id) DO UPDATE SET vector = excluded.vector",
            )
            .bind(*chunk)
            .bind(model)
            .bind(vector.as_slice())
            .execute(&mut transaction)
            .await?;
        }
        transaction.commit().await?;
        Ok(())
    }

    /// One batch of a model's vectors, for passages that a user may search: those after the passage `after`, sorted by passage.
    ///
    /// # Errors
    /// [`Error::Database`](crate::Error::Database).
    pub async fn vectors(
        &self,
        user: UserId,
        scope: &SearchScope,
        model: i64,
        after: ChunkId,
        limit: u32,
    ) -> Result<Vec<(ChunkId, Vec<u8>)>> {
        let sql = format!(
            "SELECT k.id, e.vector FROM embeddings e JOIN chunks k ON k.id = e.chunk_id {} WHERE e.model_id = $3 AND k.id > $4
             ORDER BY k.id LIMIT $5",
            super::search::IN_SCOPE
        );
        let vectors = query_as(AssertSqlSafe(sql)).bind(user).bind(scope.listed()).bind(model).bind(after);
        Ok(vectors.bind(rows(limit)).fetch_all(self.database.reader()).await?)
    }

    /// The number of passages that a user may search, and how many of them have a vector of this model.
    ///
    /// # Errors
    /// [`Error::Database`](crate::Error::Database).
    pub async fn vector_counts(&self, user: UserId, model: i64) -> Result<(i64, i64)> {
        let counts = query_as(concat!(
            "SELECT COUNT(*), COUNT(e.chunk_id) FROM chunks k
             JOIN documents d ON d.id = k.document_id AND d.version = k.version JOIN collections c ON c.id = d.collection_id
             LEFT JOIN embeddings e ON e.chunk_id = k.id AND e.model_id = $2 WHERE ",
            visible!()
        ));
        Ok(counts.bind(user).bind(model).fetch_one(self.database.reader()).await?)
    }

    /// Removes the vectors of all other models, if this model has a vector for every passage.
    ///
    /// # Errors
    /// [`Error::Database`](crate::Error::Database).
    pub async fn remove_other_vectors(&self, model: i64) -> Result<()> {
        let left: i64 = query_scalar("SELECT COUNT(*) FROM embedding_models WHERE id <> $1")
            .bind(model)
            .fetch_one(self.database.reader())
            .await?;
        if left > 0 {
            let others = query("DELETE FROM embedding_models WHERE id <> $1").bind(model);
            others.execute(self.database.writer(Scope::System)).await?;
        }
        Ok(())
    }
}
