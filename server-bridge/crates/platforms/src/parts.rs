//! Cuts styled texts into parts of a limited length.
//!
//! A part ends between blocks if a block ends in the part's second half, else between lines, between words, or between characters as readers
//! see them. Styles belong to pieces, so a block of code that is cut is automatically closed in one part and opened again in the next.

use unicode_segmentation::UnicodeSegmentation as _;

use crate::platform::Unit;
use crate::styled::{Piece, Place, Style, Styled};

/// Counts the length of a text as one platform does.
pub trait Cost {
    /// Returns the length of a text in a style, including the characters that escaping adds: at least 1 for each character.
    fn text(&self, text: &str, style: &Style) -> usize;

    /// Returns the length of the marks, tags or fences around a piece of this style.
    fn around(&self, style: &Style) -> usize;
}

/// Texts without markup, for platforms that take styles separately from the text.
impl Cost for Unit {
    fn text(&self, text: &str, _: &Style) -> usize {
        match self {
            Self::Bytes => text.len(),
            Self::Chars => text.chars().count(),
            Self::Utf16 => text.encode_utf16().count(),
        }
    }

    fn around(&self, _: &Style) -> usize {
        0
    }
}

/// The most bytes that a character takes.
const CHAR_MAX_BYTES: usize = 4;

/// Cuts a text into parts that each cost at most `max`. A single character that costs more than that with the marks around it is left out.
/// Parts have no empty lines at their beginning and end, except in code.
pub fn split(styled: &Styled, max: usize, cost: &dyn Cost) -> Vec<Styled> {
    let mut parts = Vec::new();
    let mut part = Building::default();
    for piece in &styled.pieces {
        let mut rest = piece.text.as_str();
        while !rest.is_empty() {
            let around = cost.around(&piece.style);
            let room = max.saturating_sub(part.cost + around);
            // No more than this can fit, so no more is looked at.
            let near = &rest[..rest.floor_char_boundary((room + 1).saturating_mul(CHAR_MAX_BYTES))];
            if near.len() == rest.len() && cost.text(rest, &piece.style) <= room {
                part.push(rest, &piece.style, cost);
                break;
            }
            let fits = fitting(near, &piece.style, room, cost);
            let at = cut(rest, fits, &piece.style);
            if at > 0 && (is_good(rest, at) || part.is_empty()) {
                part.push(&rest[..at], &piece.style, cost);
                rest = &rest[at..];
            } else if part.is_empty() {
                // With the marks around it, not even one character fits.
                rest = &rest[rest.graphemes(true).next().map_or(rest.len(), str::len)..];
                continue;
            } else if at > 0 && part.cost < max / 2 {
                part.push(&rest[..at], &piece.style, cost);
                rest = &rest[at..];
            }
            parts.extend(part.take());
        }
    }
    parts.extend(part.take());
    parts
}

/// A part that is being built.
#[derive(Default)]
struct Building {
    styled: Styled,
    cost: usize,
}

impl Building {
    fn is_empty(&self) -> bool {
        self.styled.pieces.is_empty()
    }

    fn push(&mut self, text: &str, style: &Style, cost: &dyn Cost) {
        self.cost += cost.text(text, style) + cost.around(style);
        self.styled.push(text, style);
    }

    /// The finished part; `None` if it has no visible text.
    fn take(&mut self) -> Option<Styled> {
        self.cost = 0;
        let styled = std::mem::take(&mut self.styled).trimmed();
        (!styled.is_empty()).then_some(styled)
    }
}

/// Returns how many bytes of a text fit, ending between characters as readers see them.
fn fitting(text: &str, style: &Style, room: usize, cost: &dyn Cost) -> usize {
    let (mut bytes, mut used) = (0, 0);
    for grapheme in text.graphemes(true) {
        used += cost.text(grapheme, style);
        if used > room {
            // A character with too many combining marks is cut between the marks; otherwise it would never fit.
            return if bytes == 0 { fitting_chars(text, style, room, cost) } else { bytes };
        }
        bytes += grapheme.len();
    }
    bytes
}

fn fitting_chars(text: &str, style: &Style, room: usize, cost: &dyn Cost) -> usize {
    let (mut bytes, mut used) = (0, 0);
    for c in text.chars() {
        used += cost.text(c.encode_utf8(&mut [0; 4]), style);
        if used > room {
            break;
        }
        bytes += c.len_utf8();
    }
    bytes
}

/// The position at which to cut a text of which `fits` bytes fit.
fn cut(text: &str, fits: usize, style: &Style) -> usize {
    let head = &text[..fits];
    let behind = |end: &str| head.rfind(end).map(|at| at + end.len()).filter(|&at| at >= fits / 2);
    let line = behind("\n");
    if matches!(style.place, Place::Code(_)) {
        return line.unwrap_or(fits);
    }
    behind("\n\n").or(line).or_else(|| behind(" ")).unwrap_or(fits)
}

/// True if a cut at this position follows a line or a word.
fn is_good(text: &str, at: usize) -> bool {
    text[..at].ends_with(['\n', ' '])
}

