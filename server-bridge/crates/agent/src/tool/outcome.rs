//! What a call came to, and why it did not do what it was asked for.

use llm::{Content, Usage};
use records::ChatId;
use sandbox::{RouteError, SandboxError};
use serde_json::Value;

use super::CardData;
use crate::PortError;

/// What a tool came to.
#[derive(Debug, PartialEq)]
pub struct Outcome {
    /// The text that the model reads.
    pub text: String,
    /// Whether it failed.
    pub is_error: bool,
    /// Whether it was not allowed.
    pub is_denied: bool,
    /// Whether the text may be put aside when it is long: not what was asked for in parts.
    pub may_be_offloaded: bool,
    /// What the model is shown beside the text.
    pub images: Vec<Content>,
    /// What the card holds beside the text.
    pub data: Option<CardData>,
    /// The sub-agent that was called.
    pub sub_agent: Option<SubAgentState>,
    /// The file that it is the content of.
    pub file: Option<FileSeen>,
    /// What programs get beside the text.
    pub for_programs: Option<Box<ForPrograms>>,
}

/// What programs get of an outcome beside its text. Models are not shown it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ForPrograms {
    /// Bytes that stand in the place of the text, which is empty then: they are not UTF-8.
    pub bytes: Option<FileBytes>,
    /// A text about the first one, apart from it.
    pub note: Option<String>,
    /// The outcome as data, by the tool's output schema where it has one.
    pub structured: Option<Value>,
}

/// Bytes of a file that are not text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileBytes {
    /// Where they are from.
    pub path: String,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// A sub-agent that was called, as people see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubAgentState {
    /// Its own chat, whose messages show all it said and did.
    pub chat: ChatId,
    /// Who it was told to be.
    pub role: Option<String>,
    /// The name it is called by again.
    pub instance: Option<String>,
    /// How many tools it called in this call.
    pub steps: u32,
    /// The last of those, and what it was about.
    pub doing: String,
    /// What this call took, once it is over.
    pub cost: Option<TurnCost>,
}

/// What a turn took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TurnCost {
    /// Tokens, of all its requests.
    pub usage: Usage,
    /// Millionths of a US dollar, where a price is known.
    pub cost_micros: u64,
}

/// A file as it was when it was read; without a hash, one that could not be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileSeen {
    /// Where it is, from the workspace.
    pub path: String,
    /// Of its content: SHA-256, in hex.
    pub hash: String,
    /// Its size in bytes.
    pub size_bytes: u64,
    /// When it was changed last, in Unix milliseconds by its machine's clock.
    pub modified_ms: i64,
}

/// Why a tool did not do what it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The model can do something about it.
    #[error("{0}")]
    Told(String),
    /// The same where there is a name for it, which programs match on.
    #[error("{text}")]
    Refused {
        /// The name of the error.
        kind: &'static str,
        /// The words for the model.
        text: String,
    },
    /// The place is away: nothing more can be done in this turn.
    #[error("{text}")]
    Away {
        /// The name of the error.
        kind: &'static str,
        /// The words for the model.
        text: String,
    },
    /// The server cannot go on.
    #[error(transparent)]
    Port(#[from] PortError),
}

impl Failure {
    /// No machine can be reached to look at.
    pub fn unreachable() -> Self {
        Self::Away { kind: "unavailable", text: "no machine can be reached".to_owned() }
    }

    /// The name of the error, for programs; `internal` for what only the log may say more of.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Told(_) => "invalid",
            Self::Refused { kind, .. } | Self::Away { kind, .. } => kind,
            Self::Port(PortError::Gone(_)) => "not_found",
            Self::Port(PortError::Away(_)) => "unavailable",
            Self::Port(PortError::Failed(_)) => "internal",
        }
    }

    /// The words for the model, where it can do something about it.
    pub fn told(&self) -> Option<&str> {
        match self {
            Self::Told(text) | Self::Refused { text, .. } => Some(text),
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
    /// A tool that did its work.
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
        }
    }

    /// One that is a part of something longer already.
    pub fn part(text: impl Into<String>) -> Self {
        Self { may_be_offloaded: false, ..Self::done(text) }
    }

    /// The same with what programs get beside the text.
    pub fn with(self, for_programs: ForPrograms) -> Self {
        Self { for_programs: Some(Box::new(for_programs)), ..self }
    }

    /// A tool that was not allowed to do it.
    pub fn denied(why: &str) -> Self {
        let text = format!(
            "{why}. Do not try to reach the same result in another way; say what you would do, or ask what the user wants."
        );
        Self { is_error: true, is_denied: true, ..Self::done(text) }
    }

    /// A tool that could not do its work.
    pub fn failed(text: &str) -> Self {
        let text = format!("Error: {text}\nPlease fix the issue and try again.");
        Self { is_error: true, ..Self::done(text) }
    }
}
