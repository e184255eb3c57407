//! Reproducible randomness.

use std::time::Duration;

/// A SplitMix64 generator.
#[derive(Clone, Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number from 0 to `below - 1`.
    pub(crate) fn below(&mut self, below: u64) -> u64 {
        self.next() % below
    }

    pub(crate) fn is_one_in(&mut self, chances: u64) -> bool {
        self.below(chances) == 0
    }

    /// Returns an index into a list of this length.
    pub(crate) fn place(&mut self, length: usize) -> usize {
        self.below(length as u64) as usize
    }

    /// Returns a duration shorter than `below`.
    pub(crate) fn time(&mut self, below: Duration) -> Duration {
        Duration::from_millis(self.below(below.as_millis() as u64))
    }

    pub(crate) fn fork(&mut self) -> Self {
        Self(self.next())
    }
}
