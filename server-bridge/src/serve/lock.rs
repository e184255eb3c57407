//! One server per home directory: `HOME/server.lock`.
//!
//! A second server would mistake the first one's running commands for those of a dead one. The kernel releases the lock
//! however its holder ends, so an existing file alone means nothing.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::StartError;

/// The right to serve a home directory, until it is dropped.
#[derive(Debug)]
pub(crate) struct ServerLock {
    /// Holds the lock by being open.
    _file: File,
}

impl ServerLock {
    /// Takes the lock without waiting, and writes this process's id into the file for later processes.
    ///
    /// # Errors
    /// [`StartError::HomeInUse`], [`StartError::Lock`].
    pub(crate) fn take(home: &Path) -> Result<Self, StartError> {
        let failed = |source: io::Error| StartError::Lock { home: home.to_owned(), source };
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(home.join("server.lock"))
            .map_err(failed)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => {
                return Err(StartError::HomeInUse { home: home.to_owned(), pid: holder(&mut file) });
            }
            Err(error) => return Err(failed(error.into())),
        }
        file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id())).map_err(failed)?;
        Ok(Self { _file: file })
    }
}

/// The holder of the lock, from the file; `None` before it is written.
fn holder(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.read_to_string(&mut text).ok().and_then(|_| text.trim().parse().ok())
}

/// ` (pid 7)`, or nothing.
pub(super) fn in_words(pid: Option<u32>) -> String {
    pid.map_or_else(String::new, |pid| format!(" (pid {pid})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_home_has_one_server_at_a_time() {
        let home = tempfile::tempdir().unwrap();
        let first = ServerLock::take(home.path()).unwrap();
        let error = ServerLock::take(home.path()).unwrap_err().to_string();
        let pid = std::process::id();
        let expected =
            format!("another server uses {} (pid {pid}); stop it or pass --home DIR", home.path().display());
        assert_eq!(error, expected);
        drop(first);
        ServerLock::take(home.path()).unwrap();
    }
}
