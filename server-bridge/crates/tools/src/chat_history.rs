//! `ChatHistory`: finds messages in this user's chats.

use schemars::JsonSchema;
use serde::Deserialize;
use store::{FoundMessage, MessageId, MessageSearch, marked_from};

use super::{Failure, Outcome, Work, utc};
use crate::limits::{HISTORY_RESULTS, HISTORY_SNIPPET_CHARS};
use crate::{Ported, Services};
use agent::approval::Access;
use agent::tool::{Live, Rules, ToolContext, TypedTool};

/// The messages to find.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// Words, or beginnings of words, that must all be in the message; at most 8. Without any, the latest messages are found.
    #[serde(default)]
    query: String,
    /// Only messages since this time, like 2026-01-31 or 2026-01-31T08:00, in UTC.
    #[serde(default)]
    since: Option<String>,
    /// Only messages before this time.
    #[serde(default)]
    until: Option<String>,
    /// Whether to search only this chat.
    #[serde(default)]
    this_chat: bool,
    /// Only messages before the one with this number: the next page of an earlier search.
    #[serde(default)]
    before: Option<i64>,
}

impl TypedTool for Arguments {
    type Services = Services;

    const NAME: &'static str = "ChatHistory";
    const DESCRIPTION: &'static str = "Finds messages in this user's chats, including earlier chats, by words and time, the \
        latest first. Use it when the user refers to something that was said before.";
    const RULES: Rules = Rules::of(Access::Read).without_machine();

    fn hint(&self) -> &str {
        &self.query
    }

    async fn run(
        &self,
        services: &Services,
        context: &ToolContext<'_>,
        _live: Live<'_>,
    ) -> Result<Outcome, Failure> {
        let work = &Work { services, context };
        run(self, work).await
    }
}

async fn run(arguments: &Arguments, work: &Work<'_>) -> Result<Outcome, Failure> {
    let words: Vec<&str> = arguments.query.split_whitespace().collect();
    let search = MessageSearch {
        words: &words,
        chat: if arguments.this_chat { Some(work.agent()?.chat) } else { work.only_chat().await? },
        from_ms: time(arguments.since.as_deref())?.unwrap_or(0),
        until_ms: time(arguments.until.as_deref())?.unwrap_or(i64::MAX),
        before: arguments.before.map(MessageId),
        limit: HISTORY_RESULTS,
    };
    let found = match work.services.store.search_messages(work.user.id, &search).await {
        Err(error @ store::Error::Invalid { .. }) => return Err(Failure::Message(error.to_string())),
        found => found.ported()?,
    };
    let Some(last) = found.last().map(|message| message.id) else {
        return Ok(Outcome::done("no message was found"));
    };
    let mut lines: Vec<String> = found.iter().map(|message| line(message, &words)).collect();
    if found.len() == HISTORY_RESULTS as usize {
        lines.push(format!("(there may be more: search again with before {last})"));
    }
    Ok(Outcome::part(lines.join("\n")))
}

pub(crate) fn time(text: Option<&str>) -> Result<Option<i64>, Failure> {
    let Some(text) = text else { return Ok(None) };
    let unknown =
        || Failure::Message(format!("{text:?} is not a time; write it like 2026-01-31 or 2026-01-31T08:00"));
    utc::parse(text).map(Some).ok_or_else(unknown)
}

/// `#12 2026-01-31 08:00 user in "Title": …words…`
pub(crate) fn line(message: &FoundMessage, words: &[&str]) -> String {
    let FoundMessage { id, title, role, text, created_at_ms, .. } = message;
    let (time, role) = (utc::shown(*created_at_ms), role.as_str());
    format!("#{id} {time} {role} in {title:?}: {}", snippet(text, words))
}

/// The text around the first of the words, on one line.
fn snippet(text: &str, words: &[&str]) -> String {
    let small = text.to_ascii_lowercase();
    let at = words.iter().filter_map(|word| small.find(&word.to_ascii_lowercase())).min().unwrap_or(0);
    let before = text[..at].chars().rev().take(HISTORY_SNIPPET_CHARS).map(char::len_utf8).sum::<usize>();
    let after = text[at..].chars().take(HISTORY_SNIPPET_CHARS).map(char::len_utf8).sum::<usize>();
    let (begin, end) = (at - before, at + after);
    let line = marked_from(&text[..end], begin).split_whitespace().collect::<Vec<_>>().join(" ");
    let (head, tail) = (if begin > 0 { "…" } else { "" }, if end < text.len() { "…" } else { "" });
    format!("{head}{line}{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snippet_shows_what_stands_around_the_words() {
        assert_eq!(snippet("the Red\n door", &["red"]), "the Red door");
        let long = format!("{} Red {}", "é".repeat(1000), "ü".repeat(1000));
        let shown = snippet(&long, &["door", "red"]);
        assert!(shown.starts_with("…é") && shown.ends_with("ü…") && shown.contains("é Red ü"), "{shown}");
        assert_eq!(shown.chars().count(), 2 * HISTORY_SNIPPET_CHARS + 2);
        assert_eq!(snippet(&"x".repeat(1000), &[]).chars().count(), HISTORY_SNIPPET_CHARS + 1);
    }
}
