//! Users' logins to services, and the services' tools, whose requests carry the user's own token: Feishu's Bitable, Wiki, documents
//! and Drive.
//!
//! ```text
//!   login: the app of a Feishu channel ─▶ the page for the user's browser (PKCE, state)
//!   end: the browser comes back to the same session with a code ─▶ tokens, sealed in the store
//!   a turn begins ─▶ deferred tools, if their user is logged in ─▶ a call ─▶ expired: one refresh at a time ─▶ HttpTools sends
//! ```
//! A login belongs to one user and one app. Agents of groups get none of these tools, because everyone in a group can give them tasks
//! and reads their answers.
//!
//! | module | holds |
//! |---|---|
//! | `app` | the app that users log in with, from a channel |
//! | `feishu` | the requests to Feishu's login, and its answers |
//! | `pending` | logins that have begun |
//! | `grants` | a user's tokens, and their refresh |
//! | `manage` | listing, beginning, ending and removing logins |
//! | `tool` | the tools of a user who is logged in |

mod app;
mod feishu;
mod grants;
mod manage;
mod pending;
mod tool;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use guard::{Reach, Requester};
use store::{ChatId, Store, User, UserId};
use tokio::sync::Mutex as AsyncMutex;
use tokio_util::task::TaskTracker;

use crate::http_tools::HttpTools;
use crate::search::{Offer, Offers};
use pending::Pending;

/// The service's name for people and models.
const SERVICE: &str = "Feishu";

/// The logins of all users. Cheap to clone; all clones share their state.
#[derive(Clone)]
pub struct ServiceLogins(Arc<Inner>);

struct Inner {
    store: Store,
    requester: Requester,
    http_tools: HttpTools,
    /// The logins that have begun.
    pending: Pending,
    /// Locks that are held while a user's token is refreshed or replaced.
    refreshes: Mutex<HashMap<UserId, Arc<AsyncMutex<()>>>>,
    /// The refreshes in progress. They are completed even if nothing waits for them, since each refresh token is accepted once.
    tasks: TaskTracker,
}

impl ServiceLogins {
    /// The logins in this store. Requests may go to the public internet, and to the hosts `reachable` at any address.
    pub fn new(store: Store, http_tools: HttpTools, reachable: &[String]) -> Self {
        Self(Arc::new(Inner {
            store,
            requester: Requester::new(Reach::public(reachable)),
            http_tools,
            pending: Pending::default(),
            refreshes: Mutex::default(),
            tasks: TaskTracker::new(),
        }))
    }

    /// Waits for the refreshes that have begun.
    pub async fn shutdown(&self) {
        self.0.tasks.close();
        self.0.tasks.wait().await;
    }
}

impl Offers for ServiceLogins {
    fn offer<'a>(&'a self, user: &'a User, chat: &'a ChatId) -> BoxFuture<'a, Offer> {
        Box::pin(async move {
            self.0.offer(user, chat).await.unwrap_or_else(|error| {
                tracing::error!(%error, "the tools of a user's login could not be loaded");
                Offer::default()
            })
        })
    }
}
