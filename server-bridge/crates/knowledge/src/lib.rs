//! Knowledge: documents that people add, and that their agents look things up in.
//!
//! ```text
//!   an upload, a file of a runner's folder ─► job in the store ─► worker: crate `extract` (a confined child) ─► pages
//!                                                                   └─► crate `search`: passages, words ─► a new version, swapped in
//!   a question ─► find: passages by their words, of the collections that the user may search ─► `knowledge_search`, the API
//! ```
//! Uploads and folders are indexed by one worker, one document after the other. What is asked meanwhile is answered from the version
//! before. Documents are texts of others: tools hand them over as quotations, and say so.
//!
//! | module | holds |
//! |---|---|
//! | `service` | [`Knowledge`]: collections, documents, sharing |
//! | `upload` | the content of a document on its way in |
//! | `worker` | the worker: one job after the other, and regular looks at folders |
//! | `index` | a document becomes pages and passages |
//! | `sync` | a look at a runner's folder |
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
