//! Messages that are being processed, so that only one of several simultaneous repetitions is processed.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use store::ChatId;

/// The messages being processed.
#[derive(Debug, Default)]
pub(crate) struct Sending(Mutex<HashSet<(ChatId, String)>>);

/// The mark of a message that is being processed; dropping it removes the mark.
pub(crate) struct UnderWay<'a> {
    sending: &'a Sending,
    key: (ChatId, String),
}

impl Sending {
    /// Marks a message; `None` if it is already being processed.
    pub(crate) fn begin(&self, chat: &ChatId, send_id: &str) -> Option<UnderWay<'_>> {
        let key = (chat.clone(), send_id.to_owned());
        let is_first = self.lock().insert(key.clone());
        // Created only for the first one, because dropping it removes the mark.
        is_first.then(|| UnderWay { sending: self, key })
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<(ChatId, String)>> {
        // Each change is a single step, so the data stays consistent if another thread panics.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.sending.lock().remove(&self.key);
    }
}
