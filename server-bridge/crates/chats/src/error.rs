//! Errors, split by who is to blame.

/// Shorthand for this crate's results.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Every error of the chat service. A command that fails is not an error here; its outcome is in its message.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The caller's fault: the text breaks a rule.
    #[error("the message {rule}")]
    Invalid {
        /// The rule it breaks, as the rest of a sentence.
        rule: &'static str,
    },
    /// The caller's or the machine's fault; the store's error tells them apart.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// Like [`Error::Store`], for a request of the engine.
    #[error(transparent)]
    Port(#[from] agent::PortError),
    /// It cannot be done in the current state.
    #[error("{text}")]
    Refused {
        /// The reason, for programs.
        kind: &'static str,
        /// The reason for people, with what to do next.
        text: String,
    },
    /// There is no such model.
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
    /// A model cannot be asked, or did not answer.
    #[error("{0}")]
    Model(#[from] llm::Error),
    /// The server is being stopped and takes no more messages.
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

    /// The text for users: it reveals nothing internal to the machine.
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
