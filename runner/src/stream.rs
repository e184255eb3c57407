//! One connection's session, shared between the loop that owns the link and the tasks that answer requests.
//!
//! All of it lives on one thread. A task holds a [`StreamHandle`]: it queues frames in the session, which wakes the loop,
//! and waits for what the loop puts into its [`Inbox`].

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use std::task::Waker;
use std::time::Instant;

use bytes::Bytes;
use proto::session::Close;
use proto::{
    Channel, DataBuf, ErrorKind, Event, ExecId, Message, Request, Session, Side, StreamId, WireError,
};
use tokio::sync::Notify;

/// The session of one link and the tasks that wait on it.
#[derive(Debug)]
pub(crate) struct Connection {
    session: RefCell<Session>,
    inboxes: RefCell<HashMap<StreamId, Rc<Inbox>>>,
    /// Streams that found no room and must be woken when there is some again.
    stalled: RefCell<Vec<StreamId>>,
    driver: RefCell<Option<Waker>>,
}

/// Data that arrived for one stream and was not taken yet; bounded by the granted credit.
#[derive(Debug, Default)]
struct Inbox {
    data: RefCell<VecDeque<Bytes>>,
    /// Bytes that the consumer drained and that were not granted again yet.
    drained: Cell<u64>,
    ended: Cell<bool>,
    cancelled: Cell<bool>,
    left: Cell<bool>,
    lost: Cell<bool>,
    stalled: Cell<bool>,
    changed: RefCell<Rc<Notify>>,
}

/// The consequence of a received frame for the loop.
#[derive(Debug)]
pub(crate) enum Received {
    /// Nothing to do: it was delivered.
    Handled,
    /// A request arrived.
    Opened(StreamHandle, Request),
    /// A result arrived at the peer.
    Acknowledged(ExecId),
    /// The peer closes the link.
    Closed(Close),
}

impl Connection {
    pub(crate) fn new(now: Instant) -> Rc<Self> {
        Rc::new(Self {
            session: RefCell::new(Session::new(Side::Executor, now)),
            inboxes: RefCell::default(),
            stalled: RefCell::default(),
            driver: RefCell::default(),
        })
    }

    /// Processes one frame; an error is the close message for the link.
    pub(crate) fn receive(self: &Rc<Self>, frame: &Bytes, now: Instant) -> Result<Received, Close> {
        let event = self.session.borrow_mut().receive(frame, now)?;
        match event {
            None => {}
            Some(Event::Acknowledged(exec_id)) => return Ok(Received::Acknowledged(exec_id)),
            Some(Event::Opened(id, request)) => {
                let inbox = Rc::<Inbox>::default();
                self.inboxes.borrow_mut().insert(id, Rc::clone(&inbox));
                let stream = StreamHandle { connection: Rc::clone(self), id, inbox };
                return Ok(Received::Opened(stream, request));
            }
            Some(Event::Data(id, _, bytes)) => match self.inbox(id) {
                Some(inbox) => inbox.update(|inbox| inbox.data.borrow_mut().push_back(bytes)),
                // Its task has ended and the answer is being sent.
                None => self.session.borrow_mut().consumed(id, bytes.len()),
            },
            Some(Event::End(id, _)) => self.update(id, |inbox| inbox.ended.set(true)),
            Some(Event::Cancelled(id)) => self.update(id, |inbox| inbox.cancelled.set(true)),
            Some(Event::Left(id)) => self.update(id, |inbox| inbox.left.set(true)),
            Some(Event::Writable(id, bytes)) => self.update(id, |inbox| {
                inbox.drained.set(inbox.drained.get().saturating_add(bytes));
                inbox.stalled.set(false);
            }),
            Some(Event::Closed(close)) => return Ok(Received::Closed(close)),
            // Only an originator gets these.
            Some(Event::Message { .. } | Event::Failed(..) | Event::Gap(..)) => {}
        }
        Ok(Received::Handled)
    }

    /// The next frame to send.
    pub(crate) fn poll_transmit(&self, now: Instant) -> Option<Bytes> {
        self.session.borrow_mut().poll_transmit(now)
    }

