//! A file's change in the form that people see: the old content and the new.

use super::visible;
use crate::limits::{EDIT_CONTEXT_LINES, EDIT_SHOWN_BYTES};
use agent::tool::CardData;

/// The card data for a new file, or for completely new content.
pub(super) fn whole(old: Option<&str>, new: &str) -> CardData {
    data(old, new, 1)
}

/// The card data with only the model's own text of a change, for a change that is too long to show; the old text begins at line
/// `first_line` of the file.
pub(super) fn part(old: &str, new: &str, first_line: usize) -> CardData {
    data(Some(old), new, first_line)
}

/// The card data with the difference between two contents, and some lines around it.
pub(super) fn between(old: &str, new: &str) -> CardData {
    let (old, new): (Vec<&str>, Vec<&str>) =
        (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
    let same = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let room = old.len().min(new.len()) - same;
    let same_at_end =
        old.iter().rev().zip(new.iter().rev()).take(room).take_while(|(old, new)| old == new).count();
    let first = same.saturating_sub(EDIT_CONTEXT_LINES);
    let rest = same_at_end.saturating_sub(EDIT_CONTEXT_LINES);
    let part = |lines: &[&str]| lines[first..lines.len() - rest].concat();
    data(Some(&part(&old)), &part(&new), first + 1)
}

fn data(old: Option<&str>, new: &str, first_line: usize) -> CardData {
    let mut is_cut = false;
    let mut shown = |text: &str| {
        // Written out it is no shorter, so nothing that fits is lost.
        let whole = visible::lines(&text[..text.floor_char_boundary(EDIT_SHOWN_BYTES)]);
        let end = whole.floor_char_boundary(EDIT_SHOWN_BYTES);
        is_cut |= text.len() > EDIT_SHOWN_BYTES || end < whole.len();
        whole[..end].to_owned()
    };
    let (old, new) = (old.map(&mut shown), shown(new));
    CardData::Edit { old, new, first_line, is_cut }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(old: Option<&str>, new: &str, first_line: usize, is_cut: bool) -> CardData {
        CardData::Edit { old: old.map(str::to_owned), new: new.to_owned(), first_line, is_cut }
    }

    #[test]
    fn what_differs_is_shown_with_the_lines_around_it() {
        let old: String = (1..=20).map(|line| format!("{line}\n")).collect();
        let new = old.replace("10\n", "ten\n");
        let shown = edit(Some("7\n8\n9\n10\n11\n12\n13\n"), "7\n8\n9\nten\n11\n12\n13\n", 7, false);
        assert_eq!(between(&old, &new), shown);
        assert_eq!(between("a\na\n", "a\n"), edit(Some("a\na\n"), "a\n", 1, false));
        assert_eq!(between("", "a"), edit(Some(""), "a", 1, false));
        assert_eq!(between("a", "b"), edit(Some("a"), "b", 1, false));
    }

    #[test]
    fn a_long_one_is_cut_and_what_cannot_be_seen_is_written_out() {
        assert_eq!(whole(None, "a\u{1b}b\n"), edit(None, "a\\u{1b}b\n", 1, false));
        let long = "\u{1b}".repeat(EDIT_SHOWN_BYTES);
        let CardData::Edit { new, is_cut, .. } = whole(None, &long) else { panic!("no edit") };
        assert!(is_cut && new.len() <= EDIT_SHOWN_BYTES);
    }
}
