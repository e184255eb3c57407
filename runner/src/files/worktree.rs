//! Making and removing linked worktrees of git repositories.
//!
//! Commands cannot do this: nothing can be created in `.git/worktrees`, since what is there may name a configuration that the user's own git obeys,
//! and the mounts that protect it cannot be removed either. The files that make a worktree are few and documented (gitrepository-layout), so the
//! runner writes them itself and starts no git:
//!
//! | file | content |
//! |---|---|
//! | `.git/worktrees/NAME/HEAD` | the branch |
//! | `.git/worktrees/NAME/commondir` | `../..`: configuration and hooks are the repository's own, which stay read-only |
//! | `.git/worktrees/NAME/gitdir` | the path of the worktree's `.git` |
//! | `.sandbridge/worktrees/NAME/.git` | the path of `.git/worktrees/NAME` |
//!
//! Each directory on the way is opened without following a link, and new entries are made in that handle. A worktree is removed
//! by one rename out of git's sight; what a crash leaves after that is removed by the next request.
//!
//! All of it is done in the machine's own mount namespace: there no mount of the commands' view is in the way, and the kernel
//! detaches those of a removed directory in every view.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use pathguard::Root;
use proto::message::Done;
use proto::request::{
    WORKTREE_BRANCHES, WORKTREE_NAME_RULE, WORKTREES, Worktree, WorktreeAction, is_worktree_name,
};
use proto::{ErrorKind, WireError};
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use super::{Files, io_error, path as as_path, path_error};
use crate::host::Host;
use crate::limits::{GIT_LINK_BYTES, WORKTREES_SWEPT};

/// The beginning of the name of a worktree that was removed and whose files are being deleted.
const REMOVED: &str = ".removed-";

/// The directory in git's own directory that holds those of the worktrees.
const OWN: &str = "worktrees";

/// Makes or removes a worktree.
pub(super) async fn worktree(host: &Host, request: Worktree) -> Result<Done, WireError> {
    let Files { root, disk } = host.files.clone();
    let Worktree { repository, name, action, .. } = request;
    if !is_worktree_name(&name) {
        return Err(WireError::new(ErrorKind::InvalidPath, WORKTREE_NAME_RULE));
    }
    // Git's directories are closed to requests, except for this one.
    let root = root.without_protected();
    let own = disk
        .run(move || {
            let place = Place::open(root, as_path(&repository), name)?;
            place.sweep();
            match action {
                WorktreeAction::Add => place.add().map(Some),
                WorktreeAction::Remove => place.remove().map(|()| None),
            }
        })
        .await??;
    let Some((own, place)) = own else { return Ok(Done {}) };
    if let Err(error) = host.open_worktree(own).await {
        let removed = disk.run(move || place.discard()).await;
        if let Err(left) = removed.and_then(|removed| removed) {
            tracing::warn!("a worktree that could not be opened to commands could not be removed: {left}");
        }
        return Err(error);
    }
    Ok(Done {})
}

/// A worktree's place in its repository; it need not exist.
struct Place {
    root: Root,
    /// The repository's top directory, below the root.
    top: PathBuf,
    name: String,
    /// The directory of git's own directories of worktrees, and that of the worktrees.
    owns: OwnedFd,
    trees: OwnedFd,
}

impl Place {
    /// Opens the directories around it, and creates those that are missing.
    fn open(root: Root, top: &Path, name: String) -> Result<Self, WireError> {
        let metadata = root.lstat(top.join(".git")).map_err(|error| match error {
            pathguard::Error::NotFound => WireError::new(ErrorKind::NotFound, "there is no git repository"),
            error => path_error(error),
        })?;
        if metadata.kind != pathguard::Kind::Directory {
            return Err(WireError::new(
                ErrorKind::Unsupported,
                "`.git` is not a directory here: worktrees are made in the main repository only, not in a worktree or a submodule",
            ));
        }
        let top = relative(&root, top)?;
        let git = straight(&root, &top.join(".git"))?;
        let directory = directory_in(&git, OWN).map_err(io_error)?;
        drop(directory);
        let owns = straight(&root, &top.join(".git").join(OWN))?;
        let mut trees = straight(&root, &top)?;
        for name in WORKTREES.split('/') {
            trees = directory_in(&trees, name).map_err(io_error)?;
        }
        // The repository's own `git status` does not show worktrees.
        match write_in(&trees, ".gitignore", b"*\n") {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(io_error(error)),
        }
        Ok(Self { root, top, name, owns, trees })
    }

