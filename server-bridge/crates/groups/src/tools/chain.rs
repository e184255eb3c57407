//! `Chain`: begins a run of one of the group's chains.

use std::fmt::Write as _;
use std::sync::Arc;

use agent::approval::Access;
use agent::tool::{Beside, Failure, ForSubAgents, Live, Outcome, Rules, Subject, ToolContext, TypedTool};
use schemars::JsonSchema;
use serde::Deserialize;

use super::outcome;
use crate::discussion::Begins;
use crate::error::Error;
use crate::house::Inner;
use crate::views;

/// Which chain, and what it works on.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The chain's name. Without it, the group's chains are listed and nothing is begun.
    #[serde(default)]
    name: Option<String>,
    /// What its steps work on.
    #[serde(default)]
    request: String,
    /// True if you do not wait for its end: the output of its steps is in the group's log.
    #[serde(default)]
    background: bool,
}

impl TypedTool for Arguments {
    type Services = Arc<Inner>;

    const NAME: &'static str = "Chain";
    const DESCRIPTION: &'static str = "Runs one of your group's chains, which are steps that agents do one after the other, and gives you \
the output of each step; without a name it lists the chains. A gate of the chain asks a person: the run then waits for them.";
    const RULES: Rules = Rules::of(Access::Read)
        .beside(Beside::Nothing)
        .for_sub_agents(ForSubAgents::Never)
        .sees_cancel()
        .waits_for_its_user()
        .without_machine();

    fn hint(&self) -> &str {
        self.name.as_deref().unwrap_or("list")
    }

    fn subject(&self) -> Subject<'_> {
        Subject::Named(self.name.as_deref().unwrap_or_default())
    }

    async fn run(
        &self,
        groups: &Arc<Inner>,
        context: &ToolContext<'_>,
        _live: Live<'_>,
    ) -> Result<Outcome, Failure> {
        let turn = context.agent()?;
        let Some(name) = self.name.as_deref().filter(|name| !name.trim().is_empty()) else {
            let speaker = groups.speaker(&turn).await?;
            let mut text = String::new();
            for chain in groups.store.group_chains(speaker.agent.group_id).await.map_err(Error::from)? {
                let chain = views::chain(&chain);
                let _ = write!(text, "# {}\n{}\n", chain.name, chain.text);
            }
            let text = if text.is_empty() { "The group has no chains.".to_owned() } else { text };
            return Ok(Outcome::done(text));
        };
        let begun = groups.begin_for(&turn, Begins::Chain(name), &self.request, !self.background).await?;
        outcome(groups, begun, self.background, context.cancelled).await
    }
}
