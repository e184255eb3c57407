//! The vectors of collections in memory, as far as they fit: a question is compared with all of them, and the database is too slow for that.
//!
//! ```text
//!   a search ─► vectors of each collection: in memory ──────────────────────► the nearest
//!                                           not: read from the store, kept if they fit
//!   new vectors are added; vectors of removed documents are dropped; the collection that was searched least recently makes room
//! ```
//! The store remains authoritative: it decides before a search who may see a collection, and after it whether a passage
//! still exists.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use search::vectors::{Error as VectorError, Hit, Vector, Vectors};
use store::{ChunkId, CollectionId, DocumentId, PassagePlace, PassageVector, Store};
use tokio::task::spawn_blocking;

use crate::turns::before;

/// A vector's passage, and the version of the document that it is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) passage: ChunkId,
    pub(crate) document: DocumentId,
    pub(crate) version: i64,
}

/// A model and a collection.
type Place = (i64, CollectionId);

pub(crate) struct Cache {
    limit_bytes: usize,
    state: Mutex<State>,
    /// Held while vectors are read from the store: several searches that need the same ones read them once.
    reading: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct State {
    entries: HashMap<Place, Entry>,
    /// The number of searches so far.
    now: u64,
    /// Counts the changes of each collection.
    changes: HashMap<CollectionId, u64>,
}

struct Entry {
    vectors: Arc<Vectors<Key>>,
    /// The number of the last search that used these vectors.
    used: u64,
}

impl Cache {
    pub(crate) fn new(limit_bytes: usize) -> Self {
        Self { limit_bytes, state: Mutex::default(), reading: tokio::sync::Mutex::default() }
    }

    /// The passages of these collections whose vectors are nearest, nearest first. The comparison runs outside the async
    /// threads.
    ///
    /// # Errors
    /// The store's errors. A vector whose dimension differs from that of the question is skipped.
    pub(crate) async fn nearest(
        &self,
        store: &Store,
        model: i64,
        collections: &[CollectionId],
        question: &Arc<Vector>,
        count: usize,
    ) -> store::Result<Vec<ChunkId>> {
        let mut hits = Vec::new();
        for collection in collections {
            let place = (model, *collection);
            hits.extend(match self.entry(place) {
                Some(vectors) => compare(vectors, question, count).await,
                None => {
                    let _alone = self.reading.lock().await;
                    match self.entry(place) {
                        Some(vectors) => compare(vectors, question, count).await,
                        None => self.read(store, place, question, count).await?,
                    }
                }
            });
        }
        hits.sort_by(|one, other| other.score.total_cmp(&one.score));
        hits.truncate(count);
        Ok(hits.into_iter().map(|hit| hit.key.passage).collect())
    }

    /// Reads the vectors of a collection piece by piece and compares them; they are kept if they fit and did not change meanwhile.
    async fn read(
        &self,
        store: &Store,
        place: Place,
        question: &Arc<Vector>,
        count: usize,
    ) -> store::Result<Vec<Hit<Key>>> {
        let (model, collection) = place;
        let changes = self.state().changes.get(&collection).copied();
        let mut all = Some(Vectors::new(question.dimensions()));
        let (mut hits, mut after) = (Vec::new(), before(DocumentId(0)));
        loop {
            let piece = store.collection_vectors(model, collection, after).await?;
            let Some(last) = piece.last() else { break };
            after = place_of(last);
            let vectors = Arc::new(vectors(question.dimensions(), &piece));
            if let Some(kept) = &mut all {
                append(kept, &piece);
            }
            if all.as_ref().is_some_and(|kept| kept.size_bytes() > self.limit_bytes) {
                all = None;
            }
            hits.extend(compare(vectors, question, count).await);
        }
        if let Some(vectors) = all {
            let mut state = self.state();
            if state.changes.get(&collection).copied() == changes {
                state.now += 1;
                let used = state.now;
                state.entries.insert(place, Entry { vectors: Arc::new(vectors), used });
                state.make_room(self.limit_bytes);
            }
        }
        Ok(hits)
    }

    /// The vectors of a collection, if they are in memory.
    fn entry(&self, place: Place) -> Option<Arc<Vectors<Key>>> {
        let mut state = self.state();
        state.now += 1;
        let now = state.now;
        let entry = state.entries.get_mut(&place)?;
        entry.used = now;
        Some(Arc::clone(&entry.vectors))
    }

    /// Adds vectors that were just stored.
    pub(crate) fn add(&self, model: i64, collection: CollectionId, added: &[PassageVector]) {
        let mut state = self.state();
        state.changed(collection);
        let Some(entry) = state.entries.get_mut(&(model, collection)) else { return };
        // Some of them may already be here, if they were read from the store just before.
        let ids: HashSet<ChunkId> = added.iter().map(|one| one.id).collect();
        let known: HashSet<ChunkId> = entry
            .vectors
            .keys()
            .iter()
            .map(|key| key.passage)
            .filter(|passage| ids.contains(passage))
            .collect();
        let new: Vec<PassageVector> = added.iter().filter(|one| !known.contains(&one.id)).cloned().collect();
        // Copied only if a search uses them at this moment.
        append(Arc::make_mut(&mut entry.vectors), &new);
        state.make_room(self.limit_bytes);
    }

