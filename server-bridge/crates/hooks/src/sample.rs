//! Sample events for trying hooks: there is one for each event, and any of its fields may be given.

use serde_json::{Map, Value, json};

use crate::condition::Call;
use crate::dialect::own_call;
use crate::event::Event;
use crate::happening::{Ended, Happening};
use crate::layers::Hook;

/// The tools for sample calls; the first one that a hook applies to is used.
const TOOLS: [&str; 7] = ["Shell", "FileReplace", "FileCreate", "Read", "Fetch", "Glob", "SubAgent"];

/// The id of the call in a sample.
const CALL_ID: &str = "sample";

/// A sample of an event that fits a hook's matcher if that is possible.
pub fn sample_for(hook: &Hook) -> Map<String, Value> {
    let tool = TOOLS.into_iter().find(|tool| hook.asks_for(tool).is_some());
    let mut fields = sample(hook.event, tool.unwrap_or(TOOLS[0]));
    // A matcher that is a plain name is used as the subject itself.
    let pattern = hook.matcher.pattern();
    let is_name = !pattern.is_empty() && pattern.chars().all(|c| c.is_alphanumeric() || "_-".contains(c));
    if let (true, crate::event::Subject::Field(name)) = (is_name, hook.event.subject()) {
        fields.insert(name.to_owned(), pattern.into());
    }
    if is_name && hook.event.is_of_tool() && tool.is_none() {
        fields.insert("tool_name".to_owned(), pattern.into());
        fields.insert("tool_input".to_owned(), json!({}));
    }
    fields
}

/// A sample of an event: its own fields, in our dialect. `tool` is the called tool, for an event that is about a call.
pub fn sample(event: Event, tool: &str) -> Map<String, Value> {
    let call = json!({"tool_name": tool, "tool_input": input(tool), "tool_use_id": CALL_ID});
    let mut fields = if event.is_of_tool() { object(call.clone()) } else { Map::new() };
    fields.extend(object(match event {
        Event::SessionStart => json!({"source": "startup"}),
        Event::SessionEnd => json!({"reason": "clear"}),
        Event::UserPromptSubmit => json!({"prompt": "What does this repository do?"}),
        Event::PreToolUse | Event::PermissionRequest => json!({}),
        Event::PostToolUse => json!({"tool_response": "README.md\n", "duration_ms": 12}),
        Event::PostToolUseFailure => {
            json!({"error": "exit code 1", "duration_ms": 12, "is_interrupt": false})
        }
        Event::PermissionDenied => json!({"reason": "the user denied it"}),
        Event::PostToolBatch => {
            let Value::Object(mut ended) = call else { return fields };
            ended.insert("tool_response".to_owned(), "README.md\n".into());
            ended.insert("is_error".to_owned(), false.into());
            json!({"tool_calls": [ended]})
        }
        Event::SubAgentStart => {
            json!({"agent_id": "sample", "agent_type": "explorer", "task": "Find the tests."})
        }
        Event::SubAgentStop => json!({
            "agent_id": "sample",
            "agent_type": "explorer",
            "last_assistant_message": "There are three tests.",
            "stop_hook_active": false,
        }),
        Event::AgentStop => json!({"last_assistant_message": "It is done.", "stop_hook_active": false}),
        Event::AgentError => {
            json!({"error_type": "unknown", "error_message": "the model did not answer"})
        }
        Event::PreCompact => json!({"trigger": "auto", "custom_instructions": ""}),
        Event::PostCompact => json!({"trigger": "auto", "compact_summary": "A summary."}),
        Event::CronFired => {
            json!({"job_id": "nightly", "message": "What is new?", "slot": "0", "run_id": 1})
        }
        Event::WebhookReceived => {
            json!({"trigger_id": "review", "event": "push", "payload": {"ref": "refs/heads/main"}, "run_id": 1})
        }
    }));
    fields
}