    pub(crate) fn next_timeout(&self) -> Instant {
        self.session.borrow().next_timeout()
    }

    pub(crate) fn handle_timeout(&self, now: Instant) -> Result<(), Close> {
        self.session.borrow_mut().handle_timeout(now)
    }

    /// Remembers the task to wake when there is something to send.
    pub(crate) fn set_driver(&self, waker: &Waker) {
        let mut driver = self.driver.borrow_mut();
        if !driver.as_ref().is_some_and(|known| known.will_wake(waker)) {
            *driver = Some(waker.clone());
        }
    }

    /// Wakes streams whose queue was full once frames have left it.
    pub(crate) fn wake_stalled(&self) {
        let session = self.session.borrow();
        let inboxes = self.inboxes.borrow();
        self.stalled.borrow_mut().retain(|id| {
            let Some(inbox) = inboxes.get(id).filter(|inbox| inbox.stalled.get()) else { return false };
            let writable = session.writable(*id) > 0;
            if writable {
                inbox.update(|inbox| inbox.stalled.set(false));
            }
            !writable
        });
    }

    /// Records that the link has ended: there will be no more answers.
    pub(crate) fn lose(&self) {
        self.session.borrow_mut().drain();
        for inbox in self.inboxes.borrow().values() {
            inbox.update(|inbox| inbox.lost.set(true));
        }
    }

    /// True if every request has its answer.
    pub(crate) fn is_idle(&self) -> bool {
        self.inboxes.borrow().is_empty()
    }

    /// Answers every unanswered request with this error.
    pub(crate) fn fail_all(&self, error: &WireError) {
        let mut session = self.session.borrow_mut();
        for id in self.inboxes.borrow().keys() {
            session.fail(*id, error);
        }
    }

    /// Sends a message that belongs to no request.
    pub(crate) fn notice(&self, message: impl Into<Message>) {
        self.message(StreamId::SESSION, &message.into(), false);
        self.wake();
    }

    fn message(&self, id: StreamId, message: &Message, fin: bool) {
        let mut session = self.session.borrow_mut();
        if let Err(error) = session.message(id, message, fin) {
            session.fail(id, &error);
        }
    }

    fn wake(&self) {
        if let Some(driver) = &*self.driver.borrow() {
            driver.wake_by_ref();
        }
    }

    fn inbox(&self, id: StreamId) -> Option<Rc<Inbox>> {
        self.inboxes.borrow().get(&id).cloned()
    }

    fn update(&self, id: StreamId, change: impl FnOnce(&Inbox)) {
        if let Some(inbox) = self.inbox(id) {
            inbox.update(change);
        }
    }
}

impl Inbox {
    fn update(&self, change: impl FnOnce(&Self)) {
        change(self);
        self.changed.borrow().notify_one();
    }
}

/// The work on a stream is to be given up: it was cancelled, or its link has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stopped;

impl From<Stopped> for WireError {
    fn from(_: Stopped) -> Self {
        WireError::new(ErrorKind::Cancelled, "the request was cancelled")
    }
}

/// One request's stream, held by the one task that answers it.
#[derive(Debug)]
pub(crate) struct StreamHandle {
    connection: Rc<Connection>,
    id: StreamId,
    inbox: Rc<Inbox>,
}

impl StreamHandle {
    /// Announces changes of this stream through `changed` instead of [`StreamHandle::changed`].
    pub(crate) fn share_changes(&self, changed: &Rc<Notify>) {
        self.inbox.changed.replace(Rc::clone(changed));
    }

    /// Resumes the peer's data at this offset.
    pub(crate) fn set_input_offset(&self, offset: u64) {
        self.connection.session.borrow_mut().set_input_offset(self.id, offset);
    }

    /// How much of the sent data the peer has drained since the last call.
    pub(crate) fn take_drained(&self) -> u64 {
        self.inbox.drained.take()
    }

    /// Sends a message.
    pub(crate) fn send(&self, message: impl Into<Message>) {
        self.connection.message(self.id, &message.into(), false);
        self.connection.wake();
    }

