//! Writing: a temporary file that becomes visible, whole, by one rename.
//!
//! ```text
//! create_file ─► PendingFile ── write… ──► commit: fsync file, name it, rename over the target, fsync directory
//!                     └──────── drop ────► the temporary file is removed, the target unchanged
//! ```
//! The directory of the target is held open from the start, so it cannot be swapped in between, and the last name is
//! replaced rather than followed. Until `commit` the file has no name at all where the file system can do that
//! (`O_TMPFILE`), so that even a killed process leaves nothing; else an unguessable hidden one.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Gid, Mode, OFlags, RenameFlags, Uid};
use rustix::io::Errno;

use crate::limits::{DIRECTORY_MODE, FILE_MODE, MODE_BITS, SYMLINKS};
use crate::root::Place;
use crate::{Error, Kind, Metadata, Result, Root, path};

/// How a file is created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CreateOptions {
    /// The file's permission bits, set exactly; set-user-id, set-group-id and sticky bits are stripped. Without it an existing file's are kept, and a
    /// new file gets `0o644` reduced by the umask.
    pub mode: Option<u32>,
    /// True if missing folders on the way are created.
    pub parents: bool,
}

/// A file being written that stays invisible until [`PendingFile::commit`]; dropping it earlier removes it.
#[derive(Debug)]
pub struct PendingFile {
    file: File,
    place: Place,
    /// The hidden name while the file has one.
    temporary: Option<OsString>,
}

impl PendingFile {
    /// Makes the content durable and visible under its name, replacing an existing file.
    ///
    /// Returns the metadata of the new file. After an error the old file is untouched, except that an error of the very last step (the directory's
    /// fsync) may leave the new one in place.
    ///
    /// # Errors
    /// `NoSpace`, `IsADirectory` if a directory took the name meanwhile, `NotFound` if the directory was
    /// removed meanwhile, and other errors of the operating system.
    pub fn commit(self) -> Result<Metadata> {
        self.commit_with(RenameFlags::empty())
    }

    /// Like [`PendingFile::commit`], but never replaces an existing entry, not even one created just before the rename. File systems
    /// without an atomic no-replace rename leave a short race between the check and the rename.
    ///
    /// # Errors
    /// `AlreadyExists` if something has the name; otherwise as [`PendingFile::commit`].
    pub fn commit_new(self) -> Result<Metadata> {
        self.commit_with(RenameFlags::NOREPLACE)
    }

    fn commit_with(self, flags: RenameFlags) -> Result<Metadata> {
        rustix::fs::fsync(&self.file)?;
        let metadata = Metadata::from(&rustix::fs::fstat(&self.file)?);
        let directory = self.place.directory.try_clone()?;
        self.publish_with(flags)?;
        sync_directory(directory)?;
        Ok(metadata)
    }

    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    /// Makes the content visible under its name without making it durable: a writer of many files syncs once.
    pub(crate) fn publish(self) -> Result<()> {
        self.publish_with(RenameFlags::empty())
    }

    fn publish_with(mut self, flags: RenameFlags) -> Result<()> {
        let directory = &self.place.directory;
        let temporary = match self.temporary.take() {
            Some(name) => name,
            None => link_anonymous(&self.file, directory)?,
        };
        let name = &self.place.name;
        let replace = || Ok(rustix::fs::renameat(directory, &temporary, directory, name)?);
        let renamed = match flags.is_empty() {
            true => replace(),
            false => match rustix::fs::renameat_with(directory, &temporary, directory, name, flags) {
                // File systems and kernels that do not support the flags report one of these errors.
                Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => match self.place.metadata() {
                    Ok(_) => Err(Error::AlreadyExists),
                    Err(Error::NotFound) => replace(),
                    Err(error) => Err(error),
                },
                renamed => renamed.map_err(Error::from),
            },
        };
        if renamed.is_err() {
            self.temporary = Some(temporary); // for drop to remove
        }
        renamed
    }

