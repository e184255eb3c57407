//! `exec`: runs a command to its end.

use agent::approval::Access;
use agent::tool::{Failure, ForPrograms, Live, Outcome, Rules, ToolContext, TypedTool, schema_of};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::command::{Asked, Command, Finished};
use crate::limits::{PROGRAM_EXEC_MAX_S, PROGRAM_EXEC_S, PROGRAM_SIDE_BYTES};
use crate::{Services, Work};

/// The command to run: a command line or a program with its arguments.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// A command line for the runner's shell; or give argv.
    #[serde(default)]
    command: Option<String>,
    /// A program and its arguments, passed unchanged; or give command.
    #[serde(default)]
    argv: Option<Vec<String>>,
    /// The working directory; the workspace if absent.
    #[serde(default)]
    cwd: Option<String>,
    /// The time limit in seconds, after which the command is ended with everything it started: 120 if absent, 600 at most.
    #[serde(default)]
    timeout_s: Option<f64>,
    /// The command's standard input; empty if absent.
    #[serde(default)]
    stdin: Option<String>,
}

/// The result of a command.
#[derive(Debug, Serialize, JsonSchema)]
struct Report {
    /// The command's id, for task_read.
    id: String,
    /// The runner where the command ran.
    runner: String,
    /// The exit code; null if a signal ended the command.
    exit_code: Option<i32>,
    /// The number of the signal that ended the command.
    signal: Option<i32>,
    /// Whether the command was ended because it reached its time limit.
    timed_out: bool,
    /// Whether the command was cancelled.
    cancelled: bool,
    /// Whether confinement denied the command something, as far as that can be detected.
    sandbox_denied: bool,
    /// Standard output and error in the order they arrived; of long output, the beginning and the end.
    output: String,
    /// The number of bytes that are not in `output`.
    left_out_bytes: u64,
    /// How long the command ran, in milliseconds.
    duration_ms: u64,
}

impl TypedTool for Arguments {
    type Services = Services;

    const NAME: &'static str = "exec";
    const DESCRIPTION: &'static str = "Runs a command on a runner, waits until it ends and returns its output (standard output and \
error together) and exit code; a result other than exit code 0 is marked as an error. Of long output, the beginning and the end \
are shown; task_read has the rest for 10 minutes. The command is ended after timeout_s, and when the call is cancelled. Use task_start for \
what takes longer, and read_file, write_file, glob and grep instead of cat, tee, find and grep.";
    const RULES: Rules = Rules::of(Access::Run).sees_cancel().for_programs();

    fn output_schema() -> Option<Value> {
        Some(schema_of::<Report>())
    }

    fn hint(&self) -> &str {
        self.command.as_deref().unwrap_or_default()
    }

    async fn run(
        &self,
        services: &Services,
        context: &ToolContext<'_>,
        live: Live<'_>,
    ) -> Result<Outcome, Failure> {
        let work = &Work { services, context };
        let timeout_s = self.timeout_s.unwrap_or(PROGRAM_EXEC_S);
        let asked = Asked {
            line: self.command.as_deref(),
            argv: self.argv.as_deref(),
            cwd: self.cwd.as_deref(),
            timeout_s: Some(timeout_s),
            timeout_max_s: PROGRAM_EXEC_MAX_S,
            stdin: self.stdin.is_some(),
            goes_on: false,
        };
        let input = self.stdin.as_deref().unwrap_or_default().as_bytes();
        let command = Command::start(work, asked).await?;
        Ok(told(command.finish(input, PROGRAM_SIDE_BYTES, live).await?, timeout_s))
    }
}

fn told(finished: Finished, timeout_s: f64) -> Outcome {
    let Finished { outcome, shown, id, runner } = finished;
    let mut lines = Vec::new();
    if !shown.text.is_empty() {
        lines.push(shown.text.trim_end_matches('\n').to_owned());
    }
    lines.push(match (outcome.code, outcome.signal) {
        _ if outcome.timed_out => format!("(ended on {runner}: it ran for {timeout_s} s)"),
        _ if outcome.cancelled => format!("(cancelled on {runner})"),
        (Some(code), _) => format!("(exit code {code} on {runner})"),
        (None, Some(signal)) => format!("(killed by signal {signal} on {runner})"),
        (None, None) => format!("(how it ended is not known; it ran on {runner})"),
    });
    if outcome.sandbox_denied {
        lines.push(
            "(confinement denied the command something: it cannot reach anything outside the workspace)"
                .to_owned(),
        );
    }
    if outcome.still_open {
        lines.push(
            "(a process that the command started is still running and keeps the output open)".to_owned(),
        );
    }
    if shown.left_out_bytes > 0 {
        let (bytes, offset) = (shown.left_out_bytes, shown.rest_offset);
        lines.push(format!(
            "({bytes} bytes are left out; for 10 minutes task_read with id {id} and offset {offset} reads them)"
        ));
    }
    let is_error = outcome.code != Some(0) || outcome.timed_out || outcome.cancelled;
    let report = Report {
        id,
        runner,
        exit_code: outcome.code,
        signal: outcome.signal,
        timed_out: outcome.timed_out,
        cancelled: outcome.cancelled,
        sandbox_denied: outcome.sandbox_denied,
        output: shown.text,
        left_out_bytes: shown.left_out_bytes,
        duration_ms: u64::try_from(outcome.duration.as_millis()).unwrap_or(u64::MAX),
    };
    let for_programs = ForPrograms { structured: Some(json!(report)), ..ForPrograms::default() };
    Outcome { is_error, ..Outcome::done(lines.join("\n")).with(for_programs) }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use sandbox::ExecOutcome;

    use super::*;
    use crate::output::Output;

    fn outcome(code: Option<i32>, signal: Option<i32>) -> ExecOutcome {
        ExecOutcome {
            code,
            signal,
            timed_out: false,
            cancelled: false,
            sandbox_denied: false,
            truncated: false,
            still_open: false,
            stdout_bytes: 0,
            stderr_bytes: 0,
            duration: Duration::ZERO,
        }
    }

    #[test]
    fn every_end_is_told_as_it_was_and_only_success_is_no_error() {
        let timed_out = ExecOutcome { timed_out: true, ..outcome(None, Some(15)) };
        let cancelled = ExecOutcome { cancelled: true, ..outcome(None, Some(15)) };
        for (outcome, is_error, words) in [
            (outcome(Some(0), None), false, "(exit code 0 on laptop)"),
            (outcome(Some(3), None), true, "(exit code 3 on laptop)"),
            (outcome(None, Some(9)), true, "(killed by signal 9 on laptop)"),
            (outcome(None, None), true, "not known"),
            (timed_out, true, "it ran for 5 s"),
            (cancelled, true, "(cancelled on laptop)"),
        ] {
            let shown = Output::new(PROGRAM_SIDE_BYTES).finish();
            let (id, runner) = ("id".to_owned(), "laptop".to_owned());
            let told = told(Finished { outcome, shown, id, runner }, 5.0);
            assert_eq!(told.is_error, is_error, "{words}");
            assert!(told.text.contains(words), "{}", told.text);
        }
    }
}
