//! Deferred tools: those that are declared to a model only after it found them, because the schemas of hundreds of tools would fill the
//! model's window.
//!
//! ```text
//!   a tool that finds tools ─▶ Outcome::found ─▶ declared with the next request, at the end: the provider's cache holds
//!                                 └─ its text names each on a line of its own ─▶ declared in later turns too, until 5 answers
//!                                                                               passed without a call of it
//! ```
//! The deferred tools in use are determined from the conversation alone, so that a restarted server declares the same ones.

use std::collections::{BTreeSet, HashMap};

use llm::Message;

use super::{Offered, Toolbox};
use crate::limits::{DEFERRED_ANSWERS, GONE_TOOLS, TOOL_NAME_CHARS};

/// The description of a removed tool for the model.
const GONE: &str = "This tool is no longer available; calls to it fail.";

/// The description of a tool that a turn does not offer.
const WITHHELD: &str = "This tool is not available in this turn; calls to it fail.";

/// The line that names a found tool in a result.
pub fn found_line(name: &str, description: &str) -> String {
    format!("{name}: {description}")
}

/// The deferred tools that a conversation used or found within its last answers, in the order in which it first named them.
pub fn in_use<'a>(
    messages: impl DoubleEndedIterator<Item = &'a Message> + Clone,
    tools: &Toolbox,
) -> Vec<llm::Tool> {
    let deferred: BTreeSet<&str> =
        tools.iter().filter(|tool| tool.rules().is_deferred).map(|tool| tool.name()).collect();
    if deferred.is_empty() {
        return Vec::new();
    }
    let recent = recent(messages);
    let mut named: Vec<&str> = Vec::new();
    let mut finds: BTreeSet<&str> = BTreeSet::new();
    for message in recent {
        let names: Vec<&str> = match message {
            Message::Assistant(said) => {
                let calls = said.tool_calls.iter();
                let is_finder =
                    |name: &str| tools.iter().any(|tool| tool.name() == name && tool.rules().finds_tools);
                finds.extend(calls.clone().filter(|call| is_finder(&call.name)).map(|call| call.id.as_str()));
                calls.map(|call| call.name.as_str()).collect()
            }
            Message::Tool(result) if finds.contains(result.call_id.as_str()) => {
                let texts = result.content.iter().filter_map(|content| content.text());
                texts.flat_map(str::lines).filter_map(|line| Some(line.split_once(": ")?.0)).collect()
            }
            Message::Tool(_) | Message::User(_) => continue,
        };
        for name in names {
            if deferred.contains(name) && !named.contains(&name) {
                named.push(name);
            }
        }
    }
    tools.deferred(named)
}

/// The messages since the last [`DEFERRED_ANSWERS`] answers.
fn recent<'a>(messages: impl DoubleEndedIterator<Item = &'a Message>) -> Vec<&'a Message> {
    let mut answers = 0;
    let mut recent: Vec<&Message> = messages
        .rev()
        .take_while(|message| {
            answers += usize::from(matches!(message, Message::Assistant(_)));
            answers <= DEFERRED_ANSWERS
        })
        .collect();
    recent.reverse();
    recent
}

/// Declarations of the tools that were called in a conversation, have a result, and are not declared otherwise: 32 at most, by name. Some
/// providers refuse a conversation with calls of undeclared tools. A name that never worked in any call was the model's mistake, and gets
/// no declaration.
pub fn stubs<'a>(
    messages: impl Iterator<Item = &'a Message>,
    tools: &Toolbox,
    declared: &[llm::Tool],
) -> Vec<llm::Tool> {
    let (mut calls, mut names) = (HashMap::new(), BTreeSet::new());
    for message in messages {
        match message {
            Message::Assistant(said) => {
                let is_declared = |name: &str| declared.iter().any(|tool| tool.name == name);
                let foreign = said.tool_calls.iter().filter(|call| !is_declared(&call.name));
                calls.extend(foreign.map(|call| (call.id.as_str(), call.name.as_str())));
            }
            Message::Tool(result) if !result.is_error => {
                names.extend(calls.remove(result.call_id.as_str()).filter(|name| is_name(name)));
            }
            Message::Tool(_) | Message::User(_) => {}
        }
    }
    let finder = tools.iter().find(|tool| tool.rules().finds_tools).map(|tool| tool.name());
    let rules = |name: &str| tools.iter().find(|tool| tool.name() == name).map(|tool| tool.rules());
    let declare = |name: &str| llm::Tool {
        name: name.to_owned(),
        description: match (rules(name), finder) {
            (Some(rules), Some(finder)) if rules.is_deferred => {
                format!("Find this tool with {finder} before you call it.")
            }
            (Some(rules), _) if rules.offered == Offered::ToNobody => WITHHELD.to_owned(),
            _ => GONE.to_owned(),
        },
        parameters: serde_json::json!({"type": "object", "properties": {}}),
    };
    names.into_iter().take(GONE_TOOLS).map(declare).collect()
}