    /// Gives the new file the requested mode, or the owner and mode of the file it replaces.
    pub(crate) fn dress(&self, mode: Option<u32>, replaced: Option<&Metadata>) -> Result<()> {
        if let Some(old) = replaced {
            // Only the superuser may give a file away; for all others it stays theirs.
            let owner = (Uid::from_raw(old.user_id), Gid::from_raw(old.group_id));
            match rustix::fs::fchown(&self.file, Some(owner.0), Some(owner.1)) {
                Ok(()) | Err(Errno::PERM | Errno::ACCESS | Errno::INVAL | Errno::OPNOTSUPP) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        if let Some(mode) = mode.or(replaced.map(|old| old.mode)) {
            rustix::fs::fchmod(&self.file, Mode::from_raw_mode(mode & MODE_BITS))?;
        }
        Ok(())
    }
}

impl AsFd for PendingFile {
    /// The file, for hints to the system; content is written through [`Write`].
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl Write for PendingFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for PendingFile {
    fn drop(&mut self) {
        if let Some(name) = self.temporary.take() {
            // A failure here cannot be handled, and the name shows the origin of the file.
            let _ = rustix::fs::unlinkat(&self.place.directory, &name, AtFlags::empty());
        }
    }
}

impl Root {
    /// Starts writing a file; an existing one is replaced only by [`PendingFile::commit`].
    ///
    /// A symbolic link as the last component is followed below the root, also to a file that does not exist
    /// yet. The replaced file's owner is kept if permitted, its ACL and extended attributes are not; its other hard links
    /// keep the old content.
    ///
    /// # Errors
    /// `EscapesRoot`, `IsADirectory` (also for a path that ends in a slash), `SpecialFile`, `NotFound` for a
    /// missing folder without `parents`, `NotADirectory`, `TooManySymlinks`, `PermissionDenied`, `ReadOnly`.
    pub fn create_file(&self, path: impl AsRef<Path>, options: CreateOptions) -> Result<PendingFile> {
        let (place, replaced) = self.place_to_write(path.as_ref(), options.parents)?;
        // While its final mode is not set yet no other user may read it.
        let dressed_later = options.mode.is_some() || replaced.is_some();
        let mode = Mode::from_raw_mode(if dressed_later { 0o600 } else { FILE_MODE });
        let pending = stage(place, mode)?;
        pending.dress(options.mode, replaced.as_ref())?;
        Ok(pending)
    }

    /// Finds the directory and name to write to, following links at the end of the path one by one.
    fn place_to_write(&self, path: &Path, parents: bool) -> Result<(Place, Option<Metadata>)> {
        let mut path = Cow::Borrowed(self.relative(path)?);
        for _ in 0..=SYMLINKS {
            let place = match self.place(&path) {
                Err(Error::NotFound) if parents => {
                    self.make_directories(path::split(&path)?.parent, DIRECTORY_MODE)?;
                    self.place(&path)?
                }
                place => place?,
            };
            if place.must_be_directory {
                return Err(Error::IsADirectory);
            }
            self.may_change(&place.directory, &place.name)?;
            match place.metadata() {
                Err(Error::NotFound) => return Ok((place, None)),
                Err(error) => return Err(error),
                Ok(old) => match old.kind {
                    Kind::File => return Ok((place, Some(old))),
                    Kind::Directory => return Err(Error::IsADirectory),
                    Kind::Special => return Err(Error::SpecialFile),
                    Kind::Symlink => {}
                },
            }
            // The text is only another path to resolve below the root: swapping the link gains nothing.
            let target = match rustix::fs::readlinkat(&place.directory, &place.name, Vec::new()) {
                Ok(target) => target,
                Err(Errno::INVAL | Errno::NOENT) => continue, // no longer a link
                Err(errno) => return Err(errno.into()),
            };
            if target.to_bytes().starts_with(b"/") {
                return Err(Error::EscapesRoot);
            }
            let joined = path::split(&path)?.parent.join(OsStr::from_bytes(target.to_bytes()));
            self.relative(&joined)?;
            path = Cow::Owned(joined);
        }
        Err(Error::TooManySymlinks)
    }
}

/// Opens the temporary file in the target's directory.
pub(crate) fn stage(place: Place, mode: Mode) -> Result<PendingFile> {
    let flags = OFlags::WRONLY | OFlags::CLOEXEC;
    match rustix::fs::openat(&place.directory, ".", flags | OFlags::TMPFILE, mode) {
        Ok(file) => return Ok(PendingFile { file: file.into(), place, temporary: None }),
        // The errors with which file systems report that they cannot do this.
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOENT) => {}
        Err(errno) => return Err(errno.into()),
    }
    let name = random_name();
    let flags = flags | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
    let file = rustix::fs::openat(&place.directory, &name, flags, mode)?;
    Ok(PendingFile { file: file.into(), place, temporary: Some(name) })
}

/// Gives a nameless file a hidden name, since a link cannot replace the target but a rename can.
fn link_anonymous(file: &File, directory: impl AsFd) -> Result<OsString> {
    let name = random_name();
    if rustix::fs::linkat(file, "", &directory, &name, AtFlags::EMPTY_PATH).is_ok() {
        return Ok(name);
    }
    // Kernels before 6.10 require a capability for that; the descriptor's own link in /proc requires none.
    let own = format!("/proc/thread-self/fd/{}", file.as_raw_fd());
    rustix::fs::linkat(CWD, own, directory, &name, AtFlags::SYMLINK_FOLLOW)?;
    Ok(name)
}

/// A hidden name with 128 random bits, which cannot be guessed or occupied beforehand.
pub(crate) fn random_name() -> OsString {
    format!(".sandbridge-{:032x}", rand::random::<u128>()).into()
}

/// Makes a rename durable if the directory may be read and its file system supports that.
fn sync_directory(directory: impl AsFd) -> Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let readable = match rustix::fs::openat(directory, ".", flags, Mode::empty()) {
        Ok(readable) => readable,
        Err(Errno::ACCESS | Errno::NOENT) => return Ok(()), // write-only, or removed since
        Err(errno) => return Err(errno.into()),
    };
    match rustix::fs::fsync(&readable) {
        Ok(()) | Err(Errno::INVAL) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}
