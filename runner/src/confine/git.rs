//! The files that git obeys in a workspace: found by the scan here, and made read-only by the mounts.
//!
//! The user's own git runs hooks, and programs that the configuration names, outside of any sandbox. So commands may change
//! neither. A path that is only read-only could be moved away with its parents and made again, hence each directory above one is
//! *pinned*: a mount of itself, which cannot be renamed or removed.
//!
//! | in a repository | reason |
//! |---|---|
//! | `hooks` | programs the user's git runs |
//! | `config`, `config.worktree` | names programs: `core.fsmonitor`, `core.sshCommand`, aliases, filters |
//! | `commondir` | names the place of `config` and `hooks` |
//! | `objects`, `refs` | without them git looks for another repository: they stay in place, and `HEAD` is watched |
//! | a `.git` that is a file | names the place of the repository |
//! | `worktrees`, `modules` | new entries would have their own `commondir` or hooks: none can be created; existing ones stay writable |
//!
//! The same for each submodule and linked worktree that a repository keeps, for what a `.git` file or a `commondir` leads to, and for repositories
//! below the workspace's top, bare ones included. A directory that looks like a bare repository does not affect its own `.git`, which git looks at
//! first: the scan continues below it. A command may change anything that it created itself, including a repository.

mod scan;
#[cfg(test)]
mod tests;
mod watch;

use std::path::{Path, PathBuf};

use super::policy::ConfinePolicy;
use crate::layers::{LayerReport, Profile, layer_name};
use crate::limits::GIT_SCAN_DIRECTORIES;
use scan::Scan;
pub(super) use scan::WORKTREE_PARTS;
pub(crate) use watch::Watch;
pub(super) use watch::refuses_bare;

/// A report's note if the user's git would obey a bare repository created by commands.
const OBEYS_BARE: &str = "; this user's git obeys any bare repository that a command leaves in a directory: run \
     `git config --global safe.bareRepository explicit` and restart the runner";

/// Paths that commands must not change: absolute, without symbolic links.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct GitPaths {
    /// Directories that must stay in place; each comes after those above it.
    pub(crate) pinned: Vec<PathBuf>,
    /// The pinned directories in which nothing may be created or removed: their entries are pinned, and may change. Some may
    /// be missing.
    pub(crate) closed: Vec<PathBuf>,
    /// Files and trees that must stay unchanged. Some may be missing.
    pub(crate) read_only: Vec<PathBuf>,
    /// The number of repositories found.
    pub(crate) repositories: usize,
    /// The `.git` directories among them: without a valid one git looks for another repository.
    pub(crate) watched: Vec<PathBuf>,
    /// The reasons why some paths may be missing here.
    pub(crate) gaps: Vec<String>,
}

impl GitPaths {
    /// Paths that commands under a profile must not change; none if changing them is allowed, or impossible anyway.
    pub(crate) fn of(policy: &ConfinePolicy, profile: Profile) -> Self {
        if policy.allowances.git_config || profile == Profile::FullControl {
            return Self::default();
        }
        let roots: Vec<&Path> = policy.writable_roots(profile).collect();
        Self::find(&roots, GIT_SCAN_DIRECTORIES)
    }

    /// Looks for repositories in directories that commands may change, in at most this many directories of each.
    fn find(roots: &[&Path], most_directories: usize) -> Self {
        let mut found = Self::default();
        for root in roots {
            Scan::new(root, roots, most_directories, &mut found).run();
        }
        for paths in [&mut found.pinned, &mut found.closed, &mut found.read_only] {
            paths.sort();
            paths.dedup();
        }
        found
    }
}

/// Reports if commands may change what git obeys; `held` is the number of repositories that were closed to them, or the
/// reason why not all were.
pub(super) fn report(
    profile: Profile,
    policy: &ConfinePolicy,
    held: Result<usize, String>,
    report: &mut LayerReport,
) {
    if policy.allowances.git_config {
        return report.add(layer_name::GIT_CONFIG, false, "switched off by --allow-git-config");
    }
    if policy.writable_roots(profile).next().is_none() {
        return report.add(layer_name::GIT_CONFIG, true, "the workspace is read-only");
    }
    let is_held = held.is_ok();
    let mut detail = match held {
        Ok(0) => "no repository was in the workspace at startup".to_owned(),
        Ok(count) => format!("hooks and configuration are read-only (repositories at startup: {count})"),
        Err(why) => why,
    };
    if !policy.git_refuses_bare {
        detail.push_str(OBEYS_BARE);
    }
    report.add(layer_name::GIT_CONFIG, is_held && policy.git_refuses_bare, detail);
}
