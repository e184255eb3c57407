//! How a command ended, in the store's words.

use sandbox::SandboxError;
use store::{ExecOutcome, ExecStatus};

use crate::limits::COMMAND_TIMEOUT_S;

/// What a user is told of a command that was running when the server was stopped.
const SERVER_STOPPED: &str = "the server was stopped while this ran";

/// The command never ran, and says why.
pub(crate) fn failed_at_the_start(why: impl ToString) -> ExecOutcome {
    ExecOutcome { error: Some(why.to_string()), ..empty(ExecStatus::Failed) }
}

/// The command was cancelled before it was sent.
pub(crate) fn cancelled_before_it_began(server_stops: bool) -> ExecOutcome {
    ExecOutcome { error: server_stops.then(|| SERVER_STOPPED.to_owned()), ..empty(ExecStatus::Cancelled) }
}

/// The command ended in this way; `server_stops` says who cancelled it, if it was cancelled.
pub(crate) fn finished(outcome: &sandbox::ExecOutcome, server_stops: bool) -> ExecOutcome {
    let (status, error) = if outcome.cancelled {
        (ExecStatus::Cancelled, server_stops.then(|| SERVER_STOPPED.to_owned()))
    } else if outcome.timed_out {
        let error = format!(
            "stopped after {COMMAND_TIMEOUT_S} s, the time a command in a chat has; `sandbridge exec` has no such limit"
        );
        (ExecStatus::TimedOut, Some(error))
    } else if outcome.signal.is_some() {
        (ExecStatus::Signaled, None)
    } else if outcome.code.is_some() {
        (ExecStatus::Exited, None)
    } else {
        (ExecStatus::Lost, Some("the runner did not tell how the command ended; run it again".to_owned()))
    };
    ExecOutcome {
        status,
        exit_code: outcome.code,
        signal: outcome.signal,
        sandbox_denied: outcome.sandbox_denied,
        truncated: outcome.truncated,
        stdout_bytes: outcome.stdout_bytes,
        stderr_bytes: outcome.stderr_bytes,
        output_path: None,
        error,
    }
}

/// The command could not be run, or was lost sight of. What it wrote until then is counted by the caller.
pub(crate) fn failed(error: &SandboxError) -> ExecOutcome {
    let status = match error {
        SandboxError::Lost { .. } => ExecStatus::Lost,
        SandboxError::Offline { .. }
        | SandboxError::Remote { .. }
        | SandboxError::Protocol { .. }
        | SandboxError::InputClosed => ExecStatus::Failed,
    };
    ExecOutcome { error: Some(error.to_string()), ..empty(status) }
}

/// What the audit trail says of it.
pub(crate) fn audit_word(outcome: &ExecOutcome) -> String {
    match (outcome.status, outcome.exit_code, outcome.signal) {
        (ExecStatus::Exited, Some(0), _) => "ok".to_owned(),
        (ExecStatus::Exited, Some(code), _) => format!("exit {code}"),
        (ExecStatus::Signaled, _, Some(signal)) => format!("signal {signal}"),
        (status, _, _) => status.as_str().to_owned(),
    }
}

fn empty(status: ExecStatus) -> ExecOutcome {
    ExecOutcome {
        status,
        exit_code: None,
        signal: None,
        sandbox_denied: false,
        truncated: false,
        stdout_bytes: 0,
        stderr_bytes: 0,
        output_path: None,
        error: None,
    }
}
