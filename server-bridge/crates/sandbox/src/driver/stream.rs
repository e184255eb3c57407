//! What the driver and a handle share of one stream: the mailbox of events and the room for writes.
//!
//! The mailbox is bounded though it refuses nothing: data in it is bounded by the stream's credit, small pieces are
//! gathered, and the driver closes a link on which [`MAX_WAITING_MESSAGES`] other events wait, or
//! [`MAX_WAITING_PIECES`] where each piece is a record of its own.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::{Bytes, BytesMut};
use proto::{Channel, Message, StreamId};
use tokio::sync::Semaphore;

use crate::error::SandboxError;
use crate::limits::{
    CONSUMED_REPORT_BYTES, GATHERED_BYTES, GATHERED_CHANNELS, MAX_WAITING_MESSAGES, MAX_WAITING_PIECES,
    WRITE_BUFFER_BYTES,
};

/// What a handle gets from its stream, in the order the runner sent it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum StreamEvent {
    Data(Channel, Bytes),
    /// The runner dropped this many bytes.
    Gap(Channel, u64),
    Message(Message),
    /// The answer; nothing follows.
    Answer(Message),
    /// The request failed; nothing follows.
    Failed(SandboxError),
}

/// One stream as driver and handle see it.
#[derive(Debug)]
pub(crate) struct StreamState {
    /// 0 until the driver opened it; also when the session had no room.
    id: AtomicU32,
    /// Bytes that may still be handed to the driver; closed when the stream takes no more.
    pub(crate) room: Semaphore,
    /// Whether adjacent small pieces of data may become one: not where each frame holds a whole record.
    gathers: bool,
    mailbox: Mutex<Mailbox>,
}

#[derive(Debug, Default)]
struct Mailbox {
    waiting: VecDeque<Waiting>,
    waiting_messages: usize,
    /// Bytes taken by the handle and not reported to the driver yet.
    unreported_bytes: usize,
    waker: Option<Waker>,
}

#[derive(Debug)]
enum Waiting {
    Gathered(Channel, BytesMut),
    Event(StreamEvent),
}

impl StreamState {
    pub(crate) fn new(gathers: bool) -> Self {
        Self {
            id: AtomicU32::new(0),
            room: Semaphore::new(WRITE_BUFFER_BYTES),
            gathers,
            mailbox: Mutex::default(),
        }
    }

    /// The session's number, once the driver opened it.
    pub(crate) fn id(&self) -> Option<StreamId> {
        Some(StreamId(self.id.load(Ordering::Relaxed))).filter(|id| *id != StreamId::SESSION)
    }

    pub(crate) fn opened_as(&self, id: StreamId) {
        self.id.store(id.0, Ordering::Relaxed);
    }

    /// Puts an event in; `false` when the runner sends messages, or pieces, without end.
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

    /// The next event, and how many drained bytes to report to the driver now.
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
        if let StreamEvent::Data(_, bytes) = &event {
            mailbox.unreported_bytes += bytes.len();
        } else {
            mailbox.waiting_messages -= 1;
        }
        let is_due = mailbox.unreported_bytes >= CONSUMED_REPORT_BYTES;
        let report = is_due.then(|| std::mem::take(&mut mailbox.unreported_bytes));
        Poll::Ready((event, report))
    }

    /// Forgets what waits; how many bytes that frees, with those taken and not reported.
    pub(crate) fn clear(&self) -> usize {
        let mut mailbox = self.mailbox();
        let waiting: usize = std::mem::take(&mut mailbox.waiting).iter().map(Waiting::data_bytes).sum();
        mailbox.waiting_messages = 0;
        waiting + std::mem::take(&mut mailbox.unreported_bytes)
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
            StreamEvent::Message(_) | StreamEvent::Answer(_) | StreamEvent::Failed(_) => {
                self.push_message(event)
            }
        }
    }

    /// Where that many bytes of a channel can be added: the last event, or, once too many pieces wait, the last piece
    /// of the channel, past pieces of others. Then channels keep their order, but not among each other.
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
        let state = StreamState::new(true);
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
