//! Converts events of rooms to events of this crate.

use serde_json::{Value, json};

use crate::event::{Conversation, Event, Media, MediaKind, Message, Sender, What};
use crate::names;

/// The identity of the account.
#[derive(Clone, Debug)]
pub(super) struct Us {
    /// The account's id, such as `@bot:server`.
    pub(super) id: String,
    /// The display name; empty if there is none.
    pub(super) name: String,
}

/// A message, before the event that it replies to is fetched.
pub(super) struct Read {
    pub(super) event: Event,
    /// The id of the event that it replies to.
    pub(super) answers: Option<String>,
}

/// Reads a message of a room; `None` if the event is not a message.
pub(super) fn message(room: &str, is_group: bool, event: &Value, name: &str, us: &Us) -> Option<Read> {
    let (id, sender) = (event["event_id"].as_str()?, event["sender"].as_str()?);
    let content = &event["content"];
    let relation = &content["m.relates_to"];
    let replaced = (relation["rel_type"] == "m.replace").then(|| relation["event_id"].as_str()).flatten();
    let shown = if replaced.is_some() { &content["m.new_content"] } else { content };
    let kind = shown["msgtype"].as_str().or((event["type"] == "m.sticker").then_some("m.image"))?;
    let media: Vec<Media> = media(kind, shown).into_iter().collect();
    let body = shown["body"].as_str()?;
    let body = match shown["filename"].as_str() {
        _ if media.is_empty() => body,
        // The body is a caption if it is not the file's name.
        Some(file) if file != body => body,
        _ => "",
    };
    let thread = (relation["rel_type"] == "m.thread").then(|| relation["event_id"].as_str()).flatten();
    let answers = relation["m.in_reply_to"]["event_id"].as_str();
    let is_fallback = relation["is_falling_back"] == json!(true);
    let body = if answers.is_some() { without_quotation(body) } else { body };
    let mentions_us = is_mentioned(content, us);
    let text = if mentions_us { without_mention(body, us) } else { body };
    let message = Message {
        id: replaced.unwrap_or(id).to_owned(),
        text: names::text(text),
        mentions_us,
        is_edited: replaced.is_some(),
        quoted: None,
        media,
    };
    let conversation = thread.map_or_else(|| room.to_owned(), |root| format!("{room}/{root}"));
    let event = Event {
        id: id.to_owned(),
        at_ms: event["origin_server_ts"].as_i64().unwrap_or(0),
        conversation: Conversation { id: conversation, is_group },
        sender: Sender {
            id: sender.to_owned(),
            name: names::person(name),
            // By Matrix's convention, bots send notices; the account itself is a bot too.
            is_bot: kind == "m.notice" || sender == us.id,
        },
        what: What::Message(message),
        reply: if is_group || thread.is_some() { json!({"event": id}) } else { Value::Null },
    };
    Some(Read { event, answers: answers.filter(|_| !is_fallback).map(str::to_owned) })
}

/// Converts a state event of a room to an event if it concerns the account; `None` otherwise.
pub(super) fn change(room: &str, is_group: bool, event: &Value, us: &Us) -> Option<Event> {
    let (id, sender) = (event["event_id"].as_str()?, event["sender"].as_str()?);
    let what = match event["type"].as_str()? {
        "m.room.member" if event["state_key"] == json!(us.id) => {
            let is_out = matches!(event["content"]["membership"].as_str(), Some("leave" | "ban"));
            is_out.then_some(What::Removed)?
        }
        "m.room.tombstone" if event["state_key"] == "" => {
            What::Moved { to: event["content"]["replacement_room"].as_str()?.to_owned() }
        }
        _ => return None,
    };
    Some(Event {
        id: id.to_owned(),
        at_ms: event["origin_server_ts"].as_i64().unwrap_or(0),
        conversation: Conversation { id: room.to_owned(), is_group },
        sender: Sender { id: sender.to_owned(), name: String::new(), is_bot: sender == us.id },
        what,
        reply: Value::Null,
    })
}

fn media(kind: &str, content: &Value) -> Option<Media> {
    let kind = match kind {
        "m.image" => MediaKind::Image,
        "m.file" | "m.audio" | "m.video" => MediaKind::File,
        _ => return None,
    };
    let name = content["filename"].as_str().or(content["body"].as_str()).unwrap_or_default();
    Some(Media {
        kind,
        name: names::file(name),
        bytes: content["info"]["size"].as_u64(),
        handle: json!(content["url"].as_str()?),
    })
}

/// Removes the quotation that older clients put in front of a reply.
fn without_quotation(body: &str) -> &str {
    if !body.starts_with("> <@") {
        return body;
    }
    body.split_once("\n\n").map_or(body, |(_, words)| words)
}

/// True if a mark mentions the account: `m.mentions`, or a link to the account, for clients that do not support `m.mentions`.
fn is_mentioned(content: &Value, us: &Us) -> bool {
    match content["m.mentions"].as_object() {
        Some(mentions) => mentions
            .get("user_ids")
            .and_then(Value::as_array)
            .is_some_and(|ids| ids.iter().any(|id| *id == json!(us.id))),
        None => {
            let html = content["formatted_body"].as_str().unwrap_or_default();
            html.contains(&format!("href=\"https://matrix.to/#/{}\"", us.id))
        }
    }
}

