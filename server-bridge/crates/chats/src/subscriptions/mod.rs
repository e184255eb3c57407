//! The models of a user, for clients.
//!
//! | module | holds |
//! |---|---|
//! | `manage` | listing, adding, changing, choosing |
//! | `trial` | asking a model once, to see if it answers |
//! | `offer` | a subscription before it is stored: trying it, and listing its models |

mod manage;
mod offer;
mod trial;

pub use manage::{KeyGiven, NewSubscription, Owned};
pub use offer::Offered;
pub use trial::Trial;
