//! The tokenizer: splits a text into its likeliest pieces under a unigram model (Kudo, "Subword regularization", 2018), like SentencePiece.
//!
//! Characters are replaced by the model's table (variants of a letter, control characters), spaces become `▁`, and dynamic programming
//! finds the best sequence of pieces.

use std::collections::HashMap;

/// The mark of a text's start.
pub const START: u32 = 0;

/// The mark of a text's end.
pub const END: u32 = 2;

/// The id of a character that no piece contains.
pub const UNKNOWN: u32 = 3;

/// The character that replaces a space.
const SPACE_MARK: char = '\u{2581}';

/// The difference in score between a character that no piece contains and the worst piece, as in SentencePiece.
const UNKNOWN_PENALTY: f32 = 10.0;

/// An empty slot of the table.
const EMPTY: u32 = u32::MAX;

/// The pieces and the table of characters.
pub struct Tokenizer {
    /// The bytes of all pieces, one after the other.
    bytes: Vec<u8>,
    /// The start of each piece in `bytes`; the last entry is the end of the last piece.
    starts: Vec<u32>,
    /// The logarithm of each piece's probability.
    scores: Vec<f32>,
    unknown_score: f32,
    /// The longest piece, in bytes.
    longest: usize,
    /// A hash table of the pieces' ids, with open addressing; half of its slots are empty.
    table: Vec<u32>,
    /// The replacement of each character.
    replacements: HashMap<char, Box<str>>,
}

/// The best sequence of pieces up to a position in the text.
#[derive(Clone, Copy)]
struct Step {
    score: f32,
    /// The id of the last piece.
    id: u32,
    /// The number of characters of the last piece.
    characters: u32,
}

impl std::fmt::Debug for Tokenizer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Tokenizer").field("pieces", &self.scores.len()).finish_non_exhaustive()
    }
}

impl Tokenizer {
    /// A tokenizer of these pieces and scores. `None` if they do not fit together, or a score is not a number.
    pub(crate) fn new(
        bytes: Vec<u8>,
        starts: Vec<u32>,
        scores: Vec<f32>,
        replacements: HashMap<char, Box<str>>,
    ) -> Option<Self> {
        let fits = starts.len() == scores.len() + 1
            && starts.first() == Some(&0)
            && starts.last().is_some_and(|&end| end as usize == bytes.len())
            && starts.is_sorted()
            && scores.iter().all(|score| score.is_finite())
            && scores.len() > UNKNOWN as usize;
        if !fits {
            return None;
        }
        let longest = starts.windows(2).map(|pair| pair[1] - pair[0]).max()? as usize;
        let unknown_score = scores.iter().copied().fold(f32::MAX, f32::min) - UNKNOWN_PENALTY;
        let table = vec![EMPTY; (scores.len() * 2).next_power_of_two()];
        let mut tokenizer = Self { bytes, starts, scores, unknown_score, longest, table, replacements };
        for id in 0..u32::try_from(tokenizer.scores.len()).ok()? {
            tokenizer.enter(id);
        }
        Some(tokenizer)
    }

    /// The ids of a text's pieces, without the marks of start and end.
    #[must_use]
    pub fn ids(&self, text: &str) -> Vec<u32> {
        let text = self.normalized(text);
        let starts: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        let unreached = Step { score: f32::MIN, id: UNKNOWN, characters: 1 };
        let mut best = vec![unreached; starts.len()];
        best[0].score = 0.0;
        for from in 0..starts.len() - 1 {
            let score = best[from].score;
            let mut hash = Hash::default();
            for to in from + 1..starts.len() {
                let length = starts[to] - starts[from];
                if length > self.longest {
                    break;
                }
                hash.push(&text.as_bytes()[starts[to - 1]..starts[to]]);
                let Some(id) = self.id(hash, &text.as_bytes()[starts[from]..starts[to]]) else { continue };
                let score = score + self.scores[id as usize];
                if id != UNKNOWN && score > best[to].score {
                    let characters = u32::try_from(to - from).expect("a piece is short");
                    best[to] = Step { score, id, characters };
                }
            }
            if score + self.unknown_score > best[from + 1].score {
                best[from + 1] = Step { score: score + self.unknown_score, id: UNKNOWN, characters: 1 };
            }
        }
        let (mut ids, mut at) = (Vec::new(), starts.len() - 1);
        while at > 0 {
            ids.push(best[at].id);
            at -= best[at].characters as usize;
        }
        ids.reverse();
        ids
    }

