//! `/tasks`: lists this chat's commands and sub-agents in the background.

use super::{Command, Context};
use crate::stored::end_in_background;
use crate::{Posted, Result};
use agent::tool::Failure;
use tools::{background, tasks};

pub(super) const COMMAND: Command = Command {
    word: "tasks",
    usage: &[
        ("/tasks", "list this chat's background commands and sub-agents"),
        ("/tasks kill ID", "end one of these tasks, with everything it started"),
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
    let agents = background::list(&context.service.store, context.user, &context.chat.id).await?;
    if tasks.is_empty() && agents.is_empty() {
        return context.notice("This chat has no tasks.").await;
    }
    let line = |task: &store::Exec| {
        let place = task.runner.as_deref().map(|place| format!(" ({place})")).unwrap_or_default();
        format!("{} {}{place}: {}", task.exec_id, context.in_words(&tasks::state(task)), task.command)
    };
    let agents = agents.iter().map(|agent| {
        let state = context.in_words(agent.status.as_str());
        let names: Vec<&str> = agent.role.iter().chain(&agent.instance).map(String::as_str).collect();
        format!("{} {state}: {} {}", agent.chat, context.in_words("sub-agent"), names.join(" "))
            .trim_end()
            .to_owned()
    });
    context.notice_as_it_is(&agents.chain(tasks.iter().map(line)).collect::<Vec<_>>().join("\n")).await
}

async fn kill(context: &Context<'_>, id: &str) -> Result<Posted> {
    let (service, user, chat) = (context.service, context.user, &context.chat.id);
    if let Some(agent) = background::find(&service.store, user, chat, id).await? {
        if agent.status.is_open() && !end_in_background(service, user.id, chat, &agent.chat).await? {
            let text = format!("Task {} was asked to stop, but has not ended yet.", agent.chat);
            return context.notice(&text).await;
        }
        return context.notice(&format!("Task {} has ended.", agent.chat)).await;
    }
    let Some(task) = tasks::find(&context.service.services, context.user, &context.chat.id, id).await? else {
        let id: String = id.chars().take(64).collect();
        return context
            .refusal("not_found", &format!("This chat has no task {id}; /tasks lists this chat's tasks."))
            .await;
    };
    match tasks::kill(&context.service.services, context.user, &task).await {
        Ok(()) => context.notice(&format!("Task {} has ended.", task.exec_id)).await,
        Err(Failure::Port(error)) => Err(error.into()),
        Err(why @ (Failure::Message(_) | Failure::Refused { .. } | Failure::Away { .. })) => {
            context.refusal("failed", &format!("Task {} was not ended: {why}", task.exec_id)).await
        }
    }
}
