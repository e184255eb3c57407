//! The document of a message: an exec's or an agent's, by the message's role.

use api::document::{AgentDocument, ExecDocument};
use api::words::{ExecStatus, ToolStatus, TurnStatus};
use store::{Message, MessageRole};

/// A message's parsed document.
pub(crate) enum Document {
    /// The document of a message with the role [`MessageRole::Exec`].
    Exec(Box<ExecDocument>),
    /// The document of a message with the role [`MessageRole::Assistant`].
    Agent(Box<AgentDocument>),
}

impl Document {
    /// Parses the document of a message; `None` if it has none, or one of a later version that cannot be read here.
    pub(crate) fn of(message: &Message) -> Option<Self> {
        let json = message.document_json.as_deref()?;
        match message.role {
            MessageRole::Exec => serde_json::from_str(json).ok().map(Self::Exec),
            MessageRole::Assistant => serde_json::from_str(json).ok().map(Self::Agent),
            MessageRole::User | MessageRole::Notice => None,
        }
    }

    /// True if the document shows something in progress, so that it may still change.
    pub(crate) fn is_under_way(&self) -> bool {
        match self {
            Self::Exec(exec) => exec.status == ExecStatus::Running,
            Self::Agent(agent) => match &**agent {
                AgentDocument::Reply { status, .. } => {
                    matches!(status, TurnStatus::Queued | TurnStatus::Running)
                }
                AgentDocument::Tool { status, .. } => {
                    matches!(status, ToolStatus::Asking | ToolStatus::Running)
                }
            },
        }
    }
}

/// The exec that a message shows.
pub(crate) fn exec(message: &Message) -> Option<ExecDocument> {
    match Document::of(message)? {
        Document::Exec(exec) => Some(*exec),
        Document::Agent(_) => None,
    }
}

/// The agent's document of a message.
pub(crate) fn agent(message: &Message) -> Option<AgentDocument> {
    match Document::of(message)? {
        Document::Agent(agent) => Some(*agent),
        Document::Exec(_) => None,
    }
}
