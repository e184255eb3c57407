//! This server as one of several nodes: where the work for a user is done.

use std::sync::Arc;

use nodes::{Home, Nodes};
use peers::{PeerNode, Peers};
use tokio::time::sleep;

use accounts::UserId;

use crate::limits::{HOME_LOOK_PAUSE, HOME_LOOKS};
use crate::web::error::ApiError;

/// A node that forwards.
pub struct Cluster {
    /// Its homes.
    pub nodes: Nodes,
    /// Its connections to other nodes.
    pub peers: Peers,
}

/// A request's extension: another node forwarded it.
#[derive(Clone, Debug)]
pub struct FromPeer {
    /// That node.
    pub node: Arc<PeerNode>,
    /// The user for whom it opened a runner's link, if it did.
    pub user: Option<UserId>,
}

/// Where something for a user goes.
pub enum Place {
    /// This node.
    Here,
    /// That one.
    At(Arc<PeerNode>),
}

/// Looks at the home of one user, again after a node said that it is not there, and not for ever.
pub struct Looks<'a> {
    cluster: &'a Cluster,
    user: UserId,
    left: u32,
}

impl Cluster {
    /// For one request for a user.
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
    /// Where the user's home is now.
    ///
    /// # Errors
    /// `unavailable` once it was looked up too often.
    pub async fn place(&mut self) -> Result<Place, ApiError> {
        let Cluster { nodes, peers } = self.cluster;
        loop {
            let peer = match nodes.home(self.user).await {
                Ok(Home::Here) => return Ok(Place::Here),
                Ok(Home::At(url)) => peers.directory().at(&url),
                // Without another node this one answers what it can.
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
                // It has just joined, or its lease has just ended.
                None => self.was_wrong().await?,
            }
        }
    }

    /// The place was wrong, or cannot be reached: the home is looked up again.
    ///
    /// # Errors
    /// `unavailable` once that happened too often.
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

/// The node that works for the user cannot be reached now.
pub fn unavailable() -> ApiError {
    ApiError::new(
        "unavailable",
        "the server that works for you cannot be reached now; try again in a few seconds",
    )
}
