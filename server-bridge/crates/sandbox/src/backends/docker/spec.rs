//! The configuration of a user's container.

use std::collections::HashMap;
use std::io;
use std::os::unix::fs::{DirBuilderExt, chown};
use std::path::{Path, PathBuf};

use bollard::models::{
    ContainerCreateBody, HealthConfig, HostConfig, HostConfigLogConfig, Mount, MountType, MountVolumeOptions,
};

use crate::backends::docker::errors::unavailable;
use crate::backends::docker::names::Names;
use crate::backends::docker::paths::PathMap;
use crate::config::{ContainerNetwork, DockerConfig};
use crate::digest::sha256_hex;
use crate::error::RouteError;
use crate::limits::HOSTNAME_BYTES;
use crate::runner_file::KnownRunner;
use crate::subnets::SubnetPool;

/// Label that marks a container as this server's; its value is the user's key.
pub(super) const USER_LABEL: &str = "sandbridge.user";

/// Label with the server's home directory: another server's containers are left alone.
pub(super) const OWNER_LABEL: &str = "sandbridge.home";

/// Label with the digest of the container's configuration; if it differs, the container must be created again.
pub(super) const SPEC_LABEL: &str = "sandbridge.spec";

/// Label with the SHA-256 of the runner that is mounted.
pub(super) const RUNNER_LABEL: &str = "sandbridge.runner";

/// Incremented with each change of this file that existing containers must follow.
const REVISION: u32 = 3;

/// The runner's path in a container: the engine makes a new `/dev` at each start, so that neither an image nor a user can have
/// put a link in its place.
pub(super) const RUNNER_PATH: &str = "/dev/sandbridge-runner";

/// Where the user's volume or directory is mounted.
pub(super) const WORKSPACE_PATH: &str = "/workspace";

/// The runner's own files under a read-only root; lost at each stop.
const STATE_PATH: &str = "/run/sandbridge";

