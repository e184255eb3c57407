//! Messages that are being taken at the moment, so that of repetitions at once one is taken.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use store::ChatId;

/// What is being done at the moment.
#[derive(Debug, Default)]
pub(crate) struct Sending(Mutex<HashSet<(ChatId, String)>>);

/// Something that is being done, until it is dropped.
pub(crate) struct UnderWay<'a> {
    sending: &'a Sending,
    key: (ChatId, String),
}

impl Sending {
    /// Marks it; `None` where it is being done already.
    pub(crate) fn begin(&self, chat: &ChatId, send_id: &str) -> Option<UnderWay<'_>> {
        let key = (chat.clone(), send_id.to_owned());
        let is_first = self.lock().insert(key.clone());
        // Made only where it is the first: its drop ends what it marks.
        is_first.then(|| UnderWay { sending: self, key })
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<(ChatId, String)>> {
        // Every change is one step, so a panic elsewhere leaves the set whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.sending.lock().remove(&self.key);
    }
}
