//! `task_status`, `task_read`, `task_kill`: commands that go on by themselves.

use execs::follow::sandbox_id;
use sandbox::ExecReport;
use sandbox::Sandbox;
use schemars::JsonSchema;
use serde::Deserialize;
use store::{ChatId, Exec, ExecStatus, User};

use super::{Failure, Outcome, Work};
use crate::limits::{TASK_HEAD_BYTES, TASK_TAIL_BYTES, TASKS_LISTED};
use crate::{Ported, Services};
use agent::approval::Access;
use agent::tool::look::{Ground, Looked, part};
use agent::tool::{Live, Rules, ToolContext, TypedTool};

/// Of which task.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Status {
    /// The task's id; all tasks of the chat without it.
    #[serde(default)]
    id: Option<String>,
}

impl TypedTool for Status {
    type Services = Services;

    const NAME: &'static str = "task_status";
    const DESCRIPTION: &'static str = "Tells how a task stands, or how all of this chat's tasks do.";
    const RULES: Rules = Rules::of(Access::Read).without_machine();

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

/// Which task.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Read {
    /// The task's id.
    id: String,
}

impl TypedTool for Read {
    type Services = Services;

    const NAME: &'static str = "task_read";
    const DESCRIPTION: &'static str = "Reads the beginning and the end of a task's output so far.";
    const RULES: Rules = Rules::of(Access::Read);

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

/// Which task.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Kill {
    /// The task's id.
    id: String,
}

impl TypedTool for Kill {
    type Services = Services;

    const NAME: &'static str = "task_kill";
    const DESCRIPTION: &'static str = "Ends a task with everything it started.";
    const RULES: Rules = Rules::of(Access::End);

    fn hint(&self) -> &str {
        &self.id
    }

    async fn look(&self, ground: Option<&Ground>) -> Result<Looked, Failure> {
        let looked =
            Looked::words("ends a task with everything it started", vec![part("task", &self.id)]).at(ground);
        Ok(looked.always(&[&self.id], "ending this very task".to_owned()))
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
    let tasks = match &arguments.id {
        Some(id) => vec![of_chat(id, work).await?],
        None => list(work.services, work.user, work.root).await.ported()?,
    };
    let lines: Vec<String> = tasks.iter().map(line).collect();
    Ok(Outcome::done(if lines.is_empty() { "there are no tasks".to_owned() } else { lines.join("\n") }))
}

async fn read(arguments: &Read, work: &Work<'_>) -> Result<Outcome, Failure> {
    let task = of_chat(&arguments.id, work).await?;
    let sandbox = place(work.services, work.user, &task).await?;
    let id = sandbox_id(&task.exec_id);
    let report = sandbox.exec_report(id, TASK_HEAD_BYTES, TASK_TAIL_BYTES).await?;
    Ok(Outcome::done(format!("{}\n{}", line(&task), output(&report))))
}

/// The beginning and the end of a task's output, and how much is between them.
fn output(report: &ExecReport) -> String {
    let shown_bytes = (report.head.len() + report.tail.len()) as u64;
    let (head, tail) = (String::from_utf8_lossy(&report.head), String::from_utf8_lossy(&report.tail));
    match report.output_bytes.saturating_sub(shown_bytes) {
        0 => format!("{head}{tail}"),
        left_out_bytes => format!("{head}\n… {left_out_bytes} bytes left out …\n{tail}"),
    }
}

async fn end(arguments: &Kill, work: &Work<'_>) -> Result<Outcome, Failure> {
    let task = of_chat(&arguments.id, work).await?;
    kill(work.services, work.user, &task).await?;
    Ok(Outcome::done(format!("task {} has ended", task.exec_id)))
}

/// A task of this chat.
async fn of_chat(id: &str, work: &Work<'_>) -> Result<store::Exec, Failure> {
    let found = find(work.services, work.user, work.root, id).await.ported()?;
    found.ok_or_else(|| Failure::Told(format!("this chat has no task {id:?}")))
}

/// The tasks of a chat, the last started first.
pub async fn list(services: &Services, user: &User, chat: &ChatId) -> store::Result<Vec<Exec>> {
    services.store.chat_tasks(user.id, chat, TASKS_LISTED).await
}

/// A task of a chat; `None` where it has none of this id.
pub async fn find(services: &Services, user: &User, chat: &ChatId, id: &str) -> store::Result<Option<Exec>> {
    let Ok(id) = store::ExecId::parse(id) else { return Ok(None) };
    match services.store.exec(user.id, &id).await {
        Ok(task) => Ok((task.chat.as_ref() == Some(chat)).then_some(task)),
        Err(store::Error::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// How a task stands, on one line.
pub fn line(task: &Exec) -> String {
    let end = match (task.status, task.exit_code, task.signal) {
        (ExecStatus::Running, ..) => "running".to_owned(),
        (_, Some(code), _) => format!("exit code {code}"),
        (_, None, Some(signal)) => format!("killed by signal {signal}"),
        (status, ..) => status.as_str().to_owned(),
    };
    format!("{} {end}: {}", task.exec_id, task.command)
}

/// Where a task runs, whatever is chosen by now.
pub async fn place(services: &Services, user: &User, task: &Exec) -> Result<Sandbox, Failure> {
    let route_request =
        execs::route_request(&services.store, user.id, task.runner.as_deref()).await.ported()?;
    Ok(services.router.for_user(&execs::sandbox_user(user), &route_request).await?)
}

/// Ends a task with everything it started, and waits for that: one that counts as lost too, where its machine still has it.
pub async fn kill(services: &Services, user: &User, task: &Exec) -> Result<(), Failure> {
    if !matches!(task.status, ExecStatus::Running | ExecStatus::Lost) {
        return Ok(());
    }
    let sandbox = place(services, user, task).await?;
    services.execs.cancel(&sandbox, user, task).await?;
    Ok(())
}
