//! A turn as people see it: a message for each answer, and one for each tool call.

use api::document::AgentDocument;
use api::language::Language;
use api::words::{self, ToolStatus};
use store::limits::PAGE_MAX_ROWS;
use store::{ChatId, Message, MessageId, MessageRole, TurnId, TurnStatus, User, marked_from};

use crate::house::House;
use crate::limits::OUTPUT_TAIL_CHARS;
use crate::transcript::{LeftOut, Transcript, last_chars};
use crate::{Channel, ChatEvent, Part, document};
use agent::engine::Stream;

/// The document of a turn's first answer.
pub(crate) fn reply(status: TurnStatus) -> AgentDocument {
    later_reply(status.as_str().into(), String::new())
}

/// The document of an answer that is not the first one of its turn.
fn later_reply(status: words::TurnStatus, reasoning: String) -> AgentDocument {
    AgentDocument::Reply { status, reasoning, error: None, usage: None, waits: false }
}

/// The document of an unfinished tool call with an ended status and without its question; `None` for any other document.
pub(super) fn settled(document: AgentDocument) -> Option<AgentDocument> {
    match document {
        AgentDocument::Tool {
            tool,
            hint,
            status: ToolStatus::Asking | ToolStatus::Running,
            place,
            sub_agent,
            asked_by,
            duration_ms,
            ..
        } => Some(AgentDocument::Tool {
            tool,
            hint,
            status: ToolStatus::Cancelled,
            place,
            detail: String::new(),
            approval: None,
            data: None,
            sub_agent,
            asked_by,
            duration_ms,
        }),
        AgentDocument::Reply { status: words::TurnStatus::Running, reasoning, usage: None, .. } => {
            Some(later_reply(words::TurnStatus::Done, reasoning))
        }
        AgentDocument::Tool { .. } | AgentDocument::Reply { .. } => None,
    }
}

/// True for a call that does not wait for its sub-agent.
fn is_background(document: &AgentDocument) -> bool {
    matches!(document, AgentDocument::Tool { sub_agent: Some(agent), .. } if agent.background)
}

/// The document's stored form.
pub(crate) fn to_json(document: &AgentDocument) -> String {
    serde_json::to_string(document).expect("texts and numbers are always JSON")
}

/// The place where a turn is shown.
pub(crate) struct Screen<'a> {
    pub(crate) service: &'a House,
    pub(crate) user: &'a User,
    pub(crate) chat: &'a ChatId,
    /// The turn with which the message's effects are taken back.
    pub(crate) turn: TurnId,
}

impl Screen<'_> {
    /// Adds a message.
    pub(super) async fn add(&self, text: &str, document: &AgentDocument) -> store::Result<Message> {
        let message = self.keep(text, document).await?;
        self.tell(&message);
        Ok(message)
    }

    /// Adds a message without an event; it is announced later.
    pub(super) async fn keep(&self, text: &str, document: &AgentDocument) -> store::Result<Message> {
        let (text, document) = (cut(text), to_json(document));
        let role = MessageRole::Assistant;
        let store = &self.service.store;
        store.append_turn_message(self.user.id, self.chat, self.turn, role, &text, Some(&document)).await
    }

    /// Sends a message's event.
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
        let message = self.rewrite(id, text, document).await?;
        self.tell(&message);
        Ok(())
    }

    /// Changes a message without an event.
    pub(super) async fn rewrite(
        &self,
        id: MessageId,
        text: &str,
        document: &AgentDocument,
    ) -> store::Result<Message> {
        let store = &self.service.store;
        let (text, document) = (cut(text), to_json(document));
        let update = || store.update_message(self.user.id, id, &text, Some(&document));
        store::until_done(update).await.inspect_err(|_| self.service.bus.forget(id))
    }

    /// Ends the turn and changes its first message, as one change.
    pub(crate) async fn end(
        &self,
        first: MessageId,
        (status, error): (TurnStatus, Option<&str>),
        text: &str,
        document: &AgentDocument,
    ) -> store::Result<()> {
        let store = &self.service.store;
        let (text, document) = (cut(text), to_json(document));
        let turn = (self.turn, first);
        let end = || store.finish_shown_turn(self.user.id, turn, (status, error), &text, &document);
        let message = store::until_done(end).await.inspect_err(|_| self.service.bus.forget(first))?;
        self.tell(&message);
        Ok(())
    }

    /// Marks everything after a turn's first message that still looks active as ended.
    pub(crate) async fn settle_behind(&self, first: MessageId) -> store::Result<()> {
        let (store, mut after) = (&self.service.store, first);
        loop {
            let (messages, more) =
                store.messages_after(self.user.id, self.chat, after, PAGE_MAX_ROWS).await?;
            for message in messages {
                after = message.id;
                let Some(document) = document::agent(&message) else { continue };
                // A sub-agent in the background may still be at work, or wait for an answer here.
                if self.service.is_waited_for(self.user.id, message.id) || is_background(&document) {
                    continue;
                }
                let Some(settled) = settled(document) else { continue };
                self.change(message.id, &message.text, &settled).await?;
            }
            if !more {
                return Ok(());
            }
        }
    }

    /// Streams more text to the end of a message, until the message is changed.
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

    /// Adds a notice from the server.
    pub(super) async fn notice(&self, text: &str) -> store::Result<()> {
        let store = &self.service.store;
        let role = MessageRole::Notice;
        let text = cut(&self.service.in_words_of(self.user.id, text));
        let message =
            store.append_turn_message(self.user.id, self.chat, self.turn, role, &text, None).await?;
        self.tell(&message);
        Ok(())
    }
}

/// Shortens a text to the size of a message.
pub(crate) fn cut(text: &str) -> String {
    let most = store::limits::MESSAGE_TEXT_MAX_BYTES;
    text[..text.floor_char_boundary(most)].to_owned()
}

/// The beginning and the end of a tool's result, with the note about the rest in this language.
pub(super) fn shortened(text: &str, language: Language) -> String {
    let mut transcript = Transcript::default();
    transcript.push(text);
    let shown = transcript.render(&LeftOut::OfResult, language);
    if !transcript.is_long() {
        return shown;
    }
    let tail = last_chars(text, OUTPUT_TAIL_CHARS).len();
    format!("{}{}", &shown[..shown.len() - tail], marked_from(text, text.len() - tail))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_says_no_more_than_there_is() {
        assert_eq!(to_json(&reply(TurnStatus::Queued)), r#"{"kind":"reply","status":"queued"}"#);
    }

    #[test]
    fn what_went_on_is_settled_and_what_ended_is_left_alone() {
        let running = reply(TurnStatus::Running);
        assert_eq!(settled(running), Some(later_reply(words::TurnStatus::Done, String::new())));
        assert_eq!(settled(reply(TurnStatus::Failed)), None);
    }

    #[test]
    fn a_long_result_is_shown_from_both_ends() {
        assert_eq!(shortened("é", Language::English), "é");
        let shown = shortened(&format!("{}{}", "a".repeat(4_000), "z".repeat(10)), Language::English);
        assert!(
            shown.starts_with("aaa")
                && shown.ends_with("zzz")
                && shown.contains("… 10 characters left out; the model has them …")
        );
        // The tail of a memory's line is marked with its number too, so that it is removed together with the rest.
        let shown = shortened(&format!("- #7 semantic: \"{}z\"", "a".repeat(4_000)), Language::English);
        assert!(shown.contains("…\n- #7: \"…aaa") && shown.ends_with("az\""), "{shown}");
    }
}
