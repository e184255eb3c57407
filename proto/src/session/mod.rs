//! The session: what the frames of one link mean, and what is sent next. No I/O, no clock, no task.
//!
//! The shell around it feeds whole frames to [`Session::receive`], acts on the [`Event`] it gets, and sends what
//! [`Session::poll_transmit`] hands out until that is `None`. A stream lives like this:
//!
//! ```text
//!             OPEN                                    FIN message or FAIL
//!  (unused) --------> open: messages, DATA <= credit -------------------> gone
//!                       |    CREDIT as the consumer drains                 ^
//!                       +--- CANCEL (originator) --> still open ----------+
//! ```
//! - Only ping, pong, credit, cancel and ack overtake. Everything else keeps its stream's order, and ready streams
//!   take turns, one frame each.
//! - Late frames on a stream that has ended are dropped: they crossed its end on the way.
//! - A wrong offset, more data than credit, or an unused stream closes the link: the peer's bookkeeping is broken.
//! - A request that cannot be understood is answered with FAIL on its own stream; the link lives.

mod close;
mod heartbeat;
mod receive;
mod stream;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};
use std::time::Instant;

use bytes::Bytes;

use crate::error::{ErrorKind, WireError};
use crate::frame::{Channel, DataBuf, FLAG_FIN, Header, Kind};
use crate::ids::{ExecId, StreamId};
use crate::limits::{
    CREDIT_SHARE, LARGE_CREDIT_SHARE, MAX_DATA_BYTES, MAX_DATA_STREAMS, MAX_REQUESTS,
    MAX_STREAM_CREDIT_BYTES, MIN_STREAM_CREDIT_BYTES, SESSION_BUDGET_BYTES, STREAM_CREDIT_BYTES,
};
use crate::message::Message;
use crate::request::Request;
pub use close::{Close, CloseCode};
use heartbeat::Heartbeat;
use stream::{Outgoing, Stream};

/// A CANCEL that stops the work.
const CANCEL_STOP: u16 = 0;
/// A CANCEL that ends the stream and stops nothing.
const CANCEL_LEAVE: u16 = 1;

/// The end of the link that a session serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Opens streams with requests: the server.
    Originator,
    /// Answers them: the runner.
    Executor,
}

/// The consequence of a received frame for the link's owner.
#[derive(Debug, PartialEq, Eq)]
pub enum Event {
    /// A request arrived (executor only).
    Opened(StreamId, Request),
    /// A message arrived (originator only).
    Message {
        /// The stream, or [`StreamId::SESSION`].
        stream: StreamId,
        /// The decoded message.
        message: Message,
        /// True if the stream has ended with this message.
        fin: bool,
    },
    /// The request failed and the stream has ended (originator only).
    Failed(StreamId, WireError),
    /// Data arrived; report it with [`Session::consumed`] once it was drained.
    Data(StreamId, Channel, Bytes),
    /// No more data will arrive on the channel.
    End(StreamId, Channel),
    /// This many bytes of the channel were dropped by the sender.
    Gap(StreamId, Channel, u64),
    /// The originator wants the work stopped (executor only).
    Cancelled(StreamId),
    /// The originator wants this stream ended, without stopping the work (executor only).
    Left(StreamId),
    /// The peer drained this many bytes: they need not be kept any more, and as many more may be written.
    Writable(StreamId, u64),
    /// A result was received and may be forgotten (executor only).
    Acknowledged(ExecId),
    /// The peer closes the link.
    Closed(Close),
}

/// One end of a link. See the module's header.
#[derive(Debug)]
pub struct Session {
    side: Side,
    streams: HashMap<StreamId, Stream>,
    data_streams: usize,
    last_opened: u32,
    /// Credit granted to the peer and not used, over all streams.
    granted_bytes: u64,
    heartbeat: Heartbeat,
    grants: VecDeque<StreamId>,
    cancels: VecDeque<(StreamId, u16)>,
    acks: VecDeque<ExecId>,
    notices: VecDeque<Bytes>,
    /// Streams that have something to send and the credit for it; each at most once.
    ready: VecDeque<StreamId>,
}

impl Session {
    /// A session on a link that was just registered.
    pub fn new(side: Side, now: Instant) -> Self {
        Self {
            side,
            streams: HashMap::new(),
            data_streams: 0,
            last_opened: 0,
            granted_bytes: 0,
            heartbeat: Heartbeat::new(now),
            grants: VecDeque::new(),
            cancels: VecDeque::new(),
            acks: VecDeque::new(),
            notices: VecDeque::new(),
            ready: VecDeque::new(),
        }
    }

    /// Opens a stream with a request (originator only).
    ///
    /// Fails with `busy` when too many are in flight, and with `too_large` when the request does not fit a frame.
    pub fn open(&mut self, request: &Request) -> Result<StreamId, WireError> {
        self.open_with(request, STREAM_CREDIT_BYTES)
    }

