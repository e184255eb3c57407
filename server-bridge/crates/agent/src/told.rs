//! What was told live of each message under way, so that a client that comes later reads what the others saw.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Deserialize;
use store::{Message, MessageId, MessageRole};

use crate::limits::TOLD_KEPT_BYTES;

/// Something that was told of a message before the message itself said it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// `stdout` or `stderr`, `text` or `reasoning`.
    pub channel: &'static str,
    /// How much was told of the message before, in UTF-16 code units: what JavaScript counts.
    pub at: u64,
    /// The text.
    pub text: String,
}

/// Of every message under way.
#[derive(Debug, Default)]
pub(crate) struct Board(Mutex<HashMap<MessageId, Entry>>);

#[derive(Debug, Default)]
struct Entry {
    pieces: VecDeque<Told>,
    kept_bytes: usize,
    end: u64,
}

/// The board while nothing is added to it: what is told under it is told in order.
pub(crate) struct Writing<'a>(MutexGuard<'a, HashMap<MessageId, Entry>>);

impl Board {
    /// Nobody else adds anything until this is dropped.
    pub(crate) fn write(&self) -> Writing<'_> {
        // Every change is one step, so a panic elsewhere leaves it whole.
        Writing(self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// What is kept of a message: the newest of it.
    pub(crate) fn of(&self, message: MessageId) -> Vec<Told> {
        self.write().0.get(&message).map(|entry| entry.pieces.iter().cloned().collect()).unwrap_or_default()
    }
}

impl Writing<'_> {
    /// Adds what is told next; where it begins.
    pub(crate) fn add(&mut self, message: MessageId, channel: &'static str, text: &str) -> u64 {
        let entry = self.0.entry(message).or_default();
        let at = entry.end;
        entry.end += text.encode_utf16().count() as u64;
        entry.kept_bytes += text.len();
        match entry.pieces.back_mut() {
            Some(last) if last.channel == channel && last.text.len() < TOLD_KEPT_BYTES / 8 => {
                last.text.push_str(text);
            }
            _ => entry.pieces.push_back(Told { channel, at, text: text.to_owned() }),
        }
        while entry.kept_bytes > TOLD_KEPT_BYTES {
            let Some(oldest) = entry.pieces.pop_front() else { break };
            entry.kept_bytes -= oldest.text.len();
        }
        at
    }

    /// A message speaks for itself from now on; counting goes on as long as it is under way.
    pub(crate) fn changed(&mut self, message: &Message) {
        let Some(entry) = self.0.get_mut(&message.id) else { return };
        if !is_under_way(message) {
            self.0.remove(&message.id);
        } else if message.role == MessageRole::Assistant {
            (entry.pieces, entry.kept_bytes) = Default::default();
        }
    }
}

/// Whether more may be told of a message.
fn is_under_way(message: &Message) -> bool {
    #[derive(Deserialize)]
    struct Document {
        status: String,
    }
    let document = message.exec_json.as_deref().and_then(|json| serde_json::from_str(json).ok());
    document.is_some_and(|Document { status }| ["queued", "running", "asking"].contains(&status.as_str()))
}

#[cfg(test)]
mod tests {
    use store::ChatId;

    use super::*;

    fn message(role: MessageRole, status: &str) -> Message {
        Message {
            id: MessageId(1),
            chat: ChatId::random(),
            role,
            text: String::new(),
            exec_json: Some(format!(r#"{{"kind":"reply","status":"{status}"}}"#)),
            created_at_ms: 0,
            undone: false,
        }
    }

    #[test]
    fn a_late_reader_gets_what_was_told_with_where_it_stands() {
        let board = Board::default();
        assert_eq!(board.write().add(MessageId(1), "text", "é😀"), 0);
        assert_eq!(board.write().add(MessageId(1), "reasoning", "b"), 3, "as JavaScript counts");
        assert_eq!(board.write().add(MessageId(1), "reasoning", "c"), 4);
        let told = |channel, at, text: &str| Told { channel, at, text: text.to_owned() };
        assert_eq!(board.of(MessageId(1)), [told("text", 0, "é😀"), told("reasoning", 3, "bc")]);
        assert!(board.of(MessageId(2)).is_empty());
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let board = Board::default();
        let text = "x".repeat(TOLD_KEPT_BYTES / 4);
        for _ in 0..9 {
            board.write().add(MessageId(1), "stdout", &text);
        }
        let kept = board.of(MessageId(1));
        assert!(kept.iter().map(|told| told.text.len()).sum::<usize>() <= TOLD_KEPT_BYTES);
        assert_eq!(kept[0].at as usize, 5 * text.len());
    }

    #[test]
    fn an_answer_that_is_void_counts_on_and_one_that_is_over_is_forgotten() {
        let board = Board::default();
        board.write().add(MessageId(1), "text", "half");
        board.write().changed(&message(MessageRole::Assistant, "running"));
        assert!(board.of(MessageId(1)).is_empty());
        assert_eq!(board.write().add(MessageId(1), "text", "whole"), 4);
        board.write().changed(&message(MessageRole::Assistant, "done"));
        assert_eq!(board.write().add(MessageId(1), "text", "again"), 0);
    }

    #[test]
    fn a_commands_output_stands_until_its_end() {
        let board = Board::default();
        board.write().add(MessageId(1), "stdout", "early");
        board.write().changed(&message(MessageRole::Exec, "running"));
        assert_eq!(board.of(MessageId(1)).len(), 1);
        board.write().changed(&message(MessageRole::Exec, "exited"));
        assert!(board.of(MessageId(1)).is_empty());
    }
}
