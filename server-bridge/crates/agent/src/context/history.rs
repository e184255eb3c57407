//! The conversation as its model sees it.

use std::collections::{HashMap, HashSet};

use llm::{Assistant, Content, Message, ToolResult};
use records::{BegunCall, ItemId, Mask, TurnId};

use super::conversation::Item;

/// Replaces a result that was not recorded: the server was killed, or the turn ended, during the call.
pub(crate) const NO_RESULT: &str =
    "Error: this was interrupted. It is not known whether it took effect: check before you do it again.";

/// Replaces the result of a call that changes something but never began, or of a call that only reads.
const NOT_BEGUN: &str =
    "Error: this was interrupted before it changed anything. Do it again if it is still wanted.";

/// An item in its stored form.
pub fn to_json(message: &Message) -> String {
    serde_json::to_string(message).expect("texts and lists are always JSON")
}

/// A stored item; `None` if it cannot be read.
pub fn from_json(json: &str) -> Option<Message> {
    serde_json::from_str(json)
        .inspect_err(
            |error| tracing::error!(%error, "an item of a conversation cannot be read; it is left out"),
        )
        .ok()
}

/// A conversation from its items, with lines in place of the masked results. Every call has one result after its answer, in the order of
/// the calls: providers refuse anything else.
pub(super) fn shown(
    items: &[Item],
    masks: &HashMap<ItemId, Mask>,
    begun: &HashSet<BegunCall>,
) -> Vec<Message> {
    let mut messages = Vec::with_capacity(items.len());
    let mut open: Option<Open> = None;
    for item in items {
        match &item.message {
            Message::Tool(result) => {
                // A result that belongs to no call is left out.
                if let Some(open) = &mut open {
                    open.add(result, masks.get(&item.id));
                }
            }
            Message::Assistant(said) => {
                close(open.take(), begun, &mut messages);
                if *said == Assistant::default() {
                    continue;
                }
                open = (!said.tool_calls.is_empty()).then(|| Open::of(said, item));
                messages.push(item.message.clone());
            }
            Message::User(_) => {
                close(open.take(), begun, &mut messages);
                messages.push(item.message.clone());
            }
        }
    }
    close(open, begun, &mut messages);
    messages
}

/// For each of an answer's calls, true if it has none of these results; an id that occurs twice needs two results.
pub fn open_calls<'a>(answer: &Assistant, results: impl IntoIterator<Item = &'a str>) -> Vec<bool> {
    let mut results: Vec<&str> = results.into_iter().collect();
    let mut is_open = |id: &str| {
        let found = results.iter().position(|result| *result == id);
        found.map(|at| results.swap_remove(at)).is_none()
    };
    answer.tool_calls.iter().map(|call| is_open(&call.id)).collect()
}

/// An answer whose results are still being collected.
struct Open {
    /// The id of each call.
    calls: Vec<String>,
    turn: TurnId,
    is_journaled: bool,
    results: HashMap<String, ToolResult>,
    /// The lines that replace masked results.
    lines: Vec<String>,
    /// True if the answer consists only of calls, so that dropping all but one of them loses nothing.
    is_pure: bool,
}

impl Open {
    fn of(said: &Assistant, item: &Item) -> Self {
        Self {
            calls: said.tool_calls.iter().map(|call| call.id.clone()).collect(),
            turn: item.turn,
            is_journaled: item.is_journaled,
            results: HashMap::new(),
            lines: Vec::new(),
            is_pure: said.text.is_empty() && said.reasoning.is_empty(),
        }
    }

    fn add(&mut self, result: &ToolResult, mask: Option<&Mask>) {
        let mut result = result.clone();
        if let Some(mask) = mask {
            self.lines.push(mask.placeholder.clone());
            result.content = vec![Content::Text(mask.placeholder.clone())];
        }
        self.results.insert(result.call_id.clone(), result);
    }
}

