//! Errors of requests for an exec, and of execs on record.

use sandbox::{RouteError, SandboxError};

/// Shorthand for this crate's results.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Every error that a client of an exec gets. The texts may be shown to users, except those whose [`Error::kind`] is `internal`.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No exec of the user has this id.
    #[error("no command has the id {0}; `sandbridge ps` lists your commands")]
    UnknownExec(String),
    /// No background task of the user has this id.
    #[error("no background task has the id {0}")]
    UnknownTask(String),
    /// The id was used for another request.
    #[error("exec {0} was already started with a different request; use a new id")]
    Conflict(String),
    /// The server is stopping, so it starts nothing new.
    #[error("the server is stopping; run the command again in a moment")]
    Stopping,
    /// No place was found to run the exec.
    #[error(transparent)]
    Route(#[from] RouteError),
    /// The sandbox refused the request or failed.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// The exec's record cannot be written or read.
    #[error(transparent)]
    Store(#[from] store::Error),
}

impl Error {
    /// The name of the error, for programs and for the audit trail; `internal` if the details are only logged.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::UnknownExec(_) | Self::UnknownTask(_) => "not_found",
            Self::Conflict(_) => "conflict",
            Self::Stopping => "unavailable",
            Self::Route(error) => error.kind(),
            Self::Sandbox(error) => error.kind(),
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
