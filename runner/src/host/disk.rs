//! The rights with which file operations are done.

use std::sync::Arc;

use pathguard::Root;
use proto::{ErrorKind, WireError};

use crate::account::Account;
use crate::blocking::blocking;

/// The workspace, and the rights with which it is used; cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Files {
    pub(crate) root: Root,
    pub(crate) disk: Disk,
}

/// Runs blocking work on a thread for that, with the rights of the user that commands run as: files created through the runner are theirs, and files
/// that they have no permission to read are not read for them.
#[derive(Debug, Clone)]
pub(crate) struct Disk(Option<Arc<Account>>);

impl Disk {
    /// A disk with the rights of `user`, or with the runner's own if there is none.
    pub(crate) fn of(user: Option<&Account>) -> Self {
        Self(user.map(|user| Arc::new(user.clone())))
    }

    /// Runs `work`; fails only if that panicked, there is no such thread, or it cannot get the user's rights.
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

    /// Adds the denied user to a denial: it may surprise people that this is not the user who started the runner.
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
