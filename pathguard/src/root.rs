//! The root: an open directory, and the only place where a path becomes a handle.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt};
use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt};
use rustix::fs::{AtFlags, CWD, Mode, OFlags};

use crate::path::{self, Split};
use crate::{Error, Metadata, Result};

/// The policy for reading files that have more than one hard link.
///
/// A second name can bring a file from outside into the root if links across that border are possible (the same file system,
/// and an unconfined process that makes the link). Writing replaces the name, so it never needs this.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HardLinks {
    /// Read it: package managers and git share files by hard links.
    #[default]
    Allow,
    /// Fail with [`Error::HardLinked`].
    Refuse,
}

/// A directory that no operation through it can leave; cheap to clone.
#[derive(Debug, Clone)]
pub struct Root {
    shared: Arc<Shared>,
    pub(crate) hard_links: HardLinks,
    protected: Option<Arc<Protected>>,
}

/// Paths below a root that no operation through it may change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Protected {
    /// Directories that must stay in place; their content may change. Absolute, without symbolic links.
    pub in_place: Vec<PathBuf>,
    /// Directories in which nothing may be created or removed: inside them only the content of `in_place` directories may change. Absolute, without
    /// symbolic links.
    pub closed: Vec<PathBuf>,
    /// Files and trees that must stay unchanged, or stay missing. Absolute, without symbolic links.
    pub as_it_is: Vec<PathBuf>,
}

impl Protected {
    /// True if the nearest of the named directories around a path is a closed one.
    fn is_in_closed(&self, path: &Path) -> bool {
        let mut around = path.ancestors();
        let nearest =
            around.find(|above| self.closed.iter().chain(&self.in_place).any(|known| known == above));
        nearest.is_some_and(|nearest| self.closed.iter().any(|closed| closed == nearest))
    }
}

#[derive(Debug)]
struct Shared {
    directory: Dir,
    given: PathBuf,
    canonical: PathBuf,
}

/// A name in an open directory, for operations that create, remove or rename.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) directory: OwnedFd,
    pub(crate) name: OsString,
    pub(crate) must_be_directory: bool,
}

impl Root {
    /// Opens a directory as a root and keeps its handle: renaming it later does not matter.
    ///
    /// The path is trusted: it comes from the configuration, never from a request.
    ///
    /// # Errors
    /// `NotFound`, `NotADirectory`, `PermissionDenied`, or `Io`.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let given = std::path::absolute(path.as_ref())?;
        let canonical = std::fs::canonicalize(&given)?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = rustix::fs::openat(CWD, &canonical, flags, Mode::empty())?;
        let directory = Dir::from_std_file(File::from(handle));
        let shared = Arc::new(Shared { directory, given, canonical });
        Ok(Self { shared, hard_links: HardLinks::default(), protected: None })
    }

    /// This root with paths that may only be read.
    ///
    /// The place of a change is determined by the kernel's path of its directory, not by the spelling in a request.
    #[must_use]
    pub fn with_protected(self, protected: Protected) -> Self {
        let is_empty = protected == Protected::default();
        Self { protected: (!is_empty).then(|| Arc::new(protected)), ..self }
    }

    /// This root without protected paths, for changes that the root's owner itself makes to those.
    #[must_use]
    pub fn without_protected(&self) -> Self {
        Self { protected: None, ..self.clone() }
    }

    /// Refuses to create, replace, move or remove a protected path.
    pub(crate) fn may_change(&self, directory: impl AsFd, name: &OsStr) -> Result<()> {
        let Some(protected) = &self.protected else { return Ok(()) };
        let link = format!("/proc/thread-self/fd/{}", directory.as_fd().as_raw_fd());
        let path = PathBuf::from(OsString::from_vec(rustix::fs::readlink(link, Vec::new())?.into_bytes()));
        let path = path.join(name);
        let is_protected = protected.as_it_is.iter().any(|kept| path.starts_with(kept))
            || protected.in_place.contains(&path)
            || protected.is_in_closed(&path);
        if is_protected { Err(Error::Protected) } else { Ok(()) }
    }

    /// This root with another policy for hard links.
    #[must_use]
    pub fn with_hard_links(self, hard_links: HardLinks) -> Self {
        Self { hard_links, ..self }
    }

    /// The root's canonical path, as a command that runs in it would print it.
    pub fn path(&self) -> &Path {
        &self.shared.canonical
    }

    /// Opens a directory for use as a working directory (`fchdir`) or a starting point: `O_PATH`, close-on-exec.
    ///
    /// # Errors
    /// `EscapesRoot`, `NotFound`, `NotADirectory` and the other errors of resolution.
    pub fn open_dir(&self, path: impl AsRef<Path>) -> Result<OwnedFd> {
        self.directory(self.relative(path.as_ref())?)
    }

    /// Checks a path's grammar and makes it relative.
    pub(crate) fn relative<'path>(&self, path: &'path Path) -> Result<&'path Path> {
        path::relative(path, [&self.shared.given, &self.shared.canonical])
    }

    /// Resolves a relative path to an `O_PATH` handle of a directory.
    pub(crate) fn directory(&self, relative: &Path) -> Result<OwnedFd> {
        match self.shared.directory.open_dir(relative) {
            Ok(directory) => Ok(OwnedFd::from(directory.into_std_file())),
            Err(error) => Err(Error::from_guarded(&error)),
        }
    }

    /// Resolves a relative path to a handle opened for reading with additional `flags`.
    pub(crate) fn node(&self, relative: &Path, flags: OFlags, follow: FollowSymlinks) -> Result<File> {
        let mut options = OpenOptions::new();
        // Bits of the C interface: the same whether seen as signed or not.
        options.read(true).custom_flags(flags.bits().cast_signed()).follow(follow);
        match self.shared.directory.open_with(relative, &options) {
            Ok(file) => Ok(file.into_std()),
            Err(error) => Err(Error::from_guarded(&error)),
        }
    }

    /// Resolves all but the last component, which is not followed; fails for the root itself, which has none.
    pub(crate) fn place(&self, relative: &Path) -> Result<Place> {
        let Split { parent, name, must_be_directory } = path::split(relative)?;
        if name == ".." {
            self.directory(relative)?; // an escape is reported as one
            return Err(Error::InvalidPath("it ends in `..`"));
        }
        Ok(Place { directory: self.directory(parent)?, name: name.to_owned(), must_be_directory })
    }
}

impl Place {
    /// Metadata of the name itself, without following a link.
    pub(crate) fn metadata(&self) -> Result<Metadata> {
        metadata_at(&self.directory, &self.name)
    }
}

/// Metadata of one entry of an open directory, without following a link.
pub(crate) fn metadata_at(directory: impl AsFd, name: impl rustix::path::Arg) -> Result<Metadata> {
    Ok(Metadata::from(&rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?))
}

/// Opens for reading a directory that is one entry of an open directory (`.` is itself); a link is refused.
pub(crate) fn list_at(directory: impl AsFd, name: impl rustix::path::Arg) -> Result<rustix::fs::Dir> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let handle = rustix::fs::openat(directory, name, flags, Mode::empty())?;
    Ok(rustix::fs::Dir::new(handle)?)
}
