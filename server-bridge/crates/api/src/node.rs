//! Nodes: servers that share one database.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::words::NodeState;

/// A node: one of the servers that share the database.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NodeView {
    /// The address at which the other nodes reach it.
    pub url: String,
    /// The version of its program.
    #[serde(default)]
    #[schema(required)]
    pub version: String,
    /// The node's state.
    #[serde(default)]
    #[schema(required)]
    pub state: NodeState,
    /// The number of users that it works for.
    #[serde(default)]
    #[schema(required)]
    pub homes: i64,
    /// The time at which its process joined, in Unix milliseconds.
    #[serde(default)]
    #[schema(required)]
    pub started_at: i64,
    /// The end of its lease, in Unix milliseconds by the database's clock.
    #[serde(default)]
    #[schema(required)]
    pub lease_until: i64,
}

/// A change of a node by an administrator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NodePut {
    /// True to make the node give up its users and take on no others; false to undo that.
    pub draining: bool,
}
