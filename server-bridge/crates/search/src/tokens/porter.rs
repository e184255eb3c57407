//! Stems of English words: M. F. Porter, "An algorithm for suffix stripping", Program 14 (1980), in the variant of FTS5's `porter`.

use std::borrow::Cow;

/// The shortest word that has a stem, in letters.
const SHORTEST: usize = 3;
/// Words whose ending only looks like a suffix: those of the exceptions in Porter's second algorithm ("English") that occur in this program's texts.
const WHOLE: [&str; 17] = [
    "news", "atlas", "bias", "cosmos", "status", "alias", "inning", "outing", "canning", "herring",
    "earring", "proceed", "exceed", "succeed", "only", "early", "always",
];

/// The stem of a word in lower case. A word with other characters than ASCII letters is returned unchanged.
pub(super) fn stem(word: &str) -> Cow<'_, str> {
    let is_english = word.len() >= SHORTEST && word.bytes().all(|byte| byte.is_ascii_lowercase());
    if !is_english || WHOLE.contains(&word) {
        return Cow::Borrowed(word);
    }
    let mut stem = word.to_owned();
    plural(&mut stem);
    past(&mut stem);
    if stem.ends_with('y') && has_vowel(&stem[..stem.len() - 1]) {
        stem.replace_range(stem.len() - 1.., "i");
    }
    replace_first(&mut stem, DOUBLE_SUFFIXES, 0);
    replace_first(&mut stem, SINGLE_SUFFIXES, 0);
    remove_first(&mut stem);
    last_letters(&mut stem);
    if stem == word { Cow::Borrowed(word) } else { Cow::Owned(stem) }
}

