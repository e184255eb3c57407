//! One stream as the driver and a handle share it: the mailbox of events and the room for writes.
//!
//! The mailbox is bounded although it refuses nothing: data in it is bounded by the stream's credit, small pieces are
//! gathered, and the driver closes a link on which [`MAX_WAITING_MESSAGES`] other events wait, or [`MAX_WAITING_PIECES`]
//! where each piece is a separate record. Untaken events are dropped when a stream resumes over another link, which sends
//! them again: so lost links do not add up to more than one stream's credit.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::{Bytes, BytesMut};
use proto::{Channel, Message, StreamId};
use tokio::sync::Semaphore;

use crate::driver::taken::Taken;
use crate::error::SandboxError;
use crate::limits::{
    CONSUMED_REPORT_BYTES, GATHERED_BYTES, GATHERED_CHANNELS, MAX_WAITING_MESSAGES, MAX_WAITING_PIECES,
    REPORTS_PER_WINDOW, WRITE_BUFFER_BYTES,
};

/// An event of a stream for its handle, in the order the runner sent it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum StreamEvent {
    Data(Channel, Bytes),
    /// The runner dropped this many bytes.
    Gap(Channel, u64),
    Message(Message),
    /// The answer; nothing follows.
    Answer(Message),
    /// The request failed; nothing follows this event.
    Failed(SandboxError),
    /// The link has been down for a while; the stream waits for the next one.
    Interrupted,
    /// The stream continues, after [`StreamEvent::Interrupted`].
    Resumed,
}

/// The driver's place for a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seat {
    /// Among the session's open streams.
    Open(StreamId),
    /// Among those that wait for a link, or for room on it.
    Parked(u64),
}

/// Determines who reports that an exec's output was drained and its result arrived: until then the runner keeps it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AckMode {
    /// Taking an event reports it.
    #[default]
    Auto,
    /// [`crate::Exec::consumed`] and [`crate::Exec::acknowledge`] report it: for a reader that passes the output on to a
    /// receiver that may still lose it.
    Manual,
}

/// The mode of reading a stream.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reading {
    /// True if adjacent small pieces of data may be merged: not if each frame contains a whole record.
    pub(super) gathers: bool,
    /// True if data counts as drained, and its result as arrived, only when the reader reports it.
    pub(super) is_manual: bool,
    /// The offset of the first byte of data in the stream's content.
    pub(super) offset: u64,
}

/// One stream as driver and handle see it.
#[derive(Debug)]
pub(crate) struct StreamState {
    /// A [`Seat`]: 0 until the driver opened it, then a stream's number, or [`PARKED`] and a number of the driver's.
    seat: AtomicU64,
    /// Bytes that may still be handed to the driver; closed when the stream accepts no more.
    pub(crate) room: Semaphore,
    gathers: bool,
    is_manual: bool,
    /// How much its reader drains before the driver is informed, in bytes.
    report_bytes: AtomicUsize,
    mailbox: Mutex<Mailbox>,
}

/// Marks the seat of a stream that has no number in the session; those have 32 bits.
const PARKED: u64 = 1 << 63;

#[derive(Debug, Default)]
struct Mailbox {
    waiting: VecDeque<Waiting>,
    waiting_messages: usize,
    /// Bytes drained by the handle and not reported to the driver yet.
    unreported_bytes: usize,
    taken: Taken,
    waker: Option<Waker>,
}

#[derive(Debug)]
enum Waiting {
    Gathered(Channel, BytesMut),
    Event(StreamEvent),
}

impl StreamState {
    pub(super) fn new(reading: Reading) -> Self {
        let taken = Taken { offset: reading.offset, ..Taken::default() };
        Self {
            seat: AtomicU64::new(0),
            room: Semaphore::new(WRITE_BUFFER_BYTES),
            gathers: reading.gathers,
            is_manual: reading.is_manual,
            report_bytes: AtomicUsize::new(CONSUMED_REPORT_BYTES),
            mailbox: Mutex::new(Mailbox { taken, ..Mailbox::default() }),
        }
    }

