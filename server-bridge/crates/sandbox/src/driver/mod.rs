//! One link's driver: owns the socket and the session; handles talk to it through commands and mailboxes.
//!
//! It is polled as one future instead of a loop of `select!`: every wake-up drains all commands and all frames that
//! are there, hands everything that may leave to the socket, and flushes once. Nothing in it waits for a handle,
//! so a reader that stalls stalls its own stream only.

mod handle;
mod stream;
mod table;
#[cfg(test)]
mod tests;

use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::SinkExt;
use proto::session::{Close, CloseCode};
use tokio::sync::mpsc;
use tokio::time::{Instant, Sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

pub(crate) use handle::{Command, LinkHandle, OpenStream, StreamWriter};
pub(crate) use stream::{StreamEvent, StreamState};
pub(crate) use table::end_state;

use crate::error::{LinkError, SandboxError};
use crate::facts::RunnerFacts;
use crate::limits::{CLOSE_TIMEOUT, FRAMES_PER_TURN};
use crate::links::{Link, LinkMessage};
use table::Table;

/// Why a link is over.
#[derive(Debug)]
pub(crate) enum LinkEnd {
    /// The peer said goodbye with a reason, or hung up between frames.
    Peer(Option<Close>),
    /// The socket failed.
    Failed(io::Error),
    /// The peer broke the protocol or fell silent.
    Broken(Close),
    /// This side wanted it.
    Wanted(Option<Close>),
}

impl LinkEnd {
    pub(crate) fn into_result(self) -> Result<(), LinkError> {
        match self {
            LinkEnd::Peer(None) | LinkEnd::Wanted(_) => Ok(()),
            LinkEnd::Peer(Some(close)) => match close.code {
                CloseCode::GoingAway => Ok(()),
                _ => Err(LinkError::Broken(close)),
            },
            LinkEnd::Failed(error) => Err(error.into()),
            LinkEnd::Broken(close) => Err(LinkError::Broken(close)),
        }
    }
}

/// Drives one registered link. See the module's header.
#[derive(Debug)]
pub(crate) struct Driver<L> {
    link: L,
    table: Table,
    commands: mpsc::UnboundedReceiver<Command>,
    timer: Pin<Box<Sleep>>,
    needs_flush: bool,
    place: Arc<str>,
}

/// A driver for a registered link and the handle that opens streams on it.
pub(crate) fn driver<L: Link>(link: L, place: &str, facts: Arc<RunnerFacts>) -> (LinkHandle, Driver<L>) {
    let (sender, commands) = mpsc::unbounded_channel();
    let place: Arc<str> = place.into();
    let table = Table::new(Instant::now().into_std());
    let timer = Box::pin(sleep_until(table.session.next_timeout().into()));
    let handle = LinkHandle::new(Arc::clone(&place), facts, sender);
    (handle, Driver { link, table, commands, timer, needs_flush: false, place })
}

impl<L: Link> Driver<L> {
    /// Drives the link until it ends or `stop` is cancelled; then every open stream has got its error.
    pub(crate) async fn run(mut self, stop: CancellationToken) -> LinkEnd {
        let end = tokio::select! {
            biased;
            end = poll_fn(|cx| self.poll_turn(cx)) => end,
            () = stop.cancelled() => {
                LinkEnd::Wanted(Some(Close::new(CloseCode::GoingAway, "the server is stopping")))
            }
        };
        tracing::debug!(place = %self.place, ?end, "the link is over");
        self.fail_streams();
        let last_word = match &end {
            LinkEnd::Broken(close) | LinkEnd::Wanted(Some(close)) => Some(close.to_frame()),
            LinkEnd::Peer(_) | LinkEnd::Failed(_) | LinkEnd::Wanted(None) => None,
        };
        let goodbye = async {
            if let Some(frame) = last_word {
                self.link.send(LinkMessage::Binary(frame)).await?;
            }
            self.link.close().await
        };
        // Best effort: the link is over either way, and a dead peer must not hold this task.
        if let Ok(Err(error)) = timeout(CLOSE_TIMEOUT, goodbye).await {
            tracing::debug!(place = %self.place, %error, "the link's last word did not leave");
        }
        end
    }

    /// Does everything that can be done now.
    fn poll_turn(&mut self, cx: &mut Context<'_>) -> Poll<LinkEnd> {
        if let Err(end) = self.turn(cx) { Poll::Ready(end) } else { Poll::Pending }
    }

    fn turn(&mut self, cx: &mut Context<'_>) -> Result<(), LinkEnd> {
        self.take_commands(cx)?;
        self.read(cx)?;
        self.watch_time(cx)?;
        self.write(cx).map_err(LinkEnd::Failed)
    }

    fn take_commands(&mut self, cx: &mut Context<'_>) -> Result<(), LinkEnd> {
        while let Poll::Ready(command) = self.commands.poll_recv(cx) {
            // Without any handle left nobody can want anything of this link any more.
            let Some(command) = command else { return Err(LinkEnd::Wanted(None)) };
            if let Some(last_word) = self.table.act(command) {
                return Err(LinkEnd::Wanted(last_word));
            }
        }
        Ok(())
    }

    fn read(&mut self, cx: &mut Context<'_>) -> Result<(), LinkEnd> {
        let now = Instant::now().into_std();
        for _ in 0..FRAMES_PER_TURN {
            let message = match Pin::new(&mut self.link).poll_next(cx) {
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

    fn watch_time(&mut self, cx: &mut Context<'_>) -> Result<(), LinkEnd> {
        // Deadlines only move away, so the timer is set anew when it rings, not with every frame.
        while self.timer.as_mut().poll(cx).is_ready() {
            let session = &mut self.table.session;
            session.handle_timeout(Instant::now().into_std()).map_err(LinkEnd::Broken)?;
            self.timer.as_mut().reset(session.next_timeout().into());
        }
        Ok(())
    }

    fn write(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        let now = Instant::now().into_std();
        let mut link = Pin::new(&mut self.link);
        loop {
            if link.as_mut().poll_ready(cx)?.is_pending() {
                return Ok(());
            }
            let Some(frame) = self.table.next_frame(now) else { break };
            link.as_mut().start_send(LinkMessage::Binary(frame))?;
            self.needs_flush = true;
        }
        if self.needs_flush && link.poll_flush(cx)?.is_ready() {
            self.needs_flush = false;
        }
        Ok(())
    }

    /// Tells every stream that the link is over: lost where the request was sent, offline where it was not.
    fn fail_streams(&mut self) {
        let offline = SandboxError::Offline { runner: self.place.to_string() };
        let lost = SandboxError::Lost { runner: self.place.to_string() };
        self.commands.close();
        self.table.fail_all(&offline, &lost);
        while let Ok(command) = self.commands.try_recv() {
            if let Command::Open { stream, .. } = command {
                end_state(&stream, StreamEvent::Failed(offline.clone()));
            }
        }
    }
}