    /// Opens a stream with up to `most` bytes in flight from the answering side, at most [`MAX_STREAM_CREDIT_BYTES`], as
    /// long as few streams are open.
    pub fn open_with(&mut self, request: &Request, most: u32) -> Result<StreamId, WireError> {
        debug_assert_eq!(self.side, Side::Originator);
        self.check_room(request)?;
        let body = request.encode()?;
        self.last_opened += 1;
        let id = StreamId(self.last_opened);
        let credit = self.credit_of_a_new_stream(most.min(MAX_STREAM_CREDIT_BYTES));
        let header = Header {
            type_number: request.type_number(),
            sequence: u64::from(credit),
            ..Header::new(Kind::Open, id)
        };
        let first = request.first_offset();
        let mut stream = Stream::new(request.carries_data(), STREAM_CREDIT_BYTES, credit, first, false);
        stream.push(Outgoing::Control(header.frame(&body)));
        self.insert(id, stream);
        self.wake(id);
        Ok(id)
    }

    /// Asks the executor to stop the stream's work (originator only). The stream lives until its answer.
    pub fn cancel(&mut self, id: StreamId) {
        self.give_up(id, CANCEL_STOP);
    }

    /// Asks the executor to end the stream without stopping its work (originator only); for an exec that another stream may
    /// attach to. The stream lives until it is failed with `detached`, or its answer crosses this.
    pub fn leave(&mut self, id: StreamId) {
        self.give_up(id, CANCEL_LEAVE);
    }

    fn give_up(&mut self, id: StreamId, how: u16) {
        if let Some(stream) = self.streams.get_mut(&id)
            && !stream.cancel_sent
        {
            stream.cancel_sent = true;
            stream.drop_unsent_data();
            if stream.has_outgoing() {
                // The request itself still waits: a cancel that overtook it would name an unknown stream.
                stream.push(Outgoing::Control(cancel_frame(id, how)));
            } else {
                self.cancels.push_back((id, how));
            }
        }
    }

    /// Tells the executor that an exec's result arrived (originator only).
    pub fn acknowledge(&mut self, exec_id: ExecId) {
        self.acks.push_back(exec_id);
    }

    /// Sends a message on a stream; `fin` ends it (executor only). If the stream has ended, the message is dropped.
    ///
    /// Fails when the message does not fit a frame.
    pub fn message(&mut self, id: StreamId, message: &Message, fin: bool) -> Result<(), WireError> {
        let flags = if fin { FLAG_FIN } else { 0 };
        let header = Header { flags, type_number: message.type_number(), ..Header::new(Kind::Message, id) };
        let frame = header.frame(&message.encode()?);
        if id == StreamId::SESSION {
            self.notices.push_back(frame);
        } else {
            self.push(id, if fin { Outgoing::Last(frame) } else { Outgoing::Control(frame) });
        }
        Ok(())
    }

    /// Ends a stream with an error (executor only). If the stream has ended already, the error is dropped.
    pub fn fail(&mut self, id: StreamId, error: &WireError) {
        self.push(id, Outgoing::Last(Header::new(Kind::Fail, id).frame(&error.encode())));
    }

    /// How many bytes [`Session::data`] accepts now: the remaining credit, 0 if the stream has ended.
    pub fn writable(&self, id: StreamId) -> usize {
        self.streams.get(&id).map_or(0, Stream::writable)
    }

    /// How much undrained data the peer may have in flight on the stream; 0 if the stream has ended.
    pub fn window(&self, id: StreamId) -> usize {
        let window = self.streams.get(&id).map_or(0, Stream::window);
        usize::try_from(window).unwrap_or(usize::MAX)
    }

    /// True if the stream is still open.
    pub fn is_open(&self, id: StreamId) -> bool {
        self.streams.contains_key(&id)
    }

    /// Queues data; at most [`Session::writable`] and [`MAX_DATA_BYTES`] bytes. If the stream has ended, the data is dropped. Returns the bytes as a
    /// part of their frame, for a caller that has to keep them, without a copy.
    ///
    /// # Panics
    /// If there are more bytes than that.
    pub fn data(&mut self, id: StreamId, channel: Channel, bytes: DataBuf) -> Bytes {
        let Some(stream) = self.streams.get_mut(&id).filter(|_| !bytes.is_empty()) else {
            return bytes.into_bytes();
        };
        assert!(bytes.len() <= MAX_DATA_BYTES.min(stream.writable()), "more data than the credit allows");
        let body = stream.push_data(id, channel, bytes);
        self.wake(id);
        body
    }

    /// Ends a channel. Does nothing if the stream has ended.
    pub fn end(&mut self, id: StreamId, channel: Channel) {
        if let Some(stream) = self.streams.get_mut(&id) {
            stream.push_end(id, channel);
            self.wake(id);
        }
    }

    /// Reports that `bytes` of the channel's output were dropped here.
    pub fn gap(&mut self, id: StreamId, channel: Channel, bytes: u64) {
        if let Some(stream) = self.streams.get_mut(&id) {
            stream.push_gap(id, channel, bytes);
            self.wake(id);
        }
    }

