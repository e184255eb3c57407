//! A running command's data in both directions, over as many connections as necessary.
//!
//! ```text
//!   connected ──lost──► looking for the server ──found──► the same request again, with the current offset ──► connected
//! ```

use std::pin::Pin;

use api::exec::{ClientFrame, ExecAsk, ExecExit};
use tokio::time::{Instant, Sleep, sleep, sleep_until};
use tokio_websockets::Message;

use super::hint::Tail;
use super::stdin::Stdin;
use super::wire::{self, Format, Incoming};
use super::writer::{Channel, Writer};
use crate::failure::Failure;
use crate::interrupts::Interrupts;
use crate::limits::{
    ACK_BYTES, ACK_DELAY, ACK_MIN_BYTES, AWAY_NOTE, CANCEL_TIMEOUT, RECONNECT_PATIENCE, RECONNECT_PAUSE,
    RECONNECT_PAUSE_LIMIT,
};
use crate::output;
use crate::session::Session;
use crate::socket::{self, Inbox, Outbox};

/// How the stream ended.
pub(super) enum Ended {
    /// The server reported how the command ended.
    Exit(ExecExit),
    /// The command continues in the background.
    Detached { exec_id: String, runner: Option<String> },
    /// The server reported why the command could not be run, or the connection broke.
    Failed(Failure),
    /// The user does not want to wait any longer.
    Interrupted,
}

/// The effect of Ctrl-C.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum OnInterrupt {
    /// Ctrl-C ends the command.
    Cancel,
    /// Ctrl-C ends this program; the command continues.
    Leave,
}

/// The endpoint of a connection, and its first message.
pub(super) enum Opening {
    /// The exec socket; the request, which names its exec.
    Request(Box<ExecAsk>),
    /// A running exec, by its path.
    Attach(String),
}

/// This program as a client of the exec, with the number of its connections so far.
struct Connections {
    client: String,
    made: u64,
}

impl Connections {
    fn none() -> Self {
        Self { client: format!("{:032x}", rand::random::<u128>()), made: 0 }
    }

    /// Makes the next connection, for the output from an offset on.
    async fn open(
        &mut self,
        opening: &Opening,
        session: &Session,
        offset: u64,
    ) -> Result<(Outbox, Inbox), Failure> {
        let (client, connection) = (&self.client, self.made);
        self.made += 1;
        let path = match opening {
            Opening::Request(_) => "/api/v1/exec".to_owned(),
            Opening::Attach(path) => {
                format!("{path}?acks=true&offset={offset}&client={client}&connection={connection}")
            }
        };
        let (mut outbox, inbox) = socket::open(session, &path).await?;
        if let Opening::Request(request) = opening {
            let client = Some(client.clone());
            outbox.push_json(&ExecAsk { offset, client, connection, ..ExecAsk::clone(request) });
        }
        Ok((outbox, inbox))
    }
}

/// A command's output, input and end. See the module's header.
pub(super) struct Stream<'a> {
    session: &'a Session,
    opening: Opening,
    connections: Connections,
    pub(super) outbox: Outbox,
    pub(super) inbox: Inbox,
    pub(super) writer: Writer,
    /// The end of the command's standard error.
    pub(super) stderr_tail: Tail,
    stdin: Stdin,
    pub(super) interrupts: Interrupts,
    format: Format,
    on_interrupt: OnInterrupt,
    /// The number of bytes of output that arrived, including reported gaps.
    offset: u64,
    /// The number of those bytes that were acknowledged.
    acknowledged: u64,
    /// The timer for acknowledging a small amount; a single one, since most amounts are acknowledged before it fires.
    acknowledge_later: Pin<Box<Sleep>>,
    is_later: bool,
    /// True if input must wait until the server reports where it continues.
    awaits_start: bool,
}

impl<'a> Stream<'a> {
    /// Connects for the first time.
    pub(super) async fn start(
        session: &'a Session,
        opening: Opening,
        on_interrupt: OnInterrupt,
        stdin: Stdin,
        format: Format,
        offset: u64,
    ) -> Result<Option<Self>, Failure> {
        let mut interrupts = Interrupts::listen()?;
        let mut connections = Connections::none();
        let (outbox, inbox) = tokio::select! {
            socket = connections.open(&opening, session, offset) => socket?,
            () = interrupts.next() => return Ok(None),
        };
        let writer = Writer::start();
        let awaits_start = matches!(opening, Opening::Attach(_));
        Ok(Some(Self {
            session,
            opening,
            connections,
            outbox,
            inbox,
            writer,
            stderr_tail: Tail::default(),
            stdin,
            interrupts,
            format,
            on_interrupt,
            offset,
            acknowledged: offset,
            acknowledge_later: Box::pin(sleep(ACK_DELAY)),
            is_later: false,
            awaits_start,
        }))
    }

