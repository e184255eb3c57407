//! This server as one of several nodes: finds the node that works for a user.

use std::sync::Arc;

use nodes::{Home, Nodes};
use peers::{PeerNode, Peers};
use tokio::time::sleep;

use accounts::UserId;

use crate::limits::{HOME_LOOK_PAUSE, HOME_LOOKS};
use crate::web::error::ApiError;

/// A node that works at the same time as other nodes and forwards requests to them.
pub struct Cluster {
    /// The nodes and the users' homes.
    pub nodes: Nodes,
    /// The connections to other nodes.
    pub peers: Peers,
}

/// An extension of a request that another node forwarded.
#[derive(Clone, Debug)]
pub struct FromPeer {
    /// The forwarding node.
    pub node: Arc<PeerNode>,
    /// The user for whom that node opened a runner's link, if it did.
    pub user: Option<UserId>,
}

/// The node that handles a user's requests.
pub enum Place {
    /// This node.
    Here,
    /// Another node.
    At(Arc<PeerNode>),
}

/// Looks up the home of one user, and again if the node found turns out not to be the home, a limited number of times.
pub struct Looks<'a> {
    cluster: &'a Cluster,
    user: UserId,
    left: u32,
}

impl Cluster {
    /// Creates the lookups for one request of a user.
    pub fn looks(&self, user: UserId) -> Looks<'_> {
        Looks { cluster: self, user, left: HOME_LOOKS }
    }

    /// True if this node is the home of a user, or has just become it.
    pub async fn is_home(&self, user: UserId) -> bool {
        match self.nodes.home(user).await {
            Ok(home) => home == Home::Here,
            Err(error) => {
                tracing::debug!(%error, %user, "cannot look up a user's home");
                false
            }
        }
    }
}

impl Looks<'_> {
    /// The user's current home.
    ///
    /// # Errors
    /// `unavailable` after too many lookups.
    pub async fn place(&mut self) -> Result<Place, ApiError> {
        let Cluster { nodes, peers } = self.cluster;
        loop {
            let peer = match nodes.home(self.user).await {
                Ok(Home::Here) => return Ok(Place::Here),
                Ok(Home::At(url)) => peers.directory().at(&url),
                // If there is no other node, this one answers the request as far as it can.
                Ok(Home::Nowhere) => match peers.directory().least_busy(peers.url()) {
                    Some(peer) => return Ok(Place::At(peer)),
                    None => return Ok(Place::Here),
                },
                Err(error) => {
                    tracing::warn!(%error, "cannot look up a user's home");
                    return Err(unavailable());
                }
            };
            match peer {
                Some(peer) => return Ok(Place::At(peer)),
                // The node has just joined, or its lease has just ended.
                None => self.was_wrong().await?,
            }
        }
    }

    /// Records that the node found was not the home, or cannot be reached: the next call of [`Self::place`] looks it up again.
    ///
    /// # Errors
    /// `unavailable` if this happened too many times.
    pub async fn was_wrong(&mut self) -> Result<(), ApiError> {
        self.cluster.nodes.forget_home(self.user);
        self.cluster.peers.directory().refresh();
        if self.left == 0 {
            return Err(unavailable());
        }
        self.left -= 1;
        sleep(HOME_LOOK_PAUSE).await;
        Ok(())
    }
}

/// The error for a user whose node cannot be reached now.
pub fn unavailable() -> ApiError {
    ApiError::new(
        "unavailable",
        "the server that works for you cannot be reached now; try again in a few seconds",
    )
}
