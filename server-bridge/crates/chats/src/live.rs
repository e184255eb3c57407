//! The live text of each message in progress, so that a client that connects later reads what the others saw.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use store::{Message, MessageId, MessageRole};

use crate::document::Document;
use crate::limits::{LIVE_KEPT_BYTES, LIVE_KEPT_OF_ALL_BYTES, LIVE_PIECE_BYTES};

/// A piece of live text that was sent before the message itself contained it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LivePiece {
    /// The name of the stream or part: `stdout`, `stderr`, `text` or `reasoning`.
    pub channel: &'static str,
    /// The length of the message's earlier live text, in UTF-16 code units, as JavaScript counts.
    pub at: u64,
    /// The text of the piece.
    pub text: String,
}

/// The live text of every message in progress.
#[derive(Debug, Default)]
pub(crate) struct LiveTexts(Mutex<Entries>);

/// The entries, the oldest message first, with their total size.
#[derive(Debug, Default)]
struct Entries {
    by_message: BTreeMap<MessageId, Entry>,
    kept_bytes: usize,
}

#[derive(Debug, Default)]
struct Entry {
    pieces: VecDeque<LivePiece>,
    kept_bytes: usize,
    end: u64,
}

impl Entry {
    /// Adds a text; returns the number of bytes added.
    fn add(&mut self, channel: &'static str, text: &str) -> usize {
        let (at, before) = (self.end, self.kept_bytes);
        self.end += text.encode_utf16().count() as u64;
        self.kept_bytes += text.len();
        match self.pieces.back_mut() {
            Some(last) if last.channel == channel && last.text.len() < LIVE_KEPT_BYTES / 8 => {
                last.text.push_str(text);
            }
            _ => {
                self.kept_bytes += LIVE_PIECE_BYTES;
                self.pieces.push_back(LivePiece { channel, at, text: text.to_owned() });
            }
        }
        self.kept_bytes - before
    }

    /// Drops the oldest piece; returns the number of bytes dropped.
    fn drop_oldest(&mut self) -> usize {
        let bytes = self.pieces.pop_front().map_or(0, |oldest| oldest.text.len() + LIVE_PIECE_BYTES);
        self.kept_bytes -= bytes;
        bytes
    }

    /// Drops all pieces but keeps counting; returns the number of bytes dropped.
    fn clear(&mut self) -> usize {
        self.pieces = VecDeque::new();
        std::mem::take(&mut self.kept_bytes)
    }
}

/// The locked texts: events that are sent under the lock are in order.
pub(crate) struct Writing<'a>(MutexGuard<'a, Entries>);

impl LiveTexts {
    /// Locks the texts: nothing else is added until the returned guard is dropped.
    pub(crate) fn write(&self) -> Writing<'_> {
        // Each change is a single step, so the data stays consistent if another thread panics.
        Writing(self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// True if any event was sent for a message.
    pub(crate) fn knows(&self, message: MessageId) -> bool {
        self.write().0.by_message.contains_key(&message)
    }

    /// The kept part of a message's live text, which is the newest part.
    pub(crate) fn of(&self, message: MessageId) -> Vec<LivePiece> {
        self.write()
            .0
            .by_message
            .get(&message)
            .map(|entry| entry.pieces.iter().cloned().collect())
            .unwrap_or_default()
    }
}

impl Writing<'_> {
    /// Adds the next piece; returns its offset. If too much is kept, the oldest pieces are dropped: first of this message, then of the others.
    pub(crate) fn add(&mut self, message: MessageId, channel: &'static str, text: &str) -> u64 {
        let Entries { by_message, kept_bytes } = &mut *self.0;
        let entry = by_message.entry(message).or_default();
        let at = entry.end;
        *kept_bytes += entry.add(channel, text);
        while entry.kept_bytes > LIVE_KEPT_BYTES {
            *kept_bytes -= entry.drop_oldest();
        }
        if *kept_bytes > LIVE_KEPT_OF_ALL_BYTES {
            for oldest in by_message.values_mut() {
                *kept_bytes -= oldest.clear();
                if *kept_bytes <= LIVE_KEPT_OF_ALL_BYTES {
                    break;
                }
            }
        }
        at
    }

