//! An answer that calls tools, with their results: it is kept, masked and cut as a unit.

use std::ops::Range;

use llm::{Assistant, Message, ToolCall, ToolResult};

use super::conversation::Item;

/// A group's position among the items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Group {
    /// The index of the answer.
    pub(super) answer: usize,
    /// The indexes of the results; there are fewer than calls if some are missing.
    pub(super) results: Range<usize>,
}

/// All groups of a conversation, in order.
pub(super) fn of(items: &[Item]) -> Vec<Group> {
    let mut groups = Vec::new();
    for (answer, item) in items.iter().enumerate() {
        let Message::Assistant(said) = &item.message else { continue };
        if said.tool_calls.is_empty() {
            continue;
        }
        let behind = items[answer + 1..].iter().take_while(|item| matches!(item.message, Message::Tool(_)));
        groups.push(Group { answer, results: answer + 1..answer + 1 + behind.count() });
    }
    groups
}

impl Group {
    /// The answer's calls.
    pub(super) fn calls<'a>(&self, items: &'a [Item]) -> &'a [ToolCall] {
        match &items[self.answer].message {
            Message::Assistant(Assistant { tool_calls, .. }) => tool_calls,
            Message::User(_) | Message::Tool(_) => &[],
        }
    }

    /// The results, each with its call and its index.
    pub(super) fn results<'a>(
        &self,
        items: &'a [Item],
    ) -> impl Iterator<Item = (usize, &'a ToolCall, &'a ToolResult)> {
        let calls = self.calls(items);
        self.results.clone().filter_map(move |at| {
            let Message::Tool(result) = &items[at].message else { return None };
            calls.iter().find(|call| call.id == result.call_id).map(|call| (at, call, result))
        })
    }
}

/// The file that a call concerns, from its argument `path`, if it has one.
pub(super) fn path(call: &ToolCall) -> Option<String> {
    call.parse().ok()?.get("path")?.as_str().map(str::to_owned)
}
