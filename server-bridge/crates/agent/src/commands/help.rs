//! `/help`: what works in a chat. Also the answer to a command that does not exist.

use super::Context;
use crate::limits::COMMAND_TIMEOUT_S;
use crate::{Posted, Result};

const COMMANDS: &str = "\
!COMMAND         run a shell command in this chat's sandbox
/runner          list your runners and where this chat's commands go
/runner NAME     send this chat's commands to NAME; `auto` follows your active runner again
/approval [MODE] what the model may do without asking: plan, ask, auto-edit or full
/cancel          stop what runs in this chat
/new             begin a new chat
/help            this list
//TEXT           a message that begins with a slash";

pub(super) async fn run(context: &Context<'_>) -> Result<Posted> {
    context.notice(&format!("{COMMANDS}\n\nA command has {COMMAND_TIMEOUT_S} seconds.")).await
}

pub(super) async fn unknown(context: &Context<'_>, word: &str) -> Result<Posted> {
    let word: String = word.chars().take(40).collect();
    context.refusal("invalid", &format!("There is no command /{word}. There are:\n\n{COMMANDS}")).await
}
