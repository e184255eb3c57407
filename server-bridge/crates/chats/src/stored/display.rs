//! A turn as people see it: messages with documents, stored and sent as events.

use std::sync::{MutexGuard, PoisonError};

use api::document::{
    AgentDocument, ApprovalDocument, ApprovalPart, ApprovalPlace, SubAgentDocument, TodoDocument, ToolData,
    UsageDocument,
};
use api::language::Language;
use std::collections::HashMap;
use store::{Message, MessageId, TurnStatus};

use super::screen::{self, shortened};
use super::{Screen, Stored, asked};
use agent::engine::{Asked, CallState, CallStatus, Card, Display, ReplyState, Stream};
use agent::tool::{CardData, Proposal, ProposalPart, SubAgentState, TurnCost};

impl Display for Stored {
    fn add_reply(&self) -> Asked<'_, MessageId> {
        asked(async { Ok(self.screen().add("", &screen::reply(TurnStatus::Running)).await?.id) })
    }

    fn reply<'a>(&'a self, message: MessageId, text: &'a str, state: ReplyState<'a>) -> Asked<'a, ()> {
        asked(async move {
            let document = self.reply_document(state).await?;
            self.screen().change(message, text, &document).await?;
            self.words.forget(&self.service.store, message).await
        })
    }

    fn stream(&self, message: MessageId, what: Stream, text: String) {
        self.words.push(&self.service, self.turn, message, what, &text);
        self.screen().stream(message, what, text);
    }

    fn notice<'a>(&'a self, text: &'a str) -> Asked<'a, ()> {
        asked(async move { self.screen().notice(text).await })
    }

    fn keep_call<'a>(&'a self, card: Card<'a>) -> Asked<'a, MessageId> {
        asked(async move {
            let document = self.document(card);
            let message = match self.take_left_card() {
                // A question on this card is asked again, so people who see it meanwhile must not think that it was answered.
                Some(left) => self.service.store.message(self.user.id, left).await?,
                None => self.screen().keep("", &document).await?,
            };
            let id = message.id;
            self.untold().insert(id, message);
            Ok(id)
        })
    }

    fn tell(&self, message: MessageId) {
        let untold = self.untold().remove(&message);
        if let Some(message) = untold {
            self.screen().tell(&message);
        }
    }

    fn call<'a>(&'a self, message: MessageId, card: Card<'a>) -> Asked<'a, ()> {
        let language = self.service.language(self.user.id);
        let text = match card.state {
            // The reason for a denial is one of the server's texts, which the model gets in English.
            CallState::Ended(_, outcome, _) if outcome.is_denied => {
                shortened(&language.translated(&outcome.text), language)
            }
            CallState::Ended(_, outcome, _) => shortened(&outcome.text, language),
            _ => String::new(),
        };
        asked(async move {
            let is_told = !self.untold().contains_key(&message);
            let changed = self.screen().rewrite(message, &text, &self.document(card)).await?;
            match is_told {
                true => self.screen().tell(&changed),
                false => drop(self.untold().insert(message, changed)),
            }
            Ok(())
        })
    }

    fn settle(&self, first: MessageId) -> Asked<'_, ()> {
        asked(async move { self.screen().settle_behind(first).await })
    }
}

impl Stored {
    pub(super) fn screen(&self) -> Screen<'_> {
        Screen { service: &self.service, user: &self.user, chat: &self.chat, turn: self.turn }
    }

    /// An answer's state in the form for clients, in the user's language.
    pub(super) async fn reply_document(&self, state: ReplyState<'_>) -> store::Result<AgentDocument> {
        let ReplyState { status, reasoning, error, cost, waits } = state;
        let mut usage = cost.map(usage);
        if let Some(usage) = &mut usage {
            // Tools and hooks ask models too, outside of the conversation; the record contains their cost as well.
            let spent = self.service.store.turn_usage(self.turn).await?;
            *usage = UsageDocument {
                input_tokens: usage.input_tokens.max(spent.input_tokens.cast_unsigned()),
                cache_read_tokens: usage.cache_read_tokens.max(spent.cache_read_tokens.cast_unsigned()),
                output_tokens: usage.output_tokens.max(spent.output_tokens.cast_unsigned()),
                cost_micros: usage.cost_micros.max(spent.cost_micros.cast_unsigned()),
            };
        }
        let error = error.map(|error| self.service.in_words_of(self.user.id, error));
        Ok(AgentDocument::Reply {
            status: status.as_str().into(),
            reasoning: reasoning.to_owned(),
            error,
            usage,
            waits,
        })
    }

    /// A call in the form for clients, in the user's language.
    fn document(&self, card: Card<'_>) -> AgentDocument {
        document(card, self.service.language(self.user.id))
    }

    fn untold(&self) -> MutexGuard<'_, HashMap<MessageId, Message>> {
        // Each change is a single step, so the data stays consistent if another thread panics.
        self.untold.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call in the form for clients, with the server's own words in this language.
