//! Keeps long output in full in a file next to the command, written while the command runs.
//!
//! ```text
//!   Gathering ── longer than a message shows ──► Writing ── finish ──► kept
//!       └─ finish ──► nothing to keep               └─ error ──► Failed ── finish ──► reports why
//! ```
//! While the file does not accept more data, the command is held up too, so that memory stays bounded.

use sandbox::{FileWriter, Sandbox, SandboxError, WriteOptions};

use super::tidy::{self, OUTPUT_SUFFIX};
use crate::limits::{OUTPUT_DIRECTORY, OUTPUT_FILE_MODE};

/// The result of keeping a command's output.
pub(crate) enum Kept {
    /// The output is short: no file was needed.
    NotNeeded,
    /// The output is in this file.
    In(String),
    /// The output was not kept, for this reason.
    Failed(String),
}

/// Writes the file for one command's output, if a file turns out to be needed.
pub(crate) struct Keeper {
    sandbox: Sandbox,
    path: String,
    state: State,
}

enum State {
    /// Every byte so far; no more than a message shows, which is a few kilobytes.
    Gathering(Vec<u8>),
    Writing(FileWriter),
    Failed(String),
}

impl Keeper {
    pub(crate) fn new(sandbox: Sandbox, exec_id: &store::ExecId) -> Self {
        let path = format!("{OUTPUT_DIRECTORY}/{exec_id}{OUTPUT_SUFFIX}");
        Self { sandbox, path, state: State::Gathering(Vec::new()) }
    }

    /// Adds the next bytes; `needed` is true once the output is too long for its message.
    pub(crate) async fn push(&mut self, bytes: &[u8], needed: bool) {
        if let State::Gathering(gathered) = &mut self.state {
            gathered.extend_from_slice(bytes);
            if needed {
                let gathered = std::mem::take(gathered);
                self.state = match self.begin(&gathered).await {
                    Ok(writer) => State::Writing(writer),
                    Err(error) => State::Failed(error.to_string()),
                };
            }
            return;
        }
        if let State::Writing(writer) = &mut self.state
            && let Err(error) = writer.write(bytes).await
        {
            self.state = State::Failed(error.to_string());
        }
    }

    /// Closes the file, which is then complete and at its final path.
    pub(crate) async fn finish(self) -> Kept {
        match self.state {
            State::Gathering(_) => Kept::NotNeeded,
            State::Writing(writer) => match writer.finish().await {
                Ok(_) => Kept::In(self.path),
                Err(error) => Kept::Failed(error.to_string()),
            },
            State::Failed(why) => Kept::Failed(why),
        }
    }

    async fn begin(&self, gathered: &[u8]) -> Result<FileWriter, SandboxError> {
        tidy::hide(&self.sandbox).await;
        let options = WriteOptions { mode: Some(OUTPUT_FILE_MODE), parents: true, ..Default::default() };
        let mut writer = self.sandbox.write_file(self.path.as_bytes(), options).await?;
        writer.write(gathered).await?;
        Ok(writer)
    }
}
