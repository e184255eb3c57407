//! A sub-agent in the background: its turn is recorded with the call, and run apart from the turn that called it.
//!
//! ```text
//!   SubAgent ─▶ its turn is queued ─▶ the call's result: "it works as task X"
//!                      └─ run when that result is on record ─▶ its end ─▶ the agent that called it is informed
//! ```
//! All inputs of the turn are on record, so that a restarted server runs it in the same way.

use std::sync::Arc;

use records::{ChatId, MessageId, TurnId, TurnStatus};
use serde::{Deserialize, Serialize};

use super::{Delegation, TurnAncestry, result};
use crate::engine::ports::{CallState, CallStatus, Card, Display, SubAgentEnd};
use crate::tool::{Outcome, SubAgentState, Toolbox};

/// The inputs of a turn in the background. They are stored as JSON: to change a field, add an optional one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Background {
    /// The name of the tool that called the sub-agent, as people see it.
    pub tool: String,
    /// The subject of the call, for people.
    pub hint: String,
    /// The text of the sub-agent's role; empty if it has none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub role_text: String,
    /// The tier of the sub-agent's model, if the call names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<String>,
    /// The names of the tools that the sub-agent may use, as [`Toolbox::to_json`] writes them.
    pub tools_json: String,
    /// The place where the sub-agent works, as people see it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// True if the sub-agent works in its own git worktree.
    #[serde(default)]
    pub worktree: bool,
}

/// The origin of a sub-agent in the background: the chat and the call.
pub struct CalledFrom {
    /// The chat of the agent that called the sub-agent.
    pub chat: ChatId,
    /// The turn that called the sub-agent; that turn may have ended.
    pub turn: TurnId,
    /// The message that shows the call.
    pub card: MessageId,
    /// The tools of the chat's agent.
    pub tools: Toolbox,
    /// The chat, as its user sees it.
    pub display: Arc<dyn Display>,
}

impl TurnAncestry {
    /// The ancestry of a sub-agent's turn in the background.
    pub fn in_background(from: CalledFrom, agent: SubAgentState, background: Background) -> Self {
        let CalledFrom { chat, turn, card, tools, display } = from;
        let Background { tool, hint, role_text, tier, tools_json, place, .. } = background;
        let delegation = Delegation {
            role_text,
            tier: tier.and_then(|tier| tier.parse().ok()),
            display: Arc::clone(&display),
            card,
            tool,
            hint,
            place,
            steps: agent.steps.into(),
            agent,
        };
        let own = tools.of_json(&tools_json);
        Self::top(&chat, turn, tools, display).below(own, delegation)
    }

    /// Turns the end of the sub-agent's turn into the outcome for the agent that called it, and shows it on the card of the call.
    pub async fn end_in_background(&self, end: SubAgentEnd) -> crate::PortResult<Outcome> {
        let Some(delegation) = self.delegation() else { return Ok(result::told(&end.turn)) };
        let status = match end.turn.status {
            TurnStatus::Done => CallStatus::Done,
            TurnStatus::Cancelled => CallStatus::Cancelled,
            _ => CallStatus::Failed,
        };
        let outcome = delegation.outcome(end, None);
        let state = CallState::Ended(status, &outcome, None);
        let Delegation { tool, hint, place, .. } = delegation;
        let card = Card { tool, hint, place: place.as_deref(), asked_by: None, state };
        delegation.display.call(delegation.card, card).await?;
        Ok(outcome)
    }
}
