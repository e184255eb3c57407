//! The task of one xbot runner's link: owns the socket, the keepalive and the pending calls.
//!
//! It never stops reading: a pong that waits behind a request's answer would be one that came too late. What is to be
//! sent waits in a queue of its own.

use std::collections::HashMap;
use std::io;
use std::pin::pin;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::{Sink, SinkExt, StreamExt};
use proto::StreamId;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::calls::{Call, Calls, Pending};
use super::job::{Input, Job};
use super::path::Workspace;
use crate::budget::{MessageAccount, MessageBudget};
use crate::driver::{Command, LinkEnd, LinkHandle, StreamEvent, end_state};
use crate::error::SandboxError;
use crate::facts::RunnerFacts;
use crate::limits::{CLOSE_TIMEOUT, XBOT_DEAD_AFTER, XBOT_PING_INTERVAL};
use crate::links::{Link, LinkMessage};

/// Who is at the other end of a link.
#[derive(Debug, Clone)]
pub(crate) struct Peer {
    /// The runner's registered name.
    pub(crate) place: String,
    /// The user id it registered with; it hears it in every request.
    pub(crate) user: String,
    /// What is known of it.
    pub(crate) facts: Arc<RunnerFacts>,
}

/// Drives one registered link. See the module's header.
#[derive(Debug)]
pub(crate) struct Driver<L> {
    link: L,
    commands: mpsc::UnboundedReceiver<Command>,
    place: Arc<str>,
    workspace: Arc<Workspace>,
    calls: Calls,
    outgoing: mpsc::UnboundedReceiver<Call>,
    budget: MessageBudget,
}

/// A driver for a registered link and the handle that opens streams on it.
pub(crate) fn driver<L: Link>(link: L, peer: Peer, budget: MessageBudget) -> (LinkHandle, Driver<L>) {
    let (sender, commands) = mpsc::unbounded_channel();
    let place: Arc<str> = peer.place.into();
    let workspace = Arc::new(Workspace::new(&peer.facts.workspace));
    let (calls, outgoing) = Calls::new(Arc::clone(&place), peer.user);
    let handle = LinkHandle::new(Arc::clone(&place), peer.facts, sender);
    (handle, Driver { link, commands, place, workspace, calls, outgoing, budget })
}

/// A message that waits to leave, with what it holds of the budget.
type Leaving = (LinkMessage, Option<MessageAccount>);

/// What the handles opened.
struct Open {
    input: mpsc::UnboundedSender<Input>,
    cancel: CancellationToken,
}

/// The jobs of a link; ended by `over` when it is.
struct Jobs {
    open: HashMap<StreamId, Open>,
    running: JoinSet<StreamId>,
    over: CancellationToken,
    last_id: u32,
}

