//! The loop that owns a link: takes frames in, hands requests to the executor, sends what the session queued.
//!
//! One poll does everything that can be done now: a batch of frames in, the timers, then all frames out and one flush. So a
//! wake-up costs one write however many frames it caused, and a peer that does not read never stops us from reading.

use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use proto::StreamId;
use proto::frame::{Header, Kind};
use proto::session::{Close, CloseCode};
use tokio::time::Sleep;
use tokio_util::sync::CancellationToken;

use crate::clock::SleepDetector;
use crate::executor::{Executor, shutting_down};
use crate::limits::{
    AWAKE_ANSWER_MS, CLOSE_TIMEOUT_MS, FRAMES_PER_TURN, SLEEP_LOOK_MS, UPDATE_LINGER_MS, UPDATE_LOOK_MS,
    UPDATE_RETURN_MS,
};
use crate::link::{Link, LinkError};
use crate::stream::{Connection, Received};
use crate::update;

/// The reason why a link is no longer served.
#[derive(Debug)]
pub enum Ended {
    /// The peer closed it, with this code.
    Closed(Close),
    /// The peer broke the rules or fell silent; this was sent to it.
    Broken(Close),
    /// The link itself ended or failed.
    Lost(LinkError),
    /// The runner was asked to stop.
    Shutdown,
    /// Nothing runs, and another program is to replace this one.
    Replaced,
}

/// Serves one registered link until it ends or `shutdown` is cancelled.
///
/// Work that was started on it continues when the link ends. At a shutdown the commands are ended, and attached clients get their results before the
/// link is closed; see [`Executor::stop`].
///
/// Must run where tasks may be spawned with `tokio::task::spawn_local`.
pub async fn serve<L: Link>(link: L, executor: &Rc<Executor>, shutdown: &CancellationToken) -> Ended {
    let connection = Connection::new(now());
    executor.execs.connected(Rc::clone(&connection));
    let mut driver = Driver {
        link,
        executor,
        connection: Rc::clone(&connection),
        timer: Box::pin(tokio::time::sleep(Duration::from_millis(SLEEP_LOOK_MS))),
        sleep: SleepDetector::new(),
        probe: None,
        answer_due: None,
        dirty: false,
        has_sent_all: true,
        is_to_be_replaced: false,
    };
    let ended = {
        let mut stop = pin!(shutdown.cancelled());
        let mut prepared = pin!(update::prepared(executor.updates.get()));
        std::future::poll_fn(|cx| {
            if !driver.is_to_be_replaced && prepared.as_mut().poll(cx).is_ready() {
                driver.is_to_be_replaced = true;
                driver.timer.as_mut().reset(now().into());
            }
            if stop.as_mut().poll(cx).is_ready() {
                return Poll::Ready(None);
            }
            let served = driver.poll(cx);
            if served.is_pending() && driver.may_be_replaced() {
                return Poll::Ready(Some(Ended::Replaced));
            }
            served.map(Some)
        })
        .await
    };
    let ended = match ended {
        Some(ended) => ended,
        None => driver.drain().await,
    };
    let last = match &ended {
        Ended::Broken(close) => Some(close.clone()),
        Ended::Shutdown => Some(Close::new(CloseCode::GoingAway, "the runner is stopping")),
        Ended::Replaced => {
            Some(Close::back_within("the runner is being updated", Duration::from_millis(UPDATE_RETURN_MS)))
        }
        Ended::Closed(_) | Ended::Lost(_) => None,
    };
    if let Some(close) = last {
        // The link is given up either way.
        let send = driver.link.send(close.to_frame());
        let _ = tokio::time::timeout(Duration::from_millis(CLOSE_TIMEOUT_MS), send).await;
    }
    if matches!(ended, Ended::Replaced) {
        // A connection that is closed with unread data is reset, and the goodbye is lost.
        let closed = async { while let Some(Ok(_)) = driver.link.next().await {} };
        let _ = tokio::time::timeout(Duration::from_millis(UPDATE_LINGER_MS), closed).await;
    }
    connection.lose();
    ended
}

/// The time by the runtime's clock.
fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

struct Driver<'a, L> {
    link: L,
    executor: &'a Rc<Executor>,
    connection: Rc<Connection>,
    timer: Pin<Box<Sleep>>,
    sleep: SleepDetector,
    /// A ping of the runner, after the machine slept.
    probe: Option<Bytes>,
    /// The time by which something must have arrived, after the machine slept.
    answer_due: Option<Instant>,
    /// True if the link was given something that is not flushed.
    dirty: bool,
    /// True if the session had nothing more to send, and all of it was flushed.
    has_sent_all: bool,
    /// True if another program waits to replace this one.
    is_to_be_replaced: bool,
}