fn document(card: Card<'_>, language: Language) -> AgentDocument {
    let Card { tool, hint, place, asked_by, state } = card;
    let (mut status, mut detail, mut approval, mut data) = ("running", String::new(), None, None);
    let (mut agent, mut duration_ms) = (None, None);
    match state {
        CallState::Asks(looked, access) => {
            status = "asking";
            let say = |text: &str| language.translated(text).into_owned();
            let proposal = looked.proposal.said(&say);
            detail = proposal.to_text_in(&say);
            if let Some(name) = asked_by {
                detail = format!("{}\n{detail}", say(&format!("The sub-agent {name} asks for this:")));
            }
            approval = Some(Box::new(approval_of(proposal)));
            data = if access.may_be_remembered() {
                looked.edit.as_ref().and_then(data_of)
            } else {
                Some(ToolData::Once)
            };
        }
        CallState::Questions(question, options) => {
            status = "asking";
            question.clone_into(&mut detail);
            data = Some(ToolData::Question { options: options.to_vec() });
        }
        CallState::Runs => {}
        CallState::Delegates(state) => agent = Some(sub_agent(state)),
        CallState::Settled(end) => status = word(end),
        CallState::Ended(end, outcome, took_ms) => {
            (status, duration_ms) = (word(end), took_ms);
            if outcome.sub_agent.as_ref().is_some_and(|agent| agent.is_background && agent.cost.is_none()) {
                // The call has returned, but the sub-agent is still at work.
                (status, duration_ms) = ("running", None);
            }
            data = outcome.data.as_ref().and_then(data_of);
            agent = outcome.sub_agent.as_ref().map(sub_agent);
        }
    }
    AgentDocument::Tool {
        tool: tool.to_owned(),
        hint: hint.to_owned(),
        status: status.into(),
        place: place.map(str::to_owned),
        detail,
        approval,
        data,
        sub_agent: agent.map(Box::new),
        asked_by: asked_by.map(str::to_owned),
        duration_ms,
    }
}

fn word(end: CallStatus) -> &'static str {
    match end {
        CallStatus::Done => "done",
        CallStatus::Failed => "failed",
        CallStatus::Denied => "denied",
        CallStatus::Cancelled => "cancelled",
    }
}

fn sub_agent(state: &SubAgentState) -> SubAgentDocument {
    SubAgentDocument {
        chat_id: state.chat.to_string(),
        role: state.role.clone(),
        instance: state.instance.clone(),
        steps: state.steps,
        doing: state.doing.clone(),
        usage: state.cost.map(usage),
        background: state.is_background,
    }
}

fn usage(cost: TurnCost) -> UsageDocument {
    UsageDocument {
        input_tokens: cost.usage.input_tokens,
        cache_read_tokens: cost.usage.cache_read_tokens,
        output_tokens: cost.usage.output_tokens,
        cost_micros: cost.cost_micros,
    }
}

/// A question for a person, in the form for clients.
fn approval_of(proposal: Proposal) -> ApprovalDocument {
    let Proposal { effect, target, place, parts, always, only_once, note } = proposal;
    let place = place.map(|place| ApprovalPlace {
        machine: place.machine,
        directory: place.directory,
        user: place.user,
    });
    let part =
        |part: ProposalPart| ApprovalPart { label: part.label, text: part.text, is_in_edit: part.is_in_edit };
    let parts = parts.into_iter().map(part).collect();
    ApprovalDocument { effect, target, place, parts, always, only_once, note }
}

/// A card's data in addition to its text, in the form for clients; `None` for a document that cannot be read.
fn data_of(data: &CardData) -> Option<ToolData> {
    Some(match data.clone() {
        CardData::Todos(items) => ToolData::Todos {
            items: items
                .into_iter()
                .map(|item| TodoDocument { content: item.content, status: item.status.into() })
                .collect(),
        },
        CardData::Edit { old, new, first_line, is_cut } => ToolData::Edit { old, new, first_line, is_cut },
        CardData::Card(document) => ToolData::Card { card: Box::new(serde_json::from_value(document).ok()?) },
    })
}