    /// Ends the stream with its answer.
    pub(crate) fn finish(&self, answer: Result<impl Into<Message>, WireError>) {
        match answer {
            Ok(message) => self.connection.message(self.id, &message.into(), true),
            Err(error) => self.connection.session.borrow_mut().fail(self.id, &error),
        }
        self.connection.wake();
    }

    /// How many bytes [`StreamHandle::data`] takes now; a change from 0 is announced by [`StreamHandle::changed`].
    pub(crate) fn writable(&self) -> usize {
        let writable = self.connection.session.borrow().writable(self.id);
        if writable == 0 && !self.inbox.stalled.replace(true) {
            self.connection.stalled.borrow_mut().push(self.id);
        }
        writable
    }

    /// Sends at most [`StreamHandle::writable`] bytes; returns them as a part of their frame.
    pub(crate) fn data(&self, channel: Channel, bytes: DataBuf) -> Bytes {
        let body = self.connection.session.borrow_mut().data(self.id, channel, bytes);
        self.connection.wake();
        body
    }

    /// Sends all of `bytes` as credit arrives.
    pub(crate) async fn send_data(&self, channel: Channel, mut bytes: DataBuf) -> Result<(), Stopped> {
        while !bytes.is_empty() {
            let room = self.room(1).await?;
            let rest = if room < bytes.len() { bytes.split_off(room) } else { DataBuf::with_capacity(0) };
            self.data(channel, std::mem::replace(&mut bytes, rest));
        }
        Ok(())
    }

    /// Waits until at least `bytes` may be sent; returns how many may be.
    pub(crate) async fn room(&self, bytes: usize) -> Result<usize, Stopped> {
        loop {
            if self.is_stopped() {
                return Err(Stopped);
            }
            let writable = self.writable();
            if writable >= bytes {
                return Ok(writable);
            }
            self.changed().await;
        }
    }

    /// Reports that bytes of a channel were dropped here.
    pub(crate) fn gap(&self, channel: Channel, bytes: u64) {
        self.connection.session.borrow_mut().gap(self.id, channel, bytes);
        self.connection.wake();
    }

    /// Ends a channel. Sent together with the next frame.
    pub(crate) fn end(&self, channel: Channel) {
        self.connection.session.borrow_mut().end(self.id, channel);
    }

    /// The next piece of data that arrived.
    pub(crate) fn take_data(&self) -> Option<Bytes> {
        self.inbox.data.borrow_mut().pop_front()
    }

    /// True if all data arrived (some may still be there to be taken).
    pub(crate) fn data_ended(&self) -> bool {
        self.inbox.ended.get()
    }

    /// Grants the sender credit for processed bytes.
    pub(crate) fn consumed(&self, bytes: usize) {
        self.connection.session.borrow_mut().consumed(self.id, bytes);
        self.connection.wake();
    }

    /// True if the answer is not wanted any more.
    pub(crate) fn is_stopped(&self) -> bool {
        self.is_cancelled() || self.is_lost()
    }

    /// True if the peer wants the work stopped.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.inbox.cancelled.get()
    }

    /// True if the peer wants no more of this stream, without stopping the work.
    pub(crate) fn has_left(&self) -> bool {
        self.inbox.left.get()
    }

    /// True if the link has ended, so that nothing can be sent.
    pub(crate) fn is_lost(&self) -> bool {
        self.inbox.lost.get()
    }

    /// Waits until something about the stream changed: data, end, cancel, credit, or a lost link.
    pub(crate) async fn changed(&self) {
        let changed = Rc::clone(&self.inbox.changed.borrow());
        changed.notified().await;
    }
}

impl Drop for StreamHandle {
    fn drop(&mut self) {
        self.connection.inboxes.borrow_mut().remove(&self.id);
        // Does nothing after an answer; without one (a panic) the peer must not wait forever.
        let error =
            WireError::new(ErrorKind::Internal, "the runner gave up on this request; its log says why");
        self.connection.session.borrow_mut().fail(self.id, &error);
        self.connection.wake();
    }
}
