//! The calls to the Docker engine during a container's life, and the engine's errors with advice on what to do.

use std::collections::HashMap;
use std::future::ready;
use std::io;
use std::path::PathBuf;
use std::pin::Pin;

use bollard::container::LogOutput;
use bollard::errors::Error;
use bollard::models::{ContainerInspectResponse, SystemInfo};
use bollard::query_parameters::{
    AttachContainerOptionsBuilder, CreateContainerOptionsBuilder, RemoveContainerOptionsBuilder,
    StopContainerOptionsBuilder,
};
use bollard::{API_DEFAULT_VERSION, Docker};
use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use tokio::io::AsyncWrite;
use tokio::sync::OnceCell;
use tokio_util::io::StreamReader;

use crate::backends::docker::errors::{failed, paused, silent, status, unavailable};
use crate::backends::docker::paths::{PathMap, own_container_id};
use crate::backends::docker::pinned::PinnedImage;
use crate::backends::docker::pull::Pull;
use crate::backends::docker::spec::{ContainerSpec, RUNNER_LABEL, SPEC_LABEL};
use crate::config::DockerConfig;
use crate::error::RouteError;
use crate::limits::{CONTAINER_STOP_TIMEOUT_S, DOCKER_LOOK_TIMEOUT, DOCKER_TIMEOUT_S};
use crate::link::stdio::StdioLink;

type Input = StreamReader<Pin<Box<dyn Stream<Item = io::Result<Bytes>> + Send>>, Bytes>;

/// The link over a container's standard streams.
pub(super) type ContainerLink = StdioLink<Input, Pin<Box<dyn AsyncWrite + Send>>>;

/// The state of a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    Missing,
    Stopped,
    Running,
    /// The container was frozen: nothing in it runs or answers.
    Paused,
}

/// A Docker engine that answered.
#[derive(Debug)]
pub(super) struct Engine {
    pub(super) docker: Docker,
    pub(super) facts: EngineFacts,
    /// The image for all containers until this server stops, even if its name is given to another image meanwhile.
    pub(super) pinned: OnceCell<PinnedImage>,
    /// The pull of that image.
    pub(super) pulling: Pull,
}

/// The abilities of an engine, and how it sees this server.
#[derive(Debug, Clone)]
pub(super) struct EngineFacts {
    /// True if root in a container is an unprivileged user on the host, unless configured otherwise.
    pub(super) user_namespace: bool,
    /// The ids of that user, if the engine reports them.
    pub(super) mapped_root: Option<(u32, u32)>,
    /// The resources that the engine cannot limit.
    pub(super) unlimited: Vec<&'static str>,
    /// The mapping of this server's paths to the engine's.
    pub(super) paths: PathMap,
    /// This server's home directory as the engine sees it: it identifies the containers of this server.
    pub(super) owner: PathBuf,
}

impl Engine {
    /// Finds the engine at its configured socket, or where Docker's own client would look, agrees on a version with it, and
    /// reads its properties.
    pub(super) async fn connect(config: &DockerConfig) -> Result<Self, RouteError> {
        let docker = match config.socket.as_deref() {
            Some(path) => Docker::connect_with_unix(path, DOCKER_TIMEOUT_S, API_DEFAULT_VERSION),
            None => Docker::connect_with_unix_defaults(),
        }
        .map_err(|error| silent(&error))?;
        let docker = docker.negotiate_version().await.map_err(|error| silent(&error))?;
        let info = docker.info().await.map_err(|error| silent(&error))?;
        let (paths, owner) = path_map(&docker, config).await?;
        let facts = EngineFacts::new(info, paths, owner);
        tracing::info!(?facts, "the Docker engine answers");
        let engine = Self { docker, facts, pinned: OnceCell::new(), pulling: Pull::default() };
        engine.remove_left_networks().await;
        Ok(engine)
    }

