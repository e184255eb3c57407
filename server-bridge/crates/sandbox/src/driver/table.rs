//! The streams of one runner's life: commands in, session events out to mailboxes. No I/O.
//!
//! ```text
//! Open --> entry --Abandon--> deaf entry (its data is drained here) --answer, FAIL--> gone
//!   |        |\----Cancel----> entry that takes no more writes ------answer, FAIL--> gone
//!   |        +--link lost--> parked --next link--> entry again       (see `resume`)
//!   +-- no link: offline   ^    +--another life, no link for too long: lost, ambiguous
//!   +-- the runner will be back
//! ```

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use proto::frame::Kind;
use proto::limits::MAX_STREAM_CREDIT_BYTES;
use proto::session::{Close, CloseCode};
use proto::{DataBuf, Event, ExecId, Message, Request, Session, Side, StreamId};
use tokio::sync::OwnedSemaphorePermit;

use crate::driver::entry::{Entry, Stage};
use crate::driver::input::Input;
use crate::driver::results::Results;
use crate::driver::resume::Away;
use crate::driver::stream::{Seat, StreamEvent, StreamState};
use crate::error::SandboxError;

/// A frame that ends the link.
#[derive(Debug)]
pub(super) enum Received {
    /// The peer closes it.
    Goodbye(Close),
    /// The peer gets this close message.
    Broken(Close),
}

/// The streams of a runner's life, and the session of its current link.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) runner: Arc<str>,
    /// Not used while there is no link.
    pub(super) session: Session,
    /// The state of waiting for a link; set while there is none.
    pub(super) away: Option<Away>,
    /// Boxed, so that requests are cheap to move when the map grows.
    pub(super) entries: HashMap<StreamId, Box<Entry>>,
    /// Streams that wait for a link, for room on it, or for the request of the exec that they read, in the order they were opened.
    pub(super) parked: BTreeMap<u64, Box<Entry>>,
    /// The time at which streams that wait even though there is a link are opened again.
    pub(super) reopen_at: Option<Instant>,
    /// Streams with unsent data; each at most once.
    pub(super) writing: VecDeque<StreamId>,
    next_number: u64,
    results: Results,
}

impl Table {
    /// No streams, and no link yet.
    pub(super) fn new(runner: Arc<str>, now: Instant) -> Self {
        Self {
            runner,
            session: Session::new(Side::Originator, now),
            away: Some(Away::since(now)),
            entries: HashMap::new(),
            parked: BTreeMap::new(),
            reopen_at: None,
            writing: VecDeque::new(),
            next_number: 0,
            results: Results::default(),
        }
    }

    pub(super) fn open(
        &mut self,
        request: Request,
        state: Arc<StreamState>,
        permit: OwnedSemaphorePermit,
        now: Instant,
    ) {
        if let Some(away) = &self.away {
            if away.is_returning() {
                let entry = self.entry(request, state, permit, now);
                return self.wait(entry);
            }
            let runner = self.runner.to_string();
            return end_state(&state, StreamEvent::Failed(SandboxError::Offline { runner }));
        }
        self.acknowledge_taken(now);
        match self.session.open_with(&request, MAX_STREAM_CREDIT_BYTES) {
            Ok(id) => {
                state.take_seat(Seat::Open(id));
                state.set_window(self.session.window(id));
                let entry = self.entry(request, state, permit, now);
                self.entries.insert(id, entry);
            }
            Err(error) => end_state(&state, StreamEvent::Failed(error.into())),
        }
    }

    fn entry(
        &mut self,
        request: Request,
        state: Arc<StreamState>,
        permit: OwnedSemaphorePermit,
        now: Instant,
    ) -> Box<Entry> {
        self.next_number += 1;
        let is_attach = matches!(request, Request::Attach(_));
        Box::new(Entry {
            state,
            request,
            number: self.next_number,
            opened_at: now,
            stage: Stage::Original,
            is_deaf: false,
            is_left: false,
            is_cancelled: false,
            is_sent: false,
            is_input_sent: false,
            has_arrived: false,
            is_interrupted: false,
            knows_start: false,
            knows_exit: false,
            opened: None,
            drained_bytes: 0,
            uncredited_bytes: 0,
            input: if is_attach { Input::of_attached() } else { Input::new() },
            _permit: permit,
        })
    }