/// The longest address that is spelled out, in bytes.
const SPELLED_MAX_BYTES: usize = 1000;

/// Adds the address, in parentheses, after each link that the platform does not show as a link.
pub fn spelled(text: &Styled, is_shown: impl Fn(&str) -> bool) -> Styled {
    let mut spelled = Styled::default();
    for Piece { text, style } in &text.pieces {
        let hidden = style.link.as_ref().filter(|address| !is_shown(address));
        let Some(address) = hidden else {
            spelled.push(text, style);
            continue;
        };
        let plain = Style { link: None, ..style.clone() };
        let address = address.strip_prefix("mailto:").unwrap_or(address);
        let words = text.trim_end();
        spelled.push(words, &plain);
        if !words.contains(address) && address.len() <= SPELLED_MAX_BYTES {
            spelled.push(&format!(" ({address})"), &plain);
        }
        spelled.push(&text[words.len()..], &plain);
    }
    spelled
}

/// Moves spaces and line feeds at the ends of pieces out of their style, for platforms whose marks must touch a word.
pub fn tight(part: &Styled) -> Styled {
    let mut tight = Styled::default();
    for Piece { text, style } in &part.pieces {
        if matches!(style.place, Place::Code(_)) {
            tight.push(text, style);
            continue;
        }
        let plain = Style { place: style.place.clone(), ..Style::default() };
        // Spaces belong to code, line feeds do not.
        let is_outside = |c: char| if style.code { c == '\n' } else { c.is_whitespace() };
        let start = text.len() - text.trim_start_matches(is_outside).len();
        let word = text.trim_matches(is_outside);
        tight.push(&text[..start], &plain);
        tight.push(word, style);
        tight.push(&text[start + word.len()..], &plain);
    }
    tight
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    struct Fenced;

    impl Cost for Fenced {
        fn text(&self, text: &str, _: &Style) -> usize {
            text.replace('&', "&amp;").len()
        }

        fn around(&self, style: &Style) -> usize {
            if matches!(style.place, Place::Code(_)) { 8 } else { 0 }
        }
    }

    fn cost(part: &Styled, cost: &dyn Cost) -> usize {
        part.pieces.iter().map(|piece| cost.text(&piece.text, &piece.style) + cost.around(&piece.style)).sum()
    }

    /// Returns the text without the white space that cutting removes.
    fn letters(text: &str) -> String {
        text.split_whitespace().collect()
    }

    #[test]
    fn a_short_text_is_one_part() {
        let styled = Styled::markdown("a **b**");
        assert_eq!(split(&styled, 100, &Unit::Utf16), [styled]);
    }

    #[test]
    fn blocks_and_lines_are_kept_whole() {
        let styled = Styled::plain("one two six\n\nthree four\nfive");
        let parts: Vec<String> = split(&styled, 24, &Unit::Bytes).iter().map(Styled::text).collect();
        assert_eq!(parts, ["one two six", "three four\nfive"]);
    }

    #[test]
    fn code_that_is_cut_is_code_in_both_parts() {
        let styled = Styled::markdown("```sh\necho one\necho two\necho three\n```");
        let parts = split(&styled, 28, &Fenced);
        assert_eq!(parts.len(), 2);
        for part in &parts {
            assert_eq!(part.pieces[0].style.place, Place::Code("sh".to_owned()));
        }
    }

    #[test]
    fn an_address_that_is_not_shown_is_spelled_out() {
        let text = Styled::markdown(
            "[mail](mailto:a@b.example) [a@b.example](mailto:a@b.example) [site](http://a.example)\n\nend",
        );
        let spelled = spelled(&text, |address| address.starts_with("http"));
        assert_eq!(spelled.text(), "mail (a@b.example) a@b.example site\n\nend");
        assert_eq!(spelled.pieces.iter().filter(|piece| piece.style.link.is_some()).count(), 1);
    }

    #[test]
    fn no_character_is_cut_in_two() {
        let family = "👨‍👩‍👧";
        for part in split(&Styled::plain(&family.repeat(10)), 17, &Unit::Utf16) {
            assert_eq!(part.text().len() % family.len(), 0, "{part:?}");
        }
    }

    #[test]
    fn an_endless_character_is_cut_after_all() {
        let zalgo = format!("e{}", "\u{301}".repeat(1000));
        assert_eq!(
            split(&Styled::plain(&zalgo), 100, &Unit::Chars)
                .iter()
                .map(|part| part.text().chars().count())
                .sum::<usize>(),
            1001
        );
    }

    proptest! {
        #[test]
        fn parts_are_never_too_long_and_lose_no_letter(text in "[a-z&é名 \n`*#>|-]{0,600}", max in 20_usize..200) {
            let styled = Styled::markdown(&text);
            for how in [&Unit::Bytes as &dyn Cost, &Unit::Utf16, &Fenced] {
                let parts = split(&styled, max, how);
                prop_assert!(parts.iter().all(|part| cost(part, how) <= max && !part.is_empty()));
                let kept: String = parts.iter().map(Styled::text).collect();
                prop_assert_eq!(letters(&kept), letters(&styled.text()));
            }
        }
    }
}
