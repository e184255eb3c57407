//! A model's edits to its own conversation.

use llm::{Content, Message};
use records::ContextEdit;
use regex::RegexBuilder;

use super::conversation::Item;
use super::{Conversation, groups, history};
use crate::limits::{EDIT_PROTECTED_MESSAGES, EDIT_REPLACEMENT_BYTES, REGEX_BYTES};

/// Replaces the text of a message that cannot be removed completely.
const DELETED: &str = "(deleted)";

/// An action on a message.
#[derive(Clone, Debug)]
pub enum Action<'a> {
    /// Removes the message with the rest of its turn.
    DeleteTurn,
    /// Removes the message.
    Delete,
    /// Keeps this many characters of the message.
    Truncate(usize),
    /// Replaces a text everywhere in the message.
    Replace {
        /// The text to search for.
        old: &'a str,
        /// The new text.
        new: &'a str,
        /// True if `old` is a regular expression.
        is_regex: bool,
    },
}

/// The edits that this action makes to the one message that contains a text.
///
/// Fails with a text for the model: no message contains the text, several do, it is one of the last three, the expression is invalid, or
/// nothing would change.
pub fn edits(
    conversation: &Conversation,
    contains: &str,
    action: &Action<'_>,
) -> Result<Vec<ContextEdit>, String> {
    let items = conversation.items();
    let at = find(conversation, contains, action)?;
    let is_protected = |at: usize| at + EDIT_PROTECTED_MESSAGES >= items.len();
    let touched = match action {
        Action::DeleteTurn => turn_of(items, at),
        Action::Delete => group_of(items, at),
        Action::Truncate(_) | Action::Replace { .. } => at..at + 1,
    };
    if touched.clone().any(is_protected) {
        return Err(format!("the last {EDIT_PROTECTED_MESSAGES} messages cannot be edited"));
    }
    let changed = |at: usize| {
        let item = &items[at];
        let item_json = match action {
            Action::DeleteTurn | Action::Delete => deleted(&item.message, touched.len() > 1),
            Action::Truncate(chars) => Some(changed(&item.message, |text| Ok(truncated(text, *chars)))?),
            Action::Replace { old, new, is_regex } => {
                Some(changed(&item.message, |text| replaced(text, old, new, *is_regex))?)
            }
        };
        let item_json = item_json.map(|message| history::to_json(&message));
        Ok(ContextEdit { item: item.id, item_json })
    };
    touched.clone().map(changed).collect()
}

/// The only message that contains a text; if a whole turn is meant, the messages must be of one turn.
fn find(conversation: &Conversation, contains: &str, action: &Action<'_>) -> Result<usize, String> {
    if contains.is_empty() {
        return Err("name the message by a part of its text".to_owned());
    }
    let has = |item: &Item| {
        let line = conversation.mask_of(item.id).is_some_and(|mask| mask.placeholder.contains(contains));
        line || texts(&item.message).any(|text| text.contains(contains))
    };
    let items = conversation.items();
    let found: Vec<usize> = (0..items.len()).filter(|at| has(&items[*at])).collect();
    let is_one_turn = |first: usize| found.iter().all(|at| turn_of(items, first).contains(at));
    match found.as_slice() {
        [] => Err("no message contains this text; copy it exactly from the message".to_owned()),
        [at] => Ok(*at),
        [first, ..] if matches!(action, Action::DeleteTurn) && is_one_turn(*first) => Ok(*first),
        several => {
            Err(format!("{} messages contain this text; give a longer part of the message", several.len()))
        }
    }
}

fn texts(message: &Message) -> Box<dyn Iterator<Item = &str> + '_> {
    match message {
        Message::User(content) => Box::new(content.iter().filter_map(Content::text)),
        Message::Tool(result) => Box::new(result.content.iter().filter_map(Content::text)),
        Message::Assistant(said) => Box::new(std::iter::once(said.text.as_str())),
    }
}