impl<L: Link> Driver<'_, L> {
    /// Continues until every command has ended and every answer was sent, or the time for that is over.
    async fn drain(&mut self) -> Ended {
        let executor = Rc::clone(self.executor);
        let mut stopped = pin!(executor.stop());
        let mut is_stopped = false;
        let ended = std::future::poll_fn(|cx| {
            is_stopped = is_stopped || stopped.as_mut().poll(cx).is_ready();
            if let Poll::Ready(ended) = self.poll(cx) {
                return Poll::Ready(Some(ended));
            }
            if is_stopped && self.connection.is_idle() && self.has_sent_all {
                return Poll::Ready(None);
            }
            Poll::Pending
        });
        match tokio::time::timeout_at(executor.stop_due(), ended).await {
            // There will be no other link.
            Ok(Some(Ended::Lost(_)) | None) => Ended::Shutdown,
            Ok(Some(ended)) => ended,
            Err(_) => {
                let error = shutting_down("the request did not end in time, and the runner is stopping");
                self.connection.fail_all(&error);
                let send = std::future::poll_fn(|cx| self.poll_write(cx));
                // The link is given up either way.
                let _ = tokio::time::timeout(Duration::from_millis(CLOSE_TIMEOUT_MS), send).await;
                Ended::Shutdown
            }
        }
    }

    /// True if another program may replace this one: it is ready, nothing runs, and every answer was sent.
    fn may_be_replaced(&self) -> bool {
        self.is_to_be_replaced && self.executor.is_quiet() && self.connection.is_idle() && self.has_sent_all
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Ended> {
        self.connection.set_driver(cx.waker());
        if let Poll::Ready(ended) = self.poll_read(cx) {
            return Poll::Ready(ended);
        }
        if let Err(close) = self.poll_timer(cx) {
            return Poll::Ready(Ended::Broken(close));
        }
        let sent = self.poll_write(cx);
        self.has_sent_all = matches!(sent, Poll::Ready(Ok(())));
        match sent {
            Poll::Ready(Err(error)) => Poll::Ready(Ended::Lost(error)),
            Poll::Ready(Ok(())) | Poll::Pending => Poll::Pending,
        }
    }

    fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<Ended> {
        for _ in 0..FRAMES_PER_TURN {
            let Poll::Ready(frame) = Pin::new(&mut self.link).poll_next(cx) else { return Poll::Pending };
            let frame = match frame {
                Some(Ok(frame)) => frame,
                Some(Err(error)) => return Poll::Ready(Ended::Lost(error)),
                None => return Poll::Ready(Ended::Lost(LinkError::Ended)),
            };
            self.answer_due = None;
            match self.connection.receive(&frame, now()) {
                Ok(Received::Handled) => {}
                Ok(Received::Opened(stream, request)) => self.executor.dispatch(stream, request),
                Ok(Received::Acknowledged(exec_id)) => self.executor.execs.acknowledge(exec_id),
                Ok(Received::Closed(close)) => return Poll::Ready(Ended::Closed(close)),
                Err(close) => return Poll::Ready(Ended::Broken(close)),
            }
        }
        // There may be more; the requests so far are answered first.
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    fn poll_timer(&mut self, cx: &mut Context<'_>) -> Result<(), Close> {
        while self.timer.as_mut().poll(cx).is_ready() {
            let now = now();
            if self.answer_due.is_some_and(|due| now >= due) {
                return Err(Close::new(CloseCode::Dead, "no answer after this machine slept"));
            }
            if self.sleep.slept() {
                self.probe = Some(Header::new(Kind::Ping, StreamId::SESSION).frame(&[]));
                self.answer_due = Some(now + Duration::from_millis(AWAKE_ANSWER_MS));
            }
            if now >= self.connection.next_timeout() {
                self.connection.handle_timeout(now)?;
            }
            // There is no frame for the end of the last task.
            let pause = if self.is_to_be_replaced { UPDATE_LOOK_MS } else { SLEEP_LOOK_MS };
            let look = now + Duration::from_millis(pause);
            let next = self.connection.next_timeout().min(look).min(self.answer_due.unwrap_or(look));
            self.timer.as_mut().reset(next.into());
        }
        Ok(())
    }

    fn poll_write(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), LinkError>> {
        loop {
            ready!(Pin::new(&mut self.link).poll_ready(cx))?;
            let now = now();
            let Some(frame) = self.probe.take().or_else(|| self.connection.poll_transmit(now)) else { break };
            Pin::new(&mut self.link).start_send(frame)?;
            self.dirty = true;
        }
        if self.dirty {
            self.connection.wake_stalled();
            ready!(Pin::new(&mut self.link).poll_flush(cx))?;
            self.dirty = false;
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests;