/// Step 2.
const DOUBLE_SUFFIXES: &[(&str, &str)] = &[
    ("ational", "ate"),
    ("tional", "tion"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("izer", "ize"),
    ("bli", "ble"),
    ("alli", "al"),
    ("entli", "ent"),
    ("eli", "e"),
    ("ousli", "ous"),
    ("ization", "ize"),
    ("ation", "ate"),
    ("ator", "ate"),
    ("alism", "al"),
    ("iveness", "ive"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("aliti", "al"),
    ("iviti", "ive"),
    ("biliti", "ble"),
    ("logi", "log"),
];

/// Step 3.
const SINGLE_SUFFIXES: &[(&str, &str)] = &[
    ("icate", "ic"),
    ("ative", ""),
    ("alize", "al"),
    ("iciti", "ic"),
    ("ical", "ic"),
    ("ful", ""),
    ("ness", ""),
];

/// Step 4; longer suffixes come before shorter ones.
const REMOVED_SUFFIXES: &[&str] = &[
    "ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ion", "ism", "ate", "iti", "ous", "ive",
    "ize", "al", "er", "ic", "ou",
];

/// Step 1a.
fn plural(word: &mut String) {
    if word.ends_with("sses") || word.ends_with("ies") {
        word.truncate(word.len() - 2);
    } else if word.ends_with('s') && !word.ends_with("ss") {
        word.pop();
    }
}

/// Step 1b.
fn past(word: &mut String) {
    if word.ends_with("eed") {
        if measure(&word[..word.len() - 3]) > 0 {
            word.pop();
        }
        return;
    }
    let Some(rest) = word.strip_suffix("ed").or_else(|| word.strip_suffix("ing")) else { return };
    if !has_vowel(rest) {
        return;
    }
    word.truncate(rest.len());
    if ["at", "bl", "iz"].iter().any(|end| word.ends_with(end)) {
        word.push('e');
    } else if is_doubled(word) && !word.ends_with(['l', 's', 'z']) {
        word.pop();
    } else if measure(word) == 1 && is_short(word) {
        word.push('e');
    }
}

/// Replaces the ending that the word has, if the measure of the rest is more than `least`.
fn replace_first(word: &mut String, suffixes: &[(&str, &str)], least: usize) {
    let Some((suffix, by)) = suffixes.iter().find(|(suffix, _)| word.ends_with(suffix)) else { return };
    let rest = word.len() - suffix.len();
    if measure(&word[..rest]) > least {
        word.replace_range(rest.., by);
    }
}

fn remove_first(word: &mut String) {
    let Some(suffix) = REMOVED_SUFFIXES.iter().find(|suffix| word.ends_with(**suffix)) else { return };
    let rest = &word[..word.len() - suffix.len()];
    if measure(rest) > 1 && (*suffix != "ion" || rest.ends_with(['s', 't'])) {
        word.truncate(rest.len());
    }
}

/// Step 5.
fn last_letters(word: &mut String) {
    if let Some(rest) = word.strip_suffix('e') {
        let measure = measure(rest);
        if measure > 1 || measure == 1 && !is_short(rest) {
            word.pop();
        }
    }
    if word.ends_with("ll") && measure(word) > 1 {
        word.pop();
    }
}

/// True if the letter at this index is a consonant; `y` is one at the beginning and after a vowel.
fn is_consonant(word: &[u8], at: usize) -> bool {
    match word[at] {
        b'a' | b'e' | b'i' | b'o' | b'u' => false,
        b'y' => at == 0 || !is_consonant(word, at - 1),
        _ => true,
    }
}

/// The number of vowels followed by consonants: `m` of the paper.
fn measure(word: &str) -> usize {
    let word = word.as_bytes();
    (1..word.len()).filter(|&at| is_consonant(word, at) && !is_consonant(word, at - 1)).count()
}

fn has_vowel(word: &str) -> bool {
    let word = word.as_bytes();
    (0..word.len()).any(|at| !is_consonant(word, at))
}

fn is_doubled(word: &str) -> bool {
    match word.as_bytes() {
        word @ [.., one, other] => one == other && is_consonant(word, word.len() - 1),
        _ => false,
    }
}

/// True if the word ends in consonant, vowel, consonant, and the last letter is not w, x or y.
fn is_short(word: &str) -> bool {
    let word = word.as_bytes();
    let length = word.len();
    length > 2
        && is_consonant(word, length - 3)
        && !is_consonant(word, length - 2)
        && is_consonant(word, length - 1)
        && !matches!(word[length - 1], b'w' | b'x' | b'y')
}

#[cfg(test)]
mod tests {
    use super::stem;

    /// The examples of the paper, step by step.
    #[test]
    fn the_papers_examples() {
        for (word, expected) in [
            ("caresses", "caress"),
            ("ponies", "poni"),
            ("cats", "cat"),
            ("feed", "feed"),
            ("agreed", "agre"),
            ("plastered", "plaster"),
            ("bled", "bled"),
            ("motoring", "motor"),
            ("sing", "sing"),
            ("conflated", "conflat"),
            ("sized", "size"),
            ("hopping", "hop"),
            ("falling", "fall"),
            ("hissing", "hiss"),
            ("failing", "fail"),
            ("filing", "file"),
            ("happy", "happi"),
            ("sky", "sky"),
            ("relational", "relat"),
            ("conditional", "condit"),
            ("digitizer", "digit"),
            ("radically", "radic"),
            ("vietnamization", "vietnam"),
            ("operator", "oper"),
            ("hopefulness", "hope"),
            ("sensibiliti", "sensibl"),
            ("triplicate", "triplic"),
            ("electrical", "electr"),
            ("goodness", "good"),
            ("revival", "reviv"),
            ("inference", "infer"),
            ("adjustable", "adjust"),
            ("replacement", "replac"),
            ("adoption", "adopt"),
            ("communism", "commun"),
            ("effective", "effect"),
            ("probate", "probat"),
            ("rate", "rate"),
            ("cease", "ceas"),
            ("controll", "control"),
            ("roll", "roll"),
        ] {
            assert_eq!(stem(word), expected, "{word}");
        }
    }

    #[test]
    fn only_english_words_have_one() {
        for word in ["news", "status", "größe", "v2s", "记忆", "as", ""] {
            assert_eq!(stem(word), word);
        }
    }
}
