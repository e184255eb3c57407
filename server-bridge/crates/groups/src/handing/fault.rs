//! The reasons why finding or handing over files failed.

use pathguard::Error as Guarded;
use pathguard::tree::TreeError;
use sandbox::{ErrorKind, RouteError, SandboxError};

use super::relay::Limits;
use crate::obstacle::Obstacle;

/// The reason why finding or handing over files failed, in words for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// A machine is offline or busy; the work is tried again.
    Later(String),
    /// Something changed the files while they were being read; they are read again, a few times.
    Changed,
    /// These outputs do not exist.
    Missing(Vec<String>),
    /// The work keeps failing until a person changes something.
    Never(String),
}

/// The operation that failed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At<'a> {
    /// The name of the machine.
    pub(crate) place: &'a str,
    /// True if the operation reads from the machine, false if it writes to it.
    pub(crate) reads: bool,
    /// The path of the file or directory on the machine.
    pub(crate) path: &'a [u8],
}

impl At<'_> {
    /// Converts an error of the machine or of the connection to it.
    pub(crate) fn fault(self, error: &SandboxError) -> Fault {
        match error {
            SandboxError::FileChanged { .. } => Fault::Changed,
            SandboxError::Offline { .. }
            | SandboxError::Lost { .. }
            | SandboxError::NotWritten { .. }
            | SandboxError::Ambiguous { .. } => Fault::Later(error.to_string()),
            SandboxError::Remote { kind, message } => match kind {
                ErrorKind::Busy
                | ErrorKind::ShuttingDown
                | ErrorKind::Cancelled
                | ErrorKind::Lost
                | ErrorKind::Ambiguous => Fault::Later(self.said(message)),
                _ => Fault::Never(self.said(message)),
            },
            error => Fault::Never(self.said(&error.to_string())),
        }
    }

    /// Converts the error of an archive that cannot be passed on.
    pub(crate) fn archive(self, error: &TreeError, limits: Limits) -> Fault {
        match error.error {
            Guarded::TooLarge(_) => limits.exceeded(),
            _ => Fault::Never(self.said(&error.to_string())),
        }
    }

    /// Creates the fault for a machine that did not respond for too long.
    pub(crate) fn stalled(self) -> Fault {
        Fault::Later(self.said("the machine did not answer in time"))
    }

    pub(crate) fn said(self, why: &str) -> String {
        let path = String::from_utf8_lossy(self.path);
        let Self { place, reads, .. } = self;
        if reads {
            format!("reading {path} on {place}: {why}")
        } else {
            format!("writing {path} on {place}: {why}")
        }
    }
}

impl From<RouteError> for Fault {
    fn from(error: RouteError) -> Self {
        match Obstacle::from(error) {
            Obstacle::Now(why) => Self::Later(why),
            lasting => Self::Never(lasting.to_string()),
        }
    }
}

impl From<store::Error> for Fault {
    fn from(error: store::Error) -> Self {
        tracing::error!(%error, "the database failed while files were handed over; the server will try again");
        Self::Later(
            "the server could not record the hand-over; see the server's log for the reason".to_owned(),
        )
    }
}
