//! The streams of one link: commands in, session events out to mailboxes. No I/O.
//!
//! ```text
//! Open --> entry --Abandon--> deaf entry (its data is drained here) --answer, FAIL--> gone
//!            \----Cancel----> entry that takes no more writes --------answer, FAIL--> gone
//! ```

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use proto::frame::Kind;
use proto::session::{Close, CloseCode};
use proto::{DataBuf, Event, ExecId, Message, Request, Session, Side, StreamId};
use tokio::sync::OwnedSemaphorePermit;

use crate::driver::handle::{Command, INPUT};
use crate::driver::stream::{StreamEvent, StreamState};
use crate::error::SandboxError;

#[derive(Debug)]
struct Entry {
    state: Arc<StreamState>,
    /// Nobody reads the events any more.
    is_deaf: bool,
    /// Whether the request left this process: decides between `lost` and `offline`.
    is_sent: bool,
    /// Set for execs, whose results are acknowledged.
    exec_id: Option<ExecId>,
    /// What the session had no credit for; bounded by [`StreamState::room`].
    unsent: VecDeque<Unsent>,
    _permit: OwnedSemaphorePermit,
}

#[derive(Debug)]
enum Unsent {
    Data(DataBuf),
    End,
}

/// A frame that ends the link.
#[derive(Debug)]
pub(super) enum Received {
    /// The peer closes it.
    Goodbye(Close),
    /// The peer is to be told that it must be closed.
    Broken(Close),
}

/// The session of one link and what belongs to its streams.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) session: Session,
    entries: HashMap<StreamId, Entry>,
    /// Streams with unsent data; each at most once.
    writing: VecDeque<StreamId>,
    /// Results to acknowledge with the next frame that leaves anyway; a wake-up of their own they are not worth.
    acknowledgements: Vec<ExecId>,
}

