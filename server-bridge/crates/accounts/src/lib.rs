//! Accounts: the users of the server, their authentication, and their audit trail.
//!
//! One [`Accounts`] serves every front end. Each of its methods checks the caller's rights, does the work, and writes the audit
//! entry, so that a front end only parses requests, calls these methods and responds. The front end reports when an attempt begins, because only
//! it knows a request's origin. Nothing here depends on HTTP or a sandbox.
//!
//! | module | holds |
//! |---|---|
//! | `users` | accounts, for administrators; a user's own password |
//! | `first` | the first account of a server, and the secret for creating it |
//! | `sessions` | logging in and out, confirming the password |
//! | `attempts` | limits on failed logins |
//! | `tickets` | secrets in the URLs that a browser fetches by itself |
//! | `sign_ins` | codes that sign a page in without a password |
//! | `keys` | keys of programs |
//! | `runners` | registered machines and their tokens |
//! | `admission` | the check of a runner's token when the runner registers |
//! | `nodes` | the nodes that share the database, for administrators |
//! | `settings` | a user's active place; their first steps |
//! | `usage` | tokens and cost of a user's models |
//! | `trail` | the audit trail: writing, searching |
//! | `error` | [`Error`] |
//! | `events` | [`AccountEvent`]: changes, for the code that shows them or acts on them |
//! | [`limits`] | every limit and lifetime |

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod admission;
mod attempts;
mod error;
mod events;
mod first;
mod keys;
pub mod limits;
mod nodes;
mod runners;
mod sessions;
mod settings;
mod sign_ins;
#[cfg(test)]
mod tests;
mod tickets;
mod trail;
mod usage;
mod users;

use std::sync::Arc;

use store::Store;

pub use admission::{Admitted, Showing, TokenRefused};
pub use attempts::Attempt;
pub use error::{Error, Result};
pub use events::AccountEvent;
pub use keys::NewKey;
pub use runners::NewRunner;
pub use sessions::{Begun, SignedIn};
pub use store::{
    API_KEY_PREFIX, ApiKey, AuditRecord, ChatId, KeyId, KeyScope, NewToken, Node, NodeState, Runner,
    RunnerId, Secret, TurnUsage, UsageRow, User, UserId,
};
pub use tickets::Ticket;
pub use trail::{Act, Trail, TrailPage};
pub use usage::Usage;
pub use users::{Change, NewUser};

/// The accounts of a server. Cheap to clone; all clones share the same state.
#[derive(Clone, Debug)]
pub struct Accounts {
    store: Store,
    events: Arc<events::Events>,
}

impl Accounts {
    /// Serves the accounts in this store.
    pub fn new(store: Store) -> Self {
        Self { store, events: Arc::default() }
    }

    /// The time by the store's clock, in Unix milliseconds.
    pub fn now_ms(&self) -> i64 {
        self.store.now_ms()
    }
}