    /// Creates the container if it is missing or outdated; returns true if it runs.
    pub(super) async fn prepare(&self, spec: &ContainerSpec) -> Result<bool, RouteError> {
        let name = &spec.names.container;
        let has_new_network = self.make_network(spec).await?;
        let Some(found) = self.inspect(name).await? else {
            self.create(spec).await?;
            return Ok(false);
        };
        let standing = standing(Some(&found));
        let labels = found.config.and_then(|config| config.labels).unwrap_or_default();
        if !spec.owns(&labels) {
            return Err(unavailable(format!(
                "a container named {name} exists and does not belong to this server; rename it"
            )));
        }
        // A container stays in the network that it was created with, which may have been removed.
        if labels.get(SPEC_LABEL) == Some(&spec.digest) && !has_new_network {
            return if standing == Standing::Paused {
                Err(paused(name))
            } else {
                Ok(standing == Standing::Running)
            };
        }
        tell_why_anew(spec, &labels);
        self.require_image(&self.image(spec).await?).await?;
        self.stop(name, CONTAINER_STOP_TIMEOUT_S).await?;
        self.remove(name).await?;
        self.create(spec).await?;
        Ok(false)
    }

    /// Attaches to the standard streams; standard error is copied to the log.
    pub(super) async fn attach(&self, name: &str) -> Result<ContainerLink, RouteError> {
        let options =
            AttachContainerOptionsBuilder::new().stream(true).stdin(true).stdout(true).stderr(true).build();
        let attached = self
            .docker
            .attach_container(name, Some(options))
            .await
            .map_err(|error| failed("cannot attach to the container", &error))?;
        let container = name.to_owned();
        let output = attached.output.filter_map(move |output| ready(link_bytes(output, &container)));
        Ok(StdioLink::new(StreamReader::new(Box::pin(output)), attached.input))
    }

    /// Returns the container's state within 5 s.
    pub(super) async fn look(&self, name: &str) -> Result<Standing, RouteError> {
        let docker = self.docker.clone().with_timeout(DOCKER_LOOK_TIMEOUT);
        match docker.inspect_container(name, None).await {
            Ok(found) => Ok(standing(Some(&found))),
            Err(error) if status(&error) == Some(404) => Ok(Standing::Missing),
            Err(error) => Err(failed("cannot inspect the container", &error)),
        }
    }

    /// The engine's description of a container, if there is one.
    pub(super) async fn inspect(&self, name: &str) -> Result<Option<ContainerInspectResponse>, RouteError> {
        match self.docker.inspect_container(name, None).await {
            Ok(found) => Ok(Some(found)),
            Err(error) if status(&error) == Some(404) => Ok(None),
            Err(error) => Err(failed("cannot inspect the container", &error)),
        }
    }

    pub(super) async fn start(&self, spec: &ContainerSpec) -> Result<(), RouteError> {
        let network = spec.network();
        self.docker.start_container(&spec.names.container, None).await.map_err(|error| match &error {
            Error::DockerResponseServerError { message, .. }
                if message.contains(network) && message.contains("not found") =>
            {
                unavailable(format!(
                    "there is no network {network} on the engine: docker network create {network}, or correct \
                     --docker-network"
                ))
            }
            _ => failed("cannot start the container", &error),
        })
    }

    /// Stops a container, by force after `grace_s` seconds; a container that is not running is fine.
    pub(super) async fn stop(&self, name: &str, grace_s: i32) -> Result<(), RouteError> {
        let options = StopContainerOptionsBuilder::new().t(grace_s).build();
        match self.docker.stop_container(name, Some(options)).await {
            Err(error) if !matches!(status(&error), Some(304 | 404)) => {
                Err(failed("cannot stop the container", &error))
            }
            _ => Ok(()),
        }
    }

    /// Removes a container with the anonymous volumes of its image; its workspace stays. A missing container is fine.
    pub(super) async fn remove(&self, name: &str) -> Result<(), RouteError> {
        let options = RemoveContainerOptionsBuilder::new().v(true).force(true).build();
        match self.docker.remove_container(name, Some(options)).await {
            Err(error) if status(&error) != Some(404) => {
                Err(failed("cannot remove the old container", &error))
            }
            _ => Ok(()),
        }
    }

    /// Checked before an old container is removed, because without the image it could not be replaced.
    async fn require_image(&self, image: &str) -> Result<(), RouteError> {
        match self.image_id(image).await? {
            Some(_) => Ok(()),
            None => Err(self.no_image(image)),
        }
    }

    async fn create(&self, spec: &ContainerSpec) -> Result<(), RouteError> {
        let (spec, root) = (spec.clone(), self.facts.mapped_root.filter(|_| !spec.config.host_userns));
        let (spec, made) = tokio::task::spawn_blocking(move || {
            let made = spec.make_directory(root);
            (spec, made)
        })
        .await
        .map_err(|error| unavailable(error.to_string()))?;
        made?;
        let (name, image) = (&spec.names.container, self.image(&spec).await?);
        let options = CreateContainerOptionsBuilder::new().name(name).build();
        match self.docker.create_container(Some(options), spec.body(image.clone())).await {
            Ok(created) => {
                for warning in created.warnings {
                    tracing::info!(container = name, warning, "the engine warns");
                }
                Ok(())
            }
            Err(error) if status(&error) == Some(404) => Err(self.no_image(&image)),
            Err(error) => Err(failed("cannot create the container", &error)),
        }
    }
}