    /// The worktree's absolute path.
    fn tree(&self) -> PathBuf {
        self.root.path().join(&self.top).join(WORKTREES).join(&self.name)
    }

    /// The absolute path of git's own directory of it.
    fn own(&self) -> PathBuf {
        self.root.path().join(&self.top).join(".git").join(OWN).join(&self.name)
    }

    fn add(self) -> Result<(PathBuf, Self), WireError> {
        let taken = || {
            WireError::new(
                ErrorKind::AlreadyExists,
                format!("there is already a worktree {}; choose another name", self.name),
            )
        };
        if exists(&self.trees, &self.name).map_err(io_error)? {
            return Err(taken());
        }
        if exists(&self.owns, &self.name).map_err(io_error)? {
            if !self.is_own() {
                return Err(taken());
            }
            // A removal was cut off, or a person deleted the files.
            self.discard()?;
        }
        if let Err(error) = self.write() {
            if let Err(left) = self.discard() {
                tracing::warn!("a worktree that could not be made could not be removed: {left}");
            }
            return Err(io_error(error));
        }
        Ok((self.own(), self))
    }

    /// Writes all files of it; the last one makes it a worktree.
    fn write(&self) -> io::Result<()> {
        rustix::fs::mkdirat(&self.owns, &self.name, Mode::from_raw_mode(0o755))?;
        let own = open_in(&self.owns, &self.name)?;
        write_in(&own, "HEAD", format!("ref: refs/heads/{WORKTREE_BRANCHES}{}\n", self.name).as_bytes())?;
        write_in(&own, "commondir", b"../..\n")?;
        write_in(&own, "gitdir", &line(&self.tree().join(".git"), ""))?;
        rustix::fs::mkdirat(&self.trees, &self.name, Mode::from_raw_mode(0o755))?;
        write_in(&open_in(&self.trees, &self.name)?, ".git", &line(&self.own(), "gitdir: "))
    }

    fn remove(self) -> Result<(), WireError> {
        let has_tree = exists(&self.trees, &self.name).map_err(io_error)?;
        if !exists(&self.owns, &self.name).map_err(io_error)? {
            if has_tree {
                return Err(WireError::new(
                    ErrorKind::Unsupported,
                    format!(
                        "{WORKTREES}/{} is not a worktree of this repository, so it was not removed",
                        self.name
                    ),
                ));
            }
            return Ok(());
        }
        if !self.is_own() {
            return Err(WireError::new(
                ErrorKind::Unsupported,
                format!(
                    "the worktree {} of this repository is not in {WORKTREES}, so it was not removed",
                    self.name
                ),
            ));
        }
        let own = open_in(&self.owns, &self.name).map_err(io_error)?;
        if exists(&own, "locked").map_err(io_error)? {
            let text =
                format!("the worktree {} is locked; unlock it first with `git worktree unlock`", self.name);
            return Err(WireError::new(ErrorKind::Busy, text));
        }
        if has_entries(&own, "modules").map_err(io_error)? {
            let text = format!(
                "the worktree {} has submodules, whose commits would be lost; it was not removed",
                self.name
            );
            return Err(WireError::new(ErrorKind::DirectoryNotEmpty, text));
        }
        self.discard()
    }

    /// True if git's own directory of that name belongs to this worktree.
    fn is_own(&self) -> bool {
        let read = || -> io::Result<Vec<u8>> {
            let own = open_in(&self.owns, &self.name)?;
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let file = File::from(rustix::fs::openat(&own, "gitdir", flags, Mode::empty())?);
            let mut text = Vec::new();
            io::Read::read_to_end(&mut io::Read::take(file, GIT_LINK_BYTES), &mut text)?;
            Ok(text)
        };
        // Missing if its writing was cut off: then it names no other worktree.
        match read() {
            Ok(text) => text.trim_ascii_end() == self.tree().join(".git").as_os_str().as_bytes(),
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        }
    }