    /// The driver's place for it; `None` before it was opened, and if the session had no room for it.
    pub(crate) fn seat(&self) -> Option<Seat> {
        match self.seat.load(Ordering::Relaxed) {
            0 => None,
            parked if parked & PARKED != 0 => Some(Seat::Parked(parked & !PARKED)),
            number => u32::try_from(number).ok().map(|number| Seat::Open(StreamId(number))),
        }
    }

    pub(crate) fn take_seat(&self, seat: Seat) {
        let number = match seat {
            Seat::Open(id) => u64::from(id.0),
            Seat::Parked(number) => number | PARKED,
        };
        self.seat.store(number, Ordering::Relaxed);
    }

    /// Sets how much may be in flight to the reader: the more, the less often the driver is informed of drained data.
    pub(super) fn set_window(&self, bytes: usize) {
        self.report_bytes.store((bytes / REPORTS_PER_WINDOW).max(CONSUMED_REPORT_BYTES), Ordering::Relaxed);
    }

    /// True if the reader itself reports what it drained.
    pub(super) fn is_manual(&self) -> bool {
        self.is_manual
    }

    /// Adds an event; returns `false` if too many messages or pieces are waiting.
    pub(crate) fn push(&self, event: StreamEvent) -> bool {
        let mut mailbox = self.mailbox();
        mailbox.push(event, self.gathers);
        let is_sane = mailbox.waiting_messages <= MAX_WAITING_MESSAGES
            && (self.gathers || mailbox.waiting_pieces() <= MAX_WAITING_PIECES);
        let waker = mailbox.waker.take();
        drop(mailbox);
        if let Some(waker) = waker {
            waker.wake();
        }
        is_sane
    }

    /// The next event, and the number of drained bytes to report to the driver now.
    pub(crate) fn poll_next(&self, cx: &mut Context<'_>) -> Poll<(StreamEvent, Option<usize>)> {
        let mut mailbox = self.mailbox();
        let Some(waiting) = mailbox.waiting.pop_front() else {
            if !mailbox.waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
                mailbox.waker = Some(cx.waker().clone());
            }
            return Poll::Pending;
        };
        let event = match waiting {
            Waiting::Gathered(channel, bytes) => StreamEvent::Data(channel, bytes.freeze()),
            Waiting::Event(event) => event,
        };
        mailbox.taken.note(&event);
        let report = match &event {
            StreamEvent::Data(_, bytes) if !self.is_manual => {
                mailbox.drained(bytes.len(), self.report_bytes.load(Ordering::Relaxed))
            }
            StreamEvent::Data(..) => None,
            _ => {
                mailbox.waiting_messages -= 1;
                None
            }
        };
        Poll::Ready((event, report))
    }

    /// Records that the reader drained that much of what it took; returns the number of drained bytes to report to the
    /// driver now.
    pub(super) fn drained(&self, bytes: usize) -> Option<usize> {
        self.mailbox().drained(bytes, self.report_bytes.load(Ordering::Relaxed))
    }

    /// The part that the handle took so far.
    pub(super) fn taken(&self) -> Taken {
        self.mailbox().taken
    }

    /// Drops waiting events, which another link will send again; returns what was taken so far.
    pub(super) fn rewind(&self) -> Taken {
        let mut mailbox = self.mailbox();
        mailbox.forget();
        mailbox.taken
    }

    /// Drops waiting events; returns the number of bytes that arrived in all, including the dropped ones.
    pub(super) fn clear(&self) -> u64 {
        let mut mailbox = self.mailbox();
        let arrived_bytes = mailbox.taken.data_bytes + mailbox.forget();
        // The answer will not be taken any more, so it counts as taken.
        mailbox.taken.answer = true;
        arrived_bytes
    }

    fn mailbox(&self) -> MutexGuard<'_, Mailbox> {
        // Nothing between lock and unlock can panic and leave it half changed.
        self.mailbox.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn data_bytes(&self) -> usize {
        match self {
            Self::Gathered(_, bytes) => bytes.len(),
            Self::Event(StreamEvent::Data(_, bytes)) => bytes.len(),
            Self::Event(_) => 0,
        }
    }
}

