//! Showing a terminal again to a client that attaches to it.
//!
//! Programs write differences, so what a screen shows depends on everything that was ever written to it. Replaying all of it may take 64 MiB;
//! the end of it is enough for a shell, and a full-screen program redraws on request (the `redraw` frame). The replay begins at a place where
//! no character or sequence is cut.

use bytes::{Buf, Bytes};

use crate::limits::{REPLAY_BYTES, REPLAY_SEARCH_BYTES};

/// The bytes sent to a terminal before a replay: they reset every mode to its initial state, and clear the screen.
const CLEAN: &[u8] = b"\x1b[!p\x1b[?1049l\x1b[H\x1b[2J\x1b[3J";

/// The end of a terminal's output, as it is shown to a client that attaches.
///
/// ```text
/// let replay = Replay::of(output_bytes);            // what the exec has written so far, as its report says
/// attach from replay.offset(); for each piece of output: show(replay.pass(piece)); then control.redraw(rows, columns)
/// ```
#[derive(Debug)]
pub(super) struct Replay {
    offset: u64,
    /// How much more may be skipped, in bytes; `None` once a place to begin was found.
    search: Option<usize>,
}

impl Replay {
    /// A replay of an exec that has written this many bytes, including gaps.
    pub(super) fn of(output_bytes: u64) -> Self {
        let offset = output_bytes.saturating_sub(REPLAY_BYTES);
        Self { offset, search: (offset > 0).then_some(REPLAY_SEARCH_BYTES) }
    }

    /// The offset to attach from.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// The bytes to send to the terminal first.
    pub(super) fn preamble(&self) -> &'static [u8] {
        CLEAN
    }

    /// Records that the runner dropped output: what follows may begin inside a sequence.
    pub(super) fn gap(&mut self) {
        self.search = Some(REPLAY_SEARCH_BYTES);
    }

    /// The part of this output to show: all of it, except before the first place to begin.
    pub(super) fn pass(&mut self, mut output: Bytes) -> Bytes {
        let Some(left) = self.search else { return output };
        let window = &output[..output.len().min(left)];
        match begin_at(window) {
            Some(at) => {
                self.search = None;
                output.advance(at);
                output
            }
            // There is no place to begin within reach: a line without its beginning is better than nothing.
            None if window.len() == left => {
                self.search = None;
                output
            }
            None => {
                self.search = Some(left - window.len());
                Bytes::new()
            }
        }
    }
}

/// A place where no character or sequence is cut: after the end of a line, or at an escape, which ends any sequence.
fn begin_at(output: &[u8]) -> Option<usize> {
    let at = output.iter().position(|byte| matches!(byte, b'\n' | 0x1b))?;
    Some(if output[at] == b'\n' { at + 1 } else { at })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pass(replay: &mut Replay, output: &[u8]) -> Vec<u8> {
        replay.pass(Bytes::copy_from_slice(output)).to_vec()
    }

    #[test]
    fn short_output_is_replayed_whole() {
        let mut replay = Replay::of(REPLAY_BYTES);
        assert_eq!(replay.offset(), 0);
        assert_eq!(pass(&mut replay, b"ab"), b"ab");
    }

    #[test]
    fn a_replay_begins_behind_a_line_or_at_a_sequence() {
        for (output, shown) in [
            (&b"\x98\x80 torn\nline"[..], &b"line"[..]),
            (b"31mtorn \x1b[1mbold\n", b"\x1b[1mbold\n"),
            (b"\nline", b"line"),
            (b"torn\n", b""),
        ] {
            let mut replay = Replay::of(REPLAY_BYTES + 7);
            assert_eq!(replay.offset(), 7);
            assert_eq!(pass(&mut replay, output), shown);
            assert_eq!(pass(&mut replay, b"more"), b"more");
        }
    }

    #[test]
    fn the_place_to_begin_at_may_come_later_or_never() {
        let mut replay = Replay::of(u64::MAX);
        assert_eq!(pass(&mut replay, b"torn"), b"");
        assert_eq!(pass(&mut replay, b"torn\nline"), b"line");
        let mut replay = Replay::of(u64::MAX);
        assert_eq!(pass(&mut replay, &[b'x'; REPLAY_SEARCH_BYTES - 1]), b"");
        assert_eq!(pass(&mut replay, b"yz\n"), b"yz\n");
        assert_eq!(pass(&mut replay, b"all"), b"all");
    }

    #[test]
    fn behind_a_gap_the_search_begins_again() {
        let mut replay = Replay::of(0);
        assert_eq!(pass(&mut replay, b"a"), b"a");
        replay.gap();
        assert_eq!(pass(&mut replay, b"torn\nb"), b"b");
    }
}