/// The range from a user's message up to the next one.
fn turn_of(items: &[Item], at: usize) -> std::ops::Range<usize> {
    let is_user = |at: &usize| matches!(items[*at].message, Message::User(_));
    let first = (0..=at).rev().find(is_user).unwrap_or(0);
    first..(at + 1..items.len()).find(is_user).unwrap_or(items.len())
}

/// The range of an answer with the results of its calls; any other item is alone in its range.
fn group_of(items: &[Item], at: usize) -> std::ops::Range<usize> {
    let group = groups::of(items).into_iter().find(|group| group.answer == at);
    group.map_or(at..at + 1, |group| at..group.results.end)
}

/// The substitute for a deleted message; a result stays as long as its call does, and a user's message always stays.
fn deleted(message: &Message, is_with_others: bool) -> Option<Message> {
    let content = vec![Content::Text(DELETED.to_owned())];
    match message {
        Message::User(_) => Some(Message::User(content)),
        Message::Tool(result) if !is_with_others => {
            Some(Message::Tool(llm::ToolResult { content, ..result.clone() }))
        }
        Message::Tool(_) | Message::Assistant(_) => None,
    }
}

/// The message with changed texts.
fn changed(message: &Message, with: impl Fn(&str) -> Result<String, String>) -> Result<Message, String> {
    let mut changed = message.clone();
    let content = |content: &mut Vec<Content>| -> Result<(), String> {
        for content in content {
            if let Content::Text(text) = content {
                *text = kept(with(text)?);
            }
        }
        Ok(())
    };
    match &mut changed {
        Message::User(texts) => content(texts)?,
        Message::Tool(result) => content(&mut result.content)?,
        Message::Assistant(said) => said.text = kept(with(&said.text)?),
    }
    if changed == *message {
        return Err("the edit would change nothing in the message".to_owned());
    }
    Ok(changed)
}

/// A text that may remain in a message: providers refuse an empty one.
fn kept(text: String) -> String {
    if text.trim().is_empty() { DELETED.to_owned() } else { text }
}

fn truncated(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((at, _)) => format!("{}… (truncated)", &text[..at]),
        None => text.to_owned(),
    }
}

fn replaced(text: &str, old: &str, new: &str, is_regex: bool) -> Result<String, String> {
    if old.is_empty() {
        return Err("give the text to replace".to_owned());
    }
    if new.len() > EDIT_REPLACEMENT_BYTES {
        return Err(format!("the new text is longer than {EDIT_REPLACEMENT_BYTES} bytes; shorten it"));
    }
    // An edit is meant to save space, so the growth is limited.
    let most = text.len() + EDIT_REPLACEMENT_BYTES;
    let too_long = || "the message would become longer; an edit is meant to save room".to_owned();
    if !is_regex {
        let count = text.matches(old).count();
        let after = (text.len() - count * old.len()).saturating_add(count.saturating_mul(new.len()));
        return if after > most { Err(too_long()) } else { Ok(text.replace(old, new)) };
    }
    let regex = RegexBuilder::new(old)
        .size_limit(REGEX_BYTES)
        .build()
        .map_err(|error| format!("the text to replace is not a valid regular expression: {error}"))?;
    let references = new.matches('$').count();
    let (mut replaced, mut from) = (String::new(), 0);
    for captures in regex.captures_iter(text) {
        let range = captures.get_match().range();
        if references.saturating_mul(range.len()) > most {
            return Err(too_long());
        }
        replaced.push_str(&text[from..range.start]);
        captures.expand(new, &mut replaced);
        from = range.end;
        if replaced.len() > most {
            return Err(too_long());
        }
    }
    replaced.push_str(&text[from..]);
    Ok(replaced)
}

#[cfg(test)]
mod tests {
    use records::ItemId;

    use super::*;
    use crate::context::conversation::tests::{of, reads, result};

