//! Errors, split by who is to blame.

/// Shorthand for this crate's results.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Every error for clients of channels.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An error of the store, which says whether the caller or the machine is to blame.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The request is refused.
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

    /// The error's name in the HTTP interface.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Refused { kind, .. } => kind,
            Self::Store(error) => error.kind(),
        }
    }

    /// The text for users: it reveals nothing internal to the machine.
    pub fn message(&self) -> String {
        match self {
            Self::Store(error) => error.shown(),
            Self::Refused { text, .. } => text.clone(),
        }
    }

    /// Why a group refused something, for a person in a conversation that belongs to it.
    pub(crate) fn of_group(&self) -> String {
        match self {
            Self::Store(store::Error::NotFound { what: "group", .. }) => {
                "You are not in the group that this conversation belongs to; ask an owner of the group to add you."
                    .to_owned()
            }
            error => error.message(),
        }
    }
}
