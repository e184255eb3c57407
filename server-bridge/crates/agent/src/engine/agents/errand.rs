//! What a sub-agent is called for, and the card in its parent's chat that shows what it does.

use std::sync::atomic::{AtomicU32, Ordering};

use sandbox::Wish;
use serde::{Deserialize, Serialize};
use store::{ChatId, MessageId, TurnId, User};
use utoipa::ToSchema;

use crate::engine::AgentDocument;
use crate::engine::show::{Screen, UsageDocument};
use crate::limits::SUB_AGENT_DOING_CHARS;
use crate::models::Tier;
use crate::service::Inner;

/// What the card of a sub-agent's call says of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SubAgentDocument {
    /// Its own chat, whose messages show all it said and did.
    pub chat_id: String,
    /// Who it was told to be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub role: Option<String>,
    /// The name it is called by again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub instance: Option<String>,
    /// How many tools it called in this call.
    pub steps: u32,
    /// The last of those, and what it was about.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub doing: String,
    /// What this call took, once it is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub usage: Option<UsageDocument>,
}

/// What a sub-agent is called for.
pub(crate) struct Errand {
    pub(super) role_text: String,
    /// How able a model it asks, where that was said.
    pub(super) tier: Option<Tier>,
    /// Where its parent works.
    pub(super) wish: Wish,
    pub(super) card: Card,
    pub(super) agent: SubAgentDocument,
    pub(super) steps: AtomicU32,
}

/// What shows the call in the parent's chat.
pub(super) struct Card {
    pub(super) chat: ChatId,
    pub(super) message: MessageId,
    pub(super) turn: TurnId,
    pub(super) tool: &'static str,
    pub(super) hint: String,
    pub(super) place: String,
}

impl Errand {
    /// Who it is told to be; empty for nobody in particular.
    pub(in crate::engine) fn role_text(&self) -> &str {
        &self.role_text
    }

    /// How able a model it asks; as able as its user's chat's where nothing was said.
    pub(in crate::engine) fn tier(&self) -> Option<Tier> {
        self.tier
    }

    /// Where it works.
    pub(in crate::engine) fn wish(&self) -> &Wish {
        &self.wish
    }

    /// What people call it.
    pub(in crate::engine) fn name(&self) -> String {
        let SubAgentDocument { role, instance, .. } = &self.agent;
        match (role, instance) {
            (Some(role), Some(instance)) => format!("{role} {instance}"),
            (Some(name), None) | (None, Some(name)) => name.clone(),
            (None, None) => "sub-agent".to_owned(),
        }
    }

    /// Shows in the parent's chat that it calls a tool.
    pub(in crate::engine) async fn does(
        &self,
        service: &Inner,
        user: &User,
        tool: &str,
        hint: &str,
    ) -> store::Result<()> {
        let line = hint.split_whitespace().collect::<Vec<_>>().join(" ");
        let doing = format!("{tool} {line}").trim_end().chars().take(SUB_AGENT_DOING_CHARS).collect();
        let steps = self.steps.fetch_add(1, Ordering::Relaxed) + 1;
        self.show(service, user, SubAgentDocument { steps, doing, ..self.agent.clone() }).await
    }

    /// Shows in the parent's chat how it stands.
    pub(super) async fn show(
        &self,
        service: &Inner,
        user: &User,
        agent: SubAgentDocument,
    ) -> store::Result<()> {
        let Card { chat, message, turn, tool, hint, place } = &self.card;
        let document = AgentDocument::Tool {
            tool: (*tool).to_owned(),
            hint: hint.clone(),
            status: "running".to_owned(),
            place: Some(place.clone()),
            detail: String::new(),
            approval: None,
            data: None,
            sub_agent: Some(Box::new(agent)),
            asked_by: None,
            duration_ms: None,
        };
        Screen { service, user, chat, turn: *turn }.change(*message, "", &document).await
    }

    /// What its card says of it when it is over.
    pub(super) fn done(&self, usage: Option<UsageDocument>) -> SubAgentDocument {
        SubAgentDocument { steps: self.steps.load(Ordering::Relaxed), usage, ..self.agent.clone() }
    }

    #[cfg(test)]
    pub(super) fn for_tests(chat: &ChatId) -> Self {
        let card = Card {
            chat: chat.clone(),
            message: MessageId(1),
            turn: TurnId(1),
            tool: "SubAgent",
            hint: String::new(),
            place: String::new(),
        };
        let wish = Wish { choice: sandbox::Choice::parse(None), registered: Vec::new() };
        let (agent, steps) = Default::default();
        Self { role_text: String::new(), tier: None, wish, card, agent, steps }
    }
}
