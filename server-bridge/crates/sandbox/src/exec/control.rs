//! Controlling a command while it runs.

use proto::{ExecId, request};

use crate::driver::StreamWriter;
use crate::error::SandboxError;
use crate::limits::REDRAW_PAUSE;

/// Controls a running command. Outlives its [`crate::Exec`]; its calls have no effect then.
#[derive(Debug, Clone)]
pub struct ExecControl {
    pub(super) exec_id: ExecId,
    pub(super) writer: StreamWriter,
}

impl ExecControl {
    /// Ends the whole process tree: TERM, a grace period, KILL. The result arrives as an event, with the output so far.
    pub fn cancel(&self) {
        self.writer.cancel();
    }

    /// Sends a signal, 1 to 64, to the whole tree.
    pub async fn signal(&self, signal: i32) -> Result<(), SandboxError> {
        self.writer.link().call(request::Signal { exec_id: self.exec_id, signal }).await?;
        Ok(())
    }

    /// Changes the size of its terminal, in character cells; its programs get SIGWINCH.
    ///
    /// Fails with `no_such_exec` if it has no terminal, or has ended.
    pub async fn resize(&self, rows: u16, columns: u16) -> Result<(), SandboxError> {
        self.writer.link().call(request::Resize { exec_id: self.exec_id, rows, columns }).await?;
        Ok(())
    }

    /// Makes a full-screen program redraw its terminal, for a client that just attached: changes the size for a moment,
    /// since many programs do nothing if the size stays the same.
    ///
    /// Ends with the size given here. Fails as [`ExecControl::resize`] does.
    pub async fn redraw(&self, rows: u16, columns: u16) -> Result<(), SandboxError> {
        let other = if rows > 1 { rows - 1 } else { rows.saturating_add(1) };
        self.resize(other, columns).await?;
        tokio::time::sleep(REDRAW_PAUSE).await;
        self.resize(rows, columns).await
    }

    /// Writes to standard input; waits while the command does not read. Dropping the future before it waits loses nothing.
    ///
    /// Fails with [`SandboxError::InputClosed`] once the exec or its input has ended.
    pub async fn write_stdin(&self, bytes: &[u8]) -> Result<(), SandboxError> {
        self.writer.write_all(bytes).await.map_err(|_| SandboxError::InputClosed)
    }

    /// Ends standard input.
    pub fn close_stdin(&self) {
        self.writer.end();
    }
}
