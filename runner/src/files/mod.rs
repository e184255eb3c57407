//! File operations: each resolved by [`pathguard`] below the workspace's handle, on a thread that may block, with the rights of the user
//! that commands run as.
//!
//! | module | requests |
//! |---|---|
//! | `read` | `ReadFile` |
//! | `list` | `ReadDir` |
//! | `search` | `Glob`, `Grep` |
//! | `tree` | `ReadTree`, `WriteTree` |
//! | `download` | `Download` |
//! | `change` | `Stat`, `MkdirAll`, `Remove`, `RemoveAll`, `Rename` |
//! | `write` | `WriteFile`, a change too |
//! | `worktree` | `Worktree` |
//! | `hash_tree` | `HashTree` |
//! | `resolved` | `Resolve`; the additional checks of `WriteResolved` and `DownloadResolved` |
//!
//! No operation holds a thread while it waits for the peer, so a stalled transfer blocks no other.

mod change;
mod download;
mod hash_tree;
mod list;
mod read;
mod resolved;
mod search;
mod tree;
mod worktree;
mod write;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use proto::message::{FileKind, Metadata};
use proto::{ErrorKind, WireError, WirePath};

pub(crate) use change::{change, stat};
pub(crate) use hash_tree::hash_tree;
pub(crate) use list::read_dir;
pub(crate) use read::read;
pub(crate) use resolved::resolve;
pub(crate) use search::{glob, grep};
pub(crate) use tree::read_tree;

use crate::host::{Files, Host};
use crate::layers::Profile;

/// The wire error for an error of a guarded operation; its text names nothing outside the workspace.
pub(crate) fn path_error(error: pathguard::Error) -> WireError {
    use pathguard::Error as Path;
    let kind = match error {
        Path::EscapesRoot => ErrorKind::EscapesWorkspace,
        Path::NotFound => ErrorKind::NotFound,
        Path::AlreadyExists => ErrorKind::AlreadyExists,
        Path::PermissionDenied => ErrorKind::PermissionDenied,
        Path::NotADirectory => ErrorKind::NotADirectory,
        Path::IsADirectory => ErrorKind::IsADirectory,
        Path::DirectoryNotEmpty => ErrorKind::DirectoryNotEmpty,
        Path::SpecialFile => ErrorKind::SpecialFile,
        Path::NameTooLong => ErrorKind::NameTooLong,
        Path::TooManySymlinks => ErrorKind::TooManySymlinks,
        Path::InvalidPath(_) => ErrorKind::InvalidPath,
        Path::HardLinked => ErrorKind::HardLinked,
        Path::NoSpace => ErrorKind::NoSpace,
        Path::Protected => {
            return WireError::new(
                ErrorKind::SandboxDenied,
                "git's hooks and configuration, and the directories above them, can be read but not changed: the user's own git \
                 obeys them (--allow-git-config on the runner's machine lifts this)",
            );
        }
        Path::ReadOnly => ErrorKind::ReadOnly,
        Path::Busy => ErrorKind::Busy,
        Path::Archive(_) => ErrorKind::InvalidBody,
        Path::TooDeep | Path::TooLarge(_) => ErrorKind::TooLarge,
        Path::CrossesDevices | Path::Io(_) => ErrorKind::Io,
    };
    WireError::new(kind, error)
}

/// Like [`path_error`], for errors of the standard library's type.
fn io_error(error: std::io::Error) -> WireError {
    path_error(pathguard::Error::from(error))
}

fn path(wire: &WirePath) -> &Path {
    Path::new(OsStr::from_bytes(wire.as_bytes()))
}

/// Refuses changes under the profile `read-only`.
fn may_change(host: &Host) -> Result<(), WireError> {
    match host.profile() {
        Profile::Workspace | Profile::FullControl => Ok(()),
        Profile::ReadOnly => Err(WireError::new(
            ErrorKind::ReadOnly,
            "this runner was started with the profile read-only; nothing can be changed through it",
        )),
    }
}

fn wire_kind(kind: pathguard::Kind) -> FileKind {
    match kind {
        pathguard::Kind::File => FileKind::File,
        pathguard::Kind::Directory => FileKind::Directory,
        pathguard::Kind::Symlink => FileKind::Symlink,
        pathguard::Kind::Special => FileKind::Other,
    }
}

fn wire_metadata(found: &pathguard::Metadata) -> Metadata {
    Metadata {
        kind: wire_kind(found.kind),
        size_bytes: found.size_bytes,
        mode: found.mode,
        modified_ms: unix_ms(found.modified),
    }
}

/// Unix milliseconds, negative before 1970.
fn unix_ms(time: SystemTime) -> i64 {
    let whole = |duration: std::time::Duration| i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
    time.duration_since(UNIX_EPOCH).map_or_else(|before| -whole(before.duration()), whole)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn an_escape_is_told_without_any_path() {
        let error = path_error(pathguard::Error::EscapesRoot);
        assert_eq!(error, WireError::new(ErrorKind::EscapesWorkspace, "path escapes the workspace"));
    }

    #[test]
    fn times_before_1970_are_negative() {
        assert_eq!(unix_ms(UNIX_EPOCH + Duration::from_millis(1500)), 1500);
        assert_eq!(unix_ms(UNIX_EPOCH - Duration::from_secs(2)), -2000);
    }
}
