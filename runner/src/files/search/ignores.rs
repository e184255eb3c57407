//! The paths that `.gitignore` files exclude, by git's rules: the deepest file with a matching rule decides.

use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use pathguard::{OpenFile, Root, Visit, Walk};

use crate::limits::IGNORE_FILE_BYTES;

const FILE_NAME: &str = ".gitignore";

/// The rules that apply at the walk's current position.
#[derive(Debug)]
pub(super) struct Ignores {
    /// The directory where the walk began, relative to the workspace; empty if its path contains `..` or is absolute.
    base: PathBuf,
    /// The levels of rules, from the workspace down.
    levels: Vec<Level>,
}

#[derive(Debug)]
struct Level {
    /// The depth of the visits it applies to, and deeper ones.
    depth: usize,
    /// The directory that its paths are relative to.
    directory: PathBuf,
    rules: Gitignore,
}

impl Ignores {
    /// The rules for a walk through `path`: those in it and in the directories above it.
    pub(super) fn new(root: &Root, path: &Path) -> Self {
        let plain: Option<PathBuf> = path
            .components()
            .filter(|component| !matches!(component, Component::CurDir))
            .map(|component| match component {
                Component::Normal(name) => Some(name),
                _ => None,
            })
            .collect();
        let base = plain.clone().unwrap_or_default();
        let mut ignores = Self { base, levels: Vec::new() };
        match plain {
            Some(plain) => {
                let mut above: Vec<_> = plain.ancestors().map(Path::to_owned).collect();
                above.reverse();
                for directory in above {
                    ignores.load(root.open_file(directory.join(FILE_NAME)), 0, directory);
                }
            }
            None => ignores.load(root.open_file(path.join(FILE_NAME)), 0, PathBuf::new()),
        }
        ignores
    }

    /// Call this when a visited directory has been entered.
    pub(super) fn enter(&mut self, walk: &Walk, visit: &Visit) {
        let directory = self.base.join(&visit.path);
        self.load(walk.open_sibling(FILE_NAME), visit.depth + 1, directory);
    }

    /// True if a visited entry is excluded, with everything in it.
    pub(super) fn excludes(&mut self, visit: &Visit, is_directory: bool) -> bool {
        while self.levels.last().is_some_and(|level| level.depth > visit.depth) {
            self.levels.pop();
        }
        let path = self.base.join(&visit.path);
        for level in self.levels.iter().rev() {
            let relative = path.strip_prefix(&level.directory).unwrap_or(&path);
            match level.rules.matched(relative, is_directory) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => {}
            }
        }
        false
    }

    /// Adds a file's rules. A missing, unreadable or non-regular one has none.
    fn load(&mut self, open: pathguard::Result<OpenFile>, depth: usize, directory: PathBuf) {
        let Ok(open) = open else { return };
        let mut text = Vec::new();
        if open.into_file().take(IGNORE_FILE_BYTES).read_to_end(&mut text).is_err() {
            return;
        }
        let mut builder = GitignoreBuilder::new("");
        for line in text.split(|byte| *byte == b'\n') {
            // A line that is not a pattern excludes nothing, as in git.
            let _ = builder.add_line(None, &OsStr::from_bytes(line).to_string_lossy());
        }
        if let Ok(rules) = builder.build()
            && !rules.is_empty()
        {
            self.levels.push(Level { depth, directory, rules });
        }
    }
}
