//! `Worktree`: manages worktrees of the repository that contains the chat's directory. Sub-agents get their worktrees the same way.
//!
//! | module | holds |
//! |---|---|
//! | `command` | [`Worktrees`]: a short command on the machine, on record like any other |
//! | `repository` | making, examining and removing worktrees |

mod command;
mod repository;

use schemars::JsonSchema;
use serde::Deserialize;
use store::TurnStatus;

pub use command::Worktrees;
pub use repository::{Left, Made};

use crate::{Ported, Services, Work};
use agent::approval::Access;
use agent::tool::look::{Ground, Looked, part};
use agent::tool::{Failure, Live, Outcome, Rules, ToolContext, TypedTool, visible};

/// The action to take.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// create, list or remove.
    action: Action,
    /// The worktree's name, for create and remove: letters, digits, `.`, `_` and `-`.
    #[serde(default)]
    name: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Action {
    Create,
    List,
    Remove,
}

impl TypedTool for Arguments {
    type Services = Services;

    const NAME: &'static str = "Worktree";
    const DESCRIPTION: &'static str = "Makes, lists and removes git worktrees of the repository that the current directory is in. \
A new one is in .sandbridge/worktrees/NAME on the branch sandbridge/NAME, which begins at the current commit; work there with Cd \
or absolute paths, and merge its branch with git. It is removed only if nothing would be lost: it has no changes, and all its \
commits are on other branches too. git worktree add and remove do not work in commands.";
    const RULES: Rules = Rules::of(Access::Edit).sees_cancel();

    fn access(&self) -> Access {
        if self.action == Action::List { Access::Read } else { Access::Edit }
    }

    fn hint(&self) -> &str {
        self.name.as_deref().unwrap_or("list")
    }

    async fn look(&self, ground: Option<&Ground>) -> Result<Looked, Failure> {
        let Some(ground) = ground else { return Err(Failure::unreachable()) };
        let name = self.named()?;
        let effect = match self.action {
            Action::Create => "makes a git worktree and a branch",
            Action::List => "lists git worktrees",
            Action::Remove => "removes a git worktree and its branch, if nothing would be lost",
        };
        let machine = ground.machine();
        let words = format!("making and removing worktrees on {machine}, in this chat");
        Ok(Looked::words(effect, vec![part("name", name)]).at(Some(ground)).always(&[machine], words))
    }

    async fn run(
        &self,
        services: &Services,
        context: &ToolContext<'_>,
        _live: Live<'_>,
    ) -> Result<Outcome, Failure> {
        let work = &Work { services, context };
        let (sandbox, turn) = (work.sandbox().await?, work.agent()?);
        let cwd = services.store.chat_cwd(work.user.id, turn.chat).await.ported()?;
        let worktrees = Worktrees {
            services,
            user: work.user,
            chat: turn.root,
            sandbox: &sandbox,
            is_plan: work.is_plan,
            cancelled: Some(work.cancelled),
        };
        match self.action {
            Action::Create => create(&worktrees, &cwd, self.named()?).await,
            Action::List => list(&worktrees, work, &cwd).await,
            Action::Remove => remove(&worktrees, work, &cwd, self.named()?).await,
        }
    }
}

impl Arguments {
    /// The given name; a list needs none.
    fn named(&self) -> Result<&str, Failure> {
        match &self.name {
            Some(name) => repository::check_name(name).map(|()| name.as_str()),
            None if self.action == Action::List => Ok(""),
            None => Err(Failure::Message("name the worktree".to_owned())),
        }
    }
}

async fn create(worktrees: &Worktrees<'_>, cwd: &str, name: &str) -> Result<Outcome, Failure> {
    let Made { path, branch, commit } = worktrees.create(cwd, name).await?;
    let (path, place) = (visible::line(&path), worktrees.sandbox.place());
    Ok(Outcome::done(format!("made the worktree {path} on {place}, on the new branch {branch} at {commit}")))
}

/// Lists the worktrees. Those of sub-agents that have ended, and that contain nothing, are removed: a killed server left them.
async fn list(worktrees: &Worktrees<'_>, work: &Work<'_>, cwd: &str) -> Result<Outcome, Failure> {
    let (top, all) = worktrees.all(cwd).await?;
    let mut lines = Vec::new();
    for state in &all {
        let path = repository::path(&top, &state.name);
        let (is_own, is_at_work) = owner(work, &path).await?;
        let is_left = is_own && !is_at_work && !worktrees.is_plan;
        if is_left && worktrees.leave_if_empty(&top, state).await? == Left::Removed {
            lines.push(format!(
                "{}: removed, since its sub-agent has ended and left nothing in it",
                state.name
            ));
            continue;
        }
        let by = if is_at_work { "; a sub-agent is working in it" } else { "" };
        lines.push(format!("{}{by}", state.line(&top)));
    }
    let place = worktrees.sandbox.place();
    if lines.is_empty() {
        let top = visible::line(&top);
        return Ok(Outcome::done(format!(
            "the repository {top} on {place} has no worktrees in .sandbridge/worktrees"
        )));
    }
    Ok(Outcome::done(format!("on {place}:\n{}", lines.join("\n"))))
}

async fn remove(
    worktrees: &Worktrees<'_>,
    work: &Work<'_>,
    cwd: &str,
    name: &str,
) -> Result<Outcome, Failure> {
    let (top, all) = worktrees.all(cwd).await?;
    let Some(state) = all.iter().find(|state| state.name == name) else {
        return Err(Failure::Message(format!(
            "there is no worktree {name} in .sandbridge/worktrees; the action `list` shows those that exist"
        )));
    };
    let path = repository::path(&top, name);
    if owner(work, &path).await?.1 {
        return Err(Failure::Message(format!(
            "a sub-agent is working in the worktree {name}; wait until it ends"
        )));
    }
    match worktrees.leave_if_empty(&top, state).await? {
        Left::Removed => Ok(Outcome::done(format!("removed the worktree {name} and its branch"))),
        Left::Kept(why) => {
            Err(Failure::Message(format!("the worktree {name} is kept, and nothing was removed: {why}")))
        }
    }
}

/// Two flags: whether a worktree is a sub-agent's, and whether that sub-agent is at work.
async fn owner(work: &Work<'_>, path: &str) -> Result<(bool, bool), Failure> {
    let found = work.services.store.sub_agent_of_worktree(work.user.id, path).await.ported()?;
    let Some(agent) = found else { return Ok((false, false)) };
    let has_turn = matches!(agent.status, Some(TurnStatus::Queued | TurnStatus::Running));
    Ok((true, has_turn || work.host.is_at_work(&agent.chat)))
}
