//! A command on a simulated machine: its output and its state.

use proto::Channel;
use proto::message::{ExecExited, ExecStreamsClosed, ExitStatus};

use crate::random::Random;

/// The number of bytes of one channel before output switches to the other one.
const STRIPE: u64 = 3_333;

/// The minimal numbers of steps in which commands write their output; a command's number selects one of them.
const PACES: [u64; 3] = [6, 24, 96];

/// A command: its number, the length of its output in bytes, and its exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Script {
    /// The machine that the command is meant for.
    pub(crate) machine: u64,
    pub(crate) seed: u64,
    pub(crate) length: u64,
    pub(crate) code: i32,
}

impl Script {
    pub(crate) fn line(self) -> String {
        let Self { machine, seed, length, code } = self;
        format!("{machine} {seed} {length} {code}")
    }

    pub(crate) fn parse(line: &str) -> Self {
        let mut numbers = line.split(' ').map(|number| number.parse::<u64>().unwrap());
        let mut next = || numbers.next().unwrap();
        Self { machine: next(), seed: next(), length: next(), code: i32::try_from(next()).unwrap() }
    }

    /// Returns the byte of the output at an offset.
    pub(crate) fn byte(self, offset: u64) -> u8 {
        (offset.wrapping_mul(31) ^ (offset >> 8) ^ self.seed) as u8
    }

    /// Returns a range of the output.
    pub(crate) fn bytes(self, from: u64, length: u64) -> Vec<u8> {
        (from..from + length).map(|offset| self.byte(offset)).collect()
    }
}

pub(crate) fn channel_of(offset: u64) -> Channel {
    if (offset / STRIPE).is_multiple_of(2) { Channel::Stdout } else { Channel::Stderr }
}

/// Returns the number of bytes up to the next switch between channels.
pub(crate) fn left_of_channel(offset: u64) -> u64 {
    (offset / STRIPE + 1) * STRIPE - offset
}

/// Returns the number of bytes of each channel up to an offset.
pub(crate) fn totals(offset: u64) -> (u64, u64) {
    let (pairs, rest) = (offset / (2 * STRIPE), offset % (2 * STRIPE));
    let stdout = pairs * STRIPE + rest.min(STRIPE);
    (stdout, offset - stdout)
}

#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) script: Script,
    pub(crate) produced: u64,
    pub(crate) is_cancelled: bool,
    /// Output before this offset was drained and is not kept.
    pub(crate) floor: u64,
    pub(crate) is_acknowledged: bool,
    /// True if the runner's process ended and lost the job.
    pub(crate) is_forgotten: bool,
}

impl Job {
    pub(crate) fn new(script: Script) -> Self {
        Self {
            script,
            produced: 0,
            is_cancelled: false,
            floor: 0,
            is_acknowledged: false,
            is_forgotten: false,
        }
    }

    /// Produces some output, or all the rest at once.
    pub(crate) fn work(&mut self, random: &mut Random, at_once: bool) {
        if !self.is_cancelled && !self.is_forgotten {
            let left = self.script.length - self.produced;
            let steps = PACES[self.script.seed as usize % PACES.len()];
            let some = random.below(self.script.length / steps + 2).min(left);
            self.produced += if at_once { left } else { some };
        }
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.is_cancelled || self.produced == self.script.length
    }

    pub(crate) fn exited(&self) -> ExecExited {
        ExecExited {
            status: ExitStatus::Code(self.script.code),
            timed_out: false,
            cancelled: self.is_cancelled,
            sandbox_denied: false,
            duration_us: 1,
        }
    }

    pub(crate) fn closed(&self) -> ExecStreamsClosed {
        let (stdout_bytes, stderr_bytes) = totals(self.produced);
        ExecStreamsClosed { stdout_bytes, stderr_bytes, dropped_bytes: 0, still_open: false }
    }
}
