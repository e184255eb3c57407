//! The running commands of each chat: their limit, their cancellation, and their output so far.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use store::{ChatId, MessageId, UserId};
use tokio_util::sync::CancellationToken;

use crate::limits::RUNNING_PER_CHAT;
use crate::transcript::Transcript;

/// A command's output so far, shared between its writer and requests for the chat's messages.
pub(crate) type SharedTranscript = Arc<Mutex<Transcript>>;

/// The running commands of all chats. Cheap to clone; all clones share the same list.
#[derive(Clone, Default)]
pub(crate) struct Running(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    next_key: u64,
    entries: HashMap<u64, Entry>,
}

struct Entry {
    user: UserId,
    chat: ChatId,
    message: Option<MessageId>,
    cancelled: CancellationToken,
    transcript: SharedTranscript,
}

/// A command's place in the list; it is given back when this is dropped.
pub(crate) struct Slot {
    running: Running,
    key: u64,
    /// Cancelled when the user wants the command to stop.
    pub(crate) cancelled: CancellationToken,
    /// The command's output so far.
    pub(crate) transcript: SharedTranscript,
}

impl Running {
    /// Takes a place; `None` if the chat already runs as many commands as it may.
    pub(crate) fn reserve(&self, user: UserId, chat: &ChatId) -> Option<Slot> {
        let mut state = self.lock();
        let in_chat =
            state.entries.values().filter(|entry| entry.user == user && entry.chat == *chat).count();
        (in_chat < RUNNING_PER_CHAT).then(|| self.take(&mut state, user, chat))
    }

    /// Takes a place for a command that is already running, regardless of the limit.
    pub(crate) fn take_over(&self, user: UserId, chat: &ChatId) -> Slot {
        self.take(&mut self.lock(), user, chat)
    }

    fn take(&self, state: &mut State, user: UserId, chat: &ChatId) -> Slot {
        let key = state.next_key;
        state.next_key += 1;
        let cancelled = CancellationToken::new();
        let transcript = SharedTranscript::default();
        let entry = Entry {
            user,
            chat: chat.clone(),
            message: None,
            cancelled: cancelled.clone(),
            transcript: Arc::clone(&transcript),
        };
        state.entries.insert(key, entry);
        Slot { running: self.clone(), key, cancelled, transcript }
    }

    /// True if any command of a user is running.
    pub(crate) fn is_running_for(&self, user: UserId) -> bool {
        self.lock().entries.values().any(|entry| entry.user == user)
    }

    /// True if any command of a chat is running.
    pub(crate) fn is_running(&self, user: UserId, chat: &ChatId) -> bool {
        self.lock().entries.values().any(|entry| entry.user == user && entry.chat == *chat)
    }

    /// Cancels every command of a chat; returns the number that had not already been cancelled.
    pub(crate) fn cancel(&self, user: UserId, chat: &ChatId) -> usize {
        let state = self.lock();
        let told = state
            .entries
            .values()
            .filter(|entry| entry.user == user && entry.chat == *chat && !entry.cancelled.is_cancelled())
            .inspect(|entry| entry.cancelled.cancel());
        told.count()
    }

    /// The output so far of the command that a message shows, if it is running.
    pub(crate) fn transcript(&self, message: MessageId) -> Option<SharedTranscript> {
        let state = self.lock();
        state
            .entries
            .values()
            .find(|entry| entry.message == Some(message))
            .map(|entry| Arc::clone(&entry.transcript))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
    /// Sets the message that shows the command.
    pub(crate) fn shown_by(&self, message: MessageId) {
        if let Some(entry) = self.running.lock().entries.get_mut(&self.key) {
            entry.message = Some(message);
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.running.lock().entries.remove(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chat_holds_only_so_many_and_a_dropped_slot_is_free_again() {
        let running = Running::default();
        let (user, chat) = (UserId(1), ChatId::random());
        let mut slots: Vec<Slot> =
            (0..RUNNING_PER_CHAT).map(|_| running.reserve(user, &chat).unwrap()).collect();
        assert!(running.reserve(user, &chat).is_none());
        assert!(running.reserve(user, &ChatId::random()).is_some(), "another chat has its own limit");
        slots.pop();
        slots.push(running.take_over(user, &chat));
        assert!(running.reserve(user, &chat).is_none(), "what is already running counts too");
        slots.pop();
        assert!(running.reserve(user, &chat).is_some());
    }

    #[test]
    fn cancelling_reaches_one_chat_of_one_user_and_counts_each_command_once() {
        let running = Running::default();
        let (user, chat) = (UserId(1), ChatId::random());
        let mine = running.reserve(user, &chat).unwrap();
        let another = running.reserve(user, &ChatId::random()).unwrap();
        let stranger = running.reserve(UserId(2), &chat).unwrap();
        assert_eq!(running.cancel(user, &chat), 1);
        assert_eq!(running.cancel(user, &chat), 0);
        assert!(mine.cancelled.is_cancelled());
        assert!(!another.cancelled.is_cancelled() && !stranger.cancelled.is_cancelled());
    }
}
