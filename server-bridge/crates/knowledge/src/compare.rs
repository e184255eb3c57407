//! Finding passages by meaning: the vector of the question is compared with those of the passages. If anything fails, the
//! search continues with words alone and adds a note for the user.

use std::sync::Arc;

use llm::embed::Guarded;
use store::{ChunkId, CollectionId, EmbeddingModel, SearchScope, UserId};
use tokio::time::timeout;

use crate::limits::{MEANING_TIMEOUT, RANKED};
use crate::meaning::Problem;
use crate::service::Knowledge;

/// Passages that were found by meaning, and notes for the user about that search.
#[derive(Debug, Default)]
pub(crate) struct ByMeaning {
    pub(crate) ranked: Vec<ChunkId>,
    pub(crate) notes: Vec<String>,
}

const LATE: &str = "found by words only: comparing the question with all passages took too long";

impl Knowledge {
    /// The passages whose meaning is the nearest to that of a question, among those that the user may search.
    pub(crate) async fn by_meaning(&self, user: UserId, scope: &SearchScope, question: &str) -> ByMeaning {
        match timeout(MEANING_TIMEOUT, self.compared(user, scope, question)).await {
            Ok(Ok(found)) => found,
            Ok(Err(error)) => {
                tracing::error!(%error, "a search by meaning failed");
                ByMeaning { notes: vec![Problem::Unusable.note().to_owned()], ..ByMeaning::default() }
            }
            Err(_) => ByMeaning { notes: vec![LATE.to_owned()], ..ByMeaning::default() },
        }
    }

    async fn compared(&self, user: UserId, scope: &SearchScope, question: &str) -> store::Result<ByMeaning> {
        let without = |problem: Problem| {
            Ok(ByMeaning { notes: vec![problem.note().to_owned()], ..ByMeaning::default() })
        };
        let collections = self.0.store.searched_collections(user, scope).await?;
        let models = self.0.store.embedding_models().await?;
        let now = match (self.0.meaning.embedders)(None).await {
            Ok(Some(embedder)) => embedder,
            Ok(None) => return Ok(ByMeaning::default()),
            Err(_) => return without(Problem::Unusable),
        };
        if collections.is_empty() || question.trim().is_empty() {
            return Ok(ByMeaning::default());
        }
        let present = models.iter().find(|model| model.name == now.model());
        // Until the present model has all vectors, the one before it answers.
        let before = models.iter().find(|model| model.is_complete && model.name != now.model());
        if let Some(model) = before.filter(|_| !present.is_some_and(|model| model.is_complete))
            && let Ok(Some(embedder)) = (self.0.meaning.embedders)(Some(model.chosen.clone())).await
            && embedder.model() == model.name
            && let Ok(ranked) = self.nearest(&embedder, model, &collections, question).await?
        {
            return Ok(ByMeaning { ranked, notes: Vec::new() });
        }
        let Some(present) = present else {
            let failure = now.rest().failure();
            return match failure {
                Some(error) => without(Problem::of(&error)),
                None => {
                    Ok(ByMeaning { notes: self.0.meaning.notes_of(&collections), ..ByMeaning::default() })
                }
            };
        };
        match self.nearest(&now, present, &collections, question).await? {
            Ok(ranked) => Ok(ByMeaning { ranked, notes: self.0.meaning.notes_of(&collections) }),
            Err(problem) => without(problem),
        }
    }

    async fn nearest(
        &self,
        embedder: &Guarded,
        model: &EmbeddingModel,
        collections: &[CollectionId],
        question: &str,
    ) -> store::Result<Result<Vec<ChunkId>, Problem>> {
        let question = match embedder.query(question).await {
            Ok(question) => Arc::new(question),
            Err(error) => return Ok(Err(Problem::of(&error))),
        };
        if usize::try_from(model.dimensions) != Ok(question.dimensions()) {
            return Ok(Err(Problem::Unusable));
        }
        let count = RANKED as usize;
        let cache = &self.0.meaning.cache;
        Ok(Ok(cache.nearest(&self.0.store, model.id, collections, &question, count).await?))
    }
}
