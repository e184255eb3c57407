//! Ending a command before its time: TERM to its whole tree, some grace, then KILL until nothing is left.
//!
//! Programs in a terminal first get a hangup, as when a window is closed: interactive shells ignore TERM.

use std::pin::Pin;
use std::time::Duration;

use tokio::time::Instant;

use crate::blocking::blocking;
use crate::kill::{self, Mark};
use crate::limits::{STOP_GRACE_MS, STOP_LOOK_LIMIT_MS, STOP_LOOK_MS};

/// The reason for ending a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    /// The command's time limit.
    TimedOut,
    /// A cancel, or a lost link.
    Cancelled,
}

/// The end of a command: its cause, if it is being ended, and its progress.
pub(super) struct Stop {
    signals: &'static [i32],
    cause: Option<Cause>,
    work: Option<Pin<Box<dyn Future<Output = ()>>>>,
}

/// The signals that ask a command to end. Stopped jobs receive them only once they continue.
const SIGNALS: &[i32] = &[libc::SIGTERM];
const TERMINAL_SIGNALS: &[i32] = &[libc::SIGHUP, libc::SIGTERM, libc::SIGCONT];

impl Stop {
    /// Nothing is being ended yet; `in_terminal` is true if the command runs in a terminal.
    pub(super) fn new(in_terminal: bool) -> Self {
        Self { signals: if in_terminal { TERMINAL_SIGNALS } else { SIGNALS }, cause: None, work: None }
    }

    /// Begins to end the tree; the first cause counts.
    pub(super) fn begin(&mut self, cause: Cause, mark: Mark) {
        if self.cause.is_none() {
            self.cause = Some(cause);
            self.work = Some(Box::pin(end_tree(mark, self.signals)));
        }
    }

    pub(super) fn cause(&self) -> Option<Cause> {
        self.cause
    }

    /// True if the tree is being ended and has not ended yet.
    pub(super) fn is_under_way(&self) -> bool {
        self.work.is_some()
    }

    /// Continues to end the tree; returns when the tree has ended. Waits forever if nothing is being ended.
    pub(super) async fn progress(&mut self) {
        match &mut self.work {
            Some(work) => work.await,
            None => std::future::pending().await,
        }
        self.work = None;
    }
}

async fn end_tree(mark: Mark, signals: &'static [i32]) {
    for signal in signals {
        let sent = blocking(move || kill::signal_tree(mark, *signal)).await;
        tracing::debug!(signal, ?sent, "asked a command's processes to end");
    }
    let deadline = Instant::now() + Duration::from_millis(STOP_GRACE_MS);
    let mut pause = Duration::from_millis(STOP_LOOK_MS);
    while Instant::now() < deadline {
        tokio::time::sleep(pause).await;
        if blocking(move || kill::members(mark)).await.is_ok_and(|living| living.is_empty()) {
            return;
        }
        pause = (pause * 2).min(Duration::from_millis(STOP_LOOK_LIMIT_MS));
    }
    if let Ok(outcome) = blocking(move || kill::kill_tree(mark)).await
        && outcome.survivors > 0
    {
        tracing::error!("{} processes of a command could not be killed", outcome.survivors);
    }
}