    /// Takes more input for a stream: data, or its end.
    pub(super) fn write(&mut self, state: &StreamState, bytes: Option<DataBuf>) {
        let Some((entry, id)) = find(&mut self.entries, &mut self.parked, state) else { return };
        if state.room.is_closed() {
            return;
        }
        let is_due = match bytes {
            Some(bytes) => entry.input.push(bytes),
            None => entry.input.push_end(),
        };
        if let Some(id) = id.filter(|_| is_due) {
            self.writing.push_back(id);
        }
    }

    pub(super) fn drained(&mut self, state: &StreamState, bytes: usize) {
        let Some((entry, id)) = find(&mut self.entries, &mut self.parked, state) else { return };
        let credit = entry.drained(bytes as u64);
        if let Some(id) = id {
            self.session.consumed(id, credit as usize);
        }
    }

    pub(super) fn cancel(&mut self, state: &StreamState, is_abandoned: bool) {
        let Some((entry, id)) = find(&mut self.entries, &mut self.parked, state) else {
            if is_abandoned {
                // The answer has already arrived, and is not wanted.
                state.clear();
            }
            return;
        };
        entry.is_cancelled = true;
        entry.input.clear();
        state.room.close();
        if is_abandoned {
            entry.is_deaf = true;
            let undrained = state.clear().saturating_sub(entry.drained_bytes);
            let credit = entry.drained(undrained);
            if let Some(id) = id {
                // The runner may need this credit to send its last messages.
                self.session.consumed(id, credit as usize);
            }
        }
        match id {
            Some(id) => self.session.cancel(id),
            None => self.cancel_parked(state),
        }
    }

    /// Leaves a stream's work, and its further events, to the next client that attaches.
    pub(super) fn leave(&mut self, state: &StreamState) {
        state.room.close();
        let Some((entry, id)) = find(&mut self.entries, &mut self.parked, state) else { return };
        entry.is_deaf = true;
        entry.is_left = true;
        entry.input.clear();
        state.clear();
        if let Some(id) = id {
            self.session.leave(id);
        }
    }

    /// Gives unsent data to the session as far as its credit allows.
    fn pump(&mut self) {
        for _ in 0..self.writing.len() {
            let Some(id) = self.writing.pop_front() else { return };
            let Some(entry) = self.entries.get_mut(&id) else { continue };
            // Data of a request that is still unsent would be lost with the link, and the request sent again.
            if !entry.is_sent || !entry.input.pump(id, &mut self.session, &entry.state) {
                self.writing.push_back(id);
            }
        }
    }

