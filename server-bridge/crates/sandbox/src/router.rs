//! The router: maps requests for a place to links.

use std::future::Future;
use std::sync::Arc;

use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::backends::docker::DockerPlaces;
use crate::backends::docker::own::UserContainer;
use crate::backends::local::LocalPlaces;
use crate::backends::remote;
use crate::budget::MessageBudget;
use crate::config::RouterConfig;
use crate::error::{LinkError, RouteError, SandboxError};
use crate::facts::RunnerFacts;
use crate::handle::Sandbox;
use crate::handshake::{Admission, Refusal, Registration};
use crate::link::Link;
use crate::on_demand::Tasks;
use crate::registry::{Disconnect, Registry, RunnerEvent, RunnerState};
use crate::routing::{NONE, RouteRequest, Target, User, route};
use crate::update;

/// Holds the connected runners and the server's own places, and hands out sandboxes by the routing rules.
///
/// Cheap to clone; all clones are one router. Must be used inside a tokio runtime.
#[derive(Debug, Clone)]
pub struct SandboxRouter {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    config: RouterConfig,
    registry: Arc<Registry>,
    docker: Option<DockerPlaces>,
    local: LocalPlaces,
    tasks: Tasks,
    budget: MessageBudget,
}

impl SandboxRouter {
    /// A router without any connection yet.
    pub fn new(config: RouterConfig) -> Self {
        let tasks = Tasks { tracker: TaskTracker::new(), stop: CancellationToken::new() };
        let docker = config.docker.clone().map(|docker| DockerPlaces::new(docker, tasks.clone()));
        let local = LocalPlaces::new(config.local.clone(), tasks.clone());
        let registry = Arc::new(Registry::new(config.require.clone()));
        let budget = MessageBudget::new();
        Self { inner: Arc::new(Inner { config, registry, docker, local, tasks, budget }) }
    }

    /// The sandbox that the routing rules name, never another. Starts the user's container or local runner on first use, which may take seconds. A
    /// runner that announced that it will be back counts as connected: requests wait for it. If the runner is expected after the server's start, this
    /// waits for it; see [`SandboxRouter::expect`].
    pub async fn for_user(&self, user: &User, route_request: &RouteRequest) -> Result<Sandbox, RouteError> {
        if let Target::Runner(name) = self.check(user, route_request)? {
            tokio::select! {
                _ = self.inner.registry.awaited_link(&user.key, &name) => {}
                () = self.inner.tasks.stop.cancelled() => {}
            }
        }
        self.for_user_at_once(user, route_request).await
    }

