//! Outcomes: the meaning of a handler's result.
//!
//! | result | meaning |
//! |---|---|
//! | exit status 0, JSON | its fields |
//! | exit status 0, other text | context at `UserPromptSubmit` and `SessionStart`; elsewhere for people only |
//! | exit status 2 | a block, with standard error as its reason, whatever is on standard output |
//! | 2xx with JSON, or with nothing | its fields |
//! | a tool's or model's answer | as for exit status 0; a model answers in JSON |
//! | anything else | a failure |
//! | a first line `{"async": true}` while the command runs | it continues in the background, and decides nothing |
//!
//! A failure never allows anything. The hook's `onFailure` determines what it denies (see [`combine`](crate::combine)).

mod first_line;
mod output;

use std::time::Duration;

use serde_json::{Map, Value};

use crate::event::Event;
use crate::limits::{BACKGROUND_PATIENCE, MAX_BACKGROUND_PATIENCE, OUTPUT_BYTES, REASON_BYTES};

pub use first_line::{FirstLine, after_first_line, goes_to_background};
pub(crate) use output::bounded;
pub use output::result_text;

/// The exit status with which a command blocks.
const BLOCKS: i32 = 2;

/// The result of running a handler.
#[derive(Clone, Debug)]
pub enum Raw {
    /// A command ended.
    Exit {
        /// The exit status of the command.
        status: i32,
        /// Standard output, at most [`OUTPUT_BYTES`].
        stdout: Vec<u8>,
        /// Standard error, also at most [`OUTPUT_BYTES`].
        stderr: Vec<u8>,
        /// True if there was more output.
        is_cut: bool,
    },
    /// A signal ended a command.
    Signal(i32),
    /// The handler exceeded its time limit.
    TimedOut(Duration),
    /// The handler could not be run, or its machine was lost; contains the reason.
    Failed(String),
    /// A server sent a response.
    Http {
        /// The HTTP status.
        status: u16,
        /// The body, at most [`OUTPUT_BYTES`].
        body: Vec<u8>,
        /// True if there was more.
        is_cut: bool,
    },
    /// A tool returned a result.
    Tool {
        /// The texts that the tool returned.
        text: String,
        /// True if the tool reports an error.
        is_error: bool,
    },
    /// A model answered.
    Model(String),
    /// A callback returned a result.
    Callback(Box<Said>),
    /// A command asked to continue in the background, for at most this long.
    Background(Duration),
}

/// A handler's decision, the least strict first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Decision {
    /// The action is allowed without a question.
    Allow,
    /// The user is asked.
    Ask,
    /// The decision is left to the next handler.
    Defer,
    /// The action is denied.
    Deny,
}

/// The result of a handler, before it is combined with the others.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Said {
    /// The decision, if the handler made one.
    pub decision: Option<Decision>,
    /// The reason of the decision.
    pub reason: Option<String>,
    /// Additional context for the model.
    pub context: Option<String>,
    /// A message for people, if there is one.
    pub message: Option<String>,
    /// New arguments for the call, in the hook's dialect.
    pub updated_input: Option<Map<String, Value>>,
    /// A new result of the call.
    pub updated_output: Option<Value>,
    /// The reason why the agent is to stop, if it is.
    pub stop: Option<String>,
    /// True if its output is not shown to people.
    pub is_quiet: bool,
    /// Plain text for people who read the log.
    pub text: Option<String>,
    /// The handler continues in the background, for at most this long.
    pub background: Option<Duration>,
    /// The reason why the handler failed, if it did.
    pub failure: Option<String>,
    /// Comments about parts that are not used.
    pub notes: Vec<String>,
}

impl Said {
    fn failed(why: impl Into<String>) -> Self {
        Self { failure: Some(why.into()), ..Self::default() }
    }
}

