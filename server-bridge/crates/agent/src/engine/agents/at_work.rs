//! The running sub-agents, registered by their chats, so that one can be stopped alone, and by their names.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use records::{ChatId, UserId};
use tokio_util::sync::CancellationToken;

/// All running sub-agents. Cheap to clone; all clones share the same state.
#[derive(Clone, Default)]
pub struct AtWork(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    chats: HashMap<(UserId, ChatId), CancellationToken>,
    /// The names in use, each with the parent's chat.
    names: HashSet<(ChatId, String)>,
}

/// The registration of a running sub-agent; dropping it removes the registration.
pub struct Work {
    at_work: AtWork,
    key: (UserId, ChatId),
}

/// A name in use; dropping this frees it.
pub struct Name {
    at_work: AtWork,
    key: (ChatId, String),
}

impl AtWork {
    /// Registers a running sub-agent; cancelling the token stops it.
    pub fn begin(&self, user: UserId, chat: &ChatId, cancelled: &CancellationToken) -> Work {
        let key = (user, chat.clone());
        self.lock().chats.insert(key.clone(), cancelled.clone());
        Work { at_work: self.clone(), key }
    }

    /// Takes a name for a sub-agent of a chat; `None` while another call uses it.
    pub fn take_name(&self, parent: &ChatId, name: &str) -> Option<Name> {
        let key = (parent.clone(), name.to_owned());
        let is_free = self.lock().names.insert(key.clone());
        is_free.then(|| Name { at_work: self.clone(), key })
    }

    /// True if the sub-agent of this chat is at work.
    pub fn is_at_work(&self, user: UserId, chat: &ChatId) -> bool {
        self.lock().chats.contains_key(&(user, chat.clone()))
    }

    /// Stops the sub-agent of this chat; returns the number of runs that were not already cancelled.
    pub fn cancel(&self, user: UserId, chat: &ChatId) -> usize {
        let state = self.lock();
        let Some(cancelled) = state.chats.get(&(user, chat.clone())) else { return 0 };
        let is_news = !cancelled.is_cancelled();
        cancelled.cancel();
        usize::from(is_news)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Each change is a single step, so the data stays consistent if another thread panics.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        self.at_work.lock().chats.remove(&self.key);
    }
}

impl Drop for Name {
    fn drop(&mut self) {
        self.at_work.lock().names.remove(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_called_once_at_a_time_in_its_chat() {
        let (at_work, chat) = (AtWork::default(), ChatId::random());
        let name = at_work.take_name(&chat, "x");
        assert!(name.is_some() && at_work.take_name(&chat, "x").is_none());
        assert!(at_work.take_name(&ChatId::random(), "x").is_some());
        drop(name);
        assert!(at_work.take_name(&chat, "x").is_some());
    }

    #[test]
    fn a_sub_agent_is_stopped_by_its_own_user_and_while_it_works() {
        let (at_work, chat, token) = (AtWork::default(), ChatId::random(), CancellationToken::new());
        let work = at_work.begin(UserId(1), &chat, &token);
        assert_eq!(at_work.cancel(UserId(2), &chat), 0);
        assert!(at_work.is_at_work(UserId(1), &chat) && !at_work.is_at_work(UserId(2), &chat));
        assert_eq!((at_work.cancel(UserId(1), &chat), at_work.cancel(UserId(1), &chat)), (1, 0));
        assert!(token.is_cancelled());
        drop(work);
        assert_eq!(at_work.cancel(UserId(1), &chat), 0);
        assert!(at_work.lock().chats.is_empty() && at_work.lock().names.is_empty());
    }
}
