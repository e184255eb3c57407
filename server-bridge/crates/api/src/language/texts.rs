//! The texts of the server in documents: which fields have them, and their translation while a document is written as JSON.
//!
//! A field is marked where its document is declared, by `#[serde(serialize_with = "crate::language::text")]`, and nothing else has to
//! be done: [`Language::to_json`], which writes every answer and event, translates it. Anything else that writes a document writes
//! it in English. What people, models, programs and files wrote is not marked.
//!
//! serde hands no context to a field, so the language is kept for the thread while one document is written.

use std::cell::Cell;

use serde::{Serialize, Serializer};

use super::Language;

thread_local! {
    /// The language of the document that this thread is writing.
    static WRITTEN_IN: Cell<Language> = const { Cell::new(Language::English) };
}

impl Language {
    /// A document as JSON, with the server's texts in it in this language.
    ///
    /// # Errors
    /// As for [`serde_json::to_string`].
    pub fn to_json(self, document: &impl Serialize) -> serde_json::Result<String> {
        let _before = Before(WRITTEN_IN.replace(self));
        serde_json::to_string(document)
    }
}

/// The previous language, which is restored even if a document panics while it is written.
struct Before(Language);

impl Drop for Before {
    fn drop(&mut self) {
        WRITTEN_IN.set(self.0);
    }
}

/// A field that contains texts of the server.
pub(crate) trait Texts {
    fn write_in<S: Serializer>(&self, language: Language, serializer: S) -> Result<S::Ok, S::Error>;
}

impl Texts for String {
    fn write_in<S: Serializer>(&self, language: Language, serializer: S) -> Result<S::Ok, S::Error> {
        language.translated(self).serialize(serializer)
    }
}

impl Texts for Option<String> {
    fn write_in<S: Serializer>(&self, language: Language, serializer: S) -> Result<S::Ok, S::Error> {
        self.as_ref().map(|text| language.translated(text)).serialize(serializer)
    }
}

impl Texts for Vec<String> {
    fn write_in<S: Serializer>(&self, language: Language, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().map(|text| language.translated(text)))
    }
}

/// Writes a field of texts in the language of its document.
pub(crate) fn text<T: Texts, S: Serializer>(texts: &T, serializer: S) -> Result<S::Ok, S::Error> {
    texts.write_in(WRITTEN_IN.get(), serializer)
}

#[cfg(test)]
mod tests;
