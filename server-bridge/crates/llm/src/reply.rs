//! A model's answer: its events as they arrive, and the result.

use crate::error::Error;
use crate::limits::{ARGUMENTS_BYTES, TOOL_CALLS};
use crate::message::{Assistant, Reasoning, ToolCall};

/// A piece of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delta {
    /// More text.
    Text(String),
    /// More reasoning.
    Reasoning(String),
    /// The signature or the hidden form of a piece of reasoning; ends that piece.
    ReasoningSeal {
        /// See [`Reasoning::signature`].
        signature: Option<String>,
        /// See [`Reasoning::redacted`].
        redacted: Option<String>,
    },
    /// The model begins a call; `slot` distinguishes the calls of one answer.
    ToolCall {
        /// The call's position in the answer, by the provider's count.
        slot: u64,
        /// The provider's name for the call.
        id: String,
        /// The name of the tool.
        name: String,
    },
    /// More of a call's arguments.
    Arguments {
        /// The call's slot.
        slot: u64,
        /// The next part of the JSON.
        part: String,
    },
    /// Tokens counted so far; a later count replaces it.
    Usage(Usage),
    /// The reason why the model stopped.
    Stop(Stop),
}

/// The reason why a model stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The answer is complete.
    End,
    /// The model waits for the tool results.
    ToolCalls,
    /// The model used up its output tokens.
    MaxTokens,
    /// Conversation and answer together fill the model's window.
    ContextFull,
    /// The model, or its provider, refuses to answer.
    Refused,
    /// The model stopped for another reason, as the provider names it.
    Other(String),
}

/// Tokens of one call, as its provider counted them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Input tokens, cached or not.
    pub input_tokens: u64,
    /// How many of those came from a cache.
    pub cache_read_tokens: u64,
    /// How many of those were written to a cache.
    pub cache_write_tokens: u64,
    /// Output tokens, including reasoning.
    pub output_tokens: u64,
}

impl Usage {
    /// The sum of this usage and another.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            input_tokens: self.input_tokens.saturating_add(other.input_tokens),
            cache_read_tokens: self.cache_read_tokens.saturating_add(other.cache_read_tokens),
            cache_write_tokens: self.cache_write_tokens.saturating_add(other.cache_write_tokens),
            output_tokens: self.output_tokens.saturating_add(other.output_tokens),
        }
    }

    /// This usage updated by a later event, which contains only the counts that changed.
    fn updated(self, by: Self) -> Self {
        let newer = |old: u64, new: u64| if new == 0 { old } else { new };
        Self {
            input_tokens: newer(self.input_tokens, by.input_tokens),
            cache_read_tokens: newer(self.cache_read_tokens, by.cache_read_tokens),
            cache_write_tokens: newer(self.cache_write_tokens, by.cache_write_tokens),
            output_tokens: newer(self.output_tokens, by.output_tokens),
        }
    }
}

/// A whole answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The text and the calls of the answer.
    pub message: Assistant,
    /// The reason why the model stopped.
    pub stop: Stop,
    /// The tokens used; zero if the provider does not count them.
    pub usage: Usage,
}

/// Assembles an answer.
#[derive(Debug, Default)]
pub struct Assembly {
    message: Assistant,
    slots: Vec<u64>,
    is_thinking: bool,
    stop: Option<Stop>,
    usage: Usage,
}

impl Assembly {
    /// Adds a piece.
    ///
    /// # Errors
    /// [`Error::Nonsense`]: too many calls or too long arguments, or arguments of a call that never began.
    pub fn push(&mut self, delta: &Delta) -> Result<(), Error> {
        match delta {
            Delta::Text(text) => self.message.text.push_str(text),
            Delta::Reasoning(text) => self.thought().text.push_str(text),
            Delta::ReasoningSeal { signature, redacted } => {
                let thought = self.thought();
                thought.signature.clone_from(signature);
                thought.redacted.clone_from(redacted);
                self.is_thinking = false;
            }
            Delta::ToolCall { slot, id, name } => self.begin_call(*slot, id, name)?,
            Delta::Arguments { slot, part } => {
                let at = self.slots.iter().position(|known| known == slot);
                let at = at.ok_or(Error::Nonsense("arguments of a tool call that never began"))?;
                let arguments = &mut self.message.tool_calls[at].arguments;
                if arguments.len() + part.len() > ARGUMENTS_BYTES {
                    return Err(Error::Nonsense("arguments of a tool call longer than 16 MiB"));
                }
                arguments.push_str(part);
            }
            Delta::Usage(usage) => self.usage = self.usage.updated(*usage),
            Delta::Stop(stop) => self.stop = Some(stop.clone()),
        }
        Ok(())
    }

    fn thought(&mut self) -> &mut Reasoning {
        if !std::mem::replace(&mut self.is_thinking, true) {
            self.message.reasoning.push(Reasoning::default());
        }
        self.message.reasoning.last_mut().expect("one was added when this piece of thinking began")
    }

