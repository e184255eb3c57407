//! The handles' side of a runner's life: opening streams, reading their events, writing to them.

use std::future::poll_fn;
use std::sync::Arc;

use futures_channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use proto::limits::{MAX_DATA_BYTES, MAX_REQUESTS};
use proto::message::MessageType;
use proto::request::RequestType;
use proto::session::Close;
use proto::{Channel, DataBuf, ErrorKind, ExecId, Request};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::driver::plug::{Plug, Plugged, Presence};
use crate::driver::stream::{AckMode, Reading, StreamEvent, StreamState};
use crate::error::SandboxError;
use crate::facts::RunnerFacts;
use crate::link::Link;

/// A request of a handle to the driver.
#[derive(Debug)]
pub(crate) enum Command {
    Open {
        /// Boxed: it is larger than the other commands.
        request: Box<Request>,
        stream: Arc<StreamState>,
        permit: OwnedSemaphorePermit,
    },
    Data(Arc<StreamState>, DataBuf),
    /// No more data from this side.
    End(Arc<StreamState>),
    /// The handle drained this much.
    Consumed(Arc<StreamState>, usize),
    /// Stop the work; the answer is still wanted.
    Cancel(Arc<StreamState>),
    /// Stop the work; the answer is not wanted.
    Abandon(Arc<StreamState>),
    /// Let the work continue; no reader here waits for an answer.
    Leave(Arc<StreamState>),
    /// The exec's result arrived at its destination.
    Acknowledge(ExecId),
    /// Use this link from now on, instead of the current one.
    Plug(Box<Plug>),
    /// End the link of this epoch, if it is the current one, with or without a last message.
    Unplug(Option<u64>, Option<Close>),
    /// End the link and all streams, with or without this last message.
    Close(Option<Close>),
}

/// Commands on their way to a driver. The queue of an idle runner takes no memory, unlike tokio's channel, which allocates room for 32 commands up
/// front (2 KiB).
///
/// The queue is unbounded, but its content is bounded: at most 1,024 requests are in progress, each has at most 256 KiB of unsent
/// data, and a report of drained bytes covers at least 16 KiB of credit.
pub(crate) fn commands() -> (UnboundedSender<Command>, UnboundedReceiver<Command>) {
    unbounded()
}

/// Opens streams on a runner. A handle outlives the runner's process: then every request fails with `offline`, as it
/// does without a link, unless the runner announced that it will be back: then requests wait for it.
#[derive(Debug, Clone)]
pub(crate) struct LinkHandle {
    facts: Arc<RunnerFacts>,
    commands: UnboundedSender<Command>,
    shared: Arc<Shared>,
}

/// Who started a runner; this determines when the runner ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StartedBy {
    /// A user, on their machine: its commands continue without this server.
    User,
    /// This server, which ends it when it stops.
    Server,
}

#[derive(Debug)]
struct Shared {
    place: Arc<str>,
    started_by: StartedBy,
    requests: Arc<Semaphore>,
    presence: Arc<Presence>,
}

impl LinkHandle {
    pub(crate) fn new(
        place: Arc<str>,
        started_by: StartedBy,
        facts: Arc<RunnerFacts>,
        commands: UnboundedSender<Command>,
        presence: Arc<Presence>,
    ) -> Self {
        let requests = Arc::new(Semaphore::new(MAX_REQUESTS));
        Self { facts, commands, shared: Arc::new(Shared { place, started_by, requests, presence }) }
    }

    pub(crate) fn place(&self) -> &str {
        &self.shared.place
    }

    pub(crate) fn started_by(&self) -> StartedBy {
        self.shared.started_by
    }

    pub(crate) fn facts(&self) -> &Arc<RunnerFacts> {
        &self.facts
    }

    /// A handle of the same runner with the description from a later registration.
    pub(crate) fn with_facts(&self, facts: Arc<RunnerFacts>) -> Self {
        Self { facts, ..self.clone() }
    }

    /// True if there is a link now.
    pub(crate) fn is_open(&self) -> bool {
        self.shared.presence.is_online() && !self.commands.is_closed()
    }

    /// True if the runner announced that it will be back, and still may be.
    pub(crate) fn is_returning(&self) -> bool {
        self.shared.presence.is_returning() && !self.commands.is_closed()
    }

