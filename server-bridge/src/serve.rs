//! `sandbridge serve`: start, wait for a signal, stop cleanly.
//!
//! ```text
//!  bind ─► open the store ─► recover ─► accept ─► signal ─► drain ─► stop accepting ─► commands, links, sockets end ─► close the store
//! ```
//! A node accepts first, and recovers each user's work when it becomes that user's home.

mod database;
mod drain;
pub(crate) mod lock;
mod missing;
pub(crate) mod own_key;
mod places;
mod shown;
mod told;
mod upkeep;

use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use accounts::Accounts;
use anyhow::Context;
use automation::Automations;
use channels::{Channels, Surroundings};
use chats::ChatService;
use chats::models::Secret;
use nodes::Nodes;
use sandbox::{LocalPolicy, SandboxRouter};
use store::{Hold, Location, Store};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing_subscriber::EnvFilter;

use crate::config::{Config, ServeArgs};
use crate::extended::Extended;
use crate::limits::{
    COMMANDS_STOP_TIMEOUT, RATE_LIMIT_KEYS, REFUSED_DELIVERIES_PER_ADDRESS_PER_MINUTE,
    REFUSED_KEYS_PER_ADDRESS_PER_MINUTE, REGISTRATIONS_PER_ADDRESS_PER_MINUTE, SHUTDOWN_TIMEOUT,
};
use crate::tls::{self, TlsError};
use crate::web::accept::Site;
use crate::web::auth::cookie_name;
use crate::web::cluster::Cluster;
use crate::web::forwarded::TrustedProxies;
use crate::web::guard::{HostPolicy, without_port};
use crate::web::hub::Hub;
use crate::web::install::HandOut;
use crate::web::mcp::Mcp;
use crate::web::rate::RateLimiter;
use crate::web::ready::Readiness;
use crate::web::runners::Views;
use crate::web::searches::Searches;
use crate::web::setup::Facts;
use crate::web::state::{AppState, Shared};
use crate::web::{accept, events, metrics, peer_accept, presence, router};

use database::Opened;
pub(crate) use database::open_store;
use lock::ServerLock;

/// Why the server cannot start. Each message says what to correct.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Another program listens on the address.
    #[error(
        "cannot listen on {listen}: the port is in use; stop the program that uses it, or pass --listen with another port"
    )]
    PortInUse {
        /// The configured address.
        listen: String,
    },
    /// The address cannot be listened on for another reason.
    #[error("cannot listen on {listen}: {source}; pass --listen ADDRESS:PORT")]
    Listen {
        /// The configured address.
        listen: String,
        /// The cause.
        source: io::Error,
    },
    /// The model cannot be asked with its settings.
    #[error("the model cannot be used: {0}; check --llm-base-url and the key")]
    Model(chats::Error),
    /// Another server uses the same home directory.
    #[error("another server uses {}{}; stop it or pass --home DIR", home.display(), lock::in_words(*pid))]
    HomeInUse {
        /// The home directory.
        home: PathBuf,
        /// That server's process; `None` while it is not known yet.
        pid: Option<u32>,
    },
    /// The server cannot determine whether another server uses the home directory.
    #[error("cannot lock {}/server.lock: {source}; check its owner and mode, or pass --home DIR", home.display())]
    Lock {
        /// The home directory.
        home: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The node has no key for its connections to other nodes.
    #[error(transparent)]
    NodeKey(#[from] peers::key::NoKey),
    /// TLS cannot be set up.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The file with the server's own encryption key cannot be used.
    #[error("cannot use the encryption key in {}: {reason}", path.display())]
    KeyFile {
        /// The path of the file.
        path: PathBuf,
        /// The reason, and what to do.
        reason: String,
    },
    /// The encryption key that sealed the keys of models is missing.
    #[error(
        "cannot start without the encryption key (looked at {}): {what}; or pass --forget-sealed-keys once to remove the keys of \
         models, so that their owners can give them again", path.display()
    )]
    KeyMissing {
        /// The path of the server's own key.
        path: PathBuf,
        /// The missing key, and what to do.
        what: &'static str,
    },
    /// The store cannot be opened or prepared.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The server cannot determine whether there are accounts.
    #[error(transparent)]
    Accounts(#[from] accounts::Error),
    /// Work that an earlier run left unfinished cannot be recovered.
    #[error("cannot recover what ran before the restart: {0}")]
    Recover(#[from] chats::Error),
}

/// Implements `sandbridge serve`: runs the server until SIGINT or SIGTERM.
///
/// # Errors
/// One line that says why the server cannot start and what to correct.
pub fn main(args: ServeArgs, home: Option<&Path>) -> anyhow::Result<()> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?
        .block_on(run(args, home))
}