    fn begin_call(&mut self, slot: u64, id: &str, name: &str) -> Result<(), Error> {
        if self.slots.contains(&slot) {
            return Err(Error::Nonsense("two tool calls with the same index"));
        }
        if self.slots.len() == TOOL_CALLS {
            return Err(Error::Nonsense("more than 128 tool calls at once"));
        }
        self.slots.push(slot);
        // Some providers leave the id out; results have to name their call.
        let id = if id.is_empty() { format!("call_{slot}") } else { id.to_owned() };
        self.message.tool_calls.push(ToolCall { id, name: name.to_owned(), arguments: String::new() });
        Ok(())
    }

    /// The content so far, for an answer that ends early.
    pub fn so_far(&self) -> &Assistant {
        &self.message
    }

    /// The answer, at the end of its events.
    ///
    /// # Errors
    /// [`Error::Interrupted`]: the answer ended early; [`Error::Empty`]: it ended without content.
    pub fn finish(self) -> Result<Reply, Error> {
        let Some(mut stop) = self.stop else { return Err(Error::Interrupted) };
        let message = self.message;
        let has_calls = !message.tool_calls.is_empty();
        if message.text.is_empty() && !has_calls && matches!(stop, Stop::End | Stop::ToolCalls) {
            return Err(Error::Empty);
        }
        // Several providers send `stop` after a tool call.
        if has_calls && stop == Stop::End {
            stop = Stop::ToolCalls;
        }
        Ok(Reply { message, stop, usage: self.usage })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finished(deltas: &[Delta]) -> Result<Reply, Error> {
        let mut assembly = Assembly::default();
        for delta in deltas {
            assembly.push(delta)?;
        }
        assembly.finish()
    }

    fn call(slot: u64) -> Delta {
        Delta::ToolCall { slot, id: format!("c{slot}"), name: "Read".to_owned() }
    }

    fn arguments(slot: u64, part: &str) -> Delta {
        Delta::Arguments { slot, part: part.to_owned() }
    }

    #[test]
    fn interleaved_calls_keep_their_arguments_apart() {
        let stop = Delta::Stop(Stop::End);
        let deltas =
            [call(0), call(3), arguments(3, "{\"b\""), arguments(0, "{}"), arguments(3, ":1}"), stop];
        let reply = finished(&deltas).unwrap();
        let calls = reply.message.tool_calls;
        assert_eq!((calls[0].arguments.as_str(), calls[1].arguments.as_str()), ("{}", "{\"b\":1}"));
        assert_eq!(reply.stop, Stop::ToolCalls, "whatever the provider called it");
    }

    #[test]
    fn pieces_of_thinking_keep_their_own_seals() {
        let seal = |text: &str| Delta::ReasoningSeal { signature: Some(text.to_owned()), redacted: None };
        let thought = |text: &str| Delta::Reasoning(text.to_owned());
        let deltas = [
            thought("a"),
            thought("b"),
            seal("1"),
            thought("c"),
            seal("2"),
            Delta::Text("x".to_owned()),
            Delta::Stop(Stop::End),
        ];
        let reasoning = finished(&deltas).unwrap().message.reasoning;
        let pairs: Vec<_> =
            reasoning.iter().map(|one| (one.text.as_str(), one.signature.as_deref().unwrap())).collect();
        assert_eq!(pairs, [("ab", "1"), ("c", "2")]);
    }

    #[test]
    fn an_answer_without_an_end_or_without_a_word_is_none() {
        assert_eq!(finished(&[Delta::Text("half".to_owned())]), Err(Error::Interrupted));
        assert_eq!(finished(&[Delta::Stop(Stop::End)]), Err(Error::Empty));
        assert_eq!(finished(&[Delta::Reasoning("hm".to_owned()), Delta::Stop(Stop::End)]), Err(Error::Empty));
        assert!(finished(&[Delta::Stop(Stop::Refused)]).is_ok());
        assert!(finished(&[Delta::Stop(Stop::ContextFull)]).is_ok());
    }

    #[test]
    fn what_no_tool_has_is_refused() {
        assert!(matches!(finished(&[arguments(1, "{}")]), Err(Error::Nonsense(_))));
        assert!(matches!(finished(&[call(1), call(1)]), Err(Error::Nonsense(_))));
        let long = arguments(0, &"x".repeat(ARGUMENTS_BYTES));
        assert!(finished(&[call(0), long.clone(), Delta::Stop(Stop::End)]).is_ok());
        assert!(matches!(finished(&[call(0), long, arguments(0, "x")]), Err(Error::Nonsense(_))));
        let many: Vec<Delta> = (0..=TOOL_CALLS as u64).map(call).collect();
        assert!(matches!(finished(&many), Err(Error::Nonsense(_))));
        let most = [&many[1..], &[Delta::Stop(Stop::ToolCalls)]].concat();
        assert_eq!(finished(&most).unwrap().message.tool_calls.len(), TOOL_CALLS);
    }

    #[test]
    fn usage_told_in_two_events_is_one() {
        let first = Usage { input_tokens: 10, cache_read_tokens: 4, ..Usage::default() };
        let last = Usage { output_tokens: 7, ..Usage::default() };
        let deltas =
            [Delta::Usage(first), Delta::Text("x".to_owned()), Delta::Usage(last), Delta::Stop(Stop::End)];
        let usage = finished(&deltas).unwrap().usage;
        assert_eq!((usage.input_tokens, usage.cache_read_tokens, usage.output_tokens), (10, 4, 7));
        assert_eq!(usage.plus(usage).output_tokens, 14);
    }
}
