//! The state that searches, the embedding worker and the lists of collections share: the embedder, the vectors in memory,
//! and the notes for users about passages without vectors.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use llm::embed::{Embedders, Error as EmbedError};
use store::{ChunkId, CollectionId, DocumentId, Store, UserId};
use tokio::sync::Notify;

use crate::cache::Cache;
use crate::limits::{CACHE_BYTES, REFUSED_PASSAGES};

/// The reason why a search by meaning cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Problem {
    /// The file of the built-in embedder is missing.
    Absent,
    /// The embedder failed, and may answer a little later.
    Silent,
    /// The embedder's answers are unusable, or it cannot be asked at all.
    Unusable,
}

/// The state that searches, the worker and the lists of collections share.
pub(crate) struct Meaning {
    pub(crate) embedders: Embedders,
    pub(crate) cache: Cache,
    /// Wakes the worker that embeds.
    pub(crate) wake: Notify,
    progress: Mutex<Progress>,
}

#[derive(Default)]
struct Progress {
    /// The model that the worker makes vectors of, once it has made one.
    model: Option<i64>,
    /// True if another model has all vectors, and answers until this one has.
    is_served: bool,
    /// The reason for the worker's pause.
    problem: Option<Problem>,
    /// The collections with passages that have no vector yet.
    pending: HashSet<CollectionId>,
    /// The passages that the embedder refused.
    refused: HashMap<CollectionId, HashSet<ChunkId>>,
    /// For each collection, the first document that changed since the worker last looked.
    changed: BTreeMap<CollectionId, (UserId, DocumentId)>,
}

impl Problem {
    /// The effect of an embedder's failure on searches.
    pub(crate) fn of(error: &EmbedError) -> Self {
        match error {
            EmbedError::Absent(_) => Self::Absent,
            error if error.is_passing() => Self::Silent,
            _ => Self::Unusable,
        }
    }

    /// The note for users. It leaves out the embedder's error, which may name a provider or a path and is only for administrators.
    pub(crate) fn note(self) -> &'static str {
        match self {
            Self::Absent => "found by words only: this server has no embedder installed",
            Self::Silent => "found by words only: the server's embedder does not answer",
            Self::Unusable => "found by words only: the server's embedder cannot be used",
        }
    }
}

const PENDING: &str = "some passages are found by words only, until the server has embedded them";

impl Meaning {
    pub(crate) fn new(embedders: Embedders) -> Self {
        let cache = Cache::new(CACHE_BYTES);
        Self { embedders, cache, wake: Notify::new(), progress: Mutex::default() }
    }

    /// Records that a document has different passages than before.
    pub(crate) fn changed(&self, user: UserId, collection: CollectionId, document: DocumentId) {
        {
            let mut progress = self.progress();
            let first = progress.changed.entry(collection).or_insert((user, document));
            first.1 = first.1.min(document);
        }
        self.wake.notify_one();
    }

    /// Takes the changes since the last call.
    pub(crate) fn take_changed(&self) -> BTreeMap<CollectionId, (UserId, DocumentId)> {
        std::mem::take(&mut self.progress().changed)
    }

    /// Begins with a model, or with none: nothing is known about its passages. `is_served` is true if another model
    /// answers meanwhile.
    pub(crate) fn begin(&self, model: Option<i64>, is_served: bool) {
        let mut progress = self.progress();
        let changed = std::mem::take(&mut progress.changed);
        *progress = Progress { model, is_served, changed, ..Progress::default() };
    }

    pub(crate) fn set_model(&self, model: i64) {
        self.progress().model = Some(model);
    }

    /// Records that the worker's model answers from now on.
    pub(crate) fn complete(&self) {
        self.progress().is_served = false;
    }

    pub(crate) fn set_problem(&self, problem: Option<Problem>) {
        self.progress().problem = problem;
    }

    pub(crate) fn set_pending(&self, pending: HashSet<CollectionId>) {
        self.progress().pending = pending;
    }

    /// Records a passage that the embedder refuses; with `None`, forgets those of a collection that is processed from its
    /// beginning.
    pub(crate) fn refused(&self, collection: CollectionId, passage: Option<ChunkId>) {
        let mut progress = self.progress();
        match passage {
            None => drop(progress.refused.remove(&collection)),
            Some(passage) => {
                let refused = progress.refused.entry(collection).or_default();
                if refused.len() < REFUSED_PASSAGES {
                    refused.insert(passage);
                }
            }
        }
    }

    /// The notes for a search of these collections by meaning; none if all their passages have vectors.
    pub(crate) fn notes_of(&self, collections: &[CollectionId]) -> Vec<String> {
        let progress = self.progress();
        let is_bare =
            |one: &CollectionId| progress.pending.contains(one) || progress.refused.contains_key(one);
        let says_so = !progress.is_served && collections.iter().any(is_bare);
        if says_so { vec![PENDING.to_owned()] } else { Vec::new() }
    }

    /// The note about searching a collection by meaning; empty if there is nothing to report.
    pub(crate) async fn note(&self, store: &Store, collection: CollectionId) -> store::Result<String> {
        let (model, problem, is_pending, refused) = {
            let progress = self.progress();
            let refused = progress.refused.get(&collection).map_or(0, HashSet::len);
            let is_pending = progress.pending.contains(&collection) && !progress.is_served;
            (progress.model, progress.problem, is_pending, i64::try_from(refused).unwrap_or(i64::MAX))
        };
        if let Some(problem) = problem {
            return Ok(problem.note().to_owned());
        }
        if !is_pending && refused == 0 {
            return Ok(String::new());
        }
        let bare = store.bare_passage_count(model.unwrap_or(0), collection).await?;
        // Some of the refused passages may have been deleted.
        let refused = refused.min(bare);
        Ok(match (is_pending, bare - refused, refused) {
            (true, waiting, _) if waiting > 0 => {
                format!("passages found by words only, until the server has embedded them: {waiting}")
            }
            (_, _, 0) => String::new(),
            _ => format!("passages found by words only, since the server's embedder refuses them: {refused}"),
        })
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        // Each change is a single step, so the data stays consistent if another thread panics.
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
