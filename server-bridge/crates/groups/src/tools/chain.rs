//! The tool `Chain`, which begins a run of one of the group's chains, and creates or changes a chain.

use std::fmt::Write as _;
use std::sync::Arc;

use agent::approval::Access;
use agent::tool::look::part;
use agent::tool::{
    AgentTurn, Beside, Failure, ForSubAgents, Ground, Live, Looked, Outcome, Rules, Subject, ToolContext,
    TypedTool,
};
use api::chain::{ChainForms, ChainPut};
use schemars::JsonSchema;
use serde::Deserialize;

use super::outcome;
use crate::discussion::Begins;
use crate::error::Error;
use crate::house::Inner;
use crate::views;

/// The action on a chain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Action {
    /// Runs the chain; without a name, lists the group's chains.
    #[default]
    Run,
    /// Creates the chain with this name, or changes it.
    Set,
}

/// The arguments of the tool: a chain, and the request for its steps.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// What to do: `run` (the default) or `set`.
    #[serde(default)]
    action: Action,
    /// The chain's name. Without it, the group's chains are listed and nothing is begun.
    #[serde(default)]
    name: Option<String>,
    /// The request that its steps work on.
    #[serde(default)]
    request: String,
    /// For `set`: the steps as text, one numbered line each, as `1. @writer: Write a story. [gate] [retries 2] [limit 10m]`, and optionally a
    /// last line `budget: 200000 tokens, $2.50, 1h`. A list shows chains in this form.
    #[serde(default)]
    steps: String,
    /// For `set`: true to replace the chain of this name. Without it, the name has to be free.
    #[serde(default)]
    replace: bool,
    /// True if you do not want to wait for its end: the output of its steps is in the group's log.
    #[serde(default)]
    background: bool,
}

impl Arguments {
    /// Stores the chain with the right of the person who asked for the turn. Runs that have begun keep the old steps.
    async fn set(&self, groups: &Arc<Inner>, turn: &AgentTurn<'_>) -> Result<Outcome, Failure> {
        let speaker = groups.speaker(turn).await?;
        let forms = ChainForms { text: Some(self.steps.clone()), ..ChainForms::default() };
        let put = ChainPut { forms, replace: self.replace, ..ChainPut::default() };
        let name = self.name.as_deref().unwrap_or_default().trim();
        let stored = groups.put_chain(&speaker.user, speaker.agent.group_id, name, put).await?;
        Ok(Outcome::done(format!("The chain {} is stored:\n{}", stored.name, stored.text)))
    }
}

impl TypedTool for Arguments {
    type Services = Arc<Inner>;

    const NAME: &'static str = "Chain";
    const DESCRIPTION: &'static str = "Runs one of your group's chains, which are steps that agents do one after the other, and gives you \
the output of each step; without a name it lists the chains. A gate of the chain asks a person: the run then waits for them. `set` makes a chain, or with `replace` changes one, if the person \
who asked you may.";
    const RULES: Rules = Rules::of(Access::Settings)
        .beside(Beside::Nothing)
        .for_sub_agents(ForSubAgents::Never)
        .sees_cancel()
        .waits_for_its_user()
        .without_machine();

    fn access(&self) -> Access {
        if self.action == Action::Set { Access::Settings } else { Access::Read }
    }

    fn hint(&self) -> &str {
        self.name.as_deref().unwrap_or("list")
    }

    fn subject(&self) -> Subject<'_> {
        Subject::Named(self.name.as_deref().unwrap_or_default())
    }

    async fn look(&self, _ground: Option<&Ground>) -> Result<Looked, Failure> {
        let parts = vec![part("name", self.hint()), part("steps", &self.steps)];
        Ok(Looked::words("makes or changes a chain of the group", parts))
    }

    async fn run(
        &self,
        groups: &Arc<Inner>,
        context: &ToolContext<'_>,
        _live: Live<'_>,
    ) -> Result<Outcome, Failure> {
        let turn = context.agent()?;
        if self.action == Action::Set {
            return self.set(groups, &turn).await;
        }
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