    /// Drops the live text that the message's own text now contains; counting continues as long as the message is in progress.
    pub(crate) fn changed(&mut self, message: &Message) {
        if !Document::of(message).is_some_and(|document| document.is_under_way()) {
            return self.forget(message.id);
        }
        let Entries { by_message, kept_bytes } = &mut *self.0;
        if let Some(entry) =
            by_message.get_mut(&message.id).filter(|_| message.role == MessageRole::Assistant)
        {
            *kept_bytes -= entry.clear();
        }
    }

    /// Removes a message that is finished or was deleted.
    pub(crate) fn forget(&mut self, message: MessageId) {
        let entry = self.0.by_message.remove(&message);
        self.0.kept_bytes -= entry.map_or(0, |entry| entry.kept_bytes);
    }
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
            author: None,
            text: String::new(),
            document_json: Some(format!(r#"{{"kind":"reply","status":"{status}"}}"#)),
            created_at_ms: 0,
            undone: false,
        }
    }

    #[test]
    fn a_late_reader_gets_what_was_told_with_where_it_stands() {
        let texts = LiveTexts::default();
        assert_eq!(texts.write().add(MessageId(1), "text", "é😀"), 0);
        assert_eq!(texts.write().add(MessageId(1), "reasoning", "b"), 3, "as JavaScript counts");
        assert_eq!(texts.write().add(MessageId(1), "reasoning", "c"), 4);
        let live = |channel, at, text: &str| LivePiece { channel, at, text: text.to_owned() };
        assert_eq!(texts.of(MessageId(1)), [live("text", 0, "é😀"), live("reasoning", 3, "bc")]);
        assert!(texts.of(MessageId(2)).is_empty());
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let texts = LiveTexts::default();
        let text = "x".repeat(LIVE_KEPT_BYTES / 4 - LIVE_PIECE_BYTES);
        for _ in 0..9 {
            texts.write().add(MessageId(1), "stdout", &text);
        }
        let kept = texts.of(MessageId(1));
        assert!(kept.iter().map(|live| live.text.len()).sum::<usize>() <= LIVE_KEPT_BYTES);
        assert_eq!(kept[0].at as usize, 5 * text.len());
    }

    #[test]
    fn small_pieces_and_many_messages_are_bounded_too() {
        let texts = LiveTexts::default();
        for at in 0..LIVE_KEPT_BYTES / 32 {
            texts.write().add(MessageId(1), ["stdout", "stderr"][at % 2], "x");
        }
        assert!(texts.of(MessageId(1)).len() <= LIVE_KEPT_BYTES / LIVE_PIECE_BYTES);
        let messages = (LIVE_KEPT_OF_ALL_BYTES / LIVE_KEPT_BYTES) as i64 + 8;
        for id in 1..=messages {
            texts.write().add(MessageId(id), "stdout", &"x".repeat(LIVE_KEPT_BYTES - LIVE_PIECE_BYTES));
        }
        assert!(texts.of(MessageId(1)).is_empty() && !texts.of(MessageId(messages)).is_empty());
        assert!(texts.write().0.kept_bytes <= LIVE_KEPT_OF_ALL_BYTES);
        (1..=messages).for_each(|id| texts.write().forget(MessageId(id)));
        assert_eq!(texts.write().0.kept_bytes, 0);
    }

    #[test]
    fn an_answer_that_is_void_counts_on_and_one_that_is_over_is_forgotten() {
        let texts = LiveTexts::default();
        texts.write().add(MessageId(1), "text", "half");
        texts.write().changed(&message(MessageRole::Assistant, "running"));
        assert!(texts.of(MessageId(1)).is_empty());
        assert_eq!(texts.write().add(MessageId(1), "text", "whole"), 4);
        texts.write().changed(&message(MessageRole::Assistant, "done"));
        assert_eq!(texts.write().add(MessageId(1), "text", "again"), 0);
    }

    #[test]
    fn a_commands_output_stands_until_its_end() {
        let texts = LiveTexts::default();
        texts.write().add(MessageId(1), "stdout", "early");
        texts.write().changed(&message(MessageRole::Exec, "running"));
        assert_eq!(texts.of(MessageId(1)).len(), 1);
        texts.write().changed(&message(MessageRole::Exec, "exited"));
        assert!(texts.of(MessageId(1)).is_empty());
    }
}
