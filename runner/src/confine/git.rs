//! What git obeys in a workspace: found by the scan here, and made read-only by the mounts.
//!
//! The user's own git runs hooks, and programs that the configuration names, outside of any sandbox. So commands may change
//! neither. A path that is only read-only could be moved away with its parents and made anew, hence each directory above one is
//! *pinned*: a mount of itself, which cannot be renamed or removed.
//!
//! | in a repository | why |
//! |---|---|
//! | `hooks` | programs the user's git runs |
//! | `config`, `config.worktree` | names programs: `core.fsmonitor`, `core.sshCommand`, aliases, filters |
//! | `commondir` | says where `config` and `hooks` are |
//! | a `.git` that is a file | says where the repository is |
//!
//! The same for each submodule and linked worktree that a repository keeps, and for repositories below the workspace's top.
//! What a command makes anew, a repository of its own included, is its own.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};

use super::policy::ConfinePolicy;
use super::report::Profile;
use crate::limits::{
    GIT_LINK_BYTES, GIT_MODULE_DEPTH, GIT_REPOSITORIES, GIT_SCAN_DEPTH, GIT_SCAN_DIRECTORIES,
};

/// The parts of a repository that are kept from commands.
const PARTS: &[&str] = &["hooks", "config", "config.worktree", "commondir"];

/// The same of a linked worktree's own directory.
const WORKTREE_PARTS: &[&str] = &["config.worktree", "commondir"];

/// Directories that hold other people's repositories, if any, and very many files.
const SKIPPED: &[&str] = &[".git", "node_modules", "target", ".venv", "venv", "__pycache__", ".cache"];

/// What commands must not change, in absolute paths without symbolic links.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct GitPaths {
    /// Directories that must stay where they are; each behind those above it.
    pub(crate) pinned: Vec<PathBuf>,
    /// Files and trees that must stay as they are. Some may be missing.
    pub(crate) read_only: Vec<PathBuf>,
    /// Repositories found.
    pub(crate) repositories: usize,
    /// Why some of what there is may be missing here.
    pub(crate) gaps: Vec<String>,
}

impl GitPaths {
    /// What commands under a profile must not change; nothing where that is allowed, or nothing of git can be changed.
    pub(crate) fn of(policy: &ConfinePolicy, profile: Profile) -> Self {
        if policy.allowances.git_config || profile == Profile::FullControl {
            return Self::default();
        }
        Self::find(policy.writable_roots(profile))
    }

    /// Looks for repositories in directories that commands may change.
    fn find<'a>(roots: impl IntoIterator<Item = &'a Path>) -> Self {
        let mut found = Self::default();
        for root in roots {
            Scan { root, found: &mut found }.run();
        }
        found.pinned.sort();
        found.pinned.dedup();
        found.read_only.sort();
        found.read_only.dedup();
        found
    }
}

/// The search beneath one root, the nearest first.
struct Scan<'a> {
    root: &'a Path,
    found: &'a mut GitPaths,
}

impl Scan<'_> {
    fn run(&mut self) {
        if self.root == Path::new("/") {
            // Nothing is mounted for it either, and all kinds of file systems would be searched.
            return self.found.gaps.push("the whole machine is not searched for repositories".to_owned());
        }
        let mut queue = VecDeque::from([(self.root.to_owned(), 0)]);
        let mut looked_at = 0;
        while let Some((directory, depth)) = queue.pop_front() {
            looked_at += 1;
            if looked_at > GIT_SCAN_DIRECTORIES || self.found.repositories >= GIT_REPOSITORIES {
                let gap = format!("not all of {} was searched for repositories", self.root.display());
                return self.found.gaps.push(gap);
            }
            if is_repository(&directory) {
                self.repository(&directory, 0);
                continue;
            }
            self.dot_git(&directory.join(".git"));
            if depth == GIT_SCAN_DEPTH {
                continue;
            }
            for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
                let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
                if is_directory && !SKIPPED.iter().any(|name| entry.file_name() == *name) {
                    queue.push_back((entry.path(), depth + 1));
                }
            }
        }
    }

    fn dot_git(&mut self, path: &Path) {
        let Ok(metadata) = fs::symlink_metadata(path) else { return };
        if metadata.is_dir() {
            return self.repository(path, 0);
        }
        if metadata.is_symlink() {
            let gap = format!("{} is a symbolic link, which cannot be held in place", path.display());
            return self.found.gaps.push(gap);
        }
        self.pin_above(path);
        self.found.read_only.push(path.to_owned());
        self.found.repositories += 1;
        // One that lies elsewhere is none of the commands', unless it is allowed and found there.
        let target = (metadata.len() <= GIT_LINK_BYTES).then(|| fs::read_to_string(path).ok()).flatten();
        let target = target.as_deref().and_then(|text| text.strip_prefix("gitdir:"));
        let Some(target) = target.and_then(|target| path.parent()?.join(target.trim()).canonicalize().ok())
        else {
            return;
        };
        if target.starts_with(self.root) && is_repository(&target) {
            self.repository(&target, 0);
        }
    }

    /// A repository's own directory, with the submodules and worktrees it keeps.
    fn repository(&mut self, directory: &Path, depth: usize) {
        self.found.repositories += 1;
        self.hold(directory, PARTS);
        for worktree in directories_in(&directory.join("worktrees")) {
            self.hold(&worktree, WORKTREE_PARTS);
        }
        self.modules(&directory.join("modules"), depth + 1);
    }

    /// Submodules by their names, which may have slashes.
    fn modules(&mut self, directory: &Path, depth: usize) {
        let modules = directories_in(directory);
        if modules.is_empty() {
            return;
        }
        if depth > GIT_MODULE_DEPTH || self.found.repositories >= GIT_REPOSITORIES {
            return self.found.gaps.push(format!("not all of {} was searched", directory.display()));
        }
        for module in modules {
            if is_repository(&module) {
                self.repository(&module, depth);
            } else {
                self.modules(&module, depth + 1);
            }
        }
    }

    fn hold(&mut self, directory: &Path, parts: &[&str]) {
        self.pin_above(directory);
        if directory != self.root {
            self.found.pinned.push(directory.to_owned());
        }
        self.found.read_only.extend(parts.iter().map(|part| directory.join(part)));
    }

    fn pin_above(&mut self, path: &Path) {
        let root = self.root;
        let between = path.ancestors().skip(1).take_while(|above| above.starts_with(root) && *above != root);
        self.found.pinned.extend(between.map(Path::to_owned));
    }
}

