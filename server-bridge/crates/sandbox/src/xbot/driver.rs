//! The task of one xbot runner's link: owns the socket, the keepalive and the pending calls.
//!
//! It never stops reading: a pong that is queued behind a request's answer could be read too late. Outgoing messages have a
//! separate queue.

use std::collections::HashMap;
use std::io;
use std::pin::pin;
use std::sync::Arc;

use bytes::Bytes;
use futures_channel::mpsc::UnboundedReceiver;
use futures_util::{Sink, SinkExt, StreamExt};
use proto::{Request, StreamId};
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::calls::{Call, Calls, Pending};
use super::job::{Input, Job};
use super::path::Workspace;
use crate::budget::{MessageAccount, MessageBudget};
use crate::driver::{
    Command, LinkEnd, LinkHandle, Presence, Seat, StartedBy, StreamEvent, StreamState, commands, end_state,
};
use crate::error::SandboxError;
use crate::facts::RunnerFacts;
use crate::limits::{CLOSE_TIMEOUT, XBOT_DEAD_AFTER, XBOT_PING_INTERVAL};
use crate::link::{Link, LinkMessage};

/// The peer of a link.
#[derive(Debug, Clone)]
pub(crate) struct Peer {
    /// The runner's registered name.
    pub(crate) place: String,
    /// The user id it registered with; every request repeats it.
    pub(crate) user: String,
    /// The description of the runner, as far as it is known.
    pub(crate) facts: Arc<RunnerFacts>,
}

/// Drives one registered link. See the module's header.
#[derive(Debug)]
pub(crate) struct Driver<L> {
    link: L,
    commands: UnboundedReceiver<Command>,
    place: Arc<str>,
    workspace: Arc<Workspace>,
    calls: Calls,
    outgoing: mpsc::UnboundedReceiver<Call>,
    budget: MessageBudget,
    presence: Arc<Presence>,
}

/// A driver for a registered link and the handle that opens streams on it.
pub(crate) fn driver<L: Link>(link: L, peer: Peer, budget: MessageBudget) -> (LinkHandle, Driver<L>) {
    let (sender, commands) = commands();
    let place: Arc<str> = peer.place.into();
    let workspace = Arc::new(Workspace::new(&peer.facts.workspace));
    let (calls, outgoing) = Calls::new(Arc::clone(&place), peer.user);
    let presence = Arc::new(Presence::online());
    let handle =
        LinkHandle::new(Arc::clone(&place), StartedBy::User, peer.facts, sender, Arc::clone(&presence));
    (handle, Driver { link, commands, place, workspace, calls, outgoing, budget, presence })
}

/// A message that waits to be sent, with its share of the budget.
type Leaving = (LinkMessage, Option<MessageAccount>);

/// A stream that a handle opened.
struct Open {
    input: mpsc::UnboundedSender<Input>,
    cancel: CancellationToken,
}

/// The state of a link's driver while it runs.
struct Running {
    place: Arc<str>,
    workspace: Arc<Workspace>,
    calls: Calls,
    budget: MessageBudget,
    pending: Pending,
    leaving: mpsc::UnboundedSender<Leaving>,
    open: HashMap<StreamId, Open>,
    jobs: JoinSet<StreamId>,
    last_id: u32,
    /// Cancelled when the link is over; ends every job.
    over: CancellationToken,
    dead_at: Instant,
}

impl<L: Link> Driver<L> {
    /// Drives the link until it ends or `stop` is cancelled; then every open stream gets its error.
    pub(crate) async fn run(self, stop: CancellationToken) -> LinkEnd {
        let Self { link, mut commands, place, workspace, calls, mut outgoing, budget, presence } = self;
        let (sink, mut messages) = link.split();
        let (leaving, queue) = mpsc::unbounded_channel();
        let mut writer = pin!(write(sink, queue));
        let mut running = Running {
            place,
            workspace,
            calls,
            budget,
            pending: Pending::default(),
            leaving,
            open: HashMap::new(),
            jobs: JoinSet::new(),
            last_id: 0,
            over: CancellationToken::new(),
            dead_at: Instant::now() + XBOT_DEAD_AFTER,
        };
        let mut ping = interval(XBOT_PING_INTERVAL);
        ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let end = loop {
            let done = tokio::select! {
                () = stop.cancelled() => Err(LinkEnd::Wanted(None)),
                ended = &mut writer => {
                    Err(LinkEnd::Failed(ended.err().unwrap_or(io::ErrorKind::BrokenPipe.into())))
                }
                command = commands.next() => running.act(command),
                Some(call) = outgoing.recv() => {
                    running.send(call);
                    Ok(())
                }
                message = messages.next() => running.receive(message),
                _ = ping.tick() => {
                    running.leave(LinkMessage::Ping, None);
                    Ok(())
                }
                () = sleep_until(running.dead_at) => Err(LinkEnd::Failed(silent())),
                Some(ended) = running.jobs.join_next() => {
                    running.forget(ended);
                    Ok(())
                }
            };
            if let Err(end) = done {
                break end;
            }
        };
        tracing::debug!(place = %running.place, ?end, "the link of an xbot runner has ended");
        presence.end();
        drop(outgoing);
        fail_unopened(&mut commands, &running.place);
        running.end().await;
        // Best effort: the link is over either way, and a dead peer must not hold this task.
        if !matches!(end, LinkEnd::Failed(_))
            && let Ok(Err(error)) = timeout(CLOSE_TIMEOUT, writer).await
        {
            tracing::debug!(%error, "the last message to an xbot runner could not be sent");
        }
        end
    }
}

