//! `/cancel`: stop what runs in this chat.

use super::Context;
use crate::{Posted, Result};

pub(super) async fn run(context: &Context<'_>) -> Result<Posted> {
    match context.service.running.cancel(context.user.id, &context.chat.id) {
        0 => context.notice("No command runs in this chat.").await,
        1 => context.notice("The running command was told to stop.").await,
        count => context.notice(&format!("The {count} running commands were told to stop.")).await,
    }
}
