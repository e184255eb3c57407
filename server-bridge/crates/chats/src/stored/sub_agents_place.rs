//! The machine and the worktree where a sub-agent works.

use std::sync::Arc;
use std::time::Duration;

use sandbox::{RouteError, RouteRequest, Sandbox, WORKTREES};
use store::SubAgent;
use tokio::sync::OnceCell;
use tokio::time::{Instant, sleep};

use super::Stored;
use crate::limits::SUB_AGENT_WORKTREE_DIGITS;
use crate::rule_book::{WorkspaceRules, of_workspace};
use agent::engine::{SubAgentTask, Workplace};
use agent::limits::{MACHINE_LOOK_MS, MACHINE_PATIENCE_MS};
use agent::tool::{Failure, visible};
use execs::sandbox_user;
use tools::Ported;
use tools::worktree::{Left, Made, Worktrees};

/// The note about a worktree that was removed.
const REMOVED: &str = "(Its worktree had nothing that would be lost, and was removed with its branch.)";

/// The note about a worktree that could not be checked.
fn not_looked_at(path: &str, error: &Failure) -> String {
    let path = visible::line(path);
    format!(
        "(Its worktree {path} is kept, since it could not be checked: {error}. The Worktree tool will list it.)"
    )
}

impl Stored {
    /// The machine with this name; see [`agent::engine::SubAgents::place`].
    pub(super) async fn place_of_name(&self, name: &str) -> Result<Option<String>, Failure> {
        let store = &self.service.store;
        if self.name().await?.as_deref() == Some(name) {
            return Ok(None);
        }
        // Everyone who may ask an agent of a group may use its one machine.
        if let Some(agent) = store.agent_of_chat(&self.root).await.ported()? {
            return Err(Failure::Message(format!(
                "an agent of a group and its sub-agents can work only on the agent's own machine, which is {}",
                visible::line(&agent.runner)
            )));
        }
        let runners = store.runners(self.user.id).await.ported()?;
        if !runners.iter().any(|runner| runner.name == name) {
            let names: Vec<&str> = runners.iter().map(|runner| runner.name.as_str()).collect();
            let known = match names.is_empty() {
                true => "they have none".to_owned(),
                false => format!("theirs are {}", names.join(", ")),
            };
            return Err(Failure::Message(format!(
                "the user has no machine named {:?}; {known}",
                visible::line(name)
            )));
        }
        let route = execs::route_request(store, self.user.id, Some(name)).await.ported()?;
        match self.service.router.check(&sandbox_user(&self.user), &route) {
            Ok(_) => Ok(Some(name.to_owned())),
            Err(error) => Err(Failure::Message(format!(
                "{error}; the sub-agent was not started, and no other machine is used instead"
            ))),
        }
    }

    /// The route to a sub-agent's machine, the workspace rules that apply there, and the path of its worktree if it works in one.
    pub(super) async fn place_of_work(
        &self,
        task: &SubAgentTask<'_>,
        agent: &SubAgent,
    ) -> Result<(RouteRequest, Arc<OnceCell<Arc<WorkspaceRules>>>, Option<String>), Failure> {
        let route = self.route_to(agent).await?;
        let rules = self.rules_at(task, agent, &route).await?;
        let worktree = self.enter_worktree(task, agent, &route).await?;
        Ok((route, rules, worktree))
    }

    /// The route to a sub-agent's machine.
    async fn route_to(&self, agent: &SubAgent) -> Result<RouteRequest, Failure> {
        match &agent.place {
            Some(place) => {
                Ok(execs::route_request(&self.service.store, self.user.id, Some(place)).await.ported()?)
            }
            None => Ok(self.route_request().await.ported()?.clone()),
        }
    }

    /// The workspace rules that apply on a sub-agent's machine; if it works on a different machine than its parent, those of the parent's
    /// workspace apply too.
    async fn rules_at(
        &self,
        task: &SubAgentTask<'_>,
        agent: &SubAgent,
        route: &RouteRequest,
    ) -> Result<Arc<OnceCell<Arc<WorkspaceRules>>>, Failure> {
        if agent.place.is_none() {
            return Ok(Arc::clone(&self.workspace_rules));
        }
        let sandbox = self.reach(task, route).await?;
        let rules = self.workspace_rules().await.and(of_workspace(&sandbox).await);
        Ok(Arc::new(OnceCell::new_with(Some(Arc::new(rules)))))
    }