    /// Removes the worktree, or what there is of it.
    fn discard(&self) -> Result<(), WireError> {
        let random = || format!("{REMOVED}{:032x}", rand::random::<u128>());
        for from in [&self.trees, &self.owns] {
            match rustix::fs::renameat(from, &self.name, &self.trees, random()) {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(error) => return Err(io_error(error.into())),
            }
        }
        self.sweep();
        Ok(())
    }

    /// Deletes the files of removed worktrees. Those that cannot be deleted are tried again by the next request.
    fn sweep(&self) {
        let Ok(entries) = rustix::fs::Dir::read_from(&self.trees) else { return };
        let names = entries.flatten().map(|entry| entry.file_name().to_owned());
        let removed: Vec<_> = names
            .filter(|name| name.to_bytes().starts_with(REMOVED.as_bytes()))
            .take(WORKTREES_SWEPT)
            .collect();
        for name in removed {
            let path = self.top.join(WORKTREES).join(std::ffi::OsStr::from_bytes(name.to_bytes()));
            if let Err(error) = self.root.remove_all(&path) {
                tracing::warn!("the removed worktree {} could not be deleted: {error}", path.display());
            }
        }
    }
}

/// The path of a directory below the root.
fn relative(root: &Root, path: &Path) -> Result<PathBuf, WireError> {
    let real = real(&root.open_dir(path).map_err(path_error)?).map_err(io_error)?;
    let below = real.strip_prefix(root.path()).map(Path::to_owned);
    below.map_err(|_| WireError::new(ErrorKind::EscapesWorkspace, "path escapes the workspace"))
}

/// Opens a directory below the root; fails if a link is on the way.
fn straight(root: &Root, path: &Path) -> Result<OwnedFd, WireError> {
    // The empty path is the root's own.
    let given = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let handle = root.open_dir(given).map_err(path_error)?;
    if real(&handle).map_err(io_error)? != root.path().join(path) {
        return Err(WireError::new(
            ErrorKind::Unsupported,
            "a symbolic link is on the way to the repository's files",
        ));
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::openat(&handle, ".", flags, Mode::empty()).map_err(|error| io_error(error.into()))
}

/// The path of an open directory, by the kernel.
fn real(handle: &OwnedFd) -> io::Result<PathBuf> {
    std::fs::read_link(format!("/proc/thread-self/fd/{}", handle.as_raw_fd()))
}

/// Opens a directory of an open one, without following a link.
fn open_in(directory: &OwnedFd, name: &str) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(directory, name, flags, Mode::empty())?)
}

/// Opens a directory of an open one, creating it if it is missing.
fn directory_in(directory: &OwnedFd, name: &str) -> io::Result<OwnedFd> {
    match rustix::fs::mkdirat(directory, name, Mode::from_raw_mode(0o755)) {
        Ok(()) | Err(Errno::EXIST) => open_in(directory, name),
        Err(error) => Err(error.into()),
    }
}

/// Creates a file in an open directory; fails if the name is taken.
fn write_in(directory: &OwnedFd, name: &str, content: &[u8]) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let file = rustix::fs::openat(directory, name, flags, Mode::from_raw_mode(0o644))?;
    File::from(file).write_all(content)
}

fn exists(directory: &OwnedFd, name: &str) -> io::Result<bool> {
    match rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(_) => Ok(true),
        Err(Errno::NOENT) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// True if an entry of an open directory is a directory that is not empty.
fn has_entries(directory: &OwnedFd, name: &str) -> io::Result<bool> {
    match open_in(directory, name) {
        Ok(inner) => {
            let mut entries = rustix::fs::Dir::new(inner)?;
            Ok(entries
                .any(|entry| entry.is_ok_and(|entry| !matches!(entry.file_name().to_bytes(), b"." | b".."))))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// A path as a line of one of git's files.
fn line(path: &Path, before: &str) -> Vec<u8> {
    [before.as_bytes(), path.as_os_str().as_bytes(), b"\n"].concat()
}
