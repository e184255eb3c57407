//! Errors of starting a command.

use std::io;

/// The reason why a command did not start.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// No such program.
    #[error("{program}: command not found")]
    NotFound {
        /// The program as the request named it.
        program: String,
    },
    /// The program exists and cannot be run.
    #[error("{program}: cannot be run: {reason}")]
    NotExecutable {
        /// The program as the request named it.
        program: String,
        /// The system's error.
        reason: String,
    },
    /// The working directory cannot be entered: it is missing, is not a directory, or is outside the workspace.
    #[error("working directory: {0}")]
    Directory(pathguard::Error),
    /// The request is invalid on any system.
    #[error("invalid command: {reason}")]
    InvalidRequest {
        /// The problem with the request.
        reason: &'static str,
    },
    /// A confinement layer that this machine has could not be set up, so nothing may be started.
    #[error(
        "commands cannot be confined: {0}. No command is started without confinement. Make room (disk, memory), or move the \
         private home \
         (homes/ in the state directory) out of the way; `sandbridge-runner doctor` tries it again"
    )]
    Confinement(io::Error),
    /// The policy asks for something that this machine cannot do, so nothing may be started.
    #[error("{0}")]
    Unavailable(io::Error),
    /// The spawner has ended.
    #[error("the runner is shutting down")]
    Stopped,
    /// The system refused a step; the message names it.
    #[error("could not {action}: {source}")]
    System {
        /// The step, as an infinitive.
        action: &'static str,
        /// The system's error.
        source: io::Error,
    },
}

impl SpawnError {
    /// The exit code a shell would report: 127 not found, 126 not executable, 125 for failures of the sandbox.
    pub fn exit_code(&self) -> i32 {
        match self {
            Self::NotFound { .. } => 127,
            Self::NotExecutable { .. } => 126,
            Self::Directory(_)
            | Self::InvalidRequest { .. }
            | Self::Confinement(_)
            | Self::Unavailable(_)
            | Self::Stopped
            | Self::System { .. } => 125,
        }
    }

    /// Wraps an error of confining a thread.
    pub(crate) fn confinement(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::Unsupported {
            Self::Unavailable(error)
        } else {
            Self::Confinement(error)
        }
    }

    pub(crate) fn system(action: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::System { action, source }
    }
}
