//! Converts updates to events.

use serde_json::{Value, json};

use crate::event::{Conversation, Event, Media, MediaKind, Message, Press, Quoted, Sender, What};
use crate::names;
use crate::platform::Failure;

/// The identity of the bot.
#[derive(Debug)]
pub(super) struct Us {
    id: i64,
    username: String,
}

impl Us {
    /// Reads the response to `getMe`.
    pub(super) fn read(user: &Value) -> Result<Self, Failure> {
        let id = user["id"]
            .as_i64()
            .ok_or_else(|| Failure::Away("the response to getMe contains no id".to_owned()))?;
        Ok(Self { id, username: user["username"].as_str().unwrap_or_default().to_owned() })
    }

    /// Returns the bot's name for display.
    pub(super) fn shown(&self) -> String {
        format!("@{}", names::person(&self.username))
    }

    fn is_called(&self, name: &str) -> bool {
        !self.username.is_empty() && name.eq_ignore_ascii_case(&self.username)
    }
}

/// Converts an update to an event; `None` if the update is of no use, because it has no sender or is of an unknown kind.
pub(super) fn event(update: &Value, us: &Us) -> Option<Event> {
    let id = update["update_id"].as_i64()?.to_string();
    let (at, conversation, sender, what, reply) = if let Some(message) = filled(&update["message"]) {
        let (conversation, sender) = (conversation(message)?, sender(&message["from"])?);
        let reply = reply(message, &conversation);
        (message, conversation, sender, message_or_change(message, us)?, reply)
    } else if let Some(message) = filled(&update["edited_message"]) {
        let what = What::Message(Message { is_edited: true, ..read(message, us)? });
        (message, conversation(message)?, sender(&message["from"])?, what, Value::Null)
    } else if let Some(query) = filled(&update["callback_query"]) {
        let message = filled(&query["message"])?;
        let press = Press {
            token: query["data"].as_str()?.to_owned(),
            message: message["message_id"].as_i64()?.to_string(),
            handle: query["id"].clone(),
        };
        (message, conversation(message)?, sender(&query["from"])?, What::Press(press), Value::Null)
    } else {
        let change = filled(&update["my_chat_member"])?;
        let status = change["new_chat_member"]["status"].as_str()?;
        if !matches!(status, "left" | "kicked") {
            return None;
        }
        (change, conversation(change)?, sender(&change["from"])?, What::Removed, Value::Null)
    };
    let at_ms = at["edit_date"].as_i64().or(at["date"].as_i64()).unwrap_or(0).saturating_mul(1000);
    Some(Event { id, at_ms, conversation, sender, what, reply })
}

fn filled(value: &Value) -> Option<&Value> {
    value.is_object().then_some(value)
}

fn conversation(message: &Value) -> Option<Conversation> {
    let chat = &message["chat"];
    let id = chat["id"].as_i64()?;
    let thread = message["message_thread_id"].as_i64().filter(|_| message["is_topic_message"] == json!(true));
    let id = thread.map_or(id.to_string(), |thread| format!("{id}/{thread}"));
    Some(Conversation { id, is_group: chat["type"] != "private" })
}

/// Reads a sender. Anonymous administrators and channels have the id of a bot here.
fn sender(user: &Value) -> Option<Sender> {
    let part = |key: &str| user[key].as_str().unwrap_or_default().to_owned();
    let name = names::person(&format!("{} {}", part("first_name"), part("last_name")));
    Some(Sender { id: user["id"].as_i64()?.to_string(), name, is_bot: user["is_bot"] == json!(true) })
}

/// Returns the reply data; in a group, an answer quotes the message that it answers.
fn reply(message: &Value, conversation: &Conversation) -> Value {
    if conversation.is_group { json!({"message": message["message_id"]}) } else { Value::Null }
}

fn message_or_change(message: &Value, us: &Us) -> Option<What> {
    if let Some(to) = message["migrate_to_chat_id"].as_i64() {
        return Some(What::Moved { to: to.to_string() });
    }
    if message["left_chat_member"]["id"].as_i64() == Some(us.id) {
        return Some(What::Removed);
    }
    read(message, us).map(What::Message)
}

