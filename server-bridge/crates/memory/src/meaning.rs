//! Finds memories by meaning: the server's embedder gives each memory a vector, and a question is compared with these. Without an
//! embedder, memories are found only by words.

use std::sync::{Arc, OnceLock};

use llm::embed::{Embedders, Guarded};
use search::vectors::Vector;
use store::{BareMemory, EmbeddingModel, MemoryHolder, Store};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::limits::{ABOVE_MEAN, COMPARED_MEMORIES, EMBED_BATCH, EMBED_PAUSE};

/// The vectors of all memories. Cheap to clone; all clones share the same state.
#[derive(Clone)]
pub struct Meaning {
    store: Store,
    embedders: Arc<OnceLock<Embedders>>,
}

impl Meaning {
    /// The vectors in this store; without an embedder until one is set.
    #[must_use]
    pub fn new(store: Store) -> Self {
        Self { store, embedders: Arc::default() }
    }

    /// Sets the source of the server's embedder. Only the first call has an effect.
    pub fn set_embedders(&self, embedders: Embedders) {
        let _ = self.embedders.set(embedders);
    }

    /// The ids of a holder's memories that are close to a question in meaning, the nearest first. Empty without an embedder, while it is
    /// unavailable, and if there are too few memories to decide what is near.
    pub async fn nearest(&self, holder: impl Into<MemoryHolder>, question: &str) -> Vec<i64> {
        let scores = self.compared(holder.into(), question).await;
        if scores.len() < COMPARED_MEMORIES { Vec::new() } else { near(&scores) }
    }

    /// The ids of a holder's memories by the distance of their meaning from a text, the nearest first, with no limit on the distance.
    /// Empty without an embedder, and while it is unavailable.
    pub async fn by_distance(&self, holder: impl Into<MemoryHolder>, text: &str) -> Vec<i64> {
        let mut scores = self.compared(holder.into(), text).await;
        scores.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
        scores.into_iter().map(|(id, _)| id).collect()
    }

    async fn compared(&self, holder: MemoryHolder, question: &str) -> Vec<(i64, f32)> {
        self.scores(holder, question).await.unwrap_or_else(|error| {
            tracing::error!(%error, "memories could not be compared with a text");
            Vec::new()
        })
    }

    async fn scores(&self, holder: MemoryHolder, question: &str) -> store::Result<Vec<(i64, f32)>> {
        let none = Ok(Vec::new());
        let Some(embedder) = self.embedder().await else { return none };
        let Some(model) = self.model(&embedder).await? else { return none };
        let stored = self.store.memory_vectors(holder, model.id).await?;
        if stored.is_empty() || question.trim().is_empty() {
            return none;
        }
        let Ok(question) = embedder.query(question).await else { return none };
        let score = |bytes: &[u8]| Vector::stored(bytes).and_then(|vector| question.cosine(&vector)).ok();
        Ok(stored.iter().filter_map(|(id, bytes)| Some((*id, score(bytes)?))).collect())
    }

    /// Embeds memories until `shutdown` is cancelled: the existing ones, then each one that is added or changed.
    pub async fn run(&self, shutdown: CancellationToken) {
        let work = async {
            loop {
                if let Err(error) = self.embed_all().await {
                    tracing::error!(%error, "memories could not be embedded; the server tries again");
                }
                sleep(EMBED_PAUSE).await;
            }
        };
        tokio::select! {
            () = work => {}
            () = shutdown.cancelled() => {}
        }
    }

    /// Embeds all memories without a vector; ends early if the embedder is unavailable.
    ///
    /// # Errors
    /// [`store::Error::Database`].
    pub async fn embed_all(&self) -> store::Result<()> {
        let Some(embedder) = self.embedder().await else { return Ok(()) };
        let mut model = self.model(&embedder).await?;
        let mut after = 0;
        while embedder.rest().left().is_none() {
            let id = model.as_ref().map_or(0, |model| model.id);
            let bare = self.store.bare_memories(id, after, EMBED_BATCH).await?;
            let Some(last) = bare.last() else { break };
            after = last.id;
            let dimensions = model.as_ref().and_then(|model| usize::try_from(model.dimensions).ok());
            let texts = bare.iter().map(text_of).collect();
            let Ok(vectors) = embedder.passages(texts, dimensions).await else { break };
            if let (None, Some(first)) = (&model, vectors.iter().flatten().next()) {
                let dimensions = i64::try_from(first.dimensions()).unwrap_or(i64::MAX);
                let new = self.store.embedding_model(embedder.model(), dimensions, embedder.setting());
                let new = new.await?;
                if new.dimensions != dimensions {
                    break;
                }
                model = Some(new);
            }
            let Some(model) = &model else { break };
            let made = bare.iter().zip(vectors);
            let made: Vec<_> =
                made.filter_map(|(one, vector)| Some((one.id, one.revision, vector?.bytes()))).collect();
            self.store.add_memory_vectors(model.id, &made).await?;
        }
        Ok(())
    }

    async fn embedder(&self) -> Option<Guarded> {
        self.embedders.get()?(None).await.ok().flatten()
    }

    async fn model(&self, embedder: &Guarded) -> store::Result<Option<EmbeddingModel>> {
        let models = self.store.embedding_models().await?;
        Ok(models.into_iter().find(|model| model.name == embedder.model()))
    }
}

fn text_of(memory: &BareMemory) -> String {
    if memory.name.is_empty() { memory.text.clone() } else { format!("{}: {}", memory.name, memory.text) }
}

/// The items that stand out, the nearest first. Models differ in how alike they find texts that have nothing in common, so a score is
/// measured by how far it is above the mean of all, as a share of the distance from the mean to 1.
fn near(scores: &[(i64, f32)]) -> Vec<i64> {
    #[expect(clippy::cast_precision_loss, reason = "there are at most 1,200")]
    let mean = scores.iter().map(|(_, score)| score).sum::<f32>() / (scores.len().max(1) as f32);
    let mut near: Vec<_> =
        scores.iter().filter(|(_, score)| score - mean > ABOVE_MEAN * (1.0 - mean)).collect();
    near.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
    near.into_iter().map(|(id, _)| *id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_out_is_near_whatever_the_scale_of_the_model() {
        let of = |scores: &[f32]| near(&(0..).zip(scores.iter().copied()).collect::<Vec<_>>());
        // Scores as multilingual-e5-small gives them, and those of a model with another scale.
        assert_eq!(of(&[0.76, 0.75, 0.82, 0.77, 0.81, 0.74]), [2, 4]);
        assert_eq!(of(&[0.05, 0.10, 0.45, 0.12, 0.02]), [2]);
        assert!(of(&[0.77, 0.76, 0.78, 0.77, 0.775]).is_empty(), "nothing stands out");
        assert!(of(&[]).is_empty() && of(&[0.9]).is_empty());
    }
}
