//! The tool `CreateChat`, with which an agent has several agents of the group discuss a topic in rounds.

use std::sync::Arc;

use agent::approval::Access;
use agent::tool::{Beside, Failure, ForSubAgents, Live, Outcome, Rules, ToolContext, TypedTool};
use schemars::JsonSchema;
use serde::Deserialize;

use super::outcome;
use crate::discussion::Begins;
use crate::house::Inner;

/// The arguments of the tool.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The handles of the agents that take part, 2 to 8. You cannot be one of them.
    agents: Vec<String>,
    /// The topic that they discuss, with everything that they have to know.
    topic: String,
    /// How many times each of them speaks, 1 to 5; 2 if not given.
    #[serde(default)]
    rounds: Option<u32>,
    /// The number of tokens that the discussion may use before a person is asked.
    #[serde(default)]
    max_tokens: Option<i64>,
    /// True if you do not want to wait for its end: everything that is said is in the group's log.
    #[serde(default)]
    background: bool,
}

impl TypedTool for Arguments {
    type Services = Arc<Inner>;

    const NAME: &'static str = "CreateChat";
    const DESCRIPTION: &'static str = "Has several agents of your group discuss a topic in rounds, and gives you the contribution of each. \
Each of them knows what was said before. Use it where several views are worth their cost; to ask one agent, use SendMessage.";
    const RULES: Rules = Rules::of(Access::Read)
        .beside(Beside::Nothing)
        .for_sub_agents(ForSubAgents::Never)
        .sees_cancel()
        .waits_for_its_user()
        .without_machine();

    fn hint(&self) -> &str {
        self.topic.trim().lines().next().unwrap_or_default()
    }

    async fn run(
        &self,
        groups: &Arc<Inner>,
        context: &ToolContext<'_>,
        _live: Live<'_>,
    ) -> Result<Outcome, Failure> {
        let begins = Begins::Discussion {
            agents: &self.agents,
            rounds: self.rounds.unwrap_or(2),
            tokens: self.max_tokens,
        };
        let turn = context.agent()?;
        let (group, run) = groups.begin_for(&turn, begins, &self.topic, !self.background).await?;
        outcome(groups, (group, run), self.background, context.cancelled).await
    }
}