/// An event with these fields; missing fields are taken from the sample. Fields of the session, such as `cwd`, are ignored.
///
/// # Errors
/// Names the field with the wrong type, as a sentence.
pub fn happening(event: Event, given: &Map<String, Value>) -> Result<Happening, String> {
    let named = given.get("tool_name").and_then(Value::as_str).unwrap_or(TOOLS[0]);
    let (tool, _) = own_call(named, &Map::new());
    let mut all = sample(event, &tool);
    // A peer's names of fields.
    let peers = [("error", "error_type"), ("error_details", "error_message")];
    for (name, value) in given {
        let own = peers.iter().find(|(peer, _)| event == Event::AgentError && peer == name);
        all.insert(own.map_or(name.as_str(), |(_, own)| own).to_owned(), value.clone());
    }
    let fields = Fields(&all);
    Ok(match event {
        Event::SessionStart => {
            Happening::SessionStart { source: fields.text("source")?, model: fields.optional("model")? }
        }
        Event::SessionEnd => Happening::SessionEnd { reason: fields.text("reason")? },
        Event::UserPromptSubmit => Happening::UserPromptSubmit { prompt: fields.text("prompt")? },
        Event::PreToolUse => Happening::PreToolUse(fields.call()?),
        Event::PermissionRequest => Happening::PermissionRequest(fields.call()?),
        Event::PostToolUse => Happening::PostToolUse {
            call: fields.call()?,
            response: fields.value("tool_response"),
            duration_ms: fields.count("duration_ms")?,
        },
        Event::PostToolUseFailure => Happening::PostToolUseFailure {
            call: fields.call()?,
            error: fields.text("error")?,
            duration_ms: fields.count("duration_ms")?,
            is_interrupt: fields.flag("is_interrupt")?,
        },
        Event::PermissionDenied => {
            Happening::PermissionDenied { call: fields.call()?, reason: fields.text("reason")? }
        }
        Event::PostToolBatch => {
            let calls = fields.value("tool_calls");
            let calls = calls.as_array().ok_or("\"tool_calls\" is not a list")?;
            let ended = calls.iter().map(|call| {
                let call = call.as_object().ok_or("an entry of \"tool_calls\" is not an object")?;
                let fields = Fields(call);
                let (response, is_error) = (fields.value("tool_response"), fields.flag("is_error")?);
                Ok(Ended { call: fields.call()?, response, is_error })
            });
            Happening::PostToolBatch(ended.collect::<Result<_, String>>()?)
        }
        Event::SubAgentStart => Happening::SubAgentStart {
            agent_id: fields.text("agent_id")?,
            agent_type: fields.text("agent_type")?,
            task: fields.text("task")?,
        },
        Event::SubAgentStop => Happening::SubAgentStop {
            agent_id: fields.text("agent_id")?,
            agent_type: fields.text("agent_type")?,
            last_message: fields.text("last_assistant_message")?,
            stop_hook_active: fields.flag("stop_hook_active")?,
        },
        Event::AgentStop => Happening::AgentStop {
            last_message: fields.text("last_assistant_message")?,
            stop_hook_active: fields.flag("stop_hook_active")?,
        },
        Event::AgentError => {
            Happening::AgentError { kind: fields.text("error_type")?, message: fields.text("error_message")? }
        }
        Event::PreCompact => Happening::PreCompact {
            trigger: fields.text("trigger")?,
            instructions: fields.text("custom_instructions")?,
        },
        Event::PostCompact => Happening::PostCompact {
            trigger: fields.text("trigger")?,
            summary: fields.text("compact_summary")?,
        },
        Event::CronFired => Happening::CronFired {
            job_id: fields.text("job_id")?,
            message: fields.text("message")?,
            slot: fields.text("slot")?,
            run_id: fields.number("run_id")?,
        },
        Event::WebhookReceived => Happening::WebhookReceived {
            trigger_id: fields.text("trigger_id")?,
            event: fields.optional("event")?,
            payload: fields.value("payload"),
            run_id: fields.number("run_id")?,
        },
    })
}

