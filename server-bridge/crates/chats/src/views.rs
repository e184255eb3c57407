//! Chats and messages as the documents of the HTTP API have them.

use api::chat::{ChatView, LiveView, MessageView};
use store::{Chat, Message, MessageRole};

use crate::Shown;
use crate::told::Told;

/// A chat as clients read it.
pub fn chat_view(chat: Chat) -> ChatView {
    ChatView {
        id: chat.id.to_string(),
        title: chat.title,
        runner: chat.runner,
        created_at: chat.created_at_ms,
        updated_at: chat.updated_at_ms,
        found: None,
    }
}

/// A message as clients read it, with the document that its role has.
pub fn message_view(message: Message) -> MessageView {
    let document = message.exec_json.as_deref();
    let is = |role| message.role == role;
    MessageView {
        id: message.id.0,
        chat_id: message.chat.to_string(),
        role: message.role.as_str().into(),
        created_at: message.created_at_ms,
        exec: document.filter(|_| is(MessageRole::Exec)).and_then(|json| serde_json::from_str(json).ok()),
        agent: document
            .filter(|_| is(MessageRole::Assistant))
            .and_then(|json| serde_json::from_str(json).ok()),
        undone: message.undone,
        live: Vec::new(),
        text: message.text,
    }
}

/// The same with what was sent live of it so far.
pub fn shown_view(Shown { message, live }: Shown) -> MessageView {
    let live =
        live.into_iter().map(|Told { channel, at, text }| LiveView { channel: channel.into(), at, text });
    MessageView { live: live.collect(), ..message_view(message) }
}
