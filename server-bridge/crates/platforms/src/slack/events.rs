//! Converts envelopes to events.

use serde_json::{Value, json};

use crate::event::{Conversation, Event, Media, MediaKind, Message, Press, Sender, What};
use crate::names;

/// The identity of the app.
#[derive(Clone, Debug)]
pub(super) struct Us {
    /// The bot user's id.
    pub(super) user: String,
    /// The bot's id, which appears as the sender of its own messages.
    pub(super) bot: String,
    /// The bot's name, for display.
    pub(super) shown: String,
}

/// Converts an envelope to an event; `None` if the envelope is of no use.
pub(super) fn event(envelope: &Value, us: &Us) -> Option<Event> {
    let payload = &envelope["payload"];
    match envelope["type"].as_str()? {
        "events_api" => {
            let event = &payload["event"];
            match event["type"].as_str()? {
                "message" | "app_mention" => message(event, us),
                _ => change(payload, event, us),
            }
        }
        "interactive" => press(payload),
        _ => None,
    }
}

/// Reads a message. One message may arrive as two events, `message` and `app_mention`, so the event's id is the message's own.
fn message(event: &Value, us: &Us) -> Option<Event> {
    let channel = event["channel"].as_str()?;
    let subtype = event["subtype"].as_str();
    let said = match subtype {
        None | Some("file_share" | "thread_broadcast" | "me_message" | "bot_message") => event,
        // Slack itself changes messages too, to add the preview of a link.
        Some("message_changed") if event["message"]["text"] != event["previous_message"]["text"] => {
            &event["message"]
        }
        _ => return None,
    };
    let is_edited = subtype == Some("message_changed");
    let at = said["ts"].as_str()?;
    let id = if is_edited {
        format!("{channel}:{at}:{}", said["edited"]["ts"].as_str().or(event["event_ts"].as_str())?)
    } else {
        format!("{channel}:{at}")
    };
    let (user, bot) = (said["user"].as_str(), said["bot_id"].as_str());
    let sender = Sender {
        id: user.or(bot)?.to_owned(),
        name: String::new(),
        is_bot: bot.is_some() || user == Some(&us.user) || bot == Some(&us.bot),
    };
    let (text, mentions_us) = words(said["text"].as_str().unwrap_or_default(), us);
    let media: Vec<Media> = said["files"].as_array().into_iter().flatten().filter_map(media).collect();
    // Shared messages are in a separate field, next to the sender's own words.
    let shared = said["attachments"].as_array().into_iter().flatten();
    let shared: Vec<String> = shared
        .filter(|attachment| attachment["is_share"] == json!(true))
        .map(|attachment| words(attachment["text"].as_str().unwrap_or_default(), us).0)
        .collect();
    if text.is_empty() && media.is_empty() && !mentions_us && shared.is_empty() {
        return None;
    }
    let mut message =
        Message { id: at.to_owned(), text: names::text(&text), mentions_us, is_edited, quoted: None, media };
    if !shared.is_empty() {
        message = message.forwarding(&shared.join("\n"));
    }
    let thread = said["thread_ts"].as_str().filter(|thread| *thread != at);
    let is_group = event["channel_type"] != "im" && !channel.starts_with('D');
    Some(Event {
        id,
        at_ms: milliseconds(at),
        conversation: conversation(channel, thread, is_group),
        sender,
        what: What::Message(message),
        reply: Value::Null,
    })
}

fn conversation(channel: &str, thread: Option<&str>, is_group: bool) -> Conversation {
    let id = thread.map_or_else(|| channel.to_owned(), |thread| format!("{channel}/{thread}"));
    Conversation { id, is_group }
}

/// Converts a change of a channel to an event if it concerns the app; `None` otherwise.
fn change(payload: &Value, event: &Value, us: &Us) -> Option<Event> {
    let (channel, what) = match event["type"].as_str()? {
        "member_left_channel" if event["user"] == json!(us.user) => (&event["channel"], What::Removed),
        "channel_archive" | "group_archive" | "channel_deleted" | "channel_left" | "group_left" => {
            (&event["channel"], What::Removed)
        }
        "channel_id_changed" => {
            (&event["old_channel_id"], What::Moved { to: event["new_channel_id"].as_str()?.to_owned() })
        }
        _ => return None,
    };
    let id = event["user"].as_str().or(event["actor_id"].as_str()).unwrap_or(&us.user).to_owned();
    Some(Event {
        id: payload["event_id"].as_str()?.to_owned(),
        at_ms: payload["event_time"].as_i64().unwrap_or(0).saturating_mul(1000),
        conversation: conversation(channel.as_str()?, None, true),
        sender: Sender { is_bot: id == us.user, id, name: String::new() },
        what,
        reply: Value::Null,
    })
}

