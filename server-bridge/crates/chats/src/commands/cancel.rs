//! `/cancel`: stops the commands and answers in progress in this chat.

use super::{Command, Context};
use crate::{Posted, Result};

pub(super) const COMMAND: Command = Command {
    word: "cancel",
    usage: &[("/cancel", "stop what is running in this chat")],
    run: |context, _| Box::pin(run(context)),
};

async fn run(context: &Context<'_>) -> Result<Posted> {
    let (user, chat) = (context.user.id, &context.chat.id);
    let stopped = match context.service.stop(user, chat).await {
        0 => "Nothing is running in this chat.".to_owned(),
        1 => "The running command or answer is being stopped.".to_owned(),
        count => format!("The {count} running commands and answers are being stopped."),
    };
    let next = match context.service.waiting_messages(user, chat) {
        0 => "",
        1 => " The waiting message is answered next.",
        _ => " The waiting messages are answered next.",
    };
    context.notice(&format!("{stopped}{next}")).await
}
