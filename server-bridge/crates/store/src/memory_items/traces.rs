//! Memories in the record of conversations: the lines that showed them to a model or in a chat, and their removal once they are forgotten.
//!
//! ```text
//!   - #7 semantic "tabs" (from person; found by tabs): "likes tabs"      a line of a note, of a tool's result or of a list
//!   ^^^^^^^^^^^^^ its mark                       forgotten: "- #7 (forgotten)"
//! ```
//! Every line that the server writes about a memory begins with a mark, and quotes the memory on that one line. So nothing else has to be recorded:
//! forgetting looks for the marks. A part of a text that begins within such a line gets the mark again ([`marked_from`]). Partial indexes
//! of the database list the few rows that have anything like a mark, so that only those are read.

use std::collections::HashSet;
use std::fmt::Write as _;

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

/// The part of a text from this byte on. Within a line about a memory, the mark of that line comes first, so that the part is forgotten with the memory.
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

/// True if a text has lines about memories.
#[must_use]
pub(crate) fn shows_memories(text: &str) -> bool {
    marks(text).next().is_some()
}

/// The beginning of a mark. The indexes of migration 68 look for it, too.
const HEAD: &str = "- #";

/// The place of a mark in a text, and the memory's id.
struct Mark {
    at: usize,
    id: i64,
}

/// The marks in a text, or in JSON. A kind follows the id, or the quoted text itself.
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

/// The form of a text in the database.
#[derive(Clone, Copy)]
pub(crate) enum Form {
    Plain,
    /// Texts within JSON: a line ends with `\n` as two characters, or with its string.
    Json,
}

impl Form {
    /// The end of the line that `text` begins with.
    fn line_end(self, text: &str) -> usize {
        let end = match self {
            Self::Plain => text.find('\n'),
            Self::Json => {
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

    /// A text without what it shows of these memories: each of their lines ends at its mark. `None` if it shows nothing of them.
    fn without(self, text: &str, gone: &HashSet<i64>) -> Option<String> {
        let (mut kept, mut from) = (String::new(), 0);
        for mark in marks(text).filter(|mark| gone.contains(&mark.id)) {
            // On the line of another one, it has gone already.
            if mark.at < from {
                continue;
            }
            kept.push_str(&text[from..mark.at]);
            // Writing to a string does not fail.
            let _ = write!(kept, "{HEAD}{} (forgotten)", mark.id);
            from = mark.at + self.line_end(&text[mark.at..]);
        }
        (from > 0).then(|| kept + &text[from..])
    }
}

/// A table whose rows may show memories. A row has two keys.
struct Place {
    /// The keys of a user's rows that have the head of a mark.
    found: &'static str,
    /// The text of a row.
    text: &'static str,
    /// Replaces it.
    change: &'static str,
    form: Form,
}

const PLACES: [Place; 4] = [
    Place {
        found: "SELECT i.id, i.turn_id FROM turn_items i JOIN turns t ON t.id = i.turn_id JOIN chats c ON c.id = t.chat_id
                WHERE c.user_id = $1 AND i.item_json LIKE '%- #%'",
        text: "SELECT item_json FROM turn_items WHERE id = $1 AND turn_id = $2",
        change: "UPDATE turn_items SET item_json = $3 WHERE id = $1 AND turn_id = $2",
        form: Form::Json,
    },
    Place {
        found: "SELECT e.item_id, e.turn_id FROM context_edits e JOIN turns t ON t.id = e.turn_id JOIN chats c ON c.id = t.chat_id
                WHERE c.user_id = $1 AND e.item_json LIKE '%- #%'",
        text: "SELECT item_json FROM context_edits WHERE item_id = $1 AND turn_id = $2",
        change: "UPDATE context_edits SET item_json = $3 WHERE item_id = $1 AND turn_id = $2",
        form: Form::Json,
    },
    Place {
        found: "SELECT k.number, k.item_id FROM masks k JOIN chats c ON c.id = k.chat_id
                WHERE c.user_id = $1 AND k.placeholder LIKE '%- #%'",
        text: "SELECT placeholder FROM masks WHERE number = $1 AND item_id = $2",
        change: "UPDATE masks SET placeholder = $3 WHERE number = $1 AND item_id = $2",
        form: Form::Plain,
    },
    // A model may copy lines into its summary as they are.
    Place {
        found: "SELECT k.id, k.last_item FROM compactions k JOIN chats c ON c.id = k.chat_id
                WHERE c.user_id = $1 AND k.summary LIKE '%- #%'",
        text: "SELECT summary FROM compactions WHERE id = $1 AND last_item = $2",
        change: "UPDATE compactions SET summary = $3 WHERE id = $1 AND last_item = $2",
        form: Form::Plain,
    },
];

/// Removes what the record of a user's conversations shows of memories that are forgotten, within that change.
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

/// The cards of tools, and the lists that a user asked for. The index of words forgets them as well.
async fn remove_from_messages(
    transaction: &mut Transaction,
    user: UserId,
    gone: &HashSet<i64>,
) -> Result<()> {
    let found: Vec<MessageId> = query_scalar(
        "SELECT m.id FROM messages m JOIN chats c ON c.id = m.chat_id WHERE c.user_id = $1 AND m.text LIKE '%- #%'",
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
        query("UPDATE messages SET text = $2 WHERE id = $1")
            .bind(id)
            .bind(&left)
            .execute(&mut *transaction)
            .await?;
        message_index::index_again(&mut *transaction, user, id, &left).await?;
    }
    Ok(())
}

/// A text of the conversation of this item that is about to be recorded, without memories that were forgotten since the text was made; `None` if it shows
/// none of those.
pub(crate) async fn still_remembered(
    transaction: &mut Transaction,
    item: ItemId,
    text: &str,
    form: Form,
) -> Result<Option<String>> {
    let mut gone: HashSet<i64> = marks(text).map(|mark| mark.id).collect();
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
    Ok(form.without(text, &gone))
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
        assert_eq!(without(Form::Plain, &left, &[1, 3]), None, "it is done once");
        // All of it on one line, as a search shows it.
        let line = "found: - #1 semantic: \"one\" - #2 semantic: \"two\"";
        assert_eq!(
            without(Form::Plain, line, &[2]).unwrap(),
            "found: - #1 semantic: \"one\" - #2 (forgotten)"
        );
        assert_eq!(without(Form::Plain, line, &[1, 2]).unwrap(), "found: - #1 (forgotten)");
    }

    #[test]
    fn in_json_a_line_ends_where_its_text_does_and_what_is_left_is_json() {
        // As serde_json writes the texts `- #1 semantic: "a\n\"- #2 core: b"`, a line, and another text.
        let json =
            r#"[{"text":"- #1 semantic: \"a\\n\\\"- #2 core: b\"\nnext"},{"text":"- #2: \"c\\\\\""},"x"]"#;
        let one = without(Form::Json, json, &[1]).unwrap();
        assert_eq!(one, r#"[{"text":"- #1 (forgotten)\nnext"},{"text":"- #2: \"c\\\\\""},"x"]"#);
        let both = without(Form::Json, json, &[1, 2]).unwrap();
        assert_eq!(both, r#"[{"text":"- #1 (forgotten)\nnext"},{"text":"- #2 (forgotten)"},"x"]"#);
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
