//! Vectors of memories, keyed by the model that made them. A vector counts only for the revision of the text from which it was made.

use sqlx::FromRow;

use crate::error::Result;
use crate::sql::{Scope, query, query_as};
use crate::{MemoryHolder, Store};

/// A memory that does not have a vector of the given model yet.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct BareMemory {
    /// The memory's id.
    pub id: i64,
    /// The revision number of its text.
    pub revision: i64,
    /// The memory's name; may be empty.
    pub name: String,
    /// The text of the memory.
    pub text: String,
}

impl Store {
    /// Memories and proposals with ids above `after` that have no vector of this model, the lowest ids first. Core blocks need no vectors, because
    /// they are part of every prompt.
    ///
    /// # Errors
    /// [`Error::Database`](crate::Error::Database).
    pub async fn bare_memories(&self, model: i64, after: i64, limit: u32) -> Result<Vec<BareMemory>> {
        let memories = query_as(
            "SELECT i.id, i.revision, i.name, i.text FROM memory_items i WHERE i.id > $2 AND i.kind <> 'core' AND NOT EXISTS
               (SELECT 1 FROM memory_embeddings e WHERE e.item_id = i.id AND e.model_id = $1 AND e.revision = i.revision)
             ORDER BY i.id LIMIT $3",
        );
        let memories = memories.bind(model).bind(after).bind(i64::from(limit));
        Ok(memories.fetch_all(self.database.latest()).await?)
    }

    /// Stores vectors of memories, each with its id and revision; skips those whose memory or revision no longer exists.
    ///
    /// # Errors
    /// [`Error::Database`](crate::Error::Database).
    pub async fn add_memory_vectors(&self, model: i64, vectors: &[(i64, i64, Vec<u8>)]) -> Result<()> {
        let mut transaction = self.database.write(Scope::Alone).await?;
        for (item, revision, vector) in vectors {
            query(
                "INSERT INTO memory_embeddings (item_id, model_id, revision, vector)
                 SELECT i.id, m.id, i.revision, $4 FROM memory_items i JOIN embedding_models m ON m.id = $2
                 WHERE i.id = $1 AND i.revision = $3
                 ON CONFLICT (item_id, model_id) DO UPDATE SET revision = excluded.revision, vector = excluded.vector",
            )
            .bind(*item)
            .bind(model)
            .bind(*revision)
            .bind(vector.as_slice())
            .execute(&mut transaction)
            .await?;
        }
        transaction.commit().await?;
        Ok(())
    }

    /// The vectors that one model made of a holder's memories, by their ids. There are at most 1,200.
    ///
    /// # Errors
    /// [`Error::Database`](crate::Error::Database).
    pub async fn memory_vectors(&self, holder: MemoryHolder, model: i64) -> Result<Vec<(i64, Vec<u8>)>> {
        let vectors = query_as(
            "SELECT i.id, e.vector FROM memory_items i JOIN memory_embeddings e ON e.item_id = i.id AND e.revision = i.revision
             WHERE i.user_id = $1 AND e.model_id = $2 AND COALESCE(i.agent_id, 0) = $3 ORDER BY i.id",
        );
        Ok(vectors
            .bind(holder.user)
            .bind(model)
            .bind(holder.agent_id())
            .fetch_all(self.database.reader())
            .await?)
    }
}
