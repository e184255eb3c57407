//! Work that blocks, on threads that are not confined.
//!
//! The runner's own thread is confined like the commands it starts, and a thread inherits the confinement of the one that
//! starts it. So a thread from before, the starter, starts all others; they do what a confined one cannot: guarded file
//! operations, looking up names, walking `/proc`, killing.
//!
//! ```text
//! confined thread ── job ──▶ queue ──▶ an idle thread, if there is one
//!                              └─ else ─▶ the starter ── starts ─▶ one more, at most BLOCKING_THREADS
//! ```

use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::Duration;

use proto::{ErrorKind, WireError};
use tokio::sync::oneshot;

use crate::limits::{BLOCKING_THREAD_IDLE_MS, BLOCKING_THREADS, STARTER_STACK_BYTES};

/// The name of the threads that come and go.
pub(crate) const BLOCKING_THREAD: &str = "blocking";

type Job = Box<dyn FnOnce() + Send>;

/// The jobs and threads of this process. Every job but the rare [`post`] has a request that waits for it, and those are
/// bounded by the link.
struct Pool {
    state: Mutex<State>,
    /// There is a job.
    work: Condvar,
    /// There is a thread to be started.
    grow: Condvar,
}

struct State {
    has_starter: bool,
    jobs: VecDeque<Job>,
    idle: usize,
    /// Threads that run or are about to.
    threads: usize,
    /// Of those, the ones the starter has not started yet.
    wanted: usize,
}

static POOL: Pool = Pool {
    state: Mutex::new(State { has_starter: false, jobs: VecDeque::new(), idle: 0, threads: 0, wanted: 0 }),
    work: Condvar::new(),
    grow: Condvar::new(),
};

/// Starts the starter, once in the life of a process; to be called from a thread that is not confined.
///
/// # Errors
/// The system starts no more threads.
pub(crate) fn start() -> io::Result<()> {
    let mut state = POOL.lock();
    if !state.has_starter {
        Builder::new()
            .name("starter".to_owned())
            .stack_size(STARTER_STACK_BYTES)
            .spawn(|| POOL.start_threads())?;
        state.has_starter = true;
    }
    Ok(())
}

/// Runs `work` on a thread for blocking calls; fails only when it panicked or there is no such thread.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, WireError> {
    let (reply, answer) = oneshot::channel();
    // Whoever asked may have gone; the work is done all the same.
    post(move || drop(reply.send(work())));
    answer.await.map_err(|_| {
        WireError::new(ErrorKind::Internal, "the runner gave up on this request; its log says why")
    })
}

/// Like [`blocking`] for work whose outcome nobody waits for.
pub(crate) fn post(work: impl FnOnce() + Send + 'static) {
    let mut state = POOL.lock();
    state.jobs.push_back(Box::new(work));
    if state.idle >= state.jobs.len() {
        POOL.work.notify_one();
    } else if state.threads < BLOCKING_THREADS {
        state.threads += 1;
        state.wanted += 1;
        POOL.grow.notify_one();
    }
}

impl Pool {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Jobs run without the lock, and nothing that holds it panics half way.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start_threads(&'static self) {
        let mut state = self.lock();
        loop {
            state = self
                .grow
                .wait_while(state, |state| state.wanted == 0)
                .unwrap_or_else(PoisonError::into_inner);
            state.wanted -= 1;
            drop(state);
            let started = Builder::new().name(BLOCKING_THREAD.to_owned()).spawn(|| self.run_jobs());
            state = self.lock();
            if let Err(error) = started {
                tracing::error!("no thread for blocking work: {error}");
                state.threads -= 1;
                if state.threads == 0 {
                    // Nobody would ever take them; without their replies whoever waits for them gives up.
                    state.jobs.clear();
                }
            }
        }
    }

    /// Runs jobs until none came for [`BLOCKING_THREAD_IDLE_MS`].
    fn run_jobs(&self) {
        let patience = Duration::from_millis(BLOCKING_THREAD_IDLE_MS);
        let mut state = self.lock();
        loop {
            while let Some(job) = state.jobs.pop_front() {
                drop(state);
                // The panic was reported when it happened; whoever waits learns it from the reply that never comes.
                let _ = catch_unwind(AssertUnwindSafe(job));
                state = self.lock();
            }
            state.idle += 1;
            let waited = self.work.wait_timeout(state, patience).unwrap_or_else(PoisonError::into_inner);
            state = waited.0;
            state.idle -= 1;
            if waited.1.timed_out() && state.jobs.is_empty() {
                state.threads -= 1;
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run<T>(work: impl Future<Output = T>) -> T {
        start().unwrap();
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(work)
    }

    #[test]
    fn more_jobs_than_threads_are_all_done() {
        run(async {
            let jobs: Vec<_> = (0..100_u32).map(|number| tokio::spawn(blocking(move || number))).collect();
            for (number, job) in jobs.into_iter().enumerate() {
                assert_eq!(job.await.unwrap().unwrap() as usize, number);
            }
        });
    }

    #[test]
    fn a_job_that_panics_fails_alone() {
        run(async {
            for _ in 0..2 * BLOCKING_THREADS {
                assert_eq!(
                    blocking(|| panic!("as asked for")).await,
                    Err::<(), _>(WireError::new(
                        ErrorKind::Internal,
                        "the runner gave up on this request; its log says why"
                    ))
                );
            }
            assert_eq!(blocking(|| 1).await, Ok(1));
        });
    }

    #[test]
    fn one_job_that_hangs_holds_no_other_up() {
        run(async {
            let (release, released) = std::sync::mpsc::channel::<()>();
            let hanging = tokio::spawn(blocking(move || released.recv().is_ok()));
            for number in 0..10 {
                assert_eq!(blocking(move || number).await, Ok(number));
            }
            release.send(()).unwrap();
            assert_eq!(hanging.await.unwrap(), Ok(true));
        });
    }
}
