//! MCP servers: programs and services that offer tools to agents.
//!
//! ```text
//!   mcp.json of the administrator, the user's own, the workspace's ─▶ servers ─▶ trust by hash
//!                                                                      │
//!   a turn begins ─▶ tools on record, deferred, and `search_tools` ◀───┘ a server that never listed its tools here is asked
//!   a tool is called ─▶ pool ─▶ connection ─▶ an exec on the user's machine, or HTTP by crate `guard`
//!                                   └─ its tools are listed and compared with what was accepted: a changed one is not called
//! ```
//! The protocol itself, in both of its eras, is crate `rmcp`.
//!
//! | module | holds |
//! |---|---|
//! | `config` | one server's definition, and what runs for it |
//! | `servers` | the servers of all layers |
//! | `names` | names of tools for models |
//! | `listing` | the tools that a server listed, pinned |
//! | `connection` | a connection: its calls, and what the server wants meanwhile |
//! | `program` | a server that is a program |
//! | `pool` | the connections in use |
//! | `tool`, `resource`, `search` | the tools for models |
//! | `elicit` | what servers ask users |
//! | `content` | results as models read them |
//! | `manage` | listing, changing, checking and approving servers |

mod config;
mod connection;
mod content;
mod elicit;
mod listing;
mod manage;
mod names;
mod pool;
mod program;
mod resource;
mod search;
mod servers;
mod tool;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use agent::tool::{Tool, ToolSource};
use execs::Ledger;
use futures_util::future::{BoxFuture, join_all};
use guard::{Reach, Talker};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use sandbox::{Sandbox, SandboxRouter};
use store::{ChatId, McpCatalogue, Store, User, UserId};
use tokio::time::{Instant, interval, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::limits::{
    MCP_FAILURES_KEPT, MCP_FIRST_LISTING_PATIENCE, MCP_LINE_BYTES, MCP_LISTING_TRIES, MCP_RETRY_AFTER,
    MCP_SWEEP,
};
use crate::on_record::OnRecord;
use config::Launch;
use connection::{Connection, Refused};
use listing::{Definition, Era, Listing};
use pool::{Key, Pool};
use program::Remains;
use resource::McpResource;
use search::SearchTools;
use servers::Server;
use tool::McpTool;

/// The MCP servers of all users. Cheap to clone; every clone is the same.
#[derive(Clone)]
pub struct McpServers(Arc<Inner>);

struct Inner {
    store: Store,
    ledger: Ledger,
    router: SandboxRouter,
    /// The server's home directory, with the administrator's document.
    home: PathBuf,
    talker: Talker,
    pool: Pool,
    /// The servers that could not be asked for their tools, with when that was.
    failures: Mutex<HashMap<Key, (Instant, String)>>,
    /// Programs that run, and listings in progress.
    tasks: TaskTracker,
    /// Cancelled when the server stops.
    stop: CancellationToken,
}

/// On whose behalf a server is used.
#[derive(Clone)]
struct Owner {
    user: User,
    /// The chat of the user; `None` if the user asks for the server's tools.
    chat: Option<ChatId>,
}

impl McpServers {
    /// The servers over this store and these machines. Requests reach the open internet, and these hosts at any address. It runs a
    /// task of its own until [`McpServers::shutdown`].
    pub fn new(
        ledger: Ledger,
        store: Store,
        router: SandboxRouter,
        home: PathBuf,
        reachable: &[String],
    ) -> Self {
        let talker = Talker::new(Reach::public(reachable));
        let (pool, failures, tasks) = (Pool::default(), Mutex::default(), TaskTracker::new());
        let stop = CancellationToken::new();
        let inner = Arc::new(Inner { store, ledger, router, home, talker, pool, failures, tasks, stop });
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

    /// Ends all servers, and waits until their ends are on record. Called when the server stops, before its links end.
    pub async fn shutdown(&self) {
        self.0.stop.cancel();
        self.0.pool.clear();
        self.0.tasks.close();
        self.0.tasks.wait().await;
    }
}

impl ToolSource for McpServers {
    fn tools<'a>(&'a self, user: &'a User, chat: &'a ChatId) -> BoxFuture<'a, Vec<Arc<dyn Tool>>> {
        Box::pin(async move {
            self.0.tools(user, chat).await.unwrap_or_else(|error| {
                tracing::error!(%error, "the MCP servers of a turn could not be loaded");
                Vec::new()
            })
        })
    }
}

