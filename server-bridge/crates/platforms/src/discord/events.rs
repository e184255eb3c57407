//! Converts dispatches to events.

use serde_json::{Value, json};

use super::gateway::Us;
use crate::event::{Conversation, Event, Media, MediaKind, Message, Press, Quoted, Sender, What};
use crate::names;

/// The epoch of Discord's timestamps, in Unix milliseconds.
const EPOCH_MS: i64 = 1_420_070_400_000;
/// The types of messages that people write: plain messages, and answers.
const WRITTEN: [u64; 2] = [0, 19];
/// The interaction type of a press on a message component.
const COMPONENT: u64 = 3;

/// Converts a dispatch to an event; `None` if the dispatch is of no use.
pub(super) fn event(kind: &str, data: &Value, us: &Us) -> Option<Event> {
    match kind {
        "MESSAGE_CREATE" => message(data, false, us),
        // Discord itself changes messages too; such changes have no edit timestamp.
        "MESSAGE_UPDATE" if data["edited_timestamp"].is_string() => message(data, true, us),
        "INTERACTION_CREATE" => press(data, us),
        "CHANNEL_DELETE" | "THREAD_DELETE" => {
            let id = data["id"].as_str()?;
            let sender = Sender { id: us.id.clone(), name: String::new(), is_bot: true };
            let conversation = Conversation { id: id.to_owned(), is_group: data["guild_id"].is_string() };
            Some(Event {
                id: format!("deleted:{id}"),
                at_ms: 0,
                conversation,
                sender,
                what: What::Removed,
                reply: Value::Null,
            })
        }
        _ => None,
    }
}

fn at_ms(id: &str) -> i64 {
    id.parse::<u64>().map_or(0, |id| i64::try_from(id >> 22).unwrap_or(0).saturating_add(EPOCH_MS))
}

fn sender(user: &Value, us: &Us) -> Option<Sender> {
    let id = user["id"].as_str()?.to_owned();
    let name = user["global_name"].as_str().or(user["username"].as_str()).unwrap_or_default();
    Some(Sender { name: names::person(name), is_bot: user["bot"] == json!(true) || id == us.id, id })
}

fn message(data: &Value, is_edited: bool, us: &Us) -> Option<Event> {
    let (id, channel) = (data["id"].as_str()?, data["channel_id"].as_str()?);
    if !data["type"].as_u64().is_none_or(|kind| WRITTEN.contains(&kind)) {
        return None;
    }
    let mut sender = sender(&data["author"], us)?;
    // The name on a webhook's message can be chosen freely, so the sender counts as a bot.
    sender.is_bot |= data["webhook_id"].is_string();
    // Forwarded messages are copies in a separate field, next to the sender's own words.
    let copies: Vec<&Value> =
        data["message_snapshots"].as_array().into_iter().flatten().map(|copy| &copy["message"]).collect();
    let files = std::iter::once(data).chain(copies.iter().copied());
    let media: Vec<Media> = files
        .flat_map(|said| said["attachments"].as_array().into_iter().flatten())
        .filter_map(media)
        .collect();
    let (text, mentions_us) = words(data["content"].as_str()?, &data["mentions"], us);
    if text.is_empty() && media.is_empty() && !mentions_us && copies.is_empty() {
        return None;
    }
    let quoted = &data["referenced_message"];
    let quoted = quoted["id"].as_str().map(|id| Quoted {
        id: id.to_owned(),
        text: names::text(quoted["content"].as_str().unwrap_or_default()),
        is_ours: quoted["author"]["id"] == json!(us.id),
    });
    let mut message =
        Message { id: id.to_owned(), text: names::text(&text), mentions_us, is_edited, quoted, media };
    if !copies.is_empty() {
        let texts: Vec<&str> = copies.iter().filter_map(|said| said["content"].as_str()).collect();
        message = message.forwarding(&texts.join("\n"));
    }
    let is_group = data["guild_id"].is_string();
    let edited = data["edited_timestamp"].as_str().filter(|_| is_edited);
    Some(Event {
        id: edited.map_or_else(|| id.to_owned(), |at| format!("{id}:{at}")),
        at_ms: at_ms(id),
        conversation: Conversation { id: channel.to_owned(), is_group },
        sender,
        what: What::Message(message),
        reply: if is_group { json!({"message": id}) } else { Value::Null },
    })
}

fn media(file: &Value) -> Option<Media> {
    let is_image = file["content_type"].as_str().is_some_and(|kind| kind.starts_with("image/"));
    Some(Media {
        kind: if is_image { MediaKind::Image } else { MediaKind::File },
        name: names::file(file["filename"].as_str().unwrap_or_default()),
        bytes: file["size"].as_u64(),
        handle: json!(file["url"].as_str()?),
    })
}

fn press(data: &Value, us: &Us) -> Option<Event> {
    if data["type"].as_u64() != Some(COMPONENT) {
        return None;
    }
    let id = data["id"].as_str()?;
    let user = if data["member"]["user"].is_object() { &data["member"]["user"] } else { &data["user"] };
    let channel = data["channel_id"].as_str().or(data["message"]["channel_id"].as_str())?;
    let press = Press {
        token: data["data"]["custom_id"].as_str()?.to_owned(),
        message: data["message"]["id"].as_str()?.to_owned(),
        handle: json!({"app": data["application_id"].as_str().unwrap_or(&us.app), "token": data["token"]}),
    };
    Some(Event {
        id: format!("press:{id}"),
        at_ms: at_ms(id),
        conversation: Conversation { id: channel.to_owned(), is_group: data["guild_id"].is_string() },
        sender: sender(user, us)?,
        what: What::Press(press),
        reply: Value::Null,
    })
}

