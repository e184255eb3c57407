//! A request in the words of chat completions.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::Serialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use crate::message::{Assistant, Content, Message, Request, Tool, ToolCall, ToolResult};

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
    messages: Vec<Line<'a>>,
}

/// A message. Nothing of it is copied: thousands of them are written for every answer.
#[derive(Serialize)]
struct Line<'a> {
    role: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
    content: Said<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Value>,
    #[serde(skip_serializing_if = "String::is_empty")]
    reasoning_content: String,
}

/// What it says: text alone is a string, since not every server takes a list.
#[derive(Serialize)]
#[serde(untagged)]
enum Said<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<Value>),
}

impl<'a> Line<'a> {
    fn said(role: &'static str, content: Said<'a>) -> Self {
        Self { role, tool_call_id: None, content, tool_calls: Vec::new(), reasoning_content: String::new() }
    }
}

/// Up to so many thinking tokens are `low`, and up to the second number `medium`.
const EFFORT_TOKENS: (u32, u32) = (4_096, 16_384);

pub(super) fn body(request: &Request) -> Bytes {
    let system = request.system.iter().map(|part| part.text.as_str()).collect::<Vec<_>>().join("\n\n");
    let system = (!system.is_empty()).then(|| Line::said("system", Said::Text(system.as_str().into())));
    let mut messages: Vec<Line<'_>> = system.into_iter().chain(messages(&request.messages)).collect();
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
fn remind<'a>(messages: &mut Vec<Line<'a>>, reminder: &'a str) {
    let last = messages.last_mut().filter(|last| last.role == "user" || last.role == "tool");
    match last.map(|last| &mut last.content) {
        Some(Said::Text(text)) => text.to_mut().extend(["\n\n", reminder]),
        Some(Said::Parts(parts)) => parts.push(json!({"type": "text", "text": reminder})),
        None => messages.push(Line::said("user", Said::Text(reminder.into()))),
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

/// A tool's message holds text alone. Its images follow as the user's, behind all results of an answer: what stands between
/// those is refused.
fn messages(messages: &[Message]) -> Vec<Line<'_>> {
    let (mut written, mut images) = (Vec::with_capacity(messages.len() + 1), Vec::new());
    let settle = |images: &mut Vec<Value>| {
        let images = std::mem::take(images);
        (!images.is_empty()).then(|| Line::said("user", Said::Parts(images)))
    };
    for message in messages {
        if !matches!(message, Message::Tool(_)) {
            written.extend(settle(&mut images));
        }
        written.push(match message {
            Message::User(content) => Line::said("user", parts(content)),
            Message::Assistant(said) => assistant(said),
            Message::Tool(result) => {
                images.extend(result.content.iter().filter(|content| content.text().is_none()).map(part));
                tool_result(result)
            }
        });
    }
    written.extend(settle(&mut images));
    written
}

fn parts(content: &[Content]) -> Said<'_> {
    match content {
        [Content::Text(text)] => Said::Text(text.into()),
        content => Said::Parts(content.iter().map(part).collect()),
    }
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

fn assistant(said: &Assistant) -> Line<'_> {
    let mut line = Line::said("assistant", Said::Text(said.text.as_str().into()));
    if !said.tool_calls.is_empty() {
        line.tool_calls = said.tool_calls.iter().map(call).collect();
        // DeepSeek wants the thinking back that led to a call; others pass over what they do not know.
        line.reasoning_content = said.reasoning.iter().map(|thought| thought.text.as_str()).collect();
    }
    line
}

fn call(call: &ToolCall) -> Value {
    // Some servers parse them again, and refuse the whole conversation where that fails.
    let arguments = if is_object(&call.arguments) { call.arguments.as_str() } else { "{}" };
    json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}})
}

/// Whether arguments are a JSON object, without making anything of it.
fn is_object(arguments: &str) -> bool {
    arguments.trim_start().starts_with('{') && serde_json::from_str::<IgnoredAny>(arguments).is_ok()
}

fn tool_result(result: &ToolResult) -> Line<'_> {
    let text = match result.content.as_slice() {
        [Content::Text(text)] => text.into(),
        content => Cow::Owned(content.iter().filter_map(Content::text).collect::<Vec<_>>().join("\n")),
    };
    Line { tool_call_id: Some(&result.call_id), ..Line::said("tool", Said::Text(text)) }
}
