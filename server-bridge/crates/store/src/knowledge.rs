//! Knowledge: collections of documents, the pages and passages of these, and the work of indexing them.
//!
//! ```text
//!   collections ──► documents ──► pages, passages of one version ──► words of passages (FTS5, or a GIN index), vectors
//!        │              ▲ the version changes in one transaction, and the old one's rows are removed after it
//!        └─► index jobs ┘ each job makes the version of its own number; nobody reads the rows of another than the present one
//! ```
//! Whoever may search a collection is decided in one place ([`VISIBLE`]), within each statement, before anything is ranked.

mod collections;
mod documents;
mod jobs;
mod passages;
mod search;
#[cfg(test)]
mod tests;
mod vectors;

pub use collections::{Collection, Sharing, SyncState};
pub use documents::{Document, DocumentState, Page};
pub use jobs::{FileSeen, IndexJob, IndexQueue, Lane};
pub use passages::{NewPage, NewPassage, Passage, Published};
pub use search::{Ranked, Scope as SearchScope, WordsQuery};
pub use vectors::{BarePassage, EmbeddingModel, PassagePlace, PassageVector};

/// The condition that the user `$1` may search the collection `c`, for statements.
macro_rules! visible {
    () => {
        "(c.user_id = $1 OR c.is_for_all OR EXISTS (SELECT 1 FROM collection_access a
          WHERE a.collection_id = c.id AND a.user_id = $1))"
    };
}
pub(crate) use visible;
