//! The result of a tool call, and its failures.

use llm::{Content, Usage};
use records::ChatId;
use sandbox::{RouteError, SandboxError};
use serde_json::Value;

use super::CardData;
use crate::PortError;

/// The result of a tool call.
#[derive(Debug, PartialEq)]
pub struct Outcome {
    /// The text that the model reads.
    pub text: String,
    /// True if the call failed.
    pub is_error: bool,
    /// True if the call was denied.
    pub is_denied: bool,
    /// True if a long text may be put aside; false for text that was requested in parts.
    pub may_be_offloaded: bool,
    /// Images for the model in addition to the text.
    pub images: Vec<Content>,
    /// The card's data in addition to the text.
    pub data: Option<CardData>,
    /// The sub-agent that was called.
    pub sub_agent: Option<SubAgentState>,
    /// The file whose content the text is.
    pub file: Option<FileSeen>,
    /// Data for programs in addition to the text.
    pub for_programs: Option<Box<ForPrograms>>,
    /// The names of the deferred tools that the call found: they are declared to the model with its next request.
    pub found: Vec<String>,
}

/// The part of an outcome that only programs get, in addition to the text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ForPrograms {
    /// Bytes that are not UTF-8; they replace the text, which is then empty.
    pub bytes: Option<FileBytes>,
    /// A second text, with a note about the first one.
    pub note: Option<String>,
    /// The outcome as data, matching the tool's output schema if there is one.
    pub structured: Option<Value>,
}

/// Bytes of a file that are not text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileBytes {
    /// The path that the bytes were read from.
    pub path: String,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// The state of a sub-agent that was called, as people see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubAgentState {
    /// The sub-agent's own chat, whose messages show its whole work.
    pub chat: ChatId,
    /// The sub-agent's role, if it has one.
    pub role: Option<String>,
    /// The name by which the sub-agent can be called again, if it has one.
    pub instance: Option<String>,
    /// The machine that the sub-agent works on, if that differs from its parent's.
    pub place: Option<String>,
    /// The number of tool calls so far in this call.
    pub steps: u32,
    /// The latest of the sub-agent's tool calls, with its subject.
    pub doing: String,
    /// The cost of this call, once it has ended.
    pub cost: Option<TurnCost>,
    /// True if the call does not wait for the sub-agent to end.
    pub is_background: bool,
}

/// The cost of a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TurnCost {
    /// The tokens of all requests of the turn.
    pub usage: Usage,
    /// The cost in millionths of a US dollar; 0 if no price is known.
    pub cost_micros: u64,
}

/// A file at the time it was read; the hash is empty if none could be made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileSeen {
    /// The file's path, relative to the workspace.
    pub path: String,
    /// The SHA-256 of the file's content, in hex.
    pub hash: String,
    /// The file's size in bytes.
    pub size_bytes: u64,
    /// The time of the last modification, in Unix milliseconds by the machine's clock.
    pub modified_ms: i64,
}

/// The reason why a tool failed.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// An error that the model can react to.
    #[error("{0}")]
    Message(String),
    /// An error that the model can react to, with a name that programs match on.
    #[error("{text}")]
    Refused {
        /// The name of the error.
        kind: &'static str,
        /// The text for the model.
        text: String,
    },
    /// The place cannot be reached, so nothing more can be done in this turn.
    #[error("{text}")]
    Away {
        /// The name of the error.
        kind: &'static str,
        /// The text for the model.
        text: String,
    },
    /// The server itself cannot continue.
    #[error(transparent)]
    Port(#[from] PortError),
}

impl Failure {
    /// The failure for a call that cannot be examined because no machine can be reached.
    pub fn unreachable() -> Self {
        Self::Away { kind: "unavailable", text: "no machine can be reached".to_owned() }
    }

    /// The name of the error, for programs; `internal` if the details are only logged.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Message(_) => "invalid",
            Self::Refused { kind, .. } | Self::Away { kind, .. } => kind,
            Self::Port(PortError::Gone(_)) => "not_found",
            Self::Port(PortError::Away(_)) => "unavailable",
            Self::Port(PortError::Failed(_)) => "internal",
        }
    }

    /// The text for the model, if it can react to the error.
    pub fn told(&self) -> Option<&str> {
        match self {
            Self::Message(text) | Self::Refused { text, .. } => Some(text),
            Self::Away { .. } | Self::Port(_) => None,
        }
    }
}

impl From<SandboxError> for Failure {
    fn from(error: SandboxError) -> Self {
        let (kind, text) = (error.kind(), error.to_string());
        match error {
            SandboxError::Offline { .. } | SandboxError::Lost { .. } => Self::Away { kind, text },
            _ => Self::Refused { kind, text },
        }
    }
}

impl From<RouteError> for Failure {
    fn from(error: RouteError) -> Self {
        Self::Away { kind: error.kind(), text: error.to_string() }
    }
}

impl Outcome {
    /// The outcome of a successful call.
    pub fn done(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            is_error: false,
            is_denied: false,
            may_be_offloaded: true,
            images: Vec::new(),
            data: None,
            sub_agent: None,
            file: None,
            for_programs: None,
            found: Vec::new(),
        }
    }

    /// The outcome of a successful call whose text is only one part of a longer result, so it is not put aside.
    pub fn part(text: impl Into<String>) -> Self {
        Self { may_be_offloaded: false, ..Self::done(text) }
    }

    /// The same outcome with data for programs.
    pub fn with(self, for_programs: ForPrograms) -> Self {
        Self { for_programs: Some(Box::new(for_programs)), ..self }
    }

    /// The outcome of a denied call.
    pub fn denied(why: &str) -> Self {
        let text = format!(
            "{why}. Do not try to reach the same result in another way; say what you would do, or ask what the user wants."
        );
        Self { is_error: true, is_denied: true, ..Self::done(text) }
    }

    /// The outcome of a call of which it is unknown whether it took effect; the text says what to do first.
    pub fn unknown(text: &str) -> Self {
        Self { is_error: true, ..Self::done(text) }
    }

    /// The outcome of a failed call.
    pub fn failed(text: &str) -> Self {
        let text = format!("Error: {text}\nPlease fix the issue and try again.");
        Self { is_error: true, ..Self::done(text) }
    }
}