impl Mailbox {
    fn drained(&mut self, bytes: usize, report_bytes: usize) -> Option<usize> {
        self.unreported_bytes += bytes;
        let is_due = self.unreported_bytes >= report_bytes;
        is_due.then(|| std::mem::take(&mut self.unreported_bytes))
    }

    /// Drops waiting events; returns their bytes of data.
    fn forget(&mut self) -> u64 {
        self.waiting_messages = 0;
        std::mem::take(&mut self.waiting).iter().map(|waiting| waiting.data_bytes() as u64).sum()
    }

    fn push(&mut self, event: StreamEvent, gathers: bool) {
        match event {
            StreamEvent::Data(_, bytes) if bytes.is_empty() => {}
            StreamEvent::Data(channel, bytes) if gathers && bytes.len() < GATHERED_BYTES => {
                // A copy, so that a few waiting bytes do not keep a whole read buffer alive.
                if let Some(gathered) = self.last_piece(channel, bytes.len()) {
                    gathered.extend_from_slice(&bytes);
                } else {
                    self.waiting.push_back(Waiting::Gathered(channel, BytesMut::from(&bytes[..])));
                }
            }
            StreamEvent::Data(..) => self.waiting.push_back(Waiting::Event(event)),
            StreamEvent::Gap(channel, more) => {
                if let Some(Waiting::Event(StreamEvent::Gap(last, bytes))) = self.waiting.back_mut()
                    && *last == channel
                {
                    *bytes = bytes.saturating_add(more);
                } else {
                    self.push_message(StreamEvent::Gap(channel, more));
                }
            }
            StreamEvent::Message(_)
            | StreamEvent::Answer(_)
            | StreamEvent::Failed(_)
            | StreamEvent::Interrupted
            | StreamEvent::Resumed => self.push_message(event),
        }
    }

    /// The piece to which that many bytes of a channel can be added: the last event, or, once too many pieces wait, the last
    /// piece of the channel, past pieces of others. Then each channel keeps its order, but not relative to the others.
    fn last_piece(&mut self, channel: Channel, length: usize) -> Option<&mut BytesMut> {
        let reach = if self.waiting_pieces() < MAX_WAITING_PIECES { 1 } else { GATHERED_CHANNELS };
        for waiting in self.waiting.iter_mut().rev().take(reach) {
            match waiting {
                Waiting::Gathered(last, gathered) if *last == channel => {
                    return (gathered.len() + length <= GATHERED_BYTES).then_some(gathered);
                }
                Waiting::Gathered(..) => {}
                Waiting::Event(_) => return None,
            }
        }
        None
    }

    fn waiting_pieces(&self) -> usize {
        self.waiting.len() - self.waiting_messages
    }

    fn push_message(&mut self, event: StreamEvent) {
        self.waiting_messages += 1;
        self.waiting.push_back(Waiting::Event(event));
    }
}

#[cfg(test)]
mod tests {
    use proto::limits::STREAM_CREDIT_BYTES;

    use super::*;

    #[test]
    fn unread_output_in_bytes_of_changing_channels_stays_small_and_whole() {
        let state = StreamState::new(Reading { gathers: true, is_manual: false, offset: 0 });
        let total = STREAM_CREDIT_BYTES as usize;
        for number in 0..total {
            let channel = if number % 2 == 0 { Channel::Stdout } else { Channel::Stderr };
            assert!(state.push(StreamEvent::Data(channel, Bytes::copy_from_slice(&[number as u8]))));
        }
        let (mut pieces, mut stdout, mut stderr) = (0, Vec::new(), Vec::new());
        let mut cx = Context::from_waker(Waker::noop());
        while let Poll::Ready((StreamEvent::Data(channel, bytes), _)) = state.poll_next(&mut cx) {
            pieces += 1;
            let to = if channel == Channel::Stdout { &mut stdout } else { &mut stderr };
            to.extend_from_slice(&bytes);
        }
        assert!(pieces <= MAX_WAITING_PIECES + total / GATHERED_BYTES + 2, "{pieces} pieces");
        let expected =
            |first: usize| (first..total).step_by(2).map(|number| number as u8).collect::<Vec<_>>();
        assert_eq!((stdout, stderr), (expected(0), expected(1)));
    }
}
