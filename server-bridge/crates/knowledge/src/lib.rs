//! Knowledge: documents that people add, and in which their agents look things up.
//!
//! ```text
//!   an upload, a file of a runner's folder ─► job in the store ─► worker: crate `extract` (a confined child) ─► pages
//!                                                                   └─► crate `search`: passages, words ─► a new version, swapped in
//!   a question ─► find: passages by their words, of the collections that the user may search ─► `knowledge_search`, the API
//! ```
//! One worker indexes uploads and folders, one document after the other. Until a new version is complete, questions are answered from the
//! version before. Documents may contain anything, so tools pass their text to models as marked quotations.
//!
//! | module | holds |
//! |---|---|
//! | `service` | [`Knowledge`]: collections, documents, sharing |
//! | `upload` | receives the content of a document |
//! | `worker` | the worker: runs one job after the other, and scans folders regularly |
//! | `index` | turns a document into pages and passages |
//! | `sync` | scans a runner's folder |
//! | `find` | the passages that answer a question |
//! | [`tools`] | `knowledge_search`, `knowledge_read` |
//! | [`prompt`] | the part of the prompt that lists collections |
//! | `faults` | the points at which tests kill the server |
//! | `error` | [`Error`]: the errors for clients |
//! | [`limits`] | every limit |

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod error;
mod faults;
mod find;
mod index;
pub mod limits;
pub mod prompt;
mod service;
mod sync;
pub mod tools;
mod upload;
mod worker;

pub use error::{Error, Result};
pub use service::{Knowledge, Machines};