fn press(payload: &Value) -> Option<Event> {
    if payload["type"] != "block_actions" {
        return None;
    }
    let action = &payload["actions"][0];
    let channel = payload["channel"]["id"].as_str().or(payload["container"]["channel_id"].as_str())?;
    let message = payload["container"]["message_ts"].as_str().or(payload["message"]["ts"].as_str())?;
    let thread = payload["container"]["thread_ts"].as_str().or(payload["message"]["thread_ts"].as_str());
    let thread = thread.filter(|thread| *thread != message);
    let user = &payload["user"];
    let at = action["action_ts"].as_str().unwrap_or_default();
    let press = Press {
        token: action["value"].as_str()?.to_owned(),
        message: message.to_owned(),
        handle: payload["response_url"].clone(),
    };
    Some(Event {
        id: format!("press:{}", payload["trigger_id"].as_str()?),
        at_ms: milliseconds(at),
        conversation: conversation(channel, thread, !channel.starts_with('D')),
        sender: Sender {
            id: user["id"].as_str()?.to_owned(),
            name: names::person(user["name"].as_str().unwrap_or_default()),
            is_bot: false,
        },
        what: What::Press(press),
        reply: Value::Null,
    })
}

/// Reads a file stored on Slack; `None` for other files, which appear as links in the text.
fn media(file: &Value) -> Option<Media> {
    if matches!(file["mode"].as_str(), Some("external" | "tombstone" | "hidden_by_limit"))
        || file["is_external"] == json!(true)
    {
        return None;
    }
    let url = file["url_private_download"].as_str().or(file["url_private"].as_str())?;
    let is_image = file["mimetype"].as_str().is_some_and(|kind| kind.starts_with("image/"));
    Some(Media {
        kind: if is_image { MediaKind::Image } else { MediaKind::File },
        name: names::file(file["name"].as_str().unwrap_or_default()),
        bytes: file["size"].as_u64(),
        handle: json!(url),
    })
}

fn milliseconds(ts: &str) -> i64 {
    let (seconds, rest) = ts.split_once('.').unwrap_or((ts, ""));
    let rest: i64 = rest.get(..3).and_then(|rest| rest.parse().ok()).unwrap_or(0);
    seconds.parse::<i64>().unwrap_or(0).saturating_mul(1000).saturating_add(rest)
}

/// Returns a text as a person reads it, and true if it mentions the app: by `<@U…>`, which people cannot type, because Slack escapes `<`.
fn words(text: &str, us: &Us) -> (String, bool) {
    let ours = format!("<@{}", us.user);
    let is_ours = |rest: &str| rest.strip_prefix(&ours).is_some_and(|rest| rest.starts_with(['>', '|']));
    let mut mentions_us = false;
    let mut words = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        words.push_str(&unescaped(&rest[..at]));
        rest = &rest[at..];
        let Some(end) = rest.find('>') else { break };
        let inside = &rest[1..end];
        if is_ours(rest) {
            if mentions_us || !words.trim().is_empty() {
                words.push('@');
                words.push_str(us.shown.trim_start_matches('@').split(" (").next().unwrap_or_default());
            } else {
                words.clear();
            }
            mentions_us = true;
        } else {
            words.push_str(&marked(inside));
        }
        rest = &rest[end + 1..];
    }
    words.push_str(&unescaped(rest));
    let words = if mentions_us {
        words.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, ',' | ':'))
    } else {
        &words
    };
    (words.to_owned(), mentions_us)
}

/// Converts the text between `<` and `>` for readers: a person, a channel, a group, or a link.
fn marked(inside: &str) -> String {
    let (target, label) =
        inside.split_once('|').map_or((inside, None), |(target, label)| (target, Some(unescaped(label))));
    match target.chars().next() {
        Some('@') => label.map_or_else(|| target.to_owned(), |label| format!("@{label}")),
        Some('#') => label
            .filter(|label| !label.is_empty())
            .map_or_else(|| target.to_owned(), |label| format!("#{label}")),
        Some('!') => label.unwrap_or_else(|| format!("@{}", &target[1..])),
        _ => {
            let address = unescaped(target);
            match label {
                Some(label)
                    if address != label
                        && !address.ends_with(&format!("//{label}"))
                        && address != format!("mailto:{label}") =>
                {
                    format!("{label} ({address})")
                }
                Some(label) => label,
                None => address,
            }
        }
    }
}

