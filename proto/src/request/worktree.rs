//! The request about linked worktrees of git repositories, and the names that both sides agree on.

use crate::codec::{Decode, Encode};
use crate::ids::ExecId;
use crate::path::WirePath;

/// The directory of a repository, below its top, that holds the worktrees which runners make.
pub const WORKTREES: &str = ".sandbridge/worktrees";

/// The branch of a worktree is this, followed by the worktree's name.
pub const WORKTREE_BRANCHES: &str = "sandbridge/";

/// The longest name of a worktree, in bytes: a directory, a branch and a lock file are named after it.
pub const WORKTREE_NAME_BYTES: usize = 64;

/// Makes or removes a linked worktree of a git repository, which commands cannot do: git's directories are closed to them.
/// Supported by runners with the capability [`WORKTREE_CAPABILITY`](crate::handshake::WORKTREE_CAPABILITY).
///
/// The runner starts no git. [`WorktreeAction::Add`] makes the files that git reads: `.git/worktrees/NAME`, and the directory
/// [`WORKTREES`]`/NAME` with nothing but its file `.git`. The worktree is on the branch [`WORKTREE_BRANCHES`]`NAME`, which the
/// server makes before, and whose files it checks out after, both by commands. [`WorktreeAction::Remove`] removes these
/// directories with all that they contain, whatever it is, and leaves the branch.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Worktree {
    /// Identifies this change permanently; it is not made again if sent again.
    pub id: ExecId,
    /// The top directory of the repository: the one that has `.git` as a directory.
    pub repository: WirePath,
    /// The worktree's name; see [`is_worktree_name`].
    pub name: String,
    /// The action: making or removing the worktree.
    pub action: WorktreeAction,
}

/// A change to a worktree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub enum WorktreeAction {
    /// Makes it. Fails with `already_exists` if the name is taken.
    Add,
    /// Removes it; a missing one is not an error. Fails with `busy` if it was locked by `git worktree lock`, and with
    /// `directory_not_empty` if it has submodules.
    Remove,
}

/// The rule of [`is_worktree_name`], in words.
pub const WORKTREE_NAME_RULE: &str = "a worktree's name must have 1 to 64 letters, digits, `.`, `_` and `-`, begin with a letter or a digit, contain no `..`, and not end with `.` or `.lock`";

/// True if a worktree may have a name: 1 to 64 letters, digits, `.`, `_` and `-` of ASCII, beginning with a letter or a digit,
/// and a valid part of a branch's name for git (no `..`, no `.` or `.lock` at its end).
pub fn is_worktree_name(name: &str) -> bool {
    let is_known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    (1..=WORKTREE_NAME_BYTES).contains(&name.len())
        && name.bytes().all(is_known)
        && name.as_bytes()[0].is_ascii_alphanumeric()
        && !name.contains("..")
        && !name.ends_with('.')
        && !name.to_ascii_lowercase().ends_with(".lock")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_directory_and_a_part_of_a_branch() {
        assert!(WORKTREE_NAME_RULE.contains(&format!("1 to {WORKTREE_NAME_BYTES} letters")));
        let longest = "a".repeat(WORKTREE_NAME_BYTES);
        for name in ["a", "agent-0123abcd", "v1.2_x", "0", &longest] {
            assert!(is_worktree_name(name), "{name}");
        }
        let too_long = "a".repeat(300);
        for name in [
            "", ".", "..", "../x", "a/b", "-f", ".git", "a..b", "a.", "a.lock", "a.LOCK", "a\0b", "a b", "ä",
            &too_long,
        ] {
            assert!(!is_worktree_name(name), "{name:?}");
        }
    }
}
