//! `task_start`, `task_status`, `task_read`, `task_kill`: commands that go on by themselves.

use api::exec::ExecAsk;
use execs::{Exec, ExecStatus, is_open};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Desk, Outcome, Tool, schema_of};
use crate::limits::{MCP_READ_BYTES, MCP_READ_MAX_BYTES, MCP_READ_PATIENCE, MCP_TASKS_LISTED};
use crate::web::error::ApiError;
use crate::web::exec::attach;
use crate::web::exec::program::{Program, read_part};

/// What to start: a command line or a program with its arguments.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Start {
    /// A command line for the runner's shell; or give argv.
    #[serde(default)]
    command: Option<String>,
    /// A program and its arguments, as they are; or give command.
    #[serde(default)]
    argv: Option<Vec<String>>,
    /// The working directory; the workspace if absent.
    #[serde(default)]
    cwd: Option<String>,
    /// After how many seconds it is ended with everything it started; never if absent.
    #[serde(default)]
    timeout_s: Option<f64>,
    /// The runner to use instead of the active one.
    #[serde(default)]
    runner: Option<String>,
}

/// Which task.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Status {
    /// The task's id; all tasks without it, the newest first.
    #[serde(default)]
    id: Option<String>,
}

/// Which part of which output.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Read {
    /// The id of a task, or of a command that exec ran.
    id: String,
    /// The first byte wanted; 0 if absent.
    #[serde(default)]
    offset: u64,
    /// At most so many bytes: 65536 if absent, 524288 at most.
    #[serde(default)]
    limit: Option<u64>,
}

/// Which task.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Kill {
    /// The task's id.
    id: String,
}

/// How a task stands.
#[derive(Debug, Serialize, JsonSchema)]
struct TaskView {
    /// Its id.
    id: String,
    /// Where it runs.
    runner: Option<String>,
    /// What it runs.
    command: String,
    /// `running`, `exited`, `signaled`, `timed_out`, `cancelled`, `failed` or `lost`.
    status: String,
    /// Its exit code, if it exited.
    exit_code: Option<i32>,
    /// The number of the signal that ended it.
    signal: Option<i32>,
    /// What went wrong, if anything did.
    error: Option<String>,
}

/// How tasks stand.
#[derive(Debug, Serialize, JsonSchema)]
struct TasksView {
    /// Each of them.
    tasks: Vec<TaskView>,
}

impl Tool for Start {
    const NAME: &'static str = "task_start";
    const DESCRIPTION: &'static str = "Starts a command that goes on by itself, beyond this call and this session: a server, a watcher, a \
long build. Answers with its id for task_status, task_read and task_kill.";
    const ONLY_READS: bool = false;

    async fn run(self, desk: &Desk) -> Result<Outcome, ApiError> {
        let ask = ExecAsk {
            shell: self.command,
            argv: self.argv,
            cwd: self.cwd,
            on: self.runner,
            timeout_s: self.timeout_s,
            merge_stderr: true,
            detach: true,
            ..ExecAsk::default()
        };
        let program = Program::start(&desk.state, &desk.caller, ask).await?;
        let (id, runner) = (program.id(), program.place().to_owned());
        program.detach().await?;
        let outcome = Outcome::text(format!("task {id} runs on {runner}"));
        Ok(Outcome { structured: Some(json!({"id": id, "runner": runner})), ..outcome })
    }
}

impl Tool for Status {
    const NAME: &'static str = "task_status";
    const DESCRIPTION: &'static str = "Tells how a task stands, or how all of the user's tasks do.";
    const ONLY_READS: bool = true;

    fn output_schema() -> Option<Value> {
        Some(schema_of::<TasksView>())
    }

    async fn run(self, desk: &Desk) -> Result<Outcome, ApiError> {
        let (state, user) = (&desk.state, &desk.caller.user);
        let records = match self.id {
            Some(id) => vec![state.ledger.exec(user.id, &id).await?],
            None => {
                let execs = state.ledger.execs(user.id, false, MCP_TASKS_LISTED).await?;
                execs.into_iter().filter(|exec| exec.detached).collect()
            }
        };
        let lines: Vec<String> = records.iter().map(line).collect();
        let text = if lines.is_empty() { "there are no tasks".to_owned() } else { lines.join("\n") };
        let tasks = records.into_iter().map(TaskView::from).collect();
        Ok(Outcome { structured: Some(json!(TasksView { tasks })), ..Outcome::text(text) })
    }
}

impl Tool for Read {
    const NAME: &'static str = "task_read";
    const DESCRIPTION: &'static str = "Reads the output of a task, or of a command that exec ran, from an offset on: what there is by now. \
The answer's first item is the output, the second one says where to read on. Output is kept until 10 minutes after the end.";
    const ONLY_READS: bool = true;

    async fn run(self, desk: &Desk) -> Result<Outcome, ApiError> {
        let limit = self.limit.unwrap_or(MCP_READ_BYTES).clamp(1, MCP_READ_MAX_BYTES);
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let part =
            read_part(&desk.state, &desk.caller, &self.id, self.offset, limit, MCP_READ_PATIENCE).await?;
        let lost = match part.lost_bytes {
            0 => String::new(),
            bytes => format!("{bytes} bytes amid these were not kept; "),
        };
        let rest = match (part.is_last, part.record.status) {
            (true, _) => "this is the end".to_owned(),
            (false, _) => format!("read on with offset {}", part.next_offset),
        };
        let status = line(&part.record);
        let note = format!("(bytes {} to {}; {lost}{rest})\n{status}", self.offset, part.next_offset);
        Ok(Outcome::text(String::from_utf8_lossy(&part.bytes)).and(note))
    }
}

impl Tool for Kill {
    const NAME: &'static str = "task_kill";
    const DESCRIPTION: &'static str = "Ends a task with everything it started, and waits until it has ended.";
    const ONLY_READS: bool = false;

    async fn run(self, desk: &Desk) -> Result<Outcome, ApiError> {
        let record = desk.state.ledger.exec(desk.caller.user.id, &self.id).await?;
        if !is_open(record.status) {
            return Ok(Outcome::text(format!("it had ended before\n{}", line(&record))));
        }
        attach::check_terminal(&desk.caller, &record)?;
        attach::end(&desk.state, &desk.caller, &record).await?;
        Ok(Outcome::text(format!("task {} has ended", record.exec_id)))
    }
}

fn line(task: &Exec) -> String {
    let end = match (task.status, task.exit_code, task.signal) {
        (ExecStatus::Running, ..) => "running".to_owned(),
        (ExecStatus::Exited, Some(code), _) => format!("exit code {code}"),
        (ExecStatus::Signaled, _, Some(signal)) => format!("killed by signal {signal}"),
        (status, ..) => status.as_str().to_owned(),
    };
    let place = task.runner.as_deref().map(|runner| format!(" on {runner}")).unwrap_or_default();
    format!("{} {end}{place}: {}", task.exec_id, task.command)
}

impl From<Exec> for TaskView {
    fn from(exec: Exec) -> Self {
        Self {
            id: exec.exec_id.to_string(),
            runner: exec.runner,
            command: exec.command,
            status: exec.status.as_str().to_owned(),
            exit_code: exec.exit_code,
            signal: exec.signal,
            error: exec.error,
        }
    }
}
