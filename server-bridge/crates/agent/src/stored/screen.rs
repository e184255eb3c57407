//! A turn as people see it: a message for each answer, and one for each call of a tool.

use serde::{Deserialize, Serialize};
use store::limits::PAGE_MAX_ROWS;
use store::{ChatId, Message, MessageId, MessageRole, TurnId, TurnStatus, User};
use utoipa::ToSchema;

use super::ApprovalDocument;
use crate::engine::Stream;
use crate::service::Inner;
use crate::shell::{LeftOut, Transcript};
use crate::{Channel, ChatEvent, Part};

/// What a message of the agent says beside its text, as clients read it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum AgentDocument {
    /// Something the model said. The first one of a turn stands for the whole turn.
    Reply {
        /// Of the turn: `queued`, `running`, `done`, `failed`, `cancelled` or `interrupted`; of a later answer always `done`.
        status: String,
        /// What it thought, where it tells.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reasoning: String,
        /// Why the turn did not end well, and what to do.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(nullable = false)]
        error: Option<String>,
        /// What the turn took, once it is over.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(nullable = false)]
        usage: Option<UsageDocument>,
        /// While it is queued: whether nothing of its own chat is before it any more, and answers of others are.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        waits: bool,
    },
    /// A tool that was called; the message's text is what it came to.
    Tool {
        /// Its name.
        tool: String,
        /// What it was about: a command, a path, a pattern.
        hint: String,
        /// `asking` (its user whether it may), `running`, `done`, `failed`, `denied` or `cancelled`.
        status: String,
        /// Where it ran.
        #[schema(required)]
        place: Option<String>,
        /// While it asks: all that its user is to allow, as text, or its question.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        detail: String,
        /// While it asks whether it may: the same for programs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(nullable = false)]
        approval: Option<Box<ApprovalDocument>>,
        /// What it asks or shows beside words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(nullable = false)]
        data: Option<ToolData>,
        /// The sub-agent that it called.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(nullable = false)]
        sub_agent: Option<Box<SubAgentDocument>>,
        /// The sub-agent that asks, where it is not the chat's own agent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(nullable = false)]
        asked_by: Option<String>,
        /// How long it took, once it has ended, in milliseconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(nullable = false)]
        duration_ms: Option<u64>,
    },
}

/// What a tool's card holds for programs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ToolData {
    /// While it asks whether it may: it may this once only, whatever is answered.
    Once,
    /// While it asks something: what its user may choose from; they may always say something else.
    Question {
        /// The answers, in their order.
        options: Vec<String>,
    },
    /// What the model wants to do.
    Todos {
        /// In its order.
        items: Vec<TodoDocument>,
    },
    /// A file that it changes.
    Edit {
        /// What was there; none of a new file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(nullable = false)]
        old: Option<String>,
        /// What is there in its place.
        new: String,
        /// The line of the file that both begin with; the first one is 1.
        first_line: usize,
        /// Whether there is more of it.
        is_cut: bool,
    },
}

/// Something that the model wants to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TodoDocument {
    /// What.
    pub content: String,
    /// `pending`, `in_progress` or `completed`.
    pub status: String,
}

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

/// What a turn took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct UsageDocument {
    /// Tokens that the model read.
    pub input_tokens: u64,
    /// So many of those came from its provider's cache.
    pub cache_read_tokens: u64,
    /// Tokens that it wrote.
    pub output_tokens: u64,
    /// Millionths of a US dollar, where a price is known.
    pub cost_micros: u64,
}

impl AgentDocument {
    pub(crate) fn reply(status: TurnStatus) -> Self {
        let status = status.as_str().to_owned();
        Self::Reply { status, reasoning: String::new(), error: None, usage: None, waits: false }
    }

    /// Of an answer that is not the first one of its turn.
    fn later_reply(reasoning: String) -> Self {
        Self::Reply {
            status: TurnStatus::Done.as_str().to_owned(),
            reasoning,
            error: None,
            usage: None,
            waits: false,
        }
    }

    /// Whether it is a tool that has not ended.
    fn is_open(&self) -> bool {
        matches!(self, Self::Tool { status, .. } if ["asking", "running"].contains(&status.as_str()))
    }

    /// The same with another status, and nothing left to be asked; only a tool's changes.
    fn settled(mut self, now: &str) -> Self {
        if let Self::Tool { status, detail, approval, data, .. } = &mut self {
            now.clone_into(status);
            detail.clear();
            *approval = None;
            *data = None;
        }
        self
    }

    /// As the store keeps it.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("texts and numbers are always JSON")
    }
}

/// Where a turn is shown.
pub(crate) struct Screen<'a> {
    pub(crate) service: &'a Inner,
    pub(crate) user: &'a User,
    pub(crate) chat: &'a ChatId,
    /// What comes of it is taken back with it.
    pub(crate) turn: TurnId,
}

