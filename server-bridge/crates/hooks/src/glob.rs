//! Globs: `*` matches any text, every other character matches itself.

/// True if a whole text matches a glob. The time is linear in the length of the text.
pub(crate) fn fits(glob: &str, text: &str) -> bool {
    let Some((first, rest)) = glob.split_once('*') else { return glob == text };
    let (middle, last) = rest.rsplit_once('*').unwrap_or(("", rest));
    let Some(mut open) = text.strip_prefix(first).and_then(|text| text.strip_suffix(last)) else {
        return false;
    };
    // Each piece is matched as early as possible, which leaves the most room for the pieces after it.
    for piece in middle.split('*').filter(|piece| !piece.is_empty()) {
        match open.find(piece) {
            Some(at) => open = &open[at + piece.len()..],
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The definition of a match, which takes exponential time.
    fn defined(glob: &[char], text: &[char]) -> bool {
        match glob.split_first() {
            None => text.is_empty(),
            Some(('*', rest)) => (0..=text.len()).any(|at| defined(rest, &text[at..])),
            Some((letter, rest)) => text.first() == Some(letter) && defined(rest, &text[1..]),
        }
    }

    #[test]
    fn a_glob_covers_the_whole_text() {
        assert!(fits("*git commit*", "cd x && git commit -m y"));
        assert!(fits("git *", "git push\nrm x"));
        assert!(!fits("git *", "sudo git push"));
        assert!(!fits("a*a", "a"));
        assert!(fits("", ""));
    }

    proptest! {
        #[test]
        fn globs_are_as_defined(glob in "[ab*]{0,8}", text in "[ab]{0,8}") {
            let letters = |text: &str| text.chars().collect::<Vec<_>>();
            prop_assert_eq!(fits(&glob, &text), defined(&letters(&glob), &letters(&text)));
        }
    }
}
