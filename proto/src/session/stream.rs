//! One stream's bookkeeping: the queued frames, and the limits for sending and receiving.

use std::collections::VecDeque;

use bytes::Bytes;

use crate::frame::{Channel, DataBuf, HEADER_BYTES, Header, Kind};
use crate::ids::StreamId;
use crate::limits::MAX_QUEUED_FRAMES;

/// A queued item, in the stream's order.
#[derive(Debug)]
pub(super) enum Outgoing {
    Control(Bytes),
    /// Data, or the end of a channel: pointless once the stream is cancelled.
    Flow(Bytes),
    /// The frame that ends the stream.
    Last(Bytes),
}

/// Both directions of one stream.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) carries_data: bool,
    pub(super) cancel_sent: bool,
    /// True if the stream is in the session's queue of ready streams.
    pub(super) in_line: bool,
    outgoing: VecDeque<Outgoing>,
    ended: bool,
    /// Bytes that may still be queued. Credit is taken when data is queued, so anything queued may be sent.
    send_credit: u64,
    /// The offset of the next queued byte.
    queued_offset: u64,
    /// The size of the receive window that this side keeps granted.
    window: u64,
    receive_credit: u64,
    received_offset: u64,
    /// Drained by the consumer and not granted again yet.
    drained: u64,
    grant_queued: bool,
}

impl Stream {
    /// `first` is the offset at which the answering side's data begins; `answers` is true if this is that side.
    pub(super) fn new(carries_data: bool, send_credit: u32, window: u32, first: u64, answers: bool) -> Self {
        let (queued_offset, received_offset) = if answers { (first, 0) } else { (0, first) };
        Self {
            carries_data,
            cancel_sent: false,
            in_line: false,
            outgoing: VecDeque::new(),
            ended: false,
            send_credit: u64::from(send_credit),
            queued_offset,
            window: u64::from(window),
            receive_credit: u64::from(window),
            received_offset,
            drained: 0,
            grant_queued: false,
        }
    }

    pub(super) fn window(&self) -> u64 {
        self.window
    }

    /// Queues unless the stream's last frame was queued before.
    pub(super) fn push(&mut self, outgoing: Outgoing) {
        if self.ended {
            return;
        }
        self.ended = matches!(outgoing, Outgoing::Last(_));
        self.outgoing.push_back(outgoing);
    }

    /// Queues data, for which there is credit; returns it as a part of its frame.
    pub(super) fn push_data(&mut self, id: StreamId, channel: Channel, bytes: DataBuf) -> Bytes {
        let length = bytes.len() as u64;
        let frame = bytes.into_frame(self.header(Kind::Data, id, channel));
        let body = frame.slice(HEADER_BYTES..);
        if self.push_flow(frame) {
            self.send_credit -= length;
            self.queued_offset += length;
        }
        body
    }

    pub(super) fn push_end(&mut self, id: StreamId, channel: Channel) {
        self.push_flow(self.header(Kind::End, id, channel).frame(&[]));
    }

    pub(super) fn push_gap(&mut self, id: StreamId, channel: Channel, dropped: u64) {
        let header = self.header(Kind::Gap, id, channel);
        if self.push_flow(header.frame(&dropped.to_le_bytes())) {
            self.queued_offset += dropped;
        }
    }

    /// Queues a frame with an offset. A cancel may have dropped earlier ones: nothing may follow then.
    fn push_flow(&mut self, frame: Bytes) -> bool {
        let takes = !self.ended && !self.cancel_sent;
        if takes {
            self.outgoing.push_back(Outgoing::Flow(frame));
        }
        takes
    }

    fn header(&self, kind: Kind, id: StreamId, channel: Channel) -> Header {
        Header { flags: channel as u8, sequence: self.queued_offset, ..Header::new(kind, id) }
    }

    pub(super) fn writable(&self) -> usize {
        if self.ended || self.cancel_sent || self.outgoing.len() >= MAX_QUEUED_FRAMES {
            return 0;
        }
        usize::try_from(self.send_credit).unwrap_or(usize::MAX)
    }

    pub(super) fn has_outgoing(&self) -> bool {
        !self.outgoing.is_empty()
    }

    /// Drops queued data, which a cancel made pointless; control frames stay.
    pub(super) fn drop_unsent_data(&mut self) {
        self.outgoing.retain(|outgoing| !matches!(outgoing, Outgoing::Flow(_)));
    }

    /// The next frame, and true if it is the stream's last.
    pub(super) fn next_frame(&mut self) -> Option<(Bytes, bool)> {
        Some(match self.outgoing.pop_front()? {
            Outgoing::Control(frame) | Outgoing::Flow(frame) => (frame, false),
            Outgoing::Last(frame) => (frame, true),
        })
    }

    /// Resumes the requester's data at an offset, as seen from either side.
    pub(super) fn set_input_offset(&mut self, offset: u64, answers: bool) {
        if answers {
            self.received_offset = offset;
        } else {
            self.queued_offset = offset;
        }
    }

    pub(super) fn received_offset(&self) -> u64 {
        self.received_offset
    }

    /// Counts data that arrived; `false` if it is more than was granted, or than can be counted after a gap.
    pub(super) fn received(&mut self, bytes: u64) -> bool {
        let left = self.receive_credit.checked_sub(bytes);
        let (Some(left), Some(offset)) = (left, self.received_offset.checked_add(bytes)) else {
            return false;
        };
        (self.receive_credit, self.received_offset) = (left, offset);
        true
    }

    /// Counts bytes that the peer dropped; they need no credit.
    pub(super) fn received_gap(&mut self, bytes: u64) -> Result<(), &'static str> {
        self.received_offset = self.received_offset.checked_add(bytes).ok_or("a gap beyond 2^64 bytes")?;
        Ok(())
    }

    /// Counts drained bytes; `true` when a grant is worth a frame and none is queued.
    pub(super) fn consumed(&mut self, bytes: u64) -> bool {
        self.drained = (self.drained + bytes).min(self.window - self.receive_credit);
        let due = self.drained >= self.window / 4 && self.drained > 0 && !self.grant_queued;
        self.grant_queued |= due;
        due
    }

    /// Everything that was drained, granted again.
    pub(super) fn take_grant(&mut self) -> u64 {
        self.grant_queued = false;
        self.receive_credit += self.drained;
        std::mem::take(&mut self.drained)
    }

    /// Adds credit from the peer.
    pub(super) fn grant(&mut self, bytes: u64) -> Result<(), &'static str> {
        self.send_credit = self.send_credit.checked_add(bytes).ok_or("credit beyond 2^64 bytes")?;
        Ok(())
    }
}
