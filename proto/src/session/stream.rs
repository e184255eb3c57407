//! One stream's bookkeeping: what waits to be sent, what may be sent, what may arrive.

use std::collections::VecDeque;

use bytes::Bytes;

use crate::frame::{Channel, DataBuf, Header, Kind};
use crate::ids::StreamId;
use crate::limits::MAX_QUEUED_FRAMES;

/// Something that waits to be sent, in the stream's order.
#[derive(Debug)]
pub(super) enum Outgoing {
    Control(Bytes),
    /// The frame that ends the stream.
    Last(Bytes),
    Data(Channel, DataBuf),
    End(Channel),
    Gap(Channel, u64),
}

/// Both directions of one stream.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) carries_data: bool,
    pub(super) cancel_sent: bool,
    /// Whether the stream stands in the session's line of ready streams.
    pub(super) in_line: bool,
    outgoing: VecDeque<Outgoing>,
    ended: bool,
    /// Bytes that may still be queued. Credit is taken when data is queued, so whatever is queued may be sent.
    send_credit: u64,
    sent_offset: u64,
    /// The size of the receive window that this side keeps granted.
    window: u64,
    receive_credit: u64,
    received_offset: u64,
    /// Drained by the consumer and not granted again yet.
    drained: u64,
    grant_queued: bool,
}

impl Stream {
    pub(super) fn new(carries_data: bool, send_credit: u32, window: u32) -> Self {
        Self {
            carries_data,
            cancel_sent: false,
            in_line: false,
            outgoing: VecDeque::new(),
            ended: false,
            send_credit: u64::from(send_credit),
            sent_offset: 0,
            window: u64::from(window),
            receive_credit: u64::from(window),
            received_offset: 0,
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
        match &outgoing {
            Outgoing::Data(_, bytes) => self.send_credit -= bytes.len() as u64,
            Outgoing::Last(_) => self.ended = true,
            Outgoing::Control(_) | Outgoing::End(_) | Outgoing::Gap(..) => {}
        }
        self.outgoing.push_back(outgoing);
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

    /// Forgets queued data, which a cancel made pointless; control frames stay.
    pub(super) fn drop_unsent_data(&mut self) {
        self.outgoing.retain(|outgoing| matches!(outgoing, Outgoing::Control(_) | Outgoing::Last(_)));
    }

    /// The next frame, and whether it is the stream's last.
    pub(super) fn next_frame(&mut self, id: StreamId) -> Option<(Bytes, bool)> {
        let header = |kind, channel: Channel, sequence| Header {
            flags: channel as u8,
            sequence,
            ..Header::new(kind, id)
        };
        let offset = self.sent_offset;
        let frame = match self.outgoing.pop_front()? {
            Outgoing::Control(frame) => frame,
            Outgoing::Last(frame) => return Some((frame, true)),
            Outgoing::Data(channel, bytes) => {
                self.sent_offset += bytes.len() as u64;
                bytes.into_frame(header(Kind::Data, channel, offset))
            }
            Outgoing::End(channel) => header(Kind::End, channel, offset).frame(&[]),
            Outgoing::Gap(channel, dropped) => {
                self.sent_offset += dropped;
                header(Kind::Gap, channel, offset).frame(&dropped.to_le_bytes())
            }
        };
        Some((frame, false))
    }

    pub(super) fn received_offset(&self) -> u64 {
        self.received_offset
    }

    /// Counts data that arrived; `false` when it is more than was granted, or than can be counted behind a gap.
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

    /// All that was drained, granted again.
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
