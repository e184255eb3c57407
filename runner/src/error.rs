//! Errors that keep the runner from starting or continuing, for the person who started it; and those of starting a command.

mod spawn;

use std::io;
use std::path::PathBuf;

pub use spawn::SpawnError;

/// An error that keeps the runner from starting or continuing.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// What was asked of the runner cannot work; the text contains what to do instead.
    #[error("{0}")]
    Usage(String),
    /// The workspace cannot be opened.
    #[error("the workspace {path} cannot be opened: {reason}")]
    Workspace {
        /// The path as it was given.
        path: PathBuf,
        /// The system's error.
        reason: pathguard::Error,
    },
    /// The confined thread that starts commands could not be set up.
    #[error("commands cannot be started here: {0}")]
    Spawner(#[from] SpawnError),
    /// A file the runner needs cannot be read or written.
    #[error("{path}: {source}")]
    File {
        /// The path of the file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The certificates that servers are checked against cannot be loaded.
    #[error("TLS cannot be set up: {0}")]
    Tls(String),
    /// The system refused a step; the message names it.
    #[error("could not {action}: {source}")]
    System {
        /// The step, as an infinitive.
        action: &'static str,
        /// The system's error.
        source: io::Error,
    },
}

impl Error {
    /// An [`Error::System`] of a step, for `map_err`.
    pub(crate) fn system(action: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::System { action, source }
    }

    /// An [`Error::File`] of a path, for `map_err`.
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { path, source }
    }
}
