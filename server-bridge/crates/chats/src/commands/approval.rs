//! `/approval`: shows and sets what the model may do without asking.

use super::{Command, Context};
use crate::{Posted, Result};
use agent::approval::Mode;

pub(super) const COMMAND: Command = Command {
    word: "approval",
    usage: &[("/approval [MODE]", "set what the model may do without asking: plan, ask, auto-edit or full")],
    run: |context, mode| {
        Box::pin(async move {
            match mode {
                Some(mode) => set(context, mode).await,
                None => show(context).await,
            }
        })
    },
};

async fn show(context: &Context<'_>) -> Result<Posted> {
    let mode = context.service.store.approval(context.user.id, &context.chat.id).await?;
    context
        .notice(&format!(
            "This chat is in {mode} mode.\n\n\
             /approval plan       look, change nothing\n\
             /approval ask        ask before a file is changed or a command runs\n\
             /approval auto-edit  ask before a command runs\n\
             /approval full       ask only before settings change or a command runs as the privileged user, or where a rule or \
             hook says to ask"
        ))
        .await
}

async fn set(context: &Context<'_>, word: &str) -> Result<Posted> {
    let Ok(mode) = word.parse::<Mode>() else {
        return context.refusal("invalid", "Choose one of: plan, ask, auto-edit, full.").await;
    };
    context.service.set_approval(context.user, &context.chat.id, mode).await?;
    context.notice(&format!("This chat is in {mode} mode now.")).await
}
