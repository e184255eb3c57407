//! `/new`: begins another chat.

use agent::hooks::SessionEnd;

use super::{Command, Context};
use crate::{ChatEvent, Posted, Result, memorise};

pub(super) const COMMAND: Command =
    Command { word: "new", usage: &[("/new", "begin a new chat")], run: |context, _| Box::pin(run(context)) };

async fn run(context: &Context<'_>) -> Result<Posted> {
    let chat = context.service.store.create_chat(context.user.id).await?;
    context.service.tell(context.user.id, ChatEvent::Chat(chat.clone()));
    context.service.hooks.session_ends(context.user, &context.chat.id, SessionEnd::NewChat).await;
    memorise::soon(context.service, context.user, &context.chat.id, true);
    let answer = context.notice("A new chat was started.").await?;
    Ok(Posted { chat: Some(chat), ..answer })
}
