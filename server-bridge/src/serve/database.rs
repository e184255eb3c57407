//! The server's database: opening it, the right to it, and what an earlier server left in it.

use chats::ChatService;
use nodes::Nodes;
use store::{Hold, HoldNews, Location, Store};
use tokio_util::sync::CancellationToken;

use super::{StartError, own_key};
use crate::config::Config;
use crate::web::ready::Readiness;

/// A database that was opened.
pub(crate) struct Opened {
    /// The store, with its models' keys.
    pub(crate) store: Store,
    /// The right to a database that other machines may reach.
    pub(crate) hold: Option<Hold>,
    /// This server as a node.
    pub(crate) node: Option<Nodes>,
}

/// Opens a server's store, with its models' keys, and takes the right to it: exclusive, or a node's share.
pub(crate) async fn open_store(config: &Config) -> Result<Opened, StartError> {
    if let (Location::Postgres(url), Some(node_url)) = (&config.database, &config.node_url) {
        let store = Store::at_as_node(url).await?;
        let hold = Some(Hold::share(url).await?);
        let (node, store) = Nodes::join(store, node_url, env!("CARGO_PKG_VERSION")).await?;
        return match own_key::unlock(store, config).await {
            Ok(store) => Ok(Opened { store, hold, node: Some(node) }),
            Err(error) => {
                node.leave().await;
                Err(error)
            }
        };
    }
    // Errors of the database itself are reported first.
    let store = Store::at(&config.database).await?;
    let hold = match &config.database {
        Location::File(_) => None,
        Location::Postgres(url) => Some(Hold::take(url).await?),
    };
    Ok(Opened { store: own_key::unlock(store, config).await?, hold, node: None })
}

/// Continues what an earlier server left. A node does so for each user, when it becomes the user's home.
pub(super) async fn recover(chats: &ChatService, node: Option<&Nodes>) -> Result<(), StartError> {
    let Some(node) = node else {
        chats.recover().await?;
        return Ok(());
    };
    chats.load().await?;
    let chats = chats.clone();
    node.set_settle(Box::new(move |user| {
        let chats = chats.clone();
        Box::pin(async move { chats.recover_user(user).await.map(drop).map_err(|error| error.to_string()) })
    }));
    Ok(())
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

fn stop_for(error: &store::Error, shutdown: &CancellationToken) {
    tracing::error!("{error}; this server stops, because two of them would end each other's work");
    shutdown.cancel();
}
