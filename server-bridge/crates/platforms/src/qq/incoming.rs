//! Converts events of the platform to events.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::event::{Conversation, Event, Media, MediaKind, Message, Press, Quoted, Sender, What};
use crate::limits::ID_MAX_BYTES;
use crate::names;

/// How long a message of a direct conversation can be answered, in milliseconds, according to the API documentation.
const DIRECT_WINDOW_MS: i64 = 60 * 60 * 1000;

/// How long a message of a group or a channel can be answered, in milliseconds, according to the API documentation.
const GROUP_WINDOW_MS: i64 = 5 * 60 * 1000;

/// The maximum number of files that are read from one message.
const MEDIA_MAX: usize = 20;

/// Reads an event of this kind; `None` if it is of no use, or does not contain its sender. `frame` is the id of the dispatch.
pub(super) fn read(kind: &str, body: &Value, frame: &Value, bot: &str) -> Option<Event> {
    match kind {
        "C2C_MESSAGE_CREATE" => {
            let user = id(&body["author"]["user_openid"])?;
            message(kind, body, direct(&format!("user:{user}")), user, bot)
        }
        "GROUP_AT_MESSAGE_CREATE" | "GROUP_MESSAGE_CREATE" => {
            let group = id(&body["group_openid"])?;
            message(
                kind,
                body,
                group_of(&format!("group:{group}")),
                id(&body["author"]["member_openid"])?,
                bot,
            )
        }
        "AT_MESSAGE_CREATE" => {
            let channel = id(&body["channel_id"])?;
            message(kind, body, group_of(&format!("channel:{channel}")), id(&body["author"]["id"])?, bot)
        }
        "DIRECT_MESSAGE_CREATE" => {
            let guild = id(&body["guild_id"])?;
            message(kind, body, direct(&format!("dm:{guild}")), id(&body["author"]["id"])?, bot)
        }
        "INTERACTION_CREATE" => press(body),
        "GROUP_DEL_ROBOT" => removed(
            group_of(&format!("group:{}", id(&body["group_openid"])?)),
            &body["op_member_openid"],
            frame,
        ),
        "FRIEND_DEL" => removed(direct(&format!("user:{}", id(&body["openid"])?)), &body["openid"], frame),
        _ => None,
    }
}

fn direct(id: &str) -> Conversation {
    Conversation { id: id.to_owned(), is_group: false }
}

fn group_of(id: &str) -> Conversation {
    Conversation { id: id.to_owned(), is_group: true }
}

/// Returns the data that an answer needs: the message or event to answer, and the deadline for answering it.
fn reply(key: &str, answered: &str, at_ms: i64, is_group: bool) -> Value {
    let window = if is_group { GROUP_WINDOW_MS } else { DIRECT_WINDOW_MS };
    // The window begins now by this server's clock, because the platform's clock may differ.
    json!({key: answered, "until_ms": now_ms().max(at_ms.min(now_ms())) + window})
}

pub(super) fn now_ms() -> i64 {
    Timestamp::now().as_millisecond()
}

