//! Messages of OneBot 11: segments, or a text with CQ codes.

use serde_json::{Map, Value, json};

use crate::event::{Conversation, Event, Media, MediaKind, Message, Quoted, Sender, What};
use crate::limits::ID_MAX_BYTES;
use crate::names;

/// The maximum number of segments that are read from one message.
const SEGMENTS_MAX: usize = 500;

/// The maximum number of files that are read from one message.
const MEDIA_MAX: usize = 20;

/// Reads an event; `None` if it is of no use, or does not contain its sender.
pub(super) fn read(event: &Value) -> Option<Event> {
    let own = id(&event["self_id"])?;
    let user = id(&event["user_id"])?;
    let time = event["time"].as_i64().unwrap_or(0);
    match event["post_type"].as_str()? {
        // `message_sent` reports a message from the account itself.
        "message" | "message_sent" => message(event, &own, user, time),
        "notice" if event["notice_type"] == "group_decrease" && event["sub_type"] == "kick_me" => {
            Some(Event {
                id: format!("removed:{}@{time}", id(&event["group_id"])?),
                at_ms: time.saturating_mul(1000),
                conversation: group(&id(&event["group_id"])?),
                sender: Sender {
                    id: id(&event["operator_id"]).unwrap_or(user),
                    name: String::new(),
                    is_bot: false,
                },
                what: What::Removed,
                reply: Value::Null,
            })
        }
        _ => None,
    }
}

fn message(event: &Value, own: &str, user: String, time: i64) -> Option<Event> {
    let is_group = event["message_type"] == "group";
    // An anonymous sender has no id, so the message is left out.
    if event["sub_type"] == "anonymous" || !event["anonymous"].is_null() {
        return None;
    }
    let message_id = id(&event["message_id"])?;
    let is_bot = user == own || event["post_type"] == "message_sent" || event["sender"]["is_robot"] == true;
    let conversation = if is_group {
        group(&id(&event["group_id"])?)
    } else {
        // A message from the account itself contains its recipient.
        let with =
            if user == own { id(&event["target_id"]).unwrap_or_else(|| user.clone()) } else { user.clone() };
        Conversation { id: format!("private:{with}"), is_group: false }
    };
    let segments = match &event["message"] {
        Value::Array(segments) => segments.iter().take(SEGMENTS_MAX).cloned().collect(),
        Value::String(text) => parse(text),
        _ => return None,
    };
    let found = Found::of(&segments, own);
    let mut said = Message {
        id: message_id.clone(),
        text: names::text(found.text.trim()),
        mentions_us: found.mentions_us,
        is_edited: false,
        quoted: found.quoted,
        media: found.media,
    };
    if let Some(forwarded) = found.forwarded {
        said = said.forwarding(&forwarded);
    }
    let sender = &event["sender"];
    let name = [&sender["card"], &sender["nickname"]]
        .into_iter()
        .filter_map(Value::as_str)
        .find(|name| !name.is_empty());
    let mut reply = json!({"message": message_id});
    if !is_group && event["sub_type"] == "group" {
        // A person who is not a friend can be reached through a group of which both are members.
        reply["group"] = json!(id(&event["group_id"]).or_else(|| id(&sender["group_id"])));
    }
    Some(Event {
        // Message ids have only 32 bits and repeat after some months, so the time is added.
        id: format!("{message_id}@{time}"),
        at_ms: time.saturating_mul(1000),
        conversation,
        sender: Sender { id: user, name: names::person(name.unwrap_or_default()), is_bot },
        what: What::Message(said),
        reply,
    })
}

fn group(id: &str) -> Conversation {
    Conversation { id: format!("group:{id}"), is_group: true }
}

#[derive(Default)]
struct Found {
    text: String,
    mentions_us: bool,
    quoted: Option<Quoted>,
    /// The text of forwarded messages, if there are any, as far as it is delivered.
    forwarded: Option<String>,
    media: Vec<Media>,
}

