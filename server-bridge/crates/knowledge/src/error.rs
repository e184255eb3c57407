//! Errors, divided by whether the caller or the server caused them.

/// Shorthand for this crate's results.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Every error for clients of knowledge.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The caller's fault or the server's; the store's error distinguishes the two.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The document has more bytes than the limit.
    #[error("the document is too large: the limit is {} MiB; split it", crate::limits::DOCUMENT_BYTES / 1024 / 1024)]
    TooLarge,
    /// The document did not arrive completely.
    #[error("the document did not arrive completely; send it again")]
    Broken,
    /// No user with this name exists, so nothing can be shared with them.
    #[error("there is no user {0:?}; check the name")]
    NoUser(String),
}

impl Error {
    /// The error's name in the HTTP interface.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::TooLarge => "too_large",
            Self::Broken => "invalid",
            Self::NoUser(_) => "not_found",
            Self::Store(error) => error.kind(),
        }
    }

    /// The text for users: it reveals nothing internal to the machine.
    pub fn message(&self) -> String {
        match self {
            Self::Store(error) => error.shown(),
            other => other.to_string(),
        }
    }
}
