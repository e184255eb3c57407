//! Memories in recorded conversations: the lines that showed them to a model or in a chat, and the removal of these lines once the memories are
//! forgotten.
//!
//! ```text
//!   - #7 semantic "tabs" (from person; found by tabs): "likes tabs"      a line of a note, of a tool's result or of a list
//!   ^^^^^^^^^^^^^ its mark                       once forgotten: "- #7 (forgotten)"
//! ```
//! Every line that the server writes about a memory begins with a mark, and quotes the memory on that one line. So no other record is needed:
//! forgetting a memory searches for its marks. An excerpt that begins within such a line gets the mark again ([`marked_from`]). Partial indexes of
//! the database list the few rows that contain something like a mark, so that only those are read.
//!
//! People write lists of issues that look the same: `- #7: "it crashes"`. So only texts of the server are searched: notes before messages, tool
//! results with their cards, and notices. Texts of people and models stay unchanged, except for summaries and lines that replace results.

use std::collections::HashSet;

use super::MemoryKind;
use crate::error::Result;
use crate::message_index;
use crate::sql::{Transaction, query, query_as, query_scalar};
use crate::{ChatId, ItemId, MessageId, UserId};

/// The beginning of every line about a memory, up to its name.
#[must_use]
pub fn memory_mark(id: i64, kind: MemoryKind) -> String {
    format!("{HEAD}{id} {}", kind.as_str())
}

/// The part of a text from the byte `from` on. If the part begins within a line about a memory, that line's mark is put before it, so that the part
/// is removed together with the memory.
#[must_use]
pub fn marked_from(text: &str, from: usize) -> String {
    let line = text[..from].rfind('\n').map_or(0, |end| end + 1);
    let mark = marks(&text[line..]).take_while(|mark| line + mark.at < from).last();
    let rest = &text[from..];
    match mark {
        Some(mark) => format!("{HEAD}{}: \"…{rest}", mark.id),
        None => rest.to_owned(),
    }
}

/// True if a text contains lines about memories.
#[must_use]
pub(crate) fn shows_memories(text: &str) -> bool {
    marks(text).next().is_some()
}

/// The beginning of a mark. The indexes of migration 68 search for it, too.
const HEAD: &str = "- #";

/// The line that remains of a forgotten memory.
fn forgotten(id: i64) -> String {
    format!("{HEAD}{id} (forgotten)")
}

/// The position of a mark in a text, and the memory's id.
struct Mark {
    at: usize,
    id: i64,
}

/// The marks in a text, or in JSON. The id is followed by a kind or by the quoted text.
fn marks(text: &str) -> impl Iterator<Item = Mark> {
    text.match_indices(HEAD).filter_map(|(at, _)| {
        let after = &text[at + HEAD.len()..];
        let digits = after.find(|c: char| !c.is_ascii_digit())?;
        let (id, rest) = after.split_at(digits);
        let kind = rest.strip_prefix(' ').map(|rest| rest.split([' ', ':']).next().unwrap_or_default());
        let is_mark = kind.is_some_and(|kind| MemoryKind::parse(kind).is_some())
            || [": \"", ": \\\""].iter().any(|quotes| rest.starts_with(quotes));
        Some(Mark { at, id: id.parse().ok().filter(|_| is_mark)? })
    })
}

/// The encoding of a text in the database.
#[derive(Clone, Copy)]
pub(crate) enum Form {
    Plain,
    /// An item of a conversation, as crate `agent` writes it: a line ends with `
    /// ` as two characters, or with the end of its JSON string.
    Item,
}

/// The beginnings of the items for a message with a note, and for a tool's result.
const NOTED: &str = r#"{"user":[{"text":"<context>\n"#;
const RESULT: &str = r#"{"tool":"#;
/// The end of a note. No quoted text contains it, since a line break there is written with two backslashes.
const NOTE_END: &str = r"\n</context>\n\n";

impl Form {
    /// The end of the part that the server wrote.
    fn part_of_server(self, text: &str) -> usize {
        match self {
            Self::Item if text.starts_with(NOTED) => text.find(NOTE_END).unwrap_or_default(),
            Self::Item if !text.starts_with(RESULT) => 0,
            Self::Plain | Self::Item => text.len(),
        }
    }

