//! Ctrl-C, and SIGTERM.

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::failure::Failure;

/// SIGINT and SIGTERM. Once this exists, neither ends this program automatically, and a signal that arrives while nothing waits is not lost.
pub(super) struct Interrupts {
    interrupt: Signal,
    terminate: Signal,
}

impl Interrupts {
    pub(super) fn listen() -> Result<Self, Failure> {
        Ok(Self { interrupt: ctrl_c()?, terminate: listen(SignalKind::terminate())? })
    }

    /// Waits for the next signal. May be cancelled at any time.
    pub(super) async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// Ctrl-C alone; SIGTERM ends this program as usual.
pub(super) fn ctrl_c() -> Result<Signal, Failure> {
    listen(SignalKind::interrupt())
}

fn listen(kind: SignalKind) -> Result<Signal, Failure> {
    signal(kind).map_err(|error| Failure::other("io", format!("cannot listen for Ctrl-C: {error}")))
}