    /// Removes the vectors of documents, except those of this version.
    pub(crate) fn forget(&self, collection: CollectionId, documents: &[DocumentId], except: Option<i64>) {
        let mut state = self.state();
        state.changed(collection);
        let documents: HashSet<&DocumentId> = documents.iter().collect();
        let is_kept = |key: &Key| !documents.contains(&key.document) || Some(key.version) == except;
        for entry in state.entries.iter_mut().filter(|((_, of), _)| *of == collection).map(|(_, entry)| entry)
        {
            if !entry.vectors.keys().iter().all(is_kept) {
                Arc::make_mut(&mut entry.vectors).retain(is_kept);
            }
        }
    }

    /// Removes a collection.
    pub(crate) fn forget_collection(&self, collection: CollectionId) {
        let mut state = self.state();
        state.changed(collection);
        state.entries.retain(|(_, of), _| *of != collection);
    }

    /// Removes the vectors of every model but this one.
    pub(crate) fn keep_model(&self, model: i64) {
        self.state().entries.retain(|(of, _), _| *of == model);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic may leave vectors out; their passages are then found by words.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn changed(&mut self, collection: CollectionId) {
        *self.changes.entry(collection).or_default() += 1;
    }

    /// Removes the collections that were searched least recently, until the rest fits.
    fn make_room(&mut self, limit_bytes: usize) {
        let mut size: usize = self.entries.values().map(|entry| entry.vectors.size_bytes()).sum();
        while size > limit_bytes {
            let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.used).map(|(place, _)| *place);
            let Some(entry) = oldest.and_then(|place| self.entries.remove(&place)) else { return };
            size -= entry.vectors.size_bytes();
        }
    }
}

fn place_of(vector: &PassageVector) -> PassagePlace {
    (vector.document_id, vector.id)
}

fn vectors(dimensions: usize, stored: &[PassageVector]) -> Vectors<Key> {
    let mut vectors = Vectors::new(dimensions);
    append(&mut vectors, stored);
    vectors
}

fn append(vectors: &mut Vectors<Key>, stored: &[PassageVector]) {
    for PassageVector { id, document_id, version, vector } in stored {
        let key = Key { passage: *id, document: *document_id, version: *version };
        let added = Vector::stored(vector).and_then(|vector| vectors.push(key, &vector));
        if let Err(error) = added {
            tracing::warn!(%error, passage = id.0, "a stored vector is skipped");
        }
    }
}

async fn compare(vectors: Arc<Vectors<Key>>, question: &Arc<Vector>, count: usize) -> Vec<Hit<Key>> {
    let question = Arc::clone(question);
    let compared = spawn_blocking(move || vectors.nearest(&question, count, |_| true)).await;
    let result: Result<_, VectorError> = compared.unwrap_or_else(|error| {
        tracing::error!(%error, "comparing vectors ended early");
        Ok(Vec::new())
    });
    result.unwrap_or_else(|error| {
        tracing::warn!(%error, "vectors cannot be compared with a question's");
        Vec::new()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(id: i64, document: i64, version: i64, vector: [u8; 2]) -> PassageVector {
        PassageVector { id: ChunkId(id), document_id: DocumentId(document), version, vector: vector.to_vec() }
    }

    fn put(cache: &Cache, model: i64, collection: i64, all: &[PassageVector]) {
        let entry = Entry { vectors: Arc::new(vectors(2, all)), used: 0 };
        cache.state().entries.insert((model, CollectionId(collection)), entry);
    }

    fn passages(cache: &Cache, collection: i64) -> Vec<i64> {
        let entry = cache.entry((1, CollectionId(collection)));
        entry.map_or_else(Vec::new, |vectors| vectors.keys().iter().map(|key| key.passage.0).collect())
    }

    #[test]
    fn what_is_stored_is_added_once_and_what_is_gone_is_taken_out() {
        let cache = Cache::new(10_000);
        put(&cache, 1, 7, &[stored(1, 1, 1, [1, 0]), stored(2, 2, 1, [0, 1])]);
        let seven = CollectionId(7);
        cache.add(1, seven, &[stored(2, 2, 1, [0, 1]), stored(3, 3, 1, [1, 1])]);
        cache.add(1, CollectionId(8), &[stored(9, 9, 1, [1, 1])]);
        assert_eq!((passages(&cache, 7), passages(&cache, 8)), (vec![1, 2, 3], vec![]));
        // A search that began before continues with the vectors that it has.
        let before = cache.entry((1, seven)).unwrap();
        cache.forget(seven, &[DocumentId(1)], None);
        cache.add(1, seven, &[stored(4, 2, 5, [0, 1])]);
        cache.forget(seven, &[DocumentId(2)], Some(5));
        assert_eq!((passages(&cache, 7), before.len()), (vec![3, 4], 3));
        put(&cache, 2, 7, &[stored(1, 1, 1, [1, 0])]);
        cache.keep_model(2);
        assert!(passages(&cache, 7).is_empty() && cache.entry((2, seven)).is_some());
        cache.forget_collection(seven);
        assert!(cache.entry((2, seven)).is_none());
    }

    #[test]
    fn what_was_not_searched_for_longest_makes_room() {
        let one = vectors(2, &[stored(1, 1, 1, [1, 0])]).size_bytes();
        let cache = Cache::new(2 * one);
        for collection in 1..=2 {
            put(&cache, 1, collection, &[stored(1, 1, 1, [1, 0])]);
        }
        assert_eq!(passages(&cache, 1), [1]);
        cache.add(1, CollectionId(1), &[stored(2, 1, 1, [1, 0])]);
        assert_eq!((passages(&cache, 1), passages(&cache, 2)), (vec![1, 2], vec![]));
        // Vectors that are larger than the whole cache are not kept either.
        cache.add(1, CollectionId(1), &[stored(3, 1, 1, [1, 0])]);
        assert!(passages(&cache, 1).is_empty());
    }
}
