//! Reaching a command while it runs.

use proto::{ExecId, request};

use crate::driver::StreamWriter;
use crate::error::SandboxError;

/// Reaches a running command. Outlives its [`crate::Exec`]; what it does then has no effect.
#[derive(Debug, Clone)]
pub struct ExecControl {
    pub(super) exec_id: ExecId,
    pub(super) writer: StreamWriter,
}

impl ExecControl {
    /// Ends the whole tree: TERM, grace, KILL. The result comes as an event, with the output so far.
    pub fn cancel(&self) {
        self.writer.cancel();
    }

    /// Sends a signal, 1 to 64, to the whole tree.
    pub async fn signal(&self, signal: i32) -> Result<(), SandboxError> {
        self.writer.link().call(request::Signal { exec_id: self.exec_id, signal }).await?;
        Ok(())
    }

    /// Changes the size of its terminal.
    pub async fn resize(&self, rows: u16, columns: u16) -> Result<(), SandboxError> {
        self.writer.link().call(request::Resize { exec_id: self.exec_id, rows, columns }).await?;
        Ok(())
    }

    /// Writes to standard input; waits while the command does not read. Nothing is lost by dropping it before it waits.
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