impl Inner {
    /// The tools of a turn that begins.
    async fn tools(self: &Arc<Self>, user: &User, chat: &ChatId) -> store::Result<Vec<Arc<dyn Tool>>> {
        let route = execs::chat_route_request(&self.store, user.id, Some(chat)).await?;
        let sandbox = self.router.for_user(&execs::sandbox_user(user), &route).await.ok();
        let servers = self.servers(user.id, sandbox.as_ref()).await?;
        let usable = |server: &Server| server.is_ready() && (sandbox.is_some() || !server.is_program());
        let ready: Vec<Arc<Server>> = servers.all.into_iter().filter(usable).map(Arc::new).collect();
        if ready.is_empty() {
            return Ok(Vec::new());
        }
        let owner = Owner { user: user.clone(), chat: Some(chat.clone()) };
        let listings = self.listings(&owner, &ready, sandbox.as_ref()).await?;
        let (mut tools, mut with_resources, mut missing) = (Vec::new(), Vec::new(), Vec::new());
        for (server, listing) in ready.iter().zip(listings) {
            match listing {
                Ok(listing) => {
                    if listing.has_resources {
                        with_resources.push(Arc::clone(server));
                    }
                    let offered = listing.tools.into_iter().filter(listing::Pinned::is_offered);
                    let tool = |tool: listing::Pinned| Arc::new(McpTool::new(self, server, tool.accepted));
                    tools.extend(offered.map(tool));
                }
                Err(why) => missing.push((server.name.clone(), why)),
            }
        }
        let mut all: Vec<Arc<dyn Tool>> = vec![Arc::new(SearchTools::new(&tools, &missing))];
        if !with_resources.is_empty() {
            all.push(Arc::new(McpResource::new(self, with_resources)));
        }
        all.extend(tools.into_iter().map(|tool| tool as Arc<dyn Tool>));
        Ok(all)
    }

    /// What each of these servers listed. One that never listed anything here is asked, for a moment; it goes on in the background.
    async fn listings(
        self: &Arc<Self>,
        owner: &Owner,
        servers: &[Arc<Server>],
        sandbox: Option<&Sandbox>,
    ) -> store::Result<Vec<Result<Listing, String>>> {
        let place = sandbox.map(Sandbox::place);
        let known = self.store.mcp_catalogues(owner.user.id, place).await?;
        let listing = |server: &Arc<Server>| {
            let known = find(&known, server, place).and_then(|found| read(found, server));
            let server = Arc::clone(server);
            async move {
                if let Some(listing) = known {
                    return Ok(listing);
                }
                let key = key(owner, &server, place);
                if let Some(why) = self.failed_lately(&key) {
                    return Err(why);
                }
                let (inner, owner, sandbox) = (Arc::clone(self), owner.clone(), sandbox.cloned());
                let listed = self.tasks.spawn(async move {
                    let listed = inner.list(&owner, &server, sandbox.as_ref()).await;
                    inner.note_failure(key, listed.as_ref().err());
                    listed
                });
                match timeout(MCP_FIRST_LISTING_PATIENCE, listed).await {
                    Ok(Ok(listed)) => listed,
                    Ok(Err(_)) => Err("the server failed to ask it".to_owned()),
                    Err(_) => {
                        Err("it is still starting; its tools are there from the next message on".to_owned())
                    }
                }
            }
        };
        Ok(join_all(servers.iter().map(listing)).await)
    }

    fn failed_lately(&self, key: &Key) -> Option<String> {
        let failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let (when, why) = failures.get(key)?;
        (when.elapsed() < MCP_RETRY_AFTER).then(|| why.clone())
    }

    fn note_failure(&self, key: Key, why: Option<&String>) {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        match why {
            Some(why) => {
                if failures.len() >= MCP_FAILURES_KEPT {
                    failures.clear();
                }
                failures.insert(key, (Instant::now(), why.clone()));
            }
            None => drop(failures.remove(&key)),
        }
    }

    fn forget_failures(&self, user: UserId, server: &str) {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        failures.retain(|key, _| key.user != user || key.server != server);
    }

