//! `task_status`, `task_read`, `task_kill`: background commands, and sub-agents in the background.
//!
//! A model sees the tasks of its chat; a program sees all of its user's, and may read the output of any command by its id.

use execs::follow::sandbox_id;
use execs::is_open;
use sandbox::ExecReport;
use sandbox::Sandbox;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use store::{BackgroundTurn, ChatId, Exec, ExecStatus, User};

use super::{Failure, Outcome, Work};
use crate::limits::{
    PROGRAM_READ_BYTES, PROGRAM_READ_MAX_BYTES, PROGRAM_READ_PATIENCE, PROGRAM_TASKS, TASK_HEAD_BYTES,
    TASK_TAIL_BYTES, TASKS_LISTED,
};
use crate::services::exec_failure;
use crate::{Ported, Services, background};
use agent::approval::Access;
use agent::tool::look::{Ground, Looked, part};
use agent::tool::{ForPrograms, Live, Program, Rules, ToolContext, TypedTool, schema_of};

/// The task to report on.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Status {
    /// The task's id; without it, all tasks, the newest first.
    #[serde(default)]
    id: Option<String>,
}

impl TypedTool for Status {
    type Services = Services;

    const NAME: &'static str = "task_status";
    const DESCRIPTION: &'static str = "Shows the state of a task, or of all tasks: those of this chat or, outside a chat, all \
        of the user's. A task is a command or, in a chat, a sub-agent in the background.";
    const RULES: Rules = Rules::of(Access::Read).without_machine().for_programs_as(Self::NAME);

    fn output_schema() -> Option<Value> {
        Some(schema_of::<TasksView>())
    }

    fn hint(&self) -> &str {
        self.id.as_deref().unwrap_or_default()
    }

    async fn run(
        &self,
        services: &Services,
        context: &ToolContext<'_>,
        _live: Live<'_>,
    ) -> Result<Outcome, Failure> {
        let work = &Work { services, context };
        status(self, work).await
    }
}

/// The state of a task, for a program.
#[derive(Debug, Serialize, JsonSchema)]
struct TaskView {
    /// The task's id.
    id: String,
    /// The runner where the task runs.
    runner: Option<String>,
    /// The command that the task runs.
    command: String,
    /// `running`, `exited`, `signaled`, `timed_out`, `cancelled`, `failed` or `lost`.
    status: String,
    /// The exit code, if the command exited.
    exit_code: Option<i32>,
    /// The number of the signal that ended the task.
    signal: Option<i32>,
    /// The error that ended the task, if there was one.
    error: Option<String>,
}

/// The states of several tasks, for a program.
#[derive(Debug, Serialize, JsonSchema)]
struct TasksView {
    /// The tasks, the newest first.
    tasks: Vec<TaskView>,
}

/// The part of a task's output to read.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Read {
    /// The id of a task or, outside a chat, of any command.
    id: String,
    /// The first byte to return; 0 if only limit is given.
    #[serde(default)]
    offset: Option<u64>,
    /// The maximum number of bytes to return: 65536 if absent, 524288 at most.
    #[serde(default)]
    limit: Option<u64>,
}

impl TypedTool for Read {
    type Services = Services;

    const NAME: &'static str = "task_read";
    const DESCRIPTION: &'static str = "Reads a task's output so far or, for a sub-agent, its result or its last text. In a chat: the beginning and the end of it, or the part that offset and \
limit name. Outside a chat: always a part, from the first byte on if there is no offset. Each part states where to read on. Output \
is kept \
until 10 minutes after the end.";
    // The results of sub-agents need no machine.
    const RULES: Rules =
        Rules::of(Access::Read).at_its_own_place().without_machine().for_programs_as(Self::NAME);

    fn hint(&self) -> &str {
        &self.id
    }

    async fn run(
        &self,
        services: &Services,
        context: &ToolContext<'_>,
        _live: Live<'_>,
    ) -> Result<Outcome, Failure> {
        let work = &Work { services, context };
        read(self, work).await
    }
}

/// The task to end.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Kill {
    /// The task's id.
    id: String,
}

impl TypedTool for Kill {
    type Services = Services;

    const NAME: &'static str = "task_kill";
    const DESCRIPTION: &'static str = "Ends a task with everything it started, and waits until it has ended.";
    const RULES: Rules =
        Rules::of(Access::End).at_its_own_place().without_machine().for_programs_as(Self::NAME);

    fn hint(&self) -> &str {
        &self.id
    }

    async fn look(&self, ground: Option<&Ground>) -> Result<Looked, Failure> {
        let looked =
            Looked::words("ends a task with everything it started", vec![part("task", &self.id)]).at(ground);
        Ok(looked.always(&[&self.id], "ending this exact task".to_owned()))
    }

