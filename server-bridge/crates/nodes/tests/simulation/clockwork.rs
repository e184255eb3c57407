//! A process as a runtime that is turned by hand: it does nothing, and hears nothing, between two turns.
//!
//! Its clock is its own and stands still until it is advanced. A process that is not turned is frozen; one whose runtime is dropped was
//! killed: its tasks end where they wait, and its sockets close.

use std::cell::Cell;
use std::pin::pin;
use std::time::Duration;

use futures_util::poll;
use tokio::runtime::{Builder, Runtime};
use tokio::task::{JoinHandle, yield_now};

/// How often a turn lets the tasks run that are ready.
const YIELDS: usize = 3;
/// How long a thread leaves the processor to the database before it looks for the answer: first, and at most.
const NAPS: [Duration; 2] = [Duration::from_micros(50), Duration::from_micros(400)];

thread_local! {
    /// Counts messages between processes, all of which one thread turns.
    static PROGRESS: Cell<u64> = const { Cell::new(0) };
}

/// Notes that a message passed between processes.
pub(crate) fn progress() {
    PROGRESS.set(PROGRESS.get() + 1);
}

/// The number of messages so far.
pub(crate) fn progress_so_far() -> u64 {
    PROGRESS.get()
}

/// Waits for the database, longer each time.
#[derive(Debug)]
pub(crate) struct Naps(Duration);

impl Naps {
    pub(crate) fn new() -> Self {
        Self(NAPS[0])
    }

    pub(crate) fn nap(&mut self) {
        std::thread::sleep(self.0);
        self.0 = (self.0 * 2).min(NAPS[1]);
    }
}

pub(crate) struct Clockwork(Runtime);

impl Clockwork {
    pub(crate) fn new() -> Self {
        Self(Builder::new_current_thread().enable_all().start_paused(true).build().unwrap())
    }

    pub(crate) fn spawn<F>(&self, task: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.0.spawn(task)
    }

    /// Runs the tasks that are ready, and those that these make ready.
    pub(crate) fn turn(&self) {
        self.0.block_on(async {
            for _ in 0..YIELDS {
                yield_now().await;
            }
        });
    }

    /// Advances the clock. What is due runs at the next turn.
    pub(crate) fn advance(&self, time: Duration) {
        self.0.block_on(tokio::time::advance(time));
    }

    /// Turns until this is done, while the clock stands still.
    pub(crate) fn finish<T>(&self, work: impl Future<Output = T>) -> T {
        self.0.block_on(async {
            let (mut work, mut naps) = (pin!(work), Naps::new());
            loop {
                if let std::task::Poll::Ready(done) = poll!(work.as_mut()) {
                    return done;
                }
                yield_now().await;
                naps.nap();
            }
        })
    }

    /// Ends the process where it is.
    pub(crate) fn kill(self) {
        self.0.shutdown_background();
    }
}
