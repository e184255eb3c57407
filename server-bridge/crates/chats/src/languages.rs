//! The languages in which users' clients show the server's texts.
//!
//! A message of the server itself is stored as its user reads it. Their clients say the language with each request that changes
//! something; it is kept in memory only, since the next request says it again.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use api::language::Language;
use store::UserId;

use crate::ChatService;
use crate::house::House;

/// The language of each user's clients, as one of them said it last.
#[derive(Debug, Default)]
pub(crate) struct Languages(Mutex<HashMap<UserId, Language>>);

impl Languages {
    fn of(&self, user: UserId) -> Language {
        // Every change is one insert, so a panic elsewhere leaves the map whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&user).copied().unwrap_or_default()
    }

    fn set(&self, user: UserId, language: Language) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(user, language);
    }
}

impl ChatService {
    /// Notes the language in which a user's client shows texts: messages of the server to this user are in it from now on.
    pub fn speaks(&self, user: UserId, language: Language) {
        self.0.languages.set(user, language);
    }

    /// The language in which a user's client shows texts.
    pub fn language(&self, user: UserId) -> Language {
        self.0.languages.of(user)
    }
}

impl House {
    /// A text of the server itself as this user reads it.
    pub(crate) fn in_words_of(&self, user: UserId, text: &str) -> String {
        self.languages.of(user).translated(text).into_owned()
    }

    /// The language in which this user reads the server's texts.
    pub(crate) fn language(&self, user: UserId) -> Language {
        self.languages.of(user)
    }
}
