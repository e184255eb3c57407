//! A process, simulated as a runtime that the test drives: between two calls of `turn`, it does nothing and receives nothing.
//!
//! The process has its own clock, which stands still until the test advances it. A process whose `turn` is not called is frozen. Dropping its runtime
//! kills it: its tasks end at their current await, and its sockets close.

use std::cell::Cell;
use std::pin::pin;
use std::time::Duration;

use futures_util::poll;
use tokio::runtime::{Builder, Runtime};
use tokio::task::{JoinHandle, yield_now};

/// How many times one turn runs the tasks that are ready.
const YIELDS: usize = 3;
/// How long a thread yields the processor to the database before it checks for the response: the first time, and the longest time.
const NAPS: [Duration; 2] = [Duration::from_micros(50), Duration::from_micros(400)];

thread_local! {
    /// The number of messages between processes. One thread drives all processes of a schedule.
    static PROGRESS: Cell<u64> = const { Cell::new(0) };
}

/// Records a message between processes.
pub(crate) fn progress() {
    PROGRESS.set(PROGRESS.get() + 1);
}

/// Returns the number of messages so far.
pub(crate) fn progress_so_far() -> u64 {
    PROGRESS.get()
}

/// Pauses to wait for the database, each pause longer than the one before.
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

    /// Runs the tasks that are ready, and the tasks that these wake.
    pub(crate) fn turn(&self) {
        self.0.block_on(async {
            for _ in 0..YIELDS {
                yield_now().await;
            }
        });
    }

    /// Advances the clock. Timers that are due fire at the next turn.
    pub(crate) fn advance(&self, time: Duration) {
        self.0.block_on(tokio::time::advance(time));
    }

    /// Drives the process until `work` is done; its clock stands still meanwhile.
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

    /// Kills the process at once.
    pub(crate) fn kill(self) {
        self.0.shutdown_background();
    }
}