/// Reads a result.
pub fn read(raw: Raw, event: Event) -> Said {
    match raw {
        Raw::Exit { status: BLOCKS, stdout: _, stderr, is_cut: _ } => {
            let reason = text_of(&stderr);
            let reason = bounded(reason.trim(), REASON_BYTES);
            let reason = (!reason.is_empty()).then_some(reason);
            Said { decision: Some(Decision::Deny), reason, ..Said::default() }
        }
        Raw::Exit { is_cut: true, .. } => Said::failed(too_much()),
        Raw::Exit { status: 0, stdout, .. } if stdout.len() > OUTPUT_BYTES => Said::failed(too_much()),
        Raw::Exit { status: 0, stdout, .. } => text(&text_of(&stdout), event),
        Raw::Exit { status, stderr, .. } => {
            let why = text_of(&stderr);
            let why = bounded(why.trim(), REASON_BYTES);
            let colon = if why.is_empty() { "" } else { ": " };
            Said::failed(format!("it exited with {status}{colon}{why}"))
        }
        Raw::Signal(signal) => Said::failed(format!("it was ended by signal {signal}")),
        Raw::TimedOut(after) => Said::failed(format!("it did not end within {} s", after.as_secs_f64())),
        Raw::Failed(why) => Said::failed(bounded(&why, REASON_BYTES)),
        Raw::Http { status: 200..=299, body, is_cut } => {
            let body = text_of(&body);
            if is_cut || body.len() > OUTPUT_BYTES {
                return Said::failed(too_much());
            }
            if body.trim().is_empty() {
                return Said::default();
            }
            output::json(body.trim(), event)
                .unwrap_or_else(|| Said::failed("its answer is not a JSON object"))
        }
        Raw::Http { status, .. } => Said::failed(format!("its server answered with status {status}")),
        Raw::Tool { text, is_error: true } => {
            Said::failed(format!("its tool failed: {}", bounded(text.trim(), REASON_BYTES)))
        }
        Raw::Tool { text: answer, is_error: false } if answer.len() > OUTPUT_BYTES => {
            Said::failed(too_much())
        }
        Raw::Tool { text: answer, is_error: false } => text(&answer, event),
        Raw::Model(answer) => output::json(unfenced(&answer), event)
            .unwrap_or_else(|| Said::failed("its model did not answer with a JSON object")),
        Raw::Callback(said) => {
            Said { reason: said.reason.as_deref().map(|reason| bounded(reason, REASON_BYTES)), ..*said }
        }
        Raw::Background(time) => Said { background: Some(time), ..Said::default() },
    }
}

/// The meaning of standard output, or of the text used instead.
fn text(stdout: &str, event: Event) -> Said {
    let stdout = stdout.trim();
    if stdout.is_empty() {
        return Said::default();
    }
    if stdout.starts_with('{') {
        let broken = || Said::failed("its output begins like JSON but is not JSON");
        return output::json(stdout, event).unwrap_or_else(broken);
    }
    // A decision must not get lost because another program wrote a line before it.
    let hides = |line: &str| {
        let has_word =
            ["\"decision\"", "\"permissionDecision\"", "\"continue\""].iter().any(|it| line.contains(it));
        line.trim_start().starts_with('{') && has_word
    };
    if stdout.lines().any(hides) {
        return Said::failed("its output has text around its JSON");
    }
    let stdout = stdout.to_owned();
    match event.text_is_context() {
        true => Said { context: Some(stdout), ..Said::default() },
        false => Said { text: Some(bounded(&stdout, REASON_BYTES)), ..Said::default() },
    }
}

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn too_much() -> String {
    format!("it wrote more than {OUTPUT_BYTES} bytes")
}

/// A model's answer without the code fence that models like to put around JSON.
fn unfenced(answer: &str) -> &str {
    let answer = answer.trim();
    let Some(inner) = answer.strip_prefix("```").and_then(|rest| rest.strip_suffix("```")) else {
        return answer;
    };
    inner.strip_prefix("json").unwrap_or(inner).trim()
}

/// A duration in the background, which peers give in milliseconds.
fn background_time(ms: Option<u64>) -> Duration {
    ms.map_or(BACKGROUND_PATIENCE, Duration::from_millis).min(MAX_BACKGROUND_PATIENCE)
}

#[cfg(test)]
mod tests;
