//! Knowledge: documents that people add, and that their agents look things up in.
//!
//! ```text
//!   an upload, a file of a runner's folder ─► job in the store ─► worker: crate `extract` (a confined child) ─► pages
//!                                                                   └─► crate `search`: passages, words ─► a new version, swapped in
//!   passages without a vector ─► another worker: the server's embedder ─► vectors
//!   a question ─► find: by words, and by vectors ─► fused, of the collections that the user may search ─► `knowledge_search`, the API
//! ```
//! Runners are waited for side by side, and documents are read one after the other. What is asked meanwhile is answered from the version before,
//! and by words where there are no vectors yet. Documents are texts of others: tools hand them over as quotations, and say so.
//!
//! | module | holds |
//! |---|---|
//! | `service` | [`Knowledge`]: collections, documents, sharing |
//! | `upload` | the content of a document on its way in |
//! | `worker` | the jobs of several lanes, and regular looks at folders |
//! | `lanes` | the lane whose turn it is |
//! | `index` | a document becomes pages and passages |
//! | `sync` | a look at a runner's folder |
//! | `embed` | passages get vectors |
//! | `turns` | the collection whose turn it is to be embedded |
//! | `find` | the passages that answer a question |
//! | `compare` | those that are found by their vectors |
//! | `meaning` | the embedder, and what passages without a vector mean for a search |
//! | `cache` | vectors in memory |
//! | [`tools`] | `knowledge_search`, `knowledge_read` |
//! | [`prompt`] | the part of the prompt that lists collections |
//! | `faults` | the points at which tests kill the server |
//! | `error` | [`Error`]: the errors for clients |
//! | [`limits`] | every limit |

#![cfg_attr(test, allow(clippy::unwrap_used))]

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
mod service;
mod sync;
pub mod tools;
mod turns;
mod upload;
mod worker;

pub use error::{Error, Result};
pub use service::{Knowledge, Machines};
