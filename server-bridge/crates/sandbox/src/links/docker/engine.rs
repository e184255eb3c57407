//! The calls to the Docker engine, and its errors in words that say what to do.

use std::future::ready;
use std::io;
use std::pin::Pin;

use bollard::container::LogOutput;
use bollard::errors::Error;
use bollard::query_parameters::{
    AttachContainerOptionsBuilder, CreateContainerOptionsBuilder, RemoveContainerOptionsBuilder,
    StopContainerOptionsBuilder,
};
use bollard::{API_DEFAULT_VERSION, Docker};
use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use tokio::io::AsyncWrite;
use tokio_util::io::StreamReader;

use crate::error::RouteError;
use crate::limits::{CONTAINER_STOP_TIMEOUT_S, DOCKER_TIMEOUT_S};
use crate::links::docker::spec::{ContainerSpec, SPEC_LABEL};
use crate::links::docker::unavailable;
use crate::links::stdio::StdioLink;

type Input = StreamReader<Pin<Box<dyn Stream<Item = io::Result<Bytes>> + Send>>, Bytes>;

/// The link over a container's standard streams.
pub(super) type ContainerLink = StdioLink<Input, Pin<Box<dyn AsyncWrite + Send>>>;

/// A Docker engine that answered.
#[derive(Debug)]
pub(super) struct Engine {
    docker: Docker,
}

impl Engine {
    /// Finds the engine at `socket`, or where Docker's own client would, and agrees on a version with it.
    pub(super) async fn connect(socket: Option<&str>) -> Result<Self, RouteError> {
        let no_engine = |error: Error| {
            unavailable(format!("its engine does not answer ({error}); start it, or see `docker info`"))
        };
        let docker = match socket {
            Some(path) => Docker::connect_with_unix(path, DOCKER_TIMEOUT_S, API_DEFAULT_VERSION),
            None => Docker::connect_with_unix_defaults(),
        }
        .map_err(no_engine)?;
        Ok(Self { docker: docker.negotiate_version().await.map_err(no_engine)? })
    }

    /// Makes the container where it is missing or no longer what it should be; whether it runs.
    pub(super) async fn prepare(&self, spec: &ContainerSpec) -> Result<bool, RouteError> {
        let found = match self.docker.inspect_container(&spec.name, None).await {
            Ok(found) => found,
            Err(error) if status(&error) == Some(404) => {
                self.create(spec).await?;
                return Ok(false);
            }
            Err(error) => return Err(failed("cannot look at the container", &error)),
        };
        let labels = found.config.and_then(|config| config.labels).unwrap_or_default();
        if !spec.owns(&labels) {
            return Err(unavailable(format!(
                "a container named {} is there and is not this server's; rename it",
                spec.name
            )));
        }
        if labels.get(SPEC_LABEL) == Some(&spec.digest) {
            return Ok(found.state.and_then(|state| state.running).unwrap_or(false));
        }
        self.require_image(&spec.image).await?;
        tracing::info!(container = spec.name, "runner or settings changed; making the container anew");
        self.stop(&spec.name, CONTAINER_STOP_TIMEOUT_S).await?;
        self.remove(&spec.name).await?;
        self.create(spec).await?;
        Ok(false)
    }

    /// Attaches to the standard streams; standard error goes to the log.
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

    /// Whether the container is there and runs.
    pub(super) async fn is_running(&self, name: &str) -> Result<bool, RouteError> {
        match self.docker.inspect_container(name, None).await {
            Ok(found) => Ok(found.state.and_then(|state| state.running).unwrap_or(false)),
            Err(error) if status(&error) == Some(404) => Ok(false),
            Err(error) => Err(failed("cannot look at the container", &error)),
        }
    }

    pub(super) async fn start(&self, name: &str) -> Result<(), RouteError> {
        self.docker
            .start_container(name, None)
            .await
            .map_err(|error| failed("cannot start the container", &error))
    }

    /// Stops a container, by force after `grace_s` seconds; one that does not run is fine.
    pub(super) async fn stop(&self, name: &str, grace_s: i32) -> Result<(), RouteError> {
        let options = StopContainerOptionsBuilder::new().t(grace_s).build();
        match self.docker.stop_container(name, Some(options)).await {
            Err(error) if !matches!(status(&error), Some(304 | 404)) => {
                Err(failed("cannot stop the container", &error))
            }
            _ => Ok(()),
        }
    }

    /// Removes a stopped container; its volume stays.
    async fn remove(&self, name: &str) -> Result<(), RouteError> {
        let options = RemoveContainerOptionsBuilder::new().v(false).force(true).build();
        self.docker
            .remove_container(name, Some(options))
            .await
            .map_err(|error| failed("cannot remove the old container", &error))
    }

    /// Asked before an old container goes, which a missing image could not replace.
    async fn require_image(&self, image: &str) -> Result<(), RouteError> {
        match self.docker.inspect_image(image).await {
            Ok(_) => Ok(()),
            Err(error) if status(&error) == Some(404) => Err(no_image(image)),
            Err(error) => Err(failed("cannot look at the image", &error)),
        }
    }

    async fn create(&self, spec: &ContainerSpec) -> Result<(), RouteError> {
        let options = CreateContainerOptionsBuilder::new().name(&spec.name).build();
        match self.docker.create_container(Some(options), spec.body()).await {
            Ok(created) => {
                for warning in created.warnings {
                    tracing::info!(container = spec.name, warning, "the engine warns");
                }
                Ok(())
            }
            Err(error) if status(&error) == Some(404) => Err(no_image(&spec.image)),
            Err(error) => Err(failed("cannot make the container", &error)),
        }
    }
}

/// What of a container's output is the link's.
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

fn status(error: &Error) -> Option<u16> {
    match error {
        Error::DockerResponseServerError { status_code, .. } => Some(*status_code),
        _ => None,
    }
}

fn no_image(image: &str) -> RouteError {
    unavailable(format!("image {image} is not on this machine: docker pull {image}"))
}

fn failed(what: &str, error: &Error) -> RouteError {
    unavailable(format!("{what}: {error}"))
}
