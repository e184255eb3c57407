//! What a message of the role `exec` says of its command, beside the output that is its text.

use serde::{Deserialize, Serialize};
use store::ExecStatus;
use utoipa::ToSchema;

use crate::limits::DOCUMENT_COMMAND_MAX_BYTES;

/// The JSON document of a message that shows a command; clients of the HTTP interface read it as it is.
///
/// To change it: add an optional field. Stored documents are never rewritten.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ExecDocument {
    /// The id of the exec, 32 hex digits.
    pub exec_id: String,
    /// What runs; beyond 4 KiB it is cut.
    pub command: String,
    /// `running`, `exited`, `signaled`, `timed_out`, `cancelled`, `failed` or `lost`.
    pub status: String,
    /// Its exit code, if it exited.
    #[schema(required)]
    pub exit_code: Option<i32>,
    /// The number of the signal that ended it.
    #[schema(required)]
    pub signal: Option<i32>,
    /// How long it ran, in milliseconds.
    #[schema(required)]
    pub duration_ms: Option<u64>,
    /// Where it ran, as a user is shown: a runner's name, `__docker__` or `none`.
    #[schema(required)]
    pub runner: Option<String>,
    /// Whether the sandbox denied it something.
    pub sandbox_denied: bool,
    /// Whether some of its output was not kept anywhere.
    pub truncated: bool,
    /// All it wrote to its standard output, in bytes.
    pub stdout_bytes: u64,
    /// All it wrote to its standard error, in bytes.
    pub stderr_bytes: u64,
    /// The file in its workspace that holds its whole output, if the text is only head and tail.
    #[schema(required)]
    pub output_path: Option<String>,
    /// What went wrong and what to do next; while the command runs, what its output waits for.
    #[schema(required)]
    pub error: Option<String>,
}

impl ExecDocument {
    pub(crate) fn running(exec_id: &store::ExecId, command: &str, runner: Option<String>) -> Self {
        Self {
            exec_id: exec_id.to_string(),
            command: command[..command.floor_char_boundary(DOCUMENT_COMMAND_MAX_BYTES)].to_owned(),
            status: ExecStatus::Running.as_str().to_owned(),
            runner,
            ..Self::default()
        }
    }

    pub(crate) fn apply(&mut self, outcome: &store::ExecOutcome) {
        outcome.status.as_str().clone_into(&mut self.status);
        self.exit_code = outcome.exit_code;
        self.signal = outcome.signal;
        self.sandbox_denied = outcome.sandbox_denied;
        self.truncated = outcome.truncated;
        self.stdout_bytes = outcome.stdout_bytes;
        self.stderr_bytes = outcome.stderr_bytes;
        self.output_path.clone_from(&outcome.output_path);
        self.error.clone_from(&outcome.error);
    }

    /// How the command ended, unless it still runs.
    pub(crate) fn outcome(&self) -> Option<store::ExecOutcome> {
        let ends = [
            ExecStatus::Exited,
            ExecStatus::Signaled,
            ExecStatus::TimedOut,
            ExecStatus::Cancelled,
            ExecStatus::Failed,
            ExecStatus::Lost,
        ];
        Some(store::ExecOutcome {
            status: ends.into_iter().find(|status| status.as_str() == self.status)?,
            exit_code: self.exit_code,
            signal: self.signal,
            sandbox_denied: self.sandbox_denied,
            truncated: self.truncated,
            stdout_bytes: self.stdout_bytes,
            stderr_bytes: self.stderr_bytes,
            output_path: self.output_path.clone(),
            error: self.error.clone(),
        })
    }

    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a struct of texts and numbers is always valid JSON")
    }
}
