//! A stream's input: the part that the session has not taken yet, and the part that the runner has not.

use std::collections::VecDeque;

use bytes::Bytes;
use proto::{DataBuf, Session, StreamId};

use crate::driver::handle::INPUT;
use crate::driver::stream::StreamState;

/// A piece of input, in its order.
#[derive(Debug)]
enum Unsent {
    Data(DataBuf),
    /// The piece was sent over an earlier link: its room was given back then.
    Again(DataBuf),
    End,
}

/// One stream's input. The unsent part is bounded by [`StreamState::room`], the kept part by the runner's credit.
#[derive(Debug, Default)]
pub(super) struct Input {
    unsent: VecDeque<Unsent>,
    /// Handed to the session, but perhaps not taken by the command.
    kept: VecDeque<Bytes>,
    kept_bytes: u64,
    /// The offset of the first kept byte; unknown for an exec that another caller started.
    offset: Option<u64>,
    /// True if the end was handed to the session.
    has_ended: bool,
    /// True if nothing may be sent before the runner has reported the offset to resume at.
    is_held: bool,
}

/// The runner asks for input from an impossible offset.
#[derive(Debug)]
pub(super) struct WrongOffset;

impl Input {
    /// The input of a stream that starts something.
    pub(super) fn new() -> Self {
        Self { offset: Some(0), ..Self::default() }
    }

    /// The input of something that is already running.
    pub(super) fn of_attached() -> Self {
        Self { is_held: true, ..Self::default() }
    }

    /// Adds data; returns true if the stream has to queue to send it.
    pub(super) fn push(&mut self, bytes: DataBuf) -> bool {
        self.queue(Unsent::Data(bytes))
    }

    /// Adds the end; returns true if the stream has to queue to send it.
    pub(super) fn push_end(&mut self) -> bool {
        self.queue(Unsent::End)
    }

    fn queue(&mut self, unsent: Unsent) -> bool {
        let was_empty = self.unsent.is_empty();
        self.unsent.push_back(unsent);
        was_empty && !self.is_held
    }

    /// Drops all of it: the stream was cancelled.
    pub(super) fn clear(&mut self) {
        self.unsent.clear();
        self.kept.clear();
        self.kept_bytes = 0;
    }

    /// Sends nothing more until the runner has reported the offset to resume at.
    pub(super) fn hold(&mut self) {
        self.is_held = true;
    }

    /// True if there is something to send that may be sent.
    pub(super) fn is_ready(&self) -> bool {
        !self.is_held && !self.unsent.is_empty()
    }

    /// Records that the command took this many bytes.
    pub(super) fn taken(&mut self, bytes: u64) {
        let bytes = bytes.min(self.kept_bytes);
        self.kept_bytes -= bytes;
        self.offset = self.offset.map(|offset| offset + bytes);
        let mut left = bytes;
        while left > 0
            && let Some(first) = self.kept.front_mut()
        {
            let length = first.len() as u64;
            if length > left {
                // Less than a piece, which is at most 64 KiB.
                let _taken = first.split_to(left as usize);
                return;
            }
            left -= length;
            self.kept.pop_front();
        }
    }

    /// Resumes at an offset: everything from there on is sent again.
    pub(super) fn resume(&mut self, offset: u64) -> Result<(), WrongOffset> {
        let first = *self.offset.get_or_insert(offset);
        let taken = offset.checked_sub(first).filter(|taken| *taken <= self.kept_bytes).ok_or(WrongOffset)?;
        self.taken(taken);
        if std::mem::take(&mut self.has_ended) {
            self.unsent.push_front(Unsent::End);
        }
        for bytes in self.kept.drain(..).rev() {
            self.unsent.push_front(Unsent::Again(DataBuf::copy_from(&bytes)));
        }
        self.kept_bytes = 0;
        self.is_held = false;
        Ok(())
    }

    /// Gives the session as much as its credit allows; returns true if all of it was given.
    pub(super) fn pump(&mut self, id: StreamId, session: &mut Session, state: &StreamState) -> bool {
        while let Some(unsent) = self.unsent.pop_front() {
            let (mut bytes, is_new) = match unsent {
                Unsent::End => {
                    session.end(id, INPUT);
                    self.has_ended = true;
                    continue;
                }
                Unsent::Data(bytes) => (bytes, true),
                Unsent::Again(bytes) => (bytes, false),
            };
            let piece = if is_new { Unsent::Data } else { Unsent::Again };
            let writable = session.writable(id);
            if writable == 0 {
                self.unsent.push_front(piece(bytes));
                return false;
            }
            if writable < bytes.len() {
                let rest = bytes.split_off(writable);
                self.unsent.push_front(piece(rest));
            }
            if is_new {
                state.room.add_permits(bytes.len());
            }
            let sent = session.data(id, INPUT, bytes);
            self.kept_bytes += sent.len() as u64;
            self.kept.push_back(sent);
        }
        true
    }
}
