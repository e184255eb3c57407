//! The JSON with which handlers answer.
//!
//! An unknown value is a failure, and its meaning is never guessed: `"permissionDecision": "block"` may have been meant
//! as a denial. A denial in an answer counts even if another part of the answer is wrong.

use std::time::Duration;

use serde_json::{Map, Value};

use super::{Decision, Said, background_time};
use crate::dialect::Dialect;
use crate::event::Event;
use crate::limits::{CONTEXT_BYTES, MESSAGE_BYTES, QUOTED_CHARS, REASON_BYTES};

/// The reason for a stop if the handler gives none.
const STOPPED: &str = "a hook stopped it";

/// Reads a JSON object; `None` if the text is not one.
pub(super) fn json(text: &str, event: Event) -> Option<Said> {
    let Ok(Value::Object(fields)) = serde_json::from_str(text) else { return None };
    let mut reader = Reader { event, said: Said::default() };
    reader.top(&fields);
    Some(reader.said)
}

pub(super) fn background(fields: &Map<String, Value>) -> Option<Duration> {
    let is_async = fields.get("async").and_then(Value::as_bool).unwrap_or_default();
    is_async.then(|| background_time(fields.get("asyncTimeout").and_then(Value::as_u64)))
}

/// The beginning of a text, with a mark if it was cut.
pub(crate) fn bounded(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_owned();
    }
    format!("{}… ({} bytes in all)", &text[..text.floor_char_boundary(bytes)], text.len())
}

/// A result of a call as the text that its model gets. Handlers write a text, the parts of an MCP result, the output of a
/// command, or something else, which becomes JSON.
pub fn result_text(output: &Value) -> String {
    let text = match output {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => parts_text(parts),
        Value::Object(fields) => match (fields.get("content"), fields.get("stdout")) {
            (Some(Value::String(text)), _) => Some(text.clone()),
            (Some(Value::Array(parts)), _) => parts_text(parts),
            (_, Some(Value::String(stdout))) => {
                let stderr = fields.get("stderr").and_then(Value::as_str).unwrap_or_default();
                Some([stdout.as_str(), stderr].concat())
            }
            _ => fields.get("text").and_then(Value::as_str).map(str::to_owned),
        },
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    };
    text.unwrap_or_else(|| output.to_string())
}

/// The texts of an MCP result; `None` if any part is not a text.
fn parts_text(parts: &[Value]) -> Option<String> {
    let texts: Option<Vec<&str>> =
        parts.iter().map(|part| part.get("text").and_then(Value::as_str)).collect();
    texts.map(|texts| texts.join("\n"))
}

struct Reader {
    event: Event,
    said: Said,
}

impl Reader {
    fn top(&mut self, fields: &Map<String, Value>) {
        self.said.is_quiet = fields.get("suppressOutput").and_then(Value::as_bool).unwrap_or_default();
        self.said.message = self.text(fields, "systemMessage", MESSAGE_BYTES);
        self.said.reason = self.text(fields, "reason", REASON_BYTES);
        // An alternative name for additional context.
        self.said.context = self.text(fields, "context", CONTEXT_BYTES);
        self.decision(fields.get("decision"), "decision");
        // A model's answer to a prompt.
        match fields.get("ok") {
            None => {}
            Some(Value::Bool(true)) => {}
            Some(Value::Bool(false)) => self.decide(Decision::Deny),
            Some(_) => self.fail("ok must be true or false".to_owned()),
        }
        match fields.get("continue") {
            None | Some(Value::Null | Value::Bool(true)) => {}
            Some(Value::Bool(false)) => {
                let why = self.text(fields, "stopReason", REASON_BYTES);
                self.said.stop = Some(why.unwrap_or_else(|| STOPPED.to_owned()));
            }
            Some(_) => self.fail("continue must be true or false".to_owned()),
        }
        self.input(fields.get("updatedInput"));
        match fields.get("hookSpecificOutput") {
            None | Some(Value::Null) => {}
            Some(Value::Object(fields)) => self.specific(fields),
            Some(_) => self.fail("hookSpecificOutput must be an object".to_owned()),
        }
    }

    fn specific(&mut self, fields: &Map<String, Value>) {
        if let Some(context) = self.text(fields, "additionalContext", CONTEXT_BYTES) {
            self.said.context = Some(context);
        }
        self.decision(fields.get("permissionDecision"), "permissionDecision");
        if let Some(reason) = self.text(fields, "permissionDecisionReason", REASON_BYTES) {
            self.said.reason = Some(reason);
        }
        self.input(fields.get("updatedInput"));
        let output = fields.get("updatedToolOutput").or_else(|| fields.get("updatedMCPToolOutput"));
        self.said.updated_output = output.filter(|output| !output.is_null()).cloned();
        match fields.get("decision") {
            None | Some(Value::Null) => {}
            Some(Value::Object(fields)) => self.permission(fields),
            other => self.decision(other, "decision"),
        }
        let named = fields.get("hookEventName").and_then(Value::as_str);
        let is_other =
            named.is_some_and(|named| Dialect::ALL.iter().all(|dialect| self.event.name(*dialect) != named));
        if is_other {
            let said = &mut self.said;
            let own = self.event.name(Dialect::Own);
            said.notes.push(format!(
                "it answers an event other than {own}: only a denial or a question in it counts"
            ));
            said.decision = said.decision.filter(|decision| *decision != Decision::Allow);
            said.updated_input = None;
            said.updated_output = None;
        }
    }

    /// The answer to a request for permission.
    fn permission(&mut self, fields: &Map<String, Value>) {
        if let Some(reason) = self.text(fields, "message", REASON_BYTES) {
            self.said.reason = Some(reason);
        }
        self.decision(fields.get("behavior"), "behavior");
        self.input(fields.get("updatedInput"));
        if fields.get("interrupt").and_then(Value::as_bool) == Some(true) {
            let why = self.said.reason.clone();
            self.said.stop = Some(why.unwrap_or_else(|| STOPPED.to_owned()));
        }
    }

    fn decision(&mut self, value: Option<&Value>, field: &str) {
        let word = match value {
            None | Some(Value::Null) => return,
            Some(Value::String(word)) => word,
            Some(_) => return self.fail(format!("{field} must be a string")),
        };
        match word.as_str() {
            "allow" | "approve" => self.decide(Decision::Allow),
            "ask" => self.decide(Decision::Ask),
            "defer" => self.decide(Decision::Defer),
            "deny" | "block" => self.decide(Decision::Deny),
            "" => {}
            _ => {
                let word: String = word.chars().take(QUOTED_CHARS).collect();
                self.fail(format!("{field} is {word:?}, which is not a decision"));
            }
        }
    }

    /// Records a decision; if an answer contains several, the strictest counts.
    fn decide(&mut self, decision: Decision) {
        self.said.decision = self.said.decision.max(Some(decision));
    }

    fn input(&mut self, value: Option<&Value>) {
        match value {
            None | Some(Value::Null) => {}
            Some(Value::Object(fields)) => self.said.updated_input = Some(fields.clone()),
            Some(_) => self.fail("updatedInput must be an object".to_owned()),
        }
    }

    fn text(&mut self, fields: &Map<String, Value>, name: &str, bytes: usize) -> Option<String> {
        match fields.get(name) {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) if text.trim().is_empty() => None,
            Some(Value::String(text)) => Some(bounded(text, bytes)),
            Some(_) => {
                self.said.notes.push(format!("{name} is not a string and is ignored"));
                None
            }
        }
    }

    fn fail(&mut self, why: String) {
        self.said.failure.get_or_insert(format!("its answer is wrong: {why}"));
    }
}
