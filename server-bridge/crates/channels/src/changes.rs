//! Collects changed chat messages, whose questions may have to be sent or settled.

use std::collections::{HashSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use store::{MessageId, UserId};

use crate::limits::CHANGES_WAITING;

/// Chat messages whose questions were asked, answered or given up.
#[derive(Debug, Default)]
pub(crate) struct Changes(Mutex<Noted>);

#[derive(Debug, Default)]
struct Noted {
    /// Messages that still have to be checked.
    changed: VecDeque<(UserId, MessageId)>,
    /// Messages whose questions were sent and are still open.
    asked: HashSet<MessageId>,
}

impl Changes {
    /// Records a change to a message; returns true if the message has to be checked.
    pub(crate) fn push(&self, change: (UserId, MessageId), is_asking: bool) -> bool {
        let mut noted = self.lock();
        let is_of_use = is_asking || noted.asked.contains(&change.1);
        if is_of_use && !noted.changed.contains(&change) && noted.changed.len() < CHANGES_WAITING {
            noted.changed.push_back(change);
        }
        is_of_use
    }

    /// Returns the next message to check.
    pub(crate) fn pop(&self) -> Option<(UserId, MessageId)> {
        self.lock().changed.pop_front()
    }

    /// Records whether the question of a message was sent and is still open.
    pub(crate) fn note_asked(&self, message: MessageId, is_asked: bool) {
        let mut noted = self.lock();
        match is_asked {
            true => noted.asked.insert(message),
            false => noted.asked.remove(&message),
        };
    }

    fn lock(&self) -> MutexGuard<'_, Noted> {
        // Each change is a single step, so the data stays consistent if another thread panics.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