    /// Opens a handle to a sub-agent's machine. After a restart of the server, a resumed sub-agent waits for a machine that is offline,
    /// because a runner needs a moment to reconnect. While it waits, the turn gives up its place to other answers of the user.
    async fn reach(&self, task: &SubAgentTask<'_>, route: &RouteRequest) -> Result<Sandbox, Failure> {
        let deadline = Instant::now() + Duration::from_millis(MACHINE_PATIENCE_MS);
        let mut away = None;
        let found = loop {
            match self.service.router.for_user(&sandbox_user(&self.user), route).await {
                Err(RouteError::Offline { .. })
                    if task.goes_on && !task.cancelled.is_cancelled() && Instant::now() < deadline =>
                {
                    away.get_or_insert_with(|| task.ancestry.place().leave());
                    tokio::select! {
                        () = sleep(Duration::from_millis(MACHINE_LOOK_MS)) => {}
                        () = task.cancelled.cancelled() => {}
                    }
                }
                found => break found.map_err(|error| Failure::Message(error.to_string())),
            }
        };
        if let Some(away) = away {
            away.end().await;
        }
        found
    }

    /// Makes the worktree that a sub-agent is to work in, unless there is one from an earlier call, and makes it the sub-agent's
    /// directory; returns its path. `None` for a sub-agent that works in no worktree.
    async fn enter_worktree(
        &self,
        task: &SubAgentTask<'_>,
        agent: &SubAgent,
        route: &RouteRequest,
    ) -> Result<Option<String>, Failure> {
        if !task.worktree && agent.worktree.is_none() {
            return Ok(None);
        }
        let Self { service, user, .. } = self;
        let sandbox = self.reach(task, route).await?;
        let worktrees = self.worktrees(&sandbox, Some(task.cancelled));
        let (cwd, name) = match &agent.worktree {
            Some(path) => match path.rsplit_once(&format!("/{WORKTREES}/")) {
                Some(_) if sandbox.stat(format!("{path}/.git").as_bytes()).await.is_ok() => {
                    return Ok(Some(path.clone()));
                }
                Some((top, name)) => (top.to_owned(), name.to_owned()),
                None => return Ok(None),
            },
            None => {
                let digits: String = task.chat.to_string().chars().filter(char::is_ascii_hexdigit).collect();
                let cwd = service.store.chat_cwd(user.id, task.chat).await.ported()?;
                (cwd, format!("agent-{}", &digits[..SUB_AGENT_WORKTREE_DIGITS.min(digits.len())]))
            }
        };
        let Made { path, .. } = worktrees.create(&cwd, &name).await.map_err(|error| match error {
            Failure::Message(why) => {
                Failure::Message(format!("the sub-agent got no worktree, and was not started: {why}"))
            }
            error => error,
        })?;
        service.store.set_sub_agent_worktree(user.id, task.chat, &path).await.ported()?;
        service.store.set_chat_cwd(user.id, task.chat, &path).await.ported()?;
        Ok(Some(path))
    }

    /// Removes a sub-agent's worktree if nothing would be lost; returns the result, in words for its parent.
    pub(super) async fn leave_worktree(&self, path: &str, route: &RouteRequest) -> String {
        let left = async {
            let sandbox = self.service.router.for_user(&sandbox_user(&self.user), route).await;
            let sandbox = sandbox.map_err(|error| Failure::Message(error.to_string()))?;
            // This happens even after a cancel.
            self.worktrees(&sandbox, None).leave(path).await
        };
        match left.await {
            Ok(Left::Removed) => REMOVED.to_owned(),
            Ok(Left::Kept(why)) => format!(
                "(Its worktree {path} is kept: {why}. Its branch is sandbridge/{}. Once the branch is merged, remove the worktree \
                 with Worktree.)",
                path.rsplit('/').next().unwrap_or_default(),
                path = visible::line(path)
            ),
            Err(error) => not_looked_at(path, &error),
        }
    }

    /// Like `leave_worktree`, for a sub-agent that had ended when the server died; `None` if it works in no worktree.
    pub(super) async fn leave_again(&self, task: &SubAgentTask<'_>, agent: &SubAgent) -> Option<String> {
        let path = agent.worktree.as_ref()?;
        let route = match self.route_to(agent).await {
            Ok(route) => route,
            Err(error) => return Some(not_looked_at(path, &error)),
        };
        match self.reach(task, &route).await {
            Ok(sandbox) => match sandbox.stat(format!("{path}/.git").as_bytes()).await {
                Err(error) if error.kind() == "not_found" => Some(REMOVED.to_owned()),
                Ok(_) | Err(_) => Some(self.leave_worktree(path, &route).await),
            },
            Err(error) => Some(not_looked_at(path, &error)),
        }
    }

    fn worktrees<'a>(
        &'a self,
        sandbox: &'a sandbox::Sandbox,
        cancelled: Option<&'a tokio_util::sync::CancellationToken>,
    ) -> Worktrees<'a> {
        let (services, user, chat) = (&self.service.services, &self.user, &self.root);
        Worktrees { services, user, chat, sandbox, is_plan: false, cancelled }
    }
}
