//! `/help`: lists the commands that work in a chat. It is also the answer to an unknown command.

use super::{COMMANDS, Command, Context};
use crate::limits::COMMAND_TIMEOUT_S;
use crate::{Posted, Result};

pub(super) const COMMAND: Command =
    Command { word: "help", usage: &[("/help", "this list")], run: |context, _| Box::pin(run(context)) };

async fn run(context: &Context<'_>) -> Result<Posted> {
    let list = list(context).await;
    context
        .notice(&format!("{list}\n\nA shell command may run for at most {COMMAND_TIMEOUT_S} seconds."))
        .await
}

pub(super) async fn unknown(context: &Context<'_>, word: &str) -> Result<Posted> {
    let word: String = word.chars().take(40).collect();
    let list = list(context).await;
    context.refusal("invalid", &format!("There is no command /{word}. The commands are:\n\n{list}")).await
}

/// All commands and special forms that can be typed, one per line.
async fn list(context: &Context<'_>) -> String {
    let language = context.service.language(context.user.id);
    let more = context.service.commands.commands(context.user, Some(&context.chat.id)).await;
    let bang = ("!COMMAND", "run a shell command in this chat's sandbox");
    let slashes = ("//TEXT", "a message that begins with a slash");
    let commands = COMMANDS.iter().flat_map(|command| command.usage).copied();
    let own = std::iter::once(bang).chain(commands).chain([slashes]);
    let own = own.map(|(usage, about)| (usage.to_owned(), language.translated(about).into_owned()));
    let lines: Vec<(String, String)> =
        own.chain(more.into_iter().map(|command| (command.usage, command.about))).collect();
    let width = lines.iter().map(|(usage, _)| usage.len()).max().unwrap_or(0);
    let line = |(usage, about): &(String, String)| format!("{usage:width$} {about}").trim_end().to_owned();
    lines.iter().map(line).collect::<Vec<_>>().join("\n")
}