impl Screen<'_> {
    /// Adds a message.
    pub(super) async fn add(&self, text: &str, document: &AgentDocument) -> store::Result<Message> {
        let message = self.keep(text, document).await?;
        self.tell(&message);
        Ok(message)
    }

    /// Adds a message of which nobody is told yet.
    pub(super) async fn keep(&self, text: &str, document: &AgentDocument) -> store::Result<Message> {
        let (text, document) = (cut(text), document.to_json());
        let role = MessageRole::Assistant;
        let store = &self.service.store;
        store.append_turn_message(self.user.id, self.chat, self.turn, role, &text, Some(&document)).await
    }

    /// Tells of a message.
    pub(super) fn tell(&self, message: &Message) {
        self.service.tell(self.user.id, ChatEvent::Message(message.clone()));
    }

    /// Changes a message.
    pub(crate) async fn change(
        &self,
        id: MessageId,
        text: &str,
        document: &AgentDocument,
    ) -> store::Result<()> {
        let store = &self.service.store;
        let updated = store.update_message(self.user.id, id, &cut(text), Some(&document.to_json())).await;
        let message = updated.inspect_err(|_| self.service.forget(id))?;
        self.service.tell(self.user.id, ChatEvent::Message(message));
        Ok(())
    }

    /// Says of what still looks as if it went on behind a turn's first message that it does not.
    pub(crate) async fn settle_behind(&self, first: MessageId) -> store::Result<()> {
        let (messages, _) = self.service.store.messages(self.user.id, self.chat, None, PAGE_MAX_ROWS).await?;
        for message in messages.into_iter().filter(|message| message.id > first) {
            let document = message.exec_json.as_deref().and_then(|json| serde_json::from_str(json).ok());
            let settled = match document {
                Some(document @ AgentDocument::Tool { .. }) if document.is_open() => {
                    document.settled("cancelled")
                }
                Some(AgentDocument::Reply { status, reasoning, usage: None, .. }) if status == "running" => {
                    AgentDocument::later_reply(reasoning)
                }
                _ => continue,
            };
            self.change(message.id, &message.text, &settled).await?;
        }
        Ok(())
    }

    /// Shows more at the end of a message, until that is changed.
    pub(super) fn stream(&self, message: MessageId, what: Stream, text: String) {
        let chat = self.chat.clone();
        let said = |part, chat, text| ChatEvent::Said { chat, message, part, text, at: 0 };
        let event = match what {
            Stream::Text => said(Part::Text, chat, text),
            Stream::Reasoning => said(Part::Reasoning, chat, text),
            Stream::Output => ChatEvent::Output { chat, message, channel: Channel::Stdout, text, at: 0 },
        };
        self.service.tell(self.user.id, event);
    }

    /// A word of the server itself.
    pub(super) async fn notice(&self, text: &str) -> store::Result<()> {
        let store = &self.service.store;
        let role = MessageRole::Notice;
        let message =
            store.append_turn_message(self.user.id, self.chat, self.turn, role, &cut(text), None).await?;
        self.tell(&message);
        Ok(())
    }
}

/// What fits into a message.
fn cut(text: &str) -> String {
    let most = store::limits::MESSAGE_TEXT_MAX_BYTES;
    text[..text.floor_char_boundary(most)].to_owned()
}

/// The beginning and the end of a tool's result.
pub(super) fn shortened(text: &str) -> String {
    let mut transcript = Transcript::default();
    transcript.push(text);
    transcript.render(&LeftOut::OfResult)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_told_apart_by_their_kind() {
        let tool = AgentDocument::Tool {
            tool: "Shell".to_owned(),
            hint: "ls".to_owned(),
            status: "done".to_owned(),
            place: None,
            detail: String::new(),
            approval: None,
            data: None,
            sub_agent: None,
            asked_by: None,
            duration_ms: None,
        };
        for document in [AgentDocument::reply(TurnStatus::Running), tool] {
            assert_eq!(serde_json::from_str::<AgentDocument>(&document.to_json()).unwrap(), document);
        }
        assert_eq!(
            AgentDocument::reply(TurnStatus::Queued).to_json(),
            r#"{"kind":"reply","status":"queued"}"#
        );
    }

    #[test]
    fn a_long_result_is_shown_from_both_ends() {
        assert_eq!(shortened("é"), "é");
        let shown = shortened(&format!("{}{}", "a".repeat(4_000), "z".repeat(10)));
        assert!(
            shown.starts_with("aaa")
                && shown.ends_with("zzz")
                && shown.contains("… 10 characters left out; the model has them …")
        );
    }
}
