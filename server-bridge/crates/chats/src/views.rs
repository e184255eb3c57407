//! Chats and messages as documents of the HTTP API.

use api::chat::{ChatView, LiveView, MessageView};
use store::{Chat, Message};

use crate::Shown;
use crate::document::Document;
use crate::live::LivePiece;

/// A chat in the form for clients.
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

/// A message in the form for clients, with the document of its role.
pub fn message_view(message: Message) -> MessageView {
    let (exec, agent) = match Document::of(&message) {
        Some(Document::Exec(exec)) => (Some(*exec), None),
        Some(Document::Agent(agent)) => (None, Some(*agent)),
        None => (None, None),
    };
    MessageView {
        id: message.id.0,
        chat_id: message.chat.to_string(),
        role: message.role.as_str().into(),
        created_at: message.created_at_ms,
        author: message.author.map(|author| author.0),
        exec,
        agent,
        undone: message.undone,
        live: Vec::new(),
        text: message.text,
    }
}

/// A message in the form for clients, with its live text so far.
pub fn shown_view(Shown { message, live }: Shown) -> MessageView {
    let live = live.into_iter().map(|LivePiece { channel, at, text }| LiveView {
        channel: channel.into(),
        at,
        text,
    });
    MessageView { live: live.collect(), ..message_view(message) }
}