    /// Moves bytes both ways until the command ended. No branch waits for more than its own event, so a command that reads
    /// no input still has its output shown, and Ctrl-C always works.
    pub(super) async fn run(&mut self) -> Ended {
        let readers = self.writer.watch();
        let mut given_up_at = None;
        loop {
            let is_blocked = self.writer.is_full();
            let is_cancelled = given_up_at.is_some();
            let may_send = !self.outbox.is_busy() && !self.awaits_start;
            let sends_input = may_send && self.stdin.is_open() && self.stdin.may_go_ahead();
            tokio::select! {
                message = self.inbox.next(), if !is_blocked => match message {
                    Ok(message) => {
                        if let Some(ended) = self.take(message) {
                            return ended;
                        }
                    }
                    Err(failure) if is_cancelled => return Ended::Failed(failure),
                    Err(failure) => {
                        if let Some(ended) = self.reconnect(failure).await {
                            return ended;
                        }
                    }
                },
                () = self.writer.has_room(), if is_blocked => {}
                () = &mut self.acknowledge_later, if self.is_later => {
                    self.is_later = false;
                    self.acknowledge();
                }
                sent = self.outbox.send_all(), if self.outbox.is_busy() => {
                    // A server that has ended the exec reads no more; its last messages are still to be read, and a lost
                    // connection is noticed while they are read.
                    self.awaits_start |= sent.is_err();
                }
                frame = self.stdin.next(), if sends_input && !is_cancelled => {
                    self.outbox.push(Message::binary(frame));
                }
                () = readers.broken(), if !is_cancelled => given_up_at = Some(self.cancel()),
                () = self.interrupts.next() => {
                    if is_cancelled || self.on_interrupt == OnInterrupt::Leave {
                        return Ended::Interrupted;
                    }
                    given_up_at = Some(self.cancel());
                }
                // Unread input may be queued before the cancel; if so, closing the connection cancels the command.
                () = sleep_until(given_up_at.unwrap_or_else(Instant::now)), if is_cancelled => {
                    return Ended::Interrupted;
                }
            }
        }
    }

    fn take(&mut self, message: Message) -> Option<Ended> {
        match wire::incoming(message, self.format)? {
            Incoming::Output(channel, bytes, length) => {
                if channel == Channel::Stderr {
                    self.stderr_tail.push(&bytes);
                }
                self.writer.push(channel, bytes);
                self.came(length as u64);
            }
            Incoming::Gap(bytes) => {
                self.came(bytes);
                self.note(&format!("{bytes} bytes of output are no longer available"));
            }
            Incoming::Started(stdin_offset) => {
                if self.awaits_start && !self.stdin.rewind(stdin_offset) {
                    self.cancel();
                    let text = "input that was sent before the connection was lost is no longer kept; the command \
                                was cancelled";
                    return Some(Ended::Failed(Failure::other("lost", text)));
                }
                self.awaits_start = false;
            }
            Incoming::InputTaken(offset) => self.stdin.taken(offset),
            Incoming::Away(true) => {
                self.note("waiting for the runner, which is disconnected; the command continues there")
            }
            Incoming::Away(false) => self.note("the runner is connected again"),
            Incoming::Detached { exec_id, runner } => return Some(Ended::Detached { exec_id, runner }),
            Incoming::Exit(exit) => return Some(Ended::Exit(exit)),
            Incoming::Failed(failure) => return Some(Ended::Failed(failure)),
        }
        None
    }

    fn came(&mut self, bytes: u64) {
        self.offset = self.offset.saturating_add(bytes);
        let unsaid = self.offset - self.acknowledged;
        if unsaid >= ACK_BYTES {
            self.acknowledge();
        } else if unsaid >= ACK_MIN_BYTES && !self.is_later {
            self.is_later = true;
            self.acknowledge_later.as_mut().reset(Instant::now() + ACK_DELAY);
        }
    }

    /// Acknowledges the received output, unless all of it was acknowledged.
    fn acknowledge(&mut self) {
        if self.acknowledged < self.offset {
            self.acknowledged = self.offset;
            self.outbox.push_json(&ClientFrame::Ack { offset: self.offset });
        }
    }

    /// Reconnects to the server and continues; returns the end, if that is impossible.
    async fn reconnect(&mut self, lost: Failure) -> Option<Ended> {
        let lost_at = Instant::now();
        let mut pause = RECONNECT_PAUSE;
        let mut is_told = false;
        loop {
            if !is_told && lost_at.elapsed() >= AWAY_NOTE {
                is_told = true;
                self.note(
                    "waiting for the server, which cannot be reached; the command continues without it",
                );
            }
            let found = async {
                // This pause also precedes the first attempt, so that a server that accepts connections and closes them at once is not flooded.
                sleep(pause).await;
                self.connections.open(&self.opening, self.session, self.offset).await
            };
            let opened = tokio::select! {
                opened = found => opened,
                () = self.interrupts.next() => return Some(Ended::Interrupted),
            };
            match opened {
                Ok((outbox, inbox)) => {
                    (self.outbox, self.inbox) = (outbox, inbox);
                    self.acknowledged = self.offset;
                    self.awaits_start = true;
                    if is_told {
                        self.note("the server is connected again");
                    }
                    return None;
                }
                Err(failure) if !is_passing(&failure) => return Some(Ended::Failed(failure)),
                Err(_) if lost_at.elapsed() >= RECONNECT_PATIENCE => return Some(Ended::Failed(lost)),
                Err(_) => pause = (pause * 2).min(RECONNECT_PAUSE_LIMIT),
            }
        }
    }

    /// Asks the server to end the command, and returns when to stop waiting for that.
    fn cancel(&mut self) -> Instant {
        self.outbox.push_json(&ClientFrame::Cancel);
        Instant::now() + CANCEL_TIMEOUT
    }

    /// Prints a note for a person; programs read only the end.
    fn note(&self, text: &str) {
        if self.format == Format::Raw {
            output::warn(text);
        }
    }
}

/// True if a connection that failed like this may succeed later.
fn is_passing(failure: &Failure) -> bool {
    ["unreachable", "unavailable", "lost", "rate_limited"].contains(&failure.kind.as_str())
}
