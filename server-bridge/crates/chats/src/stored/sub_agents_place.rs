//! The machine and the worktree of a sub-agent.

use std::sync::Arc;

use sandbox::{RouteRequest, WORKTREES};
use store::SubAgent;
use tokio::sync::OnceCell;

use super::Stored;
use crate::limits::SUB_AGENT_WORKTREE_DIGITS;
use crate::rule_book::{WorkspaceRules, of_workspace};
use agent::engine::{SubAgentTask, Workplace};
use agent::tool::{Failure, visible};
use execs::sandbox_user;
use tools::Ported;
use tools::worktree::{Left, Made, Worktrees};

impl Stored {
    /// See [`agent::engine::SubAgents::place`].
    pub(super) async fn place_of_name(&self, name: &str) -> Result<Option<String>, Failure> {
        let store = &self.service.store;
        if self.name().await?.as_deref() == Some(name) {
            return Ok(None);
        }
        // Whoever may ask an agent of a group may use its one machine.
        if let Some(agent) = store.agent_of_chat(&self.root).await.ported()? {
            return Err(Failure::Told(format!(
                "an agent of a group works on its own machine only, and so do its sub-agents: on {}",
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
            return Err(Failure::Told(format!(
                "the user has no machine named {:?}; {known}",
                visible::line(name)
            )));
        }
        let route = execs::route_request(store, self.user.id, Some(name)).await.ported()?;
        match self.service.router.check(&sandbox_user(&self.user), &route) {
            Ok(_) => Ok(Some(name.to_owned())),
            Err(error) => Err(Failure::Told(format!(
                "{error}; the sub-agent was not started, and does not work on another machine instead"
            ))),
        }
    }

    /// The route to a sub-agent's machine, and the rules of workspaces that hold there: on another machine, those of its parent's
    /// workspace too.
    pub(super) async fn route_and_rules(
        &self,
        agent: &SubAgent,
    ) -> Result<(RouteRequest, Arc<OnceCell<Arc<WorkspaceRules>>>), Failure> {
        let Some(place) = &agent.place else {
            return Ok((self.route_request().await.ported()?.clone(), Arc::clone(&self.workspace_rules)));
        };
        let route = execs::route_request(&self.service.store, self.user.id, Some(place)).await.ported()?;
        let sandbox = self.service.router.for_user(&sandbox_user(&self.user), &route).await;
        let sandbox = sandbox.map_err(|error| Failure::Told(error.to_string()))?;
        let rules = self.workspace_rules().await.and(of_workspace(&sandbox).await);
        Ok((route, Arc::new(OnceCell::new_with(Some(Arc::new(rules))))))
    }

    /// Makes the worktree that a sub-agent is to work in, unless there is one from an earlier call, and goes there; returns its
    /// path. `None` for one that works in no worktree.
    pub(super) async fn enter_worktree(
        &self,
        task: &SubAgentTask<'_>,
        agent: &SubAgent,
        route: &RouteRequest,
    ) -> Result<Option<String>, Failure> {
        if !task.worktree && agent.worktree.is_none() {
            return Ok(None);
        }
        let Self { service, user, .. } = self;
        let sandbox = service.router.for_user(&sandbox_user(user), route).await;
        let sandbox = sandbox.map_err(|error| Failure::Told(error.to_string()))?;
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
            Failure::Told(why) => {
                Failure::Told(format!("the sub-agent got no worktree, and was not started: {why}"))
            }
            error => error,
        })?;
        service.store.set_sub_agent_worktree(user.id, task.chat, &path).await.ported()?;
        service.store.set_chat_cwd(user.id, task.chat, &path).await.ported()?;
        Ok(Some(path))
    }

    /// Removes a sub-agent's worktree if nothing would be lost; returns what became of it, in words for its parent.
    pub(super) async fn leave_worktree(&self, path: &str, route: &RouteRequest) -> String {
        let left = async {
            let sandbox = self.service.router.for_user(&sandbox_user(&self.user), route).await;
            let sandbox = sandbox.map_err(|error| Failure::Told(error.to_string()))?;
            // Also after a cancel.
            self.worktrees(&sandbox, None).leave(path).await
        };
        let path = visible::line(path);
        match left.await {
            Ok(Left::Removed) => {
                "(Its worktree had nothing that would be lost, and was removed with its branch.)".to_owned()
            }
            Ok(Left::Kept(why)) => format!(
                "(Its worktree {path} is kept: {why}. Its branch is sandbridge/{}. Once the branch is merged, remove the worktree \
                 with Worktree.)",
                path.rsplit('/').next().unwrap_or_default()
            ),
            Err(error) => format!(
                "(Its worktree {path} is kept, since it could not be checked: {error}. The Worktree tool will list it.)"
            ),
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
