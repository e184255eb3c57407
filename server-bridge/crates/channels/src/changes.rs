//! Changes of messages that ask something, or no longer do.

use std::collections::{HashSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use store::{MessageId, UserId};

use crate::limits::CHANGES_WAITING;

/// Messages of chats that ask something, or no longer do.
#[derive(Debug, Default)]
pub(crate) struct Changes(Mutex<Noted>);

#[derive(Debug, Default)]
struct Noted {
    /// To be looked at.
    changed: VecDeque<(UserId, MessageId)>,
    /// Those whose questions were sent.
    asked: HashSet<MessageId>,
}

impl Changes {
    /// Notes a change of a message; returns true if it is to be looked at.
    pub(crate) fn push(&self, change: (UserId, MessageId), is_asking: bool) -> bool {
        let mut noted = self.lock();
        let is_of_use = is_asking || noted.asked.contains(&change.1);
        if is_of_use && !noted.changed.contains(&change) && noted.changed.len() < CHANGES_WAITING {
            noted.changed.push_back(change);
        }
        is_of_use
    }

    /// The next one to be looked at.
    pub(crate) fn pop(&self) -> Option<(UserId, MessageId)> {
        self.lock().changed.pop_front()
    }

    /// Notes that the question of a message was sent, or that it no longer waits.
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
