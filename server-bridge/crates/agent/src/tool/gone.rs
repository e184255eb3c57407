//! Removed tools that a conversation calls. They stay declared: some providers refuse a conversation with calls of
//! undeclared tools.

use std::collections::{BTreeSet, HashMap};

use llm::Message;

use super::Toolbox;
use crate::limits::{GONE_TOOLS, TOOL_NAME_CHARS};

/// The description of each of them for the model.
const GONE: &str = "This tool is no longer available; calls of it fail.";

/// Declares the tools that were called in a conversation, that had a result, and that are not among a turn's: 32 at most, by name.
/// A name that never worked in any call was the model's mistake, and is no tool.
pub fn gone<'a>(messages: impl Iterator<Item = &'a Message>, tools: &Toolbox) -> Vec<llm::Tool> {
    let (mut calls, mut names) = (HashMap::new(), BTreeSet::new());
    for message in messages {
        match message {
            Message::Assistant(said) => {
                let foreign = said.tool_calls.iter().filter(|call| !tools.holds(&call.name));
                calls.extend(foreign.map(|call| (call.id.as_str(), call.name.as_str())));
            }
            Message::Tool(result) if !result.is_error => {
                names.extend(calls.remove(result.call_id.as_str()).filter(|name| is_name(name)));
            }
            Message::Tool(_) | Message::User(_) => {}
        }
    }
    let declare = |name: &str| llm::Tool {
        name: name.to_owned(),
        description: GONE.to_owned(),
        parameters: serde_json::json!({"type": "object", "properties": {}}),
    };
    names.into_iter().take(GONE_TOOLS).map(declare).collect()
}

/// True if providers accept it as a tool's name.
fn is_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    !name.is_empty() && name.len() <= TOOL_NAME_CHARS && name.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use llm::{Assistant, ToolCall, ToolResult};

    use super::*;

    #[test]
    fn a_tool_that_worked_and_is_gone_stays_declared() {
        let call = |id: &str, name: &str| ToolCall {
            id: id.to_owned(),
            name: name.to_owned(),
            arguments: String::new(),
        };
        let said = |tool_calls| Message::Assistant(Assistant { tool_calls, ..Assistant::default() });
        let result = |id: &str, is_error| {
            Message::Tool(ToolResult { call_id: id.to_owned(), content: vec!["x".into()], is_error })
        };
        let messages = [
            Message::user("go"),
            said(vec![call("1", "zeta"), call("2", "alpha"), call("3", "Fly")]),
            result("1", false),
            result("2", false),
            result("3", true),
            said(vec![call("4", "no name"), call("5", "never_answered")]),
            result("4", false),
        ];
        let declared = gone(messages.iter(), &Toolbox::default());
        let names: Vec<&str> = declared.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["alpha", "zeta"]);
        assert!(declared.iter().all(|tool| tool.parameters["type"] == "object"));
    }
}