/// Whether that is what git takes for a repository's own directory.
fn is_repository(directory: &Path) -> bool {
    let is_directory = |name| fs::symlink_metadata(directory.join(name)).is_ok_and(|found| found.is_dir());
    is_directory("objects") && is_directory("refs") && fs::symlink_metadata(directory.join("HEAD")).is_ok()
        || is_linked_worktree(directory)
}

/// Whether it is what a repository keeps of a linked worktree.
fn is_linked_worktree(directory: &Path) -> bool {
    ["HEAD", "commondir", "gitdir"].iter().all(|name| fs::symlink_metadata(directory.join(name)).is_ok())
}

/// The real directories in one; none where there is nothing.
fn directories_in(directory: &Path) -> Vec<PathBuf> {
    let is_real = fs::symlink_metadata(directory).is_ok_and(|found| found.is_dir());
    let entries = is_real.then(|| fs::read_dir(directory).ok()).flatten();
    let directories = entries.into_iter().flatten().flatten();
    let directories = directories.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let mut directories: Vec<_> = directories.map(|entry| entry.path()).collect();
    directories.sort();
    directories
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repository(path: &Path) {
        for name in ["objects", "refs", "hooks"] {
            fs::create_dir_all(path.join(name)).unwrap();
        }
        fs::write(path.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    }

    #[test]
    fn every_kind_of_repository_is_found_with_what_leads_to_it() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        repository(&root.join(".git"));
        repository(&root.join(".git/modules/lib/inner"));
        fs::create_dir_all(root.join(".git/worktrees/other")).unwrap();
        repository(&root.join("nested/deep/.git"));
        repository(&root.join("bare.git"));
        fs::create_dir(root.join("lib")).unwrap();
        fs::write(root.join("lib/.git"), "gitdir: ../.git/modules/lib/inner\n").unwrap();
        repository(&root.join("node_modules/x/.git"));
        let found = GitPaths::find([root]);
        let expected_pins = [
            ".git",
            ".git/modules",
            ".git/modules/lib",
            ".git/modules/lib/inner",
            ".git/worktrees",
            ".git/worktrees/other",
            "bare.git",
            "lib",
            "nested",
            "nested/deep",
            "nested/deep/.git",
        ];
        assert_eq!(found.pinned, expected_pins.map(|path| root.join(path)));
        for path in [
            ".git/config",
            ".git/hooks",
            ".git/commondir",
            ".git/modules/lib/inner/hooks",
            ".git/worktrees/other/commondir",
            "nested/deep/.git/config",
            "bare.git/config",
            "lib/.git",
        ] {
            assert!(found.read_only.contains(&root.join(path)), "{path}: {:?}", found.read_only);
        }
        assert!(!found.read_only.iter().any(|path| path.starts_with(root.join("node_modules"))));
        assert_eq!(found.gaps, Vec::<String>::new());
    }

    #[test]
    fn links_are_not_followed_and_told() {
        let (directory, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        repository(&elsewhere.path().join("x.git"));
        std::os::unix::fs::symlink(elsewhere.path().join("x.git"), directory.path().join(".git")).unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), directory.path().join("link")).unwrap();
        let found = GitPaths::find([directory.path()]);
        assert!(found.pinned.is_empty() && found.read_only.is_empty(), "{found:?}");
        assert!(found.gaps[0].contains("symbolic link"), "{found:?}");
        let file = tempfile::tempdir().unwrap();
        let text = format!("gitdir: {}\n", elsewhere.path().join("x.git").display());
        fs::write(file.path().join(".git"), text).unwrap();
        let found = GitPaths::find([file.path()]);
        assert_eq!(found.read_only, [file.path().join(".git")]);
    }

    #[test]
    fn a_search_that_is_not_complete_says_so() {
        let directory = tempfile::tempdir().unwrap();
        for number in 0..=GIT_REPOSITORIES {
            repository(&directory.path().join(format!("{number}/.git")));
        }
        let found = GitPaths::find([directory.path()]);
        assert_eq!((found.repositories, found.gaps.len()), (GIT_REPOSITORIES, 1));
    }
}