/// The capabilities of root in a container: it can own files as package managers must, and change and signal its own users.
const CAPABILITIES: [&str; 7] = ["CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "SETUID", "SETGID", "KILL"];

/// The writable places under a read-only root, in addition to the workspace; their content counts towards the
/// container's memory.
const SCRATCH: [(&str, &str); 2] =
    [("/tmp", "rw,exec,nosuid,nodev,mode=1777"), ("/run", "rw,nosuid,nodev,mode=755")];

/// One user's container, before its creation.
#[derive(Debug, Clone)]
pub(super) struct ContainerSpec {
    pub(super) names: Names,
    pub(super) digest: String,
    pub(super) runner: KnownRunner,
    /// The runner as the engine sees it.
    runner_source: PathBuf,
    workspace: Workspace,
    pub(super) config: DockerConfig,
}

/// The place of the user's files.
#[derive(Debug, Clone)]
enum Workspace {
    /// A volume of the engine.
    Volume,
    /// A directory, as this server and as the engine sees it.
    Directory { here: PathBuf, source: PathBuf },
}

impl ContainerSpec {
    pub(super) fn new(
        config: &DockerConfig,
        names: Names,
        runner: KnownRunner,
        paths: &PathMap,
    ) -> Result<Self, RouteError> {
        let runner_source = paths.on_engine(&runner.path)?;
        let workspace = match &config.workspace_dir {
            None => Workspace::Volume,
            Some(directory) => {
                let here = directory.join(&names.key);
                let source = paths.on_engine(&here)?;
                Workspace::Directory { here, source }
            }
        };
        // Settings that do not affect an existing container may change while it stays.
        let made_of = DockerConfig {
            socket: None,
            idle_stop: None,
            path_map: Vec::new(),
            subnets: SubnetPool::default(),
            ..config.clone()
        };
        let made_of =
            format!("{REVISION} {} {} {workspace:?} {made_of:?}", runner.sha256, runner_source.display());
        let digest = sha256_hex(made_of.as_bytes());
        Ok(Self { names, digest, runner, runner_source, workspace, config: config.clone() })
    }

    /// The request to create the container from this image. Of the image's own settings only its environment is used.
    pub(super) fn body(&self, image: String) -> ContainerCreateBody {
        let mut labels = self.labels();
        labels.insert(SPEC_LABEL.to_owned(), self.digest.clone());
        labels.insert(RUNNER_LABEL.to_owned(), self.runner.sha256.clone());
        let mut entrypoint = vec![RUNNER_PATH, "--stdio", "--workspace", WORKSPACE_PATH];
        // Always passed, so that the image cannot determine the profile.
        entrypoint.extend(["--profile", if self.config.full_control { "full-control" } else { "workspace" }]);
        if self.config.read_only {
            entrypoint.extend(["--state-dir", STATE_PATH]);
        }
        let hosts = self.config.http_allow.join(",");
        if !hosts.is_empty() {
            entrypoint.extend(["--http-allow", &hosts]);
        }
        ContainerCreateBody {
            hostname: Some(self.names.container.chars().take(HOSTNAME_BYTES).collect()),
            image: Some(image),
            labels: Some(labels),
            entrypoint: Some(entrypoint.into_iter().map(str::to_owned).collect()),
            // The image's own command would become the runner's arguments.
            cmd: Some(Vec::new()),
            user: Some("0:0".to_owned()),
            working_dir: Some(WORKSPACE_PATH.to_owned()),
            healthcheck: Some(HealthConfig {
                test: Some(vec!["NONE".to_owned()]),
                ..HealthConfig::default()
            }),
            stop_signal: Some("SIGTERM".to_owned()),
            tty: Some(false),
            open_stdin: Some(true),
            // The next server must be able to attach after this one has crashed.
            stdin_once: Some(false),
            host_config: Some(self.host_config()),
            ..ContainerCreateBody::default()
        }
    }

    /// True if the labels of an object on the engine show that it belongs to this server.
    pub(super) fn owns(&self, labels: &HashMap<String, String>) -> bool {
        labels.get(OWNER_LABEL) == Some(&self.owner())
    }

    /// Creates the user's directory, accessible to no other user; `root` owns it, as the engine maps the container's root.
    /// Blocks.
    pub(super) fn make_directory(&self, root: Option<(u32, u32)>) -> Result<(), RouteError> {
        let Workspace::Directory { here, .. } = &self.workspace else { return Ok(()) };
        make_private(here, root).map_err(|error| {
            unavailable(format!(
                "the workspace directory {} cannot be made: {error}; check --docker-workspace-dir",
                here.display()
            ))
        })
    }

    /// The engine's network that it joins.
    pub(super) fn network(&self) -> &str {
        match &self.config.network {
            ContainerNetwork::Own => &self.names.network,
            ContainerNetwork::Named(name) => name,
        }
    }

    /// The labels of the container, its volume and its network.
    pub(super) fn labels(&self) -> HashMap<String, String> {
        [(USER_LABEL.to_owned(), self.names.key.clone()), (OWNER_LABEL.to_owned(), self.owner())].into()
    }

    fn owner(&self) -> String {
        self.config.owner.to_string_lossy().into_owned()
    }

    fn host_config(&self) -> HostConfig {
        let DockerConfig { memory_bytes, pids, cpus, read_only, host_userns, .. } = &self.config;
        let scratch = || SCRATCH.map(|(path, options)| (path.to_owned(), options.to_owned())).into();
        HostConfig {
            // The link's bytes do not belong in a log.
            log_config: Some(HostConfigLogConfig { typ: Some("none".to_owned()), config: None }),
            mounts: Some(vec![self.runner_mount(), self.workspace_mount()]),
            cap_drop: Some(vec!["ALL".to_owned()]),
            cap_add: Some(CAPABILITIES.map(str::to_owned).into()),
            security_opt: Some(vec!["no-new-privileges:true".to_owned()]),
            pids_limit: Some(*pids),
            memory: Some(*memory_bytes),
            // The same limit as for memory alone, so that no swap is added.
            memory_swap: Some(*memory_bytes),
            nano_cpus: cpus.map(|cpus| (cpus * 1e9) as i64),
            network_mode: Some(self.network().to_owned()),
            readonly_rootfs: Some(*read_only),
            tmpfs: read_only.then(scratch),
            userns_mode: host_userns.then(|| "host".to_owned()),
            ..HostConfig::default()
        }
    }

    fn runner_mount(&self) -> Mount {
        Mount {
            typ: Some(MountType::BIND),
            source: Some(self.runner_source.to_string_lossy().into_owned()),
            target: Some(RUNNER_PATH.to_owned()),
            read_only: Some(true),
            ..Mount::default()
        }
    }

    fn workspace_mount(&self) -> Mount {
        let target = Some(WORKSPACE_PATH.to_owned());
        match &self.workspace {
            Workspace::Volume => Mount {
                typ: Some(MountType::VOLUME),
                source: Some(self.names.volume.clone()),
                target,
                volume_options: Some(MountVolumeOptions {
                    labels: Some(self.labels()),
                    ..MountVolumeOptions::default()
                }),
                ..Mount::default()
            },
            Workspace::Directory { source, .. } => Mount {
                typ: Some(MountType::BIND),
                source: Some(source.to_string_lossy().into_owned()),
                target,
                ..Mount::default()
            },
        }
    }
}

/// The runner that is mounted into containers.
pub(super) fn runner(config: &DockerConfig) -> Result<&Path, RouteError> {
    config.runner_static.as_deref().ok_or_else(|| {
        unavailable(
            "there is no statically linked sandbridge-runner to mount into containers; build it with \
             `scripts/build`, and set SANDBRIDGE_RUNNER_STATIC if it is not next to the server",
        )
    })
}

fn make_private(directory: &Path, root: Option<(u32, u32)>) -> io::Result<()> {
    if let Some(parent) = directory.parent() {
        std::fs::create_dir_all(parent)?;
    }
    match std::fs::DirBuilder::new().mode(0o700).create(directory) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
        Err(error) => return Err(error),
    }
    match root {
        Some((user, group)) => chown(directory, Some(user), Some(group)),
        None => Ok(()),
    }
}
