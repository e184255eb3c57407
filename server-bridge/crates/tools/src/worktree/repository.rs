//! Worktrees of a repository on a machine: making one, examining it, and removing it if nothing would be lost.
//!
//! The runner makes and removes the directories, which commands cannot do; git's own part (the branch, the files, the state) is done by
//! commands within their confinement. Branches are changed with `update-ref`, which compares their old value and leaves the configuration
//! alone.

use sandbox::{
    SandboxError, WORKTREE_BRANCHES, WORKTREE_NAME_RULE, WORKTREES, WorktreeAction, is_worktree_name,
};

use super::command::{Ran, Worktrees};
use crate::limits::{GIT_ERROR_CHARS, WORKTREES_LISTED};
use agent::tool::{Failure, visible};

/// Finds the main repository of the current directory: prints its top directory and the commit that is checked out here.
const FIND: &str = r#"
command -v git >/dev/null 2>&1 || exit 41
here=$PWD
common=$(git rev-parse --git-common-dir) || exit 42
cd -P -- "$common" || exit 42
case $PWD in */.git) ;; *) exit 43 ;; esac
cd -P .. || exit 42
pwd -P
git -C "$here" rev-parse -q --verify 'HEAD^{commit}' || exit 44
"#;

/// Makes the branch; fails if it exists.
const MAKE_BRANCH: &str =
    r#"git -C "$1" -c core.packedRefsTimeout=20000 update-ref "refs/heads/$2" "$3" '' "#;

/// Removes the branch if it is still at that commit.
const REMOVE_BRANCH: &str =
    r#"git -C "$1" -c core.packedRefsTimeout=20000 update-ref -d "refs/heads/$2" "$3""#;

/// Checks out the files of a new worktree.
const CHECK_OUT: &str = r#"git -C "$1" reset -q --hard"#;

/// Prints the state of the worktree `$2` of the repository `$1`, one line per property; without `$2`, that of each of its worktrees.
const STATE: &str = r#"
export LC_ALL=C GIT_OPTIONAL_LOCKS=0
top=$1
one() {
  name=$1; tree=$top/.sandbridge/worktrees/$name; branch=sandbridge/$name
  echo "name=$name"
  oid=$(git -C "$top" rev-parse -q --verify "refs/heads/$branch")
  echo "oid=$oid"
  main=$(git -C "$top" rev-parse -q --verify HEAD)
  head=
  if [ -e "$tree/.git" ]; then
    status=$(git -C "$tree" status --porcelain --untracked-files=normal --ignore-submodules=none) || return 1
    [ -z "$status" ] || echo "changes=$(printf '%s\n' "$status" | wc -l)"
    head=$(git -C "$tree" rev-parse -q --verify HEAD)
    echo "on=$(git -C "$tree" symbolic-ref -q --short HEAD)"
    own=$(cd "$tree" && cd "$(git rev-parse --git-dir)" && pwd -P) || return 1
    for part in MERGE_HEAD rebase-merge rebase-apply CHERRY_PICK_HEAD REVERT_HEAD BISECT_LOG; do
      [ ! -e "$own/$part" ] || echo "unfinished=$part"
    done
    for process in /proc/[0-9]*/cwd; do
      at=$(readlink "$process" 2>/dev/null) || continue
      case $at in "$tree"|"$tree"/*) echo "process=$process"; break ;; esac
    done
  else
    echo missing=1
  fi
  [ -n "$head$oid" ] || return 0
  # It fails if another branch goes while git reads them all.
  tries=1
  until own=$(git -C "$top" rev-list --count $head $oid --not --exclude="$branch" --branches --tags --remotes $main); do
    [ $tries -lt 8 ] || return 1
    tries=$((tries + 1))
  done
  echo "commits=$own"
}
[ -d "$top/.git" ] || { echo "there is no repository in $top any more" >&2; exit 1; }
if [ $# -gt 1 ]; then one "$2"; exit; fi
for tree in "$top"/.sandbridge/worktrees/*/.git; do
  [ -f "$tree" ] || continue
  tree=${tree%/.git}
  one "${tree##*/}" || echo unknown=1
done
"#;

/// A worktree that was made.
#[derive(Debug, PartialEq, Eq)]
pub struct Made {
    /// The absolute path of the worktree.
    pub path: String,
    /// The name of the worktree's branch.
    pub branch: String,
    /// The commit at which the branch begins.
    pub commit: String,
}

/// The result of leaving a worktree.
#[derive(Debug, PartialEq, Eq)]
pub enum Left {
    /// The worktree had nothing of its own, and was removed with its branch.
    Removed,
    /// The worktree is kept, for these reasons.
    Kept(String),
}

/// The state of a worktree.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct State {
    pub(super) name: String,
    /// The branch that is checked out; empty for none.
    on: String,
    /// The commit of the worktree's own branch; empty if that branch was deleted.
    commit: String,
    /// The number of changed and new files.
    changes: usize,
    /// The number of commits that are on no other branch.
    commits: usize,
    is_unfinished: bool,
    has_process: bool,
    is_missing: bool,
    is_unknown: bool,
}

