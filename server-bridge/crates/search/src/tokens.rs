//! The analyzer: turns texts and queries into words that SQLite and PostgreSQL index and find in the same way.
//!
//! ```text
//!   text ──NFKC, lower case, no accents, simplified Chinese──► words in order ──► [`Document`] ──► columns of FTS5, or tsvectors
//!   query ──────────────────── the same ────────────────────► [`Query`] ──► MATCH of FTS5, or tsqueries
//! ```
//!
//! | text | words, in order | other words, unordered |
//! |---|---|---|
//! | `Deployed` | `deployed` | `deploy`: the stem of an English word |
//! | `parseHttp_v2` | `parse`, `http`, `v2` | `parsehttpv2` |
//! | `記憶體` | `记忆`, `忆体`, `体` | |
//! | `カタカナ`, `한국어`, `ไทย` | pairs, then the last character | |
//! | an emoji | itself | |
//!
//! Text in scripts without spaces becomes overlapping pairs of characters, followed by the last character alone. So each character is the
//! prefix of a word, and `n` characters are a phrase of `n - 1` pairs: a query finds every text that contains its characters. The
//! databases' own dictionaries, stemmers and locales are not used.
//!
//! A word consists of letters, digits, marks and emoji, in lower case, so it cannot be mistaken for query syntax.

mod document;
mod fold;
mod porter;
mod query;
#[cfg(test)]
mod tests;

pub use document::{Document, document};
pub use query::{Query, query};

use self::fold::{Class, Folded};
use self::porter::stem;
use crate::limits::TOKEN_MAX_BYTES;

/// A part of a text.
enum Piece {
    /// One word; for an identifier, its parts.
    Written(Vec<String>),
    /// Characters of a script without spaces, or one emoji.
    Run(Vec<char>),
}

/// Splits a text into its pieces, and calls `put` with each.
fn pieces(text: &str, mut put: impl FnMut(Piece)) {
    let mut written = Written::default();
    let mut run: Vec<char> = Vec::new();
    for Folded { character, class } in fold::fold(text) {
        if class != Class::Run && !run.is_empty() {
            put(Piece::Run(std::mem::take(&mut run)));
        }
        if class != Class::Word {
            written.end(&mut put);
        }
        match class {
            Class::Run => run.push(character),
            Class::Word => written.push(character),
            Class::Picture => put(Piece::Run(vec![character])),
            Class::Gap => {}
        }
    }
    if !run.is_empty() {
        put(Piece::Run(run));
    }
    written.end(&mut put);
}

/// Collects the characters of a word, in their original case.
#[derive(Default)]
struct Written {
    characters: Vec<char>,
}

impl Written {
    fn push(&mut self, character: char) {
        // The rest of a very long word is ignored; twice the limit leaves room for its parts.
        if self.characters.len() < 2 * TOKEN_MAX_BYTES {
            self.characters.push(character);
        }
    }

    fn end(&mut self, put: &mut impl FnMut(Piece)) {
        let characters = std::mem::take(&mut self.characters);
        let mut parts = Vec::new();
        let mut part = String::new();
        for (at, &character) in characters.iter().enumerate() {
            let before = at.checked_sub(1).map(|at| characters[at]);
            let next_is_small = characters.get(at + 1).is_some_and(|next| next.is_lowercase());
            // `fooBar`, `v2Bar`, and `HTTPServer` before its `S`.
            let begins = character.is_uppercase()
                && before.is_some_and(|before| !before.is_uppercase() || next_is_small);
            if (begins || character == '_') && !part.is_empty() {
                parts.push(std::mem::take(&mut part));
            }
            if character != '_' {
                fold::put_lower(character, &mut part);
            }
        }
        if !part.is_empty() {
            parts.push(part);
        }
        parts.iter_mut().for_each(cut);
        if !parts.is_empty() {
            put(Piece::Written(parts));
        }
    }
}

/// Cuts a word to the longest size that is indexed.
fn cut(word: &mut String) {
    word.truncate(word.floor_char_boundary(TOKEN_MAX_BYTES));
}

/// The parts of an identifier as one word; `None` for a word with one part.
fn whole(parts: &[String]) -> Option<String> {
    (parts.len() > 1).then(|| {
        let mut whole = parts.concat();
        cut(&mut whole);
        whole
    })
}

/// The pairs of a run, and with `has_end` its last character after them. A run of one character yields that character.
fn pairs(run: &[char], has_end: bool) -> impl Iterator<Item = String> {
    let last = if has_end || run.len() == 1 { run.last() } else { None };
    run.windows(2).map(|pair| pair.iter().collect()).chain(last.map(char::to_string))
}

/// A word of a text, for comparing texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    /// The key by which words count as equal: the stem of an English word, otherwise the word.
    pub key: String,
    /// The word, folded.
    pub word: String,
}

/// The words of a text in order: English by their stems, scripts without spaces as pairs, identifiers by their parts.
#[must_use]
pub fn terms(text: &str) -> Vec<Term> {
    let mut terms = Vec::new();
    pieces(text, |piece| match piece {
        Piece::Run(run) => terms.extend(pairs(&run, false).map(|word| Term { key: word.clone(), word })),
        Piece::Written(parts) => {
            terms.extend(parts.into_iter().map(|word| Term { key: stem(&word).into_owned(), word }));
        }
    });
    terms
}