    /// The end of the line that `text` begins with.
    fn line_end(self, text: &str) -> usize {
        let end = match self {
            Self::Plain => text.find('\n'),
            Self::Item => {
                let mut is_escaped = false;
                text.char_indices().find_map(|(at, c)| match (is_escaped, c) {
                    (true, 'n') => Some(at - 1),
                    (false, '"') => Some(at),
                    _ => {
                        is_escaped = !is_escaped && c == '\\';
                        None
                    }
                })
            }
        };
        end.unwrap_or(text.len())
    }

    /// Removes these memories from a text: cuts each of their lines after its mark. Returns `None` if the text shows none of them.
    fn without(self, text: &str, gone: &HashSet<i64>) -> Option<String> {
        let (mut kept, mut from) = (String::new(), 0);
        let looked_at = &text[..self.part_of_server(text)];
        for mark in marks(looked_at).filter(|mark| gone.contains(&mark.id)) {
            // The mark is on a line that has already been cut.
            if mark.at < from {
                continue;
            }
            kept.push_str(&text[from..mark.at]);
            kept.push_str(&forgotten(mark.id));
            from = mark.at + self.line_end(&text[mark.at..]);
        }
        (from > 0).then(|| kept + &text[from..])
    }
}

/// A table whose rows may show memories. A row is identified by two keys.
struct Place {
    /// Selects the keys of a user's rows that contain the beginning of a mark.
    found: &'static str,
    /// Selects the text of a row.
    text: &'static str,
    /// Replaces the text of a row.
    change: &'static str,
    form: Form,
}

const PLACES: [Place; 4] = [
    Place {
        found: "SELECT i.id, i.turn_id FROM turn_items i JOIN turns t ON t.id = i.turn_id JOIN chats c ON c.id = t.chat_id
                WHERE c.user_id = $1 AND i.item_json LIKE '%- #%'",
        text: "SELECT item_json FROM turn_items WHERE id = $1 AND turn_id = $2",
        change: "UPDATE turn_items SET item_json = $3 WHERE id = $1 AND turn_id = $2",
        form: Form::Item,
    },
    Place {
        found: "SELECT e.item_id, e.turn_id FROM context_edits e JOIN turns t ON t.id = e.turn_id JOIN chats c ON c.id = t.chat_id
                WHERE c.user_id = $1 AND e.item_json LIKE '%- #%'",
        text: "SELECT item_json FROM context_edits WHERE item_id = $1 AND turn_id = $2",
        change: "UPDATE context_edits SET item_json = $3 WHERE item_id = $1 AND turn_id = $2",
        form: Form::Item,
    },
    Place {
        found: "SELECT k.number, k.item_id FROM masks k JOIN chats c ON c.id = k.chat_id
                WHERE c.user_id = $1 AND k.placeholder LIKE '%- #%'",
        text: "SELECT placeholder FROM masks WHERE number = $1 AND item_id = $2",
        change: "UPDATE masks SET placeholder = $3 WHERE number = $1 AND item_id = $2",
        form: Form::Plain,
    },
    // A model may copy lines unchanged into its summary.
    Place {
        found: "SELECT k.id, k.last_item FROM compactions k JOIN chats c ON c.id = k.chat_id
                WHERE c.user_id = $1 AND k.summary LIKE '%- #%'",
        text: "SELECT summary FROM compactions WHERE id = $1 AND last_item = $2",
        change: "UPDATE compactions SET summary = $3 WHERE id = $1 AND last_item = $2",
        form: Form::Plain,
    },
];

/// Removes the lines about forgotten memories from the user's recorded conversations, in the transaction that deletes the memories.
pub(super) async fn remove(transaction: &mut Transaction, user: UserId, gone: &[i64]) -> Result<()> {
    let gone: HashSet<i64> = gone.iter().copied().collect();
    for Place { found, text, change, form } in PLACES {
        let rows: Vec<(i64, i64)> = query_as(found).bind(user).fetch_all(&mut *transaction).await?;
        for (one, other) in rows {
            let shown: String = query_scalar(text).bind(one).bind(other).fetch_one(&mut *transaction).await?;
            let Some(left) = form.without(&shown, &gone) else { continue };
            query(change).bind(one).bind(other).bind(left).execute(&mut *transaction).await?;
        }
    }
    remove_from_offloads(transaction, user, &gone).await?;
    remove_from_messages(transaction, user, &gone).await
}

