//! The document of a message that shows a command; the output is the message's text.

use api::document::ExecDocument;
use store::ExecStatus;

use crate::limits::DOCUMENT_COMMAND_MAX_BYTES;

/// All final states of a command.
const ENDS: [ExecStatus; 6] = [
    ExecStatus::Exited,
    ExecStatus::Signaled,
    ExecStatus::TimedOut,
    ExecStatus::Cancelled,
    ExecStatus::Failed,
    ExecStatus::Lost,
];

/// The document of a command at its start.
pub(crate) fn running(exec_id: &store::ExecId, command: &str, runner: Option<String>) -> ExecDocument {
    ExecDocument {
        exec_id: exec_id.to_string(),
        command: command[..command.floor_char_boundary(DOCUMENT_COMMAND_MAX_BYTES)].to_owned(),
        status: word(ExecStatus::Running),
        runner,
        ..ExecDocument::default()
    }
}

/// Records in the document how the command ended.
pub(crate) fn apply(document: &mut ExecDocument, outcome: &store::ExecOutcome) {
    document.status = word(outcome.status);
    document.exit_code = outcome.exit_code;
    document.signal = outcome.signal;
    document.sandbox_denied = outcome.sandbox_denied;
    document.truncated = outcome.truncated;
    document.stdout_bytes = outcome.stdout_bytes;
    document.stderr_bytes = outcome.stderr_bytes;
    document.output_path.clone_from(&outcome.output_path);
    document.error.clone_from(&outcome.error);
}

/// How the command ended; `None` while it still runs.
pub(crate) fn outcome(document: &ExecDocument) -> Option<store::ExecOutcome> {
    Some(store::ExecOutcome {
        status: ENDS.into_iter().find(|status| document.status == status.as_str())?,
        exit_code: document.exit_code,
        signal: document.signal,
        sandbox_denied: document.sandbox_denied,
        truncated: document.truncated,
        stdout_bytes: document.stdout_bytes,
        stderr_bytes: document.stderr_bytes,
        output_path: document.output_path.clone(),
        error: document.error.clone(),
    })
}

/// The document's stored form.
pub(crate) fn to_json(document: &ExecDocument) -> String {
    serde_json::to_string(document).expect("a struct of texts and numbers is always valid JSON")
}

fn word(status: ExecStatus) -> api::words::ExecStatus {
    status.as_str().into()
}
