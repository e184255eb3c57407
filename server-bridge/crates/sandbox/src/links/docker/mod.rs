//! The link to a user's container, in which the runner is the first process.
//!
//! ```text
//! (none) --create--> created --attach, start--> running --server stops--> stopped --attach, start--> running
//!    ^                                            |  ^
//!    +--- runner or settings changed: removed ----+  +--- left running by a server that died: attach
//! ```
//! A container is stopped and not removed when the server ends; its workspace is a volume and outlives both. When only the
//! streams to it break, the server attaches again and what is under way goes on.

mod engine;
mod spec;

use std::sync::Arc;

use proto::BootId;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::config::DockerConfig;
use crate::driver::{LinkHandle, Plugged, driver};
use crate::error::{LinkError, RouteError};
use crate::facts::Admission;
use crate::handshake::{Admitted, Opening, register};
use crate::limits::{CONTAINER_REATTACH_ATTEMPTS, CONTAINER_REATTACH_PAUSE, CONTAINER_STOP_TIMEOUT_S};
use crate::on_demand::{OnDemand, Tasks, next_epoch};
use crate::routing::{DOCKER, User};
use engine::{ContainerLink, Engine};
use spec::ContainerSpec;

/// The users' containers.
#[derive(Debug)]
pub(crate) struct DockerPlaces {
    config: Arc<DockerConfig>,
    links: OnDemand,
    tasks: Tasks,
}

impl DockerPlaces {
    pub(crate) fn new(config: DockerConfig, tasks: Tasks) -> Self {
        Self { config: Arc::new(config), links: OnDemand::new(DOCKER), tasks }
    }

    /// The user's link; container and runner are made and started where they are not.
    pub(crate) async fn link(&self, user: &User) -> Result<LinkHandle, RouteError> {
        let start = || start(Arc::clone(&self.config), user.key.clone(), self.tasks.clone());
        self.links.link(&user.key, &self.tasks.tracker, start).await
    }

    /// What can be known to be missing without asking the engine.
    pub(crate) fn check(&self) -> Result<(), RouteError> {
        spec::runner(&self.config).map(drop)
    }
}

async fn start(config: Arc<DockerConfig>, user_key: String, tasks: Tasks) -> Result<LinkHandle, RouteError> {
    let spec = ContainerSpec::new(&config, &user_key).await?;
    let engine = Engine::connect(config.socket.as_deref()).await?;
    let is_running = engine.prepare(&spec).await?;
    let (link, admitted) = connect(&engine, &spec, &user_key, is_running, &tasks.stop).await?;
    let (handle, driver) = driver(DOCKER, admitted.facts);
    tasks.tracker.spawn(driver.run(tasks.stop.clone()));
    let plugged = handle.plug(link, admitted.admission.epoch);
    let container = Container { engine, name: spec.name, user_key, boot_id: admitted.boot_id };
    tasks.tracker.spawn(container.keep(handle.clone(), plugged, tasks.stop.clone()));
    Ok(handle)
}

/// A container whose runner registered.
struct Container {
    engine: Engine,
    name: String,
    user_key: String,
    boot_id: BootId,
}

impl Container {
    /// Keeps the runner linked as long as it lives, and stops the container with the server.
    async fn keep(self, handle: LinkHandle, mut plugged: Plugged, stop: CancellationToken) {
        loop {
            let end = plugged.ended().await;
            tracing::info!(container = self.name, ?end, "the container's link ended");
            let again = tokio::select! {
                biased;
                () = stop.cancelled() => break,
                again = self.attach_again() => again,
            };
            let Some((link, epoch)) = again else {
                // The next use starts another life.
                return handle.close(None);
            };
            plugged = handle.plug(link, epoch);
        }
        if let Err(error) = self.engine.stop(&self.name, CONTAINER_STOP_TIMEOUT_S).await {
            tracing::warn!(container = self.name, %error, "the container cannot be stopped");
        }
    }

    /// A new link to the same runner, while its container runs.
    async fn attach_again(&self) -> Option<(ContainerLink, u64)> {
        let mut pause = CONTAINER_REATTACH_PAUSE;
        for _ in 0..CONTAINER_REATTACH_ATTEMPTS {
            match self.engine.is_running(&self.name).await {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => tracing::debug!(container = self.name, %error, "the engine does not answer"),
            }
            match self.attach_once().await {
                Ok((link, admitted)) if admitted.boot_id == self.boot_id => {
                    return Some((link, admitted.admission.epoch));
                }
                Ok(_) => return None,
                Err(error) => tracing::info!(container = self.name, %error, "cannot attach again"),
            }
            sleep(pause).await;
            pause *= 2;
        }
        None
    }

    async fn attach_once(&self) -> Result<(ContainerLink, Admitted), RouteError> {
        let mut link = self.engine.attach(&self.name).await?;
        let admission = admission(&self.user_key);
        let admitted = register(&mut link, Opening::ServerAttaches, |_| async { Ok(admission) }).await;
        admitted.map(|admitted| (link, admitted)).map_err(|error| unavailable(error.to_string()))
    }
}

fn admission(user_key: &str) -> Admission {
    Admission { user_key: user_key.to_owned(), runner: DOCKER.to_owned(), epoch: next_epoch(), token: None }
}

/// Attaches and registers; a container that runs already and does not answer is started again once.
async fn connect(
    engine: &Engine,
    spec: &ContainerSpec,
    user_key: &str,
    mut is_running: bool,
    stop: &CancellationToken,
) -> Result<(ContainerLink, Admitted), RouteError> {
    loop {
        // Before the start: what a process writes while nobody is attached is discarded.
        let mut link = engine.attach(&spec.name).await?;
        if !is_running {
            engine.start(&spec.name).await?;
        }
        let admission = admission(user_key);
        let admitted = tokio::select! {
            biased;
            () = stop.cancelled() => Err(LinkError::Ended),
            admitted = register(&mut link, Opening::ServerAttaches, |_| async { Ok(admission) }) => admitted,
        };
        let error = match admitted {
            Ok(admitted) => return Ok((link, admitted)),
            Err(error) => error,
        };
        tracing::warn!(container = spec.name, %error, "the runner in the container does not register");
        // It had its time to answer.
        engine.stop(&spec.name, 0).await?;
        if !is_running || stop.is_cancelled() {
            return Err(unavailable(format!(
                "the runner in container {} does not register: {error}; the server's log has its own words",
                spec.name
            )));
        }
        is_running = false;
    }
}

fn unavailable(why: impl Into<String>) -> RouteError {
    RouteError::DockerUnavailable { why: why.into() }
}

#[cfg(test)]
mod tests;
