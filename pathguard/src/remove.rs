//! Removing, one name at a time or whole trees, without ever following a link.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use rustix::fs::{AtFlags, Dir};
use rustix::io::Errno;

use crate::directories::require_directory;
use crate::limits::{REMOVE_DEPTH, REMOVE_PASSES, REMOVE_SWAPS};
use crate::root::{Place, list_at};
use crate::write::random_name;
use crate::{Error, Result, Root};

impl Root {
    /// Removes a file, a symbolic link itself, or an empty directory.
    ///
    /// # Errors
    /// `EscapesRoot`, `NotFound`, `DirectoryNotEmpty`, `InvalidPath` for the root itself, `Busy` for a mount
    /// point or a name that others keep swapping, `PermissionDenied`, `ReadOnly`.
    pub fn remove(&self, path: impl AsRef<Path>) -> Result<()> {
        let place = self.place_to_remove(path.as_ref())?;
        remove_name(place.directory.as_fd(), &place.name)
    }

    /// Removes a path with everything below it; a missing one is fine.
    ///
    /// Uses a bounded number of descriptors however deep the tree is, and continues if others add or remove entries meanwhile.
    ///
    /// # Errors
    /// The same as for [`Root::remove`]; `DirectoryNotEmpty` if others kept adding entries. Part of the tree may have been removed.
    pub fn remove_all(&self, path: impl AsRef<Path>) -> Result<()> {
        match self.place_to_remove(path.as_ref()) {
            Ok(place) => remove_tree(&place),
            Err(Error::NotFound) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn place_to_remove(&self, path: &Path) -> Result<Place> {
        let place = self.place(self.relative(path)?)?;
        self.may_change(&place.directory, &place.name)?;
        if place.must_be_directory {
            require_directory(&place)?;
        }
        Ok(place)
    }
}

/// Removes one name of an open directory, of any type, unless it is a directory with entries.
pub(crate) fn remove_name(directory: BorrowedFd<'_>, name: impl rustix::path::Arg + Copy) -> Result<()> {
    for _ in 0..REMOVE_SWAPS {
        match rustix::fs::unlinkat(directory, name, AtFlags::empty()) {
            Err(Errno::ISDIR) => {}
            result => return Ok(result?),
        }
        match rustix::fs::unlinkat(directory, name, AtFlags::REMOVEDIR) {
            Err(Errno::NOTDIR) => {} // it was a directory a moment ago
            Err(Errno::EXIST) => return Err(Error::DirectoryNotEmpty), // some file systems report it this way
            result => return Ok(result?),
        }
    }
    Err(Error::Busy)
}

/// Removes one name with everything below it.
pub(crate) fn remove_tree(place: &Place) -> Result<()> {
    for _ in 0..REMOVE_PASSES {
        match remove_name(place.directory.as_fd(), place.name.as_os_str()) {
            Ok(()) | Err(Error::NotFound) => return Ok(()),
            Err(Error::DirectoryNotEmpty) => {}
            Err(error) => return Err(error),
        }
        empty_directory(place)?;
    }
    Err(Error::DirectoryNotEmpty)
}

/// A directory being emptied, and its name in the one above.
struct Level {
    directory: Dir,
    name: CString,
}

/// Removes the content of a directory, in one pass; entries that appear meanwhile or were hoisted may be left.
fn empty_directory(place: &Place) -> Result<()> {
    let Some(top) = open_level(place.directory.as_fd(), place.name.as_os_str())? else { return Ok(()) };
    let mut levels = vec![Level { directory: top, name: CString::default() }];
    while let Some(level) = levels.last_mut() {
        let Some(entry) = level.directory.read() else {
            let emptied = levels.pop().map(|level| level.name);
            if let (Some(above), Some(name)) = (levels.last(), emptied) {
                remove_unless_full(above.directory.fd()?, &name)?;
            }
            continue;
        };
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") || remove_unless_full(level.directory.fd()?, name)? {
            continue;
        }
        if levels.len() >= REMOVE_DEPTH {
            hoist(&levels, name)?;
        } else if let Some(directory) = open_level(levels[levels.len() - 1].directory.fd()?, name)? {
            levels.push(Level { directory, name: name.to_owned() });
        }
    }
    Ok(())
}

/// Removes one name; `false` if it is a directory with entries.
fn remove_unless_full(directory: BorrowedFd<'_>, name: &CStr) -> Result<bool> {
    match remove_name(directory, name) {
        Ok(()) | Err(Error::NotFound) => Ok(true),
        Err(Error::DirectoryNotEmpty) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Opens a directory to empty it; `None` if it vanished or is no longer a directory.
fn open_level(above: BorrowedFd<'_>, name: impl rustix::path::Arg) -> Result<Option<Dir>> {
    match list_at(above, name) {
        Ok(directory) => Ok(Some(directory)),
        Err(Error::NotFound | Error::NotADirectory | Error::TooManySymlinks) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Moves a directory that is too deep up to the top one, where the next pass finds it at depth one.
fn hoist(levels: &[Level], name: &CStr) -> Result<()> {
    let (from, to) = (levels[levels.len() - 1].directory.fd()?, levels[0].directory.fd()?);
    match rustix::fs::renameat(from, name, to, random_name()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}
