//! The conversation as the model sees it.

use std::collections::HashMap;

use llm::{Assistant, Content, Message, ToolResult};

/// What stands for a result that nobody kept: the server was killed, or the turn ended, amid the call.
const NO_RESULT: &str =
    "Error: this was interrupted. Whether it took effect is not known: look before you do it again.";

/// An item as it is kept.
pub(super) fn to_json(message: &Message) -> String {
    serde_json::to_string(message).expect("texts and lists are always JSON")
}

/// A conversation out of its items. Every call has one result behind its answer, in the order of the calls: providers refuse
/// anything else.
pub(super) fn from_items(items: &[String]) -> Vec<Message> {
    let mut messages = Vec::with_capacity(items.len());
    let mut open: Option<Open> = None;
    for message in items.iter().filter_map(|item| read(item)) {
        match message {
            Message::Tool(result) => {
                // One that belongs to no call is left out.
                if let Some(open) = &mut open {
                    open.results.insert(result.call_id.clone(), result);
                }
            }
            Message::Assistant(said) => {
                close(open.take(), &mut messages);
                if said == Assistant::default() {
                    continue;
                }
                open = (!said.tool_calls.is_empty()).then(|| Open::of(&said));
                messages.push(Message::Assistant(said));
            }
            Message::User(content) => {
                close(open.take(), &mut messages);
                messages.push(Message::User(content));
            }
        }
    }
    close(open, &mut messages);
    messages
}

/// An answer whose results are collected.
struct Open {
    calls: Vec<String>,
    results: HashMap<String, ToolResult>,
}

impl Open {
    fn of(said: &Assistant) -> Self {
        Self { calls: said.tool_calls.iter().map(|call| call.id.clone()).collect(), results: HashMap::new() }
    }
}

fn close(open: Option<Open>, messages: &mut Vec<Message>) {
    let Some(Open { calls, mut results }) = open else { return };
    for call_id in calls {
        let result = results.remove(&call_id).unwrap_or_else(|| ToolResult {
            content: vec![Content::Text(NO_RESULT.to_owned())],
            call_id,
            is_error: true,
        });
        messages.push(Message::Tool(result));
    }
}

fn read(item: &str) -> Option<Message> {
    serde_json::from_str(item)
        .inspect_err(
            |error| tracing::error!(%error, "an item of a conversation cannot be read; it is left out"),
        )
        .ok()
}

#[cfg(test)]
mod tests {
    use llm::ToolCall;

    use super::*;

    fn answer(ids: &[&str]) -> Message {
        let call = |id: &&str| ToolCall {
            id: (*id).to_owned(),
            name: "Read".to_owned(),
            arguments: "{}".to_owned(),
        };
        Message::Assistant(Assistant { tool_calls: ids.iter().map(call).collect(), ..Assistant::default() })
    }

    fn result(id: &str) -> Message {
        Message::Tool(ToolResult { call_id: id.to_owned(), content: vec!["ok".into()], is_error: false })
    }

    fn mended(messages: &[Message]) -> Vec<Message> {
        from_items(&messages.iter().map(to_json).collect::<Vec<_>>())
    }

    #[test]
    fn a_whole_conversation_stays_as_it_is() {
        let whole = [Message::user("a"), answer(&["1", "2"]), result("1"), result("2"), Message::user("b")];
        assert_eq!(mended(&whole), whole);
    }

    #[test]
    fn every_call_gets_one_result_in_the_order_of_the_calls() {
        let broken = [
            Message::user("a"),
            result("stray"),
            answer(&["1", "2", "3"]),
            result("3"),
            result("1"),
            result("unknown"),
            Message::user("b"),
            answer(&["4"]),
        ];
        let mended = mended(&broken);
        let results: Vec<(&str, bool)> = mended
            .iter()
            .filter_map(|message| match message {
                Message::Tool(result) => Some((result.call_id.as_str(), result.is_error)),
                Message::User(_) | Message::Assistant(_) => None,
            })
            .collect();
        assert_eq!(results, [("1", false), ("2", true), ("3", false), ("4", true)]);
        assert!(matches!(mended.last(), Some(Message::Tool(_))));
    }

    #[test]
    fn what_says_nothing_and_what_cannot_be_read_is_left_out() {
        let items = [
            to_json(&Message::user("a")),
            "{".to_owned(),
            to_json(&Message::Assistant(Assistant::default())),
        ];
        assert_eq!(from_items(&items), [Message::user("a")]);
    }
}
