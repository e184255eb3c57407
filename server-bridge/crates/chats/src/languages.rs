//! The users' languages for the server's texts.
//!
//! A message from the server is stored in its user's language. Clients send the language with each request that changes something; it is
//! only kept in memory, because the next request contains it again.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use api::language::Language;
use store::UserId;

/// The language that each user's clients last sent.
#[derive(Debug, Default)]
pub struct Languages(Mutex<HashMap<UserId, Language>>);

impl Languages {
    /// A user's language; English until a client has sent one.
    pub fn of(&self, user: UserId) -> Language {
        // Each change is a single step, so the data stays consistent if another thread panics.
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&user).copied().unwrap_or_default()
    }

    /// Records the language that a client of the user sent.
    pub fn set(&self, user: UserId, language: Language) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(user, language);
    }
}
