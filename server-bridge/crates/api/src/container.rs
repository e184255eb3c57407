//! The container of a user.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::words::{ContainerLimit, ContainerState, UserNamespace, WorkspaceKind};

/// The state of the caller's container, and its limits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ContainerView {
    /// The container's name on the engine.
    pub name: String,
    /// The container's state.
    #[serde(default)]
    #[schema(required)]
    pub state: ContainerState,
    /// The image that it was made from, or that the next one will be made from.
    #[serde(default)]
    #[schema(required)]
    pub image: String,
    /// Whether that image is one of the user's own, from a commit or an import.
    #[serde(default)]
    #[schema(required)]
    pub own_image: bool,
    /// The limit on memory, in bytes.
    #[serde(default)]
    #[schema(required)]
    pub memory: i64,
    /// The limit on processes and threads.
    #[serde(default)]
    #[schema(required)]
    pub pids: i64,
    /// The limit on CPUs; null for none.
    #[schema(required)]
    pub cpus: Option<f64>,
    /// The limits that the engine cannot enforce.
    #[serde(default)]
    #[schema(required)]
    pub unlimited: Vec<ContainerLimit>,
    /// The name of the engine's network that the container uses.
    #[serde(default)]
    #[schema(required)]
    pub network: String,
    /// Whether only /tmp, /run and the workspace can be written to.
    #[serde(default)]
    #[schema(required)]
    pub read_only: bool,
    /// `mapped`: its root is an unprivileged user outside the container; `host`: the engine could map users, but was configured not to;
    /// `none`: the engine maps no users.
    #[serde(default)]
    #[schema(required)]
    pub user_namespace: UserNamespace,
    /// The kind of storage for its files.
    #[serde(default)]
    #[schema(required)]
    pub workspace: WorkspaceKind,
    /// The seconds without a request after which it is stopped; null if it is never stopped.
    #[schema(required)]
    pub idle_stop: Option<u64>,
}

/// The image that a commit created.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CommittedView {
    /// The image's id on the engine.
    pub image: String,
}
