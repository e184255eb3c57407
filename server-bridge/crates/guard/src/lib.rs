//! The one HTTP client for addresses that others name: users, models, pages, plugins.
//!
//! ```text
//!   address ─▶ check: scheme, host, literal ─▶ look its name up, refuse what leads inside ─▶ connect to what was looked at
//!                 ▲                                                                              │
//!                 └────────────── each redirect, within scheme, host and port ◀──────────────────┘
//! ```
//! [`Reach`] says where a client may go. Names are checked where they are looked up, so that a name which leads elsewhere from one
//! moment to the next gains nothing; no proxy stands between, since what it connects to could not be checked. Errors name a host at
//! most: an address may hold a secret.
//!
//! | module | holds |
//! |---|---|
//! | [`reach`] | where a client may go; clients made for that |
//! | [`get`] | one document, with its redirects, its size and its time bounded |
//! | [`limits`] | every limit and timeout |

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod get;
pub mod limits;
pub mod reach;

pub use get::{Answer, Error, Getter, check};
pub use reach::{LeadsInside, Mixed, Reach, leads_inside};

/// The innermost cause of an error, which says most and names no address.
pub fn cause(error: &(dyn std::error::Error + 'static)) -> String {
    reach::innermost(error).to_string()
}
