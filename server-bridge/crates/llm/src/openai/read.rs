//! Reads the events of an answer in the chat completions format.

use serde::Deserialize;

use crate::dialect::{Decode, ProviderError};
use crate::error::Error;
use crate::reply::{Delta, Stop, Usage};

/// The data of the event that ends a stream.
const DONE: &str = "[DONE]";

#[derive(Deserialize)]
struct Chunk {
    #[serde(default)]
    choices: Vec<Choice>,
    usage: Option<Counted>,
    error: Option<serde_json::Value>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default)]
    delta: Piece,
    finish_reason: Option<String>,
}

#[derive(Default, Deserialize)]
struct Piece {
    content: Option<String>,
    /// The field of DeepSeek and vLLM.
    reasoning_content: Option<String>,
    /// The field of OpenRouter and Ollama.
    reasoning: Option<String>,
    refusal: Option<String>,
    tool_calls: Option<Vec<CallPiece>>,
}

#[derive(Deserialize)]
struct CallPiece {
    index: Option<u64>,
    id: Option<String>,
    function: Option<FunctionPiece>,
}

#[derive(Deserialize)]
struct FunctionPiece {
    name: Option<String>,
    arguments: Option<String>,
}

#[derive(Deserialize)]
struct Counted {
    #[serde(default)]
    prompt_tokens: u64,
    #[serde(default)]
    completion_tokens: u64,
    prompt_tokens_details: Option<Details>,
    /// The field of DeepSeek.
    prompt_cache_hit_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct Details {
    cached_tokens: Option<u64>,
}

#[derive(Default)]
pub(super) struct Decoder {
    /// Each call's slot, and its id if it has one.
    calls: Vec<(u64, String)>,
    has_stopped: bool,
}

impl Decode for Decoder {
    fn read(&mut self, data: &str, deltas: &mut Vec<Delta>) -> Result<bool, Error> {
        if data.trim() == DONE {
            // Some servers end without a reason.
            if !self.has_stopped {
                deltas.push(Delta::Stop(Stop::End));
            }
            return Ok(true);
        }
        let chunk: Chunk = serde_json::from_str(data)
            .map_err(|_| Error::Nonsense("an event that is not a chunk of a chat completion"))?;
        if chunk.error.is_some_and(|error| !error.is_null()) {
            return Err(ProviderError::of(data.as_bytes()).into_error(0, None));
        }
        if let Some(counted) = chunk.usage {
            deltas.push(Delta::Usage(usage(&counted)));
        }
        let Some(choice) = chunk.choices.into_iter().next() else { return Ok(false) };
        let Piece { content, reasoning_content, reasoning, refusal, tool_calls } = choice.delta;
        let full = |text: Option<String>| text.filter(|text| !text.is_empty());
        deltas.extend(full(reasoning_content).or(full(reasoning)).map(Delta::Reasoning));
        deltas.extend(full(content).or(full(refusal)).map(Delta::Text));
        for piece in tool_calls.unwrap_or_default() {
            self.call(piece, deltas)?;
        }
        if let Some(reason) = choice.finish_reason.filter(|reason| !reason.is_empty()) {
            self.has_stopped = true;
            deltas.push(Delta::Stop(stop(reason)));
        }
        Ok(false)
    }
}

impl Decoder {
    fn call(&mut self, piece: CallPiece, deltas: &mut Vec<Delta>) -> Result<(), Error> {
        let CallPiece { index, id, function } = piece;
        let (name, arguments) =
            function.map(|function| (function.name, function.arguments)).unwrap_or_default();
        let id = id.unwrap_or_default();
        let name = name.filter(|name| !name.is_empty());
        // Gemini's endpoint numbers every call 0, or not at all: another id means another call.
        let known = self.calls.iter().rev().find(|(slot, known)| {
            let is_same_slot = index.is_none_or(|index| index == *slot);
            is_same_slot && (id.is_empty() || *known == id || name.is_none())
        });
        let slot = match (known, name) {
            (Some((slot, _)), None) => *slot,
            (Some((slot, known)), Some(_)) if !id.is_empty() && *known == id => *slot,
            (None, None) => return Err(Error::Nonsense("a tool call without a name")),
            (_, Some(name)) => {
                let wanted = index.unwrap_or(self.calls.len() as u64);
                let is_taken = self.calls.iter().any(|(slot, _)| *slot == wanted);
                let next = self.calls.iter().map(|(slot, _)| slot + 1).max().unwrap_or(0);
                let slot = if is_taken { next } else { wanted };
                self.calls.push((slot, id.clone()));
                deltas.push(Delta::ToolCall { slot, id, name });
                slot
            }
        };
        deltas.extend(arguments.filter(|part| !part.is_empty()).map(|part| Delta::Arguments { slot, part }));
        Ok(())
    }
}

fn usage(counted: &Counted) -> Usage {
    let cached = counted.prompt_tokens_details.as_ref().and_then(|details| details.cached_tokens);
    Usage {
        input_tokens: counted.prompt_tokens,
        cache_read_tokens: cached.or(counted.prompt_cache_hit_tokens).unwrap_or(0),
        cache_write_tokens: 0,
        output_tokens: counted.completion_tokens,
    }
}

fn stop(reason: String) -> Stop {
    match reason.as_str() {
        "stop" | "eos" | "end_turn" => Stop::End,
        "tool_calls" | "function_call" => Stop::ToolCalls,
        "length" | "max_tokens" => Stop::MaxTokens,
        "context_window_exceeded" | "model_length" => Stop::ContextFull,
        "content_filter" | "refusal" | "safety" => Stop::Refused,
        _ => Stop::Other(reason),
    }
}