impl Found {
    fn of(segments: &[Value], own: &str) -> Self {
        let mut found = Self::default();
        for segment in segments {
            let data = &segment["data"];
            let text = |key: &str| data[key].as_str().unwrap_or_default();
            match segment["type"].as_str().unwrap_or_default() {
                "text" => found.text.push_str(text("text")),
                "at" => {
                    let who = id(&data["qq"]).unwrap_or_default();
                    if who == own {
                        found.mentions_us = true;
                        if !found.text.trim().is_empty() {
                            found.text.push_str("@me");
                        }
                    } else {
                        let name = names::person(text("name"));
                        found.text.push_str(&format!("@{}", if name.is_empty() { &who } else { &name }));
                    }
                }
                "reply" => {
                    found.quoted = id(&data["id"])
                        .map(|id| Quoted { id, text: String::new(), is_ours: false })
                        .or(found.quoted);
                }
                "forward" | "node" => {
                    let words = forwarded(&data["content"]);
                    found.forwarded.get_or_insert_default().push_str(&words);
                }
                "image" => found.file(MediaKind::Image, data),
                "file" | "record" | "video" => found.file(MediaKind::File, data),
                // Emoji, cards and shares contain nothing to read.
                _ => {}
            }
        }
        found
    }

    fn file(&mut self, kind: MediaKind, data: &Value) {
        let url =
            data["url"].as_str().filter(|url| url.starts_with("http://") || url.starts_with("https://"));
        // In a text with CQ codes, numbers are sent as text.
        let bytes = data["file_size"].as_u64().or_else(|| data["file_size"].as_str()?.parse().ok());
        let handle = match (url, id(&data["file_id"]).or_else(|| id(&data["file"]))) {
            (Some(url), _) => json!({"url": url}),
            (None, Some(file)) => json!({"file": file}),
            (None, None) => return,
        };
        if self.media.len() < MEDIA_MAX {
            let name = names::file(data["name"].as_str().or(data["file"].as_str()).unwrap_or_default());
            self.media.push(Media { kind, name, bytes, handle });
        }
    }
}

/// The text of forwarded messages, which some programs deliver as segments. Messages forwarded within the forwarded messages are left out.
fn forwarded(messages: &Value) -> String {
    let messages = messages.as_array().into_iter().flatten().take(SEGMENTS_MAX);
    let segments = messages.flat_map(|message| {
        let of =
            if message["message"].is_array() { &message["message"] } else { &message["data"]["content"] };
        of.as_array().into_iter().flatten().take(SEGMENTS_MAX)
    });
    let texts: Vec<&str> = segments
        .filter(|segment| segment["type"] == "text")
        .filter_map(|segment| segment["data"]["text"].as_str())
        .collect();
    texts.join("\n")
}

/// Parses a text with CQ codes into segments.
fn parse(text: &str) -> Vec<Value> {
    let mut segments = Vec::new();
    let mut rest = text;
    let plain = |text: &str| json!({"type": "text", "data": {"text": unescaped(text)}});
    while segments.len() < SEGMENTS_MAX {
        let code = rest.find("[CQ:").and_then(|start| Some((start, start + rest[start..].find(']')?)));
        let Some((start, end)) = code else { break };
        if start > 0 {
            segments.push(plain(&rest[..start]));
        }
        let mut fields = rest[start + 4..end].split(',');
        let kind = fields.next().unwrap_or_default();
        let pairs = fields.filter_map(|field| field.split_once('='));
        let data: Map<String, Value> =
            pairs.map(|(key, value)| (key.to_owned(), json!(unescaped(value)))).collect();
        segments.push(json!({"type": kind, "data": data}));
        rest = &rest[end + 1..];
    }
    if !rest.is_empty() {
        segments.push(plain(rest));
    }
    segments
}

fn unescaped(text: &str) -> String {
    // The ampersand is replaced last, because otherwise `&amp;#91;` would become a bracket.
    text.replace("&#44;", ",").replace("&#91;", "[").replace("&#93;", "]").replace("&amp;", "&")
}

