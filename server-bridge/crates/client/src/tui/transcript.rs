//! The messages of the open chat, bounded in memory, and their updates.
//!
//! A message comes from three sources: events, pages that were read, and the response to a post. Events are the newest. A page never undoes
//! an event that arrived since the page was requested, and the response to a post only adds messages that no event has brought yet. If pieces
//! of a running command's output were missed, the output is read again at intervals; in an answer, a mark replaces missed pieces until the
//! answer is complete.

use std::collections::BTreeMap;

use api::document::{AgentDocument, TodoDocument, ToolData, UsageDocument};
use api::words::{TodoStatus, ToolStatus};

use super::text::{Printed, visible};
use super::wire::{Message, Role};
use crate::limits::{LIVE_OUTPUT_BYTES, SAID_MAX_BYTES, TRANSCRIPT_MESSAGES};

/// A mark in place of missed text, until the answer is complete.
const MISSED: &str = " … ";

/// One message and its display.
pub(super) struct Entry {
    pub(super) message: Message,
    /// The output of a command or a tool.
    pub(super) printed: Printed,
    /// The message's text, made safe to show.
    pub(super) said: String,
    pub(super) reasoning: String,
    /// True if the user unfolded it, false if the user folded it; `None` if they did neither.
    pub(super) is_unfolded: Option<bool>,
    /// Incremented when the display changes.
    pub(super) revision: u64,
    /// When it was first seen running, in milliseconds of this program.
    pub(super) began_ms: Option<u64>,
    /// When it was first seen to have ended, in milliseconds of this program.
    pub(super) ended_ms: Option<u64>,
    /// True if every piece of its text was sent live so far.
    is_whole: bool,
    /// The transcript's clock at its last event.
    told: u64,
}

impl Entry {
    fn new(message: Message) -> Self {
        let (printed, said, reasoning) = Default::default();
        let mut entry = Self {
            message,
            printed,
            said,
            reasoning,
            is_unfolded: None,
            revision: 0,
            began_ms: None,
            ended_ms: None,
            is_whole: false,
            told: 0,
        };
        entry.is_whole = entry.message.text.is_empty();
        entry.show();
        entry
    }

    /// Makes an entry of a message from a page: live text from before is in the page, or was missed.
    fn from_page(message: Message) -> Self {
        let mut entry = Self::new(message);
        entry.miss();
        entry
    }

    /// Records that some of its text was missed.
    fn miss(&mut self) {
        self.is_whole = false;
        let printed_elsewhere = self.message.role == Role::Exec;
        if self.is_open() && !printed_elsewhere && !self.said.ends_with(MISSED) {
            self.revision += 1;
            match self.message.agent {
                Some(AgentDocument::Tool { .. }) => {}
                _ => self.said.push_str(MISSED),
            }
        }
    }

    /// Shows the message's own text, unless the live text is ahead of it.
    fn show(&mut self) {
        self.revision += 1;
        let text = &self.message.text;
        match (self.message.role, &self.message.agent) {
            (Role::Exec, _) | (_, Some(AgentDocument::Tool { .. })) => {
                if !self.is_open() || !self.is_whole || !text.is_empty() && self.printed.text().is_empty() {
                    self.printed = Printed::whole(text, LIVE_OUTPUT_BYTES);
                }
            }
            (_, document) => {
                let shown = visible(text);
                let is_ahead = self.is_open() && !shown.is_empty() && self.said.starts_with(&shown);
                if !is_ahead {
                    self.said = shown;
                }
                if let Some(AgentDocument::Reply { reasoning, .. }) = document
                    && (!reasoning.is_empty() || !self.is_open())
                {
                    self.reasoning = visible(reasoning);
                }
            }
        }
    }

    /// True if the message is still in progress.
    pub(super) fn is_open(&self) -> bool {
        let status = match (&self.message.exec, &self.message.agent) {
            (Some(exec), _) => exec.status.as_str(),
            (None, Some(AgentDocument::Reply { status, .. })) => status.as_str(),
            (None, Some(AgentDocument::Tool { status, .. })) => status.as_str(),
            (None, None) => return false,
        };
        !self.message.undone && matches!(status, "queued" | "running" | "asking")
    }

    /// True if it waits for its user's answer.
    pub(super) fn is_asking(&self) -> bool {
        matches!(&self.message.agent, Some(AgentDocument::Tool { status, .. }) if *status == ToolStatus::Asking)
            && !self.message.undone
    }

    /// True if it is a card, which can be folded.
    pub(super) fn is_card(&self) -> bool {
        self.message.exec.is_some()
            || matches!(self.message.agent, Some(AgentDocument::Tool { .. }))
            || !self.reasoning.is_empty()
    }

    fn note_time(&mut self, now_ms: u64) {
        if self.is_open() {
            self.began_ms.get_or_insert(now_ms);
        } else if self.began_ms.is_some() {
            self.ended_ms.get_or_insert(now_ms);
        }
    }
}

/// The messages of a chat.
#[derive(Default)]
pub(super) struct Transcript {
    entries: BTreeMap<i64, Entry>,
    /// True if there are older messages than these.
    pub(super) has_older: bool,
    /// The number of events so far.
    clock: u64,
}

impl Transcript {
    /// The messages, the oldest first.
    pub(super) fn entries(&self) -> impl DoubleEndedIterator<Item = &Entry> {
        self.entries.values()
    }

