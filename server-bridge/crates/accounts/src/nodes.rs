//! The nodes that share the server's database, for administrators.

use store::{Node, PoolUse, User};

use crate::users::check_admin;
use crate::{Accounts, Result};

impl Accounts {
    /// All nodes, by URL; none for a server that works alone.
    ///
    /// # Errors
    /// [`crate::Error::NotAdmin`]; [`crate::Error::Internal`].
    pub async fn nodes(&self, by: &User) -> Result<Vec<Node>> {
        check_admin(by)?;
        Ok(self.store.nodes().await?)
    }

    /// How many of this server's connections to the database are in use, by purpose.
    ///
    /// # Errors
    /// [`crate::Error::NotAdmin`].
    pub fn pools(&self, by: &User) -> Result<Vec<PoolUse>> {
        check_admin(by)?;
        Ok(self.store.pools())
    }

    /// Drains a live node, or cancels its drain.
    ///
    /// # Errors
    /// [`crate::Error::NotAdmin`]; [`crate::Error::NotFound`]; [`crate::Error::Invalid`] for a node that is not live, and for the last
    /// node that takes on users.
    pub async fn drain_node(&self, by: &User, url: &str, is_draining: bool) -> Result<()> {
        check_admin(by)?;
        let done = self.store.set_draining(url, is_draining).await;
        let action = if is_draining { "node.drain" } else { "node.undrain" };
        self.note_of_admin(by, action, url, done.is_ok()).await;
        Ok(done?)
    }

    /// Removes a dead node from the list.
    ///
    /// # Errors
    /// [`crate::Error::NotAdmin`]; [`crate::Error::NotFound`]; [`crate::Error::Invalid`] for a live node.
    pub async fn forget_node(&self, by: &User, url: &str) -> Result<()> {
        check_admin(by)?;
        let forgotten = self.store.forget_node(url).await;
        self.note_of_admin(by, "node.forget", url, forgotten.is_ok()).await;
        Ok(forgotten?)
    }
}
