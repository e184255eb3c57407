//! Programs of the machine that the runner itself runs, outside of the sandbox.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The first program of this name in PATH that commands cannot have put there: neither the program nor its target is in the
/// workspace. An activated environment puts a directory of the workspace into PATH.
pub(crate) fn outside(workspace: &Path, name: &str) -> Option<PathBuf> {
    outside_in(&std::env::var_os("PATH").unwrap_or_default(), workspace, name)
}

fn outside_in(path: &OsStr, workspace: &Path, name: &str) -> Option<PathBuf> {
    let directories = std::env::split_paths(path).filter_map(|directory| directory.canonicalize().ok());
    let is_outside = |file: &PathBuf| {
        let real = file.canonicalize().ok().filter(|real| real.is_file());
        real.is_some_and(|real| !real.starts_with(workspace)) && !file.starts_with(workspace)
    };
    directories.map(|directory| directory.join(name)).find(is_outside)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_program_that_a_command_may_have_left_is_passed_over() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let place = |name: &str| {
            let directory = root.join(name);
            fs::create_dir_all(&directory).unwrap();
            directory
        };
        let workspace = place("work");
        let (inside, linked, plain) = (place("work/.venv/bin"), place("linked"), place("plain"));
        fs::write(inside.join("git"), "").unwrap();
        symlink(inside.join("git"), linked.join("git")).unwrap();
        symlink(&inside, root.join("alias")).unwrap();
        fs::write(plain.join("git"), "").unwrap();
        let found = |directories: &[&Path]| {
            let path = std::env::join_paths(directories).unwrap();
            outside_in(&path, &workspace, "git")
        };
        let alias = root.join("alias");
        assert_eq!(found(&[&inside, &linked, &alias, &plain]), Some(plain.join("git")));
        assert_eq!(found(&[&inside, &linked, &alias, Path::new("relative"), Path::new("")]), None);
    }
}
