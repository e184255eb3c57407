//! The order of embedding: users in turn, and the collections of a user in turn, so that no large collection delays another.

use std::collections::BTreeMap;

use store::{ChunkId, CollectionId, DocumentId, PassagePlace, UserId};

/// The collections that have passages without vectors, each with the place after which these passages begin.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    users: BTreeMap<UserId, Collections>,
    /// The user who had the last turn.
    last: Option<UserId>,
}

#[derive(Debug, Default)]
struct Collections {
    places: BTreeMap<CollectionId, PassagePlace>,
    /// The collection that had this user's last turn.
    last: Option<CollectionId>,
}

/// A collection whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Turn {
    pub(crate) user: UserId,
    pub(crate) collection: CollectionId,
    /// The turn is for the passages after this place.
    pub(crate) after: PassagePlace,
}

/// The place before the first passage of a document.
pub(crate) fn before(document: DocumentId) -> PassagePlace {
    (document, ChunkId(0))
}

impl Turns {
    /// Notes that there is work in a collection from this place on.
    pub(crate) fn add(&mut self, user: UserId, collection: CollectionId, after: PassagePlace) {
        let place = self.users.entry(user).or_default().places.entry(collection).or_insert(after);
        *place = after.min(*place);
    }

    /// Chooses the next user, and the next of that user's collections.
    pub(crate) fn next(&mut self) -> Option<Turn> {
        let user = following(&self.users, self.last)?;
        let collections = self.users.get_mut(&user)?;
        let collection = following(&collections.places, collections.last)?;
        (self.last, collections.last) = (Some(user), Some(collection));
        Some(Turn { user, collection, after: collections.places[&collection] })
    }

    /// Records that the passages of a turn up to this place are done.
    pub(crate) fn went_on(&mut self, turn: Turn, place: PassagePlace) {
        if let Some(collections) = self.users.get_mut(&turn.user) {
            collections.places.insert(turn.collection, place);
        }
    }

    /// Records that nothing is left to do in a turn's collection.
    pub(crate) fn ended(&mut self, turn: Turn) {
        if let Some(collections) = self.users.get_mut(&turn.user) {
            collections.places.remove(&turn.collection);
            if collections.places.is_empty() {
                self.users.remove(&turn.user);
            }
        }
    }

    /// The collections with work left.
    pub(crate) fn collections(&self) -> impl Iterator<Item = CollectionId> {
        self.users.values().flat_map(|collections| collections.places.keys().copied())
    }
}

/// The key after this one; the first one follows the last one.
fn following<K: Ord + Copy, V>(map: &BTreeMap<K, V>, last: Option<K>) -> Option<K> {
    let after = last.and_then(|last| map.range(last..).map(|(key, _)| *key).find(|key| *key > last));
    after.or_else(|| map.keys().next().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_take_turns_and_so_do_the_collections_of_each() {
        let mut turns = Turns::default();
        let start = before(DocumentId(0));
        for (user, collection) in [(1, 1), (1, 2), (1, 3), (2, 4)] {
            turns.add(UserId(user), CollectionId(collection), start);
        }
        let order: Vec<i64> = (0..7).map(|_| turns.next().unwrap().collection.0).collect();
        assert_eq!(order, [1, 4, 2, 4, 3, 4, 1]);
        let turn = turns.next().unwrap();
        assert_eq!(turn, Turn { user: UserId(2), collection: CollectionId(4), after: start });
        turns.ended(turn);
        assert_eq!((0..3).map(|_| turns.next().unwrap().collection.0).collect::<Vec<_>>(), [2, 3, 1]);
    }

    #[test]
    fn a_collection_goes_on_where_it_was_and_back_to_what_changed() {
        let mut turns = Turns::default();
        turns.add(UserId(1), CollectionId(1), before(DocumentId(0)));
        let turn = turns.next().unwrap();
        turns.went_on(turn, (DocumentId(5), ChunkId(50)));
        assert_eq!(turns.next().unwrap().after, (DocumentId(5), ChunkId(50)));
        turns.add(UserId(1), CollectionId(1), before(DocumentId(9)));
        assert_eq!(turns.next().unwrap().after, (DocumentId(5), ChunkId(50)), "what comes later is ahead");
        turns.add(UserId(1), CollectionId(1), before(DocumentId(2)));
        let turn = turns.next().unwrap();
        assert_eq!(turn.after, before(DocumentId(2)));
        assert_eq!(turns.collections().collect::<Vec<_>>(), [CollectionId(1)]);
        turns.ended(turn);
        assert_eq!((turns.next(), turns.collections().count()), (None, 0));
    }
}
