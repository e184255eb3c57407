//! The list of live nodes, which this node reads from the database each second, and soon after a caller presents an unknown key.
//!
//! While the database does not respond, the list stays as it is, because no node can take over then.

use std::sync::Arc;

use store::{NodeState, PeerNode, Store};
use tokio::sync::{Notify, watch};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::limits::{DIRECTORY_INTERVAL, DIRECTORY_PAUSE};

/// The list. Cheap to clone; all clones share the same list.
#[derive(Clone, Debug)]
pub struct Directory(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    nodes: watch::Sender<Arc<Vec<Arc<PeerNode>>>>,
    is_wanted: Notify,
}

impl Default for Directory {
    fn default() -> Self {
        Self(Arc::new(Inner { nodes: watch::Sender::new(Arc::default()), is_wanted: Notify::new() }))
    }
}

impl Directory {
    /// Reads the list repeatedly until `stop`.
    pub async fn keep(&self, store: &Store, stop: &CancellationToken) {
        loop {
            match store.peer_nodes().await {
                Ok(nodes) => self.set(nodes),
                Err(error) => {
                    tracing::debug!(%error, "cannot read the list of nodes; keeping the last known list")
                }
            }
            let wanted = async {
                // Unknown callers at the listener must not make this node read the list without pause.
                sleep(DIRECTORY_PAUSE).await;
                self.0.is_wanted.notified().await;
            };
            tokio::select! {
                _ = timeout(DIRECTORY_INTERVAL, wanted) => {}
                () = stop.cancelled() => return,
            }
        }
    }

    /// Replaces the list.
    pub fn set(&self, nodes: Vec<PeerNode>) {
        self.0.nodes.send_if_modified(|known| {
            if known.iter().map(AsRef::as_ref).eq(nodes.iter()) {
                return false;
            }
            *known = Arc::new(nodes.into_iter().map(Arc::new).collect());
            true
        });
    }

    /// Requests that the list be read again soon.
    pub fn refresh(&self) {
        self.0.is_wanted.notify_one();
    }

    /// Returns the live node with this URL.
    pub fn at(&self, url: &str) -> Option<Arc<PeerNode>> {
        self.find(|node| node.url == url)
    }

    /// Returns the live node with this key.
    pub fn with_key(&self, key: &[u8]) -> Option<Arc<PeerNode>> {
        self.find(|node| node.public_key == key)
    }

    /// Returns the node with the fewest homes among those that accept more and whose URL is not `own`.
    pub fn least_busy(&self, own: &str) -> Option<Arc<PeerNode>> {
        let nodes = self.0.nodes.borrow();
        let free = nodes.iter().filter(|node| node.state == NodeState::Up && node.url != own);
        free.min_by_key(|node| node.homes).cloned()
    }

    /// Returns true if the node process with this id is live.
    pub fn is_live(&self, id: &str) -> bool {
        self.find(|node| node.id == id).is_some()
    }

    /// Returns once the node process with this id is no longer live.
    pub async fn gone(&self, id: &str) {
        let mut news = self.0.nodes.subscribe();
        // The sender lives as long as `self`, so this cannot fail.
        let _ended = news.wait_for(|nodes| !nodes.iter().any(|node| node.id == id)).await;
    }

    fn find(&self, is_it: impl Fn(&PeerNode) -> bool) -> Option<Arc<PeerNode>> {
        self.0.nodes.borrow().iter().find(|node| is_it(node)).cloned()
    }
}
