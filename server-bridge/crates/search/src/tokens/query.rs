//! A query as the databases run it.

use std::fmt::Write as _;

use super::{Piece, pairs, pieces, stem, whole};
use crate::limits::{QUERY_MAX_BYTES, QUERY_MAX_TERMS, QUERY_MAX_WORDS, TERM_MAX_WORDS};

/// The terms of a query, which spaces separate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    pub(super) terms: Vec<Term>,
}

/// Words next to each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Term {
    /// The words; at least one.
    pub(super) words: Vec<String>,
    /// True if the last word may be the beginning of a longer one.
    is_prefix: bool,
    /// The parts of an identifier as one word.
    whole: Option<String>,
    /// For a term of one word: its stem, if it differs.
    stem: Option<String>,
}

/// One word of a query for texts with any of its words.
pub(super) struct Choice {
    word: String,
    is_prefix: bool,
    stem: Option<String>,
}

/// Reads a query that a person or a model wrote. It has no special syntax. Text beyond 4 KiB and terms beyond 32 are ignored.
#[must_use]
pub fn query(text: &str) -> Query {
    let text = &text[..text.floor_char_boundary(QUERY_MAX_BYTES)];
    Query { terms: text.split_whitespace().filter_map(term).take(QUERY_MAX_TERMS).collect() }
}

fn term(text: &str) -> Option<Term> {
    let mut found = Vec::new();
    pieces(text, |piece| found.push(piece));
    let last = found.len().checked_sub(1)?;
    let mut words: Vec<String> = Vec::new();
    let mut is_prefix = true;
    let mut whole_word = None;
    for (at, piece) in found.into_iter().enumerate() {
        match piece {
            Piece::Run(run) => {
                // The text may continue after the query's last character, so the pair with the next one is unknown.
                words.extend(pairs(&run, at < last));
                is_prefix = run.len() == 1;
            }
            Piece::Written(parts) => {
                whole_word = if last == 0 { whole(&parts) } else { None };
                words.extend(parts);
                is_prefix = true;
            }
        }
    }
    if words.len() > TERM_MAX_WORDS {
        words.truncate(TERM_MAX_WORDS);
        (is_prefix, whole_word) = (false, None);
    }
    let stem = match &words[..] {
        [word] => Some(stem(word).into_owned()).filter(|stem| stem != word),
        _ => None,
    };
    Some(Term { words, is_prefix, whole: whole_word, stem })
}

impl Query {
    /// True if the query has no words.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// The argument of MATCH for texts with all terms, on an FTS5 table with the columns `words` and `others`; `None` if the query is empty.
    #[must_use]
    pub fn all_fts5(&self) -> Option<String> {
        columns(self.terms.iter().map(Term::fts5), " AND ")
    }

    /// The argument of MATCH for texts with any of the words, to be ranked by `bm25`; `None` if the query is empty. In a Chinese query each
    /// pair of characters is a word.
    #[must_use]
    pub fn any_fts5(&self) -> Option<String> {
        columns(self.choices().iter().map(Choice::fts5), " OR ")
    }

    /// The text of one tsquery for each term. A text has all terms if each is found in one of its tsvectors.
    #[must_use]
    pub fn tsqueries(&self) -> Vec<String> {
        self.terms.iter().map(Term::tsquery).collect()
    }

    /// The text of a tsquery for texts with all terms in one tsvector; `None` if the query is empty.
    #[must_use]
    pub fn all_tsquery(&self) -> Option<String> {
        let terms: Vec<_> = self.tsqueries().into_iter().map(|term| format!("({term})")).collect();
        (!terms.is_empty()).then(|| terms.join(" & "))
    }

    /// The text of a tsquery for texts with any of the words; `None` if the query is empty.
    #[must_use]
    pub fn any_tsquery(&self) -> Option<String> {
        let choices: Vec<_> = self.choices().iter().map(Choice::tsquery).collect();
        (!choices.is_empty()).then(|| choices.join(" | "))
    }

    /// The text of one tsquery for each of the words, for a ranking that weighs each of them.
    #[must_use]
    pub fn any_tsqueries(&self) -> Vec<String> {
        self.choices().iter().map(Choice::tsquery).collect()
    }

    /// The different words of the query, at most 64.
    pub(super) fn choices(&self) -> Vec<Choice> {
        let mut choices: Vec<Choice> = Vec::new();
        for term in &self.terms {
            let last = term.words.len() - 1;
            for (at, word) in term.words.iter().enumerate() {
                if choices.len() == QUERY_MAX_WORDS {
                    return choices;
                }
                let mut characters = word.chars();
                let is_single =
                    characters.next().is_some_and(|first| !first.is_ascii()) && characters.next().is_none();
                // The last character of a run is already part of the pair before it.
                if choices.iter().any(|choice| choice.word == *word) || is_single && at > 0 && at < last {
                    continue;
                }
                let stem = Some(stem(word).into_owned()).filter(|stem| stem != word);
                choices.push(Choice { word: word.clone(), is_prefix: is_single, stem });
            }
        }
        choices
    }
}

fn columns(terms: impl Iterator<Item = String>, between: &str) -> Option<String> {
    let terms: Vec<_> = terms.collect();
    (!terms.is_empty()).then(|| format!("{{words others}} : ({})", terms.join(between)))
}

impl Term {
    fn fts5(&self) -> String {
        let star = if self.is_prefix { " *" } else { "" };
        let mut text = format!("(\"{}\"{star}", self.words.join(" "));
        if let Some(whole) = &self.whole {
            let _ = write!(text, " OR \"{whole}\" *");
        }
        stem_fts5(self.stem.as_deref(), &mut text);
        text.push(')');
        text
    }

    fn tsquery(&self) -> String {
        let star = if self.is_prefix { ":*" } else { "" };
        let words: Vec<_> = self.words.iter().map(|word| format!("'{word}'")).collect();
        let mut text = format!("{}{star}", words.join(" <-> "));
        if self.words.len() > 1 {
            text = format!("({text})");
        } else if self.is_prefix {
            let _ = write!(text, " | '={}':*", self.words[0]);
        }
        if let Some(whole) = &self.whole {
            let _ = write!(text, " | '{whole}':* | '={whole}':*");
        }
        stem_tsquery(self.stem.as_deref(), &mut text);
        text
    }
}

impl Choice {
    fn fts5(&self) -> String {
        let star = if self.is_prefix { " *" } else { "" };
        let mut text = format!("\"{}\"{star}", self.word);
        if let Some(stem) = &self.stem {
            let _ = write!(text, " OR others : \"{stem}\"");
        }
        text
    }

    fn tsquery(&self) -> String {
        let star = if self.is_prefix { ":*" } else { "" };
        let stem = self.stem.as_ref().unwrap_or(&self.word);
        format!("'{}'{star} | '={stem}'", self.word)
    }
}

/// Adds the stem to a term. A stem of more than two letters also matches as a word of its own; a shorter one may be another word, such as
/// `us` of `using`.
fn stem_fts5(stem: Option<&str>, text: &mut String) {
    if let Some(stem) = stem {
        let column = if is_distinct(stem) { "" } else { "others : " };
        let _ = write!(text, " OR {column}\"{stem}\"");
    }
}

fn stem_tsquery(stem: Option<&str>, text: &mut String) {
    if let Some(stem) = stem {
        let word = if is_distinct(stem) { format!(" | '{stem}'") } else { String::new() };
        let _ = write!(text, " | '={stem}'{word}");
    }
}

fn is_distinct(stem: &str) -> bool {
    stem.len() > 2
}