    /// Connects to a server and asks it for its tools.
    ///
    /// Fails with the reason in words.
    async fn list(
        self: &Arc<Self>,
        owner: &Owner,
        server: &Server,
        sandbox: Option<&Sandbox>,
    ) -> Result<Listing, String> {
        let connection = self.connection(owner, server, sandbox).await?;
        connection.set_stale();
        let place = sandbox.map(Sandbox::place);
        match self.refreshed(owner, server, place, &connection).await? {
            Some(listing) => Ok(listing),
            None => Err("its tools were listed by another call at the same time; try again".to_owned()),
        }
    }

    /// Lists a server's tools again if they may have changed, and records them; `None` if they did not change since they were
    /// listed last.
    ///
    /// Fails with the reason in words.
    async fn refreshed(
        &self,
        owner: &Owner,
        server: &Server,
        place: Option<&str>,
        connection: &Connection,
    ) -> Result<Option<Listing>, String> {
        if !connection.take_stale() {
            return Ok(None);
        }
        let found = match connection.tools().await {
            Ok(found) => found,
            Err(why) => {
                connection.set_stale();
                return Err(why);
            }
        };
        for _ in 0..MCP_LISTING_TRIES {
            let known = self.store.mcp_catalogues(owner.user.id, place).await.map_err(unread)?;
            let before = find(&known, server, place);
            let listing = before.and_then(|before| read(before, server)).unwrap_or_default();
            let mut listing = listing.after(found.clone());
            listing.era = connection.era();
            listing.instructions = connection.instructions();
            listing.has_resources = connection.has_resources();
            let catalogue = McpCatalogue {
                place: place_of(server, place),
                server: server.name.clone(),
                hash: server.hash.clone(),
                listing_json: serde_json::to_string(&listing).unwrap_or_default(),
                listed_at_ms: 0,
            };
            let before = before.map(|before| before.listing_json.as_str());
            if self.store.put_mcp_catalogue(owner.user.id, &catalogue, before).await.map_err(unread)? {
                return Ok(Some(listing));
            }
        }
        connection.set_stale();
        Err("its tools were listed by others at the same time; try again".to_owned())
    }

    /// Checks that a tool is still what was accepted, and what the turn knows.
    ///
    /// Fails with the reason in words.
    async fn check_tool(
        &self,
        owner: &Owner,
        server: &Server,
        place: Option<&str>,
        connection: &Connection,
        definition: &Definition,
    ) -> Result<(), String> {
        let Some(listing) = self.refreshed(owner, server, place, connection).await? else { return Ok(()) };
        let tool = &definition.name;
        match listing.tools.iter().find(|known| known.accepted.name == *tool) {
            Some(known) if known.is_offered() && known.accepted == *definition => Ok(()),
            Some(known) if known.changed.is_some() => {
                connection.set_stale();
                Err(format!(
                    "its tool {tool} is not what was accepted any more, and is not called. Tell the user to look at the difference \
                     with `sandbridge mcp-server accept {}`, or under MCP servers in the settings",
                    server.name
                ))
            }
            _ => {
                connection.set_stale();
                Err(format!("it has no tool {tool} any more"))
            }
        }
    }

    /// The connection for an owner, made if there is none.
    ///
    /// Fails with the reason in words.
    async fn connection(
        self: &Arc<Self>,
        owner: &Owner,
        server: &Server,
        sandbox: Option<&Sandbox>,
    ) -> Result<Arc<Connection>, String> {
        let place = sandbox.map(Sandbox::place);
        let slot = self.pool.slot(&key(owner, server, place))?;
        let mut held = slot.0.lock().await;
        if let Some(connection) = held.as_ref().filter(|connection| !connection.is_closed()) {
            return Ok(Arc::clone(connection));
        }
        if self.stop.is_cancelled() {
            return Err("the server is stopping".to_owned());
        }
        self.check_server(owner.user.id, server, sandbox).await?;
        let known = self.store.mcp_catalogues(owner.user.id, place).await.map_err(unread)?;
        let known = find(&known, server, place).and_then(|found| read(found, server));
        let era = known.map_or(Era::Unknown, |listing| listing.era);
        let mut made = self.connect(owner, server, sandbox, era).await;
        if made.is_err() && era != Era::Unknown {
            // It may have been updated.
            made = self.connect(owner, server, sandbox, Era::Unknown).await;
        }
        if made.as_ref().is_err_and(|refused| refused.is_closed) && server.is_program() {
            // Some servers of the older era end when they are asked for something that they do not know.
            made = self.connect(owner, server, sandbox, Era::Initialize).await;
        }
        let connection = Arc::new(made.map_err(|refused| refused.why)?);
        *held = Some(Arc::clone(&connection));
        Ok(connection)
    }