    /// The text with replaced characters. Each run of spaces is one mark, and the text begins with a mark.
    fn normalized(&self, text: &str) -> String {
        let mut normalized = String::with_capacity(text.len() * 2);
        let mut push = |character: char| {
            let marked = if character == ' ' { SPACE_MARK } else { character };
            let is_first = normalized.is_empty();
            if is_first && character != ' ' {
                normalized.push(SPACE_MARK);
            }
            if character != ' ' || !normalized.ends_with(SPACE_MARK) {
                normalized.push(marked);
            }
        };
        for character in text.chars() {
            match self.replacements.get(&character) {
                Some(replacement) => replacement.chars().for_each(&mut push),
                None => push(character),
            }
        }
        if normalized.is_empty() {
            normalized.push(SPACE_MARK);
        }
        normalized
    }

    fn piece(&self, id: u32) -> &[u8] {
        &self.bytes[self.starts[id as usize] as usize..self.starts[id as usize + 1] as usize]
    }

    fn enter(&mut self, id: u32) {
        let mut hash = Hash::default();
        hash.push(self.piece(id));
        let mut place = hash.place(self.table.len());
        while self.table[place] != EMPTY {
            place = (place + 1) % self.table.len();
        }
        self.table[place] = id;
    }

    fn id(&self, hash: Hash, piece: &[u8]) -> Option<u32> {
        let mut place = hash.place(self.table.len());
        loop {
            match self.table[place] {
                EMPTY => return None,
                id if self.piece(id) == piece => return Some(id),
                _ => place = (place + 1) % self.table.len(),
            }
        }
    }
}

/// The hash FNV-1a, which is extended byte by byte.
#[derive(Clone, Copy)]
struct Hash(u64);

impl Default for Hash {
    fn default() -> Self {
        Self(0xCBF2_9CE4_8422_2325)
    }
}

impl Hash {
    fn push(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3);
        }
    }

    /// The slot in a table whose size is a power of two.
    fn place(self, size: usize) -> usize {
        usize::try_from((self.0 ^ self.0 >> 32) & (size as u64 - 1)).expect("below the table's size")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tokenizer(pieces: &[(&str, f32)]) -> Tokenizer {
        let special = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0)];
        let pieces: Vec<_> = special.iter().chain(pieces).collect();
        let bytes: Vec<u8> = pieces.iter().flat_map(|(piece, _)| piece.bytes()).collect();
        let mut starts = vec![0];
        for (piece, _) in &pieces {
            starts.push(starts.last().unwrap() + u32::try_from(piece.len()).unwrap());
        }
        let scores = pieces.iter().map(|(_, score)| *score).collect();
        let replacements = [('ﬁ', "fi"), ('\t', " "), ('\u{1}', "")];
        let replacements = replacements.into_iter().map(|(from, to)| (from, to.into())).collect();
        Tokenizer::new(bytes, starts, scores, replacements).unwrap()
    }

    #[test]
    fn the_likeliest_pieces_are_chosen_and_unknown_characters_stand_alone() {
        let tokenizer =
            tokenizer(&[("▁", -1.0), ("a", -2.0), ("ab", -3.0), ("b", -2.0), ("▁ab", -3.5), ("fi", -4.0)]);
        assert_eq!(tokenizer.ids("ab"), [8], "-3.5 is more than -1 - 3");
        assert_eq!(tokenizer.ids("aab"), [4, 5, 6]);
        assert_eq!(tokenizer.ids("ab ab"), [8, 8]);
        assert_eq!(tokenizer.ids("  \t\u{1} ab"), [8], "spaces are one");
        assert_eq!(tokenizer.ids("aéﬁ"), [4, 5, UNKNOWN, 9]);
        assert_eq!(tokenizer.ids(""), [4]);
    }

    #[test]
    fn pieces_that_do_not_fit_together_are_refused() {
        let new = |bytes: &[u8], starts: &[u32], scores: &[f32]| {
            Tokenizer::new(bytes.to_vec(), starts.to_vec(), scores.to_vec(), HashMap::new()).is_some()
        };
        assert!(new(b"abcd", &[0, 1, 2, 3, 4], &[0.0; 4]));
        assert!(!new(b"abcd", &[0, 1, 2, 4], &[0.0; 3]), "without one for unknown characters");
        assert!(!new(b"abcd", &[0, 1, 3, 2, 4], &[0.0; 4]));
        assert!(!new(b"abcd", &[0, 1, 2, 3, 5], &[0.0; 4]));
        assert!(!new(b"abcd", &[0, 1, 2, 3, 4], &[0.0, f32::NAN, 0.0, 0.0]));
    }

    proptest! {
        #[test]
        fn any_text_has_pieces(text in "\\PC{0,80}") {
            let tokenizer = tokenizer(&[("▁", -1.0), ("a", -2.0), ("啊", -2.0)]);
            // The normal form of a character has at most 18 characters, as that of U+FDFA.
            prop_assert!(tokenizer.ids(&text).len() <= 18 * text.chars().count() + 1);
            prop_assert!(!tokenizer.ids(&text).is_empty());
        }
    }
}