    /// True if there will never be a link again.
    pub(crate) fn is_over(&self) -> bool {
        self.shared.presence.is_over() || self.commands.is_closed()
    }

    /// True if no request is in progress.
    pub(crate) fn is_idle(&self) -> bool {
        self.shared.requests.available_permits() == MAX_REQUESTS
    }

    /// Waits until there is a link; `false` when there will never be one.
    pub(crate) async fn comes_back(&self) -> bool {
        self.shared.presence.decided().await && !self.commands.is_closed()
    }

    /// Moves all streams to `link`, and ends the current one.
    pub(crate) fn plug(&self, link: impl Link, epoch: u64) -> Plugged {
        let (plug, ended) = Plug::new(Box::new(link), epoch);
        // Recorded before the driver gets the link, so that the link's end cannot be recorded first.
        self.shared.presence.arrive(epoch);
        self.send(Command::Plug(Box::new(plug)));
        Plugged::new(self.clone(), epoch, ended)
    }

    /// Ends the link; streams wait for the next one.
    pub(crate) fn unplug(&self, last_word: Option<Close>) {
        self.send(Command::Unplug(None, last_word));
    }

    /// Ends the link and fails all streams; without a last message its peer sees a broken connection.
    pub(crate) fn close(&self, last_word: Option<Close>) {
        self.send(Command::Close(last_word));
    }

    /// Sends a request. Later errors arrive as an event.
    pub(crate) fn open(&self, request: impl Into<Request>) -> Result<OpenStream, SandboxError> {
        self.open_with(request, AckMode::Auto)
    }

    /// Sends a request whose reader may choose to report for itself how much it drained.
    pub(crate) fn open_with(
        &self,
        request: impl Into<Request>,
        acks: AckMode,
    ) -> Result<OpenStream, SandboxError> {
        let request = Box::new(request.into());
        if !self.is_open() && !self.is_returning() {
            return Err(self.offline());
        }
        let Ok(permit) = Arc::clone(&self.shared.requests).try_acquire_owned() else {
            return Err(SandboxError::Remote {
                kind: ErrorKind::Busy,
                message: format!(
                    "{MAX_REQUESTS} requests are in progress on {}; try again when one has ended",
                    self.place()
                ),
            });
        };
        let state = Arc::new(StreamState::new(Reading {
            gathers: !matches!(*request, Request::ReadDir(_) | Request::Glob(_) | Request::Grep(_)),
            is_manual: acks == AckMode::Manual,
            offset: request.first_offset(),
        }));
        let is_attached = matches!(*request, Request::Attach(_));
        self.commands
            .unbounded_send(Command::Open { request, stream: Arc::clone(&state), permit })
            .map_err(|_| self.offline())?;
        Ok(OpenStream { link: self.clone(), state, is_attached, is_over: false })
    }

    /// Sends a request that is answered by one message.
    pub(crate) async fn call<R: RequestType>(&self, request: R) -> Result<R::Response, SandboxError> {
        let mut stream = self.open(request.into())?;
        while let Some(event) = stream.next().await {
            match event {
                StreamEvent::Answer(message) => return self.expect(message),
                StreamEvent::Failed(error) => return Err(error),
                StreamEvent::Data(..) | StreamEvent::Gap(..) | StreamEvent::Message(_) => {}
                StreamEvent::Interrupted | StreamEvent::Resumed => {}
            }
        }
        Err(self.broken("a message that is not an answer"))
    }

    pub(crate) fn expect<M: MessageType>(&self, message: proto::Message) -> Result<M, SandboxError> {
        M::try_from(message).map_err(|_| self.broken("a message of another request"))
    }

    pub(crate) fn offline(&self) -> SandboxError {
        SandboxError::Offline { runner: self.place().to_owned() }
    }

    pub(crate) fn broken(&self, what: &'static str) -> SandboxError {
        SandboxError::Protocol { runner: self.place().to_owned(), what }
    }

    pub(crate) fn send(&self, command: Command) {
        // A driver that has ended has already failed all its streams; there is nothing left to do.
        let _ = self.commands.unbounded_send(command);
    }
}

