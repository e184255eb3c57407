//! Converts WeCom's callbacks to events.

use serde_json::{Value, json};

use crate::event::{Conversation, Event, Media, MediaKind, Message, Press, Quoted, Sender, What};
use crate::limits::ID_MAX_BYTES;
use crate::names;

/// The maximum number of files that are read from one message.
const MEDIA_MAX: usize = 20;

/// Reads the body of a callback; `None` if it is of no use, or does not contain its sender. `request` is the id that a reply needs.
pub(super) fn read(body: &Value, request: &Value) -> Option<Event> {
    let user = id(&body["from"]["userid"])?;
    let conversation = if body["chattype"] == "group" || !body["chatid"].is_null() {
        Conversation { id: format!("group:{}", id(&body["chatid"])?), is_group: true }
    } else {
        Conversation { id: format!("user:{user}"), is_group: false }
    };
    let event = id(&body["msgid"])?;
    let what = match body["msgtype"].as_str()? {
        "event" if body["event"]["eventtype"] == "template_card_event" => {
            // The field is nested according to the documentation, but not in the official client's types.
            let (nested, flat) = (&body["event"]["template_card_event"], &body["event"]);
            let field = |key: &str| id(&nested[key]).or_else(|| id(&flat[key]));
            let task = field("task_id")?;
            What::Press(Press {
                token: field("event_key")?,
                // In a group, each person has their own copy of a card, and only that copy shows the outcome of their press.
                handle: json!({"request": request, "task": task, "user": conversation.is_group.then_some(&user)}),
                message: task,
            })
        }
        "event" => return None,
        _ => {
            let mut found = Found::default();
            found.read(body);
            let text = if conversation.is_group { without_mention(&found.text) } else { &found.text };
            What::Message(Message {
                id: event.clone(),
                text: names::text(text.trim()),
                // In a group, only messages that mention the bot are delivered.
                mentions_us: conversation.is_group,
                is_edited: false,
                quoted: quoted(&body["quote"]),
                media: found.media,
            })
        }
    };
    Some(Event {
        id: event,
        at_ms: body["create_time"].as_i64().unwrap_or(0).saturating_mul(1000),
        conversation,
        sender: Sender { is_bot: body["aibotid"] == user.as_str(), id: user, name: String::new() },
        what,
        reply: json!({"request": request}),
    })
}

/// A text without the bot's name at its beginning, which the platform leaves there.
fn without_mention(text: &str) -> &str {
    let text = text.trim_start();
    let rest =
        text.strip_prefix('@').and_then(|rest| rest.split_once(char::is_whitespace)).map(|(_, rest)| rest);
    rest.unwrap_or(if text.starts_with('@') { "" } else { text })
}

fn quoted(quote: &Value) -> Option<Quoted> {
    if !quote.is_object() {
        return None;
    }
    let mut found = Found::default();
    found.read(quote);
    // The platform does not send the id of a quoted message.
    Some(Quoted { id: String::new(), text: names::text(found.text.trim()), is_ours: false })
}

#[derive(Default)]
struct Found {
    text: String,
    media: Vec<Media>,
}

impl Found {
    fn read(&mut self, part: &Value) {
        let kind = part["msgtype"].as_str().unwrap_or_default();
        let content = &part[kind];
        match kind {
            // The content of a voice message is its recognized text.
            "text" | "voice" => self.text.push_str(content["content"].as_str().unwrap_or_default()),
            "image" => self.file(MediaKind::Image, content),
            "file" | "video" => self.file(MediaKind::File, content),
            "mixed" => {
                for item in content["msg_item"].as_array().into_iter().flatten() {
                    // A mixed message within a mixed message is left out.
                    if item["msgtype"] != "mixed" {
                        self.read(item);
                    }
                }
            }
            _ => {}
        }
    }

    fn file(&mut self, kind: MediaKind, content: &Value) {
        if let Some(url) = content["url"].as_str().filter(|_| self.media.len() < MEDIA_MAX) {
            let name =
                names::file(content["filename"].as_str().or(content["name"].as_str()).unwrap_or_default());
            self.media.push(Media {
                kind,
                name,
                bytes: None,
                handle: json!({"url": url, "key": content["aeskey"]}),
            });
        }
    }
}

fn id(value: &Value) -> Option<String> {
    value
        .as_str()
        .filter(|id| !id.is_empty() && id.len() <= ID_MAX_BYTES && !id.contains(char::is_control))
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mention_in_front_is_taken_away() {
        assert_eq!(without_mention("@Bot run it @x"), "run it @x");
        assert_eq!(without_mention("@Bot\u{2005}run"), "run");
        assert_eq!(without_mention("@Bot"), "");
        assert_eq!(without_mention("run @Bot"), "run @Bot");
    }
}