    fn conversation() -> Conversation {
        let messages = [
            Message::user("first question"),
            reads(&["1", "2"]),
            result("1", "one thing"),
            result("2", "two things, two"),
            Message::user("second question"),
            reads(&["3"]),
            result("3", "the end"),
        ];
        of(1_000, &messages)
    }

    /// The new version of each edited item.
    fn done(contains: &str, action: &Action<'_>) -> Result<Vec<(i64, Option<String>)>, String> {
        let text = |json: String| match history::from_json(&json).unwrap() {
            Message::User(content) => content[0].text().unwrap().to_owned(),
            Message::Tool(result) => result.content[0].text().unwrap().to_owned(),
            Message::Assistant(said) => said.text,
        };
        let edits = edits(&conversation(), contains, action)?;
        Ok(edits.into_iter().map(|edit| (edit.item.0, edit.item_json.map(text))).collect())
    }

    fn some(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn a_message_a_group_or_a_turn_goes_and_what_is_left_can_be_sent() {
        assert_eq!(done("one thing", &Action::Delete), Ok(vec![(3, some("(deleted)"))]));
        assert_eq!(done("first", &Action::Delete), Ok(vec![(1, some("(deleted)"))]));
        let turn = vec![(1, some("(deleted)")), (2, None), (3, None), (4, None)];
        assert_eq!(done("two things", &Action::DeleteTurn), Ok(turn.clone()));
        assert_eq!(done("thing", &Action::DeleteTurn), Ok(turn), "both of them are in it");
    }

    #[test]
    fn texts_are_cut_and_changed() {
        assert_eq!(done("one thing", &Action::Truncate(3)), Ok(vec![(3, some("one… (truncated)"))]));
        let replace = |old, new, is_regex| done("two things", &Action::Replace { old, new, is_regex });
        assert_eq!(replace("two", "2", false), Ok(vec![(4, some("2 things, 2"))]));
        assert_eq!(replace("t(w)o", "$1", true), Ok(vec![(4, some("w things, w"))]));
        assert!(replace("(", "x", true).unwrap_err().contains("regular expression"));
        assert!(replace("(", "x", false).unwrap_err().contains("nothing"));
        assert!(replace("", "x", false).is_err() && replace("t", &"x".repeat(10_241), false).is_err());
        assert!(done("one thing", &Action::Truncate(9)).unwrap_err().contains("nothing"));
    }

    #[test]
    fn an_edit_makes_no_message_much_longer_and_none_empty() {
        let long = "a".repeat(1_000_000);
        let new = "b".repeat(EDIT_REPLACEMENT_BYTES);
        for (old, new, is_regex) in
            [("a", new.as_str(), false), ("a", new.as_str(), true), (".*", "$0$0$0", true)]
        {
            assert!(
                replaced(&long, old, new, is_regex).unwrap_err().contains("to save room"),
                "{old} {is_regex}"
            );
        }
        assert_eq!(replaced("aXbX", "X", "", false).unwrap(), "ab");
        assert_eq!(replaced("a1b22", "[0-9]+", "<$0>", true).unwrap(), "a<1>b<22>");
        assert_eq!(kept(" ".to_owned()), DELETED);
    }

    #[test]
    fn the_last_three_messages_and_what_is_not_there_cannot_be_edited() {
        for contains in ["second", "the end"] {
            for action in [Action::Delete, Action::DeleteTurn, Action::Truncate(1)] {
                assert!(done(contains, &action).unwrap_err().contains("last 3"), "{contains}");
            }
        }
        assert!(done("two things", &Action::Delete).is_ok(), "the fourth from the end can");
        assert!(done("nowhere", &Action::Delete).unwrap_err().contains("no message"));
        assert!(done("question", &Action::Delete).unwrap_err().starts_with("2 messages"));
        assert!(done("", &Action::Delete).is_err());
        assert_eq!(conversation().items()[3].id, ItemId(4));
    }
}
