//! Ranks texts by the words of a question, with Okapi BM25, over texts in memory.
//!
//! Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), with the common values of `k1` and `b`. A few thousand
//! short texts need no index, and the ranking does not depend on the database.

use std::collections::HashMap;

use crate::limits::{QUERY_MAX_BYTES, QUERY_MAX_WORDS};
use crate::tokens::terms;

/// Controls how quickly further occurrences of a word stop adding to the score.
const K1: f64 = 1.2;
/// How strongly the score is reduced for long texts, from 0 to 1.
const B: f64 = 0.75;

/// A text in which words of the question were found.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranked {
    /// The index of the text in the list of texts.
    pub at: usize,
    /// The score, above 0; it has no unit.
    pub score: f64,
    /// The words of the question that the text contains, in the question's spelling.
    pub matched: Vec<String>,
    /// The contribution of each of these words to the score.
    pub parts: Vec<f64>,
}

/// The texts that have any word of the question for which `counts` is true, the best first. At most 4 KiB and 64 words of the question are read.
#[must_use]
pub fn rank(question: &str, texts: &[&str], counts: impl Fn(&str) -> bool) -> Vec<Ranked> {
    let question = &question[..question.floor_char_boundary(QUERY_MAX_BYTES)];
    let mut words: Vec<(String, String)> = Vec::new();
    for term in terms(question) {
        let is_new = words.iter().all(|(key, _)| *key != term.key);
        if is_new && counts(&term.word) && words.len() < QUERY_MAX_WORDS {
            words.push((term.key, term.word));
        }
    }
    let places: HashMap<&str, usize> =
        words.iter().enumerate().map(|(at, (key, _))| (key.as_str(), at)).collect();
    let mut found = Vec::new();
    let (mut total, mut having) = (0, vec![0_usize; words.len()]);
    for (at, text) in texts.iter().enumerate() {
        let mut length = 0;
        let mut counts = vec![0_usize; words.len()];
        for term in terms(text) {
            length += 1;
            if let Some(place) = places.get(term.key.as_str()) {
                counts[*place] += 1;
            }
        }
        total += length;
        for (place, count) in counts.iter().enumerate() {
            having[place] += usize::from(*count > 0);
        }
        if counts.iter().any(|count| *count > 0) {
            found.push((at, length, counts));
        }
    }
    let mean = real(total) / real(texts.len().max(1));
    let rarity = |place: usize| {
        let (texts, having) = (real(texts.len()), real(having[place]));
        ((texts - having + 0.5) / (having + 0.5)).ln_1p()
    };
    let mut ranked: Vec<Ranked> = found
        .into_iter()
        .map(|(at, length, counts)| {
            let weight = |(place, count): (usize, &usize)| {
                let count = real(*count);
                rarity(place) * count * (K1 + 1.0) / (count + K1 * (1.0 - B + B * real(length) / mean))
            };
            let found = counts.iter().enumerate().filter(|(_, count)| **count > 0);
            let (parts, matched): (Vec<f64>, Vec<String>) =
                found.map(|one| (weight(one), words[one.0].1.clone())).unzip();
            Ranked { at, score: parts.iter().sum(), matched, parts }
        })
        .collect();
    ranked.sort_by(|one, other| other.score.total_cmp(&one.score));
    ranked
}

#[expect(clippy::cast_precision_loss, reason = "counts of words are small")]
fn real(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(question: &str, texts: &[&str]) -> Vec<usize> {
        rank(question, texts, |_| true).into_iter().map(|ranked| ranked.at).collect()
    }

    #[test]
    fn rare_words_and_short_texts_come_first() {
        let texts = ["the cat and the dog", "the dog", "the bird", "deploys go to 臺灣", "nothing here"];
        assert_eq!(order("the dogs", &texts), [1, 0, 2]);
        assert_eq!(order("deployed", &texts), [3]);
        assert_eq!(order("在台湾的时候", &texts), [3]);
        assert!(
            order("absent", &texts).is_empty() && order("", &texts).is_empty() && order("x", &[]).is_empty()
        );
    }

    #[test]
    fn the_words_that_were_found_are_those_of_the_question() {
        let ranked = rank("Deploying the 記憶體", &["deploy of the 记忆体"], |word| word != "the");
        assert_eq!(ranked[0].matched, ["deploying", "记忆", "忆体"]);
    }
}