    /// One message.
    pub(super) fn entry_mut(&mut self, id: i64) -> Option<&mut Entry> {
        self.entries.get_mut(&id)
    }

    /// The id of the oldest message.
    pub(super) fn first(&self) -> Option<i64> {
        self.entries.first_key_value().map(|(id, _)| *id)
    }

    /// The value that marks when a page was requested.
    pub(super) fn clock(&self) -> u64 {
        self.clock
    }

    /// Takes a page of messages as they were at `asked`. If a page has no message in common with the known ones and comes after them, it
    /// replaces them, because the messages in between are unknown.
    pub(super) fn page(
        &mut self,
        messages: Vec<Message>,
        has_more: bool,
        asked: u64,
        is_newest: bool,
        now_ms: u64,
    ) {
        if is_newest {
            let is_apart = !messages.iter().any(|message| self.entries.contains_key(&message.id));
            if is_apart && has_more {
                self.entries.retain(|_, entry| entry.told > asked);
            }
            if is_apart || self.entries.is_empty() {
                self.has_older = has_more;
            }
        }
        for message in messages {
            match self.entries.get_mut(&message.id) {
                Some(entry) if entry.told > asked => {}
                Some(entry) => {
                    // The output so far is in the page; later output follows it only if nothing would appear twice.
                    entry.message = message;
                    entry.is_whole = false;
                    entry.show();
                    entry.miss();
                    entry.note_time(now_ms);
                }
                None => {
                    let mut entry = Entry::from_page(message);
                    entry.note_time(now_ms);
                    self.entries.insert(entry.message.id, entry);
                }
            }
        }
        self.trim();
    }

    /// Takes older messages than those that are known.
    pub(super) fn older(&mut self, messages: Vec<Message>, has_more: bool) {
        self.has_older = has_more && !messages.is_empty();
        for message in messages {
            self.entries.entry(message.id).or_insert_with(|| Entry::from_page(message));
        }
    }

    /// Takes a message from an event.
    pub(super) fn told(&mut self, message: Message, now_ms: u64) {
        self.clock += 1;
        let clock = self.clock;
        let entry = match self.entries.get_mut(&message.id) {
            Some(entry) => {
                // The text starts over, or continues.
                entry.is_whole |= message.text.is_empty();
                entry.message = message;
                entry.show();
                entry
            }
            None => self.entries.entry(message.id).or_insert(Entry::new(message)),
        };
        entry.told = clock;
        entry.note_time(now_ms);
        self.trim();
    }

    /// Takes a message from the response to a post.
    pub(super) fn posted(&mut self, message: Message, now_ms: u64) {
        if !self.entries.contains_key(&message.id) {
            self.told(message, now_ms);
        }
    }

    /// Takes a piece of a command's output, or of a model's text.
    pub(super) fn output(&mut self, id: i64, channel: &str, text: &str) {
        let Some(entry) = self.entries.get_mut(&id) else { return };
        let is_read_again = entry.message.role == Role::Exec && !entry.is_whole;
        if is_read_again || !entry.is_open() {
            return;
        }
        entry.revision += 1;
        let words = match channel {
            "text" => &mut entry.said,
            "reasoning" => &mut entry.reasoning,
            _ => return entry.printed.push(text, LIVE_OUTPUT_BYTES),
        };
        if words.len() + text.len() <= SAID_MAX_BYTES {
            words.push_str(&visible(text));
        }
    }

    /// Records that some events were missed.
    pub(super) fn miss(&mut self) {
        self.entries.values_mut().for_each(Entry::miss);
    }

    /// The first running command with missed output.
    pub(super) fn stale(&self) -> Option<i64> {
        let is_stale =
            |entry: &&Entry| entry.message.role == Role::Exec && entry.is_open() && !entry.is_whole;
        let mut stale = self.entries.values().filter(is_stale);
        stale.next().map(|entry| entry.message.id)
    }

    /// True if something is in progress.
    pub(super) fn is_running(&self) -> bool {
        self.entries.values().rev().any(Entry::is_open)
    }

    /// The messages that wait for their user's answer, the oldest first.
    pub(super) fn asking(&self) -> impl Iterator<Item = &Entry> {
        self.entries.values().filter(|entry| entry.is_asking())
    }

    /// The model's task list, while it has open items.
    pub(super) fn todos(&self) -> Option<&[TodoDocument]> {
        let items = self.entries.values().rev().find_map(|entry| match &entry.message.agent {
            Some(AgentDocument::Tool { data: Some(ToolData::Todos { items }), .. })
                if !entry.message.undone =>
            {
                Some(items)
            }
            _ => None,
        })?;
        items.iter().any(|item| item.status != TodoStatus::Completed).then_some(items)
    }

    /// The total usage of the shown answers.
    pub(super) fn usage(&self) -> UsageDocument {
        self.entries.values().fold(UsageDocument::default(), |mut sum, entry| {
            if let Some(AgentDocument::Reply { usage: Some(usage), .. }) = &entry.message.agent {
                sum.input_tokens += usage.input_tokens;
                sum.output_tokens += usage.output_tokens;
                sum.cost_micros += usage.cost_micros;
            }
            sum
        })
    }

    fn trim(&mut self) {
        while self.entries.len() > TRANSCRIPT_MESSAGES {
            self.entries.pop_first();
            self.has_older = true;
        }
    }
}

#[cfg(test)]
mod tests;
