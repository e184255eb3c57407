//! Ranks texts by what they share with a new text. Unlike a search by words, this has to find the one text about the same subject among
//! many with the same wording: `As of Monday, Bianca lists June 19 under birthday` shares more words with each sentence of that form than
//! with `Bianca: March 5 (birthday)`.
//!
//! So words that mostly occur together, such as the words of a fixed phrase or the pairs of characters of one Chinese name, count once.
//! After a text that shares certain words, further texts that share the same words count less, so that each combination is represented:
//! the person and the attribute, the phrase and the person, the value and the attribute.

use std::collections::HashMap;

use search::bm25;

use crate::limits::{REPEATED, TOGETHER_SHARE};
use crate::recall::counts;

/// A text that shares words with the new one.
struct Sharing {
    /// The text's index in the list.
    at: usize,
    /// The groups of words that the text shares, as bits.
    groups: u64,
    /// The sum of the weights of these groups.
    evidence: f64,
}

/// The indexes of the texts that share words with a new one, the best first; at most `most`.
pub(crate) fn rank(new: &str, texts: &[&str], most: usize) -> Vec<usize> {
    let ranked = bm25::rank(new, texts, counts);
    let group_of = groups(&ranked);
    let sharing = |ranked: &bm25::Ranked| {
        let mut weights: HashMap<usize, f64> = HashMap::new();
        for (word, part) in ranked.matched.iter().zip(&ranked.parts) {
            let weight = weights.entry(group_of[word.as_str()]).or_default();
            *weight = weight.max(*part);
        }
        let groups = weights.keys().fold(0, |bits, group| bits | 1 << group);
        Sharing { at: ranked.at, groups, evidence: weights.values().sum() }
    };
    let mut left: Vec<Sharing> = ranked.iter().map(sharing).collect();
    let mut seen: HashMap<u64, i32> = HashMap::new();
    let mut places = Vec::new();
    while places.len() < most && !left.is_empty() {
        let mut best = (0, f64::MIN);
        for (at, one) in left.iter().enumerate() {
            let value = one.evidence * REPEATED.powi(seen.get(&one.groups).copied().unwrap_or(0));
            if value > best.1 {
                best = (at, value);
            }
        }
        let next = left.remove(best.0);
        *seen.entry(next.groups).or_default() += 1;
        places.push(next.at);
    }
    places
}

/// The group of each shared word. Two words are in one group if at least half of the texts with either word have both. There are at most 64 words.
fn groups(ranked: &[bm25::Ranked]) -> HashMap<&str, usize> {
    let mut texts_of: Vec<(&str, Vec<usize>)> = Vec::new();
    for text in ranked {
        for word in &text.matched {
            match texts_of.iter_mut().find(|(known, _)| known == word) {
                Some((_, texts)) => texts.push(text.at),
                None => texts_of.push((word, vec![text.at])),
            }
        }
    }
    let is_together = |one: &[usize], other: &[usize]| {
        let both = one.iter().filter(|at| other.contains(at)).count();
        let either = one.len() + other.len() - both;
        real(both) >= TOGETHER_SHARE * real(either)
    };
    let mut groups: HashMap<&str, usize> = HashMap::new();
    for (at, (word, texts)) in texts_of.iter().enumerate() {
        let earlier = texts_of[..at].iter().find(|(_, others)| is_together(texts, others));
        let group = earlier.map_or(at, |(word, _)| groups[word]);
        groups.insert(word, group);
    }
    groups
}

#[expect(clippy::cast_precision_loss, reason = "there are at most 1,200 memories")]
fn real(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_subject_counts_more_than_the_form_of_words() {
        let people = ["Mina", "Jonas", "Petra", "Noor", "Sven", "Kofi", "Ines", "Callum"];
        let mut texts: Vec<String> = people
            .iter()
            .map(|person| format!("As of Monday, {person} lists a Volvo under vehicle"))
            .collect();
        texts.push("Bianca: March 5 (birthday)".to_owned());
        texts.extend(people.iter().map(|person| format!("{person}: June 7 (birthday)")));
        texts.push("As of Monday, Bianca lists tea under drink".to_owned());
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let found = rank("As of Monday, Bianca lists June 19 under birthday", &texts, 3);
        assert!(found.contains(&8), "{found:?}");
        assert_eq!(rank("Bianca's birthday", &texts, 99)[0], 8);
        assert!(rank("", &texts, 5).is_empty() && rank("unheard", &texts, 5).is_empty());
        assert!(rank("x", &[], 5).is_empty());
    }
}