/// One open stream. Dropping it before its end cancels work that it started, and leaves work that it attached to.
#[derive(Debug)]
pub(crate) struct OpenStream {
    link: LinkHandle,
    state: Arc<StreamState>,
    is_attached: bool,
    is_over: bool,
}

impl OpenStream {
    pub(crate) fn link(&self) -> &LinkHandle {
        &self.link
    }

    /// The next event; `None` after the last one.
    pub(crate) async fn next(&mut self) -> Option<StreamEvent> {
        if self.is_over {
            return None;
        }
        let (event, report) = poll_fn(|cx| self.state.poll_next(cx)).await;
        if let Some(bytes) = report {
            self.link.send(Command::Consumed(Arc::clone(&self.state), bytes));
        }
        self.is_over = matches!(event, StreamEvent::Answer(_) | StreamEvent::Failed(_));
        Some(event)
    }

    /// The next data, or the answer; `None` after the last one, and after an error. For streams that need nothing else.
    pub(crate) async fn next_piece(&mut self) -> Option<Result<Piece, SandboxError>> {
        loop {
            match self.next().await? {
                StreamEvent::Data(_, bytes) => return Some(Ok(Piece::Data(bytes))),
                StreamEvent::Answer(message) => return Some(Ok(Piece::Answer(message))),
                StreamEvent::Failed(error) => return Some(Err(error)),
                StreamEvent::Gap(..) | StreamEvent::Message(_) => {}
                StreamEvent::Interrupted | StreamEvent::Resumed => {}
            }
        }
    }

    /// Reports that the reader drained that much. Only for streams that were opened with manual reports.
    pub(crate) fn drained(&self, bytes: usize) {
        if let Some(bytes) = self.state.drained(bytes) {
            self.link.send(Command::Consumed(Arc::clone(&self.state), bytes));
        }
    }

    /// Lets the work continue without a reader.
    pub(crate) fn leave(mut self) {
        if !std::mem::replace(&mut self.is_over, true) {
            self.link.send(Command::Leave(Arc::clone(&self.state)));
        }
    }

    /// The writing side of this stream. It may outlive the stream, and then accepts no more data.
    pub(crate) fn writer(&self) -> StreamWriter {
        StreamWriter { link: self.link.clone(), state: Arc::clone(&self.state) }
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        let state = || Arc::clone(&self.state);
        match (self.is_over, self.is_attached) {
            (true, _) => {}
            (false, true) => self.link.send(Command::Leave(state())),
            (false, false) => self.link.send(Command::Abandon(state())),
        }
    }
}

/// A piece of data of a stream, or its end.
#[derive(Debug)]
pub(crate) enum Piece {
    Data(bytes::Bytes),
    /// The answer; nothing follows it.
    Answer(proto::Message),
}

/// Writes to a stream, and cancels it.
#[derive(Debug, Clone)]
pub(crate) struct StreamWriter {
    link: LinkHandle,
    state: Arc<StreamState>,
}

/// The stream accepts no more data: its request has ended, and its events have the reason.
#[derive(Debug)]
pub(crate) struct WriteClosed;

impl StreamWriter {
    pub(crate) fn link(&self) -> &LinkHandle {
        &self.link
    }

    /// Queues at most 64 KiB once there is room.
    pub(crate) async fn write(&self, bytes: DataBuf) -> Result<(), WriteClosed> {
        let length = u32::try_from(bytes.len()).expect("a piece is at most 64 KiB");
        let permit = self.state.room.acquire_many(length).await.map_err(|_| WriteClosed)?;
        permit.forget();
        self.link.send(Command::Data(Arc::clone(&self.state), bytes));
        Ok(())
    }

    /// Copies and queues all of `bytes`.
    pub(crate) async fn write_all(&self, bytes: &[u8]) -> Result<(), WriteClosed> {
        for piece in bytes.chunks(MAX_DATA_BYTES) {
            self.write(DataBuf::copy_from(piece)).await?;
        }
        Ok(())
    }

    pub(crate) fn end(&self) {
        self.link.send(Command::End(Arc::clone(&self.state)));
    }

    pub(crate) fn cancel(&self) {
        self.link.send(Command::Cancel(Arc::clone(&self.state)));
    }
}

/// The only channel that this side writes to.
pub(crate) const INPUT: Channel = Channel::Main;
