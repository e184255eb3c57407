//! One run of a user's container: from the registration of its runner to its stop.

use std::sync::Arc;

use proto::{BootId, request};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use proto::session::{Close, CloseCode};

use crate::backends::docker::engine::{ContainerLink, Engine, Standing};
use crate::backends::docker::errors::unavailable;
use crate::backends::docker::shared::Shared;
use crate::backends::docker::spec::ContainerSpec;
use crate::driver::{LinkEnd, LinkHandle, Plugged, StartedBy, driver};
use crate::error::{LinkError, RouteError};
use crate::handshake::{Admission, Admitted, Opening, register};
use crate::limits::{
    CONTAINER_REATTACH_ATTEMPTS, CONTAINER_REATTACH_PAUSE, CONTAINER_REATTACH_PAUSE_MAX,
    CONTAINER_STOP_TIMEOUT_S,
};
use crate::on_demand::next_epoch;
use crate::routing::DOCKER;

/// A container whose runner registered.
struct Container {
    shared: Arc<Shared>,
    engine: Arc<Engine>,
    name: String,
    user_key: String,
    boot_id: BootId,
    /// While this is held, no other task starts, stops or replaces the user's container.
    _turn: OwnedSemaphorePermit,
}

/// Creates and starts the container if necessary, and keeps it running from then on.
pub(super) async fn start(shared: Arc<Shared>, user_key: String) -> Result<LinkHandle, RouteError> {
    let turn = shared.turn(&user_key).await?;
    let engine = shared.engine().await?;
    let spec = shared.spec(&engine, &user_key).await?;
    let is_running = engine.prepare(&spec).await?;
    let stop = shared.tasks.stop.clone();
    let (link, admitted) = connect(&engine, &spec, &user_key, is_running, &stop).await?;
    if !spec.runner.is_unchanged() {
        engine.stop(&spec.names.container, 0).await?;
        return Err(unavailable(format!(
            "{} changed while a container started with it; try again once it is complete",
            spec.runner.path.display()
        )));
    }
    // The user who waited for the start uses it from now on, however long that took.
    shared.user(&user_key).last_use.touch();
    let (handle, driver) = driver(DOCKER, StartedBy::Server, admitted.facts);
    shared.tasks.tracker.spawn(driver.run(stop.clone()));
    let plugged = handle.plug(link, admitted.admission.epoch);
    let tracker = shared.tasks.tracker.clone();
    let name = spec.names.container;
    let container = Container { shared, engine, name, user_key, boot_id: admitted.boot_id, _turn: turn };
    tracker.spawn(container.keep(handle.clone(), plugged, stop));
    Ok(handle)
}

impl Container {
    /// Keeps the runner linked while its container runs. Stops the container when the server stops, when the container has
    /// been idle, or when its run is ended here.
    async fn keep(self, handle: LinkHandle, mut plugged: Plugged, stop: CancellationToken) {
        loop {
            let mut ended = Box::pin(plugged.ended());
            let end = tokio::select! {
                end = &mut ended => end,
                () = self.idle(&handle) => {
                    tracing::info!(container = self.name, "the container is idle; stopping it until its next use");
                    handle.close(Some(Close::new(CloseCode::GoingAway, "the container was idle")));
                    ended.await
                }
            };
            tracing::info!(container = self.name, ?end, "the container's link ended");
            if matches!(end, LinkEnd::Wanted(_)) || stop.is_cancelled() {
                break;
            }
            let again = tokio::select! {
                biased;
                () = stop.cancelled() => break,
                // There is no link meanwhile, so this only returns when the run ends.
                false = handle.comes_back() => break,
                again = self.attach_again() => again,
            };
            let Some((link, epoch)) = again else {
                // The next use starts another run.
                return handle.close(None);
            };
            plugged = handle.plug(link, epoch);
        }
        if let Err(error) = self.engine.stop(&self.name, CONTAINER_STOP_TIMEOUT_S).await {
            tracing::warn!(container = self.name, %error, "the container cannot be stopped");
        }
    }

    /// Returns once the container has been unused for long enough; the next use starts it again from then on.
    async fn idle(&self, handle: &LinkHandle) {
        let Some(after) = self.shared.config.idle_stop else { return std::future::pending().await };
        let user = self.shared.user(&self.user_key);
        loop {
            let last_use = user.last_use.get();
            sleep_until(last_use + after).await;
            if user.last_use.get() != last_use {
                continue;
            }
            if !handle.is_idle() || self.runs_something(handle).await {
                user.last_use.touch();
                continue;
            }
            if user.last_use.is_still(last_use, || drop(self.shared.links.forget(&self.user_key))) {
                return;
            }
        }
    }

    /// True if an exec may be running without a client; a runner that does not report this counts as not idle.
    async fn runs_something(&self, handle: &LinkHandle) -> bool {
        match handle.call(request::List {}).await {
            Ok(list) => list.execs.iter().any(|exec| exec.running),
            Err(_) => true,
        }
    }

    /// A new link to the same runner, while its container runs. Waits for an unreachable engine and for a paused container;
    /// commands in it survive both.
    async fn attach_again(&self) -> Option<(ContainerLink, u64)> {
        let mut pause = CONTAINER_REATTACH_PAUSE;
        let mut failures = 0;
        while failures < CONTAINER_REATTACH_ATTEMPTS {
            match self.engine.look(&self.name).await {
                Ok(Standing::Running) => match self.attach_once().await {
                    Ok((link, admitted)) if admitted.boot_id == self.boot_id => {
                        return Some((link, admitted.admission.epoch));
                    }
                    Ok(_) => return None,
                    Err(error) => {
                        failures += 1;
                        tracing::info!(container = self.name, %error, "cannot attach again");
                    }
                },
                Ok(Standing::Paused) => {}
                Ok(Standing::Stopped | Standing::Missing) => return None,
                Err(error) => tracing::debug!(container = self.name, %error, "waiting for the engine"),
            }
            sleep(pause).await;
            pause = CONTAINER_REATTACH_PAUSE_MAX.min(pause * 2);
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
    Admission {
        user_key: user_key.to_owned(),
        runner: DOCKER.to_owned(),
        epoch: next_epoch(),
        token: None,
        version: None,
    }
}

/// Attaches and registers; a running container that does not answer is restarted once.
async fn connect(
    engine: &Engine,
    spec: &ContainerSpec,
    user_key: &str,
    mut is_running: bool,
    stop: &CancellationToken,
) -> Result<(ContainerLink, Admitted), RouteError> {
    let name = &spec.names.container;
    loop {
        // Before the start: output is discarded while no client is attached.
        let mut link = engine.attach(name).await?;
        if !is_running {
            engine.start(spec).await?;
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
        tracing::warn!(container = name, %error, "the runner in the container does not register");
        // No grace period: the runner has already had time to answer.
        engine.stop(name, 0).await?;
        if !is_running || stop.is_cancelled() {
            return Err(unavailable(format!(
                "the runner in container {name} does not register: {error}; see its output in the server's log"
            )));
        }
        is_running = false;
    }
}
