//! Reading: files, listings and metadata.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use cap_fs_ext::FollowSymlinks;
use rustix::fs::OFlags;

use crate::root::{list_at, metadata_at};
use crate::{Error, HardLinks, Kind, Metadata, Result, Root};

/// A regular file below the root, open for reading.
#[derive(Debug)]
pub struct OpenFile {
    file: File,
    metadata: Metadata,
}

impl OpenFile {
    /// Accepts only regular files.
    pub(crate) fn of(file: File, hard_links: HardLinks) -> Result<Self> {
        let metadata = regular(&file)?;
        if metadata.hard_links > 1 && hard_links == HardLinks::Refuse {
            return Err(Error::HardLinked);
        }
        Ok(Self { file, metadata })
    }

    /// The file's metadata, taken when it was opened.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// The open file, positioned at its start.
    pub fn into_file(self) -> File {
        self.file
    }
}

/// The metadata of an open file; an error unless it is a regular one.
fn regular(file: &File) -> Result<Metadata> {
    let metadata = Metadata::from(&rustix::fs::fstat(file)?);
    match metadata.kind {
        Kind::File => Ok(metadata),
        Kind::Directory => Err(Error::IsADirectory),
        Kind::Symlink | Kind::Special => Err(Error::SpecialFile),
    }
}

/// One entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The entry's name: bytes, not always UTF-8; never `.` or `..`.
    pub name: OsString,
    /// Metadata of the entry itself: a symbolic link is not followed.
    pub metadata: Metadata,
}

/// The entries of a directory in the file system's order, read as they are asked for.
///
/// An entry that vanishes meanwhile is left out.
#[derive(Debug)]
pub struct ReadDir {
    pub(crate) directory: rustix::fs::Dir,
}

impl Iterator for ReadDir {
    type Item = Result<Entry>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let entry = match self.directory.read()? {
                Ok(entry) => entry,
                Err(errno) => return Some(Err(errno.into())),
            };
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let found = self.directory.fd().map_err(Error::from).and_then(|handle| metadata_at(handle, name));
            let name = OsStr::from_bytes(name.to_bytes()).to_owned();
            match found {
                Err(Error::NotFound) => {}
                found => return Some(found.map(|metadata| Entry { name, metadata })),
            }
        }
    }
}

impl Root {
    /// Opens a regular file for reading, following symbolic links below the root.
    ///
    /// Returns at once for any type of file: a FIFO without a writer or a leased file does not block. A FIFO or device is
    /// not even opened, since that alone wakes a writer or starts a device.
    ///
    /// # Errors
    /// `EscapesRoot`, `NotFound`, `IsADirectory`, `SpecialFile`, `HardLinked` if refused, `Busy` for a file under another
    /// process's lease, and the other errors of resolution.
    pub fn open_file(&self, path: impl AsRef<Path>) -> Result<OpenFile> {
        let relative = self.relative(path.as_ref())?;
        regular(&self.node(relative, OFlags::PATH, FollowSymlinks::Yes)?)?;
        // Swapping the file now only makes this open another file, and close it again.
        let file = self.node(relative, OFlags::NONBLOCK | OFlags::NOCTTY, FollowSymlinks::Yes)?;
        OpenFile::of(file, self.hard_links)
    }

    /// Metadata of a path, following symbolic links below the root.
    ///
    /// # Errors
    /// `EscapesRoot`, `NotFound` and the other errors of resolution.
    pub fn stat(&self, path: impl AsRef<Path>) -> Result<Metadata> {
        self.facts(path.as_ref(), FollowSymlinks::Yes)
    }

    /// Metadata of a path; for a symbolic link as the last component, of the link itself.
    ///
    /// # Errors
    /// The same as for [`Root::stat`].
    pub fn lstat(&self, path: impl AsRef<Path>) -> Result<Metadata> {
        self.facts(path.as_ref(), FollowSymlinks::No)
    }

    fn facts(&self, path: &Path, follow: FollowSymlinks) -> Result<Metadata> {
        let node = self.node(self.relative(path)?, OFlags::PATH, follow)?;
        Ok(Metadata::from(&rustix::fs::fstat(&node)?))
    }

    /// Lists a directory, following symbolic links to it below the root.
    ///
    /// # Errors
    /// `EscapesRoot`, `NotFound`, `NotADirectory`, `PermissionDenied` and the other errors of resolution; the
    /// iterator yields the errors of reading.
    pub fn read_dir(&self, path: impl AsRef<Path>) -> Result<ReadDir> {
        let handle = self.directory(self.relative(path.as_ref())?)?;
        Ok(ReadDir { directory: list_at(handle, ".")? })
    }
}
