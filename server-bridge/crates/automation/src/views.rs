//! Jobs and runs as clients see them.

use api::automation::{AutomationRun, AutomationView};
use api::words::{AutomationKind, AutomationState, RunOutcome};
use store::{ExecStatus, Job, JobKind, JobRun, RunState, TurnStatus};

use crate::document::Document;
use crate::error::Error;

/// Returns the outcome of a run, and the reason for it.
pub(crate) fn outcome(run: &JobRun) -> (RunOutcome, String) {
    let of_state = match run.state {
        RunState::Due => RunOutcome::Waiting,
        RunState::Skipped => RunOutcome::Skipped,
        RunState::Failed => RunOutcome::Failed,
        RunState::Refused => RunOutcome::Refused,
        // A hook stopped the message when its turn began.
        RunState::Posted if !run.note.is_empty() => RunOutcome::Skipped,
        RunState::Posted => return of_answer(run),
    };
    (of_state, run.note.clone())
}

/// Returns the outcome of a run whose message was posted, which is that of the turn that answers the message or of the command that the message ran.
fn of_answer(run: &JobRun) -> (RunOutcome, String) {
    let failed = |why: String| (RunOutcome::Failed, why);
    let error = |text: &str| failed(run.turn_error.clone().unwrap_or_else(|| text.to_owned()));
    match (run.turn_status, run.exec_status) {
        (Some(TurnStatus::Queued | TurnStatus::Running), _) | (None, Some(ExecStatus::Running)) => {
            (RunOutcome::Running, String::new())
        }
        (Some(TurnStatus::Done), _) | (None, None) => (RunOutcome::Done, String::new()),
        (Some(TurnStatus::Failed), _) => error("its answer failed"),
        (Some(TurnStatus::Cancelled), _) => error("its answer was cancelled"),
        (Some(TurnStatus::Interrupted), _) => error("its answer was interrupted"),
        (None, Some(ExecStatus::Exited)) => match run.exit_code {
            Some(0) | None => (RunOutcome::Done, String::new()),
            Some(code) => failed(format!("its command ended with exit code {code}")),
        },
        (None, Some(status)) => failed(format!("its command ended with the status {}", status.as_str())),
    }
}

/// Converts a run to the form that clients see.
pub(crate) fn run(run: &JobRun) -> AutomationRun {
    let (outcome, reason) = outcome(run);
    AutomationRun {
        id: run.id,
        outcome,
        reason,
        times: run.times,
        chat_id: run.chat.as_ref().map(ToString::to_string),
        message_id: run.message.map(|message| message.0),
        has_delivery: run.has_payload,
        due_at: run.due_ms,
        ended_at: run.ended_at_ms,
    }
}

/// Converts a job and its newest run to the form that clients see. A job that this version cannot read is shown without its definition, so that the
/// other jobs can still be listed.
pub(crate) fn automation(job: &Job, newest: Option<&JobRun>) -> AutomationView {
    let document = Document::of(job);
    let unreadable = document.as_ref().err().map(Error::message);
    let kind = match job.kind {
        JobKind::Schedule => AutomationKind::Schedule,
        JobKind::Trigger => AutomationKind::Trigger,
    };
    let state = match (&job.paused, job.kind, job.next_ms) {
        (Some(_), _, _) => AutomationState::Paused,
        (None, JobKind::Schedule, None) => AutomationState::Ended,
        _ => AutomationState::Active,
    };
    AutomationView {
        name: job.name.clone(),
        kind,
        automation: document.map(|document| document.automation).unwrap_or_default(),
        state,
        paused_because: unreadable.or_else(|| job.paused.clone().filter(|why| !why.is_empty())),
        next_at: job.next_ms,
        chat_id: job.chat.as_ref().map(ToString::to_string),
        last_run: newest.map(run),
        created_at: job.created_at_ms,
    }
}
