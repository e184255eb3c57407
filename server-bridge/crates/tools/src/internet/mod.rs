//! Reading the internet for a model: fetching a page, searching.
//!
//! The server itself makes the requests, so their targets are checked here: [`fetch`] reaches only public addresses, except for hosts
//! that the server's operator names. Asking the chat's user is left to the approvals.
//!
//! | module | holds |
//! |---|---|
//! | [`fetch`] | one page: its address, size, time and redirects |
//! | `body` | converting the body to text |
//! | [`search`] | the one trait that search providers differ in, and its implementations |

mod body;
pub mod fetch;
pub mod search;

pub use body::Format;
pub use fetch::{FetchError, Fetcher};
pub use search::{SearchError, Searcher};

/// A model's ways to the internet; each is offered only if it is configured.
#[derive(Clone, Debug, Default)]
pub struct Internet {
    /// Fetches pages; `None` if fetching is turned off.
    pub fetch: Option<Fetcher>,
    /// Searches; `None` if no provider is configured.
    pub search: Option<Searcher>,
}