impl State {
    /// Parses what [`STATE`] prints about worktrees.
    fn all(text: &str) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        for (key, value) in text.lines().filter_map(|line| line.split_once('=')) {
            if key == "name" {
                all.push(Self { name: value.to_owned(), ..Self::default() });
                continue;
            }
            let Some(state) = all.last_mut() else { continue };
            match key {
                "on" => value.clone_into(&mut state.on),
                "oid" => value.clone_into(&mut state.commit),
                "changes" => state.changes = value.trim().parse().unwrap_or(1),
                "commits" => state.commits = value.trim().parse().unwrap_or(1),
                "unfinished" => state.is_unfinished = true,
                "process" => state.has_process = true,
                "missing" => state.is_missing = true,
                "unknown" => state.is_unknown = true,
                _ => {}
            }
        }
        all
    }

    /// A description of what would be lost or disturbed if the worktree were removed; `None` if nothing would be.
    pub(super) fn holds(&self) -> Option<String> {
        let count = |count: usize, one: &str, more: &str| match count {
            0 => None,
            1 => Some(format!("1 {one}")),
            count => Some(format!("{count} {more}")),
        };
        let found = [
            self.is_unknown.then(|| "a state that git cannot determine".to_owned()),
            count(self.changes, "change that is not committed", "changes that are not committed"),
            count(self.commits, "commit that is on no other branch", "commits that are on no other branch"),
            self.is_unfinished.then(|| "an unfinished merge, rebase or bisect".to_owned()),
            self.has_process.then(|| "a process that is still running in it".to_owned()),
        ];
        let found: Vec<String> = found.into_iter().flatten().collect();
        (!found.is_empty()).then(|| found.join(", "))
    }

    /// The worktree's line in a list.
    pub(super) fn line(&self, top: &str) -> String {
        let on = match self.on.as_str() {
            "" => "no branch".to_owned(),
            on => format!("branch {}", visible::line(on)),
        };
        let holds = self.holds().unwrap_or_else(|| "nothing of its own".to_owned());
        format!("{}: {} ({on}): {holds}", self.name, visible::line(&path(top, &self.name)))
    }
}

impl Worktrees<'_> {
    /// Makes a worktree of the repository that contains a directory, on a new branch that begins at the commit checked out there.
    ///
    /// Fails with a text, after removing everything that was made.
    pub async fn create(&self, cwd: &str, name: &str) -> Result<Made, Failure> {
        check_name(name)?;
        let (top, commit) = self.repository(cwd).await?;
        let branch = format!("{WORKTREE_BRANCHES}{name}");
        let shown = format!("git worktree: create {name}");
        let ran = self.run(&shown, "", MAKE_BRANCH, &[&top, &branch, &commit]).await?;
        if ran.code != Some(0) {
            let why = format!(
                "the branch {branch} could not be made, perhaps because it already exists: {}",
                ran.why()
            );
            return Err(Failure::Message(why));
        }
        let path = path(&top, name);
        let undo = Worktrees { cancelled: None, ..*self };
        match self.sandbox.worktree(top.as_bytes(), name, WorktreeAction::Add).await {
            Ok(()) => {}
            Err(error) => {
                // A runner that refuses leaves nothing behind.
                let undone = match error {
                    SandboxError::Remote { .. } => undo.remove_branch(&top, name, &commit).await,
                    _ => undo.discard(&top, name, &commit).await,
                };
                return Err(and_left(error.to_string(), undone));
            }
        }
        let why = match self.run(&shown, "", CHECK_OUT, &[&path]).await {
            Ok(ran) if ran.code == Some(0) => return Ok(Made { path, branch, commit }),
            Ok(ran) => format!("the files could not be checked out: {}", ran.why()),
            Err(error) => error.to_string(),
        };
        Err(and_left(why, undo.discard(&top, name, &commit).await))
    }

    /// Removes the worktree at this path with its branch if nothing would be lost by that.
    ///
    /// Fails with a text if that cannot be determined; then the worktree stays.
    pub async fn leave(&self, path: &str) -> Result<Left, Failure> {
        let Some((top, name)) = path.rsplit_once(&format!("/{WORKTREES}/")) else {
            return Err(Failure::Message(format!("{} is not the path of a worktree", visible::line(path))));
        };
        check_name(name)?;
        let ran = self.run(&format!("git worktree: look at {name}"), "", STATE, &[top, name]).await?;
        if ran.code != Some(0) {
            return Err(Failure::Message(ran.why()));
        }
        let Some(state) = State::all(&ran.stdout).pop() else { return Err(Failure::Message(ran.why())) };
        self.leave_if_empty(top, &state).await
    }

    /// Removes a worktree in this state, if it contains nothing of its own.
    pub(super) async fn leave_if_empty(&self, top: &str, state: &State) -> Result<Left, Failure> {
        if let Some(holds) = state.holds() {
            return Ok(Left::Kept(holds));
        }
        match self.discard(top, &state.name, &state.commit).await {
            Ok(()) => Ok(Left::Removed),
            Err(Failure::Message(why)) => Ok(Left::Kept(why)),
            Err(error) => Err(error),
        }
    }

    /// The top directory of the repository that contains a directory, and the repository's worktrees.
    pub(super) async fn all(&self, cwd: &str) -> Result<(String, Vec<State>), Failure> {
        let (top, _) = self.repository(cwd).await?;
        let ran = self.run("git worktree: list", "", STATE, &[&top]).await?;
        if ran.code != Some(0) {
            return Err(Failure::Message(ran.why()));
        }
        let mut all = State::all(&ran.stdout);
        all.truncate(WORKTREES_LISTED);
        Ok((top, all))
    }

    /// Removes a worktree with all that it contains, and its branch if that is still at this commit.
    async fn discard(&self, top: &str, name: &str, commit: &str) -> Result<(), Failure> {
        let removed = self.sandbox.worktree(top.as_bytes(), name, WorktreeAction::Remove).await;
        removed.map_err(|error| told(&error))?;
        self.remove_branch(top, name, commit).await
    }

    /// Removes the branch of a worktree that was removed, if it is still at this commit.
    async fn remove_branch(&self, top: &str, name: &str, commit: &str) -> Result<(), Failure> {
        if commit.is_empty() {
            return Ok(());
        }
        let (shown, branch) = (format!("git worktree: remove {name}"), format!("{WORKTREE_BRANCHES}{name}"));
        let ran = self.run(&shown, "", REMOVE_BRANCH, &[top, &branch, commit]).await?;
        if ran.code == Some(0) {
            return Ok(());
        }
        Err(Failure::Message(format!(
            "the worktree's files were removed, but its branch {branch} was not: {}",
            ran.why()
        )))
    }

    /// The top directory of the repository that contains a directory, and the commit that is checked out there.
    async fn repository(&self, cwd: &str) -> Result<(String, String), Failure> {
        let ran = self.run("git worktree: find the repository", cwd, FIND, &[]).await?;
        let place = self.sandbox.place();
        let why = match ran.code {
            Some(0) => {
                let found = ran.stdout.trim_end().rsplit_once('\n');
                if let Some((top, commit)) = found.filter(|(top, _)| !top.contains('\n')) {
                    return Ok((top.to_owned(), commit.to_owned()));
                }
                "the repository's path has a line break; rename it".to_owned()
            }
            Some(41) => format!("git is not installed on {place}"),
            Some(42) => format!("the current directory is in no git repository that commands on {place} can use: {}", ran.why()),
            Some(43) => "the repository's .git is not a directory of its own (a submodule, or a bare repository); go to the main \
                         repository with Cd"
                .to_owned(),
            Some(44) => "the repository has no commit yet; commit something first".to_owned(),
            _ => ran.why(),
        };
        Err(Failure::Message(why))
    }
}

