//! A progress bar for long copies, on a terminal.

use std::future::Future;
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use indicatif::{ProgressBar, ProgressStyle};

use crate::limits::{PROGRESS_AFTER, PROGRESS_INTERVAL};

/// The progress of a copy.
pub(crate) struct Progress {
    /// The size of the copy, in bytes; `None` if it is unknown beforehand.
    size_bytes: Option<u64>,
    moved_bytes: Arc<AtomicU64>,
}

impl Progress {
    pub(crate) fn new(size_bytes: Option<u64>) -> Self {
        Self { size_bytes, moved_bytes: Arc::default() }
    }

    /// The counter that the copy increases as bytes are transferred.
    pub(crate) fn moved_bytes(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.moved_bytes)
    }

    /// Waits for the copy; after a second, shows a bar if there is a terminal.
    pub(crate) async fn shown_while<T>(&self, copy: impl Future<Output = T>) -> T {
        let mut copy = std::pin::pin!(copy);
        if !std::io::stderr().is_terminal() {
            return copy.await;
        }
        tokio::select! {
            done = &mut copy => return done,
            () = tokio::time::sleep(PROGRESS_AFTER) => {}
        }
        let (bar, template) = match self.size_bytes {
            Some(size_bytes) => {
                (ProgressBar::new(size_bytes), "{bar:32} {bytes}/{total_bytes}  {bytes_per_sec}  {eta} left")
            }
            None => (ProgressBar::no_length(), "{bytes}  {bytes_per_sec}"),
        };
        bar.set_style(
            ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()),
        );
        let mut ticks = tokio::time::interval(PROGRESS_INTERVAL);
        let done = loop {
            tokio::select! {
                done = &mut copy => break done,
                _ = ticks.tick() => bar.set_position(self.moved_bytes.load(Ordering::Relaxed)),
            }
        };
        bar.finish_and_clear();
        done
    }
}