/// A text with people's names instead of their ids, and true if it mentions the bot: by a mark in the text that is also in Discord's own
/// list of mentions. A mention at the beginning is left out.
fn words(content: &str, mentions: &Value, us: &Us) -> (String, bool) {
    let mut text = content.to_owned();
    let mut mentions_us = false;
    for user in mentions.as_array().into_iter().flatten() {
        let Some(id) = user["id"].as_str().filter(|id| !id.is_empty()) else { continue };
        let marks = [format!("<@{id}>"), format!("<@!{id}>")];
        if id == us.id {
            mentions_us |= marks.iter().any(|mark| text.contains(mark));
            let start = text.trim_start();
            if let Some(behind) = marks.iter().find_map(|mark| start.strip_prefix(mark)) {
                text = behind
                    .trim_start_matches(|c: char| c.is_whitespace() || matches!(c, ',' | ':'))
                    .to_owned();
            }
        }
        let name = user["global_name"].as_str().or(user["username"].as_str()).unwrap_or(id);
        for mark in marks {
            text = text.replace(&mark, &format!("@{}", names::person(name)));
        }
    }
    (text, mentions_us)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us() -> Us {
        Us { id: "7".to_owned(), app: "8".to_owned(), name: "sand".to_owned() }
    }

    #[test]
    fn only_a_mark_that_discord_counts_mentions() {
        let ours = json!([{"id": "7", "username": "sand"}, {"id": "9", "username": "bob", "global_name": "Bob\u{202e}"}]);
        for (content, list, text, mentions) in [
            ("<@7> run it", &ours, "run it", true),
            (" <@!7>, run", &ours, "run", true),
            ("<@9> and <@7>", &ours, "@Bob and @sand", true),
            ("<@7> in code", &json!([]), "<@7> in code", false),
            ("@sand run", &ours, "@sand run", false),
            ("an answer alone", &ours, "an answer alone", false),
            ("<@7>", &ours, "", true),
        ] {
            assert_eq!(words(content, list, &us()), (text.to_owned(), mentions), "{content}");
        }
    }

    #[test]
    fn what_is_forwarded_is_no_word_of_the_sender() {
        let snapshot = json!({"message": {"content": "<@7> !rm", "attachments": [{"filename": "a.txt", "url": "https://cdn.discordapp.com/a"}]}});
        let mut said = json!({"id": "5", "channel_id": "6", "type": 0, "content": "", "author": {"id": "1", "username": "ann"},
            "message_reference": {"type": 1, "message_id": "3"}, "message_snapshots": [snapshot]});
        for own in ["", "look"] {
            said["content"] = json!(own);
            let What::Message(message) = event("MESSAGE_CREATE", &said, &us()).unwrap().what else {
                panic!()
            };
            let expected = if own.is_empty() { crate::event::FORWARDED } else { own };
            assert_eq!(
                (message.text.as_str(), message.mentions_us, message.media.len()),
                (expected, false, 1)
            );
            assert_eq!(
                message.quoted,
                Some(Quoted { id: String::new(), text: "<@7> !rm".to_owned(), is_ours: false })
            );
        }
    }

    #[test]
    fn strange_dispatches_are_none() {
        let author = json!({"id": "1", "username": "ann"});
        for (kind, data) in [
            ("MESSAGE_CREATE", json!({})),
            ("MESSAGE_CREATE", json!({"id": "1", "channel_id": "2", "content": "x"})),
            (
                "MESSAGE_CREATE",
                json!({"id": "1", "channel_id": "2", "content": "x", "author": author, "type": 7}),
            ),
            ("MESSAGE_UPDATE", json!({"id": "1", "channel_id": "2", "content": "x", "author": author})),
            ("INTERACTION_CREATE", json!({"id": "1", "type": 2, "data": {"custom_id": "x"}})),
            ("TYPING_START", json!({"channel_id": "2"})),
        ] {
            assert_eq!(event(kind, &data, &us()), None, "{kind} {data}");
        }
    }

    #[test]
    fn no_document_makes_it_fail() {
        let author = json!({"id": "1", "username": "ann", "global_name": "Ann"});
        let file = json!({"id": "1", "filename": "a.png", "size": 3, "url": "https://cdn.discordapp.com/a", "content_type": "image/png"});
        let said = json!({"id": "5", "channel_id": "6", "guild_id": "7", "type": 19, "content": "<@7> x", "author": author, "attachments": [file],
            "mentions": [{"id": "7", "username": "sand"}], "edited_timestamp": "t", "referenced_message": {"id": "4", "content": "q", "author": author}});
        let pressed = json!({"id": "5", "type": 3, "application_id": "8", "token": "t", "channel_id": "6", "member": {"user": author},
            "data": {"custom_id": "x"}, "message": {"id": "4", "channel_id": "6"}});
        for (kind, data) in
            [("MESSAGE_CREATE", &said), ("MESSAGE_UPDATE", &said), ("INTERACTION_CREATE", &pressed)]
        {
            assert!(event(kind, data, &us()).is_some(), "{kind}");
            for variant in crate::strange::variants(data) {
                let _ = event(kind, &variant, &us());
            }
        }
    }
}
