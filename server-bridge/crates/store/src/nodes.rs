//! Nodes: the servers that share this database. Each has a lease that is measured by the database's clock.
//!
//! ```text
//!           join             set_draining             leave
//!   (none) ─────► up ──────────────────────► draining ─────► gone ──► (removed: forget, or another node with its URL joins)
//!                  │   ◄────────────────────── (only by an administrator)
//!                  └── the lease expired, and another node claimed a home ──► gone ── join ──► up
//! ```

use std::time::Duration;

use sqlx::FromRow;

use crate::Store;
use crate::database::newest_step;
use crate::error::{Error, Result, check_length};
use crate::limits::{NODE_URL_MAX_BYTES, SCHEMA_OLDEST};
use crate::membership::NodeId;
use crate::sql::{Scope, Transaction, query, query_as, query_scalar};

/// The properties of a node that joins.
#[derive(Clone, Debug)]
pub struct NewNode {
    /// The node's id.
    pub id: NodeId,
    /// The URL at which other nodes reach it: `http(s)://HOST[:PORT]`.
    pub url: String,
    /// The version of its program.
    pub version: String,
    /// The duration of its lease, within which the node must renew it.
    pub lease: Duration,
    /// The key by which other nodes recognise it, as a SubjectPublicKeyInfo in DER. A node without a key cannot run alongside another live node.
    pub public_key: Option<Vec<u8>>,
}

/// A live node, with the data that another node needs to reach it.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct PeerNode {
    /// The node's id.
    pub id: String,
    /// The URL at which other nodes reach it.
    pub url: String,
    /// The version of its program.
    pub version: String,
    /// The node's key, as a SubjectPublicKeyInfo in DER.
    pub public_key: Vec<u8>,
    /// The node's state: up or draining.
    pub state: NodeState,
    /// The number of users whose home it is.
    pub homes: i64,
}

/// The state of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::Type)]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum NodeState {
    /// The node is the home of users, and accepts more users.
    Up,
    /// The node finishes the work in progress, because it is about to stop or an administrator drains it.
    Draining,
    /// The node stopped, or another node took over after its lease expired.
    Gone,
}

/// A node, in the form in which administrators see it.
#[derive(Clone, Debug, FromRow)]
pub struct Node {
    /// The node's id.
    pub id: String,
    /// The URL at which other nodes reach it.
    pub url: String,
    /// The version of its program.
    pub version: String,
    /// The newest schema step that its program contains.
    pub schema_newest: i64,
    /// When its process joined, in Unix milliseconds by the database's clock.
    pub started_at_ms: i64,
    /// The end of its lease, in Unix milliseconds by the database's clock.
    pub lease_until_ms: i64,
    /// The node's state.
    pub state: NodeState,
    /// The number of users whose home it is.
    pub homes: i64,
    /// True if its lease has not expired and its state is not gone.
    pub is_live: bool,
}

/// The result of renewing a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Renewal {
    /// The lease was renewed.
    Kept {
        /// True if the node is marked as draining in the database.
        is_draining: bool,
    },
    /// The node is considered dead: its changes fail until it joins again.
    Gone,
}

impl Store {
    /// True if this is the store of a node: other servers may change the same database.
    pub fn is_node(&self) -> bool {
        self.database.node_id().is_some()
    }

    /// The time, in Unix milliseconds, for values that another node may read within a minute. A node uses the database's clock, since the clocks of
    /// nodes may differ.
    pub(crate) async fn shared_now_ms(&self) -> Result<i64> {
        if self.is_node() {
            self.database.now_ms(&self.clock, self.database.reader()).await
        } else {
            Ok(self.now_ms())
        }
    }

    /// The id of this process's node; `None` for a single server.
    pub fn node(&self) -> Option<&str> {
        self.database.node_id()
    }

