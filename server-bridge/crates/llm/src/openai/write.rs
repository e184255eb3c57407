//! Writes a request in the chat completions format.

use std::borrow::Cow;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::Serialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::draft::{Draft, Ending, Wording, Writer, head, put};
use crate::message::{Assistant, Content, Message, Request, Tool, ToolCall, ToolResult};

/// Everything before the messages, which come last: they change from call to call.
#[derive(Serialize)]
struct Head<'a> {
    model: &'a str,
    stream: bool,
    stream_options: StreamOptions,
    max_completion_tokens: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<ToolLine<'a>>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct ToolLine<'a> {
    r#type: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
}

/// A message.
#[derive(Serialize)]
struct Line<'a> {
    role: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
    content: Said<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<CallLine<'a>>,
    #[serde(skip_serializing_if = "String::is_empty")]
    reasoning_content: String,
}

/// The content: plain text is a string, since not every server accepts a list.
#[derive(Serialize)]
#[serde(untagged)]
enum Said<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<Part<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    Text { text: &'a str },
    ImageUrl { image_url: ImageUrl },
}

#[derive(Serialize)]
struct ImageUrl {
    url: String,
}

#[derive(Serialize)]
struct CallLine<'a> {
    id: &'a str,
    r#type: &'static str,
    function: CalledFunction<'a>,
}

#[derive(Serialize)]
struct CalledFunction<'a> {
    name: &'a str,
    arguments: &'a str,
}

impl<'a> Line<'a> {
    fn said(role: &'static str, content: Said<'a>) -> Self {
        Self { role, tool_call_id: None, content, tool_calls: Vec::new(), reasoning_content: String::new() }
    }

    fn ending(&self) -> Ending {
        match &self.content {
            _ if self.role == "assistant" => Ending::Closed,
            Said::Text(_) => Ending::Text,
            Said::Parts(parts) if parts.is_empty() => Ending::NoParts,
            Said::Parts(_) => Ending::Parts,
        }
    }
}

/// Up to the first number of reasoning tokens is `low`, up to the second `medium`.
const EFFORT_TOKENS: (u32, u32) = (4_096, 16_384);

pub(super) fn body(request: &Request, draft: &mut Draft) -> Vec<Bytes> {
    let mut head = head(&Head {
        model: &request.model,
        stream: true,
        stream_options: StreamOptions { include_usage: true },
        max_completion_tokens: request.max_tokens,
        reasoning_effort: request.thinking_tokens.map(effort),
        tools: request.tools.iter().map(tool).collect(),
    });
    let system = request.system.iter().map(|part| part.text.as_str()).collect::<Vec<_>>().join("\n\n");
    if !system.is_empty() {
        head.extend(json(&Line::said("system", Said::Text(system.into()))));
    }
    let mut written = draft.write::<ChatCompletions>(request);
    if let Some(reminder) = &request.reminder {
        // Added to the last text of the user or a tool: not every server accepts two user messages in a row, or a user message after a tool's.
        let last = written.last();
        let (end, ending) = last.map_or((0, Ending::Closed), |passage| (passage.end, passage.ending));
        let (at, added) = match ending {
            Ending::Text => {
                let text = json(&format!("\n\n{reminder}"));
                (end - r#""}"#.len(), text[1..text.len() - 1].to_vec())
            }
            Ending::Parts | Ending::NoParts => {
                let comma = (ending == Ending::Parts).then_some(b',');
                (end - "]}".len(), comma.into_iter().chain(json(&Part::Text { text: reminder })).collect())
            }
            Ending::Closed => {
                let line = json(&Line::said("user", Said::Text(reminder.into())));
                (end, [b','].into_iter().chain(line).collect())
            }
        };
        written.add(at, added);
    }
    written.between(head, b"]}")
}

fn json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("strings and numbers are always JSON")
}

fn effort(tokens: u32) -> &'static str {
    match tokens {
        tokens if tokens <= EFFORT_TOKENS.0 => "low",
        tokens if tokens <= EFFORT_TOKENS.1 => "medium",
        _ => "high",
    }
}

fn tool(tool: &Tool) -> ToolLine<'_> {
    let Tool { name, description, parameters } = tool;
    ToolLine { r#type: "function", function: Function { name, description, parameters } }
}

struct ChatCompletions;

impl Wording for ChatCompletions {
    const NAME: &'static str = "chat completions";

    fn joins(_before: &Message, next: &Message) -> bool {
        matches!(next, Message::Tool(_))
    }

    /// A tool's message contains only text. Images follow in a user message after all results of an answer, since anything between the results is
    /// refused.
    fn write(messages: &[Arc<Message>], out: &mut Writer) -> Ending {
        let (mut images, mut ending) = (Vec::new(), Ending::Closed);
        for message in messages {
            let line = match &**message {
                Message::User(content) => Line::said("user", parts(content)),
                Message::Assistant(said) => assistant(said),
                Message::Tool(result) => {
                    images.extend(result.content.iter().filter(|content| content.text().is_none()).map(part));
                    tool_result(result)
                }
            };
            ending = line.ending();
            put(&line, out);
        }
        if !images.is_empty() {
            put(&Line::said("user", Said::Parts(images)), out);
            ending = Ending::Parts;
        }
        ending
    }
}

fn parts(content: &[Content]) -> Said<'_> {
    match content {
        [Content::Text(text)] => Said::Text(text.into()),
        content => Said::Parts(content.iter().map(part).collect()),
    }
}

fn part(content: &Content) -> Part<'_> {
    match content {
        Content::Text(text) => Part::Text { text },
        Content::Image { media_type, data } => {
            let url = format!("data:{media_type};base64,{}", STANDARD.encode(data));
            Part::ImageUrl { image_url: ImageUrl { url } }
        }
    }
}

fn assistant(said: &Assistant) -> Line<'_> {
    let mut line = Line::said("assistant", Said::Text(said.text.as_str().into()));
    if !said.tool_calls.is_empty() {
        line.tool_calls = said.tool_calls.iter().map(call).collect();
        // DeepSeek requires the reasoning that led to a call; others ignore unknown fields.
        line.reasoning_content = said.reasoning.iter().map(|thought| thought.text.as_str()).collect();
    }
    line
}

fn call(call: &ToolCall) -> CallLine<'_> {
    // Some servers parse the arguments again, and refuse the whole conversation if that fails.
    let arguments = if is_object(&call.arguments) { call.arguments.as_str() } else { "{}" };
    CallLine { id: &call.id, r#type: "function", function: CalledFunction { name: &call.name, arguments } }
}

/// True if arguments are a JSON object, without building it.
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
