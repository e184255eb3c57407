//! The router: which request for a place leads to which link.

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

/// Knows the connected runners and the server's own places, and hands out sandboxes by the routing rules.
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

    /// The sandbox that the routing rules name, never another. Starts the user's container or local runner on first
    /// use, which may take seconds. A runner that said that it will be back counts as connected: requests wait for it. One that is
    /// expected after the server's start is waited for here, see [`SandboxRouter::expect`].
    pub async fn for_user(&self, user: &User, route_request: &RouteRequest) -> Result<Sandbox, RouteError> {
        if let Target::Runner(name) = self.check(user, route_request)? {
            tokio::select! {
                _ = self.inner.registry.awaited_link(&user.key, &name) => {}
                () = self.inner.tasks.stop.cancelled() => {}
            }
        }
        self.for_user_at_once(user, route_request).await
    }

    /// The same without a wait for a runner that is expected.
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
                // Asked of this very link: it may be another one than a moment ago.
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

    /// The user's container as a whole, to be looked at, stopped, kept or replaced.
    pub fn container(&self, user: &User) -> Result<UserContainer, RouteError> {
        self.inner.docker.as_ref().map(|docker| docker.container(user)).ok_or(RouteError::DockerDisabled)
    }

    /// Where a request leads now, without starting anything: whether Docker answers, and whether the server itself can
    /// confine commands, shows at the first use only.
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

    /// The same with a real look where that takes one: whether Docker's engine answers and has the image, within 5 s.
    pub async fn look(&self, user: &User, route_request: &RouteRequest) -> Result<Target, RouteError> {
        let target = self.check(user, route_request)?;
        if let (Target::Docker, Some(docker)) = (&target, &self.inner.docker) {
            docker.look(user).await?;
        }
        Ok(target)
    }

    /// Serves a runner that dialled in: registers it within 10 s and 64 KiB, asks `admit` whose token it showed, and
    /// drives the link until it is over. Returns an error where the link ended other than in an orderly way.
    ///
    /// Two connections of one runner: the one with the higher epoch stays. What was under way goes on over it where it
    /// is the same process, for up to 10 min without any connection; with another process it is lost.
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

    /// The memory that messages of xbot's dialect may take; the reader of a socket counts what has arrived of
    /// one until it is handed over whole.
    pub fn message_budget(&self) -> &MessageBudget {
        &self.inner.budget
    }

    /// The required layers that a runner of these facts lacks.
    pub fn lacking(&self, facts: &RunnerFacts) -> Vec<&'static str> {
        self.inner.config.require.lacking(facts)
    }

    /// Expects runners, by their users' keys and their names, that were connected in the server's last life or said that they come
    /// back: for 10 s what is asked of them waits. For a server's start.
    pub fn expect(&self, runners: impl IntoIterator<Item = (String, String)>) {
        self.inner.registry.expect(runners);
    }

    /// Whether a runner has a link or said that it will be back, so that the server's next life should expect it.
    pub fn is_there_soon(&self, user_key: &str, runner: &str) -> bool {
        self.inner.registry.is_there_soon(user_key, runner)
    }

    /// The user's connected runners, by name.
    pub fn runners(&self, user_key: &str) -> Vec<RunnerState> {
        self.inner.registry.runners(user_key)
    }

    /// Lets a runner replace its program by the newer one that this server hands out, whatever it lacks. Returns once that
    /// is downloaded and checked there, with the number of commands that run there; when none does, the runner goes away
    /// and comes back as the new program. One that is asked again meanwhile joins.
    ///
    /// Fails with `offline`, with `unsupported` where it cannot, and with what it found wrong with the download.
    pub async fn update_runner(&self, user_key: &str, runner: &str) -> Result<usize, SandboxError> {
        let offline = || SandboxError::Offline { runner: runner.to_owned() };
        let link = self.inner.registry.link(user_key, runner).ok_or_else(offline)?;
        update::update(&link).await
    }

    /// Ends a runner's connection, if it has one; it is offline when this returns.
    pub fn disconnect(&self, user_key: &str, runner: &str, why: Disconnect) {
        self.inner.registry.disconnect(user_key, runner, why);
    }

    /// The users, by their keys, for whom the server started a runner: on itself or in a container.
    pub fn users_of_own_runners(&self) -> Vec<String> {
        let in_containers = self.inner.docker.iter().flat_map(DockerPlaces::user_keys);
        self.inner.local.user_keys().into_iter().chain(in_containers).collect()
    }

    /// Ends the user's runner on this server itself and their container's, if there are any, with all they run.
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

    /// Says goodbye on every link, stops local runners, stops containers without removing them, and returns when all
    /// of that has ended. Links that are served afterwards are closed at once.
    pub async fn shutdown(&self) {
        let Tasks { tracker, stop } = &self.inner.tasks;
        stop.cancel();
        tracker.close();
        tracker.wait().await;
    }
}
