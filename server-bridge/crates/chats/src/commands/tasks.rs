//! `/tasks`: lists this chat's background commands.

use super::{Command, Context};
use crate::{Posted, Result};
use agent::tool::Failure;
use tools::tasks;

pub(super) const COMMAND: Command = Command {
    word: "tasks",
    usage: &[
        ("/tasks", "list this chat's background commands"),
        ("/tasks kill ID", "end one of them, with everything it started"),
    ],
    run: |context, argument| Box::pin(run(context, argument)),
};

async fn run(context: &Context<'_>, argument: Option<&str>) -> Result<Posted> {
    let words: Vec<&str> = argument.unwrap_or_default().split_whitespace().collect();
    match words[..] {
        [] => list(context).await,
        ["kill", id] => kill(context, id).await,
        _ => context.refusal("invalid", "Write /tasks, or /tasks kill ID.").await,
    }
}

async fn list(context: &Context<'_>) -> Result<Posted> {
    let tasks = tasks::list(&context.service.services, context.user, &context.chat.id).await?;
    if tasks.is_empty() {
        return context.notice("This chat has no tasks.").await;
    }
    let line = |task: &store::Exec| {
        let place = task.runner.as_deref().map(|place| format!(" ({place})")).unwrap_or_default();
        format!("{} {}{place}: {}", task.exec_id, context.in_words(&tasks::state(task)), task.command)
    };
    context.notice_as_it_is(&tasks.iter().map(line).collect::<Vec<_>>().join("\n")).await
}

async fn kill(context: &Context<'_>, id: &str) -> Result<Posted> {
    let Some(task) = tasks::find(&context.service.services, context.user, &context.chat.id, id).await? else {
        let id: String = id.chars().take(64).collect();
        return context
            .refusal("not_found", &format!("This chat has no task {id}; /tasks lists those it has."))
            .await;
    };
    match tasks::kill(&context.service.services, context.user, &task).await {
        Ok(()) => context.notice(&format!("Task {} has ended.", task.exec_id)).await,
        Err(Failure::Port(error)) => Err(error.into()),
        Err(why @ (Failure::Told(_) | Failure::Refused { .. } | Failure::Away { .. })) => {
            context.refusal("failed", &format!("Task {} was not ended: {why}", task.exec_id)).await
        }
    }
}
