//! A sub-agent's delegation, and the card in its parent's chat that shows its work.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use records::MessageId;

use super::result::told;
use crate::engine::ports::{CallState, Card, Display, SubAgentEnd};
use crate::limits::SUB_AGENT_DOING_CHARS;
use crate::models::Tier;
use crate::tool::{Outcome, SubAgentState, visible};

/// A task given to a sub-agent.
pub struct Delegation {
    pub(super) role_text: String,
    /// The tier of the sub-agent's model, if one was named.
    pub(super) tier: Option<Tier>,
    /// The display of the parent's chat, where the call is shown.
    pub(super) display: Arc<dyn Display>,
    pub(super) card: MessageId,
    pub(super) tool: String,
    pub(super) hint: String,
    /// The place where the sub-agent works, if it was named.
    pub(super) place: Option<String>,
    pub(super) agent: SubAgentState,
    pub(super) steps: AtomicU32,
}

impl Delegation {
    /// The text of the sub-agent's role; empty if it has none.
    pub fn role_text(&self) -> &str {
        &self.role_text
    }

    /// The tier of the sub-agent's model; `None` for the model of its user's chat.
    pub(in crate::engine) fn tier(&self) -> Option<Tier> {
        self.tier
    }

    /// The sub-agent's name for people.
    pub(in crate::engine) fn name(&self) -> String {
        let SubAgentState { role, instance, .. } = &self.agent;
        match (role, instance) {
            (Some(role), Some(instance)) => format!("{role} {instance}"),
            (Some(name), None) | (None, Some(name)) => name.clone(),
            (None, None) => "sub-agent".to_owned(),
        }
    }

    /// Shows in the parent's chat that the sub-agent is calling a tool.
    pub(in crate::engine) async fn does(&self, tool: &str, hint: &str) -> crate::PortResult<()> {
        let line = hint.split_whitespace().collect::<Vec<_>>().join(" ");
        let doing = format!("{tool} {line}").trim_end().chars().take(SUB_AGENT_DOING_CHARS).collect();
        let steps = self.steps.fetch_add(1, Ordering::Relaxed) + 1;
        self.show(&SubAgentState { steps, doing, ..self.agent.clone() }).await
    }

    /// Shows the sub-agent's state in the parent's chat.
    pub(super) async fn show(&self, agent: &SubAgentState) -> crate::PortResult<()> {
        let card = Card {
            tool: &self.tool,
            hint: &self.hint,
            place: self.place.as_deref(),
            asked_by: None,
            state: CallState::Delegates(agent),
        };
        self.display.call(self.card, card).await
    }

    /// The outcome for the parent once the sub-agent has ended, with the note for the parent before it.
    pub(super) fn outcome(&self, end: SubAgentEnd, remark: Option<String>) -> Outcome {
        let mut outcome = told(&end.turn);
        let place = self.agent.place.as_deref();
        let place = place.map(|place| format!("(It worked on {}.)", visible::line(place)));
        let before: Vec<String> = remark.into_iter().chain(place).chain(end.worktree).collect();
        if !before.is_empty() {
            outcome.text = format!("{}\n\n{}", before.join("\n"), outcome.text);
        }
        outcome.sub_agent = Some(SubAgentState {
            steps: self.steps.load(Ordering::Relaxed),
            cost: Some(end.turn.cost),
            ..self.agent.clone()
        });
        outcome
    }
}
