//! Reproducible randomness: a seed is printed, and `SANDBRIDGE_SEED` sets it.

use std::ops::Range;

/// A small random number generator (SplitMix64).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl From<u64> for Random {
    fn from(seed: u64) -> Self {
        Self(seed)
    }
}

impl Random {
    /// Seeded by `$SANDBRIDGE_SEED`, or else by the clock; prints the seed.
    pub fn seeded() -> Self {
        let now = || std::time::UNIX_EPOCH.elapsed().unwrap().subsec_nanos().into();
        let seed = std::env::var("SANDBRIDGE_SEED").map_or_else(|_| now(), |seed| seed.parse().unwrap());
        println!("SANDBRIDGE_SEED={seed}");
        Self(seed)
    }

    /// The next number below `range.end` and not below `range.start`.
    pub fn within(&mut self, range: Range<u64>) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        range.start + (mixed ^ (mixed >> 31)) % (range.end - range.start)
    }
}

/// How many times something is repeated: the value of the environment variable, or a small number.
pub fn count(variable: &str, few: u64) -> u64 {
    std::env::var(variable).map_or(few, |count| count.parse().unwrap())
}