    /// Adds a node, or adds it again after it was considered dead. Replaces a dead node with the same URL.
    ///
    /// # Errors
    /// [`Error::NodeUrlInUse`] while a live node has the URL, [`Error::InUse`] while another one is live and one of the two has no key,
    /// [`Error::Invalid`] for a URL beyond 512 bytes, [`Error::Database`].
    pub async fn join_node(&self, node: &NewNode) -> Result<()> {
        check_length("node's URL", &node.url, NODE_URL_MAX_BYTES)?;
        let mut transaction = self.database.unfenced().write(Scope::System).await?;
        let now_ms = self.database.now_ms(&self.clock, &mut transaction).await?;
        let live: Vec<(String, bool)> = query_as(
            "SELECT url, public_key IS NULL FROM nodes WHERE id <> $1 AND state <> 'gone' AND lease_until_ms > $2 ORDER BY url",
        )
        .bind(node.id.as_str())
        .bind(now_ms)
        .fetch_all(&mut transaction)
        .await?;
        if live.iter().any(|(url, _)| *url == node.url) {
            return Err(Error::NodeUrlInUse { url: node.url.clone() });
        }
        let is_alone = node.public_key.is_none();
        if let Some((url, _)) = live.iter().find(|(_, other_is_alone)| is_alone || *other_is_alone) {
            return Err(Error::InUse { place: format!("(node {url})") });
        }
        query("DELETE FROM nodes WHERE url = $1 AND id <> $2")
            .bind(&*node.url)
            .bind(node.id.as_str())
            .execute(&mut transaction)
            .await?;
        query(
            "INSERT INTO nodes (id, url, version, schema_newest, schema_oldest, started_at_ms, lease_until_ms, state, public_key)
             VALUES ($1, $2, $3, $4, $5, $6, $7, 'up', $8)
             ON CONFLICT (id) DO UPDATE SET lease_until_ms = excluded.lease_until_ms, state = 'up'",
        )
        .bind(node.id.as_str())
        .bind(&*node.url)
        .bind(&*node.version)
        .bind(newest_step())
        .bind(SCHEMA_OLDEST)
        .bind(now_ms)
        .bind(now_ms + milliseconds(node.lease))
        .bind(node.public_key.as_deref())
        .execute(&mut transaction)
        .await?;
        transaction.commit().await?;
        Ok(())
    }

