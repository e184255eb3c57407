//! `/context`: shows what fills the model's window.

use super::{Command, Context};
use crate::{Error, Posted, Result};
use agent::context::{Conversation, history, meter};
use llm::{Content, Message};

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
    let text = meter::text(&Conversation::of_stored(window_tokens, stored), mode);
    let first = store.items_of_turn(user, turn).await?.into_iter().next();
    let recalled = first.as_deref().map(recalled).unwrap_or_default();
    if recalled.is_empty() {
        return context.notice(&text).await;
    }
    let head = context.in_words("Memories that were recalled with the last message:");
    context.notice_as_it_is(&format!("{}\n\n{head}\n{}", context.in_words(&text), recalled.join("\n"))).await
}

/// The lines of the memories in the note before a turn's message.
fn recalled(item: &str) -> Vec<String> {
    let Some(Message::User(content)) = history::from_json(item) else { return Vec::new() };
    let Some(Content::Text(text)) = content.first() else { return Vec::new() };
    memory::recall::told(text).into_iter().map(str::to_owned).collect()
}
