//! The configuration of the places that the server makes itself.

use std::path::PathBuf;
use std::time::Duration;

use crate::limits::CONTAINER_IDLE_STOP;
use crate::requirement::Requirement;
use crate::routing::LocalPolicy;
use crate::subnets::SubnetPool;

/// The configuration of a [`crate::SandboxRouter`].
#[derive(Debug, Clone, Default)]
pub struct RouterConfig {
    /// The Docker backend; not enabled when absent.
    pub docker: Option<DockerConfig>,
    /// The server itself as a place.
    pub local: LocalConfig,
    /// The layers of confinement that a runner must have to be used.
    pub require: Requirement,
}

/// The network that containers join.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContainerNetwork {
    /// Each user's container joins a network of that user alone.
    Own,
    /// This network, which all containers share: `bridge`, `none`, or one that was created on the engine.
    Named(String),
}

/// The Docker backend: one container per user.
#[derive(Debug, Clone, PartialEq)]
pub struct DockerConfig {
    /// Path of the engine's Unix socket; `DOCKER_HOST` or the default path when absent.
    pub socket: Option<String>,
    /// The owner of these containers: the server's home directory, so that two servers on one engine do not mix theirs.
    pub owner: PathBuf,
    /// The image of a user's container; pulled at the first use if it is not on the machine.
    pub image: String,
    /// The statically linked `sandbridge-runner`, an absolute path on the engine's machine.
    pub runner_static: Option<PathBuf>,
    /// The memory limit of one container, in bytes.
    pub memory_bytes: i64,
    /// The limit on processes and threads of one container.
    pub pids: i64,
    /// The limit on CPUs of one container; no limit when absent.
    pub cpus: Option<f64>,
    /// The network that containers join.
    pub network: ContainerNetwork,
    /// The address range of users' own networks.
    pub subnets: SubnetPool,
    /// True if only `/tmp`, `/run` and the workspace can be written to.
    pub read_only: bool,
    /// True if commands may change the container outside their workspace, as package managers do: the runner's profile
    /// is `full-control` instead of `workspace`.
    pub full_control: bool,
    /// True if containers do not use the user namespace that the engine may offer.
    pub host_userns: bool,
    /// The folder in which each user's workspace is a directory; a volume of the engine when absent.
    pub workspace_dir: Option<PathBuf>,
    /// How long a container runs without a request before it is stopped; without end when absent.
    pub idle_stop: Option<Duration>,
    /// The only hosts that containers' runners send HTTP requests to, in the form of a runner's option `--http-allow`.
    pub http_allow: Vec<String>,
    /// Directories of this server and their paths on the engine's machine, for a server in a container.
    pub path_map: Vec<(PathBuf, PathBuf)>,
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
            network: ContainerNetwork::Own,
            subnets: SubnetPool::default(),
            read_only: false,
            full_control: false,
            host_userns: false,
            workspace_dir: None,
            idle_stop: Some(CONTAINER_IDLE_STOP),
            http_allow: Vec::new(),
            path_map: Vec::new(),
        }
    }
}

/// The server itself as a place, used only where the policy allows it and the user chose it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LocalConfig {
    /// The users who may use it.
    pub policy: LocalPolicy,
    /// The `sandbridge-runner` binary.
    pub runner: Option<PathBuf>,
    /// The directory in which `KEY/workspace` and `KEY/state` are made for each user who uses it.
    pub workspaces: PathBuf,
    /// The only hosts that these runners send HTTP requests to, in the form of a runner's option `--http-allow`.
    pub http_allow: Vec<String>,
}
