//! What is known of a runner, and the words of its admission.

use proto::handshake::{Facts, Register};
pub use proto::handshake::{Layer, Refusal, RefusalReason};
use serde::{Deserialize, Serialize};

/// What a runner said of itself when it registered: untrusted, informative, fit to be stored as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunnerFacts {
    /// The name it was started with, if any; the token decides which runner it is.
    pub runner_id: String,
    /// This life of its process, 32 hex digits.
    pub boot_id: String,
    /// Operating system, such as `linux`.
    pub os: String,
    /// Machine architecture, such as `x86_64`.
    pub arch: String,
    /// The machine's host name.
    pub hostname: String,
    /// The runner's version.
    pub version: String,
    /// `workspace`, `read-only` or `full-control`.
    pub profile: String,
    /// Optional abilities, by name.
    pub capabilities: Vec<String>,
    /// Landlock's ABI version, 0 where there is none.
    pub landlock_abi: u32,
    /// How whole process trees are killed there.
    pub kill_tier: String,
    /// The layers of confinement and whether each holds.
    pub layers: Vec<Layer>,
    /// Absolute path of its workspace.
    pub workspace: String,
}

impl RunnerFacts {
    pub(crate) fn new(facts: &Facts, workspace: &str) -> Self {
        Self {
            runner_id: facts.runner_id.clone(),
            boot_id: facts.boot_id.to_string(),
            os: facts.os.clone(),
            arch: facts.arch.clone(),
            hostname: facts.hostname.clone(),
            version: facts.version.clone(),
            profile: facts.profile.clone(),
            capabilities: facts.capabilities.clone(),
            landlock_abi: facts.landlock_abi,
            kill_tier: facts.kill_tier.clone(),
            layers: facts.layers.clone(),
            workspace: workspace.to_owned(),
        }
    }
}

/// A runner that asks to be admitted.
#[derive(Clone, PartialEq, Eq)]
pub struct Registration {
    /// The token it showed. Compare its hash in constant time; never log it.
    pub token: String,
    /// What it says of itself.
    pub facts: RunnerFacts,
    /// Absolute path of its workspace.
    pub workspace: String,
    /// The shell that shell commands run in.
    pub shell: String,
}

impl Registration {
    pub(crate) fn new(register: Register, facts: &Facts) -> Self {
        Self {
            facts: RunnerFacts::new(facts, &register.workspace),
            token: register.auth_token,
            workspace: register.workspace,
            shell: register.shell,
        }
    }
}

impl std::fmt::Debug for Registration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Registration").field("facts", &self.facts).field("shell", &self.shell).finish()
    }
}

/// Who a runner is, decided by its token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admission {
    /// The owner's [`crate::User::key`].
    pub user_key: String,
    /// The runner's registered name.
    pub runner: String,
    /// Counts this runner's registrations; persisted, never reused, higher than every earlier one.
    pub epoch: u64,
}