/// Removes the account's name from the beginning of a text.
fn without_mention<'a>(body: &'a str, us: &Us) -> &'a str {
    let local = us.id.trim_start_matches('@').split(':').next().unwrap_or_default();
    let start = body.trim_start();
    for name in [us.id.as_str(), us.name.as_str(), local] {
        let bare = start.strip_prefix('@').filter(|_| !name.starts_with('@')).unwrap_or(start);
        let behind = if name.is_empty() { None } else { bare.strip_prefix(name) };
        if let Some(behind) = behind.filter(|behind| !behind.starts_with(|c: char| c.is_alphanumeric())) {
            return behind.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, ':' | ','));
        }
    }
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us() -> Us {
        Us { id: "@bot:a.example".to_owned(), name: "Sand Bot".to_owned() }
    }

    fn read(content: &Value) -> Option<Message> {
        let event = json!({"type": "m.room.message", "event_id": "$1", "sender": "@ann:a.example", "origin_server_ts": 5, "content": content});
        match message("!r:a.example", true, &event, "Ann", &us())?.event.what {
            What::Message(message) => Some(message),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn only_a_mark_mentions() {
        let said = |body: &str, mentions: Value| {
            read(&json!({"msgtype": "m.text", "body": body, "m.mentions": mentions})).unwrap()
        };
        let us = json!({"user_ids": ["@bot:a.example"]});
        for body in ["Sand Bot: run", "@Sand Bot, run", "@bot:a.example run", "bot: run"] {
            let message = said(body, us.clone());
            assert_eq!((message.text.as_str(), message.mentions_us), ("run", true), "{body}");
        }
        let message = said("Sand Bot: run", json!({}));
        assert_eq!((message.text.as_str(), message.mentions_us), ("Sand Bot: run", false));
        assert_eq!(said("bots are nice", us).text, "bots are nice");
        let pill = json!({"msgtype": "m.text", "body": "Sand Bot: run", "formatted_body": "<a href=\"https://matrix.to/#/@bot:a.example\">Sand Bot</a>: run"});
        assert_eq!(read(&pill).unwrap().text, "run");
    }

    #[test]
    fn an_edit_names_the_message_and_a_file_has_no_words() {
        let edit = json!({"msgtype": "m.text", "body": "* new", "m.new_content": {"msgtype": "m.text", "body": "new"},
            "m.relates_to": {"rel_type": "m.replace", "event_id": "$0"}});
        let message = read(&edit).unwrap();
        assert!(message.is_edited && message.id == "$0" && message.text == "new");
        let file =
            json!({"msgtype": "m.image", "body": "a.png", "url": "mxc://a.example/x", "info": {"size": 3}});
        let message = read(&file).unwrap();
        assert_eq!(
            (message.text.as_str(), message.media[0].name.as_str(), message.media[0].bytes),
            ("", "a.png", Some(3))
        );
        let captioned =
            json!({"msgtype": "m.file", "body": "look", "filename": "../a.txt", "url": "mxc://a.example/x"});
        let message = read(&captioned).unwrap();
        assert_eq!((message.text.as_str(), message.media[0].name.as_str()), ("look", "a.txt"));
    }

    #[test]
    fn strange_events_are_none() {
        for content in [
            json!({}),
            json!({"msgtype": "m.text"}),
            json!({"msgtype": 7, "body": "x"}),
            json!("x"),
            json!({"msgtype": "m.text", "body": "x", "m.relates_to": {"rel_type": "m.replace", "event_id": "$0"}}),
        ] {
            assert_eq!(read(&content), None, "{content}");
        }
    }

    #[test]
    fn no_document_makes_it_fail() {
        let content = json!({
            "msgtype": "m.file", "body": "> <@a:b> q\n\n@Sand Bot: x", "filename": "a.txt", "url": "mxc://a/b", "info": {"size": 3},
            "format": "org.matrix.custom.html", "formatted_body": "<b>x</b>", "m.mentions": {"user_ids": ["@bot:a.example"]},
            "m.relates_to": {"rel_type": "m.thread", "event_id": "$0", "is_falling_back": true, "m.in_reply_to": {"event_id": "$0"}},
        });
        let said = json!({"type": "m.room.message", "event_id": "$1", "sender": "@a:b", "origin_server_ts": 5, "content": content});
        let left = json!({"type": "m.room.member", "event_id": "$1", "sender": "@a:b", "state_key": "@bot:a.example", "content": {"membership": "ban"}});
        assert!(
            message("!r", true, &said, "A", &us()).is_some() && change("!r", true, &left, &us()).is_some()
        );
        for variant in crate::strange::variants(&said).iter().chain(&crate::strange::variants(&left)) {
            let _ = message("!r", true, variant, "A", &us());
            let _ = change("!r", true, variant, &us());
        }
    }
}
