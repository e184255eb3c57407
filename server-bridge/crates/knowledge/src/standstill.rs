//! Why documents wait although it is their turn: the store's last failure. It is kept in memory, since the store may be full.

use std::sync::{Mutex, PoisonError};

/// The reason, for readers other than the operator; empty while the store works. In Chinese it is translated like every text of the store.
#[derive(Debug, Default)]
pub(crate) struct Standstill(Mutex<String>);

impl Standstill {
    /// The store failed.
    pub(crate) fn begin(&self, error: &store::Error) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = error.shown();
    }

    /// The store did a job.
    pub(crate) fn end(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// The reason; empty if there is none.
    pub(crate) fn why(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
