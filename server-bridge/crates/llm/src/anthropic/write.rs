//! Writes a request in the format of Anthropic's Messages API.
//!
//! A provider's cache holds everything before a mark. A request can have four: one after the tools, one after the static part of the system prompt,
//! and two that move along with the conversation, so that each call finds what the previous one stored.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::draft::{Draft, Ending, Wording, Writer, head, put};
use crate::message::{Assistant, Content, Message, Request, ToolResult};

/// Marks that move along with the conversation.
const MOVING_MARKS: usize = 2;

/// Appended at the end of the block that a mark follows.
const MARK: &[u8] = br#","cache_control":{"type":"ephemeral"}"#;

/// Everything before the messages, in the order in which the provider's cache reads it.
#[derive(Serialize)]
struct Head<'a> {
    model: &'a str,
    stream: bool,
    max_tokens: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Thinking>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<ToolLine<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<SystemLine<'a>>,
}

#[derive(Serialize)]
struct Thinking {
    r#type: &'static str,
    budget_tokens: u32,
}

#[derive(Serialize)]
struct ToolLine<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

#[derive(Serialize)]
struct SystemLine<'a> {
    r#type: &'static str,
    text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

#[derive(Clone, Copy, Serialize)]
struct CacheControl {
    r#type: &'static str,
}

const EPHEMERAL: CacheControl = CacheControl { r#type: "ephemeral" };

#[derive(Serialize)]
struct Turn<'a> {
    role: &'static str,
    content: Vec<Block<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block<'a> {
    Text {
        text: &'a str,
    },
    Image {
        source: Source<'a>,
    },
    Thinking {
        thinking: &'a str,
        signature: &'a str,
    },
    RedactedThinking {
        data: &'a str,
    },
    ToolUse {
        id: &'a str,
        name: &'a str,
        input: Map<String, Value>,
    },
    ToolResult {
        tool_use_id: &'a str,
        content: Vec<Block<'a>>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

#[derive(Serialize)]
struct Source<'a> {
    r#type: &'static str,
    media_type: &'a str,
    data: String,
}

pub(super) fn body(request: &Request, draft: &mut Draft) -> Vec<Bytes> {
    let mut tools: Vec<ToolLine<'_>> = request
        .tools
        .iter()
        .map(|tool| ToolLine {
            name: &tool.name,
            description: &tool.description,
            input_schema: &tool.parameters,
            cache_control: None,
        })
        .collect();
    tools.last_mut().into_iter().for_each(|tool| tool.cache_control = Some(EPHEMERAL));
    let line = |text| SystemLine { r#type: "text", text, cache_control: None };
    let mut system: Vec<SystemLine<'_>> = request.system.iter().map(|part| line(&part.text)).collect();
    let is_static = request.system.iter().take_while(|part| part.is_static).count();
    system[..is_static].last_mut().into_iter().for_each(|part| part.cache_control = Some(EPHEMERAL));
    let head = head(&Head {
        model: &request.model,
        stream: true,
        // In this format the limit on the answer includes reasoning.
        max_tokens: request.max_tokens.saturating_add(request.thinking_tokens.unwrap_or(0)),
        thinking: request.thinking_tokens.map(|budget_tokens| Thinking { r#type: "enabled", budget_tokens }),
        tools,
        system,
    });
    let mut written = draft.write::<Messages>(request);
    let users = written.passages.iter().rev().filter(|turn| turn.ending == Ending::Parts).take(MOVING_MARKS);
    let marks: Vec<usize> = users.map(|turn| turn.end - "}]}".len()).collect();
    marks.into_iter().for_each(|at| written.add(at, MARK));
    if let Some(text) = &request.reminder {
        remind(text, &mut written);
    }
    written.between(head, b"]}")
}

/// The reminder comes after the last mark.
fn remind(text: &str, written: &mut crate::draft::Written<'_>) {
    let block = Block::Text { text };
    let last = written.last();
    let users = last.filter(|turn| turn.ending == Ending::Parts);
    let (at, added) = match users {
        Some(turn) => (turn.end - "]}".len(), serde_json::to_vec(&block)),
        None => {
            let turn = Turn { role: "user", content: vec![block] };
            (last.map_or(0, |turn| turn.end), serde_json::to_vec(&turn))
        }
    };
    let added = added.expect("strings are always JSON");
    written.add(at, [b","].into_iter().flatten().copied().chain(added).collect::<Vec<u8>>());
}

/// Consecutive messages of the same role form one turn; tool results belong to the user's turns.
struct Messages;

impl Wording for Messages {
    const NAME: &'static str = "messages";

    fn joins(before: &Message, next: &Message) -> bool {
        role(before) == role(next)
    }

    fn write(messages: &[Arc<Message>], out: &mut Writer) -> Ending {
        let role = messages.first().map_or("user", |message| role(message));
        let content: Vec<Block<'_>> = messages.iter().flat_map(|message| blocks(message)).collect();
        // A turn without content is refused.
        if content.is_empty() {
            return Ending::Closed;
        }
        put(&Turn { role, content }, out);
        if role == "user" { Ending::Parts } else { Ending::Closed }
    }
}

fn role(message: &Message) -> &'static str {
    match message {
        Message::User(_) | Message::Tool(_) => "user",
        Message::Assistant(_) => "assistant",
    }
}

fn blocks(message: &Message) -> Vec<Block<'_>> {
    match message {
        Message::User(content) => content.iter().map(block).collect(),
        Message::Assistant(said) => assistant(said),
        Message::Tool(result) => vec![tool_result(result)],
    }
}

fn block(content: &Content) -> Block<'_> {
    match content {
        Content::Text(text) => Block::Text { text },
        Content::Image { media_type, data } => {
            Block::Image { source: Source { r#type: "base64", media_type, data: STANDARD.encode(data) } }
        }
    }
}

fn assistant(said: &Assistant) -> Vec<Block<'_>> {
    let thoughts =
        said.reasoning.iter().filter_map(|thought| match (&thought.redacted, &thought.signature) {
            (Some(data), _) => Some(Block::RedactedThinking { data }),
            (None, Some(signature)) => Some(Block::Thinking { thinking: &thought.text, signature }),
            // Reasoning of another provider would be refused.
            (None, None) => None,
        });
    let text = (!said.text.trim().is_empty()).then_some(Block::Text { text: &said.text });
    // An answer that was cut off during its reasoning has no text, and reasoning must not come last.
    if text.is_none() && said.tool_calls.is_empty() {
        return Vec::new();
    }
    let calls = said.tool_calls.iter().map(|call| Block::ToolUse {
        id: &call.id,
        name: &call.name,
        input: call.parse().unwrap_or_default(),
    });
    thoughts.chain(text).chain(calls).collect()
}

fn tool_result(result: &ToolResult) -> Block<'_> {
    Block::ToolResult {
        tool_use_id: &result.call_id,
        content: result.content.iter().map(block).collect(),
        is_error: result.is_error,
    }
}
