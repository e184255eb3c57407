//! Descriptors 1 and 2, written in order: at once as far as they accept data without blocking, the rest on a separate
//! thread.

use std::io::{self, IoSlice};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;

use bytes::{Buf, Bytes};
use rustix::fd::AsFd;
use rustix::fs::FileType;
use rustix::io::{Errno, ReadWriteFlags};
use tokio::sync::{Notify, mpsc, oneshot};

use crate::limits::OUTPUT_QUEUE;
use crate::output;

/// A descriptor to write to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Channel {
    /// Descriptor 1.
    Stdout,
    /// Descriptor 2.
    Stderr,
}

type Piece = (Channel, Bytes);

/// Writes pieces in order. Accepts one piece more than its queue holds, so that accepting never waits.
pub(crate) struct Writer {
    thread: Option<Thread>,
    waiting: Option<Piece>,
    last: Option<Piece>,
    broken: Arc<Broken>,
    stdout: AtOnce,
    stderr: AtOnce,
}

/// The thread that waits for a slow reader, started when there is something to wait for.
struct Thread {
    queue: mpsc::Sender<Piece>,
    done: oneshot::Receiver<()>,
    _thread: JoinHandle<()>,
}

#[derive(Default)]
struct Broken {
    is_broken: AtomicBool,
    news: Notify,
    /// The number of pieces that the thread has not written yet: no later piece may overtake them.
    unwritten: AtomicUsize,
}

impl Broken {
    fn tell(&self) {
        self.is_broken.store(true, Ordering::Release);
        self.news.notify_one();
    }
}

/// Reports when the output no longer has a reader.
pub(crate) struct BrokenWatch(Arc<Broken>);

impl BrokenWatch {
    /// Waits until the output no longer has a reader. May be cancelled at any time.
    pub(crate) async fn broken(&self) {
        while !self.0.is_broken.load(Ordering::Acquire) {
            self.0.news.notified().await;
        }
    }
}

impl Writer {
    pub(crate) fn start() -> Self {
        Self {
            thread: None,
            waiting: None,
            last: None,
            broken: Arc::default(),
            stdout: AtOnce::of(std::io::stdout()),
            stderr: AtOnce::of(std::io::stderr()),
        }
    }

    /// Takes a piece. Call this only if [`Writer::is_full`] is false.
    pub(crate) fn push(&mut self, channel: Channel, mut bytes: Bytes) {
        if self.waiting.is_none() && self.broken.unwritten.load(Ordering::Acquire) == 0 {
            let written = match channel {
                Channel::Stdout => self.stdout.write(std::io::stdout(), &bytes),
                Channel::Stderr => self.stderr.write(std::io::stderr(), &bytes),
            };
            bytes.advance(written);
            if bytes.is_empty() {
                return;
            }
        }
        let Some(queue) = self.queue() else { return };
        self.broken.unwritten.fetch_add(1, Ordering::Relaxed);
        if let Err(mpsc::error::TrySendError::Full(piece)) = queue.try_send((channel, bytes)) {
            self.waiting = Some(piece);
        }
    }

    /// The thread's queue; `None` if no thread can be started, which counts as if the output had no reader.
    fn queue(&mut self) -> Option<mpsc::Sender<Piece>> {
        if self.thread.is_none() {
            match Thread::start(&self.broken) {
                Ok(thread) => self.thread = Some(thread),
                Err(error) => {
                    output::warn(&format!("cannot write output: {error}"));
                    self.broken.tell();
                }
            }
        }
        self.thread.as_ref().map(|thread| thread.queue.clone())
    }

    /// Takes the very last piece, full or not.
    pub(crate) fn push_last(&mut self, channel: Channel, bytes: Bytes) {
        self.last = Some((channel, bytes));
    }

    /// True if no further piece can be taken.
    pub(crate) fn is_full(&self) -> bool {
        self.waiting.is_some()
    }

    /// Waits until a further piece can be taken. May be cancelled at any time.
    pub(crate) async fn has_room(&mut self) {
        let Some(Thread { queue, .. }) = &self.thread else { return };
        if let Ok(permit) = queue.reserve().await
            && let Some(piece) = self.waiting.take()
        {
            permit.send(piece);
        }
    }

