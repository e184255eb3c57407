//! `SubAgent`: delegates a part of the work.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Failure, Outcome};
use crate::Services;
use agent::approval::Access;
use agent::tool::look::{Ground, Looked, part};
use agent::tool::{
    Beside, DelegationRequest, ForSubAgents, Live, Rules, Subject, ToolContext, TypedTool, shortened, visible,
};

/// The task to hand over.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The task, and everything that the sub-agent has to know: it sees nothing of this conversation.
    task: String,
    /// The sub-agent's role: one of the roles of sub-agents, if there are any.
    #[serde(default)]
    role: Option<String>,
    /// The names of the tools that the sub-agent may use, of those that you have; if not given, those of its role, or else most of yours.
    /// Name SubAgent to let it call others.
    #[serde(default)]
    tools: Option<Vec<String>>,
    /// The tier of the sub-agent's model: vanguard, balance or swift; if not given, that of its role, or else the model of the user's chat.
    #[serde(default)]
    model: Option<String>,
    /// A name for the sub-agent. Call it by the same name again within 30 minutes, and it remembers the conversation; while it works in the
    /// background, the task is a message that it reads before its next step.
    #[serde(default)]
    instance: Option<String>,
    /// The machine that the sub-agent works on: another one of the user's, by its name. It begins in that machine's workspace. By default,
    /// it works on yours.
    #[serde(default)]
    on: Option<String>,
    /// Whether the sub-agent works in its own git worktree, on a new branch that begins at your current commit. The result names a worktree that is
    /// kept because there is something in it; an empty one is removed.
    #[serde(default)]
    worktree: bool,
    /// True if you do not wait for the sub-agent to end. You are notified when it has ended; until then task_status, task_read and
    /// task_kill work on it.
    #[serde(default)]
    background: bool,
}

impl TypedTool for Arguments {
    type Services = Services;

    const NAME: &'static str = "SubAgent";
    const DESCRIPTION: &'static str = "Hands a task to a sub-agent with its own conversation, which works in the same place \
(or on another machine, with `on`) with the same permissions, and answers with its last message. Use it for work that needs a lot of reading but has a short result, \
and to do several things at once: sub-agents called in one answer work concurrently, 3 at a time; with `background`, a sub-agent works while you do something else. Tell it everything that it has to \
know, and what its answer must contain. Sub-agents that change files of one repository at the same time each need a worktree.";
    // The sub-agent's actions ask for permission when they happen; only a worktree is made before them.
    const RULES: Rules = Rules::of(Access::Read)
        .beside(Beside::SubAgents)
        .for_sub_agents(ForSubAgents::Named)
        .sees_cancel()
        .without_machine();

    fn access(&self) -> Access {
        if self.worktree { Access::Edit } else { Access::Read }
    }

    fn hint(&self) -> &str {
        self.task.trim().lines().next().unwrap_or_default()
    }

    fn subject(&self) -> Subject<'_> {
        Subject::Named(self.role.as_deref().unwrap_or_default())
    }

    async fn look(&self, ground: Option<&Ground>) -> Result<Looked, Failure> {
        let effect = "makes a git worktree and a branch for a sub-agent";
        let always = |machine: &str| format!("worktrees for sub-agents on {machine}, in this chat");
        let task = part("task", &self.task);
        if let Some(on) = &self.on {
            // The ground is that of the caller.
            let looked = Looked::words(effect, vec![part("machine", on), task]);
            return Ok(looked.always(&[on], always(&visible::line(on))));
        }
        let Some(ground) = ground else { return Err(Failure::unreachable()) };
        let looked = Looked::words(effect, vec![task]).at(Some(ground));
        Ok(looked.always(&[ground.machine()], always(ground.machine())))
    }

    async fn run(
        &self,
        _services: &Services,
        context: &ToolContext<'_>,
        _live: Live<'_>,
    ) -> Result<Outcome, Failure> {
        let request = DelegationRequest {
            tool: Self::NAME,
            hint: shortened(self.hint()),
            task: &self.task,
            role: self.role.as_deref(),
            tools: self.tools.as_deref(),
            model: self.model.as_deref(),
            instance: self.instance.as_deref(),
            on: self.on.as_deref(),
            worktree: self.worktree,
            background: self.background,
        };
        context.host.delegate(request).await
    }
}