/// Reads a message; `None` if it has no content, such as a service notice in a group.
fn read(message: &Value, us: &Us) -> Option<Message> {
    let media = media(message);
    let (raw, entities) = match message["text"].as_str() {
        Some(text) => (text, &message["entities"]),
        None => (message["caption"].as_str().unwrap_or_default(), &message["caption_entities"]),
    };
    let sticker = message["sticker"]["emoji"].as_str().unwrap_or_default();
    if raw.is_empty() && media.is_empty() && sticker.is_empty() {
        return None;
    }
    let (text, mentions_us) = unmentioned(raw, entities, us);
    let text = if raw.is_empty() { sticker.to_owned() } else { text };
    let quoted = filled(&message["reply_to_message"]).and_then(|quoted| {
        let text = [&message["quote"]["text"], &quoted["text"], &quoted["caption"]]
            .into_iter()
            .find_map(Value::as_str);
        Some(Quoted {
            id: quoted["message_id"].as_i64()?.to_string(),
            text: names::text(text.unwrap_or_default()),
            is_ours: quoted["from"]["id"].as_i64() == Some(us.id),
        })
    });
    // All messages of a topic quote the topic's first message; the sender did not choose that quotation.
    let quoted = quoted.filter(|quoted| {
        message["is_topic_message"] != json!(true)
            || message["message_thread_id"].as_i64().map(|id| id.to_string()).as_ref() != Some(&quoted.id)
    });
    let id = message["message_id"].as_i64()?.to_string();
    // Nothing in a forwarded message comes from the sender: neither the words nor the mentions.
    if !message["forward_origin"].is_null() || !message["forward_date"].is_null() {
        let own =
            Message { id, text: String::new(), mentions_us: false, is_edited: false, quoted: None, media };
        return Some(own.forwarding(&text));
    }
    Some(Message { id, text: names::text(&text), mentions_us, is_edited: false, quoted, media })
}

/// Returns a text without the mention at its beginning, and true if an entity mentions the bot.
fn unmentioned(text: &str, entities: &Value, us: &Us) -> (String, bool) {
    let units: Vec<u16> = text.encode_utf16().collect();
    let slice = |from: usize, to: usize| units.get(from..to).map(String::from_utf16_lossy);
    let mut is_mentioned = false;
    let mut kept = text.to_owned();
    for entity in entities.as_array().into_iter().flatten() {
        let number = |key: &str| entity[key].as_u64().and_then(|number| usize::try_from(number).ok());
        let (Some(from), Some(length)) = (number("offset"), number("length")) else { continue };
        let Some(to) = from.checked_add(length) else { continue };
        let Some(marked) = slice(from, to) else { continue };
        let (is_us, remains) = match entity["type"].as_str() {
            Some("mention") => (marked.strip_prefix('@').is_some_and(|name| us.is_called(name)), ""),
            Some("text_mention") => (entity["user"]["id"].as_i64() == Some(us.id), ""),
            Some("bot_command") => match marked.split_once('@') {
                Some((command, name)) if us.is_called(name) => (true, command),
                _ => continue,
            },
            _ => continue,
        };
        let is_first = slice(0, from).is_some_and(|before| before.trim().is_empty());
        if is_us && is_first && !is_mentioned {
            let behind = slice(to, units.len()).unwrap_or_default();
            kept = if remains.is_empty() {
                behind.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, ',' | ':')).to_owned()
            } else {
                format!("{remains}{behind}")
            };
        }
        is_mentioned |= is_us;
    }
    (kept, is_mentioned)
}