    /// Checks that a server is still defined, and approved, as when the turn began.
    ///
    /// Fails with the reason in words.
    async fn check_server(
        &self,
        user: UserId,
        server: &Server,
        sandbox: Option<&Sandbox>,
    ) -> Result<(), String> {
        let servers = self.servers(user, sandbox).await.map_err(unread)?;
        match servers.named(&server.name) {
            Some(now) if now.is_ready() && now.hash == server.hash => Ok(()),
            _ => Err(format!(
                "it was changed or removed, or is not approved any more; see `sandbridge mcp-server list` for {}",
                server.name
            )),
        }
    }

    async fn connect(
        self: &Arc<Self>,
        owner: &Owner,
        server: &Server,
        sandbox: Option<&Sandbox>,
        era: Era,
    ) -> Result<Connection, Refused> {
        let refused = |why: String| Refused { why, is_closed: false };
        match &server.spec.launch {
            Launch::Address { url, headers } => {
                let (client, url) = self.talker.client(url).map_err(|error| refused(error.to_string()))?;
                let mut config = StreamableHttpClientTransportConfig::with_uri(url.as_str());
                config.max_sse_event_size = MCP_LINE_BYTES;
                for (name, value) in headers {
                    let (name, value) =
                        guard::header(name, value).map_err(|error| refused(error.to_string()))?;
                    config.custom_headers.insert(name, value);
                }
                let transport = StreamableHttpClientTransport::with_client(client, config);
                connection::connect(transport, era, None, Remains::default()).await
            }
            Launch::Program { command, args, env } => {
                let Some(sandbox) = sandbox else {
                    return Err(refused("no machine can be reached".to_owned()));
                };
                let request = config::request(command, args, env);
                let action = server.spec.action();
                let shown = format!("MCP server {}: {action}", server.name);
                let (ledger, user, chat) = (&self.ledger, &owner.user, owner.chat.as_ref());
                let recorded = OnRecord::begin(ledger, user, chat, &request, sandbox.place(), action, shown)
                    .await
                    .map_err(|error| refused(unread(error)))?;
                let (over, tasks) = (self.stop.child_token(), &self.tasks);
                let spawn = |task| drop(tasks.spawn(task));
                let started = program::start(recorded, sandbox, request, over.clone(), spawn).await;
                let (pipe, remains) = started.map_err(refused)?;
                let root = format!("file://{}", sandbox.facts().workspace);
                let connected = connection::connect(pipe, era, Some(root), remains.clone()).await;
                connected.map_err(|Refused { why, is_closed }| {
                    over.cancel();
                    let words = remains.words();
                    let why = if words.is_empty() { why } else { format!("{why}: {words}") };
                    Refused { why, is_closed }
                })
            }
        }
    }
}

/// The place of a server's tools on record; empty for a server that is reached from this one.
fn place_of(server: &Server, place: Option<&str>) -> String {
    if server.is_program() { place.unwrap_or_default().to_owned() } else { String::new() }
}

fn key(owner: &Owner, server: &Server, place: Option<&str>) -> Key {
    Key {
        user: owner.user.id,
        chat: owner.chat.clone(),
        place: place_of(server, place),
        server: server.name.clone(),
        hash: server.hash.clone(),
    }
}

/// What a server listed, among all that was listed.
fn find<'a>(known: &'a [McpCatalogue], server: &Server, place: Option<&str>) -> Option<&'a McpCatalogue> {
    let place = place_of(server, place);
    known.iter().find(|found| found.server == server.name && found.place == place)
}

/// A listing on record, if it is one of this definition.
fn read(found: &McpCatalogue, server: &Server) -> Option<Listing> {
    (found.hash == server.hash).then(|| serde_json::from_str(&found.listing_json).ok())?
}

/// The words for a store that fails; its details go only to the log.
fn unread(error: store::Error) -> String {
    tracing::error!(%error, "the store failed for an MCP server");
    error.shown()
}
