//! The words of a text, in the forms that the databases index.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{Piece, pairs, pieces, stem, whole};
use crate::limits::{PART_OVERLAP, PART_WORDS};

/// The words of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document {
    pub(super) words: Vec<String>,
    /// Further words, each with the index in `words` of the word that it belongs to, sorted by that index.
    others: Vec<(usize, String)>,
}

/// The words of a text; none for a text without letters, digits and emoji.
#[must_use]
pub fn document(text: &str) -> Document {
    let mut document = Document::default();
    pieces(text, |piece| match piece {
        Piece::Run(run) => document.words.extend(pairs(&run, true)),
        Piece::Written(parts) => {
            let at = document.words.len();
            document.others.extend(whole(&parts).map(|whole| (at, whole)));
            for part in parts {
                let stem = stem(&part);
                if stem != part {
                    document.others.push((document.words.len(), stem.into_owned()));
                }
                document.words.push(part);
            }
        }
    });
    document
}

impl Document {
    /// True if there is nothing to index.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// For the column `words` of FTS5: the words in order, separated by spaces. The table's tokenizer must be `ascii`.
    #[must_use]
    pub fn words(&self) -> String {
        self.words.join(" ")
    }

    /// For the column `others` of FTS5: stems and whole identifiers.
    #[must_use]
    pub fn others(&self) -> String {
        let others: Vec<_> = self.others.iter().map(|(_, word)| word.as_str()).collect();
        others.join(" ")
    }

    /// For PostgreSQL: the text of one tsvector for every 2,000 words, to be cast. Consecutive ones overlap, so that each phrase is
    /// complete in one of them. Stems and whole identifiers begin with `=`, and have no position. An empty document yields one empty text.
    #[must_use]
    pub fn tsvectors(&self) -> Vec<String> {
        let mut parts = Vec::new();
        let mut from = 0;
        loop {
            let until = self.words.len().min(from + PART_WORDS);
            parts.push(self.tsvector(from, until));
            if until == self.words.len() {
                return parts;
            }
            from = until - PART_OVERLAP;
        }
    }

    fn tsvector(&self, from: usize, until: usize) -> String {
        let mut positions: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (at, word) in self.words[from..until].iter().enumerate() {
            positions.entry(word).or_default().push(at + 1);
        }
        let mut text = String::new();
        for (word, positions) in positions {
            let positions: Vec<_> = positions.iter().map(ToString::to_string).collect();
            // Writing to a string does not fail.
            let _ = write!(text, "'{word}':{} ", positions.join(","));
        }
        let first = self.others.partition_point(|(at, _)| *at < from);
        let others = self.others[first..].iter().take_while(|(at, _)| *at < until);
        let others: std::collections::BTreeSet<_> = others.map(|(_, word)| word.as_str()).collect();
        for other in others {
            let _ = write!(text, "'={other}' ");
        }
        text.truncate(text.trim_end().len());
        text
    }
}
