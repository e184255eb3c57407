//! Converts messages of the platform to events.

use serde_json::{Value, json};

use crate::event::{Conversation, Event, Media, MediaKind, Message, Sender, What};
use crate::limits::ID_MAX_BYTES;
use crate::names;

/// The maximum number of files that are read from one message.
const MEDIA_MAX: usize = 20;

/// Reads a message; `None` if it does not contain its sender or its conversation.
pub(super) fn read(message: &Value) -> Option<Event> {
    let is_group = message["conversationType"] != "1";
    // Only members of the organization have a staff id.
    let user = id(&message["senderStaffId"]).or_else(|| id(&message["senderId"]))?;
    let where_to =
        if is_group { format!("group:{}", id(&message["conversationId"])?) } else { format!("user:{user}") };
    let message_id = id(&message["msgId"])?;
    let is_bot = !message["chatbotUserId"].is_null() && message["senderId"] == message["chatbotUserId"];
    let (text, media) = content(message);
    Some(Event {
        id: message_id.clone(),
        at_ms: message["createAt"].as_i64().unwrap_or(0),
        conversation: Conversation { id: where_to, is_group },
        sender: Sender {
            id: user,
            name: names::person(message["senderNick"].as_str().unwrap_or_default()),
            is_bot,
        },
        what: What::Message(Message {
            id: message_id,
            text: names::text(text.trim()),
            mentions_us: is_group && message["isInAtList"] == true,
            is_edited: false,
            quoted: None,
            media,
        }),
        reply: json!({"webhook": message["sessionWebhook"], "until_ms": number(&message["sessionWebhookExpiredTime"])}),
    })
}

fn content(message: &Value) -> (String, Vec<Media>) {
    let content = &message["content"];
    match message["msgtype"].as_str().unwrap_or_default() {
        "text" => (message["text"]["content"].as_str().unwrap_or_default().to_owned(), Vec::new()),
        "picture" => (String::new(), media(MediaKind::Image, content).into_iter().collect()),
        "file" | "video" => (String::new(), media(MediaKind::File, content).into_iter().collect()),
        // The platform delivers the recognized text together with the recording.
        "audio" => (
            content["recognition"].as_str().unwrap_or_default().to_owned(),
            media(MediaKind::File, content).into_iter().collect(),
        ),
        "richText" => {
            let items = content["richText"].as_array().map(Vec::as_slice).unwrap_or_default();
            let text: String = items.iter().filter_map(|item| item["text"].as_str()).collect();
            (text, items.iter().filter_map(|item| media(MediaKind::Image, item)).take(MEDIA_MAX).collect())
        }
        _ => (String::new(), Vec::new()),
    }
}

fn media(kind: MediaKind, from: &Value) -> Option<Media> {
    // A download code is longer than an id, so it has its own limit.
    let code = from["downloadCode"].as_str().filter(|code| !code.is_empty() && code.len() <= 4096)?;
    let name = names::file(from["fileName"].as_str().unwrap_or_default());
    Some(Media { kind, name, bytes: None, handle: json!({"code": code}) })
}

fn id(value: &Value) -> Option<String> {
    value
        .as_str()
        .filter(|id| !id.is_empty() && id.len() <= ID_MAX_BYTES && !id.contains(char::is_control))
        .map(str::to_owned)
}

fn number(value: &Value) -> i64 {
    value.as_i64().or_else(|| value.as_str()?.parse().ok()).unwrap_or(0)
}