    /// Like [`SandboxRouter::for_user`], without waiting for an expected runner.
    pub async fn for_user_at_once(
        &self,
        user: &User,
        route_request: &RouteRequest,
    ) -> Result<Sandbox, RouteError> {
        debug_assert!(user.key.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit()));
        let link = match self.check(user, route_request)? {
            Target::Runner(name) => {
                let offline = || RouteError::Offline { runner: name.clone() };
                let link = self.inner.registry.link(&user.key, &name).ok_or_else(offline)?;
                // Checked for this very link: it may have changed a moment ago.
                self.inner.config.require.check(&name, link.facts())?;
                link
            }
            Target::Docker => match &self.inner.docker {
                Some(docker) => docker.link(user).await?,
                None => return Err(RouteError::DockerDisabled),
            },
            Target::Local => {
                let link = self.inner.local.link(user).await?;
                self.inner.config.require.check(NONE, link.facts())?;
                link
            }
        };
        Ok(Sandbox::new(link))
    }

    /// The user's container as a whole: its state, stop, commit and replacement.
    pub fn container(&self, user: &User) -> Result<UserContainer, RouteError> {
        self.inner.docker.as_ref().map(|docker| docker.container(user)).ok_or(RouteError::DockerDisabled)
    }

    /// The place that a request leads to now, without starting anything: only the first use shows if Docker answers, and if
    /// the server itself can confine commands.
    pub fn check(&self, user: &User, route_request: &RouteRequest) -> Result<Target, RouteError> {
        let Inner { config, registry, docker, local, .. } = &*self.inner;
        let target = route(route_request, user, docker.is_some(), &config.local.policy, |name| {
            registry.is_there_soon(&user.key, name)
        })?;
        match (&target, docker) {
            (Target::Docker, Some(docker)) => docker.check()?,
            (Target::Local, _) => local.check()?,
            (Target::Runner(name), _) => {
                if let Some(link) = registry.link(&user.key, name) {
                    config.require.check(name, link.facts())?;
                }
            }
            (Target::Docker, None) => {}
        }
        Ok(target)
    }

    /// Like [`SandboxRouter::check`], with a real check if necessary: that Docker's engine answers and has the image,
    /// within 5 s.
    pub async fn look(&self, user: &User, route_request: &RouteRequest) -> Result<Target, RouteError> {
        let target = self.check(user, route_request)?;
        if let (Target::Docker, Some(docker)) = (&target, &self.inner.docker) {
            docker.look(user).await?;
        }
        Ok(target)
    }

    /// Serves a runner that dialled in: registers it within 10 s and 64 KiB, asks `admit` to check its token, and drives the
    /// link until it is over. Returns an error if the link ended abnormally.
    ///
    /// Two connections of one runner: the one with the higher epoch stays. If it is from the same process, requests in progress
    /// that can be resumed continue over it: a started exec if the runner was disconnected for at most 10 min, others for at most
    /// 30 s. If it is from another process, they fail, unless the runner had announced its return.
    pub async fn serve_remote<L, F, Fut>(&self, link: L, admit: F) -> Result<(), LinkError>
    where
        L: Link,
        F: FnOnce(Registration) -> Fut,
        Fut: Future<Output = Result<Admission, Refusal>>,
    {
        let Inner { registry, tasks, budget, .. } = &*self.inner;
        let served = remote::serve(registry, tasks, budget.clone(), link, admit);
        tasks.tracker.track_future(served).await
    }

    /// The budget for the memory of xbot's messages; the reader of a socket counts the bytes of a message until it is handed
    /// over whole.
    pub fn message_budget(&self) -> &MessageBudget {
        &self.inner.budget
    }

    /// The required layers that a runner with this description lacks.
    pub fn lacking(&self, facts: &RunnerFacts) -> Vec<&'static str> {
        self.inner.config.require.lacking(facts)
    }

    /// Expects runners, named by their users' keys and their names, that were connected in the server's last run or had announced
    /// their return: for 10 s requests to them wait. Called when the server starts.
    pub fn expect(&self, runners: impl IntoIterator<Item = (String, String)>) {
        self.inner.registry.expect(runners);
    }

    /// True if a runner has a link or announced that it will be back, so that the server's next run should expect it.
    pub fn is_there_soon(&self, user_key: &str, runner: &str) -> bool {
        self.inner.registry.is_there_soon(user_key, runner)
    }

    /// The user's connected runners, by name.
    pub fn runners(&self, user_key: &str) -> Vec<RunnerState> {
        self.inner.registry.runners(user_key)
    }

    /// Lets a runner replace its program with the newer one that this server hands out, even if it lacks required layers.
    /// Returns once that is downloaded and verified there, with the number of commands that run there; once there are none,
    /// the runner leaves and comes back as the new program. A repeated request joins the first.
    ///
    /// Fails with `offline`, with `unsupported` if it cannot, and with its error about the download.
    pub async fn update_runner(&self, user_key: &str, runner: &str) -> Result<usize, SandboxError> {
        let offline = || SandboxError::Offline { runner: runner.to_owned() };
        let link = self.inner.registry.link(user_key, runner).ok_or_else(offline)?;
        update::update(&link).await
    }

    /// Ends a runner's connection, if it has one; it is offline when this returns.
    pub fn disconnect(&self, user_key: &str, runner: &str, why: Disconnect) {
        self.inner.registry.disconnect(user_key, runner, why);
    }

    /// Asks all runners of a user to reconnect, because another server works for the user now: those that are connected, and those that
    /// are registering.
    pub fn send_away(&self, user_key: &str) {
        self.inner.registry.send_away(user_key);
    }

    /// The users, by their keys, for whom the server started a runner: on itself or in a container.
    pub fn users_of_own_runners(&self) -> Vec<String> {
        let in_containers = self.inner.docker.iter().flat_map(DockerPlaces::user_keys);
        self.inner.local.user_keys().into_iter().chain(in_containers).collect()
    }

    /// Ends the user's runner on this server itself and the one in their container, if there are any, with everything they
    /// run.
    pub async fn end_own_runners(&self, user_key: &str) {
        self.inner.local.end(user_key).await;
        if let Some(docker) = &self.inner.docker {
            let user = User { key: user_key.to_owned(), name: String::new(), is_admin: false };
            docker.end(&user).await;
        }
    }

    /// Events of all users' runners from now on. A subscriber that is 256 events behind misses some.
    pub fn subscribe(&self) -> broadcast::Receiver<RunnerEvent> {
        self.inner.registry.subscribe()
    }

    /// Sends a goodbye on every link, stops local runners, stops containers without removing them, and returns when all of
    /// that has ended. Links that are served afterwards are closed at once.
    pub async fn shutdown(&self) {
        let Tasks { tracker, stop } = &self.inner.tasks;
        stop.cancel();
        tracker.close();
        tracker.wait().await;
    }
}