async fn run(args: ServeArgs, home: Option<&Path>) -> anyhow::Result<()> {
    let filter = EnvFilter::try_from_env("SANDBRIDGE_LOG").unwrap_or_else(|_| {
        EnvFilter::new("info,rmcp=off,sqlx_core::pool=error,sqlx::postgres::notice=warn")
    });
    crate::log_ring::init(filter, io::stderr);
    let config = Config::load(args, home)?;
    raise_open_files();
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot wait for signals")?;
    let mut terminate = signal(SignalKind::terminate()).context("cannot wait for signals")?;
    let server = Server::bind(config.clone()).await?;
    missing::say(&config);
    // The server runs even if its standard output is closed.
    let _ = writeln!(io::stdout(), "listening on {}", server.url());
    if let Some(url) = server.setup_url() {
        let _ = writeln!(io::stdout(), "create the first account at {url}");
    }
    let shutdown = server.shutdown_token();
    let (state, node) = (server.state.clone(), server.node.clone());
    let mut signalled = async || {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    };
    let signals = async {
        let stop = CancellationToken::new();
        let asked = async {
            tokio::select! {
                () = signalled() => {}
                // The server lost the right to its database.
                () = shutdown.cancelled() => {}
            }
            stop.cancel();
        };
        tokio::join!(asked, drain::while_wanted(&state, node.as_ref(), &stop));
        if shutdown.is_cancelled() {
            return;
        }
        if let Some(most) = config.node.drain {
            tracing::info!("stopping when the answers in progress have ended");
            tokio::select! {
                () = drain::drain(&state, node.as_ref(), most) => {}
                () = signalled() => {}
            }
        }
        tracing::info!("stopping");
        shutdown.cancel();
    };
    tokio::join!(server.run(), signals);
    Ok(())
}

/// A server that is bound and ready to run.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    acceptor: Option<TlsAcceptor>,
    proxies: Arc<TrustedProxies>,
    store: Store,
    state: AppState,
    lock: ServerLock,
    hold: Option<Hold>,
    node: Option<Nodes>,
    /// The listener for connections of other nodes.
    peer_listener: Option<TcpListener>,
    setup_secret: Option<String>,
}

impl Server {
    /// Locks the home directory, listens, opens the store and recovers the work that an earlier run left unfinished.
    ///
    /// # Errors
    /// [`StartError`].
    pub async fn bind(config: Config) -> Result<Self, StartError> {
        let lock = ServerLock::take(&config.home)?;
        let acceptor = config.tls.as_ref().map(|(cert, key)| tls::acceptor(cert, key)).transpose()?;
        let (listener, address) = listen(&config.listen).await?;
        let peer_listener = match &config.node.peer_listen {
            Some(address) => Some(listen(address).await?.0),
            None => None,
        };
        let opened = Box::pin(open_store(&config)).await?;
        let leaving = opened.node.clone();
        let bound = Self::prepare(config, (lock, acceptor), (listener, address, peer_listener), opened);
        let bound = Box::pin(bound).await;
        if let (Err(_), Some(node)) = (&bound, leaving) {
            // If the database does not answer, the lease ends by itself.
            let _ = timeout(SHUTDOWN_TIMEOUT, node.leave()).await;
        }
        bound
    }

