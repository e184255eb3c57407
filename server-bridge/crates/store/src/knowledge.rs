//! Knowledge: collections of documents, their pages and passages, and the queue of indexing.
//!
//! ```text
//!   collections ──► documents ──► pages, passages of one version ──► words of passages (FTS5, or a GIN index), vectors
//!        │              ▲ the version changes in one transaction; afterwards, the old one's rows are removed
//!        └─► index jobs ┘ a job's id is also the number of its version; only the current version's rows are read
//! ```
//! One condition ([`VISIBLE`]) decides who may search a collection: each statement contains it, and applies it before anything is ranked.

mod analysis;
mod collections;
mod documents;
mod jobs;
mod passages;
mod search;
#[cfg(test)]
mod tests;
mod vectors;

pub use analysis::{NewWords, OutdatedDocument};
pub use collections::{Collection, Sharing, SyncState};
pub use documents::{Document, DocumentState, Page};
pub use jobs::{FileSeen, IndexJob, IndexQueue, Lane};
pub use passages::{NewPage, NewPassage, Passage, Published};
pub use search::{Ranked, Scope as SearchScope, WordsQuery};
pub use vectors::{BarePassage, EmbeddingModel, PassagePlace, PassageVector};

/// An SQL condition that is true if the user `$1` may search the collection `c`.
macro_rules! visible {
    () => {
        "(c.user_id = $1 OR c.is_for_all OR EXISTS (SELECT 1 FROM collection_access a
          WHERE a.collection_id = c.id AND a.user_id = $1))"
    };
}
pub(crate) use visible;
