//! `task_status`, `task_read`, `task_kill`: commands that go on by themselves.

use execs::follow::sandbox_id;
use sandbox::ExecReport;
use schemars::JsonSchema;
use serde::Deserialize;

use super::look::{Ground, Looked, part};
use super::{Failure, Outcome, Workshop};
use crate::approval::Access;
use crate::limits::{TASK_HEAD_BYTES, TASK_TAIL_BYTES};
use crate::service::Home;
use crate::tasks;
use crate::tool::{Live, Rules, ToolContext, TypedTool};

/// Of which task.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Status {
    /// The task's id; all tasks of the chat without it.
    #[serde(default)]
    id: Option<String>,
}

impl TypedTool for Status {
    type Services = Home;

    const NAME: &'static str = "task_status";
    const DESCRIPTION: &'static str = "Tells how a task stands, or how all of this chat's tasks do.";
    const RULES: Rules = Rules::of(Access::Read).without_machine();

    fn hint(&self) -> &str {
        self.id.as_deref().unwrap_or_default()
    }

    async fn run(&self, home: &Home, context: &ToolContext<'_>, _live: Live<'_>) -> Result<Outcome, Failure> {
        let service = &home.service()?;
        let workshop = &Workshop { service, context };
        status(self, workshop).await
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
    type Services = Home;

    const NAME: &'static str = "task_read";
    const DESCRIPTION: &'static str = "Reads the beginning and the end of a task's output so far.";
    const RULES: Rules = Rules::of(Access::Read);

    fn hint(&self) -> &str {
        &self.id
    }

    async fn run(&self, home: &Home, context: &ToolContext<'_>, _live: Live<'_>) -> Result<Outcome, Failure> {
        let service = &home.service()?;
        let workshop = &Workshop { service, context };
        read(self, workshop).await
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
    type Services = Home;

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

    async fn run(&self, home: &Home, context: &ToolContext<'_>, _live: Live<'_>) -> Result<Outcome, Failure> {
        let service = &home.service()?;
        let workshop = &Workshop { service, context };
        kill(self, workshop).await
    }
}

async fn status(arguments: &Status, workshop: &Workshop<'_>) -> Result<Outcome, Failure> {
    let tasks = match &arguments.id {
        Some(id) => vec![find(id, workshop).await?],
        None => tasks::list(workshop.service, workshop.user, workshop.root).await?,
    };
    let lines: Vec<String> = tasks.iter().map(tasks::line).collect();
    Ok(Outcome::done(if lines.is_empty() { "there are no tasks".to_owned() } else { lines.join("\n") }))
}

async fn read(arguments: &Read, workshop: &Workshop<'_>) -> Result<Outcome, Failure> {
    let task = find(&arguments.id, workshop).await?;
    let sandbox = tasks::place(workshop.service, workshop.user, &task).await?;
    let id = sandbox_id(&task.exec_id);
    let report = sandbox.exec_report(id, TASK_HEAD_BYTES, TASK_TAIL_BYTES).await?;
    Ok(Outcome::done(format!("{}\n{}", tasks::line(&task), output(&report))))
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

async fn kill(arguments: &Kill, workshop: &Workshop<'_>) -> Result<Outcome, Failure> {
    let task = find(&arguments.id, workshop).await?;
    tasks::kill(workshop.service, workshop.user, &task).await?;
    Ok(Outcome::done(format!("task {} has ended", task.exec_id)))
}

/// A task of this chat.
async fn find(id: &str, workshop: &Workshop<'_>) -> Result<store::Exec, Failure> {
    let found = tasks::find(workshop.service, workshop.user, workshop.root, id).await?;
    found.ok_or_else(|| Failure::Told(format!("this chat has no task {id:?}")))
}