fn media(message: &Value) -> Vec<Media> {
    let mut media = Vec::new();
    let file = |file: &Value, kind, name: &str| {
        Some(Media {
            kind,
            name: names::file(file["file_name"].as_str().unwrap_or(name)),
            bytes: file["file_size"].as_u64(),
            handle: json!(file["file_id"].as_str()?),
        })
    };
    // A photo is listed in several sizes, the largest last.
    if let Some(photo) = message["photo"].as_array().and_then(|sizes| sizes.last()) {
        media.extend(file(photo, MediaKind::Image, "photo.jpg"));
    }
    // An animation is also delivered as a document, so each kind excludes the others.
    let kinds = [
        ("document", ""),
        ("video", "video.mp4"),
        ("audio", "audio.mp3"),
        ("voice", "voice.ogg"),
        ("video_note", "video.mp4"),
    ];
    for (key, name) in kinds {
        let Some(found) = filled(&message[key]) else { continue };
        let is_image = found["mime_type"].as_str().is_some_and(|kind| kind.starts_with("image/"));
        media.extend(file(found, if is_image { MediaKind::Image } else { MediaKind::File }, name));
    }
    media
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us() -> Us {
        Us { id: 7, username: "Sand_bot".to_owned() }
    }

    fn mention(text: &str, entities: Value) -> (String, bool) {
        unmentioned(text, &entities, &us())
    }

    #[test]
    fn only_an_entity_mentions() {
        assert_eq!(mention("@sand_bot hi", json!([])), ("@sand_bot hi".to_owned(), false));
        let entity = json!([{"type": "mention", "offset": 0, "length": 9}]);
        assert_eq!(mention("@sand_bot, hi", entity.clone()), ("hi".to_owned(), true));
        assert_eq!(mention("@another1 hi", entity), ("@another1 hi".to_owned(), false));
        let behind = json!([{"type": "mention", "offset": 5, "length": 9}]);
        assert_eq!(mention("😀hi @sand_bot", behind), ("😀hi @sand_bot".to_owned(), true));
        let by_id = json!([{"type": "text_mention", "offset": 0, "length": 2, "user": {"id": 7}}]);
        assert_eq!(mention("my bot", by_id), ("bot".to_owned(), true));
        let command = json!([{"type": "bot_command", "offset": 0, "length": 13}]);
        assert_eq!(mention("/new@sand_bot x", command), ("/new x".to_owned(), true));
    }

    #[test]
    fn entities_beyond_the_text_are_none() {
        let wild = json!([
            {"type": "mention", "offset": 0, "length": 99},
            {"type": "mention", "offset": u64::MAX, "length": u64::MAX},
            {"type": "mention", "offset": -1, "length": 2},
            {"type": "mention"}, 7, null,
        ]);
        assert_eq!(mention("@sand_bot", wild), ("@sand_bot".to_owned(), false));
        assert_eq!(mention("@sand_bot", json!("no list")), ("@sand_bot".to_owned(), false));
    }

    #[test]
    fn what_is_forwarded_is_no_word_of_the_sender() {
        for mark in [
            json!({"forward_origin": {"type": "hidden_user", "sender_user_name": "X", "date": 1}}),
            json!({"forward_date": 1}),
        ] {
            let mut said = json!({"message_id": 9, "date": 3, "chat": {"id": 4, "type": "private"}, "text": "@sand_bot !rm -rf /",
                "entities": [{"type": "mention", "offset": 0, "length": 9}], "from": {"id": 1, "is_bot": false, "first_name": "A"}});
            said.as_object_mut().unwrap().extend(mark.as_object().unwrap().clone());
            for kind in ["message", "edited_message"] {
                let update = json!({"update_id": 1, kind: said});
                let What::Message(message) = event(&update, &us()).unwrap().what else { panic!("{update}") };
                assert_eq!((message.text.as_str(), message.mentions_us), ("(a forwarded message)", false));
                let quoted = message.quoted.unwrap();
                assert_eq!((quoted.text.as_str(), quoted.is_ours), ("!rm -rf /", false));
            }
        }
    }

    #[test]
    fn what_has_no_sender_is_no_event() {
        let channel = json!({"update_id": 1, "message": {"message_id": 2, "date": 3, "chat": {"id": -4, "type": "channel"}, "text": "x"}});
        assert_eq!(event(&channel, &us()), None);
        for strange in
            [json!({}), json!({"update_id": 1}), json!({"update_id": 1, "poll": {}}), json!(null), json!([1])]
        {
            assert_eq!(event(&strange, &us()), None);
        }
    }

    #[test]
    fn a_topics_messages_are_a_conversation_of_their_own() {
        let message = json!({"update_id": 1, "message": {
            "message_id": 9, "date": 3, "chat": {"id": -4, "type": "supergroup", "is_forum": true}, "text": "x",
            "is_topic_message": true, "message_thread_id": 5, "from": {"id": 1, "is_bot": false, "first_name": "A"},
            "reply_to_message": {"message_id": 5, "text": "topic"},
        }});
        let event = event(&message, &us()).unwrap();
        assert_eq!(event.conversation, Conversation { id: "-4/5".to_owned(), is_group: true });
        assert_eq!(event.reply, json!({"message": 9}));
        assert!(matches!(event.what, What::Message(Message { quoted: None, .. })));
    }

    #[test]
    fn no_document_makes_it_fail() {
        let user = json!({"id": 1, "is_bot": false, "first_name": "A", "last_name": "B"});
        let file = json!({"file_id": "f", "file_name": "a.txt", "file_size": 3, "mime_type": "image/png"});
        let message = json!({
            "message_id": 9, "date": 3, "edit_date": 4, "chat": {"id": -4, "type": "supergroup"}, "from": user, "text": "@sand_bot 😀 x",
            "entities": [{"type": "mention", "offset": 0, "length": 9}], "is_topic_message": true, "message_thread_id": 5,
            "reply_to_message": {"message_id": 5, "text": "q", "from": user}, "quote": {"text": "q"}, "photo": [file], "document": file,
        });
        let press = json!({"id": "1", "from": user, "data": "x", "message": message});
        let change = json!({"chat": {"id": 1, "type": "private"}, "from": user, "date": 1, "new_chat_member": {"status": "kicked"}});
        for update in [
            json!({"update_id": 1, "message": message}),
            json!({"update_id": 1, "edited_message": message}),
            json!({"update_id": 1, "callback_query": press}),
            json!({"update_id": 1, "my_chat_member": change}),
        ] {
            assert!(event(&update, &us()).is_some(), "{update}");
            for variant in crate::strange::variants(&update) {
                let _ = event(&variant, &us());
            }
        }
    }
}
