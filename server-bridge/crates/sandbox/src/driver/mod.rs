//! The driver of one runner's process: it owns the streams, the session and the current link; handles talk to it through
//! commands and mailboxes.
//!
//! It is polled as one future instead of a loop of `select!`: every wake-up drains all pending commands and frames, hands
//! the socket everything that may be sent, and flushes once. Nothing in it waits for a handle, so a reader that stalls
//! only stalls its own stream. A life is one process of a runner, over any number of links:
//!
//! ```text
//!         Plug                     link ends, Unplug
//! away ----------> online (Plug again: the newest wins) ----------> away (streams wait) ---10 min---> over
//!                    |                                                |
//!                    +--Close: revoked, another life, stopping; the runner's goodbye---------------> over
//!                    |
//!                    +--the goodbye of a runner that will be back--> returning (all requests wait) --in time: Plug--> online
//!                                                                                                  --else--------> over
//! ```

mod entry;
mod handle;
mod input;
mod plug;
mod results;
mod resume;
mod stream;
mod table;
mod taken;
#[cfg(test)]
mod tests;

use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_channel::mpsc::UnboundedReceiver;
use futures_util::{Sink, Stream, StreamExt as _};
use proto::session::{Close, CloseCode};
use tokio::sync::oneshot;
use tokio::time::{Instant, Sleep, sleep_until};
use tokio_util::sync::CancellationToken;

pub(crate) use handle::{Command, LinkHandle, OpenStream, Piece, StartedBy, StreamWriter, commands};
pub(crate) use plug::{LinkEnd, Plugged, Presence};
pub use stream::AckMode;
pub(crate) use stream::{Seat, StreamEvent, StreamState};
pub(crate) use table::end_state;

use crate::error::SandboxError;
use crate::facts::RunnerFacts;
use crate::limits::FRAMES_PER_TURN;
use crate::link::{Link, LinkMessage};
use plug::{Plug, Unplugged};
use table::Table;

/// Drives a runner's life. See the module's header.
#[derive(Debug)]
pub(crate) struct Driver {
    transport: Option<Transport>,
    table: Table,
    commands: UnboundedReceiver<Command>,
    timer: Pin<Box<Sleep>>,
    presence: Arc<Presence>,
}

/// The current link.
struct Transport {
    link: Box<dyn Link>,
    epoch: u64,
    needs_flush: bool,
    ended: oneshot::Sender<Unplugged>,
}

/// A life is over; contains the last message to send on its link, if there is one.
struct Over(Option<Close>);

/// A driver for a runner without a link yet, and the handle that gives it one and opens streams.
pub(crate) fn driver(place: &str, started_by: StartedBy, facts: Arc<RunnerFacts>) -> (LinkHandle, Driver) {
    let (sender, commands) = commands();
    let place: Arc<str> = place.into();
    let table = Table::new(Arc::clone(&place), Instant::now().into_std());
    let timer = Box::pin(sleep_until(table.next_timeout().into()));
    let presence = Arc::new(Presence::new());
    let handle = LinkHandle::new(place, started_by, facts, sender, Arc::clone(&presence));
    (handle, Driver { transport: None, table, commands, timer, presence })
}

impl Driver {
    /// Drives the streams until the life is over or `stop` is cancelled; then every open one gets its error.
    pub(crate) async fn run(self, stop: CancellationToken) {
        let goodbye = || Close::new(CloseCode::GoingAway, "the server is stopping");
        self.run_until(stop, goodbye).await;
    }

    /// Like [`Driver::run`], with this last message in case of a stop.
    pub(crate) async fn run_until(mut self, stop: CancellationToken, goodbye: impl FnOnce() -> Close) {
        let Over(last_word) = tokio::select! {
            biased;
            over = poll_fn(|cx| self.poll_turn(cx)) => over,
            () = stop.cancelled() => Over(Some(goodbye())),
        };
        tracing::debug!(place = %self.table.runner, ?last_word, "the runner's connection has ended for good");
        self.unplug(LinkEnd::Wanted(last_word));
    }

    /// Does everything that can be done now.
    fn poll_turn(&mut self, cx: &mut Context<'_>) -> Poll<Over> {
        if let Err(over) = self.turn(cx) { Poll::Ready(over) } else { Poll::Pending }
    }

    fn turn(&mut self, cx: &mut Context<'_>) -> Result<(), Over> {
        self.take_commands(cx)?;
        if let Err(end) = self.read(cx) {
            let is_last = end.is_last();
            self.unplug(end);
            if is_last {
                return Err(Over(None));
            }
        }
        self.watch_time(cx)?;
        if let Err(error) = self.write(cx) {
            self.unplug(LinkEnd::Failed(error));
            // Polled again, because without a link the timer is used for the wait for the next link.
            cx.waker().wake_by_ref();
        }
        Ok(())
    }

    fn take_commands(&mut self, cx: &mut Context<'_>) -> Result<(), Over> {
        let mut now = None;
        while let Poll::Ready(command) = self.commands.poll_next_unpin(cx) {
            // Once no handle is left, this runner is no longer needed.
            let command = command.ok_or(Over(None))?;
            let now = *now.get_or_insert_with(|| Instant::now().into_std());
            self.act(command, now)?;
        }
        Ok(())
    }

