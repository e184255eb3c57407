//! The link to a user's container, in which the runner is the first process.
//!
//! ```text
//! (none) --create--> created --attach, start--> running --server stops, idle--> stopped --attach, start--> running
//!    ^                                            |  ^
//!    +--- runner or settings changed: removed ----+  +--- left running by a server that died: attach
//! ```
//! A container is stopped and not removed when the server ends or nobody uses it; its workspace is a volume, or a directory,
//! and outlives both. When only the streams to it break, because its engine went away or somebody paused it, the server
//! attaches again and what is under way goes on.
//!
//! | module | what is in it |
//! |---|---|
//! | `container` | one life of a container: start, keeping its link, idle stop |
//! | `spec`, `names` | what a container is made of, and what it is called |
//! | `engine`, `images`, `networks` | the calls to the engine |
//! | `paths` | the engine's paths, where this server runs in a container |
//! | [`own`] | what users do with their container as a whole: commit, export, import, reset |

mod container;
mod engine;
mod images;
pub(crate) mod names;
mod networks;
pub(crate) mod own;
mod paths;
mod spec;

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OnceCell, OwnedSemaphorePermit, Semaphore};

use crate::config::DockerConfig;
use crate::driver::LinkHandle;
use crate::error::RouteError;
use crate::on_demand::{OnDemand, Tasks};
use crate::routing::{DOCKER, User};
use crate::runner_file::RunnerFile;
use container::LastUse;
use engine::{Engine, Standing};
use names::Names;
use spec::ContainerSpec;

/// The users' containers.
#[derive(Debug, Clone)]
pub(crate) struct DockerPlaces {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    config: DockerConfig,
    links: OnDemand,
    places: Mutex<HashMap<String, Arc<Place>>>,
    engine: OnceCell<Arc<Engine>>,
    runner: RunnerFile,
    tasks: Tasks,
}

/// What is remembered of one user between the lives of their container.
#[derive(Debug)]
struct Place {
    /// One life, or one change of the container as a whole, at a time.
    turn: Arc<Semaphore>,
    last_use: LastUse,
    /// One image of it is made at a time.
    making_image: Semaphore,
}

impl DockerPlaces {
    pub(crate) fn new(config: DockerConfig, tasks: Tasks) -> Self {
        let shared = Shared {
            config,
            links: OnDemand::new(DOCKER),
            places: Mutex::default(),
            engine: OnceCell::new(),
            runner: RunnerFile::default(),
            tasks,
        };
        Self { shared: Arc::new(shared) }
    }

    /// The user's link; container and runner are made and started where they are not.
    pub(crate) async fn link(&self, user: &User) -> Result<LinkHandle, RouteError> {
        let shared = &self.shared;
        // Before the link is looked up: a container that was given up as idle is not found then.
        shared.place(&user.key).last_use.touch();
        if let Some(link) = shared.links.present(&user.key)
            && !link.is_open()
            && !link.is_over()
        {
            shared.require_engine(&user.key).await?;
        }
        let start = || container::start(Arc::clone(shared), user.key.clone());
        shared.links.link(&user.key, &shared.tasks.tracker, start).await
    }

    /// The users who have a link, or had one.
    pub(crate) fn user_keys(&self) -> Vec<String> {
        self.shared.links.user_keys()
    }

    /// Stops the container of a user who is no more, with all it runs, and removes their network.
    pub(crate) async fn end(&self, user: &User) {
        if let Err(error) = self.container(user).retire().await {
            tracing::warn!(%error, user = user.key, "the container of a removed user cannot be stopped");
        }
    }

    /// What can be known to be missing without asking the engine.
    pub(crate) fn check(&self) -> Result<(), RouteError> {
        spec::runner(&self.shared.config).map(drop)
    }
}

impl Shared {
    fn place(&self, user_key: &str) -> Arc<Place> {
        // Every change is one insert, so a panic elsewhere leaves the map whole.
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = places.get(user_key) {
            return Arc::clone(place);
        }
        let place = Arc::new(Place {
            turn: Arc::new(Semaphore::new(1)),
            last_use: LastUse::new(),
            making_image: Semaphore::new(1),
        });
        places.insert(user_key.to_owned(), Arc::clone(&place));
        place
    }

    /// Waits until nobody else starts, keeps or changes the user's container.
    async fn turn(&self, user_key: &str) -> Result<OwnedSemaphorePermit, RouteError> {
        let turn = Arc::clone(&self.place(user_key).turn);
        // Never closed; were it, the server would be stopping.
        turn.acquire_owned().await.map_err(|_| RouteError::Offline { runner: DOCKER.to_owned() })
    }

    /// The engine, once it has answered.
    async fn engine(&self) -> Result<Arc<Engine>, RouteError> {
        let engine = self.engine.get_or_try_init(async || Engine::connect(&self.config).await.map(Arc::new));
        engine.await.map(Arc::clone)
    }

    /// Says at once what a link that is away is waiting for.
    async fn require_engine(&self, user_key: &str) -> Result<(), RouteError> {
        let engine = self.engine().await?;
        let name = Names::new(&engine.facts.owner, user_key).container;
        match engine.look(&name).await? {
            Standing::Paused => Err(engine::paused(&name)),
            Standing::Running | Standing::Stopped | Standing::Missing => Ok(()),
        }
    }

    async fn spec(self: &Arc<Self>, engine: &Engine, user_key: &str) -> Result<ContainerSpec, RouteError> {
        let shared = Arc::clone(self);
        let known = tokio::task::spawn_blocking(move || {
            let path = spec::runner(&shared.config)?;
            shared.runner.know(path).map_err(|error| unavailable(error.to_string()))
        });
        let runner = known.await.map_err(|error| unavailable(io::Error::other(error).to_string()))??;
        let owner = engine.facts.owner.clone();
        let names = Names::new(&owner, user_key);
        ContainerSpec::new(&DockerConfig { owner, ..self.config.clone() }, names, runner, &engine.facts.paths)
    }
}

fn unavailable(why: impl Into<String>) -> RouteError {
    RouteError::DockerUnavailable { why: why.into() }
}

#[cfg(test)]
mod tests;
