//! Knowledge: documents that people add, and in which their agents look things up.
//!
//! ```text
//!   an upload, a file of a runner's folder ─► job in the store ─► worker: crate `extract` (a confined child) ─► pages
//!                                                                   └─► crate `search`: passages, words ─► a new version, swapped in
//!   passages without a vector ─► another worker: the server's embedder ─► vectors
//!   a question ─► find: by words, and by vectors ─► fused, of the collections that the user may search ─► `knowledge_search`, the API
//! ```
//! The files of several runners are read in parallel, and documents are parsed one after the other. Until a new version
//! is complete, questions are answered from the version before, and by words alone where there are no vectors yet.
//! Documents may contain anything, so tools pass their text to models as marked quotations.
//!
//! | module | holds |
//! |---|---|
//! | `service` | [`Knowledge`]: collections, documents, sharing |
//! | `upload` | receives the content of a document |
//! | `worker` | the worker: runs the jobs of several lanes, and scans folders regularly |
//! | `lanes` | the lane whose turn it is |
//! | `standstill` | why documents wait although it is their turn |
//! | `index` | turns a document into pages and passages |
//! | `analysis` | recreates the words of documents that an older version indexed |
//! | `sync` | scans a runner's folder |
//! | `embed` | the worker that makes vectors of passages |
//! | `turns` | the collection whose turn it is to be embedded |
//! | `find` | the passages that answer a question |
//! | `compare` | those that are found by their vectors |
//! | `meaning` | the embedder, and what passages without a vector mean for a search |
//! | `cache` | vectors in memory |
//! | `readable` | the collections that an agent may read |
//! | [`tools`] | `knowledge_search`, `knowledge_read` |
//! | [`prompt`] | the part of the prompt that lists collections |
//! | `faults` | the points at which tests kill the server |
//! | `error` | [`Error`]: the errors for clients |
//! | [`limits`] | every limit |

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod analysis;
mod cache;
mod compare;
mod embed;
mod error;
mod faults;
mod find;
mod index;
mod lanes;
pub mod limits;
mod meaning;
pub mod prompt;
mod readable;
mod service;
mod standstill;
mod sync;
pub mod tools;
mod turns;
mod upload;
mod worker;

pub use error::{Error, Result};
pub use service::{Knowledge, Machines};
