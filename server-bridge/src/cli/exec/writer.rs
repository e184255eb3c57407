//! Descriptors 1 and 2, written in order on a thread of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use bytes::Bytes;
use rustix::fd::AsFd;
use rustix::io::Errno;
use tokio::sync::{Notify, mpsc, oneshot};

use crate::cli::failure::Failure;
use crate::cli::limits::OUTPUT_QUEUE;

/// Which descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Channel {
    /// 1.
    Stdout,
    /// 2.
    Stderr,
}

type Piece = (Channel, Bytes);

/// Writes pieces in the order they came. Takes one piece more than its queue holds, so that taking never waits.
pub(in crate::cli) struct Writer {
    queue: Option<mpsc::Sender<Piece>>,
    waiting: Option<Piece>,
    last: Option<Piece>,
    done: oneshot::Receiver<()>,
    broken: Arc<Broken>,
    _thread: JoinHandle<()>,
}

#[derive(Default)]
struct Broken {
    is_broken: AtomicBool,
    news: Notify,
}

/// Tells when nobody reads the output any more.
pub(in crate::cli) struct BrokenWatch(Arc<Broken>);

impl BrokenWatch {
    /// Waits for it. May be given up at any time.
    pub(in crate::cli) async fn broken(&self) {
        while !self.0.is_broken.load(Ordering::Acquire) {
            self.0.news.notified().await;
        }
    }
}

impl Writer {
    pub(in crate::cli) fn start() -> Result<Self, Failure> {
        let (queue, pieces) = mpsc::channel(OUTPUT_QUEUE);
        let (tell_done, done) = oneshot::channel();
        let broken = Arc::new(Broken::default());
        let for_thread = Arc::clone(&broken);
        let thread = std::thread::Builder::new()
            .name("output".to_owned())
            .spawn(move || {
                write_all(pieces, &for_thread);
                // Nobody listens if the user was tired of waiting.
                let _ = tell_done.send(());
            })
            .map_err(|error| Failure::other("io", format!("cannot write output: {error}")))?;
        Ok(Self { queue: Some(queue), waiting: None, last: None, done, broken, _thread: thread })
    }

    /// Takes a piece. Only when [`Writer::is_full`] says no.
    pub(in crate::cli) fn push(&mut self, channel: Channel, bytes: Bytes) {
        let Some(queue) = &self.queue else { return };
        if let Err(mpsc::error::TrySendError::Full(piece)) = queue.try_send((channel, bytes)) {
            self.waiting = Some(piece);
        }
    }

    /// Takes the very last piece, full or not.
    pub(in crate::cli) fn push_last(&mut self, channel: Channel, bytes: Bytes) {
        self.last = Some((channel, bytes));
    }

    /// True if no further piece can be taken.
    pub(in crate::cli) fn is_full(&self) -> bool {
        self.waiting.is_some()
    }

    /// Waits until a further piece can be taken. May be given up at any time.
    pub(in crate::cli) async fn has_room(&mut self) {
        let Some(queue) = &self.queue else { return };
        if let Ok(permit) = queue.reserve().await
            && let Some(piece) = self.waiting.take()
        {
            permit.send(piece);
        }
    }

    /// True if nobody reads the output any more.
    pub(in crate::cli) fn is_broken(&self) -> bool {
        self.broken.is_broken.load(Ordering::Acquire)
    }

    /// A watch on the same, which can be waited on beside everything else.
    pub(in crate::cli) fn watch(&self) -> BrokenWatch {
        BrokenWatch(Arc::clone(&self.broken))
    }

    /// Waits until everything is written.
    pub(in crate::cli) async fn finish(&mut self) {
        while self.is_full() {
            self.has_room().await;
        }
        if let (Some(queue), Some(last)) = (&self.queue, self.last.take()) {
            let _ = queue.send(last).await;
        }
        self.queue = None;
        let _ = (&mut self.done).await;
    }
}

/// Writes until there is no more. After a failure the rest is taken and dropped.
fn write_all(mut pieces: mpsc::Receiver<Piece>, broken: &Broken) {
    while let Some((channel, bytes)) = pieces.blocking_recv() {
        if broken.is_broken.load(Ordering::Acquire) {
            continue;
        }
        let written = match channel {
            Channel::Stdout => write(std::io::stdout(), &bytes),
            Channel::Stderr => write(std::io::stderr(), &bytes),
        };
        // A closed standard error is no reason to stop a command whose output is still read.
        if written.is_err() && channel == Channel::Stdout {
            broken.is_broken.store(true, Ordering::Release);
            broken.news.notify_one();
        }
    }
}

/// Straight to the descriptor: no buffer holds anything back.
fn write(to: impl AsFd, mut bytes: &[u8]) -> Result<(), Errno> {
    while !bytes.is_empty() {
        match rustix::io::write(&to, bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => {
                // Whoever gave us the descriptor made it non-blocking.
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