/// Reads an id, which is a number or a text.
pub(super) fn id(value: &Value) -> Option<String> {
    match value {
        Value::Number(number) => Some(number.to_string()),
        Value::String(text) if !text.is_empty() && text.len() <= ID_MAX_BYTES => Some(text.clone()),
        _ => None,
    }
}

/// Returns an id in the form that is sent: a number if it consists of digits.
pub(super) fn number(id: &str) -> Value {
    id.parse::<i64>().map_or_else(|_| json!(id), |number| json!(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(message: Value) -> Value {
        json!({"time": 5, "self_id": "1", "user_id": 2, "post_type": "message", "message_type": "group", "sub_type": "normal",
            "group_id": 3, "message_id": -4, "message": message, "sender": {"nickname": "N\u{202e}", "card": ""}})
    }

    fn message(of: Value) -> Message {
        match read(&event(of)).unwrap().what {
            What::Message(message) => message,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_text_with_codes_is_read_as_segments_are() {
        let text = "[CQ:reply,id=-9][CQ:at,qq=1] a&#91;b&#93;&amp;#44; [CQ:at,qq=7,name=X&#44;Y][CQ:image,file=i.png,url=https://a.example/?a=1&amp;b=2,file_size=10]";
        let found = message(json!(text));
        let segments = json!([{"type": "reply", "data": {"id": "-9"}}, {"type": "at", "data": {"qq": 1}}, {"type": "text", "data": {"text": " a[b]&#44; "}},
            {"type": "at", "data": {"qq": "7", "name": "X,Y"}}, {"type": "image", "data": {"file": "i.png", "url": "https://a.example/?a=1&b=2", "file_size": "10"}}]);
        assert_eq!(found, message(segments));
        assert_eq!(found.text, "a[b]&#44; @X,Y");
        assert!(found.mentions_us);
        assert_eq!(found.media[0].handle, json!({"url": "https://a.example/?a=1&b=2"}));
    }

    #[test]
    fn what_is_forwarded_is_no_word_of_the_sender() {
        let inner = json!([{"user_id": 9, "message": [{"type": "at", "data": {"qq": 1}}, {"type": "text", "data": {"text": "!rm"}}]}]);
        let found = message(json!([{"type": "forward", "data": {"id": "5", "content": inner}}]));
        assert_eq!((found.text.as_str(), found.mentions_us), (crate::event::FORWARDED, false));
        assert_eq!(found.quoted.map(|quoted| (quoted.text, quoted.is_ours)), Some(("!rm".to_owned(), false)));
        let found = message(json!("[CQ:forward,id=5]"));
        assert_eq!((found.text.as_str(), found.quoted), (crate::event::FORWARDED, None));
    }

    #[test]
    fn mentions_that_are_text_or_of_everybody_are_none() {
        for none in [
            json!("@1 [CQ:at,qq=all] x"),
            json!("&#91;CQ:at,qq=1&#93;"),
            json!([{"type": "text", "data": {"text": "[CQ:at,qq=1]"}}]),
        ] {
            assert!(!message(none).mentions_us);
        }
        assert_eq!(message(json!("[CQ:at,qq=1")).text, "[CQ:at,qq=1");
    }

    #[test]
    fn nobody_and_ourselves_are_told_apart() {
        let mut anonymous = event(json!("x"));
        anonymous["anonymous"] = json!({"id": 5, "name": "A", "flag": "f"});
        assert_eq!(read(&anonymous), None);
        let mut nobody = event(json!("x"));
        nobody["user_id"] = Value::Null;
        assert_eq!(read(&nobody), None);
        let mut own = event(json!("x"));
        own["user_id"] = json!(1);
        assert!(read(&own).unwrap().sender.is_bot);
        assert_eq!(
            read(&event(json!("x"))).unwrap().sender,
            Sender { id: "2".to_owned(), name: "N".to_owned(), is_bot: false }
        );
        assert_eq!(read(&event(json!(7))), None);
    }
}