    async fn prepare(
        config: Config,
        (lock, acceptor): (ServerLock, Option<TlsAcceptor>),
        (listener, address, peer_listener): (TcpListener, SocketAddr, Option<TcpListener>),
        Opened { store, hold, node, peers }: Opened,
    ) -> Result<Self, StartError> {
        store.purge_expired().await?;
        let sandboxes = SandboxRouter::new(places::router_config(&config));
        if peers.is_none() {
            let last = store.take_connected_runners(None).await?;
            sandboxes.expect(last.into_iter().map(|(user, name)| (execs::user_key(user), name)));
        }
        let facts = Facts {
            started_at_ms: store.now_ms(),
            docker: config.docker,
            local: config.local != LocalPolicy::Off,
            sealed: true,
            listen: address,
            on_postgres: matches!(config.database, Location::Postgres(_)),
            one_person: config.one_person,
        };
        // The cryptography provider is installed here, since a page may be fetched before the first request to a model's provider.
        tls::install_provider();
        config.models.check().map_err(StartError::Model)?;
        let secrets = config.models.server.iter().filter_map(|(_, key)| key.clone().map(|Secret(key)| key));
        let secrets: Vec<String> = secrets.collect();
        let chats = ChatService::new(store.clone(), sandboxes.clone(), config.models, config.internet);
        let hub = Arc::new(Hub::new(chats.languages()));
        let events = chats.bus().subscribe(told::chats(Arc::clone(&hub)));
        let chats = chats.with_home(config.home.clone());
        let extensions = Extended::new(&chats, &store, &sandboxes, &config.home, &config.reachable, secrets);
        let automations = Automations::new(&chats, &store);
        chats.hooks().put(automations.clone());
        automations.offer_tools(&chats);
        let around = Surroundings::new(&config.reachable, config.public_url.clone(), config.home.clone());
        let channels = Channels::new(&chats, &store, around);
        chats.hooks().put(channels.clone());
        channels.offer_tools(&chats);
        let groups = told::groups(&chats, &store, &sandboxes, (&hub, &channels), config.handed_max_bytes);
        let homes = database::Homes {
            chats: chats.clone(),
            knowledge: extensions.knowledge.clone(),
            channels: channels.clone(),
            automations: automations.clone(),
            groups: groups.clone(),
            router: sandboxes.clone(),
            store: store.clone(),
        };
        database::recover(&homes, node.as_ref()).await?;
        let mut names = config.allow_host.clone();
        if let Some((_, host)) = config.public_url.as_deref().and_then(|url| url.split_once("://")) {
            names.push(without_port(host).to_owned());
        }
        if let Some((name, _)) = config.listen.rsplit_once(':') {
            names.push(name.to_ascii_lowercase());
        }
        let shutdown = CancellationToken::new();
        let cluster = node.clone().zip(peers).map(|(nodes, peers)| Cluster { nodes, peers });
        let cookie_name = match cluster {
            // The cookie has the same name on all nodes, whatever ports they listen on.
            Some(_) => cookie_name("nodes"),
            None => cookie_name(address.port()),
        };
        let accounts = Accounts::new(store.clone());
        let hand_out = Arc::new(HandOut::new(config.runner_static));
        let views =
            Views { accounts: accounts.clone(), router: sandboxes.clone(), hand_out: Arc::clone(&hand_out) };
        let state = AppState::new(Shared {
            mcp: Mcp::new(&shutdown, chats.clone(), views),
            accounts,
            router: sandboxes,
            ledger: chats.execs().clone(),
            chats,
            extensions,
            automations,
            channels,
            groups,
            hub,
            events,
            hand_out,
            hosts: HostPolicy::new(address.ip(), names),
            public_url: config.public_url,
            tls: acceptor.is_some(),
            cookie_name,
            cluster,
            refused_keys: RateLimiter::new(REFUSED_KEYS_PER_ADDRESS_PER_MINUTE, RATE_LIMIT_KEYS),
            registrations: RateLimiter::new(REGISTRATIONS_PER_ADDRESS_PER_MINUTE, RATE_LIMIT_KEYS),
            refused_deliveries: RateLimiter::new(REFUSED_DELIVERIES_PER_ADDRESS_PER_MINUTE, RATE_LIMIT_KEYS),
            searches: Searches::default(),
            metrics: metrics::handle(),
            shutdown,
            tasks: TaskTracker::new(),
            execs: TaskTracker::new(),
            facts,
            ready: Arc::new(Readiness::new(node.clone())),
        });
        let setup_secret = state.accounts.begin_first(config.node.url.as_deref().unwrap_or_default()).await?;
        Ok(Self {
            listener,
            address,
            acceptor,
            proxies: config.proxies,
            store,
            state,
            lock,
            hold,
            node,
            peer_listener,
            setup_secret,
        })
    }

