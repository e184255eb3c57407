//! Why documents wait although it is their turn: the store's disk is full, or the store cannot be reached. It is kept in memory, since the store may
//! be full.

use std::sync::{Mutex, PoisonError};

/// The reason, for readers other than the operator; empty while the store works. In Chinese it is translated like every text of the store.
#[derive(Debug, Default)]
pub(crate) struct Standstill(Mutex<String>);

impl Standstill {
    /// The store failed. All users see the reason, so errors that may concern only one user's document are left out.
    pub(crate) fn begin(&self, error: &store::Error) {
        if error.is_full() || error.is_away() {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = error.shown();
        }
    }

    /// The store works again.
    pub(crate) fn end(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// The reason; empty if there is none.
    pub(crate) fn why(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