impl Running {
    /// Handles a command of a handle; once no handle is left, this link is no longer needed.
    fn act(&mut self, command: Option<Command>) -> Result<(), LinkEnd> {
        match command {
            None => return Err(LinkEnd::Wanted(None)),
            Some(Command::Close(last_word) | Command::Unplug(_, last_word)) => {
                return Err(LinkEnd::Wanted(last_word));
            }
            Some(Command::Open { request, stream, permit }) => self.start(*request, stream, permit),
            Some(Command::Data(stream, bytes)) => self.feed(&stream, Input::Data(bytes)),
            Some(Command::End(stream)) => self.feed(&stream, Input::End),
            // Here no command continues without its reader: leaving means giving up.
            Some(Command::Cancel(stream) | Command::Abandon(stream) | Command::Leave(stream)) => {
                stream.room.close();
                if let Some(open) = self.open_of(&stream) {
                    open.cancel.cancel();
                }
            }
            // Each answer arrives once and complete: there is no credit to give, nothing to acknowledge, and no second
            // link.
            Some(Command::Consumed(..) | Command::Acknowledge(_) | Command::Plug(_)) => {}
        }
        Ok(())
    }

    fn start(&mut self, request: Request, stream: Arc<StreamState>, permit: OwnedSemaphorePermit) {
        let id = self.next_id();
        let (input, receiver) = mpsc::unbounded_channel();
        let cancel = CancellationToken::new();
        stream.take_seat(Seat::Open(id));
        self.open.insert(id, Open { input, cancel: cancel.clone() });
        let job = Job {
            id,
            request,
            stream,
            input: receiver,
            cancel,
            over: self.over.clone(),
            place: Arc::clone(&self.place),
            workspace: Arc::clone(&self.workspace),
            calls: self.calls.for_job(),
            budget: self.budget.clone(),
            _permit: permit,
        };
        self.jobs.spawn(job.run());
    }

    fn next_id(&mut self) -> StreamId {
        loop {
            self.last_id = self.last_id.wrapping_add(1);
            let id = StreamId(self.last_id);
            if id != StreamId::SESSION && !self.open.contains_key(&id) {
                return id;
            }
        }
    }

    fn open_of(&self, stream: &StreamState) -> Option<&Open> {
        match stream.seat()? {
            Seat::Open(id) => self.open.get(&id),
            Seat::Parked(_) => None,
        }
    }

    fn feed(&self, stream: &StreamState, input: Input) {
        if let Some(open) = self.open_of(stream) {
            // A job that ended takes no more.
            let _ = open.input.send(input);
        }
    }

    fn send(&mut self, call: Call) {
        let (text, account) = call.wait_in(&mut self.pending);
        self.leave(LinkMessage::Text(text), account);
    }

    fn leave(&self, message: LinkMessage, account: Option<MessageAccount>) {
        // A writer that has ended ends the link.
        let _ = self.leaving.send((message, account));
    }

    fn receive(&mut self, message: Option<io::Result<LinkMessage>>) -> Result<(), LinkEnd> {
        let text = match message.ok_or(LinkEnd::Peer(None))?.map_err(LinkEnd::Failed)? {
            LinkMessage::Ping | LinkMessage::Pong => {
                self.dead_at = Instant::now() + XBOT_DEAD_AFTER;
                return Ok(());
            }
            LinkMessage::Text(text) => text,
            // The type of a message is irrelevant in the dialect.
            LinkMessage::Binary(bytes) => text_of(bytes).map_err(LinkEnd::Failed)?,
        };
        let Self { pending, budget, .. } = self;
        let received = pending.receive(text, |bytes| budget.charge(bytes));
        received.map_err(|error| LinkEnd::Failed(malformed(error.to_string())))
    }

    fn forget(&mut self, ended: Result<StreamId, JoinError>) {
        match ended {
            Ok(id) => drop(self.open.remove(&id)),
            Err(error) => tracing::error!(%error, "a request to an xbot runner was dropped"),
        }
    }

    /// Ends every job; each has informed its handle when this returns, and the writer may send the goodbye.
    async fn end(mut self) {
        self.over.cancel();
        drop(self.pending);
        while self.jobs.join_next().await.is_some() {}
    }
}

/// Sends the queued messages, in order, then a goodbye.
async fn write<S>(mut sink: S, mut queue: mpsc::UnboundedReceiver<Leaving>) -> io::Result<()>
where
    S: Sink<LinkMessage, Error = io::Error> + Unpin,
{
    while let Some((message, _account)) = queue.recv().await {
        sink.send(message).await?;
    }
    sink.close().await
}

/// Fails the requests that were never begun.
fn fail_unopened(commands: &mut UnboundedReceiver<Command>, place: &str) {
    commands.close();
    while let Ok(command) = commands.try_recv() {
        if let Command::Open { stream, .. } = command {
            end_state(&stream, StreamEvent::Failed(SandboxError::Offline { runner: place.to_owned() }));
        }
    }
}

fn text_of(bytes: Bytes) -> io::Result<String> {
    String::from_utf8(bytes.into()).map_err(|error| malformed(error.to_string()))
}

fn malformed(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("not a message of xbot's dialect: {why}"))
}

fn silent() -> io::Error {
    let seconds = XBOT_DEAD_AFTER.as_secs();
    io::Error::new(io::ErrorKind::TimedOut, format!("no ping and no pong for {seconds} s"))
}
