//! One attached stream: how far it was sent, and how far its peer drained it.

use std::collections::VecDeque;

use proto::limits::MAX_DATA_BYTES;
use proto::message::ExecStreamsClosed;
use proto::{Channel, DataBuf, ErrorKind, WireError};

use super::log::Log;
use crate::stream::StreamHandle;

/// An attached stream.
#[derive(Debug)]
pub(super) struct Reader {
    pub(super) stream: StreamHandle,
    pub(super) wants_output: bool,
    pub(super) cursor: u64,
    /// Up to where the peer's consumer drained the output.
    pub(super) drained: u64,
    pub(super) has_drained: bool,
    /// Gaps that were sent and that `drained` has not passed yet: offset and length.
    gaps: VecDeque<(u64, u64)>,
    pub(super) gap_bytes: u64,
    /// The end of the output when the reader attached. Up to this offset the reader may lag behind.
    pub(super) replay_end: u64,
    pub(super) told_started: bool,
    pub(super) told_exited: bool,
    /// How much input that was taken earlier is about to be sent again, in bytes.
    pub(super) repeated_input: u64,
}

impl Reader {
    /// A stream that already has everything before `offset`; `replay_end` is the current end of the output.
    pub(super) fn new(stream: StreamHandle, offset: u64, wants_output: bool, replay_end: u64) -> Self {
        Self {
            stream,
            wants_output,
            cursor: offset,
            drained: offset,
            has_drained: false,
            gaps: VecDeque::new(),
            gap_bytes: 0,
            replay_end,
            told_started: false,
            told_exited: false,
            repeated_input: 0,
        }
    }

    pub(super) fn detach(&self, why: &str) {
        let detached = WireError::new(ErrorKind::Detached, why);
        self.stream.finish(Err::<ExecStreamsClosed, _>(detached));
    }

    /// True if the peer wanted no more, and got the confirmation.
    pub(super) fn leaves(&self) -> bool {
        if self.stream.has_left() {
            self.detach("left, as asked for");
        }
        self.stream.has_left()
    }

    /// Sends output from the cursor on as far as there is credit.
    pub(super) fn catch_up(&mut self, log: &mut Log) {
        while self.cursor < log.end() {
            if self.cursor < log.start() {
                self.skip_to(log.start());
                continue;
            }
            let room = self.stream.writable().min(MAX_DATA_BYTES);
            if room == 0 {
                return;
            }
            let Some((channel, bytes)) = log.read(self.cursor, room) else { continue };
            self.cursor += bytes.len() as u64;
            self.stream.data(channel, DataBuf::copy_from(&bytes));
        }
    }

    /// Reports that output up to `offset` will not come.
    pub(super) fn skip_to(&mut self, offset: u64) {
        let dropped = offset - self.cursor;
        self.stream.gap(Channel::Main, dropped);
        self.gaps.push_back((self.cursor, dropped));
        self.gap_bytes += dropped;
        self.cursor = offset;
    }

    /// Moves the mark up to which the peer has consumed the output; credit counts data, offsets also count gaps.
    pub(super) fn note_drained(&mut self) {
        let mut drained = self.stream.take_drained();
        self.has_drained |= drained > 0;
        loop {
            let data_end = self.gaps.front().map_or(self.cursor, |(offset, _)| *offset);
            let step = drained.min(data_end.saturating_sub(self.drained));
            self.drained += step;
            drained -= step;
            match self.gaps.front() {
                Some((offset, length)) if self.drained == *offset && (drained > 0 || step > 0) => {
                    self.drained += length;
                    self.gaps.pop_front();
                }
                _ => return,
            }
        }
    }
}
