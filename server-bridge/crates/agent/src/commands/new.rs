//! `/new`: begin another chat.

use super::Context;
use crate::{ChatEvent, Posted, Result};

pub(super) async fn run(context: &Context<'_>) -> Result<Posted> {
    let chat = context.service.store.create_chat(context.user.id).await?;
    context.service.tell(context.user.id, ChatEvent::Chat(chat.clone()));
    let answer = context.notice("A new chat was begun.").await?;
    Ok(Posted { chat: Some(chat), ..answer })
}
