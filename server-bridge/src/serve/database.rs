//! The server's database: opening it, holding the right to it, and recovering the work that an earlier server left in it.

use automation::Automations;
use channels::Channels;
use chats::ChatService;
use groups::Groups;
use knowledge::Knowledge;
use nodes::Nodes;
use peers::{NodeKey, Peers};
use sandbox::SandboxRouter;
use store::{Hold, HoldNews, Location, Store, UserId};
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use super::{StartError, own_key};
use crate::config::Config;
use crate::limits::SETTINGS_INTERVAL;
use crate::tls::TlsError;
use crate::web::ready::Readiness;

/// A database that was opened.
pub(crate) struct Opened {
    /// The store, with its models' keys.
    pub(crate) store: Store,
    /// The right to a database that other machines may reach.
    pub(crate) hold: Option<Hold>,
    /// This server's membership as a node, if it is one.
    pub(crate) node: Option<Nodes>,
    /// The server's connections to other nodes, if several nodes work at once.
    pub(crate) peers: Option<Peers>,
}

/// Opens a server's store, with its models' keys, and takes the right to it: exclusive, or a node's share.
pub(crate) async fn open_store(config: &Config) -> Result<Opened, StartError> {
    if let (Location::Postgres(url), Some(node_url)) = (&config.database, &config.node.url) {
        let key = config.node.peer_listen.as_ref().map(|_| NodeKey::generate()).transpose()?;
        let public_key = key.as_ref().map(|key| key.public().to_vec());
        let peers = key.map(|key| Peers::new(key, node_url)).transpose().map_err(TlsError::from)?;
        let store = with_blobs(Store::at_as_node(url).await?, config).await?;
        let hold = Some(Hold::share(url).await?);
        let (node, store) = Nodes::join(store, node_url, env!("CARGO_PKG_VERSION"), public_key).await?;
        return match own_key::unlock(store, config).await {
            Ok(store) => Ok(Opened { store, hold, node: Some(node), peers }),
            Err(error) => {
                node.leave().await;
                Err(error)
            }
        };
    }
    // Errors of the database itself are reported first.
    let store = with_blobs(Store::at(&config.database).await?, config).await?;
    let hold = match &config.database {
        Location::File(_) => None,
        Location::Postgres(url) => Some(Hold::take(url).await?),
    };
    Ok(Opened { store: own_key::unlock(store, config).await?, hold, node: None, peers: None })
}

/// Adds the bucket for long values to the store, if one is configured.
async fn with_blobs(store: Store, config: &Config) -> Result<Store, StartError> {
    if let Some(bucket) = &config.blobs {
        return Ok(store.with_blobs(bucket).await?);
    }
    if store.lacks_blobs().await? {
        tracing::warn!(
            "long values of this database are in an object store, and cannot be read: start the server with the --blobs s3://BUCKET[/PREFIX] \
             with which they were written"
        );
    }
    Ok(store)
}

/// The services that begin and end their work for a user when this node becomes, or stops being, the user's home.
#[derive(Clone)]
pub(super) struct Homes {
    /// The chats.
    pub(super) chats: ChatService,
    /// The documents.
    pub(super) knowledge: Knowledge,
    /// The accounts on messengers.
    pub(super) channels: Channels,
    /// The automations.
    pub(super) automations: Automations,
    /// The groups.
    pub(super) groups: Groups,
    /// The links of runners.
    pub(super) router: SandboxRouter,
    /// The database.
    pub(super) store: Store,
}

/// Continues the work that an earlier server left. A node does so for each user when it becomes the user's home.
pub(super) async fn recover(homes: &Homes, node: Option<&Nodes>) -> Result<(), StartError> {
    let Some(node) = node else {
        homes.chats.recover().await?;
        return Ok(());
    };
    homes.chats.load().await?;
    let (begun, ended) = (homes.clone(), homes.clone());
    node.set_settle(Box::new(move |user| {
        let homes = begun.clone();
        Box::pin(async move { homes.begin(user).await })
    }));
    node.set_end_work(Box::new(move |user| {
        let homes = ended.clone();
        Box::pin(async move { homes.end(user).await })
    }));
    Ok(())
}

impl Homes {
    async fn begin(&self, user: UserId) -> Result<(), String> {
        let shown = |error: &dyn std::fmt::Display| error.to_string();
        let last = self.store.take_connected_runners(Some(user)).await.map_err(|error| shown(&error))?;
        self.router.expect(last.into_iter().map(|(user, name)| (execs::user_key(user), name)));
        // The user's chats go on even if the index of documents cannot.
        let indexed = self.knowledge.recover(user).await.map_err(|error| shown(&error));
        self.chats.recover_user(user).await.map(drop).map_err(|error| shown(&error))?;
        self.look();
        indexed
    }

    fn look(&self) {
        self.channels.look();
        self.automations.look();
        self.groups.look();
    }

    /// Closes the links of runners first: they reconnect to the user's next home, where their running commands continue.
    async fn end(&self, user: UserId) {
        self.router.send_away(&execs::user_key(user));
        self.look();
        self.chats.end_user(user).await;
    }
}

/// Keeps the right to the database until the server stops; stops it if another server has taken that right.
pub(super) async fn keep(hold: Option<Hold>, ready: &Readiness, shutdown: CancellationToken) {
    let Some(mut hold) = hold else { return };
    loop {
        let news = tokio::select! {
            news = hold.news() => news,
            () = shutdown.cancelled() => return,
        };
        match news {
            HoldNews::Away(error) => {
                ready.set_away(true);
                tracing::warn!(%error, "the database is unavailable; trying again");
            }
            HoldNews::Back => {
                ready.set_away(false);
                tracing::info!("the database is available again");
            }
            HoldNews::Lost(error) => return stop_for(&error, &shutdown),
        }
    }
}

/// Renews a node's lease and takes over users of dead nodes until `end`; stops the server if another node has taken its place.
pub(super) async fn keep_node(node: Nodes, shutdown: CancellationToken, end: CancellationToken) {
    if let Err(error) = node.run(&end).await {
        stop_for(&error, &shutdown);
    }
}

/// Applies the settings that administrators change on other nodes, until the server stops.
pub(super) async fn reload_settings(chats: ChatService, shutdown: CancellationToken) {
    let mut due = interval(SETTINGS_INTERVAL);
    due.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = due.tick() => {}
            () = shutdown.cancelled() => return,
        }
        if let Err(error) = chats.reload_settings().await {
            tracing::debug!(%error, "cannot read the settings again");
        }
    }
}

/// Keeps the list of live nodes, and warns of a URL that leads other nodes elsewhere, until `end`.
pub(super) async fn keep_peers(peers: Peers, store: Store, end: CancellationToken) {
    let checking = async {
        match peers.check_own_url().await {
            Ok(()) => {}
            Err(error @ peers::Error::Stranger { .. }) => tracing::error!("{error}"),
            Err(error) => {
                tracing::warn!("{error}; other nodes must be able to reach this node at that URL");
            }
        }
    };
    tokio::join!(peers.keep(&store, &end), checking);
}

fn stop_for(error: &store::Error, shutdown: &CancellationToken) {
    tracing::error!(
        "{error}; this server stops, because two servers on one database would end each other's work"
    );
    shutdown.cancel();
}
