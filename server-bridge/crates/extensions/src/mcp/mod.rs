//! MCP servers: programs and services that offer tools to agents.
//!
//! ```text
//!   mcp.json of the administrator, the user's own, the workspace's ─▶ servers ─▶ trust by hash
//!                                                                      │
//!   a turn begins ─▶ tools on record, deferred, and `search_tools` ◀───┘ a server that never listed its tools here is asked
//!   a tool is called ─▶ pool ─▶ connection ─▶ an exec on the user's machine, or HTTP by crate `guard` or a runner
//!                                   └─ its tools are listed and compared with what was accepted: a changed one is not called
//! ```
//! Crate `rmcp` implements the protocol itself, in both of its eras.
//!
//! | module | holds |
//! |---|---|
//! | `config` | one server's definition, and what runs for it |
//! | `servers` | the servers of all layers |
//! | `names` | names of tools for models |
//! | `lists` | reading a server's lists, page by page |
//! | `listing` | the tools that a server listed, pinned by hash |
//! | `icon` | the picture that a server is shown with |
//! | `connection` | a connection: its calls, and the server's requests in the meantime |
//! | `client` | the answers to a server's requests, and the handling of its notifications |
//! | `tasks` | calls in rounds, and tasks |
//! | `program` | a server that is a program |
//! | `bounded` | the limit on a server's concurrent requests |
//! | `connect` | connects to a server, once for all callers that wait |
//! | `catalogue` | listing tools, and comparing them with what was accepted |
//! | `way` | the route of requests to servers and login providers: from this server, or from one of the user's machines |
//! | `via_client`, `sse_bound` | the transport over a runner's requests; the bound of its events |
//! | `sessions` | the end of a session over HTTP, as servers report it |
//! | `pool` | the connections in use |
//! | `login` | logins to servers that require one |
//! | `credentials` | a client's own credentials, instead of a login |
//! | `tool`, `resource` | the tools for models |
//! | `skill` | the skills of servers |
//! | `prompts` | the prompts of servers as slash commands |
//! | `for_hooks` | calls of tools by hooks |
//! | `elicit`, `sample` | a server's questions to users, and its requests to their models |
//! | `watch` | resources that are watched, and changes of lists |
//! | `content` | results as models read them |
//! | `manage` | listing, changing, checking and approving servers |

mod bounded;
mod catalogue;
mod client;
mod config;
mod connect;
mod connection;
mod content;
mod credentials;
mod elicit;
mod for_hooks;
mod icon;
mod listing;
mod lists;
mod login;
mod manage;
pub(crate) mod names;
mod pool;
mod program;
mod prompts;
mod resource;
mod sample;
mod servers;
mod sessions;
mod skill;
mod sse_bound;
mod tasks;
#[cfg(test)]
mod tests;
mod tool;
mod via_client;
mod watch;
mod way;

use std::path::PathBuf;
use std::sync::Arc;

use execs::Ledger;
use futures_util::future::BoxFuture;
use guard::{Reach, Talker};
use sandbox::{Sandbox, SandboxRouter};
use store::{ChatId, McpCatalogue, Store, User};
use tokio::time::interval;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::limits::MCP_SWEEP;
use crate::machine::of_chat;
use crate::plugins::{End, Plugins};
use crate::search::{Offer, Offers};
use catalogue::Failures;
use listing::Listing;
use login::Logins;
use pool::Pool;
use resource::McpResource;
use servers::Server;
use tool::McpTool;

/// The MCP servers of all users. Cheap to clone; all clones share their state.
#[derive(Clone)]
pub struct McpServers(Arc<Inner>);

struct Inner {
    store: Store,
    ledger: Ledger,
    router: SandboxRouter,
    /// The server's home directory, with the administrator's document.
    home: PathBuf,
    plugins: Plugins,
    talker: Talker,
    pool: Pool,
    logins: Logins,
    failures: Failures,
    /// Programs that run, listings in progress, and tasks that hear of changed lists.
    tasks: TaskTracker,
    /// Cancelled when the server stops.
    stop: CancellationToken,
}

/// The user and chat on whose behalf a server is used.
#[derive(Clone)]
struct Owner {
    user: User,
    /// The user's chat; `None` if the user lists the server's tools outside of a chat.
    chat: Option<ChatId>,
}

