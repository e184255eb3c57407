//! Errors of the chat service, divided by their cause.

/// Shorthand for this crate's results.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Every error of the chat service. A command that fails is not an error here; its outcome is in its message.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The request's text breaks a rule.
    #[error("the message {rule}")]
    Invalid {
        /// The broken rule, as the rest of a sentence: `is empty`.
        rule: &'static str,
    },
    /// The store refused the request or failed; the store's error distinguishes the two.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// Like [`Error::Store`], for a request to a port of the engine.
    #[error(transparent)]
    Port(#[from] agent::PortError),
    /// The request cannot be carried out in the current state.
    #[error("{text}")]
    Refused {
        /// The reason, for programs.
        kind: &'static str,
        /// The reason for people, with what to do next.
        text: String,
    },
    /// No model has this name.
    #[error("there is no model {name:?}; see `/models` or `sandbridge model list`")]
    UnknownModel {
        /// The name that was given.
        name: String,
    },
    /// Neither the server nor the user has a model.
    #[error(
        "no model is set up; add one of your own with `sandbridge model add`, or ask the server's administrator"
    )]
    NoModel,
    /// A model cannot be asked, or it did not answer.
    #[error("{0}")]
    Model(#[from] llm::Error),
    /// The server is stopping and accepts no more messages.
    #[error("the server is stopping; send the message again in a moment")]
    Stopping,
}

impl Error {
    pub(crate) fn refused(kind: &'static str, text: impl Into<String>) -> Self {
        Self::Refused { kind, text: text.into() }
    }

    /// The error's name in the HTTP interface.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Invalid { .. } => "invalid",
            Self::Refused { kind, .. } => kind,
            Self::UnknownModel { .. } | Self::NoModel => "not_found",
            Self::Model(error) => error.kind(),
            Self::Stopping => "unavailable",
            Self::Store(error) => error.kind(),
            Self::Port(agent::PortError::Gone(_)) => "not_found",
            Self::Port(agent::PortError::Away(_)) => "unavailable",
            Self::Port(agent::PortError::Failed(_)) => "internal",
        }
    }

    /// The text for users: it reveals nothing of the server's internals.
    pub fn message(&self) -> String {
        match self {
            Self::Port(agent::PortError::Failed(_)) => {
                "the server could not do this; its log says why".to_owned()
            }
            Self::Store(error) => error.shown(),
            Self::Invalid { .. } | Self::Refused { .. } | Self::Port(_) | Self::Stopping => self.to_string(),
            Self::UnknownModel { .. } | Self::NoModel | Self::Model(_) => self.to_string(),
        }
    }
}