    /// The address listened on; with port 0 in the configuration, the actual one.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The server's address for a browser on this machine.
    pub fn url(&self) -> String {
        let scheme = if self.acceptor.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    /// The URL for creating the first account, while there is no account: anyone who has this URL may create it.
    pub fn setup_url(&self) -> Option<String> {
        let base = self.state.public_url.clone().unwrap_or_else(|| self.url());
        self.setup_secret.as_ref().map(|secret| format!("{base}/#setup={secret}"))
    }

    /// The token that stops the server when it is cancelled.
    pub fn shutdown_token(&self) -> CancellationToken {
        self.state.shutdown.clone()
    }

    /// The state that the server shares with its requests.
    pub fn state(&self) -> &AppState {
        &self.state
    }

    /// The database, for `sandbridge here` and for tests. Requests have no direct access to it.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Serves until the shutdown token is cancelled; returns when everything has ended, 10 s later at most.
    pub async fn run(self) {
        let Self { listener, acceptor, proxies, store, state, lock, hold, node, peer_listener, .. } = self;
        let (ready, shutdown) = (Arc::clone(&state.ready), state.shutdown.clone());
        state.tasks.spawn(async move { database::keep(hold, &ready, shutdown).await });
        let end_of_node = CancellationToken::new();
        let keeping = node
            .clone()
            .map(|node| tokio::spawn(database::keep_node(node, state.shutdown.clone(), end_of_node.clone())));
        state.tasks.spawn(leave_at_stop(state.clone()));
        state.tasks.spawn(presence::relay(state.clone(), state.router.subscribe()));
        state.tasks.spawn(presence::relay_accounts(state.clone(), state.accounts.subscribe()));
        state.tasks.spawn(upkeep::purge(store.clone(), state.shutdown.clone()));
        state.tasks.spawn(upkeep::purge_sign_in(store.clone(), state.shutdown.clone()));
        state.tasks.spawn(upkeep::sweep_blobs(store.clone(), state.shutdown.clone()));
        state.automations.start();
        state.channels.start();
        state.groups.start();
        state.tasks.spawn(upkeep::memorise_idle_chats(state.clone()));
        state.tasks.spawn(upkeep::index_older_messages(store.clone(), state.shutdown.clone()));
        let (indexing, shutdown) = (state.clone(), state.shutdown.clone());
        state.tasks.spawn(async move { indexing.extensions.index(&indexing.chats, shutdown).await });
        state.tasks.spawn(events::forget_gone(state.clone()));
        state.tasks.spawn(presence::end_runners_of_removed_users(state.clone()));
        let tasks = state.tasks.clone();
        let router = router(state.clone());
        if let (Some(listener), Some(cluster)) = (peer_listener, &state.cluster) {
            let (peers, end) = (cluster.peers.clone(), end_of_node.clone());
            tokio::spawn(database::keep_peers(peers, store.clone(), end));
            state.tasks.spawn(database::reload_settings(state.chats.clone(), state.shutdown.clone()));
            state.tasks.spawn(peer_accept::serve(listener, router.clone(), state.clone()));
        }
        let site = Site { tls: acceptor, proxies, router };
        accept::serve(listener, site, tasks, state.shutdown.clone()).await;
        state.execs.close();
        let commands_end = || async {
            tokio::join!(
                state.automations.shutdown(),
                state.channels.shutdown(),
                state.groups.shutdown(),
                state.chats.shutdown(),
                state.execs.wait(),
                state.extensions.shutdown()
            )
        };
        let ended = async {
            // All commands have been cancelled. Each outcome arrives over the runner's link, so the links are closed after the commands
            // have ended; commands that do not end in time are lost with their link, and recorded as lost.
            if timeout(COMMANDS_STOP_TIMEOUT, commands_end()).await.is_err() {
                tracing::warn!("some commands did not end in time");
            }
            state.router.shutdown().await;
            commands_end().await;
            state.tasks.close();
            state.tasks.wait().await;
        };
        if timeout(SHUTDOWN_TIMEOUT, ended).await.is_err() {
            tracing::warn!(tasks = state.tasks.len(), "some connections did not end in time");
        }
        // The lease is given up last: the ends of commands were recorded under it.
        end_of_node.cancel();
        if let (Some(node), Some(keeping)) = (node, keeping) {
            let _ended = keeping.await;
            // If the database does not answer, the lease ends by itself.
            let _ = timeout(SHUTDOWN_TIMEOUT, node.leave()).await;
        }
        store.close().await;
        drop(lock);
    }
}

async fn listen(address: &str) -> Result<(TcpListener, SocketAddr), StartError> {
    let failed = |source: io::Error| match source.kind() {
        io::ErrorKind::AddrInUse => StartError::PortInUse { listen: address.to_owned() },
        _ => StartError::Listen { listen: address.to_owned(), source },
    };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let local = listener.local_addr().map_err(failed)?;
    Ok((listener, local))
}

/// Detaches the commands that outlive this server as soon as it stops, before it waits for anything: it may be killed during
/// the wait.
async fn leave_at_stop(state: AppState) {
    state.shutdown.cancelled().await;
    state.chats.stop();
}

/// Raises the soft limit on open files: a server has a descriptor per runner and client, and the common default limit of 1,024 is meant for
/// programs that use `select`.
fn raise_open_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current == maximum {
        return;
    }
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }) {
        tracing::debug!(%error, "cannot raise the limit of open files");
    }
}
