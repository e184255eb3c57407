//! The search for repositories below one directory that commands may change.

use std::collections::{BTreeSet, VecDeque};
use std::fs::{self, FileType};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path, PathBuf};

use super::GitPaths;
use super::watch::has_head;
use crate::limits::{GIT_LINK_BYTES, GIT_MODULE_DEPTH, GIT_REPOSITORIES, GIT_SCAN_DIRECTORIES};

/// The parts of a repository that are closed to commands.
const PARTS: &[&str] = &["hooks", "config", "config.worktree", "commondir"];

/// The parts of a linked worktree's own directory that are closed to commands.
pub(in crate::confine) const WORKTREE_PARTS: &[&str] = &["config.worktree", "commondir"];

/// The entries that make a directory a repository, and that git never replaces.
const STAYING: &[&str] = &["objects", "refs"];

/// Directories that tools create and remove as a whole, with very many files. Repositories in them are reported and not protected: a pinned
/// repository could not be removed any more.
const REBUILT: &[&str] = &["node_modules", "target", ".venv", "venv", "__pycache__", ".cache"];

/// The search below one root, the nearest first.
pub(super) struct Scan<'a> {
    root: &'a Path,
    /// All directories that commands may change.
    roots: &'a [&'a Path],
    /// The maximum number of directories to look through, and as many again of those that tools rebuild.
    most_directories: usize,
    found: &'a mut GitPaths,
    /// Repositories that are already protected.
    held: BTreeSet<PathBuf>,
    /// Directories that tools rebuild, to be searched last.
    rebuilt: VecDeque<PathBuf>,
}

/// The names in one directory that matter to git.
#[derive(Default)]
struct Names {
    dot_git: Option<FileType>,
    head: bool,
    objects: bool,
    refs: bool,
    common: bool,
    directories: Vec<PathBuf>,
}

impl Names {
    fn read(directory: &Path) -> io::Result<Self> {
        let mut names = Self::default();
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            match entry.file_name().as_bytes() {
                b".git" => names.dot_git = Some(kind),
                b"HEAD" => names.head = true,
                b"objects" => names.objects = true,
                b"refs" => names.refs = true,
                b"commondir" => names.common = true,
                _ => {}
            }
            // The search never looks at more directories than that.
            if kind.is_dir() && entry.file_name() != ".git" && names.directories.len() <= GIT_SCAN_DIRECTORIES
            {
                names.directories.push(entry.path());
            }
        }
        Ok(names)
    }

    /// True if git would treat the directory as a repository's own: the three entries may be of any kind, including links.
    fn are_of_repository(&self) -> bool {
        self.head && (self.common || self.objects && self.refs)
    }
}

