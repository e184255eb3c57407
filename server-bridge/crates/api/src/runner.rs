//! Registered machines. Times are Unix milliseconds.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The value in place of a runner's name for the Docker container.
pub const DOCKER: &str = "__docker__";
/// The value in place of a runner's name for the server itself.
pub const NONE: &str = "none";
/// The value that leaves the choice of a place to the server.
pub const AUTO: &str = "auto";

/// A registered machine. Its details are those of its last registration, null before the first one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunnerView {
    /// The name of the runner.
    pub name: String,
    /// Whether it is connected.
    #[serde(default)]
    #[schema(required)]
    pub online: bool,
    /// When it was last seen, in Unix milliseconds; null if it never connected.
    #[schema(required)]
    pub last_seen: Option<i64>,
    /// When it was added, in Unix milliseconds.
    #[serde(default)]
    #[schema(required)]
    pub created_at: i64,
    /// When its token expires, in Unix milliseconds; null if the token does not expire.
    #[schema(required)]
    pub token_expires_at: Option<i64>,
    /// Whether the user chose it as the active runner.
    #[serde(default)]
    #[schema(required)]
    pub active: bool,
    /// The runner's confinement profile.
    #[schema(required)]
    pub profile: Option<String>,
    /// The runner's operating system.
    #[schema(required)]
    pub os: Option<String>,
    /// The architecture of the runner's processor.
    #[schema(required)]
    pub arch: Option<String>,
    /// The runner's host name.
    #[schema(required)]
    pub hostname: Option<String>,
    /// The runner's version.
    #[schema(required)]
    pub version: Option<String>,
    /// The newer version that this server hands out, if the runner is older.
    #[schema(required)]
    pub update: Option<UpdateView>,
    /// The reason why its last update failed; null after a successful one.
    #[serde(serialize_with = "crate::language::text")]
    #[schema(required)]
    pub update_error: Option<String>,
    /// When this connection was made, in Unix milliseconds; null while it is offline.
    #[schema(required)]
    pub connected_at: Option<i64>,
    /// The directory that commands work in.
    #[schema(required)]
    pub workspace: Option<String>,
    /// How reliably it ends a whole process tree.
    #[schema(required)]
    pub kill_tier: Option<String>,
    /// The runner's layers of confinement.
    #[serde(default)]
    #[schema(required)]
    pub layers: Vec<LayerView>,
    /// The layers that this server requires and the runner lacks; if there are any, nothing runs there.
    #[serde(default)]
    #[schema(required)]
    pub refused: Vec<String>,
    /// The users that commands run as there, if that is not only the runner's own user.
    #[schema(required)]
    pub run_as: Option<RunAsView>,
}

/// The users of a machine that commands run as.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunAsView {
    /// The user that commands run as if a request names no user.
    pub default: String,
    /// Another user that a request may name, with its owner's approval.
    #[schema(required)]
    pub privileged: Option<String>,
}

/// One layer of confinement, as the runner reported it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LayerView {
    /// The name of the layer, such as `landlock`.
    pub name: String,
    /// Whether it is enforced; if not, commands there are confined less than they could be.
    pub holds: bool,
    /// True if it is not enforced because the machine's user chose so; that is not a fault.
    #[serde(default)]
    #[schema(required)]
    pub by_choice: bool,
    /// The rule in force, or the reason why it is not enforced.
    #[serde(default, serialize_with = "crate::language::text")]
    #[schema(required)]
    pub detail: String,
}

/// A newer version of the runner that this server hands out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UpdateView {
    /// The newer version.
    pub version: String,
    /// Whether the machine's runner can replace its own program with it. If it cannot, `rotate` returns a line to paste on the machine, which
    /// replaces the program.
    pub can: bool,
}

/// A runner to add.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NewRunner {
    /// The name of the new runner.
    pub name: String,
    /// Whether its token works only once: the first machine that presents it gets a permanent token in exchange.
    #[serde(default)]
    pub enrol: bool,
    /// The directory on the machine that commands work in, for the line to paste; if absent, the directory in which the line is pasted. `~/`
    /// at the beginning is the home directory there.
    pub workspace: Option<String>,
    /// How long a one-use token is valid, in seconds: 60 to 604,800; 3,600 if absent.
    pub ttl_seconds: Option<u32>,
}

/// A token, shown only once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TokenView {
    /// The runner's name.
    pub name: String,
    /// The token with which the runner logs in.
    #[serde(default)]
    #[schema(required)]
    pub token: String,
    /// The exact line to paste on the machine: it installs the runner and starts it, or only starts it if this server has no
    /// runner to hand out, or after a rotation (unless the machine's runner is older and cannot replace itself).
    #[serde(default)]
    #[schema(required)]
    pub command: String,
    /// For a one-use token: its expiry, in Unix milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<i64>,
    /// After a rotation: the expiry of the previous token, in Unix milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old_token_expires_at: Option<i64>,
}

/// An update in progress.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct UpdateStarted {
    /// The version that the runner has downloaded and checked.
    pub version: String,
    /// The number of commands that run there now: the runner waits until they have ended, and then reconnects with that version.
    #[serde(default)]
    #[schema(required)]
    pub running: usize,
}
