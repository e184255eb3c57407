//! The only HTTP client for addresses from untrusted sources: users, models, pages, plugins.
//!
//! ```text
//!   address ─▶ check: scheme, host, literal ─▶ look its name up, refuse internal addresses ─▶ connect to a checked one
//!                 ▲                                                                              │
//!                 └────────────── each redirect, within scheme, host and port ◀──────────────────┘
//! ```
//! [`Reach`] limits where a client may connect. Names are checked when they are looked up, so that a name whose address changes from one moment to
//! the next gains nothing; no proxy is used, since its connections could not be checked. Errors name at most a host, because an address may contain a
//! secret.
//!
//! | module | holds |
//! |---|---|
//! | [`reach`] | the hosts that a client may connect to; clients limited to them |
//! | [`get`] | one document, with its redirects, its size and its time bounded |
//! | [`post`] | one request with a body, without redirects |
//! | [`request`] | one request of any method, with its redirects, its size and its time bounded |
//! | [`talk`] | a client for one address, for a protocol that makes many requests to it |
//! | `outgoing`, `error` | the connections of all these, and the rule of redirects ([`hop`]); their errors, and the check of an address as text |
//! | [`limits`] | every limit and timeout |

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod error;
pub mod get;
pub mod limits;
mod outgoing;
pub mod post;
pub mod reach;
pub mod request;
pub mod talk;

pub use error::{Error, check, check_text, header};
pub use get::{Answer, Getter};
pub use outgoing::hop;
pub use post::{Posted, Poster};
pub use reach::{LeadsInside, Mixed, Reach, leads_inside};
pub use request::{Answered, Requester};
pub use talk::Talker;

/// The innermost cause of an error, which is the most specific and names no address.
pub fn cause(error: &(dyn std::error::Error + 'static)) -> String {
    reach::innermost(error).to_string()
}