async fn remove_from_offloads(
    transaction: &mut Transaction,
    user: UserId,
    gone: &HashSet<i64>,
) -> Result<()> {
    let found: Vec<(ChatId, String)> = query_as(
        "SELECT o.chat_id, o.id FROM offloads o JOIN chats c ON c.id = o.chat_id
         WHERE c.user_id = $1 AND o.text LIKE '%- #%'",
    )
    .bind(user)
    .fetch_all(&mut *transaction)
    .await?;
    for (chat, id) in found {
        let text: String = query_scalar("SELECT text FROM offloads WHERE chat_id = $1 AND id = $2")
            .bind(&chat)
            .bind(&id)
            .fetch_one(&mut *transaction)
            .await?;
        let Some(left) = Form::Plain.without(&text, gone) else { continue };
        query("UPDATE offloads SET text = $3 WHERE chat_id = $1 AND id = $2")
            .bind(&chat)
            .bind(&id)
            .bind(left)
            .execute(&mut *transaction)
            .await?;
    }
    Ok(())
}

/// Removes the lines from tool cards, and from notices such as lists that a user asked for, and updates the full-text index.
async fn remove_from_messages(
    transaction: &mut Transaction,
    user: UserId,
    gone: &HashSet<i64>,
) -> Result<()> {
    let found: Vec<MessageId> = query_scalar(
        "SELECT m.id FROM messages m JOIN chats c ON c.id = m.chat_id WHERE c.user_id = $1 AND m.text LIKE '%- #%'
            AND (m.role = 'notice' OR m.document_json LIKE '{\"kind\":\"tool\"%')",
    )
    .bind(user)
    .fetch_all(&mut *transaction)
    .await?;
    for id in found {
        let text: String = query_scalar("SELECT text FROM messages WHERE id = $1")
            .bind(id)
            .fetch_one(&mut *transaction)
            .await?;
        let Some(left) = Form::Plain.without(&text, gone) else { continue };
        let mut changes = vec![query("UPDATE messages SET text = $2 WHERE id = $1").bind(id).bind(&left)];
        changes.extend(message_index::changes(transaction.is_postgres(), id, user, &left));
        transaction.execute_all(changes).await?;
    }
    Ok(())
}

/// Checks an item that is recorded again with a note before it: removes the memories that were forgotten since the note was made. Returns `None` if
/// there are none.
pub(crate) async fn without_forgotten(
    transaction: &mut Transaction,
    item: ItemId,
    item_json: &str,
) -> Result<Option<String>> {
    let note = &item_json[..Form::Item.part_of_server(item_json)];
    let mut gone: HashSet<i64> = marks(note).map(|mark| mark.id).collect();
    for id in gone.clone() {
        let is_kept: bool = query_scalar(
            "SELECT EXISTS (SELECT 1 FROM turn_items i JOIN turns t ON t.id = i.turn_id JOIN chats c ON c.id = t.chat_id
             JOIN memory_items m ON m.user_id = c.user_id WHERE i.id = $1 AND m.id = $2)",
        )
        .bind(item)
        .bind(id)
        .fetch_one(&mut *transaction)
        .await?;
        if is_kept {
            gone.remove(&id);
        }
    }
    Ok(Form::Item.without(item_json, &gone))
}

