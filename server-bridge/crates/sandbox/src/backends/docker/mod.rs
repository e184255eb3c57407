//! The link to a user's container, in which the runner is the first process.
//!
//! ```text
//! (none) --create--> created --attach, start--> running --server stops, idle--> stopped --attach, start--> running
//!    ^                                            |  ^
//!    +--- runner or settings changed: removed ----+  +--- left running by a crashed server: attach
//! ```
//! A container is stopped, not removed, when the server stops or when the container is idle; its workspace, a volume or
//! a directory, outlives both. If only the streams to it break, because its engine stopped or it was paused, the server
//! attaches again and its commands continue.
//!
//! | module | holds |
//! |---|---|
//! | `container` | one run of a container: start, keeping its link, idle stop |
//! | `spec`, `names` | the configuration and the name of a container |
//! | `engine`, `images`, `networks` | the calls to the engine; `pinned` is the image for all containers as long as the server runs |
//! | `pull` | pulling that image if it is missing |
//! | `errors` | the engine's errors, with advice on what to do |
//! | `shared`, `user_state` | state that outlives a container: for all users, and for one |
//! | `paths` | the engine's paths, if this server runs in a container |
//! | [`own`] | operations of users on their whole container: commit, export, import, reset |

mod container;
mod engine;
mod errors;
mod images;
mod names;
mod networks;
pub(crate) mod own;
mod paths;
mod pinned;
mod pull;
mod shared;
mod spec;
mod user_state;

use std::sync::Arc;

use tokio::time::timeout;

use crate::config::DockerConfig;
use crate::driver::LinkHandle;
use crate::error::RouteError;
use crate::limits::DOCKER_LOOK_TIMEOUT;
use crate::on_demand::Tasks;
use crate::routing::User;
use names::Names;
use own::UserContainer;
use shared::Shared;

/// The users' containers.
#[derive(Debug, Clone)]
pub(crate) struct DockerPlaces {
    shared: Arc<Shared>,
}

impl DockerPlaces {
    pub(crate) fn new(config: DockerConfig, tasks: Tasks) -> Self {
        Self { shared: Arc::new(Shared::new(config, tasks)) }
    }

    /// The user's link; creates and starts container and runner if necessary.
    pub(crate) async fn link(&self, user: &User) -> Result<LinkHandle, RouteError> {
        let shared = &self.shared;
        // Before the link is looked up: a container that was given up as idle is not found then.
        shared.user(&user.key).last_use.touch();
        if let Some(link) = shared.links.present(&user.key)
            && !link.is_open()
            && !link.is_over()
        {
            shared.require_engine(&user.key).await?;
        }
        let start = || container::start(Arc::clone(shared), user.key.clone());
        shared.links.link(&user.key, &shared.tasks.tracker, start).await
    }

    /// The user's container as a whole.
    pub(crate) fn container(&self, user: &User) -> UserContainer {
        UserContainer::new(Arc::clone(&self.shared), user.key.clone())
    }

    /// The keys of the users who have a link, or had one.
    pub(crate) fn user_keys(&self) -> Vec<String> {
        self.shared.links.user_keys()
    }

    /// Stops the container of a removed user with everything that runs in it, and removes their network.
    pub(crate) async fn end(&self, user: &User) {
        if let Err(error) = self.container(user).retire().await {
            tracing::warn!(%error, user = user.key, "the container of a removed user cannot be stopped");
        }
    }

    /// Reports what is missing for a command to run, by the engine's current state; starts and pulls nothing.
    pub(crate) async fn look(&self, user: &User) -> Result<(), RouteError> {
        self.check()?;
        let shared = &self.shared;
        let look = async {
            let engine = shared.engine().await?;
            let names = Names::new(&engine.facts.owner, &user.key);
            engine.look_for_image(&names, &shared.config.image).await
        };
        let late = |_| {
            let seconds = DOCKER_LOOK_TIMEOUT.as_secs();
            errors::unavailable(format!("its engine does not answer within {seconds} s; see `docker info`"))
        };
        timeout(DOCKER_LOOK_TIMEOUT, look).await.map_err(late)?
    }

    /// Reports what is known to be missing without asking the engine.
    pub(crate) fn check(&self) -> Result<(), RouteError> {
        spec::runner(&self.shared.config).map(drop)
    }
}

#[cfg(test)]
mod tests;