fn close(open: Option<Open>, begun: &HashSet<BegunCall>, messages: &mut Vec<Message>) {
    let Some(Open { calls, turn, is_journaled, mut results, lines, is_pure }) = open else { return };
    let is_masked = calls.len() > 1 && lines.len() == calls.len() && results.len() == calls.len();
    if let (true, true, Some(Message::Assistant(said))) = (is_masked, is_pure, messages.last_mut()) {
        // One call with its result replaces all of them.
        said.tool_calls.truncate(1);
        let (call_id, content) = (calls[0].clone(), vec![Content::Text(lines.join("\n"))]);
        messages.push(Message::Tool(ToolResult { call_id, content, is_error: false }));
        return;
    }
    for call_id in calls {
        let result = results.remove(&call_id).unwrap_or_else(|| {
            let call = BegunCall { turn, call_id };
            let may_have_begun = !is_journaled || begun.contains(&call);
            let why = if may_have_begun { NO_RESULT } else { NOT_BEGUN };
            ToolResult { content: vec![Content::Text(why.to_owned())], call_id: call.call_id, is_error: true }
        });
        messages.push(Message::Tool(result));
    }
}

#[cfg(test)]
mod tests {
    use llm::Reasoning;
    use records::StoredContext;

    use super::*;
    use crate::context::Conversation;
    use crate::context::conversation::tests::{messages_of, of, reads, request, result, stored};

    fn mended(messages: &[Message]) -> Vec<Message> {
        messages_of(&of(1_000, messages))
    }

    /// With lines in place of the items of these ids.
    fn masked(messages: &[Message], items: &[i64]) -> Vec<Message> {
        let mask = |item: &i64| Mask {
            id: format!("mk_{item}"),
            item: ItemId(*item),
            placeholder: format!("line {item}"),
            size_chars: 1,
        };
        let stored = StoredContext { masks: items.iter().map(mask).collect(), ..stored(messages) };
        messages_of(&Conversation::new(request(), "", 1_000, stored))
    }

    #[test]
    fn a_whole_conversation_stays_as_it_is() {
        let whole =
            [Message::user("a"), reads(&["1", "2"]), result("1", "x"), result("2", "y"), Message::user("b")];
        assert_eq!(mended(&whole), whole);
    }

    #[test]
    fn every_call_gets_one_result_in_the_order_of_the_calls() {
        let broken = [
            Message::user("a"),
            result("stray", "x"),
            reads(&["1", "2", "3"]),
            result("3", "x"),
            result("1", "x"),
            result("unknown", "x"),
            Message::user("b"),
            reads(&["4"]),
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
        let mut stored = stored(&[Message::user("a"), Message::user("b")]);
        stored.items[1].item_json = "{".to_owned();
        let conversation = Conversation::new(request(), "", 1_000, stored);
        assert_eq!(messages_of(&conversation), [Message::user("a")]);
        assert_eq!(
            mended(&[Message::user("a"), Message::Assistant(Assistant::default())]),
            [Message::user("a")]
        );
    }

    #[test]
    fn a_group_that_is_masked_whole_is_one_pair_and_else_every_result_keeps_its_call() {
        let group =
            [Message::user("a"), reads(&["1", "2"]), result("1", "x"), result("2", "y"), Message::user("b")];
        let part = masked(&group, &[3]);
        let expected = [&group[..2], &[result("1", "line 3"), result("2", "y")], &group[4..]].concat();
        assert_eq!(part, expected);
        let whole = masked(&group, &[3, 4]);
        let expected = [group[0].clone(), reads(&["1"]), result("1", "line 3\nline 4"), group[4].clone()];
        assert_eq!(whole, expected);
        // An answer's reasoning and text belong to all of its calls, so no call is dropped.
        let mut thinking = group.clone();
        if let Message::Assistant(said) = &mut thinking[1] {
            said.reasoning.push(Reasoning::default());
        }
        assert_eq!(masked(&thinking, &[3, 4]).len(), 5);
        // A missing result is reported, not lost.
        assert_eq!(masked(&group[..3], &[3]).len(), 4);
    }

    #[test]
    fn a_call_without_a_result_was_begun_or_it_was_not_where_that_is_on_record() {
        let said = |is_journaled| {
            let mut context = stored(&[Message::user("go"), reads(&["1", "2"])]);
            context.items.iter_mut().for_each(|item| item.is_journaled = is_journaled);
            context.begun = vec![BegunCall { turn: context.items[1].turn, call_id: "1".to_owned() }];
            let conversation = Conversation::new(request(), "", 1_000, context);
            let text = |message: &Message| match message {
                Message::Tool(result) => result.content[0].text().map(str::to_owned),
                _ => None,
            };
            messages_of(&conversation).iter().filter_map(text).collect::<Vec<_>>()
        };
        assert_eq!(said(true), [NO_RESULT, NOT_BEGUN]);
        assert_eq!(said(false), [NO_RESULT, NO_RESULT], "an earlier version kept no such record");
    }
}