    async fn run(
        &self,
        services: &Services,
        context: &ToolContext<'_>,
        _live: Live<'_>,
    ) -> Result<Outcome, Failure> {
        let work = &Work { services, context };
        end(self, work).await
    }
}

async fn status(arguments: &Status, work: &Work<'_>) -> Result<Outcome, Failure> {
    if work.program().is_some() {
        return status_for_program(arguments, work).await;
    }
    let (store, root) = (&work.services.store, work.agent()?.root);
    let lines: Vec<String> = match &arguments.id {
        Some(id) => match background::find(store, work.user, root, id).await.ported()? {
            Some(agent) => vec![background::line(&agent)],
            None => vec![line(&of_chat(id, work).await?)],
        },
        None => {
            let agents = background::list(store, work.user, root).await.ported()?;
            let tasks = list(work.services, work.user, root).await.ported()?;
            agents.iter().map(background::line).chain(tasks.iter().map(line)).collect()
        }
    };
    Ok(Outcome::done(if lines.is_empty() { "there are no tasks".to_owned() } else { lines.join("\n") }))
}

async fn read(arguments: &Read, work: &Work<'_>) -> Result<Outcome, Failure> {
    let task = match work.program() {
        Some(program) => {
            let task = of_user(&arguments.id, work).await?;
            check_terminal(program, &task)?;
            return read_part(arguments, work, &task, placed_line(&task)).await;
        }
        None => match sub_agent(&arguments.id, work).await? {
            Some(agent) => {
                let words = background::words(&work.services.store, work.user, &agent).await.ported()?;
                return Ok(Outcome::done(format!("{}\n{words}", background::line(&agent))));
            }
            None => of_chat(&arguments.id, work).await?,
        },
    };
    if arguments.offset.is_some() || arguments.limit.is_some() {
        return read_part(arguments, work, &task, line(&task)).await;
    }
    let sandbox = place(work.services, work.user, &task).await?;
    let id = sandbox_id(&task.exec_id);
    let report = sandbox.exec_report(id, TASK_HEAD_BYTES, TASK_TAIL_BYTES).await?;
    Ok(Outcome::done(format!("{}\n{}", line(&task), output(&report))))
}

/// The beginning and the end of a task's output, and the length of the part between them.
fn output(report: &ExecReport) -> String {
    let shown_bytes = (report.head.len() + report.tail.len()) as u64;
    let (head, tail) = (String::from_utf8_lossy(&report.head), String::from_utf8_lossy(&report.tail));
    match report.output_bytes.saturating_sub(shown_bytes) {
        0 => format!("{head}{tail}"),
        left_out_bytes => format!("{head}\n… bytes left out: {left_out_bytes} …\n{tail}"),
    }
}

/// A part of a task's output by bytes, and the offset of the next one.
async fn read_part(
    arguments: &Read,
    work: &Work<'_>,
    task: &Exec,
    status: String,
) -> Result<Outcome, Failure> {
    let (offset, limit) = (arguments.offset.unwrap_or(0), arguments.limit.unwrap_or(PROGRAM_READ_BYTES));
    let limit = usize::try_from(limit.clamp(1, PROGRAM_READ_MAX_BYTES)).unwrap_or(usize::MAX);
    let reading = work.services.execs.part(work.user, task, offset, limit, PROGRAM_READ_PATIENCE);
    let part = reading.await.map_err(exec_failure)?;
    let lost = match part.lost_bytes {
        0 => String::new(),
        bytes => format!("{bytes} bytes among these were not kept; "),
    };
    let rest = match part.is_last {
        true => "this is the end".to_owned(),
        false => format!("read on with offset {}", part.next_offset),
    };
    let note = format!("(bytes {offset} to {}; {lost}{rest})\n{status}", part.next_offset);
    let text = String::from_utf8_lossy(&part.bytes).into_owned();
    if work.program().is_some() {
        return Ok(Outcome::part(text).with(ForPrograms { note: Some(note), ..ForPrograms::default() }));
    }
    Ok(Outcome::part(format!("{text}\n{note}")))
}

async fn status_for_program(arguments: &Status, work: &Work<'_>) -> Result<Outcome, Failure> {
    let tasks = match &arguments.id {
        Some(id) => vec![of_user(id, work).await?],
        None => {
            let execs = work.services.execs.execs(work.user.id, false, PROGRAM_TASKS).await;
            execs.map_err(exec_failure)?.into_iter().filter(|exec| exec.detached).collect()
        }
    };
    let lines: Vec<String> = tasks.iter().map(placed_line).collect();
    let text = if lines.is_empty() { "there are no tasks".to_owned() } else { lines.join("\n") };
    let structured = Some(json!(TasksView { tasks: tasks.into_iter().map(TaskView::from).collect() }));
    Ok(Outcome::done(text).with(ForPrograms { structured, ..ForPrograms::default() }))
}

