//! How the places that the server makes itself are set up.

use std::path::PathBuf;

use crate::requirement::Requirement;
use crate::routing::LocalPolicy;

/// The configuration of a [`crate::SandboxRouter`].
#[derive(Debug, Clone, Default)]
pub struct RouterConfig {
    /// The Docker backend; absent: not enabled.
    pub docker: Option<DockerConfig>,
    /// The server itself as a place.
    pub local: LocalConfig,
    /// What runners must hold to be used.
    pub require: Requirement,
}

/// The Docker backend: one container per user.
#[derive(Debug, Clone, PartialEq)]
pub struct DockerConfig {
    /// Path of the engine's Unix socket; `DOCKER_HOST` or the usual place when absent.
    pub socket: Option<String>,
    /// Whose containers these are: the server's home directory, so that two servers on one engine keep apart.
    pub owner: PathBuf,
    /// The image of a user's container; it must be on the machine already.
    pub image: String,
    /// The statically linked `sandbridge-runner`, an absolute path on the engine's machine.
    pub runner_static: Option<PathBuf>,
    /// Memory of one container, in bytes.
    pub memory_bytes: i64,
    /// Processes and threads of one container.
    pub pids: i64,
    /// CPUs of one container; no limit when absent.
    pub cpus: Option<f64>,
}

impl Default for DockerConfig {
    fn default() -> Self {
        Self {
            socket: None,
            owner: PathBuf::new(),
            image: "debian:bookworm-slim".to_owned(),
            runner_static: None,
            memory_bytes: 2 * 1024 * 1024 * 1024,
            pids: 512,
            cpus: None,
        }
    }
}

/// The server itself as a place, used only where the policy allows it and the user chose it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LocalConfig {
    /// Who may.
    pub policy: LocalPolicy,
    /// The `sandbridge-runner` binary.
    pub runner: Option<PathBuf>,
    /// Below it, `KEY/workspace` and `KEY/state` are made for each user who uses it.
    pub workspaces: PathBuf,
}