impl Table {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            session: Session::new(Side::Originator, now),
            entries: HashMap::new(),
            writing: VecDeque::new(),
            acknowledgements: Vec::new(),
        }
    }

    /// Acts on what a handle wants; the link's last word, where that is what it wants.
    pub(super) fn act(&mut self, command: Command) -> Option<Option<Close>> {
        match command {
            Command::Open { request, stream, permit } => self.open(&request, stream, permit),
            Command::Data(stream, bytes) => self.write(&stream, bytes),
            Command::End(stream) => self.end_input(&stream),
            Command::Consumed(stream, bytes) => self.consumed(&stream, bytes),
            Command::Cancel(stream) => self.cancel(&stream, false),
            Command::Abandon(stream) => self.cancel(&stream, true),
            Command::Close(last_word) => return Some(last_word),
        }
        None
    }

    fn open(&mut self, request: &Request, state: Arc<StreamState>, permit: OwnedSemaphorePermit) {
        for exec_id in self.acknowledgements.drain(..) {
            self.session.acknowledge(exec_id);
        }
        match self.session.open(request) {
            Ok(id) => {
                state.opened_as(id);
                let exec_id = if let Request::Exec(exec) = request { Some(exec.exec_id) } else { None };
                self.entries.insert(
                    id,
                    Entry {
                        state,
                        is_deaf: false,
                        is_sent: false,
                        exec_id,
                        unsent: VecDeque::new(),
                        _permit: permit,
                    },
                );
            }
            Err(error) => end_state(&state, StreamEvent::Failed(error.into())),
        }
    }

    fn write(&mut self, state: &StreamState, bytes: DataBuf) {
        self.queue(state, Unsent::Data(bytes));
    }

    fn end_input(&mut self, state: &StreamState) {
        self.queue(state, Unsent::End);
    }

    fn consumed(&mut self, state: &StreamState, bytes: usize) {
        if let Some(id) = state.id() {
            self.session.consumed(id, bytes);
        }
    }

    fn cancel(&mut self, state: &StreamState, is_abandoned: bool) {
        let Some(id) = state.id() else { return };
        let Some(entry) = self.entries.get_mut(&id) else { return };
        entry.unsent.clear();
        state.room.close();
        self.session.cancel(id);
        if is_abandoned {
            entry.is_deaf = true;
            // The runner may wait for this credit to say its last words.
            self.session.consumed(id, state.clear());
        }
    }

    /// Gives unsent data to the session as far as its credit goes.
    fn pump(&mut self) {
        for _ in 0..self.writing.len() {
            let Some(id) = self.writing.pop_front() else { return };
            if let Some(entry) = self.entries.get_mut(&id)
                && !entry.pump(id, &mut self.session)
            {
                self.writing.push_back(id);
            }
        }
    }

    /// The next frame for the link.
    pub(super) fn next_frame(&mut self, now: Instant) -> Option<Bytes> {
        self.pump();
        let frame = self.session.poll_transmit(now)?;
        if frame[0] == Kind::Open as u8
            && let Ok((header, _)) = proto::frame::decode(&frame)
            && let Some(entry) = self.entries.get_mut(&header.stream)
        {
            entry.is_sent = true;
        }
        Some(frame)
    }

    /// Acts on one frame; an error ends the link.
    pub(super) fn receive(&mut self, frame: &Bytes, now: Instant) -> Result<(), Received> {
        match self.session.receive(frame, now).map_err(Received::Broken)? {
            Some(Event::Message { stream: StreamId::SESSION, message, .. }) => {
                tracing::trace!(?message, "session message");
                Ok(())
            }
            Some(Event::Message { stream, message, fin: true }) => {
                self.end(stream, StreamEvent::Answer(message));
                Ok(())
            }
            Some(Event::Message { stream, message, fin: false }) => {
                self.deliver(stream, StreamEvent::Message(message))
            }
            Some(Event::Failed(stream, error)) => {
                self.end(stream, StreamEvent::Failed(error.into()));
                Ok(())
            }
            Some(Event::Data(stream, channel, bytes)) => {
                self.deliver(stream, StreamEvent::Data(channel, bytes))
            }
            Some(Event::Gap(stream, channel, bytes)) => {
                self.deliver(stream, StreamEvent::Gap(channel, bytes))
            }
            Some(Event::Closed(close)) => Err(Received::Goodbye(close)),
            // The stream's last message says that its channels ended; what only a server may send means nothing.
            Some(Event::End(..) | Event::Writable(_)) | None => Ok(()),
            Some(Event::Opened(..) | Event::Cancelled(_) | Event::Acknowledged(_)) => Ok(()),
        }
    }

    /// Fails every stream: the link is over.
    pub(super) fn fail_all(&mut self, offline: &SandboxError, lost: &SandboxError) {
        self.session.drain();
        for (_, entry) in self.entries.drain() {
            let error = if entry.is_sent { lost } else { offline };
            end_state(&entry.state, StreamEvent::Failed(error.clone()));
        }
    }

    fn queue(&mut self, state: &StreamState, unsent: Unsent) {
        let Some(id) = state.id() else { return };
        let Some(entry) = self.entries.get_mut(&id) else { return };
        if state.room.is_closed() {
            return;
        }
        if entry.unsent.is_empty() {
            self.writing.push_back(id);
        }
        entry.unsent.push_back(unsent);
    }

    fn deliver(&mut self, id: StreamId, event: StreamEvent) -> Result<(), Received> {
        let Some(entry) = self.entries.get(&id) else { return Ok(()) };
        if entry.is_deaf {
            if let StreamEvent::Data(_, bytes) = &event {
                self.session.consumed(id, bytes.len());
            }
            return Ok(());
        }
        if entry.state.push(event) {
            return Ok(());
        }
        Err(Received::Broken(Close::new(CloseCode::Flooded, "messages or pieces without end on one stream")))
    }

    fn end(&mut self, id: StreamId, event: StreamEvent) {
        let Some(entry) = self.entries.remove(&id) else { return };
        if let (StreamEvent::Answer(Message::ExecStreamsClosed(_)), Some(exec_id)) = (&event, entry.exec_id) {
            self.acknowledgements.push(exec_id);
        }
        end_state(&entry.state, event);
    }
}

impl Entry {
    /// Whether all of it went to the session.
    fn pump(&mut self, id: StreamId, session: &mut Session) -> bool {
        while let Some(unsent) = self.unsent.pop_front() {
            match unsent {
                Unsent::End => session.end(id, INPUT),
                Unsent::Data(mut bytes) => {
                    let writable = session.writable(id);
                    if writable == 0 {
                        self.unsent.push_front(Unsent::Data(bytes));
                        return false;
                    }
                    if writable < bytes.len() {
                        let rest = bytes.split_off(writable);
                        self.unsent.push_front(Unsent::Data(rest));
                    }
                    self.state.room.add_permits(bytes.len());
                    session.data(id, INPUT, bytes);
                }
            }
        }
        true
    }
}

/// Gives a stream its last event.
pub(crate) fn end_state(state: &StreamState, event: StreamEvent) {
    state.room.close();
    state.push(event);
}
