//! Which calls of one answer run side by side: those in a row that change nothing. Whatever changes something waits for all
//! before it, and all behind it wait for it.

use std::ops::Range;

/// Groups of calls; each group runs at once, one group after the other.
pub(super) fn groups(is_read_only: &[bool]) -> Vec<Range<usize>> {
    let mut groups: Vec<Range<usize>> = Vec::new();
    for (at, is_reading) in is_read_only.iter().enumerate() {
        let goes_on = *is_reading && at > 0 && is_read_only[at - 1];
        match groups.last_mut() {
            Some(group) if goes_on => group.end = at + 1,
            _ => groups.push(at..at + 1),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_in_a_row_are_a_group_and_a_write_is_one_by_itself() {
        let (r, w) = (true, false);
        assert!(groups(&[]).is_empty());
        assert_eq!(groups(&[r, r, w, w, r]), [0..2, 2..3, 3..4, 4..5]);
        assert_eq!(groups(&[w, r, r]), [0..1, 1..3]);
    }
}
