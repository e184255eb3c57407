//! The models of a user: what clients ask about them.
//!
//! | module | holds |
//! |---|---|
//! | `manage` | listing, adding, changing, choosing |
//! | `trial` | asking a model once, to see whether it answers |
//! | `offer` | a subscription before it is kept: tried, and asked which models there are |

mod manage;
mod offer;
mod trial;

pub use manage::{KeyGiven, NewSubscription, Owned};
pub use offer::Offered;
pub use trial::Trial;
