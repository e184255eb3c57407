//! Folds characters to one form: NFKC, without accents, traditional Chinese to simplified.

use std::collections::HashMap;
use std::sync::LazyLock;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::decompose_canonical;

/// Pairs of a traditional and its simplified character, one pair per line, made by `simplified.sh`.
const SIMPLIFIED: &str = include_str!("simplified.txt");

/// The simplified character of each traditional one.
static TO_SIMPLIFIED: LazyLock<HashMap<char, char>> = LazyLock::new(|| {
    let pair = |line: &str| {
        let mut characters = line.chars();
        Some((characters.next()?, characters.next()?))
    };
    SIMPLIFIED.lines().filter_map(pair).collect()
});

/// A character, folded except for its case.
pub(super) struct Folded {
    pub(super) character: char,
    pub(super) class: Class,
}

/// The role of a character in a text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// A character of a script without spaces between its words.
    Run,
    /// A letter or digit of another script, or an underscore.
    Word,
    /// An emoji or another pictograph.
    Picture,
    /// Anything between words.
    Gap,
}

/// The folded characters of a text in order, without accents, joiners and other marks.
pub(super) fn fold(text: &str) -> impl Iterator<Item = Folded> + '_ {
    text.nfkc().filter(|character| !is_decoration(*character)).map(|character| {
        let character = base(character);
        Folded { character, class: class(character) }
    })
}

/// Appends a letter in lower case; ligatures become their letters.
pub(super) fn put_lower(character: char, to: &mut String) {
    match character {
        'ß' | 'ẞ' => to.push_str("ss"),
        'æ' | 'Æ' => to.push_str("ae"),
        'œ' | 'Œ' => to.push_str("oe"),
        'ø' | 'Ø' => to.push('o'),
        'đ' | 'Đ' => to.push('d'),
        'ł' | 'Ł' => to.push('l'),
        'ı' | 'İ' => to.push('i'),
        'ς' => to.push('σ'),
        _ => to.extend(character.to_lowercase().filter(|lower| !is_decoration(*lower))),
    }
}

fn base(character: char) -> char {
    match character {
        '\0'..='\u{7f}' => character,
        // Latin, Greek and Cyrillic with accents: the letter is the first of the decomposition.
        '\u{80}'..='\u{58f}' | '\u{1e00}'..='\u{1fff}' => {
            let mut first = None;
            decompose_canonical(character, |part| {
                first.get_or_insert(part);
            });
            first.unwrap_or(character)
        }
        _ => TO_SIMPLIFIED.get(&character).copied().unwrap_or(character),
    }
}

/// True for combining accents, points of Hebrew and Arabic, joiners, variation selectors and skin tones.
fn is_decoration(character: char) -> bool {
    matches!(character,
        '\u{ad}' | '\u{300}'..='\u{36f}' | '\u{591}'..='\u{5bd}' | '\u{5bf}' | '\u{5c1}'..='\u{5c2}' | '\u{5c4}'..='\u{5c7}'
        | '\u{610}'..='\u{61a}' | '\u{640}' | '\u{64b}'..='\u{65f}' | '\u{670}' | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}'
        | '\u{20e3}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{1f3fb}'..='\u{1f3ff}' | '\u{e0000}'..='\u{e0fff}')
}

fn class(character: char) -> Class {
    match character {
        '_' => Class::Word,
        '\0'..='\u{7f}' if character.is_ascii_alphanumeric() => Class::Word,
        '\0'..='\u{7f}' => Class::Gap,
        // The middle dot between foreign names.
        '\u{30fb}' => Class::Gap,
        // Thai and Lao; Burmese; Korean; Khmer; kana, Chinese and its phonetic letters.
        '\u{e01}'..='\u{eff}'
        | '\u{1000}'..='\u{109f}'
        | '\u{1100}'..='\u{11ff}'
        | '\u{1780}'..='\u{17dd}'
        | '\u{3005}'..='\u{3007}'
        | '\u{3031}'..='\u{3035}'
        | '\u{3041}'..='\u{318f}'
        | '\u{31a0}'..='\u{31bf}'
        | '\u{31f0}'..='\u{31ff}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{a960}'..='\u{a97c}'
        | '\u{ac00}'..='\u{d7ff}'
        | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{323af}' => Class::Run,
        '\u{2190}'..='\u{21ff}'
        | '\u{2300}'..='\u{23ff}'
        | '\u{25a0}'..='\u{27bf}'
        | '\u{2b00}'..='\u{2bff}'
        | '\u{1f000}'..='\u{1faff}' => Class::Picture,
        // Signs of Indian scripts are parts of their letters, though some are not alphabetic themselves.
        '\u{900}'..='\u{dff}' if !matches!(character, '\u{964}' | '\u{965}') => Class::Word,
        _ if character.is_alphanumeric() => Class::Word,
        _ => Class::Gap,
    }
}
