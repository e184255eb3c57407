//! Errors, whose texts reveal nothing about the world outside the root.

use std::io;

use rustix::io::Errno;

/// The result of a guarded operation.
pub type Result<T> = std::result::Result<T, Error>;

/// The reason why a guarded operation was refused or failed.
///
/// Messages contain neither the path nor its target, so they can be shown to anyone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The path, or a symbolic link on its way, leads out of the root; the error does not reveal whether anything exists there.
    #[error("path escapes the workspace")]
    EscapesRoot,
    /// Nothing exists there.
    #[error("no such file or directory")]
    NotFound,
    /// Something exists there already.
    #[error("it already exists")]
    AlreadyExists,
    /// The operating system refuses this user.
    #[error("permission denied")]
    PermissionDenied,
    /// A directory is required, but it is something else.
    #[error("not a directory")]
    NotADirectory,
    /// A file is required, but it is a directory.
    #[error("it is a directory")]
    IsADirectory,
    /// A directory that is to be removed or replaced has entries.
    #[error("the directory is not empty")]
    DirectoryNotEmpty,
    /// A regular file is required, but it is a FIFO, socket or device.
    #[error("it is a FIFO, socket or device, not a regular file")]
    SpecialFile,
    /// The path is longer than 4,095 bytes, or a component than 255.
    #[error("the name is too long (at most 4095 bytes, 255 for each component)")]
    NameTooLong,
    /// More than 40 symbolic links, a loop, or one of the kernel's magic links.
    #[error("too many levels of symbolic links")]
    TooManySymlinks,
    /// The path is invalid for the operation; the text has the reason.
    #[error("invalid path: {0}")]
    InvalidPath(&'static str),
    /// The file has more than one hard link and [`HardLinks::Refuse`](crate::HardLinks::Refuse) is in effect.
    #[error("the file has more than one hard link, which this workspace refuses")]
    HardLinked,
    /// The file system or the quota is full, or the file would be too large.
    #[error("no space left")]
    NoSpace,
    /// The path is one that the root's owner protects from changes.
    #[error("it is protected: it can be read but not changed")]
    Protected,
    /// The file system is mounted read-only.
    #[error("read-only file system")]
    ReadOnly,
    /// A rename would cross from one file system to another; copy and remove instead.
    #[error("source and destination are on different file systems: copy and remove instead")]
    CrossesDevices,
    /// The path is a mount point, held by a lease, or kept changing: try again later.
    #[error("it is in use: try again later")]
    Busy,
    /// A directory lies deeper than [`TREE_DEPTH`](crate::limits::TREE_DEPTH) levels below where a walk began.
    #[error("it is nested too deeply (at most 128 directories)")]
    TooDeep,
    /// An archive is malformed, or contains something that is not extracted; the text names it.
    #[error("the archive cannot be used: {0}")]
    Archive(&'static str),
    /// An archive or a tree exceeds a limit; the text names the limit.
    #[error("too large: {0}")]
    TooLarge(&'static str),
    /// Any other error of the operating system, by its number.
    #[error("{}", io::Error::from_raw_os_error(*.0))]
    Io(i32),
}

impl Error {
    /// Translates an error of a cap-std resolution, which reports an escape as a denial without a number.
    pub(crate) fn from_guarded(error: &io::Error) -> Self {
        match error.raw_os_error() {
            None if error.kind() == io::ErrorKind::PermissionDenied => Self::EscapesRoot,
            // Resolution below a handle reports a step out of it as a cross-device link.
            Some(number) if number == Errno::XDEV.raw_os_error() => Self::EscapesRoot,
            _ => Self::from(error),
        }
    }
}

impl From<&io::Error> for Error {
    fn from(error: &io::Error) -> Self {
        match Errno::from_io_error(error) {
            Some(errno) => Self::from(errno),
            None if error.kind() == io::ErrorKind::InvalidInput => Self::from(Errno::INVAL),
            None => Self::Io(Errno::IO.raw_os_error()),
        }
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::from(&error)
    }
}

impl From<Errno> for Error {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::NOENT => Self::NotFound,
            Errno::EXIST => Self::AlreadyExists,
            Errno::ACCESS | Errno::PERM => Self::PermissionDenied,
            Errno::NOTDIR => Self::NotADirectory,
            Errno::ISDIR => Self::IsADirectory,
            Errno::NOTEMPTY => Self::DirectoryNotEmpty,
            Errno::NXIO | Errno::NODEV => Self::SpecialFile,
            Errno::NAMETOOLONG => Self::NameTooLong,
            Errno::LOOP => Self::TooManySymlinks,
            Errno::INVAL => Self::InvalidPath("the file system refuses this name or move"),
            Errno::NOSPC | Errno::DQUOT | Errno::FBIG => Self::NoSpace,
            Errno::ROFS => Self::ReadOnly,
            Errno::XDEV => Self::CrossesDevices,
            Errno::BUSY | Errno::AGAIN | Errno::TXTBSY => Self::Busy,
            other => Self::Io(other.raw_os_error()),
        }
    }
}