    /// The next frame for the link.
    pub(super) fn next_frame(&mut self, now: Instant) -> Option<Bytes> {
        self.pump();
        let frame = self.session.poll_transmit(now)?;
        let (is_open, is_end) = (frame[0] == Kind::Open as u8, frame[0] == Kind::End as u8);
        if (is_open || is_end)
            && let Ok((header, _)) = proto::frame::decode(&frame)
            && let Some(entry) = self.entries.get_mut(&header.stream)
        {
            entry.is_sent = true;
            entry.is_input_sent |= is_end;
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
                self.end(stream, StreamEvent::Answer(message), now);
                Ok(())
            }
            Some(Event::Message { stream, message, fin: false }) => self.message(stream, message),
            Some(Event::Failed(stream, error)) => {
                self.end(stream, StreamEvent::Failed(error.into()), now);
                Ok(())
            }
            Some(Event::Data(stream, channel, bytes)) => {
                self.deliver(stream, StreamEvent::Data(channel, bytes))
            }
            Some(Event::Gap(stream, channel, bytes)) => {
                self.deliver(stream, StreamEvent::Gap(channel, bytes))
            }
            Some(Event::Writable(stream, bytes)) => {
                if let Some(entry) = self.entries.get_mut(&stream) {
                    entry.has_arrived = true;
                    entry.input.taken(bytes);
                }
                Ok(())
            }
            Some(Event::Closed(close)) => Err(Received::Goodbye(close)),
            // The stream's last message implies that its channels ended; messages that only a server may send are ignored.
            Some(Event::End(..)) | None => Ok(()),
            Some(Event::Opened(..) | Event::Cancelled(_) | Event::Left(_) | Event::Acknowledged(_)) => Ok(()),
        }
    }

    pub(super) fn deliver(&mut self, id: StreamId, event: StreamEvent) -> Result<(), Received> {
        let Some(entry) = self.entries.get_mut(&id) else { return Ok(()) };
        entry.has_arrived = true;
        if entry.is_deaf {
            if let StreamEvent::Data(_, bytes) = &event
                && !entry.is_left
            {
                self.session.consumed(id, bytes.len());
            }
            return Ok(());
        }
        if entry.state.push(event) {
            return Ok(());
        }
        Err(Received::Broken(Close::new(CloseCode::Flooded, "too many messages or pieces on one stream")))
    }

    fn end(&mut self, id: StreamId, event: StreamEvent, now: Instant) {
        let Some(entry) = self.entries.remove(&id) else { return };
        let Some((entry, event)) = self.last_event(entry, event, now) else { return };
        if let (StreamEvent::Answer(Message::ExecStreamsClosed(_)), Some(exec_id)) = (&event, entry.exec_id())
            && !entry.state.is_manual()
            && !entry.is_left
        {
            self.results.arrived(exec_id, Arc::clone(&entry.state), now);
        }
        end_state(&entry.state, event);
        if !self.parked.is_empty() {
            // There may be room now for a stream that found none before.
            self.reopen_at = Some(now);
        }
    }

    /// Informs the runner that a result arrived, now or over the next link.
    pub(super) fn acknowledge(&mut self, exec_id: ExecId) {
        let session = self.away.is_none().then_some(&mut self.session);
        self.results.acknowledge(exec_id, session);
    }

    /// Acknowledges the results that their readers took.
    pub(super) fn acknowledge_taken(&mut self, now: Instant) {
        self.results.acknowledge_taken(&mut self.session, now);
    }

    /// The deadline for the next action if nothing happens on the link.
    pub(super) fn next_timeout(&self) -> Instant {
        if let Some(away) = &self.away {
            return away.next_timeout();
        }
        [self.results.due(), self.reopen_at]
            .into_iter()
            .flatten()
            .fold(self.session.next_timeout(), Instant::min)
    }

    /// Acts on the time that passed while there is a link; an error ends it.
    pub(super) fn handle_timeout(&mut self, now: Instant) -> Result<(), Close> {
        if self.results.due().is_some_and(|at| at <= now) {
            self.acknowledge_taken(now);
        }
        if self.reopen_at.is_some_and(|at| at <= now) {
            self.reopen(now);
        }
        self.session.handle_timeout(now)
    }
}

/// A stream's entry, and its number if it is open.
pub(super) fn find<'a>(
    entries: &'a mut HashMap<StreamId, Box<Entry>>,
    parked: &'a mut BTreeMap<u64, Box<Entry>>,
    state: &StreamState,
) -> Option<(&'a mut Entry, Option<StreamId>)> {
    match state.seat()? {
        Seat::Open(id) => entries.get_mut(&id).map(|entry| (&mut **entry, Some(id))),
        Seat::Parked(number) => parked.get_mut(&number).map(|entry| (&mut **entry, None)),
    }
}

/// Gives a stream its last event.
pub(crate) fn end_state(state: &StreamState, event: StreamEvent) {
    state.room.close();
    state.push(event);
}