/// The absolute path of a worktree.
pub(super) fn path(top: &str, name: &str) -> String {
    format!("{}/{WORKTREES}/{name}", top.trim_end_matches('/'))
}

fn told(error: &SandboxError) -> Failure {
    Failure::Message(error.to_string())
}

/// The reason why a worktree was not made, with anything that could not be undone.
fn and_left(why: String, undone: Result<(), Failure>) -> Failure {
    match undone {
        Ok(()) => Failure::Message(why),
        Err(left) => Failure::Message(format!("{why}; what was made of it could not be removed: {left}")),
    }
}

pub(super) fn check_name(name: &str) -> Result<(), Failure> {
    if is_worktree_name(name) {
        return Ok(());
    }
    Err(Failure::Message(WORKTREE_NAME_RULE.to_owned()))
}

impl Ran {
    /// The error text of a failed command, or a description of how it ended.
    fn why(&self) -> String {
        let said: Vec<&str> = self.stderr.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let said = visible::line(&said.join("; "));
        let said: String = said.chars().take(GIT_ERROR_CHARS).collect();
        match (said.is_empty(), self.code) {
            (false, _) => said,
            (true, Some(code)) => format!("git ended with the exit code {code}"),
            (true, None) => "git did not end in time".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worktree_holds_what_would_be_lost() {
        let text = "name=a\noid=c0ffee\non=sandbridge/a\ncommits=0\nname=b\noid=\nchanges=2\ncommits=1\nunfinished=MERGE_HEAD\n\
                    process=/proc/1/cwd\nname=c\nunknown=1\nname=d\nmissing=1\noid=1\ncommits=0\n";
        let all = State::all(text);
        assert_eq!(all.len(), 4);
        assert_eq!((all[0].holds(), all[3].holds(), all[3].is_missing), (None, None, true));
        assert_eq!(
            all[1].holds().unwrap(),
            "2 changes that are not committed, 1 commit that is on no other branch, an unfinished merge, rebase or bisect, \
             a process that is still running in it"
        );
        assert!(all[2].holds().unwrap().contains("git cannot determine"));
        assert_eq!(
            all[0].line("/w"),
            "a: /w/.sandbridge/worktrees/a (branch sandbridge/a): nothing of its own"
        );
    }
}
