//! `exec`: a command to its end.

use std::convert::Infallible;

use api::exec::ExecAsk;
use sandbox::ExecOutcome;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::sleep;

use super::super::output::{Output, Shown};
use super::{Desk, Outcome, Progress, Tool, schema_of};
use crate::limits::{MCP_EXEC_TIMEOUT_MAX_S, MCP_EXEC_TIMEOUT_S, MCP_PROGRESS_BYTES, MCP_PROGRESS_INTERVAL};
use crate::web::error::ApiError;
use crate::web::exec::program::Program;

/// What to run: a command line or a program with its arguments.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Exec {
    /// A command line for the runner's shell; or give argv.
    #[serde(default)]
    command: Option<String>,
    /// A program and its arguments, as they are; or give command.
    #[serde(default)]
    argv: Option<Vec<String>>,
    /// The working directory; the workspace if absent.
    #[serde(default)]
    cwd: Option<String>,
    /// After how many seconds it is ended with everything it started: 120 if absent, 600 at most.
    #[serde(default)]
    timeout_s: Option<f64>,
    /// The runner to use instead of the active one.
    #[serde(default)]
    runner: Option<String>,
    /// Its standard input, which is empty if absent.
    #[serde(default)]
    stdin: Option<String>,
}

/// How it ended.
#[derive(Debug, Serialize, JsonSchema)]
struct Report {
    /// Its id, for task_read.
    id: String,
    /// Where it ran.
    runner: String,
    /// Null where a signal ended it.
    exit_code: Option<i32>,
    /// The number of the signal that ended it.
    signal: Option<i32>,
    /// Whether it took too long and was ended.
    timed_out: bool,
    /// Whether it was ended because somebody wanted that.
    cancelled: bool,
    /// Whether confinement denied it something, as far as that can be told.
    sandbox_denied: bool,
    /// Standard output and error in the order they came; a long one's beginning and end.
    output: String,
    /// How many bytes are not in `output`.
    left_out_bytes: u64,
    /// How long it ran.
    duration_ms: u64,
}

impl Tool for Exec {
    const NAME: &'static str = "exec";
    const DESCRIPTION: &'static str = "Runs a command on a runner, waits for its end and answers with its output (standard output and \
error together) and exit code; a result that is no exit code 0 is marked as an error. Of a long output the beginning and the end \
are shown; task_read has the rest for 10 minutes. It is ended after timeout_s, and when the call is cancelled. Use task_start for \
what takes longer, and read_file, write_file, glob and grep instead of cat, tee, find and grep.";
    const ONLY_READS: bool = false;

    fn output_schema() -> Option<Value> {
        Some(schema_of::<Report>())
    }

    async fn run(self, desk: &Desk) -> Result<Outcome, ApiError> {
        let timeout_s = self.timeout_s.unwrap_or(MCP_EXEC_TIMEOUT_S);
        if !(timeout_s > 0.0 && timeout_s <= MCP_EXEC_TIMEOUT_MAX_S) {
            return Err(ApiError::invalid(format!(
                "timeout_s must be more than 0 and at most {MCP_EXEC_TIMEOUT_MAX_S}; use task_start for what takes longer"
            )));
        }
        let ask = ExecAsk {
            shell: self.command,
            argv: self.argv,
            cwd: self.cwd,
            on: self.runner,
            timeout_s: Some(timeout_s),
            stdin: self.stdin.is_some(),
            merge_stderr: true,
            ..ExecAsk::default()
        };
        let program = Program::start(&desk.state, &desk.caller, ask).await?;
        let (id, runner) = (program.id(), program.place().to_owned());
        let (mut output, wants_progress) = (Output::default(), desk.progress.is_some());
        let (news, heard) = watch::channel((0, String::new()));
        let live = |bytes: &[u8], lost_bytes: u64| {
            output.push(bytes, lost_bytes);
            if wants_progress {
                news.send_replace((output.total_bytes(), output.last(MCP_PROGRESS_BYTES)));
            }
        };
        let stdin = self.stdin.unwrap_or_default();
        // Told beside the command, not in its way: a client may be slow to listen.
        let finished = tokio::select! {
            finished = program.finish(stdin.as_bytes(), &desk.cancelled, live) => finished,
            never = tell(desk.progress.as_ref(), heard) => match never {},
        };
        let shown = output.finish();
        if shown.left_out_bytes == 0 {
            finished.acknowledge();
        }
        Ok(told(id, runner, shown, finished.ended.map_err(ApiError::from)?, timeout_s))
    }
}

/// Tells of the newest output, not too often, for as long as it is polled.
async fn tell(progress: Option<&Progress>, mut heard: watch::Receiver<(u64, String)>) -> Infallible {
    if let Some(progress) = progress {
        while heard.changed().await.is_ok() {
            let (bytes, text) = heard.borrow_and_update().clone();
            progress.tell(bytes, text).await;
            sleep(MCP_PROGRESS_INTERVAL).await;
        }
    }
    std::future::pending().await
}

fn told(id: String, runner: String, shown: Shown, outcome: ExecOutcome, timeout_s: f64) -> Outcome {
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
            "(confinement denied it something: what is outside the workspace is out of reach)".to_owned(),
        );
    }
    if outcome.still_open {
        lines.push("(something that it started still runs and holds its output open)".to_owned());
    }
    if shown.left_out_bytes > 0 {
        let (bytes, offset) = (shown.left_out_bytes, shown.rest_offset);
        lines.push(format!(
            "({bytes} bytes are left out; for 10 minutes task_read with id {id} and offset {offset} reads on from there)"
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
    let structured = Some(json!(report));
    Outcome { is_error, structured, ..Outcome::text(lines.join("\n")) }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

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
    fn every_end_is_told_as_it_was_and_only_success_is_none() {
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
            let shown = Output::default().finish();
            let told = told("id".to_owned(), "laptop".to_owned(), shown, outcome, 5.0);
            assert_eq!(told.is_error, is_error, "{words}");
            let text = told.content[0].as_text().unwrap().text.clone();
            assert!(text.contains(words), "{text}");
        }
    }
}
