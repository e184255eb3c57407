//! The state that all users' containers share: the engine, the runner that is mounted, the links.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OnceCell, OwnedSemaphorePermit};

use crate::backends::docker::engine::{Engine, Standing};
use crate::backends::docker::errors::{paused, unavailable};
use crate::backends::docker::names::Names;
use crate::backends::docker::spec::{self, ContainerSpec};
use crate::backends::docker::user_state::UserState;
use crate::config::DockerConfig;
use crate::error::RouteError;
use crate::on_demand::{OnDemand, Tasks};
use crate::routing::DOCKER;
use crate::runner_file::RunnerFile;

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) config: DockerConfig,
    pub(super) links: OnDemand,
    pub(super) tasks: Tasks,
    users: Mutex<HashMap<String, Arc<UserState>>>,
    engine: OnceCell<Arc<Engine>>,
    runner: RunnerFile,
}

impl Shared {
    pub(super) fn new(config: DockerConfig, tasks: Tasks) -> Self {
        Self {
            config,
            links: OnDemand::new(DOCKER),
            tasks,
            users: Mutex::default(),
            engine: OnceCell::new(),
            runner: RunnerFile::default(),
        }
    }

    pub(super) fn user(&self, user_key: &str) -> Arc<UserState> {
        // Each change is a single step, so the data stays consistent if another thread panics.
        let mut users = self.users.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(state) = users.get(user_key) {
            return Arc::clone(state);
        }
        let state = Arc::new(UserState::new());
        users.insert(user_key.to_owned(), Arc::clone(&state));
        state
    }

    /// Waits until no other task starts, keeps or changes the user's container.
    pub(super) async fn turn(&self, user_key: &str) -> Result<OwnedSemaphorePermit, RouteError> {
        let turn = Arc::clone(&self.user(user_key).turn);
        // It is only closed when the server is stopping.
        turn.acquire_owned().await.map_err(|_| RouteError::Offline { runner: DOCKER.to_owned() })
    }

    /// The engine, once it has answered.
    pub(super) async fn engine(&self) -> Result<Arc<Engine>, RouteError> {
        let engine = self.engine.get_or_try_init(async || Engine::connect(&self.config).await.map(Arc::new));
        engine.await.map(Arc::clone)
    }

    /// Fails at once, with the reason, if the engine does not answer or the container is paused; without this check, a request on a broken link would
    /// wait until either has passed.
    pub(super) async fn require_engine(&self, user_key: &str) -> Result<(), RouteError> {
        let engine = self.engine().await?;
        let name = Names::new(&engine.facts.owner, user_key).container;
        match engine.look(&name).await? {
            Standing::Paused => Err(paused(&name)),
            Standing::Running | Standing::Stopped | Standing::Missing => Ok(()),
        }
    }

    pub(super) async fn spec(
        self: &Arc<Self>,
        engine: &Engine,
        user_key: &str,
    ) -> Result<ContainerSpec, RouteError> {
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
