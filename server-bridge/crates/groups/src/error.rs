//! The errors of this crate.

/// Shorthand for this crate's results.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Every error that a caller of this crate can get.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An error of the store, which distinguishes invalid requests from failures of the machine.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The request cannot be carried out.
    #[error("{text}")]
    Refused {
        /// The reason, for programs.
        kind: &'static str,
        /// The reason for people, with what to do next.
        text: String,
    },
}

impl Error {
    pub(crate) fn refused(kind: &'static str, text: impl Into<String>) -> Self {
        Self::Refused { kind, text: text.into() }
    }

    pub(crate) fn invalid(text: impl Into<String>) -> Self {
        Self::refused("invalid", text)
    }

    /// Returns the error's name in the HTTP interface.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Refused { kind, .. } => kind,
            Self::Store(error) => error.kind(),
        }
    }

    /// Returns the text for users, which reveals nothing about the internals of the server.
    pub fn message(&self) -> String {
        match self {
            Self::Store(error) => error.shown(),
            Self::Refused { text, .. } => text.clone(),
        }
    }
}

impl From<chains::Refused> for Error {
    fn from(refused: chains::Refused) -> Self {
        Self::invalid(refused.0)
    }
}
