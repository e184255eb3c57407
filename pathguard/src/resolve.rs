//! A path's target: its unique spelling without symbolic links, and the file there.
//!
//! The answer is for people and for a later check. It opens nothing: [`PendingFile::is_at`] compares a file that is about to
//! be written with it, by the handle of its directory.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use cap_fs_ext::FollowSymlinks;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::limits::SYMLINKS;
use crate::read::OpenFile;
use crate::{Error, HardLinks, Kind, Metadata, PendingFile, Result, Root, path};

/// The resolved target of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// The place relative to the root, without symbolic links, `.` and `..`; `.` is the root itself.
    pub path: PathBuf,
    /// Metadata of the file there; `None` if it does not exist and could be created.
    pub metadata: Option<Metadata>,
}

impl Root {
    /// Follows a path to its end, even if it does not exist yet and folders on the way are missing.
    ///
    /// # Errors
    /// `EscapesRoot`, `NotADirectory`, `TooManySymlinks`, `InvalidPath` for a `..` after a missing folder, `AlreadyExists`
    /// for a dangling symbolic link in place of a folder, and the other errors of resolution.
    pub fn resolve(&self, path: impl AsRef<Path>) -> Result<Resolved> {
        let mut path = Cow::Borrowed(self.relative(path.as_ref())?);
        for _ in 0..=SYMLINKS {
            match self.node(&path, OFlags::PATH, FollowSymlinks::Yes) {
                Ok(node) => {
                    let metadata = Metadata::from(&rustix::fs::fstat(&node)?);
                    return Ok(Resolved { path: self.within(&node)?, metadata: Some(metadata) });
                }
                Err(Error::NotFound) => {}
                Err(error) => return Err(error),
            }
            let place = match self.place(&path) {
                Err(Error::NotFound) => return self.missing(&path),
                place => place?,
            };
            let target = match place.metadata() {
                Err(Error::NotFound) => {
                    let path = joined(self.within(&place.directory)?, &place.name);
                    return Ok(Resolved { path, metadata: None });
                }
                Err(error) => return Err(error),
                Ok(found) if found.kind != Kind::Symlink => continue, // it was created meanwhile
                Ok(_) => match rustix::fs::readlinkat(&place.directory, &place.name, Vec::new()) {
                    Ok(target) => target,
                    Err(Errno::INVAL | Errno::NOENT) => continue, // no longer a link
                    Err(errno) => return Err(errno.into()),
                },
            };
            if target.to_bytes().starts_with(b"/") {
                return Err(Error::EscapesRoot);
            }
            let next = path::split(&path)?.parent.join(OsStr::from_bytes(target.to_bytes()));
            self.relative(&next)?;
            path = Cow::Owned(next);
        }
        Err(Error::TooManySymlinks)
    }

