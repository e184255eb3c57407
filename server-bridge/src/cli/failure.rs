//! What went wrong, as people, programs and shells are told.

use std::process::ExitCode;

use super::line::Line;
use crate::config::ConfigError;

/// The command line makes no sense.
pub(super) const USAGE: u8 = 2;
/// It ran longer than it was allowed to.
pub(super) const TIMED_OUT: u8 = 124;
/// The sandbox could not run it.
pub(super) const NOT_RUN: u8 = 125;
/// Its program cannot be executed.
pub(super) const NOT_EXECUTABLE: u8 = 126;
/// Its program does not exist.
pub(super) const NOT_FOUND: u8 = 127;
/// What a signal's number is added to.
pub(super) const SIGNALED: u8 = 128;
/// Ended because its terminal was hung up.
pub(super) const HUNG_UP: u8 = SIGNALED + 1;
/// Ended by Ctrl-C.
pub(super) const INTERRUPTED: u8 = SIGNALED + 2;
/// Ended because nobody reads its output any more.
pub(super) const BROKEN_PIPE: u8 = SIGNALED + 13;

/// Any other failure.
pub(super) const FAILED: u8 = 1;

/// Why a command failed.
#[derive(Debug)]
pub(super) struct Failure {
    /// What programs match on.
    pub(super) kind: String,
    /// What people read: what happened and what to do next, on one line.
    pub(super) message: String,
    /// The exit code.
    pub(super) code: u8,
}

impl Failure {
    /// The command line makes no sense.
    pub(super) fn usage(message: impl Into<String>) -> Self {
        Self { kind: "usage".to_owned(), message: message.into(), code: USAGE }
    }

    /// Anything else.
    pub(super) fn other(kind: impl Into<String>, message: impl Into<String>) -> Self {
        Self { kind: kind.into(), message: message.into(), code: FAILED }
    }

    /// What the work on this machine failed of, told with its causes; one that its error's text names already is not
    /// said twice.
    pub(super) fn from_error(error: &anyhow::Error) -> Self {
        let mut message = error.to_string();
        for cause in error.chain().skip(1).map(ToString::to_string) {
            if !message.contains(&cause) {
                message.push_str(": ");
                message.push_str(&cause);
            }
        }
        let kind = match error.downcast_ref::<store::Error>() {
            Some(store::Error::NotFound { .. }) => "not_found",
            Some(store::Error::Taken { .. } | store::Error::Conflict { .. }) => "conflict",
            Some(error) if error.is_callers() => "invalid",
            None if error.is::<ConfigError>() => "invalid",
            Some(_) | None => "failed",
        };
        Self::other(kind, message)
    }

    /// The same as `exec` tells it: the sandbox could not run the command, for whatever reason.
    pub(super) fn into_not_run(self) -> Self {
        let code = match (self.code, self.kind.as_str()) {
            (FAILED, "command_not_found") => NOT_FOUND,
            (FAILED, "not_executable") => NOT_EXECUTABLE,
            (FAILED, _) => NOT_RUN,
            (code, _) => code,
        };
        Self { code, ..self }
    }

    /// Tells it, and gives the exit code.
    pub(super) fn report(&self, as_json: bool) -> ExitCode {
        if as_json {
            let line = Line::Error { kind: &self.kind, message: Some(&self.message) };
            super::output::line(&line.to_string());
        } else {
            super::output::warn(&self.message);
        }
        ExitCode::from(self.code)
    }
}

/// The exit code of a command that ended in this way.
pub(super) fn exit_code(code: Option<i32>, signal: Option<i32>, timed_out: bool, cancelled: bool) -> u8 {
    if timed_out {
        return TIMED_OUT;
    }
    if cancelled {
        return INTERRUPTED;
    }
    match (code, signal) {
        (_, Some(signal)) => u8::try_from(signal).map_or(u8::MAX, |signal| SIGNALED.saturating_add(signal)),
        (Some(code), None) => u8::try_from(code & 0xff).unwrap_or(u8::MAX),
        (None, None) => NOT_RUN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_are_as_promised() {
        assert_eq!(exit_code(Some(0), None, false, false), 0);
        assert_eq!(exit_code(Some(7), None, false, false), 7);
        assert_eq!(exit_code(None, Some(9), false, false), 137);
        assert_eq!(exit_code(None, Some(64), false, false), 192);
        assert_eq!(exit_code(None, Some(15), true, false), TIMED_OUT);
        assert_eq!(exit_code(None, Some(15), false, true), INTERRUPTED);
        assert_eq!(exit_code(None, None, false, false), NOT_RUN);
    }

    #[test]
    fn a_cause_is_told_once_whether_its_error_names_it_or_not() {
        let missing = || std::io::Error::from_raw_os_error(2);
        let home = ConfigError::Home { home: "/h".into(), source: missing() };
        let listen = crate::serve::StartError::Listen { listen: "x:1".to_owned(), source: missing() };
        let store = store::Error::Open { path: "/h/db".into(), source: missing() };
        let plain = anyhow::Error::new(missing()).context("cannot read the password");
        for error in [home.into(), listen.into(), anyhow::Error::new(store), plain] {
            let told = Failure::from_error(&error).message;
            assert_eq!(told.matches("os error 2").count(), 1, "{told}");
        }
    }

    #[test]
    fn failures_of_accounts_have_kinds() {
        let taken = store::Error::Taken { what: "user", name: "ada".to_owned() };
        let missing = store::Error::NotFound { what: "user", name: "ada".to_owned() };
        let name = store::Error::InvalidName { name: "!".to_owned() };
        for (error, kind) in [(taken, "conflict"), (missing, "not_found"), (name, "invalid")] {
            assert_eq!(Failure::from_error(&error.into()).kind, kind);
        }
        assert_eq!(Failure::from_error(&ConfigError::NoHome.into()).kind, "invalid");
    }

    #[test]
    fn what_could_not_be_run_is_told_apart() {
        for (kind, code) in [
            ("offline", 125),
            ("denied", 125),
            ("lost", 125),
            ("unauthorized", 125),
            ("unreachable", 125),
            ("command_not_found", 127),
            ("not_executable", 126),
        ] {
            assert_eq!(Failure::other(kind, "").into_not_run().code, code, "{kind}");
        }
        assert_eq!(Failure::usage("").into_not_run().code, 2);
    }
}