    fn act(&mut self, command: Command, now: std::time::Instant) -> Result<(), Over> {
        let table = &mut self.table;
        match command {
            Command::Open { request, stream, permit } => table.open(*request, stream, permit, now),
            Command::Data(stream, bytes) => table.write(&stream, Some(bytes)),
            Command::End(stream) => table.write(&stream, None),
            Command::Consumed(stream, bytes) => table.drained(&stream, bytes),
            Command::Cancel(stream) => table.cancel(&stream, false),
            Command::Abandon(stream) => table.cancel(&stream, true),
            Command::Leave(stream) => table.leave(&stream),
            Command::Acknowledge(exec_id) => table.acknowledge(exec_id),
            Command::Plug(plug) => self.plug(*plug),
            Command::Unplug(epoch, last_word) => {
                let present = self.transport.as_ref().map(|transport| transport.epoch);
                if epoch.is_none() || epoch == present {
                    self.unplug(LinkEnd::Wanted(last_word));
                }
            }
            Command::Close(last_word) => return Err(Over(last_word)),
        }
        Ok(())
    }

    fn plug(&mut self, plug: Plug) {
        self.unplug(LinkEnd::Wanted(None));
        self.table.take_link(Instant::now().into_std());
        let Plug { link, epoch, ended } = plug;
        self.transport = Some(Transport { link, epoch, needs_flush: false, ended });
    }

    /// Gives the link back to the task that serves it; streams wait for the next one.
    fn unplug(&mut self, end: LinkEnd) {
        let Some(Transport { link, epoch, ended, .. }) = self.transport.take() else { return };
        tracing::debug!(place = %self.table.runner, epoch, ?end, "the link has ended");
        let now = Instant::now().into_std();
        let returns_within = end.returns_within();
        self.presence.leave(epoch, returns_within.is_some());
        match returns_within {
            Some(time) => self.table.await_return(time, now),
            None => self.table.lose_link(now),
        }
        // The task that served it may have ended: then the link ends here, without a last message.
        let _ = ended.send(Unplugged { link, end });
    }

    fn read(&mut self, cx: &mut Context<'_>) -> Result<(), LinkEnd> {
        let Some(transport) = &mut self.transport else { return Ok(()) };
        let now = Instant::now().into_std();
        for _ in 0..FRAMES_PER_TURN {
            let message = match Pin::new(&mut transport.link).poll_next(cx) {
                Poll::Pending => return Ok(()),
                Poll::Ready(None) => return Err(LinkEnd::Peer(None)),
                Poll::Ready(Some(message)) => message.map_err(LinkEnd::Failed)?,
            };
            let LinkMessage::Binary(frame) = message else {
                let close = Close::new(CloseCode::Protocol, "only binary frames follow a registration");
                return Err(LinkEnd::Broken(close));
            };
            self.table.receive(&frame, now).map_err(|received| match received {
                table::Received::Goodbye(close) => LinkEnd::Peer(Some(close)),
                table::Received::Broken(close) => LinkEnd::Broken(close),
            })?;
        }
        cx.waker().wake_by_ref();
        Ok(())
    }

    fn watch_time(&mut self, cx: &mut Context<'_>) -> Result<(), Over> {
        loop {
            // Most deadlines only move later, so the timer is reset when it fires, not with every frame.
            let due = self.table.next_timeout().into();
            if due < self.timer.deadline() {
                self.timer.as_mut().reset(due);
            }
            if self.timer.as_mut().poll(cx).is_pending() {
                return Ok(());
            }
            let now = Instant::now().into_std();
            if self.transport.is_none() {
                if self.table.wait_for_link(now) {
                    return Err(Over(None));
                }
            } else if let Err(close) = self.table.handle_timeout(now) {
                self.unplug(LinkEnd::Broken(close));
            }
            self.timer.as_mut().reset(self.table.next_timeout().into());
        }
    }

    fn write(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        let Some(transport) = &mut self.transport else { return Ok(()) };
        let now = Instant::now().into_std();
        let mut link = Pin::new(&mut transport.link);
        loop {
            if link.as_mut().poll_ready(cx)?.is_pending() {
                return Ok(());
            }
            let Some(frame) = self.table.next_frame(now) else { break };
            link.as_mut().start_send(LinkMessage::Binary(frame))?;
            transport.needs_flush = true;
        }
        if transport.needs_flush && link.poll_flush(cx)?.is_ready() {
            transport.needs_flush = false;
        }
        Ok(())
    }
}

impl Drop for Driver {
    /// Fails every stream, even if the driver's task is dropped before its end.
    fn drop(&mut self) {
        self.presence.end();
        self.commands.close();
        self.table.fail_all(Instant::now().into_std());
        let offline = SandboxError::Offline { runner: self.table.runner.to_string() };
        while let Ok(command) = self.commands.try_recv() {
            if let Command::Open { stream, .. } = command {
                end_state(&stream, StreamEvent::Failed(offline.clone()));
            }
        }
    }
}

impl std::fmt::Debug for Transport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transport").field("epoch", &self.epoch).finish_non_exhaustive()
    }
}
