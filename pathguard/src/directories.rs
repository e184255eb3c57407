//! Creating folders, and renaming.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::Mode;
use rustix::io::Errno;

use crate::limits::MODE_BITS;
use crate::root::Place;
use crate::{Error, Kind, Result, Root, path};

impl Root {
    /// Creates a directory and any missing parents; an existing one is fine and keeps its mode.
    ///
    /// `mode` is reduced by the umask; set-user-id, set-group-id and sticky bits are stripped.
    ///
    /// # Errors
    /// `EscapesRoot` (nothing was created outside), `NotADirectory`, `AlreadyExists` for a dangling symbolic link,
    /// `NotFound` if a directory vanishes meanwhile, and the other errors of resolution.
    pub fn mkdir_all(&self, path: impl AsRef<Path>, mode: u32) -> Result<()> {
        self.make_directories(self.relative(path.as_ref())?, mode)
    }

    pub(crate) fn make_directories(&self, relative: &Path, mode: u32) -> Result<()> {
        match self.directory(relative) {
            Err(Error::NotFound) => {}
            other => return other.map(drop),
        }
        let mode = Mode::from_raw_mode(mode & MODE_BITS);
        let mut above = self.directory(Path::new("."))?;
        for (prefix, name) in path::prefixes(relative) {
            above = match self.directory(prefix) {
                Err(Error::NotFound) => self.make_directory(&above, prefix, name, mode)?,
                other => other?,
            };
        }
        Ok(())
    }

    /// Creates one directory in an open one; it does not matter if another process creates it first.
    fn make_directory(&self, above: &OwnedFd, prefix: &Path, name: &OsStr, mode: Mode) -> Result<OwnedFd> {
        self.may_change(above, name)?;
        match rustix::fs::mkdirat(above, name, mode) {
            Ok(()) => self.directory(prefix),
            Err(Errno::EXIST) => match self.directory(prefix) {
                Err(Error::NotFound) => Err(Error::AlreadyExists), // a dangling link
                other => other,
            },
            Err(errno) => Err(errno.into()),
        }
    }

    /// Renames a file, directory or symbolic link (itself, not its target), replacing a file or an empty
    /// directory as `rename(2)` does.
    ///
    /// # Errors
    /// `EscapesRoot` for either path, `NotFound`, `IsADirectory`, `NotADirectory`, `DirectoryNotEmpty`,
    /// `InvalidPath` for the root itself or a directory moved into itself, `CrossesDevices`, `Busy`.
    pub fn rename(&self, from: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<()> {
        let from = self.place(self.relative(from.as_ref())?)?;
        let to = self.place(self.relative(to.as_ref())?)?;
        self.may_change(&from.directory, &from.name)?;
        self.may_change(&to.directory, &to.name)?;
        if from.must_be_directory || to.must_be_directory {
            require_directory(&from)?;
        }
        match rustix::fs::renameat(&from.directory, &from.name, &to.directory, &to.name) {
            Err(Errno::EXIST) => Err(Error::DirectoryNotEmpty),
            Err(errno) => Err(errno.into()),
            Ok(()) => Ok(()),
        }
    }
}

/// A trailing slash requires a directory; a link to one does not count.
pub(crate) fn require_directory(place: &Place) -> Result<()> {
    match place.metadata()?.kind {
        Kind::Directory => Ok(()),
        _ => Err(Error::NotADirectory),
    }
}