fn message(kind: &str, body: &Value, conversation: Conversation, user: String, bot: &str) -> Option<Event> {
    let message = id(&body["id"])?;
    let text = body["content"].as_str().unwrap_or_default();
    let mention = format!("<@!{bot}>");
    let text = text.trim().trim_start_matches(mention.as_str()).trim();
    let names_us = |mention: &Value| {
        let ids = [&mention["id"], &mention["member_openid"], &mention["user_openid"]];
        mention["is_you"] == true || ids.into_iter().any(|id| *id == bot && !bot.is_empty())
    };
    let at_ms = time(&body["timestamp"]);
    let quoted = id(&body["message_reference"]["message_id"]).map(|id| Quoted {
        id,
        text: String::new(),
        is_ours: false,
    });
    let name = body["author"]["username"].as_str().unwrap_or_default();
    Some(Event {
        id: message.clone(),
        at_ms,
        sender: Sender {
            is_bot: body["author"]["bot"] == true || user == bot,
            id: user,
            name: names::person(name),
        },
        what: What::Message(Message {
            id: message.clone(),
            text: names::text(text),
            // Messages of other kinds are delivered only if they mention the bot.
            mentions_us: conversation.is_group
                && (kind != "GROUP_MESSAGE_CREATE"
                    || body["mentions"].as_array().into_iter().flatten().any(names_us)),
            is_edited: false,
            quoted,
            media: body["attachments"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(media)
                .take(MEDIA_MAX)
                .collect(),
        }),
        reply: reply("msg_id", &message, at_ms, conversation.is_group),
        conversation,
    })
}

fn media(attachment: &Value) -> Option<Media> {
    let url = attachment["url"].as_str().filter(|url| !url.is_empty())?;
    // File addresses in channel messages have no scheme.
    let url = if url.starts_with("http://") || url.starts_with("https://") {
        url.to_owned()
    } else {
        format!("https://{}", url.trim_start_matches('/'))
    };
    let is_image = attachment["content_type"].as_str().is_some_and(|kind| kind.starts_with("image"));
    Some(Media {
        kind: if is_image { MediaKind::Image } else { MediaKind::File },
        name: names::file(attachment["filename"].as_str().unwrap_or_default()),
        bytes: attachment["size"].as_u64(),
        handle: json!({"url": url}),
    })
}

fn press(body: &Value) -> Option<Event> {
    let event = id(&body["id"])?;
    let (conversation, user) = match (id(&body["group_openid"]), id(&body["channel_id"])) {
        (Some(group), _) => (group_of(&format!("group:{group}")), id(&body["group_member_openid"])?),
        (None, Some(channel)) => {
            (group_of(&format!("channel:{channel}")), id(&body["data"]["resolved"]["user_id"])?)
        }
        (None, None) => {
            let user = id(&body["user_openid"])?;
            (direct(&format!("user:{user}")), user)
        }
    };
    let pressed = &body["data"]["resolved"];
    let at_ms = time(&body["timestamp"]);
    Some(Event {
        id: event.clone(),
        at_ms,
        sender: Sender { id: user, name: String::new(), is_bot: false },
        what: What::Press(Press {
            token: id(&pressed["button_data"])?,
            message: id(&pressed["message_id"]).unwrap_or_default(),
            handle: json!({"interaction": event}),
        }),
        reply: reply("event_id", &event, at_ms, conversation.is_group),
        conversation,
    })
}

fn removed(conversation: Conversation, by: &Value, frame: &Value) -> Option<Event> {
    Some(Event {
        id: id(frame)?,
        at_ms: now_ms(),
        conversation,
        sender: Sender { id: id(by)?, name: String::new(), is_bot: false },
        what: What::Removed,
        reply: Value::Null,
    })
}

fn time(text: &Value) -> i64 {
    text.as_str().and_then(|text| text.parse::<Timestamp>().ok()).map_or(0, |time| time.as_millisecond())
}

/// Reads an id: a text that is short enough to be stored, of characters that may be part of a path.
pub(super) fn id(value: &Value) -> Option<String> {
    let is_good = |id: &&str| {
        !id.is_empty()
            && id.len() <= ID_MAX_BYTES
            && id.bytes().all(|b| b.is_ascii_graphic() && !b"/?#%\\\"".contains(&b))
    };
    value.as_str().filter(is_good).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_in_a_group_mentions_the_bot_by_a_mark_only() {
        let said = |kind: &str, mentions: Value| {
            let body = json!({"id": "m", "group_openid": "g", "author": {"member_openid": "u"}, "content": "bot run it", "mentions": mentions});
            match read(kind, &body, &Value::Null, "b").unwrap().what {
                What::Message(message) => message.mentions_us,
                other => panic!("{other:?}"),
            }
        };
        assert!(said("GROUP_AT_MESSAGE_CREATE", Value::Null));
        for (mentions, expected) in [
            (Value::Null, false),
            (json!([{"member_openid": "u2", "is_you": false}]), false),
            (json!([{"member_openid": "x", "is_you": true}]), true),
            (json!([{"id": "b"}]), true),
        ] {
            assert_eq!(said("GROUP_MESSAGE_CREATE", mentions.clone()), expected, "{mentions}");
        }
    }
}
