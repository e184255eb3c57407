//! What models and their tools have said so far in messages that are not stored whole yet, for whoever reads them meanwhile.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use store::{Message, MessageId, MessageRole};

use crate::Part;
use crate::engine::AgentDocument;
use crate::shell::{LeftOut, Transcript};

/// By the message that shows it; each goes when its message is told anew, for then the message says all of it.
#[derive(Default)]
pub(crate) struct SoFar(Mutex<HashMap<MessageId, Words>>);

#[derive(Default)]
struct Words {
    text: String,
    reasoning: String,
    output: Transcript,
}

impl SoFar {
    /// Adds what a model said next, and gives where that stands, in the units in which JavaScript counts.
    pub(crate) fn said(&self, message: MessageId, part: Part, text: &str) -> u64 {
        let mut all = self.lock();
        let words = all.entry(message).or_default();
        let so_far = if part == Part::Text { &mut words.text } else { &mut words.reasoning };
        let offset = so_far.encode_utf16().count() as u64;
        so_far.push_str(text);
        offset
    }

    /// Adds what a tool's command wrote next.
    pub(crate) fn wrote(&self, message: MessageId, text: &str) {
        self.lock().entry(message).or_default().output.push(text);
    }

    /// Forgets a message that says all of it itself.
    pub(crate) fn forget(&self, message: MessageId) {
        self.lock().remove(&message);
    }

    /// Puts it into a message that was read from the store.
    pub(crate) fn fill(&self, message: &mut Message) {
        if message.role != MessageRole::Assistant {
            return;
        }
        let all = self.lock();
        let Some(words) = all.get(&message.id) else { return };
        let document = message.exec_json.as_deref().and_then(|json| serde_json::from_str(json).ok());
        match document {
            Some(AgentDocument::Reply { status, error, usage, .. }) => {
                message.text.clone_from(&words.text);
                let reasoning = words.reasoning.clone();
                message.exec_json = Some(AgentDocument::Reply { status, reasoning, error, usage }.to_json());
            }
            Some(AgentDocument::Tool { .. }) => message.text = words.output.render(&LeftOut::SoFar),
            None => {}
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<MessageId, Words>> {
        // Every change is one step, so a panic elsewhere leaves it whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use store::{ChatId, TurnStatus};

    use super::*;

    fn message(id: i64, document: &AgentDocument) -> Message {
        Message {
            id: MessageId(id),
            chat: ChatId::random(),
            role: MessageRole::Assistant,
            text: String::new(),
            exec_json: Some(document.to_json()),
            created_at_ms: 0,
            undone: false,
        }
    }

    #[test]
    fn words_stand_where_javascript_finds_them_and_fill_their_message_until_it_is_told() {
        let so_far = SoFar::default();
        let mut shown = message(1, &AgentDocument::reply(TurnStatus::Running));
        assert_eq!(so_far.said(shown.id, Part::Text, "né🙂"), 0);
        assert_eq!(so_far.said(shown.id, Part::Reasoning, "hm"), 0);
        assert_eq!(so_far.said(shown.id, Part::Text, "!"), 4);
        so_far.fill(&mut shown);
        assert_eq!(shown.text, "né🙂!");
        assert!(shown.exec_json.as_ref().unwrap().contains(r#""reasoning":"hm""#));
        let mut other = message(2, &AgentDocument::reply(TurnStatus::Running));
        so_far.fill(&mut other);
        assert_eq!(other.text, "");
        so_far.forget(shown.id);
        assert_eq!(so_far.said(shown.id, Part::Text, "again"), 0);
    }
}