impl EngineFacts {
    fn new(info: SystemInfo, paths: PathMap, owner: PathBuf) -> Self {
        let options = info.security_options.unwrap_or_default();
        let has = |name: &str| options.iter().any(|option| option.split(',').any(|part| part == name));
        let root = info.docker_root_dir.unwrap_or_default();
        // An engine that maps users keeps its files in a directory named after root's ids.
        let mapped = || {
            let (user, group) = root.rsplit('/').next()?.split_once('.')?;
            Some((user.parse().ok()?, group.parse().ok()?))
        };
        let limits = [("memory", info.memory_limit), ("pids", info.pids_limit), ("cpus", info.cpu_cfs_quota)];
        let unlimited = limits.into_iter().filter(|(_, can)| *can == Some(false)).map(|(name, _)| name);
        Self {
            user_namespace: has("name=userns") || has("name=rootless"),
            mapped_root: if has("name=userns") { mapped() } else { None },
            unlimited: unlimited.collect(),
            paths,
            owner,
        }
    }
}

/// The mapping of paths to the engine's, and the owner of these containers. In a container of this engine, its mounts
/// determine the mapping.
async fn path_map(docker: &Docker, config: &DockerConfig) -> Result<(PathMap, PathBuf), RouteError> {
    let told = &config.path_map;
    let same = || Ok((PathMap::same(told), config.owner.clone()));
    // If this cannot be read, the server is not in a container of any engine.
    let mountinfo = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let Some(id) = own_container_id(&mountinfo) else { return same() };
    let own = match docker.inspect_container(id, None).await {
        Ok(own) => own,
        // The server's container belongs to another engine, which runs alongside this one.
        Err(error) if status(&error) == Some(404) => return same(),
        Err(error) => return Err(failed("cannot inspect this server's own container", &error)),
    };
    let mounts = own.mounts.unwrap_or_default().into_iter().filter_map(|mount| {
        Some((
            PathBuf::from(mount.destination?),
            PathBuf::from(mount.source.filter(|path| path.starts_with('/'))?),
        ))
    });
    let paths = PathMap::contained(told, mounts.collect());
    // Servers in containers often have homes of the same name.
    let only_inside = |_| PathBuf::from(format!("{id}:{}", config.owner.display()));
    let owner = paths.on_engine(&config.owner).unwrap_or_else(only_inside);
    Ok((paths, owner))
}

fn standing(found: Option<&ContainerInspectResponse>) -> Standing {
    let Some(found) = found else { return Standing::Missing };
    let is = |fact: fn(&bollard::models::ContainerState) -> Option<bool>| {
        found.state.as_ref().and_then(fact).unwrap_or(false)
    };
    match (is(|state| state.running), is(|state| state.paused)) {
        (_, true) => Standing::Paused,
        (true, false) => Standing::Running,
        (false, false) => Standing::Stopped,
    }
}

fn tell_why_anew(spec: &ContainerSpec, labels: &HashMap<String, String>) {
    let (container, runner) = (&spec.names.container, &spec.runner.sha256);
    match labels.get(RUNNER_LABEL) {
        Some(old) if old != runner => tracing::warn!(
            container, old, new = runner, file = %spec.runner.path.display(),
            "this container was made with a different runner file; replacing the container"
        ),
        _ => tracing::info!(container, "settings changed; replacing the container"),
    }
}

/// The bytes of a container's output that belong to the link: its standard output. The rest is copied to the log.
fn link_bytes(output: Result<LogOutput, Error>, container: &str) -> Option<io::Result<Bytes>> {
    match output {
        Ok(LogOutput::StdOut { message }) => Some(Ok(message)),
        Ok(LogOutput::StdErr { message } | LogOutput::Console { message }) => {
            tracing::info!(container, "{}", String::from_utf8_lossy(&message).trim_end());
            None
        }
        Ok(LogOutput::StdIn { .. }) => None,
        Err(error) => Some(Err(io::Error::other(error))),
    }
}