    /// A place whose folder does not exist: the longest existing part, and the rest unchanged.
    fn missing(&self, path: &Path) -> Result<Resolved> {
        let mut last = (self.directory(Path::new("."))?, 0);
        for (prefix, name) in path::prefixes(path) {
            match self.directory(prefix) {
                Ok(directory) => last = (directory, prefix.as_os_str().len()),
                Err(Error::NotFound) => {
                    // A link that leads nowhere cannot be replaced by a new folder.
                    let is_free =
                        rustix::fs::statat(&last.0, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW).is_err();
                    if !is_free {
                        return Err(Error::AlreadyExists);
                    }
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        let (directory, length) = last;
        let mut found = self.within(&directory)?;
        let rest = &path.as_os_str().as_bytes()[length..];
        for component in Path::new(OsStr::from_bytes(strip_slashes(rest))).components() {
            match component {
                Component::Normal(name) => found = joined(found, name),
                Component::CurDir => {}
                _ => return Err(Error::InvalidPath("`..` follows a folder that does not exist")),
            }
        }
        Ok(Resolved { path: found, metadata: None })
    }

    /// The path of an open file or folder relative to the root, from the kernel.
    fn within(&self, node: impl AsFd) -> Result<PathBuf> {
        let root = kernel_path(self.directory(Path::new("."))?)?;
        let found = kernel_path(node)?;
        match found.strip_prefix(&root) {
            Ok(rest) if rest.as_os_str().is_empty() => Ok(PathBuf::from(".")),
            Ok(rest) => Ok(rest.to_owned()),
            // It was moved out of the root, or removed, since it was opened.
            Err(_) => Err(Error::NotFound),
        }
    }
}

impl PendingFile {
    /// True if the file will be at this very place, as [`Root::resolve`] returned it: in the open folder, not in one that
    /// took its name meanwhile.
    ///
    /// # Errors
    /// `NotFound` if the folder was removed, and other errors of the operating system.
    pub fn is_at(&self, root: &Root, path: &Path) -> Result<bool> {
        let place = self.place();
        Ok(joined(root.within(&place.directory)?, &place.name) == path)
    }

    /// Opens the file that has the name at the moment, without following a link; `None` if there is none.
    ///
    /// # Errors
    /// `SpecialFile`, `IsADirectory`, `TooManySymlinks` for a symbolic link, and other errors of the operating system.
    pub fn present(&self) -> Result<Option<OpenFile>> {
        let place = self.place();
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        match place.metadata() {
            Ok(found) if found.kind == Kind::File => {}
            Ok(found) if found.kind == Kind::Directory => return Err(Error::IsADirectory),
            Ok(found) if found.kind == Kind::Symlink => return Err(Error::TooManySymlinks),
            Ok(_) => return Err(Error::SpecialFile),
            Err(Error::NotFound) => return Ok(None),
            Err(error) => return Err(error),
        }
        match rustix::fs::openat(&place.directory, &place.name, flags, Mode::empty()) {
            Ok(file) => OpenFile::of(File::from(file), HardLinks::Allow).map(Some),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }
}

fn joined(directory: PathBuf, name: &OsStr) -> PathBuf {
    if directory.as_os_str() == "." { PathBuf::from(name) } else { directory.join(name) }
}

fn strip_slashes(mut path: &[u8]) -> &[u8] {
    while let [b'/', rest @ ..] = path {
        path = rest;
    }
    path
}

/// The current path of an open file.
fn kernel_path(node: impl AsFd) -> Result<PathBuf> {
    let link = format!("/proc/thread-self/fd/{}", node.as_fd().as_raw_fd());
    let path = rustix::fs::readlink(link, Vec::new())?.into_bytes();
    let is_gone = rustix::fs::fstat(&node)?.st_nlink == 0;
    if is_gone { Err(Error::NotFound) } else { Ok(PathBuf::from(OsString::from_vec(path))) }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::CreateOptions;

    fn workspace() -> (tempfile::TempDir, Root) {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir_all(directory.path().join("docs/deep")).unwrap();
        fs::write(directory.path().join("Makefile"), "all:\n").unwrap();
        symlink("docs", directory.path().join("link")).unwrap();
        symlink("../Makefile", directory.path().join("docs/guide")).unwrap();
        symlink("new", directory.path().join("dangling")).unwrap();
        symlink("gone/away", directory.path().join("nowhere")).unwrap();
        symlink("/etc/passwd", directory.path().join("out")).unwrap();
        let root = Root::open(directory.path()).unwrap();
        (directory, root)
    }

    #[test]
    fn a_path_is_told_as_the_place_that_it_leads_to() {
        let (directory, root) = workspace();
        for (given, leads_to, exists) in [
            ("Makefile", "Makefile", true),
            (".", ".", true),
            ("link", "docs", true),
            ("link/deep/", "docs/deep", true),
            ("link/guide", "Makefile", true),
            ("docs/../link/./guide", "Makefile", true),
            ("link/new", "docs/new", false),
            ("dangling", "new", false),
            ("nowhere", "gone/away", false),
            ("link/a//b/./c", "docs/a/b/c", false),
        ] {
            let found = root.resolve(given).unwrap();
            assert_eq!(
                (found.path.as_path(), found.metadata.is_some()),
                (Path::new(leads_to), exists),
                "{given}"
            );
        }
        let absolute = directory.path().join("link/guide");
        assert_eq!(root.resolve(absolute).unwrap().path, Path::new("Makefile"));
    }

    #[test]
    fn what_leads_out_or_nowhere_is_refused() {
        let (_directory, root) = workspace();
        for (given, error) in [
            ("../x", Error::EscapesRoot),
            ("out", Error::EscapesRoot),
            ("docs/../../x", Error::EscapesRoot),
            ("Makefile/x", Error::NotADirectory),
            ("dangling/x", Error::AlreadyExists),
            ("gone/../x", Error::InvalidPath("`..` follows a folder that does not exist")),
        ] {
            assert_eq!(root.resolve(given), Err(error), "{given}");
        }
    }

    #[test]
    fn a_pending_file_knows_where_it_will_stand() {
        let (directory, root) = workspace();
        let pending = root.create_file("link/new", CreateOptions::default()).unwrap();
        assert!(pending.is_at(&root, Path::new("docs/new")).unwrap());
        assert!(!pending.is_at(&root, Path::new("link/new")).unwrap());
        assert!(pending.present().unwrap().is_none());
        fs::rename(directory.path().join("docs"), directory.path().join("other")).unwrap();
        fs::create_dir(directory.path().join("docs")).unwrap();
        assert!(!pending.is_at(&root, Path::new("docs/new")).unwrap(), "another folder took the name");
        fs::write(directory.path().join("other/new"), "made meanwhile").unwrap();
        assert_eq!(pending.present().unwrap().unwrap().metadata().size_bytes, 14);
    }
}
