//! A request in the words of chat completions.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::Serialize;
use serde_json::{Value, json};

use crate::message::{Assistant, Content, Message, Request, Tool, ToolResult};

/// In the order in which it is written: what changes from call to call stands last.
#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    stream: bool,
    stream_options: Value,
    max_completion_tokens: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Value>,
    messages: Vec<Value>,
}

/// Up to so many thinking tokens are `low`, and up to the second number `medium`.
const EFFORT_TOKENS: (u32, u32) = (4_096, 16_384);

pub(super) fn body(request: &Request) -> Bytes {
    let system = request.system.iter().map(|part| part.text.as_str()).collect::<Vec<_>>().join("\n\n");
    let system = (!system.is_empty()).then(|| json!({"role": "system", "content": system}));
    let mut messages: Vec<Value> =
        system.into_iter().chain(request.messages.iter().flat_map(message)).collect();
    request.reminder.iter().for_each(|reminder| remind(&mut messages, reminder));
    let body = Body {
        model: &request.model,
        stream: true,
        stream_options: json!({"include_usage": true}),
        max_completion_tokens: request.max_tokens,
        reasoning_effort: request.thinking_tokens.map(effort),
        tools: request.tools.iter().map(tool).collect(),
        messages,
    };
    serde_json::to_vec(&body).expect("strings and numbers are always JSON").into()
}

/// Adds it to what the user or a tool said last: not every server takes two of the user's in a row, or one behind a tool's.
fn remind(messages: &mut Vec<Value>, reminder: &str) {
    let last = messages.last_mut().filter(|last| last["role"] == "user" || last["role"] == "tool");
    match last.map(|last| &mut last["content"]) {
        Some(Value::String(text)) => *text = format!("{text}\n\n{reminder}"),
        Some(Value::Array(parts)) => parts.push(json!({"type": "text", "text": reminder})),
        _ => messages.push(json!({"role": "user", "content": reminder})),
    }
}

fn effort(tokens: u32) -> &'static str {
    match tokens {
        tokens if tokens <= EFFORT_TOKENS.0 => "low",
        tokens if tokens <= EFFORT_TOKENS.1 => "medium",
        _ => "high",
    }
}

fn tool(tool: &Tool) -> Value {
    let Tool { name, description, parameters } = tool;
    json!({"type": "function", "function": {"name": name, "description": description, "parameters": parameters}})
}

fn message(message: &Message) -> Vec<Value> {
    match message {
        Message::User(content) => vec![json!({"role": "user", "content": parts(content)})],
        Message::Assistant(said) => vec![assistant(said)],
        Message::Tool(result) => tool_result(result),
    }
}

/// Text alone is a string: not every server takes a list.
fn parts(content: &[Content]) -> Value {
    if let [Content::Text(text)] = content {
        return json!(text);
    }
    content.iter().map(part).collect()
}

fn part(content: &Content) -> Value {
    match content {
        Content::Text(text) => json!({"type": "text", "text": text}),
        Content::Image { media_type, data } => {
            let url = format!("data:{media_type};base64,{}", STANDARD.encode(data));
            json!({"type": "image_url", "image_url": {"url": url}})
        }
    }
}

fn assistant(said: &Assistant) -> Value {
    let mut value = json!({"role": "assistant", "content": said.text});
    let thought: String = said.reasoning.iter().map(|thought| thought.text.as_str()).collect();
    if !said.tool_calls.is_empty() {
        let calls = said.tool_calls.iter().map(|call| {
            // Some servers parse them again, and refuse the whole conversation where that fails.
            let arguments = if call.parse().is_ok() && !call.arguments.trim().is_empty() { &call.arguments } else { "{}" };
            json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}})
        });
        value["tool_calls"] = calls.collect();
        // DeepSeek wants the thinking back that led to a call; others pass over what they do not know.
        if !thought.is_empty() {
            value["reasoning_content"] = json!(thought);
        }
    }
    value
}

/// A tool's message holds text; images follow as the user's.
fn tool_result(result: &ToolResult) -> Vec<Value> {
    let text = result.content.iter().filter_map(Content::text).collect::<Vec<_>>().join("\n");
    let answer = json!({"role": "tool", "tool_call_id": result.call_id, "content": text});
    let images: Vec<Value> =
        result.content.iter().filter(|content| content.text().is_none()).map(part).collect();
    if images.is_empty() { vec![answer] } else { vec![answer, json!({"role": "user", "content": images})] }
}
