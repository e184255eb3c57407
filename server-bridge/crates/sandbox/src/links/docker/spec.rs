//! What a user's container is made of.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use bollard::models::{
    ContainerCreateBody, HostConfig, HostConfigLogConfig, Mount, MountType, MountVolumeOptions,
};
use sha2::{Digest, Sha256};

use crate::config::DockerConfig;
use crate::error::RouteError;
use crate::links::docker::unavailable;

/// Label that makes a container ours; its value is the user's key.
pub(super) const USER_LABEL: &str = "sandbridge.user";

/// Label with the server's home directory: another server's containers are left alone.
pub(super) const OWNER_LABEL: &str = "sandbridge.home";

/// How many digits of the owner's digest stand in names.
const OWNER_DIGITS: usize = 8;

/// Label with the digest of everything a container is made of; another one means that it must be made anew.
pub(super) const SPEC_LABEL: &str = "sandbridge.spec";

/// Counts the changes of this file that existing containers must follow.
const REVISION: u32 = 1;

/// Where the runner stands in a container.
const RUNNER_PATH: &str = "/usr/local/bin/sandbridge-runner";

/// Where the user's volume is mounted.
const WORKSPACE_PATH: &str = "/workspace";

/// All that root may do in a container: own files as package managers must, and change and signal its own users.
const CAPABILITIES: [&str; 7] = ["CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "SETUID", "SETGID", "KILL"];

/// One user's container, not made yet.
#[derive(Debug)]
pub(super) struct ContainerSpec {
    pub(super) name: String,
    pub(super) image: String,
    pub(super) digest: String,
    user_key: String,
    runner: PathBuf,
    config: DockerConfig,
}

impl ContainerSpec {
    /// Reads the runner's binary for its digest.
    pub(super) async fn new(config: &DockerConfig, user_key: &str) -> Result<Self, RouteError> {
        let runner = runner(config)?.to_owned();
        let path = runner.clone();
        let digest = tokio::task::spawn_blocking(move || file_digest(&path))
            .await
            .map_err(io::Error::other)
            .and_then(|digest| digest)
            .map_err(|error| unavailable(format!("{} cannot be read: {error}", runner.display())))?;
        let DockerConfig { image, memory_bytes, pids, cpus, .. } = config;
        let made_of =
            format!("{REVISION} {digest} {} {image} {memory_bytes} {pids} {cpus:?}", runner.display());
        let owner = Sha256::digest(config.owner.as_os_str().as_encoded_bytes());
        Ok(Self {
            name: format!("sandbridge-{}-{user_key}", &hex(&owner)[..OWNER_DIGITS]),
            image: image.clone(),
            digest: hex(&Sha256::digest(made_of)),
            user_key: user_key.to_owned(),
            runner,
            config: config.clone(),
        })
    }

    /// What the engine is asked to make.
    pub(super) fn body(&self) -> ContainerCreateBody {
        let mut labels = self.labels();
        labels.insert(SPEC_LABEL.to_owned(), self.digest.clone());
        let entrypoint = [RUNNER_PATH, "--stdio", "--workspace", WORKSPACE_PATH];
        ContainerCreateBody {
            hostname: Some(self.name.clone()),
            image: Some(self.image.clone()),
            labels: Some(labels),
            entrypoint: Some(entrypoint.map(str::to_owned).into()),
            // The image's own command would become the runner's arguments.
            cmd: Some(Vec::new()),
            user: Some("0:0".to_owned()),
            working_dir: Some(WORKSPACE_PATH.to_owned()),
            tty: Some(false),
            open_stdin: Some(true),
            // The next server must be able to attach when this one died.
            stdin_once: Some(false),
            host_config: Some(self.host_config()),
            ..ContainerCreateBody::default()
        }
    }

    /// Whether the labels of something on the engine say that it belongs to this server.
    pub(super) fn owns(&self, labels: &HashMap<String, String>) -> bool {
        labels.get(OWNER_LABEL) == Some(&self.owner())
    }

    /// The labels of the container and its volume.
    fn labels(&self) -> HashMap<String, String> {
        [(USER_LABEL.to_owned(), self.user_key.clone()), (OWNER_LABEL.to_owned(), self.owner())].into()
    }

    fn owner(&self) -> String {
        self.config.owner.to_string_lossy().into_owned()
    }

    fn host_config(&self) -> HostConfig {
        let DockerConfig { memory_bytes, pids, cpus, .. } = self.config;
        HostConfig {
            // The link's bytes are nobody's log.
            log_config: Some(HostConfigLogConfig { typ: Some("none".to_owned()), config: None }),
            mounts: Some(vec![self.runner_mount(), self.workspace_mount()]),
            cap_drop: Some(vec!["ALL".to_owned()]),
            cap_add: Some(CAPABILITIES.map(str::to_owned).into()),
            security_opt: Some(vec!["no-new-privileges:true".to_owned()]),
            pids_limit: Some(pids),
            memory: Some(memory_bytes),
            // The same number: no swap on top.
            memory_swap: Some(memory_bytes),
            nano_cpus: cpus.map(|cpus| (cpus * 1e9) as i64),
            ..HostConfig::default()
        }
    }

    fn runner_mount(&self) -> Mount {
        Mount {
            typ: Some(MountType::BIND),
            source: Some(self.runner.to_string_lossy().into_owned()),
            target: Some(RUNNER_PATH.to_owned()),
            read_only: Some(true),
            ..Mount::default()
        }
    }

    fn workspace_mount(&self) -> Mount {
        Mount {
            typ: Some(MountType::VOLUME),
            source: Some(format!("{}-workspace", self.name)),
            target: Some(WORKSPACE_PATH.to_owned()),
            volume_options: Some(MountVolumeOptions {
                labels: Some(self.labels()),
                ..MountVolumeOptions::default()
            }),
            ..Mount::default()
        }
    }
}

/// The runner that is mounted into containers.
pub(super) fn runner(config: &DockerConfig) -> Result<&Path, RouteError> {
    config.runner_static.as_deref().ok_or_else(|| {
        unavailable(
            "there is no statically linked sandbridge-runner to mount into containers; build it with \
             `scripts/build`, and set SANDBRIDGE_RUNNER_STATIC where it does not stand beside the server",
        )
    })
}

fn file_digest(path: &Path) -> io::Result<String> {
    Ok(hex(&Sha256::digest(std::fs::read(path)?)))
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("writing to a string cannot fail");
        text
    })
}
