//! `task_status`, `task_read`, `task_kill`: commands that go on by themselves.

use std::sync::Arc;
use std::time::Duration;

use sandbox::{AckMode, AttachOptions, ExecEvent, ExecId, RouteError, Sandbox, SandboxError};
use schemars::JsonSchema;
use serde::Deserialize;
use store::ExecStatus;
use tokio::time::sleep;

use super::call::{Live, Tool};
use super::{Failure, Outcome, Workshop};
use crate::Ending;
use crate::approval::Access;
use crate::limits::{TASK_LIFETIME_S, TASK_LOOK_MS, TASK_REPORT_BYTES, TASKS_LISTED};
use crate::place::{sandbox_user, wish_for};
use crate::service::Inner;

/// Of which task.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Status {
    /// The task's id; all tasks of the chat without it.
    #[serde(default)]
    id: Option<String>,
}

impl Tool for Status {
    const NAME: &'static str = "task_status";
    const DESCRIPTION: &'static str = "Tells how a task stands, or how all of this chat's tasks do.";
    const ACCESS: Access = Access::Read;

    fn hint(&self) -> &str {
        self.id.as_deref().unwrap_or_default()
    }

    async fn run(&self, workshop: &Workshop<'_>, _live: Live<'_>) -> Result<Outcome, Failure> {
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

impl Tool for Read {
    const NAME: &'static str = "task_read";
    const DESCRIPTION: &'static str = "Reads the beginning and the end of a task's output so far.";
    const ACCESS: Access = Access::Read;

    fn hint(&self) -> &str {
        &self.id
    }

    async fn run(&self, workshop: &Workshop<'_>, _live: Live<'_>) -> Result<Outcome, Failure> {
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

impl Tool for Kill {
    const NAME: &'static str = "task_kill";
    const DESCRIPTION: &'static str = "Ends a task with everything it started.";
    const ACCESS: Access = Access::End;

    fn hint(&self) -> &str {
        &self.id
    }
    fn subject(&self) -> &str {
        &self.id
    }

    async fn run(&self, workshop: &Workshop<'_>, _live: Live<'_>) -> Result<Outcome, Failure> {
        kill(self, workshop).await
    }
}

async fn status(arguments: &Status, workshop: &Workshop<'_>) -> Result<Outcome, Failure> {
    let tasks = match &arguments.id {
        Some(id) => vec![find(id, workshop).await?],
        None => {
            let execs = workshop.service.store.execs(workshop.user.id, TASKS_LISTED).await?;
            execs
                .into_iter()
                .filter(|exec| exec.detached && exec.chat.as_ref() == Some(workshop.lineage.root()))
                .collect()
        }
    };
    let lines: Vec<String> = tasks.iter().map(line).collect();
    Ok(Outcome::done(if lines.is_empty() { "there are no tasks".to_owned() } else { lines.join("\n") }))
}

fn line(task: &store::Exec) -> String {
    let end = match (task.status, task.exit_code, task.signal) {
        (ExecStatus::Running, ..) => "running".to_owned(),
        (_, Some(code), _) => format!("exit code {code}"),
        (_, None, Some(signal)) => format!("killed by signal {signal}"),
        (status, ..) => status.as_str().to_owned(),
    };
    format!("{} {end}: {}", task.exec_id, task.command)
}

async fn read(arguments: &Read, workshop: &Workshop<'_>) -> Result<Outcome, Failure> {
    let task = find(&arguments.id, workshop).await?;
    let sandbox = sandbox_of(&task, workshop).await?;
    let report = sandbox.exec_report(exec_id(&task), TASK_REPORT_BYTES, TASK_REPORT_BYTES).await?;
    let shown_bytes = (report.head.len() + report.tail.len()) as u64;
    let (head, tail) = (String::from_utf8_lossy(&report.head), String::from_utf8_lossy(&report.tail));
    let left_out_bytes = report.output_bytes.saturating_sub(shown_bytes);
    let gap = if left_out_bytes == 0 {
        String::new()
    } else {
        format!("\n… {left_out_bytes} bytes left out …\n")
    };
    Ok(Outcome::done(format!("{}\n{head}{gap}{tail}", line(&task))))
}

async fn kill(arguments: &Kill, workshop: &Workshop<'_>) -> Result<Outcome, Failure> {
    let task = find(&arguments.id, workshop).await?;
    if task.status == ExecStatus::Running {
        end(&sandbox_of(&task, workshop).await?, exec_id(&task)).await?;
    }
    Ok(Outcome::done(format!("task {} has ended", task.exec_id)))
}

async fn end(sandbox: &Sandbox, id: ExecId) -> Result<(), Failure> {
    let options = AttachOptions { output: false, acks: AckMode::Manual };
    let mut exec = sandbox.attach(id, 0, options).await?;
    exec.control().cancel();
    while let Some(event) = exec.next().await {
        if let ExecEvent::Failed(error) = event {
            return Err(error.into());
        }
    }
    Ok(())
}

/// Waits for a task's end where it runs, without its output, and puts it on record.
pub(super) fn follow(workshop: &Workshop<'_>, place: &str, id: &store::ExecId) {
    let (service, user) = (Arc::clone(workshop.service), workshop.user.clone());
    let (place, id) = (place.to_owned(), id.clone());
    let tasks = service.tasks.clone();
    tasks.spawn(async move {
        let ending = tokio::select! {
            ending = end_of(&service, &user, &place, &id) => ending,
            () = sleep(Duration::from_secs(TASK_LIFETIME_S)) => Ending::refused("lost", "its runner did not come back"),
            // The next life of the server goes on.
            () = service.stop.cancelled() => return,
        };
        if let Err(error) = service.store.finish_exec(user.id, &id, &ending.outcome).await {
            tracing::error!(%error, %id, "cannot record how a task ended");
        }
    });
}

async fn end_of(service: &Inner, user: &store::User, place: &str, id: &store::ExecId) -> Ending {
    let options = AttachOptions { output: false, acks: AckMode::Manual };
    loop {
        let found = match wish_for(&service.store, user.id, Some(place)).await {
            Ok(wish) => service.router.for_user(&sandbox_user(user), &wish).await,
            Err(error) => return Ending::refused("lost", error),
        };
        let attached = match found {
            Ok(sandbox) => sandbox.attach(parsed(id), 0, options).await.ok(),
            Err(RouteError::Offline { .. }) => None,
            Err(error) => return Ending::refused("lost", error),
        };
        let Some(mut exec) = attached else {
            sleep(Duration::from_millis(TASK_LOOK_MS)).await;
            continue;
        };
        loop {
            match exec.next().await {
                Some(ExecEvent::Finished(outcome)) => return Ending::of(&outcome),
                Some(ExecEvent::Failed(SandboxError::Offline { .. })) => break,
                Some(ExecEvent::Failed(error)) => return Ending::refused("lost", error),
                Some(_) => {}
                None => return Ending::refused("lost", "its end was not told"),
            }
        }
    }
}

/// Where a task runs, whatever is chosen by now.
async fn sandbox_of(task: &store::Exec, workshop: &Workshop<'_>) -> Result<Sandbox, Failure> {
    let Workshop { service, user, .. } = workshop;
    let wish = wish_for(&service.store, user.id, task.runner.as_deref()).await?;
    Ok(service.router.for_user(&sandbox_user(user), &wish).await?)
}

/// A task of this chat.
async fn find(id: &str, workshop: &Workshop<'_>) -> Result<store::Exec, Failure> {
    let unknown = || Failure::Told(format!("this chat has no task {id:?}"));
    let parsed = store::ExecId::parse(id).map_err(|_| unknown())?;
    match workshop.service.store.exec(workshop.user.id, &parsed).await {
        Ok(task) if task.chat.as_ref() == Some(workshop.lineage.root()) => Ok(task),
        Ok(_) | Err(store::Error::NotFound { .. }) => Err(unknown()),
        Err(error) => Err(error.into()),
    }
}

fn exec_id(task: &store::Exec) -> ExecId {
    parsed(&task.exec_id)
}

fn parsed(id: &store::ExecId) -> ExecId {
    id.to_string().parse().expect("an id on record is 32 hexadecimal digits: it was checked when it came")
}
