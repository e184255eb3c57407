//! How an exec ended, in the words of the store and of the audit trail. Chats and attached execs share this.

use sandbox::SandboxError;
use store::{ExecOutcome, ExecStatus};

/// The error of a command that was running when the server was stopped.
const SERVER_STOPPED: &str = "the server was stopped while this ran";

/// How an exec ended, or the reason why it never ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    /// The outcome as it is stored. Its `output_path` is empty, and output before a failure is not counted: the code that saw
    /// the output fills that in.
    pub outcome: ExecOutcome,
    /// The name of the error that ended the exec.
    error_kind: Option<&'static str>,
}

impl Ending {
    /// The end that the sandbox reported.
    pub fn of(outcome: &sandbox::ExecOutcome) -> Self {
        let (status, error) = if outcome.cancelled {
            (ExecStatus::Cancelled, None)
        } else if outcome.timed_out {
            (ExecStatus::TimedOut, None)
        } else if outcome.signal.is_some() {
            (ExecStatus::Signaled, None)
        } else if outcome.code.is_some() {
            (ExecStatus::Exited, None)
        } else {
            (
                ExecStatus::Lost,
                Some("the runner did not report how the command ended; run it again".to_owned()),
            )
        };
        let outcome = ExecOutcome {
            status,
            exit_code: outcome.code,
            signal: outcome.signal,
            sandbox_denied: outcome.sandbox_denied,
            truncated: outcome.truncated,
            stdout_bytes: outcome.stdout_bytes,
            stderr_bytes: outcome.stderr_bytes,
            output_path: None,
            error,
        };
        Self { outcome, error_kind: None }
    }

    /// The exec could not be run, or its end was not observed.
    pub fn failed(error: &SandboxError) -> Self {
        Self::refused(error.kind(), error)
    }

    /// The exec never ran, because of an error of this kind. If the kind is `lost`, its end is unknown; if it is `cancelled`, no one
    /// waits for it any more.
    pub fn refused(kind: &'static str, why: impl ToString) -> Self {
        let told =
            [ExecStatus::Lost, ExecStatus::Cancelled].into_iter().find(|status| status.as_str() == kind);
        let status = told.unwrap_or(ExecStatus::Failed);
        let outcome = ExecOutcome { error: Some(why.to_string()), ..empty(status) };
        Self { outcome, error_kind: Some(kind) }
    }

    /// An end that was stored earlier.
    pub fn on_record(outcome: ExecOutcome) -> Self {
        Self { outcome, error_kind: None }
    }

    /// The exec's end is unknown, for this reason; what is known about its output stays.
    #[must_use]
    pub fn lost(mut self, why: String) -> Self {
        self.outcome.status = ExecStatus::Lost;
        self.outcome.error = Some(why);
        self.error_kind = Some(ExecStatus::Lost.as_str());
        self
    }

    /// The name of the error that ended the exec, if an error did.
    pub fn error_kind(&self) -> Option<&'static str> {
        self.error_kind
    }

    /// The exec was cancelled before it was sent.
    pub fn cancelled_before_it_began() -> Self {
        Self { outcome: empty(ExecStatus::Cancelled), error_kind: None }
    }

    /// The same, attributed to the server if it was cancelled.
    #[must_use]
    pub fn while_the_server_stops(mut self) -> Self {
        if self.outcome.status == ExecStatus::Cancelled {
            self.outcome.error = Some(SERVER_STOPPED.to_owned());
        }
        self
    }

    /// The audit trail's word for this end: `ok`, `exit 3`, `signal 9`, `cancelled`, `timed_out`, or the error's kind.
    pub fn audit_word(&self) -> String {
        let ExecOutcome { status, exit_code, signal, .. } = self.outcome;
        match (self.error_kind, status, exit_code, signal) {
            (Some(kind), ..) => kind.to_owned(),
            (None, ExecStatus::Exited, Some(0), _) => "ok".to_owned(),
            (None, ExecStatus::Exited, Some(code), _) => format!("exit {code}"),
            (None, ExecStatus::Signaled, _, Some(signal)) => format!("signal {signal}"),
            (None, status, ..) => status.as_str().to_owned(),
        }
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn told(code: Option<i32>, signal: Option<i32>) -> sandbox::ExecOutcome {
        sandbox::ExecOutcome {
            code,
            signal,
            timed_out: false,
            cancelled: false,
            sandbox_denied: false,
            truncated: false,
            still_open: false,
            stdout_bytes: 1,
            stderr_bytes: 2,
            duration: Duration::from_millis(3),
        }
    }

    #[test]
    fn every_end_has_one_status_and_one_word() {
        let cancelled = sandbox::ExecOutcome { cancelled: true, ..told(None, Some(15)) };
        let timed_out = sandbox::ExecOutcome { timed_out: true, ..told(None, Some(15)) };
        let lost = SandboxError::Lost { runner: "laptop".to_owned() };
        let offline = SandboxError::Offline { runner: "laptop".to_owned() };
        for (ending, status, word) in [
            (Ending::of(&told(Some(0), None)), ExecStatus::Exited, "ok"),
            (Ending::of(&told(Some(3), None)), ExecStatus::Exited, "exit 3"),
            (Ending::of(&told(None, Some(9))), ExecStatus::Signaled, "signal 9"),
            (Ending::of(&cancelled), ExecStatus::Cancelled, "cancelled"),
            (Ending::of(&timed_out), ExecStatus::TimedOut, "timed_out"),
            (Ending::of(&told(None, None)), ExecStatus::Lost, "lost"),
            (Ending::failed(&lost), ExecStatus::Lost, "lost"),
            (Ending::failed(&offline), ExecStatus::Failed, "offline"),
            (Ending::refused("no_route", "which one?"), ExecStatus::Failed, "no_route"),
            (Ending::refused("cancelled", "it may go on there"), ExecStatus::Cancelled, "cancelled"),
            (Ending::cancelled_before_it_began(), ExecStatus::Cancelled, "cancelled"),
        ] {
            assert_eq!((ending.outcome.status, ending.audit_word().as_str()), (status, word), "{ending:?}");
        }
        assert_eq!(Ending::of(&told(Some(0), None)).outcome.stderr_bytes, 2);
    }

    #[test]
    fn only_what_was_cancelled_is_the_stopping_servers_doing() {
        let cancelled = Ending::cancelled_before_it_began().while_the_server_stops();
        assert_eq!(cancelled.outcome.error.as_deref(), Some(SERVER_STOPPED));
        assert_eq!(Ending::of(&told(Some(0), None)).while_the_server_stops().outcome.error, None);
    }
}
