//! A request in the words of Anthropic's messages.
//!
//! A provider's cache holds what stands before a mark. There may be four: one behind the tools, one behind the static part
//! of the system prompt, and two that move along with the conversation, so that each call finds what the one before put there.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::Serialize;
use serde_json::{Value, json};

use crate::message::{Assistant, Content, Message, Request, Tool, ToolResult};

/// Marks that move along with the conversation.
const MOVING_MARKS: usize = 2;

/// In the order in which it is written, and in which the provider's cache reads it.
#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    stream: bool,
    max_tokens: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<Value>,
    messages: Vec<Turn>,
}

#[derive(Serialize)]
struct Turn {
    role: &'static str,
    content: Vec<Value>,
}

pub(super) fn body(request: &Request) -> Bytes {
    let mut tools: Vec<Value> = request.tools.iter().map(tool).collect();
    tools.last_mut().into_iter().for_each(mark);
    let mut system: Vec<Value> =
        request.system.iter().map(|part| json!({"type": "text", "text": part.text})).collect();
    let is_static = request.system.iter().take_while(|part| part.is_static).count();
    system[..is_static].last_mut().into_iter().for_each(mark);
    let body = Body {
        model: &request.model,
        stream: true,
        // Thinking counts as answering here.
        max_tokens: request.max_tokens.saturating_add(request.thinking_tokens.unwrap_or(0)),
        thinking: request.thinking_tokens.map(|tokens| json!({"type": "enabled", "budget_tokens": tokens})),
        tools,
        system,
        messages: turns(&request.messages, request.reminder.as_deref()),
    };
    serde_json::to_vec(&body).expect("strings and numbers are always JSON").into()
}

fn mark(block: &mut Value) {
    block["cache_control"] = json!({"type": "ephemeral"});
}

/// Messages of one role in a row are one turn, results of tools among the user's. The reminder stands behind the last mark.
fn turns(messages: &[Message], reminder: Option<&str>) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::new();
    for message in messages {
        let (role, content) = match message {
            Message::User(content) => ("user", content.iter().map(block).collect()),
            Message::Assistant(said) => ("assistant", assistant(said)),
            Message::Tool(result) => ("user", vec![tool_result(result)]),
        };
        match turns.last_mut() {
            Some(last) if last.role == role => last.content.extend(content),
            _ => turns.push(Turn { role, content }),
        }
    }
    // A turn without content is refused.
    turns.retain(|turn| !turn.content.is_empty());
    let users = turns.iter_mut().rev().filter(|turn| turn.role == "user");
    users.take(MOVING_MARKS).filter_map(|turn| turn.content.last_mut()).for_each(mark);
    if let Some(reminder) = reminder {
        let block = json!({"type": "text", "text": reminder});
        match turns.last_mut().filter(|turn| turn.role == "user") {
            Some(turn) => turn.content.push(block),
            None => turns.push(Turn { role: "user", content: vec![block] }),
        }
    }
    turns
}

fn tool(tool: &Tool) -> Value {
    json!({"name": tool.name, "description": tool.description, "input_schema": tool.parameters})
}

fn block(content: &Content) -> Value {
    match content {
        Content::Text(text) => json!({"type": "text", "text": text}),
        Content::Image { media_type, data } => {
            let source = json!({"type": "base64", "media_type": media_type, "data": STANDARD.encode(data)});
            json!({"type": "image", "source": source})
        }
    }
}

fn assistant(said: &Assistant) -> Vec<Value> {
    let thoughts =
        said.reasoning.iter().filter_map(|thought| match (&thought.redacted, &thought.signature) {
            (Some(data), _) => Some(json!({"type": "redacted_thinking", "data": data})),
            (None, Some(signature)) => {
                Some(json!({"type": "thinking", "thinking": thought.text, "signature": signature}))
            }
            // Another provider's: it would be refused.
            (None, None) => None,
        });
    let text = (!said.text.trim().is_empty()).then(|| json!({"type": "text", "text": said.text}));
    // One that was cut off amid its thinking says nothing, and thinking must not stand last.
    if text.is_none() && said.tool_calls.is_empty() {
        return Vec::new();
    }
    let calls = said.tool_calls.iter().map(|call| {
        let input = call.parse().unwrap_or_default();
        json!({"type": "tool_use", "id": call.id, "name": call.name, "input": input})
    });
    thoughts.chain(text).chain(calls).collect()
}

fn tool_result(result: &ToolResult) -> Value {
    let content: Vec<Value> = result.content.iter().map(block).collect();
    let mut value = json!({"type": "tool_result", "tool_use_id": result.call_id, "content": content});
    if result.is_error {
        value["is_error"] = json!(true);
    }
    value
}