impl<L: Link> Driver<L> {
    /// Drives the link until it ends or `stop` is cancelled; then every open stream has got its error.
    pub(crate) async fn run(self, stop: CancellationToken) -> LinkEnd {
        let Self { link, mut commands, place, workspace, calls, mut outgoing, budget } = self;
        let (sink, mut messages) = link.split();
        let (leaving, queue) = mpsc::unbounded_channel();
        let mut writer = pin!(write(sink, queue));
        let mut pending = Pending::default();
        let mut jobs = Jobs {
            open: HashMap::new(),
            running: JoinSet::new(),
            over: CancellationToken::new(),
            last_id: 0,
        };
        let mut ping = interval(XBOT_PING_INTERVAL);
        ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut dead_at = Instant::now() + XBOT_DEAD_AFTER;
        let end = loop {
            tokio::select! {
                () = stop.cancelled() => break LinkEnd::Wanted(None),
                ended = &mut writer => break LinkEnd::Failed(ended.err().unwrap_or(io::ErrorKind::BrokenPipe.into())),
                command = commands.recv() => match command {
                    Some(Command::Open { request, stream, permit }) => {
                        let job = |id, input, cancel, over| Job {
                            id, request, stream, input, cancel, over,
                            place: Arc::clone(&place),
                            workspace: Arc::clone(&workspace),
                            calls: calls.for_job(),
                            budget: budget.clone(),
                            _permit: permit,
                        };
                        jobs.start(job);
                    }
                    Some(Command::Close(last_word)) => break LinkEnd::Wanted(last_word),
                    Some(command) => jobs.act(command),
                    // Without any handle left nobody can want anything of this link any more.
                    None => break LinkEnd::Wanted(None),
                },
                Some(call) = outgoing.recv() => {
                    let (text, account) = call.wait_in(&mut pending);
                    // A writer that ended is noticed above.
                    let _ = leaving.send((LinkMessage::Text(text), account));
                }
                message = messages.next() => {
                    let text = match message {
                        None => break LinkEnd::Peer(None),
                        Some(Err(error)) => break LinkEnd::Failed(error),
                        Some(Ok(LinkMessage::Ping | LinkMessage::Pong)) => {
                            dead_at = Instant::now() + XBOT_DEAD_AFTER;
                            continue;
                        }
                        Some(Ok(LinkMessage::Text(text))) => text,
                        // The kind of a message means nothing in the dialect.
                        Some(Ok(LinkMessage::Binary(bytes))) => match text_of(bytes) {
                            Ok(text) => text,
                            Err(error) => break LinkEnd::Failed(error),
                        },
                    };
                    if let Err(error) = pending.receive(text, |bytes| budget.charge(bytes)) {
                        break LinkEnd::Failed(malformed(error.to_string()));
                    }
                }
                _ = ping.tick() => {
                    let _ = leaving.send((LinkMessage::Ping, None));
                }
                () = sleep_until(dead_at) => break LinkEnd::Failed(silent()),
                Some(ended) = jobs.running.join_next() => jobs.forget(ended),
            }
        };
        tracing::debug!(%place, ?end, "the link of an xbot runner is over");
        drop((pending, outgoing));
        fail_unopened(&mut commands, &place);
        jobs.end().await;
        drop(leaving);
        // Best effort: the link is over either way, and a dead peer must not hold this task.
        if !matches!(end, LinkEnd::Failed(_))
            && let Ok(Err(error)) = timeout(CLOSE_TIMEOUT, writer).await
        {
            tracing::debug!(%place, %error, "the link's goodbye did not leave");
        }
        end
    }
}

impl Jobs {
    fn start(
        &mut self,
        job: impl FnOnce(StreamId, mpsc::UnboundedReceiver<Input>, CancellationToken, CancellationToken) -> Job,
    ) {
        let id = self.next_id();
        let (input, receiver) = mpsc::unbounded_channel();
        let cancel = CancellationToken::new();
        let job = job(id, receiver, cancel.clone(), self.over.clone());
        job.stream.opened_as(id);
        self.open.insert(id, Open { input, cancel });
        self.running.spawn(job.run());
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

    fn act(&mut self, command: Command) {
        let (stream, input) = match command {
            Command::Data(stream, bytes) => (stream, Some(Input::Data(bytes))),
            Command::End(stream) => (stream, Some(Input::End)),
            Command::Cancel(stream) | Command::Abandon(stream) => (stream, None),
            // Answers come whole, so there is no credit to give; the other two are not for jobs.
            Command::Consumed(..) | Command::Open { .. } | Command::Close(_) => return,
        };
        let Some(open) = stream.id().and_then(|id| self.open.get(&id)) else { return };
        match input {
            // A job that ended takes no more.
            Some(input) => drop(open.input.send(input)),
            None => {
                stream.room.close();
                open.cancel.cancel();
            }
        }
    }

    fn forget(&mut self, ended: Result<StreamId, tokio::task::JoinError>) {
        match ended {
            Ok(id) => drop(self.open.remove(&id)),
            Err(error) => tracing::error!(%error, "a request to an xbot runner was dropped"),
        }
    }

    /// Ends every job; each has told its handle when this returns.
    async fn end(mut self) {
        self.over.cancel();
        while let Some(ended) = self.running.join_next().await {
            self.forget(ended);
        }
    }
}

/// Sends what waits, in order, then says goodbye.
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
fn fail_unopened(commands: &mut mpsc::UnboundedReceiver<Command>, place: &str) {
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
