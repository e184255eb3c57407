//! HTTP tools without code: a document defines which request a tool sends to which host, and which part of the response a model reads.
//!
//! ```text
//!   http-tools.json of the administrator, the user's own, the workspace's ─▶ documents ─▶ trust by hash
//!                                                                              │
//!   a turn begins ─▶ deferred tools, found by `search_tools` ◀─────────────────┘
//!   a tool is called ─▶ looked up again ─▶ crate `http_tools` renders ─▶ send: one request by crate `guard` ─▶ masked, extracted
//! ```
//! A secret is bound to the scheme, host and port that it was set for, and a workspace's tools get none.
//!
//! | module | holds |
//! |---|---|
//! | `documents` | the tools of all layers |
//! | `tool` | a tool as models call it |
//! | `send` | a request, and its answer as models read it |
//! | `manage` | listing, changing, importing, trying and approving tools |

mod documents;
mod manage;
pub(crate) mod send;
pub(crate) mod tool;

use std::path::PathBuf;
use std::sync::Arc;

use execs::Ledger;
use futures_util::future::BoxFuture;
use guard::{Reach, Requester};
use sandbox::SandboxRouter;
use store::{ChatId, Store, User};
use tokio::sync::Semaphore;

use crate::limits::HTTP_EXTRACTS_AT_ONCE;
use crate::machine::of_chat;
use crate::search::{Offer, Offers};
use documents::Known;
pub(crate) use documents::own_tokens;

/// The HTTP tools of all users. Cheap to clone; all clones share their state.
#[derive(Clone)]
pub struct HttpTools(Arc<Inner>);

struct Inner {
    store: Store,
    ledger: Ledger,
    router: SandboxRouter,
    /// The server's home directory, with the administrator's document.
    home: PathBuf,
    requester: Requester,
    /// One permit for each response that may be read at the same time.
    extracting: Arc<Semaphore>,
}

impl HttpTools {
    /// The tools, with this store and these machines. Requests may go to the public internet, and to the hosts
    /// `reachable` at any address.
    pub fn new(
        ledger: Ledger,
        store: Store,
        router: SandboxRouter,
        home: PathBuf,
        reachable: &[String],
    ) -> Self {
        let requester = Requester::new(Reach::public(reachable));
        let extracting = Arc::new(Semaphore::new(HTTP_EXTRACTS_AT_ONCE));
        Self(Arc::new(Inner { store, ledger, router, home, requester, extracting }))
    }
}

impl Offers for HttpTools {
    fn offer<'a>(&'a self, user: &'a User, chat: &'a ChatId) -> BoxFuture<'a, Offer> {
        Box::pin(async move {
            self.0.offer(user, chat).await.unwrap_or_else(|error| {
                tracing::error!(%error, "the HTTP tools of a turn could not be loaded");
                Offer::default()
            })
        })
    }
}

impl Inner {
    /// The tools for a new turn.
    async fn offer(self: &Arc<Self>, user: &User, chat: &ChatId) -> store::Result<Offer> {
        let sandbox = of_chat(&self.store, &self.router, user, Some(chat)).await?;
        let known = self.documents(user.id, sandbox.as_ref()).await?;
        let ready: Vec<Known> = known.all.into_iter().filter(Known::is_ready).collect();
        let services = ready.iter().map(|known| known.tool.host().to_owned()).collect();
        let tools = ready.into_iter().map(|known| tool::of_document(self, known).offered()).collect();
        Ok(Offer { services, tools, ..Offer::default() })
    }
}
