//! `/cancel`: stop what runs in this chat.

use super::Context;
use crate::{Posted, Result};

pub(super) async fn run(context: &Context<'_>) -> Result<Posted> {
    match context.service.cancel(context.user.id, &context.chat.id) {
        0 => context.notice("Nothing runs in this chat.").await,
        1 => context.notice("What was running was told to stop.").await,
        count => {
            context.notice(&format!("The {count} running commands and answers were told to stop.")).await
        }
    }
}
