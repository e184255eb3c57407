//! Work that blocks, on threads that are not confined.
//!
//! The runner's own thread is confined like the commands it starts, and a thread inherits the confinement of the one that
//! starts it. These threads are therefore started earlier, and live as long as the runner: no command may signal them, and a filter
//! can only refuse numbers that are known when it is created. They do what a confined thread cannot: guarded file
//! operations, looking up names, walking `/proc`, killing.

use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;

use proto::{ErrorKind, WireError};
use tokio::sync::oneshot;

use crate::limits::BLOCKING_THREADS;

type Job = Box<dyn FnOnce() + Send>;

/// The jobs of this process. Every job except the rare [`post`] has a request that waits for it, and those are bounded by
/// the link.
struct Pool {
    state: Mutex<State>,
    /// Signals that a job is waiting.
    work: Condvar,
}

struct State {
    has_threads: bool,
    jobs: VecDeque<Job>,
}

static POOL: Pool =
    Pool { state: Mutex::new(State { has_threads: false, jobs: VecDeque::new() }), work: Condvar::new() };

/// Starts the threads, once per process; call this from an unconfined thread.
///
/// # Errors
/// The system cannot start more threads.
pub(crate) fn start() -> io::Result<()> {
    let mut state = POOL.lock();
    if !state.has_threads {
        for _ in 0..BLOCKING_THREADS {
            Builder::new().name("blocking".to_owned()).spawn(|| POOL.run_jobs())?;
        }
        state.has_threads = true;
    }
    Ok(())
}

/// Runs `work` on a thread for blocking calls; fails only when it panicked or there is no such thread.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, WireError> {
    let (reply, answer) = oneshot::channel();
    // The caller may have stopped waiting; the work is done regardless.
    post(move || drop(reply.send(work())));
    answer.await.map_err(|_| {
        WireError::new(ErrorKind::Internal, "the runner gave up on this request; its log says why")
    })
}

/// Like [`blocking`], without waiting for the result.
pub(crate) fn post(work: impl FnOnce() + Send + 'static) {
    POOL.lock().jobs.push_back(Box::new(work));
    POOL.work.notify_one();
}

impl Pool {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Jobs run without the lock, and code that holds it does not panic half-way.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run_jobs(&self) {
        let mut state = self.lock();
        loop {
            let job = loop {
                match state.jobs.pop_front() {
                    Some(job) => break job,
                    None => state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner),
                }
            };
            drop(state);
            // The panic was reported when it happened; the caller notices it because the reply never comes.
            let _ = catch_unwind(AssertUnwindSafe(job));
            state = self.lock();
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