impl<'a> Scan<'a> {
    pub(super) fn new(
        root: &'a Path,
        roots: &'a [&'a Path],
        most_directories: usize,
        found: &'a mut GitPaths,
    ) -> Self {
        Self { root, roots, most_directories, found, held: BTreeSet::new(), rebuilt: VecDeque::new() }
    }

    pub(super) fn run(mut self) {
        if self.root == Path::new("/") {
            // A workspace that is the whole machine gets no mounts either, and a search would go through file systems of every kind.
            return self.found.gaps.push(
                "the workspace is the whole machine, which is not searched for repositories".to_owned(),
            );
        }
        self.look_through();
        self.look_through_rebuilt();
    }

    fn look_through(&mut self) {
        let mut queue = VecDeque::from([self.root.to_owned()]);
        let mut looked_at = 0;
        while let Some(directory) = queue.pop_front() {
            looked_at += 1;
            if looked_at > self.most_directories || self.found.repositories >= GIT_REPOSITORIES {
                return self.not_looked_at(&directory, queue.len());
            }
            let Some(names) = self.names(&directory) else { continue };
            if names.are_of_repository() {
                self.repository(&directory, 0);
            }
            if let Some(kind) = names.dot_git {
                self.dot_git(&directory.join(".git"), kind);
            }
            for inner in names.directories {
                let is_rebuilt =
                    inner.file_name().is_some_and(|name| REBUILT.iter().any(|known| name == *known));
                push(if is_rebuilt { &mut self.rebuilt } else { &mut queue }, inner);
            }
        }
    }

    /// Reports the repositories in directories that tools rebuild, as far as these can be searched.
    fn look_through_rebuilt(&mut self) {
        let mut queue = std::mem::take(&mut self.rebuilt);
        let mut looked_at = 0;
        while let Some(directory) = queue.pop_front() {
            looked_at += 1;
            if looked_at > self.most_directories {
                return self.not_looked_at(&directory, queue.len());
            }
            let Some(names) = self.names(&directory) else { continue };
            if names.dot_git.is_some() || names.are_of_repository() {
                let gap = format!(
                    "not protected, because tools rebuild what is there: the repository {}",
                    directory.display()
                );
                self.found.gaps.push(gap);
            }
            names.directories.into_iter().for_each(|inner| push(&mut queue, inner));
        }
    }

    fn names(&mut self, directory: &Path) -> Option<Names> {
        match Names::read(directory) {
            Ok(names) => Some(names),
            // The directory was removed meanwhile; commands cannot remove parts of the machine's tree before they run.
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                self.found.gaps.push(format!("not looked at: {}: {error}", directory.display()));
                None
            }
        }
    }

    fn not_looked_at(&mut self, first: &Path, others: usize) {
        let others =
            if others == 0 { String::new() } else { format!(" and at least {others} other directories") };
        self.found.gaps.push(format!("not looked at: {}{others}", first.display()));
    }

    fn dot_git(&mut self, path: &Path, kind: FileType) {
        if kind.is_dir() {
            if !has_head(path) {
                let gap = format!("{} has no valid HEAD: git looks for another repository", path.display());
                self.found.gaps.push(gap);
            }
            self.found.watched.push(path.to_owned());
            return self.repository(path, 0);
        }
        if !kind.is_file() {
            let what = if kind.is_symlink() { "a symbolic link" } else { "neither a file nor a directory" };
            let gap = format!("{} is {what}, which cannot be protected", path.display());
            return self.found.gaps.push(gap);
        }
        self.pin_above(path);
        self.found.read_only.push(path.to_owned());
        self.found.repositories += 1;
        let Some(text) = small_text(path) else { return };
        if let Some(target) = text.strip_prefix("gitdir:") {
            self.led_to(path, target.trim());
        }
    }

    /// Holds the repository that a file leads to; one in a place that commands cannot change is skipped.
    fn led_to(&mut self, file: &Path, target: &str) {
        let Some(directory) = file.parent() else { return };
        match self.follow(directory, Path::new(target)) {
            Ok(real) if self.is_changeable(&real) => self.repository(&real, 0),
            Ok(_) => {}
            Err(why) => self.found.gaps.push(format!("{} leads to {target}: {why}", file.display())),
        }
    }

    /// The target of a path, or the reason why commands control it; a place that they cannot change is returned as far as it
    /// resolves.
    fn follow(&self, directory: &Path, target: &Path) -> Result<PathBuf, String> {
        let mut here = directory.to_owned();
        for component in target.components() {
            let name = match component {
                Component::Normal(name) => name,
                Component::ParentDir => {
                    here.pop();
                    continue;
                }
                Component::CurDir => continue,
                Component::RootDir | Component::Prefix(_) => {
                    here = PathBuf::from("/");
                    continue;
                }
            };
            let next = here.join(name);
            let real = next.canonicalize();
            if !self.is_changeable(&here) {
                let Ok(real) = real else { return Ok(next) };
                here = real;
                continue;
            }
            match real {
                Ok(real) if real == next => here = next,
                Ok(_) => return Err(format!("{} is a link, which cannot be protected", next.display())),
                Err(error) => return Err(format!("{}: {error}", next.display())),
            }
        }
        Ok(here)
    }

    fn is_changeable(&self, path: &Path) -> bool {
        self.roots.iter().any(|root| path.starts_with(root))
    }

    /// A repository's own directory, with the submodules and worktrees it keeps.
    fn repository(&mut self, directory: &Path, depth: usize) {
        if !self.held.insert(directory.to_owned()) {
            return;
        }
        self.found.repositories += 1;
        self.hold(directory, PARTS);
        let stays = STAYING.iter().map(|name| directory.join(name));
        self.found
            .pinned
            .extend(stays.filter(|path| fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())));
        self.common_directory(directory);
        let worktrees = directory.join("worktrees");
        self.close(&worktrees);
        for worktree in directories_in(&worktrees) {
            self.hold(&worktree, WORKTREE_PARTS);
            self.common_directory(&worktree);
            // A linked worktree has its own submodules.
            self.modules(&worktree.join("modules"), depth + 1);
        }
        self.modules(&directory.join("modules"), depth + 1);
    }

    /// If another directory determines what git obeys in this repository, that one is protected as well.
    fn common_directory(&mut self, directory: &Path) {
        let file = directory.join("commondir");
        if let Some(text) = small_text(&file).filter(|text| text.trim_end() != ".") {
            self.led_to(&file, text.trim_end());
        }
    }

    /// Submodules by their names, which may have slashes.
    fn modules(&mut self, directory: &Path, depth: usize) {
        self.close(directory);
        let modules = directories_in(directory);
        if modules.is_empty() {
            return;
        }
        if depth > GIT_MODULE_DEPTH || self.found.repositories >= GIT_REPOSITORIES {
            return self.found.gaps.push(format!("not looked at: {}", directory.display()));
        }
        for module in modules {
            if self.names(&module).is_some_and(|names| names.are_of_repository()) {
                self.repository(&module, depth);
            } else {
                self.modules(&module, depth + 1);
            }
        }
    }

    /// Prevents new entries in a directory.
    fn close(&mut self, directory: &Path) {
        self.pin_above(directory);
        self.found.pinned.push(directory.to_owned());
        self.found.closed.push(directory.to_owned());
    }

    fn hold(&mut self, directory: &Path, parts: &[&str]) {
        self.pin_above(directory);
        if !self.roots.contains(&directory) {
            self.found.pinned.push(directory.to_owned());
        }
        self.found.read_only.extend(parts.iter().map(|part| directory.join(part)));
    }

    /// Pins the directories between a path and the directory that commands may change.
    fn pin_above(&mut self, path: &Path) {
        let above: Vec<&Path> = path.ancestors().skip(1).collect();
        let Some(top) = above.iter().position(|above| self.roots.contains(above)) else { return };
        self.found.pinned.extend(above[..top].iter().map(|above| above.to_path_buf()));
    }
}

/// Queues a directory; one that exceeds the limit is only noted.
fn push(queue: &mut VecDeque<PathBuf>, directory: PathBuf) {
    if queue.len() <= GIT_SCAN_DIRECTORIES {
        queue.push_back(directory);
    }
}

/// The text of one of git's files that lead elsewhere; links are followed, as git does.
fn small_text(path: &Path) -> Option<String> {
    let file =
        fs::OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path).ok()?;
    let metadata = file.metadata().ok()?;
    let mut bytes = Vec::new();
    if !metadata.is_file() || metadata.len() > GIT_LINK_BYTES {
        return None;
    }
    file.take(GIT_LINK_BYTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The real subdirectories of a directory; none if it does not exist.
fn directories_in(directory: &Path) -> Vec<PathBuf> {
    let is_real = fs::symlink_metadata(directory).is_ok_and(|found| found.is_dir());
    let entries = is_real.then(|| fs::read_dir(directory).ok()).flatten();
    let directories = entries.into_iter().flatten().flatten();
    let directories = directories.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let mut directories: Vec<_> = directories.map(|entry| entry.path()).collect();
    directories.sort();
    directories
}
