//! Walking a tree: one open directory per level, each opened as an entry of the one above, links never followed.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::limits::TREE_DEPTH;
use crate::root::{Place, list_at};
use crate::{Entry, Error, HardLinks, Metadata, OpenFile, ReadDir, Result, Root};

/// Everything below a directory in the file systems' order, a directory before its entries.
///
/// A directory is entered only by [`Walk::enter`], called right after its visit. Even if a command swaps directories
/// meanwhile, the walk stays in those that it opened.
///
/// ```
/// # let workspace = tempfile::tempdir()?;
/// # std::fs::create_dir(workspace.path().join("src"))?;
/// # std::fs::write(workspace.path().join("src/main.rs"), "fn main() {}")?;
/// let root = pathguard::Root::open(workspace.path())?;
/// let mut walk = root.walk(".")?;
/// let mut found = Vec::new();
/// while let Some(visit) = walk.next() {
///     let visit = visit?;
///     if visit.metadata.kind == pathguard::Kind::Directory {
///         walk.enter()?;
///     }
///     found.push(visit.path);
/// }
/// assert_eq!(found, ["src", "src/main.rs"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Walk {
    levels: Vec<Level>,
    /// The path down to the last level, with a slash at the end unless it is empty.
    above: Vec<u8>,
    /// The name visited last.
    last: OsString,
    hard_links: HardLinks,
}

#[derive(Debug)]
struct Level {
    entries: ReadDir,
    /// How much of the path leads to the level above.
    above_length: usize,
}

/// One visited entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Visit {
    /// The path to it from the start of the walk: bytes, not always UTF-8; it may be longer than a path may be.
    pub path: OsString,
    /// The number of directories between it and the first one; 0 for an entry of that one.
    pub depth: usize,
    /// The entry's metadata; a symbolic link is not followed.
    pub metadata: Metadata,
}

impl Iterator for Walk {
    type Item = Result<Visit>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let level = self.levels.last_mut()?;
            let Some(entry) = level.entries.next() else {
                self.above.truncate(level.above_length);
                self.levels.pop();
                continue;
            };
            return Some(entry.map(|Entry { name, metadata }| {
                let path = OsStr::from_bytes(&[&self.above[..], name.as_bytes()].concat()).to_owned();
                self.last = name;
                Visit { path, depth: self.levels.len() - 1, metadata }
            }));
        }
    }
}

impl Walk {
    /// Enters the directory that was visited last.
    ///
    /// # Errors
    /// `TooDeep` beyond [`TREE_DEPTH`]; `NotFound`, `NotADirectory` or `TooManySymlinks` if it is not one any more;
    /// `PermissionDenied`. The walk then continues with the next entry.
    pub fn enter(&mut self) -> Result<()> {
        if self.levels.len() >= TREE_DEPTH {
            return Err(Error::TooDeep);
        }
        let directory = list_at(self.top()?, &self.last)?;
        let above_length = self.above.len();
        self.above.extend_from_slice(self.last.as_bytes());
        self.above.push(b'/');
        self.levels.push(Level { entries: ReadDir { directory }, above_length });
        Ok(())
    }

    /// Opens the regular file that was visited last.
    ///
    /// # Errors
    /// `NotFound`, `IsADirectory`, `SpecialFile` or `TooManySymlinks` if it is not one any more; `PermissionDenied`,
    /// `HardLinked` if that is refused, `Busy`.
    pub fn open_file(&self) -> Result<OpenFile> {
        self.open_entry(&self.last)
    }

    /// Opens a regular file of the directory that the walk is in.
    ///
    /// # Errors
    /// The same as for [`Walk::open_file`]; `InvalidPath` for more than a name.
    pub fn open_sibling(&self, name: &str) -> Result<OpenFile> {
        if name.is_empty() || name == ".." || name.contains(['/', '\0']) {
            return Err(Error::InvalidPath("it is not a name"));
        }
        self.open_entry(OsStr::new(name))
    }

    /// The text of the symbolic link that was visited last.
    ///
    /// # Errors
    /// `NotFound`, or `InvalidPath` if it is not a link any more.
    pub fn read_link(&self) -> Result<Vec<u8>> {
        match rustix::fs::readlinkat(self.top()?, &self.last, Vec::new()) {
            Ok(target) => Ok(target.into_bytes()),
            Err(Errno::INVAL) => Err(Error::InvalidPath("it is no longer a symbolic link")),
            Err(errno) => Err(errno.into()),
        }
    }

    fn open_entry(&self, name: &OsStr) -> Result<OpenFile> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = rustix::fs::openat(self.top()?, name, flags, Mode::empty())?;
        OpenFile::of(File::from(file), self.hard_links)
    }

    fn top(&self) -> Result<BorrowedFd<'_>> {
        match self.levels.last() {
            Some(level) => Ok(level.entries.directory.fd()?),
            None => Err(Error::NotFound),
        }
    }
}

impl Walk {
    /// A walk through the content of an open directory.
    pub(crate) fn through(directory: impl std::os::fd::AsFd, hard_links: HardLinks) -> Result<Self> {
        let level = Level { entries: ReadDir { directory: list_at(directory, ".")? }, above_length: 0 };
        Ok(Self { levels: vec![level], above: Vec::new(), last: OsString::new(), hard_links })
    }

    /// Metadata of the walk's current directory.
    pub(crate) fn metadata(&self) -> Result<Metadata> {
        Ok(Metadata::from(&rustix::fs::fstat(self.top()?)?))
    }

    /// The last visited entry, as a name in an open directory.
    pub(crate) fn place(&self) -> Result<Place> {
        let directory = self.top()?.try_clone_to_owned()?;
        Ok(Place { directory, name: self.last.clone(), must_be_directory: false })
    }
}

impl Root {
    /// Starts a walk through everything below a directory, following symbolic links to it below the root.
    ///
    /// # Errors
    /// The same as for [`Root::read_dir`]; the iterator yields the errors of reading, and continues after them.
    pub fn walk(&self, path: impl AsRef<Path>) -> Result<Walk> {
        Walk::through(self.open_dir(path)?, self.hard_links)
    }
}
