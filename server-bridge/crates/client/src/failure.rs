//! Errors, for people, programs and shells.

use std::process::ExitCode;

use super::line::Line;

/// The exit code of an invalid command line.
pub const USAGE: u8 = 2;
/// The exit code of a command that ran longer than it was allowed to.
pub const TIMED_OUT: u8 = 124;
/// The exit code of a command that the sandbox could not run.
pub const NOT_RUN: u8 = 125;
/// The exit code of a command whose program cannot be executed.
pub const NOT_EXECUTABLE: u8 = 126;
/// The exit code of a command whose program does not exist.
pub const NOT_FOUND: u8 = 127;
/// The base of the exit code of a command that a signal ended; the signal's number is added to it.
pub const SIGNALED: u8 = 128;
/// The exit code of a program that ended because its terminal was hung up.
pub const HUNG_UP: u8 = SIGNALED + 1;
/// The exit code of a program that Ctrl-C ended.
pub const INTERRUPTED: u8 = SIGNALED + 2;
/// The exit code of a program that ended because its output no longer has a reader.
pub const BROKEN_PIPE: u8 = SIGNALED + 13;

/// The exit code of any other failure.
pub const FAILED: u8 = 1;

/// A failure of a command.
#[derive(Debug)]
pub struct Failure {
    /// The kind, which programs match on.
    pub kind: String,
    /// The text for people: what happened and what to do next, on one line.
    pub message: String,
    /// The exit code.
    pub code: u8,
}

impl Failure {
    /// A failure because the command line is invalid.
    pub fn usage(message: impl Into<String>) -> Self {
        Self { kind: "usage".to_owned(), message: message.into(), code: USAGE }
    }

    /// A failure of any other kind.
    pub fn other(kind: impl Into<String>, message: impl Into<String>) -> Self {
        Self { kind: kind.into(), message: message.into(), code: FAILED }
    }

    /// The same failure as `exec` reports it: the sandbox could not run the command, for any reason.
    pub fn into_not_run(self) -> Self {
        let code = match (self.code, self.kind.as_str()) {
            (FAILED, "command_not_found") => NOT_FOUND,
            (FAILED, "not_executable") => NOT_EXECUTABLE,
            (FAILED, _) => NOT_RUN,
            (code, _) => code,
        };
        Self { code, ..self }
    }

    /// Prints the failure, and returns its exit code.
    pub fn report(&self, as_json: bool) -> ExitCode {
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
pub fn exit_code(code: Option<i32>, signal: Option<i32>, timed_out: bool, cancelled: bool) -> u8 {
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
