//! The note before a user's message: what applies from there on. A note is repeated only if it differs from the last one.

use std::sync::Arc;

use llm::{Content, Message};

const BEGIN: &str = "<context>\n";
const END: &str = "\n</context>\n\n";

/// Puts a note before the last message, unless the last note has the same text; returns that message if it was changed.
///
/// The last message is the user's, at the start of a turn.
pub(in crate::engine) fn put<'a>(messages: &'a mut [Arc<Message>], note: &str) -> Option<&'a Message> {
    let (last, before) = messages.split_last_mut()?;
    // The message of a repeated turn already has a note.
    if of(last).or_else(|| before.iter().rev().find_map(|message| of(message))) == Some(note) {
        return None;
    }
    if !matches!(**last, Message::User(_)) {
        return None;
    }
    let last = Arc::make_mut(last);
    let Message::User(content) = last else { return None };
    let words = match content.first_mut() {
        // The note is put into the same text, because not every provider accepts several texts in one message.
        Some(Content::Text(words)) => words,
        _ => {
            content.insert(0, Content::Text(String::new()));
            let Some(Content::Text(words)) = content.first_mut() else { return None };
            words
        }
    };
    words.insert_str(0, &format!("{BEGIN}{note}{END}"));
    Some(last)
}

/// The note before a message, if there is one.
fn of(message: &Message) -> Option<&str> {
    let Message::User(content) = message else { return None };
    let Some(Content::Text(text)) = content.first() else { return None };
    Some(text.strip_prefix(BEGIN)?.split_once(END)?.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(message: &Message) -> &str {
        let Message::User(content) = message else { panic!("{message:?}") };
        let Content::Text(text) = &content[0] else { panic!("{message:?}") };
        text
    }

    #[test]
    fn a_note_is_said_again_only_where_it_changed() {
        let mut messages = vec![Arc::new(Message::user("one"))];
        assert_eq!(text(put(&mut messages, "here").unwrap()), "<context>\nhere\n</context>\n\none");
        messages.push(Message::user("two").into());
        assert_eq!(put(&mut messages, "here"), None);
        messages.push(Message::user("three").into());
        assert!(text(put(&mut messages, "there").unwrap()).ends_with("there\n</context>\n\nthree"));
        assert_eq!(put(&mut messages, "there"), None, "a turn that is begun again");
        let again = text(put(&mut messages, "elsewhere").unwrap());
        assert!(again.starts_with("<context>\nelsewhere\n</context>\n\n") && again.ends_with("three"));
        assert_eq!(put(&mut [], "x"), None);
    }
}
