//! Errors of requests for an exec, and of execs on record.

use sandbox::{RouteError, SandboxError};

/// Shorthand for this crate's results.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Every error that a client of an exec gets. The texts may be shown, except those whose [`Error::kind`] is `internal`.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No exec has this id, or it is another user's.
    #[error("no command has the id {0}; `sandbridge ps` lists yours")]
    UnknownExec(String),
    /// No background task has this id, or it is another user's.
    #[error("no background task has the id {0}")]
    UnknownTask(String),
    /// The id was used for another request.
    #[error("exec {0} was already started with a different request; use a new id")]
    Conflict(String),
    /// The server is stopping: nothing new begins.
    #[error("the server is stopping; run the command again in a moment")]
    Stopping,
    /// There is no place to run it.
    #[error(transparent)]
    Route(#[from] RouteError),
    /// Its sandbox refused or failed.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// Its record cannot be written or read.
    #[error(transparent)]
    Store(#[from] store::Error),
}

impl Error {
    /// The name of the error, for programs and for the audit trail; `internal` if details go only to the log.
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
