//! `/context`: shows what fills the model's window.

use super::{Command, Context};
use crate::{Error, Posted, Result};
use agent::context::{Conversation, meter};

pub(super) const COMMAND: Command = Command {
    word: "context",
    usage: &[("/context", "show how full the model's window is, and what fills it")],
    run: |context, _| Box::pin(run(context)),
};

async fn run(context: &Context<'_>) -> Result<Posted> {
    let (store, user, chat) = (&context.service.store, context.user.id, &context.chat.id);
    let models = &context.service.models;
    let window_tokens = match models.of_chat(context.service, context.user, chat, None).await {
        Ok(chain) => chain.setup.window_tokens,
        Err(Error::Store(error)) => return Err(error.into()),
        Err(error) => return context.refusal(error.kind(), &error.to_string()).await,
    };
    let Some(turn) = store.last_begun_turn(user, chat).await? else {
        return context.notice("Nothing has been sent to the model in this chat yet.").await;
    };
    let stored = store.stored_context(user, chat, turn).await?;
    let mode = context.service.settings.context_mode();
    context.notice(&meter::text(&Conversation::of_stored(window_tokens, stored), mode)).await
}
