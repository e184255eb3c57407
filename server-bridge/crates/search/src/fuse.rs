//! Reciprocal rank fusion: combines rankings whose scores cannot be compared with each other.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

/// The larger this constant, the less the first places of a ranking outweigh the later ones. This is the constant of Cormack, Clarke and
/// Büttcher, "Reciprocal rank fusion outperforms Condorcet and individual rank learning methods" (SIGIR 2009).
pub const K: f64 = 60.0;

/// The constant for passages found by words and by vectors: the first places count more than with [`K`]. Measured by `scripts/bench
/// retrieval` with questions that are not in its table.
pub const HYBRID_K: f64 = 5.0;

/// The weight of a ranking by words; a ranking by vectors has the weight 1. Measured like [`HYBRID_K`].
pub const WORDS_WEIGHT: f64 = 0.5;

/// All items of the rankings, best first: an item's score is the sum of `1 / (K + place)` over the rankings that contain it, with places
/// from 1. Items of equal score keep the order of the rankings. Only an item's first place in a ranking counts.
#[must_use]
pub fn fuse<T: Clone + Eq + Hash>(rankings: &[&[T]]) -> Vec<(T, f64)> {
    let weighted: Vec<_> = rankings.iter().map(|ranking| (*ranking, 1.0)).collect();
    fuse_weighted(&weighted, K)
}

/// Passages found by words and by vectors as one ranking, best first. Without vectors it is the ranking by words.
#[must_use]
pub fn hybrid<T: Clone + Eq + Hash>(by_words: &[T], by_vectors: &[T]) -> Vec<(T, f64)> {
    fuse_weighted(&[(by_words, WORDS_WEIGHT), (by_vectors, 1.0)], HYBRID_K)
}

/// All items of two rankings by turns, each once: the first of one, the first of the other, the second of one, and so on. Neither ranking
/// can displace the best items of the other. This suits texts of one sentence, such as memories, in which models confuse names that words
/// distinguish.
#[must_use]
pub fn by_turns<T: Clone + Eq + Hash>(one: &[T], other: &[T]) -> Vec<T> {
    let mut seen = HashSet::new();
    let places = 0..one.len().max(other.len());
    let by_turns = places.flat_map(|place| [one.get(place), other.get(place)]).flatten();
    by_turns.filter(|item| seen.insert((*item).clone())).cloned().collect()
}

/// Like [`fuse`], with a weight for each ranking, and with `k` in place of [`K`].
fn fuse_weighted<T: Clone + Eq + Hash>(rankings: &[(&[T], f64)], k: f64) -> Vec<(T, f64)> {
    let mut fused: Vec<(T, f64)> = Vec::new();
    let mut places: HashMap<T, (usize, usize)> = HashMap::new();
    for (ranking, (items, weight)) in rankings.iter().enumerate() {
        for (place, item) in items.iter().enumerate() {
            #[expect(clippy::cast_precision_loss, reason = "a place is small")]
            let score = weight / (k + (place + 1) as f64);
            match places.get_mut(item) {
                Some((_, last)) if *last == ranking => {}
                Some((at, last)) => {
                    *last = ranking;
                    fused[*at].1 += score;
                }
                None => {
                    places.insert(item.clone(), (fused.len(), ranking));
                    fused.push((item.clone(), score));
                }
            }
        }
    }
    fused.sort_by(|one, other| other.1.total_cmp(&one.1));
    fused
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(rankings: &[&[&'static str]]) -> Vec<&'static str> {
        fuse(rankings).into_iter().map(|(item, _)| item).collect()
    }

    #[test]
    fn an_item_of_two_rankings_is_before_the_first_of_one() {
        assert_eq!(order(&[&["a", "b", "c"], &["d", "c"]]), ["c", "a", "d", "b"]);
    }

    #[test]
    fn one_ranking_keeps_its_order_and_none_is_empty() {
        assert_eq!(order(&[&["a", "b"], &[]]), ["a", "b"]);
        assert!(order(&[]).is_empty());
    }

    #[test]
    fn by_words_and_by_vectors_is_before_by_one_and_vectors_before_words() {
        let order: Vec<_> =
            hybrid(&["w", "both"], &["v", "both"]).into_iter().map(|(item, _)| item).collect();
        assert_eq!(order, ["both", "v", "w"]);
        assert_eq!(
            hybrid(&["a", "b"], &[]).into_iter().map(|(item, _)| item).collect::<Vec<_>>(),
            ["a", "b"]
        );
    }

    #[test]
    fn an_item_counts_once_a_ranking() {
        assert_eq!(order(&[&["a", "b", "b", "b"]]), ["a", "b"]);
        let fused = fuse(&[&["a", "a"][..]]);
        assert!((fused[0].1 - 1.0 / 61.0).abs() < 1e-12);
    }

    #[test]
    fn by_turns_each_ranking_keeps_its_best() {
        assert_eq!(by_turns(&[1, 2, 3, 4], &[9, 1, 8]), [1, 9, 2, 3, 8, 4]);
        assert_eq!(by_turns(&[], &[2, 2, 1]), [2, 1]);
    }
}