/// The arguments of a call that changes nothing important.
fn input(tool: &str) -> Value {
    match tool {
        "Shell" => json!({"command": "ls"}),
        "FileReplace" => json!({"path": "notes.txt", "old_string": "one", "new_string": "two"}),
        "FileCreate" => json!({"path": "notes.txt", "content": "one\n"}),
        "Read" => json!({"path": "README.md"}),
        "Fetch" => json!({"url": "https://example.com/"}),
        "Glob" => json!({"pattern": "**/*.rs"}),
        "SubAgent" => json!({"role": "explorer", "task": "Find the tests."}),
        _ => json!({}),
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

/// The fields of a payload.
struct Fields<'a>(&'a Map<String, Value>);

impl Fields<'_> {
    fn value(&self, name: &str) -> Value {
        self.0.get(name).cloned().unwrap_or_default()
    }

    fn text(&self, name: &str) -> Result<String, String> {
        self.optional(name)?.ok_or_else(|| format!("{name:?} is missing"))
    }

    fn optional(&self, name: &str) -> Result<Option<String>, String> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(format!("{name:?} is not a text")),
        }
    }

    fn count(&self, name: &str) -> Result<u64, String> {
        self.value(name).as_u64().ok_or_else(|| format!("{name:?} is not a whole number"))
    }

    fn number(&self, name: &str) -> Result<i64, String> {
        self.value(name).as_i64().ok_or_else(|| format!("{name:?} is not a whole number"))
    }

    fn flag(&self, name: &str) -> Result<bool, String> {
        self.value(name).as_bool().ok_or_else(|| format!("{name:?} is neither true nor false"))
    }

    fn call(&self) -> Result<Call, String> {
        let input = self.value("tool_input");
        let input = input.as_object().ok_or("\"tool_input\" is not an object")?;
        let (tool, input) = own_call(&self.text("tool_name")?, input);
        Ok(Call { tool, input, id: self.optional("tool_use_id")?.unwrap_or_else(|| CALL_ID.to_owned()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::Dialect;

    #[test]
    fn every_event_has_a_sample_whose_payload_is_read_as_the_same_again() {
        for event in Event::ALL {
            for dialect in Dialect::ALL {
                let first = happening(event, &Map::new()).unwrap();
                assert_eq!(first.event(), event);
                let again = happening(event, &first.fields(dialect, "/work")).unwrap();
                assert_eq!(format!("{first:?}"), format!("{again:?}"), "{event:?} {dialect:?}");
            }
        }
    }

    #[test]
    fn a_peers_call_becomes_ours_and_fields_of_the_session_are_left_out() {
        let given = json!({
            "session_id": "s", "cwd": "/work", "hook_event_name": "PreToolUse",
            "tool_name": "Edit", "tool_input": {"file_path": "/work/a", "old_string": "b", "new_string": "c"},
        });
        let Happening::PreToolUse(call) = happening(Event::PreToolUse, given.as_object().unwrap()).unwrap()
        else {
            panic!("another event");
        };
        assert_eq!((call.tool.as_str(), &call.input["path"]), ("FileReplace", &json!("/work/a")));
        let bash = json!({"tool_name": "Bash"});
        let Happening::PreToolUse(call) = happening(Event::PreToolUse, bash.as_object().unwrap()).unwrap()
        else {
            panic!("another event");
        };
        assert_eq!((call.tool.as_str(), &call.input["command"]), ("Shell", &json!("ls")));
    }

    #[test]
    fn a_field_of_the_wrong_type_is_named() {
        let wrong = |event, given: Value| happening(event, given.as_object().unwrap()).unwrap_err();
        assert_eq!(wrong(Event::UserPromptSubmit, json!({"prompt": 7})), "\"prompt\" is not a text");
        assert_eq!(wrong(Event::PreToolUse, json!({"tool_input": []})), "\"tool_input\" is not an object");
        assert_eq!(
            wrong(Event::AgentStop, json!({"stop_hook_active": 1})),
            "\"stop_hook_active\" is neither true nor false"
        );
        assert_eq!(wrong(Event::PostToolBatch, json!({"tool_calls": {}})), "\"tool_calls\" is not a list");
        assert_eq!(wrong(Event::CronFired, json!({"run_id": "x"})), "\"run_id\" is not a whole number");
    }
}
