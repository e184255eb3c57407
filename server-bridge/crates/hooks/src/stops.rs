//! Stop loops: hooks that send an agent back to work whenever it wants to stop.

use crate::limits::STOPS_REFUSED;

/// The times in a row that hooks kept an agent from stopping. A message of the user begins a new count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stops(u32);

impl Stops {
    /// True if the agent works only because a hook kept it from stopping: the payload's `stop_hook_active`.
    pub fn is_active(self) -> bool {
        self.0 > 0
    }

    /// Notes that hooks want the agent to work on. Returns whether it does; at the limit it stops all the same.
    #[must_use]
    pub fn works_on(&mut self) -> bool {
        let works_on = self.0 < STOPS_REFUSED;
        self.0 = self.0.saturating_add(1);
        works_on
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_loop_ends() {
        let mut stops = Stops::default();
        assert!(!stops.is_active());
        assert_eq!((0..100).filter(|_| stops.works_on()).count(), STOPS_REFUSED as usize);
        assert!(stops.is_active());
    }
}
