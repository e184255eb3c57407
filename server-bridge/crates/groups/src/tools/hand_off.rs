//! The tool `HandOff`, which hands the task over to another agent of the group, whose answer replaces the agent's own.

use std::sync::Arc;

use agent::approval::Access;
use agent::tool::{Beside, Failure, ForSubAgents, Live, Outcome, Rules, Subject, ToolContext, TypedTool};
use schemars::JsonSchema;
use serde::Deserialize;
use store::CallMode;

use crate::house::Inner;
use crate::talk::Words;

/// The arguments of the tool.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The handle of the agent that continues, such as coder.
    to: String,
    /// The task: what is asked, what has been done so far, and what is still to be done.
    task: String,
}

impl TypedTool for Arguments {
    type Services = Arc<Inner>;

    const NAME: &'static str = "HandOff";
    const DESCRIPTION: &'static str = "Hands over your task to another agent of your group, and ends your part: the other agent's \
answer goes to the group in place of yours. Use it if the other agent is the right one for the task; use SendMessage if you need something \
from it to answer yourself.";
    const RULES: Rules =
        Rules::of(Access::Read).beside(Beside::Nothing).for_sub_agents(ForSubAgents::Never).without_machine();

    fn hint(&self) -> &str {
        self.task.trim().lines().next().unwrap_or_default()
    }

    fn subject(&self) -> Subject<'_> {
        Subject::Named(self.to.trim_start_matches('@'))
    }

    async fn run(
        &self,
        groups: &Arc<Inner>,
        context: &ToolContext<'_>,
        _live: Live<'_>,
    ) -> Result<Outcome, Failure> {
        let turn = context.agent()?;
        let words = Words { tool: Self::NAME, to: Some(&self.to), text: &self.task, mode: CallMode::HandOff };
        groups.say(&turn, words).await?;
        Ok(Outcome::done(format!(
            "The task is handed over to @{}. End your answer now, with one short sentence: it is not posted to the group.",
            self.to.trim_start_matches('@')
        )))
    }
}
