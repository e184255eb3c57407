//! Converts Feishu's events to events of this crate.

use serde_json::{Value, json};

use crate::event::{Conversation, Event, Media, MediaKind, Message, Press, Quoted, Sender, What};
use crate::limits::ID_MAX_BYTES;
use crate::names;

/// The maximum number of files that are read from one message.
const MEDIA_MAX: usize = 20;

/// Reads an event; `None` if it is of no use, or lacks a field that it must have.
pub(super) fn read(event: &Value, bot: &str) -> Option<Event> {
    let (header, body) = (&event["header"], &event["event"]);
    let at_ms = number(&header["create_time"]);
    let event_id = id(&header["event_id"]);
    match header["event_type"].as_str()? {
        "im.message.receive_v1" => message(body, bot),
        "card.action.trigger" => press(body, event_id?, at_ms / 1000),
        "im.chat.member.bot.deleted_v1" | "im.chat.disbanded_v1" => Some(Event {
            id: event_id?,
            at_ms,
            conversation: Conversation { id: id(&body["chat_id"])?, is_group: true },
            sender: Sender { id: id(&body["operator_id"]["open_id"])?, name: String::new(), is_bot: false },
            what: What::Removed,
            reply: Value::Null,
        }),
        _ => None,
    }
}

fn message(body: &Value, bot: &str) -> Option<Event> {
    let message = &body["message"];
    let message_id = id(&message["message_id"])?;
    let sender = id(&body["sender"]["sender_id"]["open_id"])?;
    let is_bot = body["sender"]["sender_type"] != "user" || sender == bot;
    let chat = id(&message["chat_id"])?;
    let thread = id(&message["thread_id"]);
    let conversation = Conversation {
        id: thread.map_or_else(|| chat.clone(), |thread| format!("{chat}/{thread}")),
        is_group: message["chat_type"] != "p2p",
    };
    let content: Value = serde_json::from_str(message["content"].as_str()?).unwrap_or_default();
    let mut found = Found { text: String::new(), media: Vec::new(), message: &message_id };
    found.read(message["message_type"].as_str()?, &content);
    let Found { text, media, .. } = found;
    let empty = Vec::new();
    let mentions = message["mentions"].as_array().unwrap_or(&empty);
    let is_us = |mention: &&Value| mention["id"]["open_id"] == bot && !bot.is_empty();
    let mentions_us = mentions.iter().any(|mention| is_us(&mention));
    let quoted = id(&message["parent_id"]).map(|id| Quoted { id, text: String::new(), is_ours: false });
    let mut said = Message {
        text: names::text(&named(&text, mentions, bot)),
        id: message_id.clone(),
        mentions_us,
        is_edited: false,
        quoted,
        media,
    };
    // The platform does not deliver the forwarded messages themselves.
    if message["message_type"] == "merge_forward" {
        said = said.forwarding("");
    }
    Some(Event {
        id: message_id.clone(),
        at_ms: number(&message["create_time"]),
        conversation,
        sender: Sender { id: sender, name: String::new(), is_bot },
        what: What::Message(said),
        reply: json!({"message": message_id}),
    })
}

/// A text with the names of mentioned people, without a mention of the bot at its beginning. The longest keys are replaced first, because
/// `@_user_10` begins with `@_user_1`.
fn named(text: &str, mentions: &[Value], bot: &str) -> String {
    let mut text = text.trim().to_owned();
    let mut keys: Vec<(&str, &Value)> =
        mentions.iter().filter_map(|mention| Some((mention["key"].as_str()?, mention))).collect();
    keys.retain(|(key, _)| key.starts_with('@'));
    keys.sort_by_key(|(key, _)| std::cmp::Reverse(key.len()));
    for (key, mention) in keys {
        if mention["id"]["open_id"] == bot
            && let Some(rest) = text.strip_prefix(key)
        {
            text = rest.trim_start().to_owned();
        }
        text =
            text.replace(key, &format!("@{}", names::person(mention["name"].as_str().unwrap_or_default())));
    }
    text
}

/// The text and the files found in a message's content.
struct Found<'a> {
    text: String,
    media: Vec<Media>,
    message: &'a str,
}

impl Found<'_> {
    fn read(&mut self, kind: &str, content: &Value) {
        match kind {
            "text" => self.text.push_str(content["text"].as_str().unwrap_or_default()),
            "post" => self.post(content),
            "image" => self.file(MediaKind::Image, &content["image_key"], &Value::Null),
            "file" | "audio" | "media" => {
                self.file(MediaKind::File, &content["file_key"], &content["file_name"]);
            }
            // Stickers, shared cards and the like have no text.
            _ => {}
        }
    }

    /// Adds a rich text, which consists of lines of elements.
    fn post(&mut self, content: &Value) {
        if let Some(title) = content["title"].as_str().filter(|title| !title.is_empty()) {
            self.text.push_str(title);
            self.text.push('\n');
        }
        for line in content["content"].as_array().into_iter().flatten() {
            for element in line.as_array().into_iter().flatten() {
                let text = element["text"].as_str().unwrap_or_default();
                match element["tag"].as_str().unwrap_or_default() {
                    "text" | "md" => self.text.push_str(text),
                    "a" => {
                        let link = element["href"].as_str().unwrap_or_default();
                        let shown = if link.is_empty() || link == text {
                            text.to_owned()
                        } else {
                            format!("{text} ({link})")
                        };
                        self.text.push_str(&shown);
                    }
                    // The user id of an element is the key of a mention.
                    "at" => self.text.push_str(element["user_id"].as_str().unwrap_or_default()),
                    "code_block" => self.text.push_str(&format!("```\n{text}\n```")),
                    "img" => self.file(MediaKind::Image, &element["image_key"], &Value::Null),
                    "media" => self.file(MediaKind::File, &element["file_key"], &Value::Null),
                    _ => {}
                }
            }
            self.text.push('\n');
        }
    }

    fn file(&mut self, kind: MediaKind, key: &Value, name: &Value) {
        let is_key =
            |key: &&str| key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
        let Some(key) =
            key.as_str().filter(|key| !key.is_empty() && key.len() <= ID_MAX_BYTES).filter(is_key)
        else {
            return;
        };
        if self.media.len() < MEDIA_MAX {
            let name = names::file(name.as_str().unwrap_or_default());
            self.media.push(Media {
                kind,
                name,
                bytes: None,
                handle: json!({"message": self.message, "key": key}),
            });
        }
    }
}

fn press(body: &Value, event: String, at_ms: i64) -> Option<Event> {
    let value = &body["action"]["value"];
    let conversation = Conversation { id: id(&value["chat"])?, is_group: value["group"].as_bool()? };
    Some(Event {
        at_ms,
        conversation,
        sender: Sender { id: id(&body["operator"]["open_id"])?, name: String::new(), is_bot: false },
        what: What::Press(Press {
            token: id(&value["token"])?,
            message: id(&body["context"]["open_message_id"])?,
            handle: json!({"event": event}),
        }),
        id: event,
        reply: Value::Null,
    })
}

/// Reads an id: a text that is short enough to be stored, of characters that may be part of a path.
pub(super) fn id(value: &Value) -> Option<String> {
    let is_good = |id: &&str| {
        !id.is_empty()
            && id.len() <= ID_MAX_BYTES
            && id.bytes().all(|b| b.is_ascii_graphic() && !b"?#%\\\"".contains(&b))
    };
    value.as_str().filter(is_good).map(str::to_owned)
}

/// Reads a number that is sent as a text.
fn number(value: &Value) -> i64 {
    value.as_str().and_then(|text| text.parse().ok()).or(value.as_i64()).unwrap_or(0)
}