    /// The live nodes that have a key, by URL.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn peer_nodes(&self) -> Result<Vec<PeerNode>> {
        let mut transaction = self.database.snapshot().await?;
        let now_ms = self.database.now_ms(&self.clock, &mut transaction).await?;
        Ok(query_as(
            "SELECT n.id, n.url, n.version, n.public_key, n.state,
               (SELECT COUNT(*) FROM homes h WHERE h.node_id = n.id) AS homes
             FROM nodes n WHERE n.state <> 'gone' AND n.lease_until_ms > $1 AND n.public_key IS NOT NULL ORDER BY n.url",
        )
        .bind(now_ms)
        .fetch_all(&mut transaction)
        .await?)
    }

    /// Renews a node's lease, even if it has expired, unless another node took over meanwhile.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn renew_node(&self, node: &NodeId, lease: Duration) -> Result<Renewal> {
        let mut transaction = self.database.unfenced().write(Scope::Alone).await?;
        let now_ms = self.database.now_ms(&self.clock, &mut transaction).await?;
        let state: Option<NodeState> = query_scalar(
            "UPDATE nodes SET lease_until_ms = $1 WHERE id = $2 AND state <> 'gone' RETURNING state",
        )
        .bind(now_ms + milliseconds(lease))
        .bind(node.as_str())
        .fetch_optional(&mut transaction)
        .await?;
        transaction.commit().await?;
        Ok(state.map_or(Renewal::Gone, |state| Renewal::Kept { is_draining: state == NodeState::Draining }))
    }

    /// Marks a node as draining, so that it accepts no more users.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn drain_node(&self, node: &NodeId) -> Result<()> {
        query("UPDATE nodes SET state = 'draining' WHERE id = $1 AND state = 'up'")
            .bind(node.as_str())
            .execute(self.database.unfenced().writer(Scope::Alone))
            .await?;
        Ok(())
    }

    /// Drains a live node without stopping it, or ends the draining; the node notices at its next renewal.
    ///
    /// # Errors
    /// [`Error::NotFound`] for an unknown URL, [`Error::Invalid`] for a node that is not live, and for the last node that accepts users.
    pub async fn set_draining(&self, url: &str, is_draining: bool) -> Result<()> {
        let mut transaction = self.database.unfenced().write(Scope::System).await?;
        let invalid = |rule: &str| Err(Error::Invalid { what: "node", rule: rule.to_owned() });
        if !is_live(self, &mut transaction, url).await?.ok_or_else(|| Error::not_found("node", url))? {
            return invalid("is not running");
        }
        if is_draining {
            let now_ms = self.database.now_ms(&self.clock, &mut transaction).await?;
            let others: i64 = query_scalar(
                "SELECT COUNT(*) FROM nodes WHERE url <> $1 AND state = 'up' AND lease_until_ms > $2",
            )
            .bind(url)
            .bind(now_ms)
            .fetch_one(&mut transaction)
            .await?;
            if others == 0 {
                return invalid("is the only one that accepts users; start another node first");
            }
        }
        query("UPDATE nodes SET state = $1 WHERE url = $2 AND state <> 'gone'")
            .bind(if is_draining { "draining" } else { "up" })
            .bind(url)
            .execute(&mut transaction)
            .await?;
        transaction.commit().await?;
        Ok(())
    }

    /// Marks a node as gone, and releases the users whose home it is.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn leave_node(&self, node: &NodeId) -> Result<()> {
        let mut transaction = self.database.unfenced().write(Scope::System).await?;
        query("UPDATE nodes SET state = 'gone' WHERE id = $1")
            .bind(node.as_str())
            .execute(&mut transaction)
            .await?;
        query("UPDATE homes SET node_id = NULL WHERE node_id = $1")
            .bind(node.as_str())
            .execute(&mut transaction)
            .await?;
        transaction.commit().await?;
        Ok(())
    }

    /// All nodes, by URL.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn nodes(&self) -> Result<Vec<Node>> {
        let mut transaction = self.database.snapshot().await?;
        let now_ms = self.database.now_ms(&self.clock, &mut transaction).await?;
        Ok(query_as(
            "SELECT n.id, n.url, n.version, n.schema_newest, n.started_at_ms, n.lease_until_ms, n.state,
               (SELECT COUNT(*) FROM homes h WHERE h.node_id = n.id) AS homes,
               n.state <> 'gone' AND n.lease_until_ms > $1 AS is_live
             FROM nodes n ORDER BY n.url",
        )
        .bind(now_ms)
        .fetch_all(&mut transaction)
        .await?)
    }

    /// Removes a node that is not live, so that other nodes can work for its users.
    ///
    /// # Errors
    /// [`Error::NotFound`] for an unknown URL, [`Error::Invalid`] for a live node.
    pub async fn forget_node(&self, url: &str) -> Result<()> {
        let mut transaction = self.database.unfenced().write(Scope::System).await?;
        if is_live(self, &mut transaction, url).await?.ok_or_else(|| Error::not_found("node", url))? {
            let rule = "is still running; stop it first, or, if it crashed, wait 10 s".to_owned();
            return Err(Error::Invalid { what: "node", rule });
        }
        query("DELETE FROM nodes WHERE url = $1").bind(url).execute(&mut transaction).await?;
        transaction.commit().await?;
        Ok(())
    }
}

async fn is_live(store: &Store, transaction: &mut Transaction, url: &str) -> Result<Option<bool>> {
    let now_ms = store.database.now_ms(&store.clock, &mut *transaction).await?;
    let found: Option<(bool,)> =
        query_as("SELECT state <> 'gone' AND lease_until_ms > $1 FROM nodes WHERE url = $2")
            .bind(now_ms)
            .bind(url)
            .fetch_optional(transaction)
            .await?;
    Ok(found.map(|(is_live,)| is_live))
}

fn milliseconds(lease: Duration) -> i64 {
    i64::try_from(lease.as_millis()).unwrap_or(i64::MAX / 2)
}