    /// Resumes the originator's data on a stream at an offset, as in [`crate::message::Attached`]. Call this on both sides
    /// before any of it is sent or received.
    pub fn set_input_offset(&mut self, id: StreamId, offset: u64) {
        if let Some(stream) = self.streams.get_mut(&id) {
            stream.set_input_offset(offset, self.side == Side::Executor);
        }
    }

    /// Reports that the consumer drained this much of a stream, so that the sender gets credit for more.
    pub fn consumed(&mut self, id: StreamId, bytes: usize) {
        if let Some(stream) = self.streams.get_mut(&id)
            && stream.consumed(bytes as u64)
        {
            self.grants.push_back(id);
        }
    }

    /// The next frame to send, if there is one.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Bytes> {
        let frame = self.next_urgent().or_else(|| self.next_ordered());
        if frame.is_some() {
            self.heartbeat.sent(now);
        }
        frame
    }

    /// The latest time for the next call of [`Session::handle_timeout`].
    pub fn next_timeout(&self) -> Instant {
        self.heartbeat.next_timeout()
    }

    /// Acts on the passage of time: queues a ping, or finds the link dead.
    pub fn handle_timeout(&mut self, now: Instant) -> Result<(), Close> {
        self.heartbeat.handle_timeout(now)
    }

    /// Ends the session and returns every stream that was open, lowest first: none of them gets an answer any more.
    pub fn drain(&mut self) -> Vec<StreamId> {
        let mut open: Vec<_> = self.streams.drain().map(|(id, _)| id).collect();
        open.sort_unstable();
        self.ready.clear();
        self.data_streams = 0;
        open
    }

    fn check_room(&self, request: &Request) -> Result<(), WireError> {
        if self.streams.len() >= MAX_REQUESTS
            || (request.carries_data() && self.data_streams >= MAX_DATA_STREAMS)
        {
            return Err(WireError::new(
                ErrorKind::Busy,
                format!(
                    "this runner already has {MAX_DATA_STREAMS} data streams or {MAX_REQUESTS} requests in flight; \
                     try again when one has ended"
                ),
            ));
        }
        Ok(())
    }

    fn credit_of_a_new_stream(&self, most: u32) -> u32 {
        let left = SESSION_BUDGET_BYTES.saturating_sub(self.granted_bytes);
        let part = |of: u64| u32::try_from(left / of).unwrap_or(u32::MAX);
        let usual = part(CREDIT_SHARE).clamp(MIN_STREAM_CREDIT_BYTES, STREAM_CREDIT_BYTES);
        usual.max(part(LARGE_CREDIT_SHARE).min(most))
    }

    fn insert(&mut self, id: StreamId, stream: Stream) {
        self.data_streams += usize::from(stream.carries_data);
        self.granted_bytes += if stream.carries_data { stream.window() } else { 0 };
        self.streams.insert(id, stream);
    }

    fn remove(&mut self, id: StreamId) {
        if let Some(stream) = self.streams.remove(&id)
            && stream.carries_data
        {
            self.data_streams -= 1;
            self.granted_bytes -= stream.window();
        }
    }

    fn push(&mut self, id: StreamId, outgoing: Outgoing) {
        if let Some(stream) = self.streams.get_mut(&id) {
            stream.push(outgoing);
            self.wake(id);
        }
    }

    /// Queues the stream if it has something to send and is not queued yet.
    fn wake(&mut self, id: StreamId) {
        if let Some(stream) = self.streams.get_mut(&id)
            && stream.has_outgoing()
            && !stream.in_line
        {
            stream.in_line = true;
            self.ready.push_back(id);
        }
    }

    fn next_urgent(&mut self) -> Option<Bytes> {
        if let Some((kind, sequence)) = self.heartbeat.next_frame() {
            return Some(Header { sequence, ..Header::new(kind, StreamId::SESSION) }.frame(&[]));
        }
        while let Some((id, how)) = self.cancels.pop_front() {
            if self.streams.contains_key(&id) {
                return Some(cancel_frame(id, how));
            }
        }
        while let Some(id) = self.grants.pop_front() {
            if let Some(sequence) = self.streams.get_mut(&id).map(Stream::take_grant) {
                return Some(Header { sequence, ..Header::new(Kind::Credit, id) }.frame(&[]));
            }
        }
        let exec_id = self.acks.pop_front()?;
        Some(Header::new(Kind::Ack, StreamId::SESSION).frame(&exec_id.0))
    }

    fn next_ordered(&mut self) -> Option<Bytes> {
        if let Some(notice) = self.notices.pop_front() {
            return Some(notice);
        }
        while let Some(id) = self.ready.pop_front() {
            let Some(stream) = self.streams.get_mut(&id) else { continue };
            stream.in_line = false;
            let Some((frame, is_last)) = stream.next_frame() else { continue };
            if is_last {
                self.remove(id);
            } else {
                self.wake(id);
            }
            return Some(frame);
        }
        None
    }
}

fn cancel_frame(id: StreamId, how: u16) -> Bytes {
    Header { type_number: how, ..Header::new(Kind::Cancel, id) }.frame(&[])
}
