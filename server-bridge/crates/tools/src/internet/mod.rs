//! Reading the internet for a model: fetching a page, searching.
//!
//! The server itself asks, so what it may reach is looked at here: [`fetch`] reaches public addresses alone, but for hosts that
//! whoever runs the server names. Whether a chat's user wants it asked is the approvals' business.
//!
//! | module | holds |
//! |---|---|
//! | [`fetch`] | one page: where it may be, how large, how long, which redirects |
//! | `body` | what came, as text |
//! | `readable` | HTML as text that a model reads well |
//! | [`search`] | the one trait that search providers differ by, and those there are |

mod body;
pub mod fetch;
mod readable;
pub mod search;

pub use body::Format;
pub use fetch::{FetchError, Fetcher};
pub use search::{SearchError, Searcher};

/// How a model gets to the internet; each way is offered to it only where there is one.
#[derive(Clone, Debug, Default)]
pub struct Internet {
    /// Fetches pages.
    pub fetch: Option<Fetcher>,
    /// Searches.
    pub search: Option<Searcher>,
}