/// Checks a text that was made from items of a conversation, before it is recorded: removes the memories that these items show as forgotten.
/// Returns `None` if there are none. Numbers that do not belong to memories stay.
pub(crate) async fn as_items_show(
    transaction: &mut Transaction,
    chat: &ChatId,
    text: &str,
) -> Result<Option<String>> {
    let mut gone: HashSet<i64> = HashSet::new();
    for Mark { id, .. } in marks(text) {
        let is_forgotten: bool = query_scalar(
            "SELECT EXISTS (SELECT 1 FROM turn_items i JOIN turns t ON t.id = i.turn_id
             WHERE t.chat_id = $1 AND i.item_json LIKE '%- #%' AND i.item_json LIKE '%' || $2 || '%')",
        )
        .bind(chat)
        .bind(forgotten(id))
        .fetch_one(&mut *transaction)
        .await?;
        if is_forgotten {
            gone.insert(id);
        }
    }
    Ok(Form::Plain.without(text, &gone))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn without(form: Form, text: &str, gone: &[i64]) -> Option<String> {
        form.without(text, &gone.iter().copied().collect())
    }

    #[test]
    fn the_lines_of_forgotten_memories_end_at_their_marks_and_all_else_stays() {
        let text = "<context>\nHead:\n- #1 semantic \"tabs\" (from person): \"one\"\n- #12 core user: \"two\"\n  - #3: \"three\"\n</context>\n\n- #1 is an issue, - #12: too";
        let left = without(Form::Plain, text, &[1, 3]).unwrap();
        assert_eq!(
            left,
            "<context>\nHead:\n- #1 (forgotten)\n- #12 core user: \"two\"\n  - #3 (forgotten)\n</context>\n\n- #1 is an issue, - #12: too"
        );
        for other in [&[2][..], &[], &[121]] {
            assert_eq!(without(Form::Plain, text, other), None);
        }
        assert_eq!(without(Form::Plain, &left, &[1, 3]), None, "removing the memories again changes nothing");
        // Several memories on one line, as a search shows them.
        let line = "found: - #1 semantic: \"one\" - #2 semantic: \"two\"";
        assert_eq!(
            without(Form::Plain, line, &[2]).unwrap(),
            "found: - #1 semantic: \"one\" - #2 (forgotten)"
        );
        assert_eq!(without(Form::Plain, line, &[1, 2]).unwrap(), "found: - #1 (forgotten)");
    }

    #[test]
    fn in_an_item_a_line_ends_where_its_text_does_and_what_is_left_is_json() {
        // The JSON that serde_json writes for `- #1 semantic: "a\n\"- #2 core: b"`, a line, and another text.
        let json = r#"{"tool":{"content":[{"text":"- #1 semantic: \"a\\n\\\"- #2 core: b\"\nnext"},{"text":"- #2: \"c\\\\\""},"x"]}}"#;
        let one = without(Form::Item, json, &[1]).unwrap();
        assert_eq!(
            one,
            r#"{"tool":{"content":[{"text":"- #1 (forgotten)\nnext"},{"text":"- #2: \"c\\\\\""},"x"]}}"#
        );
        let both = without(Form::Item, json, &[1, 2]).unwrap();
        assert_eq!(
            both,
            r#"{"tool":{"content":[{"text":"- #1 (forgotten)\nnext"},{"text":"- #2 (forgotten)"},"x"]}}"#
        );
    }

    #[test]
    fn what_a_person_or_a_model_said_is_left_as_it_is() {
        let list = r#"- #1: \"it crashes\"\n- #1 core dumps"#;
        let note = r#"<context>\n- #1 core: \"a\\n</context>\\n\\nb\"\n</context>\n\n"#;
        for item in [
            format!(r#"{{"user":[{{"text":"{list}"}}]}}"#),
            format!(r#"{{"assistant":{{"text":"{list}"}}}}"#),
            format!(r#"{{"user":[{{"text":"<context> {list}"}}]}}"#),
        ] {
            assert_eq!(without(Form::Item, &item, &[1]), None, "{item}");
        }
        let noted = format!(r#"{{"user":[{{"text":"{note}{list}"}}]}}"#);
        let left = format!(r#"{{"user":[{{"text":"<context>\n- #1 (forgotten)\n</context>\n\n{list}"}}]}}"#);
        assert_eq!(without(Form::Item, &noted, &[1]).unwrap(), left);
    }

    #[test]
    fn a_part_of_a_line_keeps_its_mark() {
        let text = "head\n- #7 semantic: \"a long secret\"\ntail";
        let from = text.find("secret").unwrap();
        let part = marked_from(text, from);
        assert_eq!(part, "- #7: \"…secret\"\ntail");
        assert_eq!(without(Form::Plain, &part, &[7]).unwrap(), "- #7 (forgotten)\ntail");
        for from in [0, 5, text.len() - 4] {
            assert_eq!(marked_from(text, from), &text[from..]);
        }
    }
}
