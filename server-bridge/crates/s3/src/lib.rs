//! Objects in a bucket of S3, or of another server that speaks S3's protocol.
//!
//! ```text
//!   key ─▶ address of the object ─▶ request, signed ─▶ answer: bytes of the expected length, or an error that names what to change
//!                                        ▲                 │
//!                                        └── retried until the deadline, if S3 is unreachable or asks to slow down
//! ```
//! The crate has only what a store of whole objects needs: put, get, delete, list. Each of them may be repeated, because an object is written once,
//! with one content. Requests are signed here (AWS Signature Version 4) and sent with the HTTP client of the rest of the program: the common S3
//! clients bring a second TLS library, or make every client of the process speak HTTP/2.
//!
//! | module | holds |
//! |---|---|
//! | `place` | the bucket, its server and the credentials: [`Place`] |
//! | `bucket` | the requests: [`Bucket`] |
//! | `sign` | signatures of requests |
//! | `answer` | XML responses |
//! | `error` | errors, with what to change |
//! | [`limits`] | every limit and timeout |

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod answer;
mod bucket;
mod error;
pub mod limits;
mod place;
mod sign;

pub use answer::Listed;
pub use bucket::Bucket;
pub use error::{Error, Result};
pub use place::Place;
