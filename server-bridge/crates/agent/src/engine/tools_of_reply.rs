//! Determines which calls of one answer run concurrently: consecutive calls that change nothing, and consecutive sub-agents. A call that
//! changes something waits for all calls before it, and all calls after it wait for it.

use std::ops::Range;

use crate::limits::{SUB_AGENTS_AT_ONCE, TOOLS_AT_ONCE};
use crate::tool::Beside;

/// The limit on calls of this kind that run at once.
pub(super) fn at_once(beside: Beside) -> usize {
    match beside {
        Beside::Nothing => 1,
        Beside::Readers => TOOLS_AT_ONCE,
        Beside::SubAgents => SUB_AGENTS_AT_ONCE,
    }
}

/// Groups of calls: the calls of a group run at once, and the groups one after the other.
pub(super) fn groups(calls: &[Beside]) -> Vec<Range<usize>> {
    let mut groups: Vec<Range<usize>> = Vec::new();
    for (at, beside) in calls.iter().enumerate() {
        let goes_on = *beside != Beside::Nothing && at > 0 && calls[at - 1] == *beside;
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
        let (r, w) = (Beside::Readers, Beside::Nothing);
        assert!(groups(&[]).is_empty());
        assert_eq!(groups(&[r, r, w, w, r]), [0..2, 2..3, 3..4, 4..5]);
        assert_eq!(groups(&[w, r, r]), [0..1, 1..3]);
    }

    #[test]
    fn sub_agents_in_a_row_are_a_group_and_wait_for_what_stands_before_them() {
        let (r, w, s) = (Beside::Readers, Beside::Nothing, Beside::SubAgents);
        assert_eq!(groups(&[s, s, s, r, r, s, w, s]), [0..3, 3..5, 5..6, 6..7, 7..8]);
        assert_eq!([w, r, s].map(at_once), [1, 8, 3]);
    }
}
