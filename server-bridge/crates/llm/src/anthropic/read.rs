//! Reads the events of an answer in the format of Anthropic's Messages API.

use serde::Deserialize;

use crate::dialect::{Decode, ProviderError};
use crate::error::Error;
use crate::reply::{Delta, Stop, Usage};

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Event {
    MessageStart {
        message: Start,
    },
    ContentBlockStart {
        index: u64,
        content_block: Block,
    },
    ContentBlockDelta {
        index: u64,
        delta: Piece,
    },
    ContentBlockStop {
        index: u64,
    },
    MessageDelta {
        delta: End,
        usage: Option<Counted>,
    },
    MessageStop,
    Error {},
    /// `ping`, and other events of newer versions.
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Start {
    usage: Option<Counted>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block {
    Text {
        #[serde(default)]
        text: String,
    },
    Thinking {
        #[serde(default)]
        thinking: String,
    },
    RedactedThinking {
        data: String,
    },
    ToolUse {
        id: String,
        name: String,
        #[serde(default)]
        input: serde_json::Map<String, serde_json::Value>,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Piece {
    TextDelta {
        text: String,
    },
    ThinkingDelta {
        thinking: String,
    },
    SignatureDelta {
        signature: String,
    },
    InputJsonDelta {
        partial_json: String,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct End {
    stop_reason: Option<String>,
}

#[derive(Clone, Copy, Default, Deserialize)]
struct Counted {
    input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    output_tokens: Option<u64>,
}

#[derive(Default)]
pub(super) struct Decoder {
    /// The index of the open block of reasoning, and its signature so far.
    thinking: Option<(u64, Option<String>)>,
    has_stopped: bool,
}

impl Decode for Decoder {
    fn read(&mut self, data: &str, deltas: &mut Vec<Delta>) -> Result<bool, Error> {
        let event: Event = serde_json::from_str(data)
            .map_err(|_| Error::Nonsense("an event that is not one of Anthropic's messages"))?;
        match event {
            Event::MessageStart { message } => deltas.extend(message.usage.map(usage)),
            Event::ContentBlockStart { index, content_block } => self.begin(index, content_block, deltas),
            Event::ContentBlockDelta { index, delta } => self.piece(index, delta, deltas),
            Event::ContentBlockStop { index } => {
                if let Some((_, signature)) = self.thinking.take_if(|(thinking, _)| *thinking == index) {
                    deltas.push(Delta::ReasoningSeal { signature, redacted: None });
                }
            }
            Event::MessageDelta { delta, usage: counted } => {
                deltas.extend(counted.map(usage));
                if let Some(reason) = delta.stop_reason {
                    self.has_stopped = true;
                    deltas.push(Delta::Stop(stop(reason)));
                }
            }
            Event::MessageStop => {
                if !self.has_stopped {
                    deltas.push(Delta::Stop(Stop::End));
                }
                return Ok(true);
            }
            Event::Error {} => return Err(ProviderError::of(data.as_bytes()).into_error(0, None)),
            Event::Other => {}
        }
        Ok(false)
    }
}

impl Decoder {
    fn begin(&mut self, index: u64, block: Block, deltas: &mut Vec<Delta>) {
        match block {
            Block::Text { text } if !text.is_empty() => deltas.push(Delta::Text(text)),
            Block::Text { .. } | Block::Other => {}
            Block::Thinking { thinking } => {
                self.thinking = Some((index, None));
                deltas.push(Delta::Reasoning(thinking));
            }
            Block::RedactedThinking { data } => {
                deltas.push(Delta::ReasoningSeal { signature: None, redacted: Some(data) });
            }
            Block::ToolUse { id, name, input } => {
                deltas.push(Delta::ToolCall { slot: index, id, name });
                // Proxies that do not stream send the arguments at once.
                if !input.is_empty() {
                    let part = serde_json::Value::Object(input).to_string();
                    deltas.push(Delta::Arguments { slot: index, part });
                }
            }
        }
    }

    fn piece(&mut self, index: u64, piece: Piece, deltas: &mut Vec<Delta>) {
        match piece {
            Piece::TextDelta { text } => deltas.push(Delta::Text(text)),
            Piece::ThinkingDelta { thinking } => deltas.push(Delta::Reasoning(thinking)),
            Piece::SignatureDelta { signature } => {
                if let Some((_, sealed)) = &mut self.thinking {
                    sealed.get_or_insert_default().push_str(&signature);
                }
            }
            Piece::InputJsonDelta { partial_json } if !partial_json.is_empty() => {
                deltas.push(Delta::Arguments { slot: index, part: partial_json });
            }
            Piece::InputJsonDelta { .. } | Piece::Other => {}
        }
    }
}

/// Anthropic counts cached tokens separately from the input, not in it.
fn usage(counted: Counted) -> Delta {
    let count = |tokens: Option<u64>| tokens.unwrap_or(0);
    let (read, written) =
        (count(counted.cache_read_input_tokens), count(counted.cache_creation_input_tokens));
    Delta::Usage(Usage {
        input_tokens: count(counted.input_tokens).saturating_add(read).saturating_add(written),
        cache_read_tokens: read,
        cache_write_tokens: written,
        output_tokens: count(counted.output_tokens),
    })
}

fn stop(reason: String) -> Stop {
    match reason.as_str() {
        "end_turn" | "stop_sequence" | "pause_turn" => Stop::End,
        "tool_use" => Stop::ToolCalls,
        "max_tokens" => Stop::MaxTokens,
        "model_context_window_exceeded" => Stop::ContextFull,
        "refusal" => Stop::Refused,
        _ => Stop::Other(reason),
    }
}