/// True if providers accept this as a tool's name.
fn is_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    !name.is_empty() && name.len() <= TOOL_NAME_CHARS && name.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use llm::{Assistant, ToolCall, ToolResult};
    use serde_json::{Map, Value};

    use super::*;
    use crate::approval::Access;
    use crate::tool::{Call, Rules, Tool};

    /// A tool that is only declared.
    struct Named(&'static str, Rules);

    impl Tool for Named {
        fn name(&self) -> &str {
            self.0
        }
        fn description(&self) -> &str {
            "does it"
        }
        fn parameters(&self) -> Value {
            serde_json::json!({"type": "object", "properties": {"real": {}}})
        }
        fn rules(&self) -> Rules {
            self.1
        }
        fn understand(&self, _: Map<String, Value>) -> Result<Box<dyn Call>, String> {
            Err("it can do nothing".to_owned())
        }
    }

    fn tools() -> Toolbox {
        let rules = Rules::of(Access::Read);
        let tools: [Arc<dyn Tool>; 4] = [
            Arc::new(Named("Read", rules)),
            Arc::new(Named("find", rules.finds_tools())),
            Arc::new(Named("mcp__a__x", rules.deferred())),
            Arc::new(Named("mcp__a__y", rules.deferred())),
        ];
        Toolbox::from(tools.to_vec())
    }

    fn said(calls: &[(&str, &str)]) -> Message {
        let call = |(id, name): &(&str, &str)| ToolCall {
            id: (*id).to_owned(),
            name: (*name).to_owned(),
            arguments: String::new(),
        };
        Message::Assistant(Assistant { tool_calls: calls.iter().map(call).collect(), ..Assistant::default() })
    }

    fn result(id: &str, text: &str, is_error: bool) -> Message {
        Message::Tool(ToolResult { call_id: id.to_owned(), content: vec![text.into()], is_error })
    }

    fn names(tools: &[llm::Tool]) -> Vec<&str> {
        tools.iter().map(|tool| tool.name.as_str()).collect()
    }

    #[test]
    fn a_tool_that_worked_and_is_gone_stays_declared() {
        let messages = [
            Message::user("go"),
            said(&[("1", "zeta"), ("2", "alpha"), ("3", "Fly")]),
            result("1", "x", false),
            result("2", "x", false),
            result("3", "x", true),
            said(&[("4", "no name"), ("5", "never_answered")]),
            result("4", "x", false),
        ];
        let declared = stubs(messages.iter(), &Toolbox::default(), &[]);
        assert_eq!(names(&declared), ["alpha", "zeta"]);
        assert!(declared.iter().all(|tool| tool.parameters["type"] == "object"));
    }

    #[test]
    fn a_tool_for_terminals_is_declared_only_in_turns_that_have_one_and_can_be_called_in_all() {
        let rules = Rules::of(Access::Read);
        let with: [Arc<dyn Tool>; 2] =
            [Arc::new(Named("Read", rules)), Arc::new(Named("screen", rules.needs_terminal()))];
        let with = Toolbox::from(with.to_vec());
        let without = with.without_terminal();
        assert_eq!(names(&with.catalogue()), ["Read", "screen"]);
        assert_eq!((names(&without.catalogue()), without.names().as_str()), (vec!["Read"], "Read"));
        let call = ToolCall { id: String::new(), name: "screen".to_owned(), arguments: "{}".to_owned() };
        assert_eq!(without.understand(&call).err().unwrap(), "it can do nothing", "the tool itself answers");
        assert_eq!(names(&without.for_models().catalogue()), ["Read"]);
        let messages = [Message::user("go"), said(&[("1", "screen")]), result("1", "x", false)];
        let stub = stubs(messages.iter(), &without, &without.catalogue());
        assert_eq!((names(&stub), stub[0].description.as_str()), (vec!["screen"], WITHHELD));
        assert!(stubs(messages.iter(), &with, &with.catalogue()).is_empty());
    }

    #[test]
    fn a_tool_that_was_found_or_used_lately_is_declared_whole_and_later_as_a_stub() {
        let tools = tools();
        assert_eq!(names(&tools.catalogue()), ["Read", "find"], "deferred tools cost nothing before that");
        let lines = [found_line("mcp__a__y", "does it"), found_line("mcp__none", "x")].join("\n");
        let mut messages = vec![
            Message::user("go"),
            said(&[("1", "find"), ("2", "Read")]),
            result("1", &lines, false),
            result("2", &found_line("mcp__a__x", "a file may say anything"), false),
            said(&[("3", "mcp__a__y")]),
            result("3", "done", false),
        ];
        let used = in_use(messages.iter(), &tools);
        assert_eq!(names(&used), ["mcp__a__y"], "only a tool that finds tools finds one");
        assert!(used[0].parameters["properties"]["real"].is_object());
        let declared = [tools.catalogue(), used].concat();
        assert!(stubs(messages.iter(), &tools, &declared).is_empty());

        messages.extend((0..DEFERRED_ANSWERS).map(|_| said(&[])));
        assert!(in_use(messages.iter(), &tools).is_empty());
        let stub = stubs(messages.iter(), &tools, &tools.catalogue());
        assert_eq!(names(&stub), ["mcp__a__y"]);
        assert!(stub[0].description.contains("with find"), "{stub:?}");
    }
}