async fn end_for_program(
    arguments: &Kill,
    work: &Work<'_>,
    program: Program<'_>,
) -> Result<Outcome, Failure> {
    let task = of_user(&arguments.id, work).await?;
    if !is_open(task.status) {
        return Ok(Outcome::done(format!("the command had already ended\n{}", placed_line(&task))));
    }
    check_terminal(program, &task)?;
    let killed = work.services.execs.kill(work.user, &task).await.map_err(exec_failure)?;
    if let Some(recorded) = killed {
        work.services.clients.exec_ended(work.user.id, &recorded);
    }
    Ok(Outcome::done(format!("task {} has ended", task.exec_id)))
}

/// An exec that belongs to the user, by its id.
async fn of_user(id: &str, work: &Work<'_>) -> Result<Exec, Failure> {
    work.services.execs.exec(work.user.id, id).await.map_err(exec_failure)
}

/// Refuses a terminal to a program that does not have all rights of its user: a person types into the terminal, and may have approved
/// more than such a program may request.
fn check_terminal(program: Program<'_>, task: &Exec) -> Result<(), Failure> {
    if task.linger_ms.is_none() || program.is_trusted {
        return Ok(());
    }
    let text =
        "a terminal can be used only by its user; log in, or use a key with the scope `full`".to_owned();
    Err(Failure::Refused { kind: "forbidden", text })
}

async fn end(arguments: &Kill, work: &Work<'_>) -> Result<Outcome, Failure> {
    if let Some(program) = work.program() {
        return end_for_program(arguments, work, program).await;
    }
    if let Some(agent) = sub_agent(&arguments.id, work).await? {
        let has_ended = !agent.status.is_open() || work.context.host.end_sub_agent(&agent.chat).await?;
        return Ok(match has_ended {
            true => Outcome::done(format!("task {} has ended", agent.chat)),
            false => Outcome::failed(&format!("task {} was asked to stop, but has not ended", agent.chat)),
        });
    }
    let task = of_chat(&arguments.id, work).await?;
    kill(work.services, work.user, &task).await?;
    Ok(Outcome::done(format!("task {} has ended", task.exec_id)))
}

/// A sub-agent in the background that this chat called.
async fn sub_agent(id: &str, work: &Work<'_>) -> Result<Option<BackgroundTurn>, Failure> {
    Ok(background::find(&work.services.store, work.user, work.agent()?.root, id).await.ported()?)
}

/// A task of this chat, by its id.
async fn of_chat(id: &str, work: &Work<'_>) -> Result<store::Exec, Failure> {
    let found = find(work.services, work.user, work.agent()?.root, id).await.ported()?;
    found.ok_or_else(|| Failure::Message(format!("this chat has no task {id:?}; if this chat was copied from another chat, read and end that chat's tasks there")))
}

/// The tasks of a chat, the most recently started first.
pub async fn list(services: &Services, user: &User, chat: &ChatId) -> store::Result<Vec<Exec>> {
    services.store.chat_tasks(user.id, chat, TASKS_LISTED).await
}

/// A task of a chat; `None` if the chat has none with this id.
pub async fn find(services: &Services, user: &User, chat: &ChatId, id: &str) -> store::Result<Option<Exec>> {
    let Ok(id) = store::ExecId::parse(id) else { return Ok(None) };
    match services.store.exec(user.id, &id).await {
        Ok(task) => Ok((task.chat.as_ref() == Some(chat)).then_some(task)),
        Err(store::Error::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// A task's state, on one line.
fn line(task: &Exec) -> String {
    format!("{} {}: {}", task.exec_id, state(task), task.command)
}

/// A task's state, in words.
pub fn state(task: &Exec) -> String {
    match (task.status, task.exit_code, task.signal) {
        (ExecStatus::Running, ..) => "running".to_owned(),
        (_, Some(code), _) => format!("exit code {code}"),
        (_, None, Some(signal)) => format!("killed by signal {signal}"),
        (status, ..) => status.as_str().to_owned(),
    }
}

/// A task's state and the place where it runs, on one line.
fn placed_line(task: &Exec) -> String {
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

/// The place where a task runs, even if another place is active now.
pub async fn place(services: &Services, user: &User, task: &Exec) -> Result<Sandbox, Failure> {
    let route_request =
        execs::route_request(&services.store, user.id, task.runner.as_deref()).await.ported()?;
    Ok(services.router.for_user(&execs::sandbox_user(user), &route_request).await?)
}

/// Ends a task with all its processes, and waits until it has ended. A lost task can be ended too, if its machine still has it.
pub async fn kill(services: &Services, user: &User, task: &Exec) -> Result<(), Failure> {
    if !matches!(task.status, ExecStatus::Running | ExecStatus::Lost) {
        return Ok(());
    }
    let sandbox = place(services, user, task).await?;
    services.execs.cancel(&sandbox, user, task).await?;
    Ok(())
}
