//! `/cancel`: stop what runs in this chat.

use super::{Command, Context};
use crate::{Posted, Result};

pub(super) const COMMAND: Command = Command {
    word: "cancel",
    usage: &[("/cancel", "stop what runs in this chat")],
    run: |context, _| Box::pin(run(context)),
};

async fn run(context: &Context<'_>) -> Result<Posted> {
    match context.service.cancel(context.user.id, &context.chat.id) {
        0 => context.notice("Nothing runs in this chat.").await,
        1 => context.notice("What was running was told to stop.").await,
        count => {
            context.notice(&format!("The {count} running commands and answers were told to stop.")).await
        }
    }
}