impl McpServers {
    /// The servers, with this store and these machines. Requests may go to the public internet, and to the hosts `reachable` at
    /// any address. A task runs until [`McpServers::shutdown`] is called.
    pub fn new(
        ledger: Ledger,
        store: Store,
        router: SandboxRouter,
        home: PathBuf,
        reachable: &[String],
        plugins: Plugins,
    ) -> Self {
        let talker = Talker::new(Reach::public(reachable));
        let (pool, logins) = (Pool::default(), Logins::default());
        let (failures, tasks) = (Failures::default(), TaskTracker::new());
        let stop = CancellationToken::new();
        let inner = Arc::new(Inner {
            store,
            ledger,
            router,
            home,
            plugins,
            talker,
            pool,
            logins,
            failures,
            tasks,
            stop,
        });
        let ended = Arc::downgrade(&inner);
        inner.plugins.at_end(move |user, plugin, end| {
            let Some(inner) = ended.upgrade() else { return };
            match end {
                // A turn in progress keeps its servers.
                End::Replaced => inner.pool.end_unused(),
                End::Taken => {
                    let beginning = servers::of_plugin(plugin);
                    inner.pool.forget(|key| key.user == user && key.server.starts_with(&beginning));
                }
            }
        });
        let swept = Arc::downgrade(&inner);
        let stop = inner.stop.clone();
        inner.tasks.spawn(async move {
            let mut every = interval(MCP_SWEEP);
            loop {
                tokio::select! {
                    _ = every.tick() => {}
                    () = stop.cancelled() => return,
                }
                match swept.upgrade() {
                    Some(inner) => inner.pool.sweep(),
                    None => return,
                }
            }
        });
        Self(inner)
    }

    /// Ends all servers, and waits until their ends are recorded. Called when the server stops, before its links end.
    pub async fn shutdown(&self) {
        self.0.stop.cancel();
        self.0.pool.clear();
        self.0.tasks.close();
        self.0.tasks.wait().await;
    }
}

impl Offers for McpServers {
    fn news<'a>(&'a self, user: &'a User, chat: &'a ChatId) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move { self.0.changed_resources(user, chat) })
    }

    fn offer<'a>(&'a self, user: &'a User, chat: &'a ChatId) -> BoxFuture<'a, Offer> {
        Box::pin(async move {
            self.0.offer(user, chat).await.unwrap_or_else(|error| {
                tracing::error!(%error, "the MCP servers of a turn could not be loaded");
                Offer::default()
            })
        })
    }
}

impl Inner {
    /// The tools for a new turn.
    async fn offer(self: &Arc<Self>, user: &User, chat: &ChatId) -> store::Result<Offer> {
        self.pool.end_unused();
        let (sandbox, ready) = self.ready(user, Some(chat)).await?;
        if ready.is_empty() {
            return Ok(Offer::default());
        }
        let owner = Owner { user: user.clone(), chat: Some(chat.clone()) };
        let listings = self.listings(&owner, &ready, sandbox.as_ref()).await?;
        let mut offer = Offer::default();
        let mut resources = Vec::new();
        for (server, listing) in ready.iter().zip(listings) {
            offer.services.push(server.name.clone());
            match listing {
                Ok(listing) => {
                    let said = listing.instructions.offered();
                    offer.instructions.extend(said.map(|text| (server.name.clone(), text)));
                    if listing.has_resources {
                        resources.push(McpResource::new(self, server).offered());
                    }
                    let offered = listing.tools.into_iter().filter(listing::Pinned::is_offered);
                    let tool = |tool: listing::Pinned| McpTool::new(self, server, tool.accepted).offered();
                    offer.tools.extend(offered.map(tool));
                }
                Err(why) => offer.missing.push((server.name.clone(), why)),
            }
        }
        offer.tools.extend(resources);
        Ok(offer)
    }
}

impl Inner {
    /// The servers that a user can use in a chat or on the machine that they use, and that machine if it can be reached.
    async fn ready(
        &self,
        user: &User,
        chat: Option<&ChatId>,
    ) -> store::Result<(Option<Sandbox>, Vec<Arc<Server>>)> {
        let sandbox = of_chat(&self.store, &self.router, user, chat).await?;
        let servers = self.servers(user.id, sandbox.as_ref()).await?;
        let usable = |server: &Server| server.is_ready() && (sandbox.is_some() || !server.is_program());
        let ready = servers.all.into_iter().filter(usable).map(Arc::new).collect();
        Ok((sandbox, ready))
    }
}

/// The place of a server's tools on record; empty for a server that is reached from this one.
fn place_of(server: &Server, place: Option<&str>) -> String {
    if server.is_program() { place.unwrap_or_default().to_owned() } else { String::new() }
}

/// A server's listing, among all listings.
fn find<'a>(known: &'a [McpCatalogue], server: &Server, place: Option<&str>) -> Option<&'a McpCatalogue> {
    let place = place_of(server, place);
    let identity = server.identity();
    known.iter().find(|found| found.server == server.name && found.place == place && found.hash == identity)
}

/// Parses a listing on record; `None` if it is not this server's.
fn read(found: &McpCatalogue, server: &Server) -> Option<Listing> {
    (found.hash == server.identity()).then(|| serde_json::from_str(&found.listing_json).ok())?
}

/// The text for a failure of the store; its details go only to the log.
fn unread(error: store::Error) -> String {
    tracing::error!(%error, "the store failed for an MCP server");
    error.shown()
}
