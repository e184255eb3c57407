//! With whose rights file operations are done.

use std::sync::Arc;

use pathguard::Root;
use proto::{ErrorKind, WireError};

use crate::account::Account;
use crate::blocking::blocking;

/// The workspace, and with whose rights it is used; cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Files {
    pub(crate) root: Root,
    pub(crate) disk: Disk,
}

/// Does what blocks on a thread that may, with the rights of the user that commands run as: a file that is made through the
/// runner is theirs, and what they may not read is not read for them.
#[derive(Debug, Clone)]
pub(crate) struct Disk(Option<Arc<Account>>);

impl Disk {
    /// With the rights of `user`; with the runner's own where there is none.
    pub(crate) fn of(user: Option<&Account>) -> Self {
        Self(user.map(|user| Arc::new(user.clone())))
    }

    /// Runs `work`; fails only when that panicked, there is no such thread, or it cannot have the user's rights.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, WireError> {
        let Some(user) = self.0.clone() else { return blocking(work).await };
        let done = blocking(move || user.acting(work)).await?;
        done.map_err(|error| {
            WireError::new(ErrorKind::Internal, format!("file access as the user cannot be set up: {error}"))
        })
    }

    /// Adds to a denial who was denied: that this is not who started the runner surprises people.
    pub(crate) fn explain(&self, error: WireError) -> WireError {
        match &self.0 {
            Some(user) if error.kind == ErrorKind::PermissionDenied => {
                let WireError { kind, description } = error;
                let hint = format!(
                    "commands and files here belong to {user}; on the machine: chown -R {user}: WORKSPACE"
                );
                WireError::new(kind, format!("{description}; {hint}"))
            }
            _ => error,
        }
    }
}
