//! The one analyzer: texts and queries become words that SQLite and PostgreSQL index and find alike.
//!
//! ```text
//!   text ──NFKC, lower case, no accents, simplified Chinese──► words in order ──► [`Document`] ──► columns of FTS5, or tsvectors
//!   query ──────────────────── the same ────────────────────► [`Query`] ──► MATCH of FTS5, or tsqueries
//! ```
//!
//! | written | words, in order | others, without an order |
//! |---|---|---|
//! | `Deployed` | `deployed` | `deploy`: the stem of an English word |
//! | `parseHttp_v2` | `parse`, `http`, `v2` | `parsehttpv2` |
//! | `記憶體` | `记忆`, `忆体`, `体` | |
//! | `カタカナ`, `한국어`, `ไทย` | pairs, then the last character | |
//! | an emoji | itself | |
//!
//! Scripts without spaces are overlapping pairs of characters, and the last character alone, so that one character is a prefix of a word wherever
//! it stands, and `n` characters are a phrase of `n - 1` pairs: a query finds what a comparison of characters would find. The databases'
//! own dictionaries, stemmers and locales are not used.
//!
//! A word consists of letters, digits, marks and emoji, in lower case. So it cannot be read as syntax of a query.

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
    /// The words of one written word: its parts, for an identifier.
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

/// A written word on its way, in its own case.
#[derive(Default)]
struct Written {
    characters: Vec<char>,
}

impl Written {
    fn push(&mut self, character: char) {
        // The rest of an endless word is not read; twice the limit leaves room for parts.
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

/// Cuts a word to the longest that is indexed.
fn cut(word: &mut String) {
    word.truncate(word.floor_char_boundary(TOKEN_MAX_BYTES));
}

/// The parts of an identifier as one word; nothing for a word of one part.
fn whole(parts: &[String]) -> Option<String> {
    (parts.len() > 1).then(|| {
        let mut whole = parts.concat();
        cut(&mut whole);
        whole
    })
}

/// The pairs of a run; with `has_end`, its last character after them. One character is itself.
fn pairs(run: &[char], has_end: bool) -> impl Iterator<Item = String> {
    let last = if has_end || run.len() == 1 { run.last() } else { None };
    run.windows(2).map(|pair| pair.iter().collect()).chain(last.map(char::to_string))
}