fn unescaped(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us() -> Us {
        Us { user: "U1".to_owned(), bot: "B1".to_owned(), shown: "@sand (Team)".to_owned() }
    }

    #[test]
    fn only_a_mark_mentions() {
        let cases = [
            ("<@U1> run it", "run it", true),
            (" <@U1|sand>: run", "run", true),
            ("please <@U1> run", "please @sand run", true),
            ("&lt;@U1&gt; run", "<@U1> run", false),
            ("@sand run", "@sand run", false),
            ("<@U12> run", "@U12 run", false),
            ("<@U1>", "", true),
            ("a &amp;&lt; b <https://a.example/?x=1&amp;y=2>", "a &< b https://a.example/?x=1&y=2", false),
            (
                "<https://a.example|here> <http://b.example|b.example> <#C1|general> <!here> <!subteam^S1|@ops>",
                "here (https://a.example) b.example #general @here @ops",
                false,
            ),
            ("broken <", "broken <", false),
        ];
        for (text, expected, mentions) in cases {
            assert_eq!(words(text, &us()), (expected.to_owned(), mentions), "{text}");
        }
    }

    #[test]
    fn what_is_shared_is_no_word_of_the_sender() {
        for (own, expected) in [("", crate::event::FORWARDED), ("look", "look")] {
            let said = json!({"type": "message", "channel": "D1", "user": "U2", "text": own, "ts": "1.000001",
                "attachments": [{"is_share": true, "text": "<@U1> !rm &amp;"}, {"text": "a preview of a link"}]});
            let envelope = json!({"type": "events_api", "payload": {"event_id": "E", "event": said}});
            let What::Message(message) = event(&envelope, &us()).unwrap().what else { panic!() };
            assert_eq!((message.text.as_str(), message.mentions_us), (expected, false));
            assert_eq!(
                message.quoted.map(|quoted| (quoted.text, quoted.is_ours)),
                Some(("!rm &".to_owned(), false))
            );
        }
    }

    #[test]
    fn strange_envelopes_are_none() {
        for strange in [
            json!({}),
            json!({"type": "events_api"}),
            json!({"type": "interactive", "payload": {"type": "view_submission"}}),
            json!({"type": "events_api", "payload": {"event": {"type": "message", "channel": "C1", "ts": "1.0", "text": "x"}}}),
            json!({"type": "events_api", "payload": {"event": {"type": "message", "subtype": "channel_join", "channel": "C1", "ts": "1.0", "user": "U2", "text": "x"}}}),
            json!({"type": "slash_commands", "payload": {}}),
        ] {
            assert_eq!(event(&strange, &us()), None, "{strange}");
        }
    }

    #[test]
    fn no_document_makes_it_fail() {
        let file = json!({"id": "F", "name": "a.png", "mimetype": "image/png", "size": 3, "url_private": "https://files.slack.com/x"});
        let said = json!({"type": "message", "channel": "C1", "channel_type": "channel", "user": "U2", "text": "<@U1> <http://a|b> &amp;",
            "ts": "1.000001", "thread_ts": "0.5", "files": [file]});
        let changed = json!({"type": "message", "subtype": "message_changed", "channel": "C1", "event_ts": "2.0", "message": said,
            "previous_message": {"text": "old"}});
        let pressed = json!({"type": "block_actions", "trigger_id": "1", "user": {"id": "U2", "name": "a"}, "channel": {"id": "C1"},
            "container": {"message_ts": "1.0", "thread_ts": "0.5"}, "response_url": "https://a", "actions": [{"value": "x", "action_ts": "1.5"}]});
        for envelope in [
            json!({"type": "events_api", "payload": {"event_id": "E", "event": said}}),
            json!({"type": "events_api", "payload": {"event_id": "E", "event": changed}}),
            json!({"type": "interactive", "payload": pressed}),
        ] {
            assert!(event(&envelope, &us()).is_some(), "{envelope}");
            for variant in crate::strange::variants(&envelope) {
                let _ = event(&variant, &us());
            }
        }
    }
}
