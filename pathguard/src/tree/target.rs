//! The directory that an archive is unpacked into: a stack of open handles, each opened as a name in the one below.
//!
//! No name is ever resolved through a link, whether it existed before, came with the archive or was swapped in meanwhile:
//! every parent of an entry has to be a real directory.

use std::ffi::{OsStr, OsString};
use std::hash::{BuildHasher, RandomState};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::io::Errno;

use super::name::joined;
use crate::limits::{DIRECTORY_MODE, MODE_BITS, TREE_LATE_MODES};
use crate::remove::{remove_name, remove_tree};
use crate::root::{Place, metadata_at};
use crate::write::{random_name, stage};
use crate::{Error, HardLinks, Kind, PendingFile, Result, Root, Walk};

/// The mode bits that let a directory's owner fill it.
const OWNER_BITS: u32 = 0o700;

/// A directory being filled.
#[derive(Debug)]
pub(super) struct Target {
    /// The root, with the protected paths.
    root: Root,
    top: OwnedFd,
    /// True if it was created for the archive, so that the archive determines its mode.
    top_is_new: bool,
    /// The directories on the path to the last entry.
    stack: Vec<(OsString, OwnedFd)>,
    /// Modes that would block entries, and are set at the end.
    late_modes: Vec<(Vec<OsString>, u32)>,
    mirror: Option<Mirror>,
    /// How many directories were created, including those that the archive only implies.
    made: u64,
}

/// The entries that a mirror keeps.
#[derive(Debug, Default)]
struct Mirror {
    /// The hash of each path of the archive, under a secret key. A collision would only keep one entry too many.
    kept: std::collections::HashSet<u64>,
    hasher: RandomState,
}

impl Mirror {
    fn keep(&mut self, path: &[u8]) {
        self.kept.insert(self.hasher.hash_one(path));
    }

    fn keeps(&self, path: &[u8]) -> bool {
        self.kept.contains(&self.hasher.hash_one(path))
    }
}

impl Target {
    pub(super) fn new(root: Root, top: OwnedFd, top_is_new: bool, delete_extra: bool) -> Self {
        let mirror = delete_extra.then(Mirror::default);
        Self { root, top, top_is_new, stack: Vec::new(), late_modes: Vec::new(), mirror, made: 0 }
    }

    /// Creates a directory, or keeps an existing one.
    pub(super) fn directory(&mut self, components: &[OsString], mode: u32) -> Result<()> {
        let Some((name, above)) = components.split_last() else {
            return if self.top_is_new { self.set_mode(&[], mode) } else { Ok(()) };
        };
        self.enter(above)?;
        let is_new = self.open_or_make(components, name, Mode::from_raw_mode(OWNER_BITS))?;
        if !is_new && self.is_protected() {
            return Ok(());
        }
        if !is_new && self.mirror.is_none() {
            return Ok(());
        }
        self.set_mode(components, mode)
    }

    /// Starts a file.
    pub(super) fn file(&mut self, components: &[OsString], mode: u32) -> Result<PendingFile> {
        let place = self.place(components)?;
        let pending = stage(place, Mode::from_raw_mode(0o600))?;
        pending.dress(Some(mode), None)?;
        Ok(pending)
    }

    /// Creates a link, replacing an existing file or link.
    pub(super) fn symlink(&mut self, components: &[OsString], target: &[u8]) -> Result<()> {
        let Place { directory, name, .. } = self.place(components)?;
        let temporary = random_name();
        rustix::fs::symlinkat(OsStr::from_bytes(target), &directory, &temporary)?;
        if let Err(errno) = rustix::fs::renameat(&directory, &temporary, &directory, &name) {
            // A failure here cannot be handled, and the name shows the origin of the file.
            let _ = rustix::fs::unlinkat(&directory, &temporary, AtFlags::empty());
            return Err(errno.into());
        }
        Ok(())
    }

    /// How many directories were created.
    pub(super) fn made(&self) -> u64 {
        self.made
    }

    /// Sets the postponed modes; then removes the entries that a mirror does not keep, and returns their number.
    pub(super) fn finish(&mut self) -> Result<u64> {
        self.stack.clear();
        let removed = self.remove_extra()?;
        // The deepest first: a mode may block access to those below.
        let mut late_modes = std::mem::take(&mut self.late_modes);
        late_modes.sort_by_key(|(components, _)| std::cmp::Reverse(components.len()));
        for (components, mode) in late_modes {
            self.stack.clear();
            self.enter(&components)?;
            self.change_mode(mode)?;
        }
        self.stack.clear();
        Ok(removed)
    }