    /// True if the output no longer has a reader.
    pub(crate) fn is_broken(&self) -> bool {
        self.broken.is_broken.load(Ordering::Acquire)
    }

    /// A watch on [`Writer::is_broken`], which can be awaited along with other events.
    pub(crate) fn watch(&self) -> BrokenWatch {
        BrokenWatch(Arc::clone(&self.broken))
    }

    /// Waits until everything is written.
    pub(crate) async fn finish(&mut self) {
        while self.is_full() {
            self.has_room().await;
        }
        if let Some((channel, bytes)) = self.last.take() {
            self.push(channel, bytes);
        }
        while self.is_full() {
            self.has_room().await;
        }
        if let Some(Thread { queue, done, .. }) = self.thread.take() {
            drop(queue);
            // An error means that the thread has ended as well.
            let _ = done.await;
        }
    }
}

impl Thread {
    fn start(broken: &Arc<Broken>) -> io::Result<Self> {
        let (queue, pieces) = mpsc::channel(OUTPUT_QUEUE);
        let (tell_done, done) = oneshot::channel();
        let broken = Arc::clone(broken);
        let thread = std::thread::Builder::new().name("output".to_owned()).spawn(move || {
            write_all(pieces, &broken);
            // There is no receiver if the user stopped waiting.
            let _ = tell_done.send(());
        })?;
        Ok(Self { queue, done, _thread: thread })
    }
}

/// Writes until there is no more. After a failure the rest is discarded.
fn write_all(mut pieces: mpsc::Receiver<Piece>, broken: &Broken) {
    while let Some((channel, bytes)) = pieces.blocking_recv() {
        if broken.is_broken.load(Ordering::Acquire) {
            broken.unwritten.fetch_sub(1, Ordering::Release);
            continue;
        }
        let written = match channel {
            Channel::Stdout => write(std::io::stdout(), &bytes),
            Channel::Stderr => write(std::io::stderr(), &bytes),
        };
        broken.unwritten.fetch_sub(1, Ordering::Release);
        // A closed standard error is no reason to stop a command whose output is still read.
        if written.is_err() && channel == Channel::Stdout {
            broken.tell();
        }
    }
}

/// How much of a descriptor's data can be written without blocking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AtOnce {
    /// All of it: the descriptor is a file.
    All,
    /// As much as fits now, as long as the system can tell how much that is.
    WhatFits,
    /// Nothing: the descriptor is of another kind.
    Nothing,
}

impl AtOnce {
    fn of(descriptor: impl AsFd) -> Self {
        match rustix::fs::fstat(descriptor).map(|stat| FileType::from_raw_mode(stat.st_mode)) {
            Ok(FileType::RegularFile) => Self::All,
            // A terminal counts too: the user can pause its output with Ctrl-S.
            Ok(FileType::Fifo | FileType::CharacterDevice) => Self::WhatFits,
            _ => Self::Nothing,
        }
    }

    /// Writes what can be written at once; returns how much. An error is reported when the rest is written.
    fn write(&mut self, to: impl AsFd, bytes: &[u8]) -> usize {
        /// The descriptor's current position.
        const HERE: u64 = u64::MAX;
        let flags = match self {
            Self::All => ReadWriteFlags::empty(),
            Self::WhatFits => ReadWriteFlags::NOWAIT,
            Self::Nothing => return 0,
        };
        match rustix::io::pwritev2(to, &[IoSlice::new(bytes)], HERE, flags) {
            Ok(written) => written,
            Err(Errno::INTR | Errno::AGAIN) => 0,
            Err(_) => {
                *self = Self::Nothing;
                0
            }
        }
    }
}

/// Writes straight to the descriptor, without a buffer that could delay output.
fn write(to: impl AsFd, mut bytes: &[u8]) -> Result<(), Errno> {
    while !bytes.is_empty() {
        match rustix::io::write(&to, bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => {
                // The descriptor was non-blocking when this program got it.
                let mut wanted = [rustix::event::PollFd::new(&to, rustix::event::PollFlags::OUT)];
                match rustix::event::poll(&mut wanted, None) {
                    Ok(_) | Err(Errno::INTR) => {}
                    Err(error) => return Err(error),
                }
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
