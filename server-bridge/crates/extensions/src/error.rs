//! Errors, grouped by origin.

/// Shorthand for this crate's results.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Every error that clients of extensions get.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The store failed, or refused the request; its own error distinguishes these.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The request cannot be carried out.
    #[error("{text}")]
    Refused {
        /// The kind of error, for programs.
        kind: &'static str,
        /// The reason and what to do next, for people.
        text: String,
    },
}

impl Error {
    pub(crate) fn refused(kind: &'static str, text: impl Into<String>) -> Self {
        Self::Refused { kind, text: text.into() }
    }

    /// The error's name in the HTTP interface.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Refused { kind, .. } => kind,
            Self::Store(error) => error.kind(),
        }
    }

    /// The text for users, without internal details of the server.
    pub fn message(&self) -> String {
        match self {
            Self::Store(error) => error.shown(),
            Self::Refused { text, .. } => text.clone(),
        }
    }
}