    /// Makes everything durable.
    pub(super) fn sync(&self) -> Result<()> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let readable = match rustix::fs::openat(&self.top, ".", flags, Mode::empty()) {
            Ok(readable) => readable,
            Err(Errno::ACCESS | Errno::NOENT) => return Ok(()), // write-only, or removed since
            Err(errno) => return Err(errno.into()),
        };
        Ok(rustix::fs::syncfs(readable)?)
    }

    fn here(&self) -> BorrowedFd<'_> {
        self.stack.last().map_or(self.top.as_fd(), |(_, handle)| handle.as_fd())
    }

    /// Enters the directory of these names, creating missing ones.
    fn enter(&mut self, components: &[OsString]) -> Result<()> {
        let same = self.stack.iter().zip(components).take_while(|((open, _), name)| open == *name).count();
        self.stack.truncate(same);
        for at in same..components.len() {
            self.open_or_make(&components[..=at], &components[at], Mode::from_raw_mode(DIRECTORY_MODE))?;
        }
        Ok(())
    }

    /// Opens the directory `name` here, whose path is `components`, and enters it; returns true if it had to be created.
    fn open_or_make(&mut self, components: &[OsString], name: &OsStr, mode: Mode) -> Result<bool> {
        let is_new = match self.open_here(name) {
            Ok(handle) => {
                self.stack.push((name.to_owned(), handle));
                false
            }
            Err(error @ (Error::NotFound | Error::NotADirectory | Error::TooManySymlinks)) => {
                if error != Error::NotFound {
                    self.make_way(components, name, error)?;
                }
                self.root.may_change(self.here(), name)?;
                match rustix::fs::mkdirat(self.here(), name, mode) {
                    Ok(()) | Err(Errno::EXIST) => self.made += 1,
                    Err(errno) => return Err(errno.into()),
                }
                let handle = self.open_here(name)?;
                self.stack.push((name.to_owned(), handle));
                true
            }
            Err(error) => return Err(error),
        };
        self.keep(components);
        Ok(is_new)
    }

    fn open_here(&self, name: &OsStr) -> Result<OwnedFd> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(self.here(), name, flags, Mode::empty())?)
    }

    /// The place for a file or link: not an existing directory.
    fn place(&mut self, components: &[OsString]) -> Result<Place> {
        let Some((name, above)) = components.split_last() else {
            return Err(Error::Archive("its root is not a directory"));
        };
        self.enter(above)?;
        self.root.may_change(self.here(), name)?;
        match metadata_at(self.here(), name) {
            Ok(found) if found.kind == Kind::Directory => {
                self.make_way(components, name, Error::IsADirectory)?;
            }
            Ok(_) | Err(Error::NotFound) => {}
            Err(error) => return Err(error),
        }
        self.keep(components);
        self.named(name)
    }

    fn named(&self, name: &OsStr) -> Result<Place> {
        let directory = self.here().try_clone_to_owned()?;
        Ok(Place { directory, name: name.to_owned(), must_be_directory: false })
    }

    /// Removes an entry of another type from that place, if this is a mirror and the entry did not come from the archive.
    fn make_way(&self, components: &[OsString], name: &OsStr, otherwise: Error) -> Result<()> {
        match &self.mirror {
            Some(mirror) if !mirror.keeps(&joined(components)) => {
                self.root.may_change(self.here(), name)?;
                remove_tree(&self.named(name)?)
            }
            Some(_) | None => Err(otherwise),
        }
    }

    fn keep(&mut self, components: &[OsString]) {
        if let Some(mirror) = &mut self.mirror {
            mirror.keep(&joined(components));
        }
    }

    /// Sets the mode of the directory entered last, now or at the end.
    fn set_mode(&mut self, components: &[OsString], mode: u32) -> Result<()> {
        if components.is_empty() {
            self.stack.clear();
        }
        if mode & OWNER_BITS == OWNER_BITS {
            return self.change_mode(mode);
        }
        if self.late_modes.len() >= TREE_LATE_MODES {
            return Err(Error::TooLarge("more than 10,000 directories lack their owner's permissions"));
        }
        // An existing directory may have been closed earlier.
        self.change_mode(mode | OWNER_BITS)?;
        self.late_modes.push((components.to_vec(), mode));
        Ok(())
    }

    /// True if the directory entered last is read-only, including its mode.
    fn is_protected(&self) -> bool {
        self.root.may_change(self.here(), OsStr::new(".")) == Err(Error::Protected)
    }

    fn change_mode(&self, mode: u32) -> Result<()> {
        let mode = Mode::from_raw_mode(mode & MODE_BITS);
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match rustix::fs::openat(self.here(), ".", flags, Mode::empty()) {
            Ok(handle) => Ok(rustix::fs::fchmod(handle, mode)?),
            // One that is closed to its owner is reached through the descriptor's own link.
            Err(Errno::ACCESS) => {
                let own = format!("/proc/thread-self/fd/{}", self.here().as_raw_fd());
                Ok(rustix::fs::chmodat(CWD, own, mode, AtFlags::empty())?)
            }
            Err(errno) => Err(errno.into()),
        }
    }

    fn remove_extra(&self) -> Result<u64> {
        let Some(mirror) = &self.mirror else { return Ok(0) };
        let mut walk = Walk::through(&self.top, HardLinks::Allow)?;
        let mut removed = 0;
        while let Some(visit) = walk.next() {
            let visit = visit?;
            let is_directory = visit.metadata.kind == Kind::Directory;
            if !mirror.keeps(visit.path.as_bytes()) {
                let place = walk.place()?;
                self.root.may_change(&place.directory, &place.name)?;
                let gone = if is_directory {
                    remove_tree(&place)
                } else {
                    remove_name(place.directory.as_fd(), place.name.as_os_str())
                };
                match gone {
                    Ok(()) => removed += 1,
                    Err(Error::NotFound) => {}
                    Err(error) => return Err(error),
                }
            } else if is_directory {
                match walk.enter() {
                    Ok(()) | Err(Error::NotFound | Error::NotADirectory | Error::TooManySymlinks) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(removed)
    }
}
