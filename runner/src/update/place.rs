//! The path of the running program, and the check that it may be replaced there.

use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD};
use rustix::io::Errno;

use crate::confine::ConfinePolicy;
use crate::explain::{Rule, explain};
use crate::layers::Profile;

/// The program that this process runs, even if another file is at its path by now.
pub(super) const RUNNING: &str = "/proc/self/exe";

/// The suffix that the kernel adds to the path of a deleted file.
const GONE: &[u8] = b" (deleted)";

/// The path of the program that this process runs; by now there may be another file, or none.
///
/// # Errors
/// The system does not report it.
pub(super) fn of_this_process() -> io::Result<PathBuf> {
    let path = fs::read_link(RUNNING)?;
    match path.as_os_str().as_bytes().strip_suffix(GONE) {
        Some(before) if !path.exists() => Ok(PathBuf::from(std::ffi::OsString::from_vec(before.to_vec()))),
        Some(_) | None => Ok(path),
    }
}

/// True if the file at `program` is the one that this process runs.
pub(super) fn is_running(program: &Path) -> bool {
    let identity = |path: &Path| fs::metadata(path).map(|file| (file.dev(), file.ino())).ok();
    identity(program).is_some_and(|found| Some(found) == identity(Path::new(RUNNING)))
}

/// Checks that a program may be replaced by its runner, whose commands have these policies; `own_root` is true if they have a
/// mount namespace. Call this on an unconfined thread.
///
/// # Errors
/// The program may not be replaced; the text contains the reason and what to do instead.
pub(super) fn check(
    program: &Path,
    policies: &[ConfinePolicy],
    profile: Profile,
    own_root: bool,
) -> Result<(), String> {
    let refuse = |why: String| {
        Err(format!(
            "{why}; paste the install line again: `sandbridge runner rotate NAME` and the settings on the server's web page \
             show one"
        ))
    };
    let directory = program.parent().unwrap_or(Path::new("/"));
    if !program.exists() {
        return refuse(format!("the running program is no longer in {}", program.display()));
    }
    match rustix::fs::accessat(CWD, directory, Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS) {
        Ok(()) => {}
        Err(Errno::ROFS) => return refuse(format!("{} is read-only", directory.display())),
        Err(error) => {
            return refuse(format!(
                "the runner's user has no permission to replace files in {}: {}",
                directory.display(),
                io::Error::from(error)
            ));
        }
    }
    let may_write = |policy: &ConfinePolicy| {
        [directory, program].into_iter().any(|path| {
            let found = explain(policy, profile, own_root, path);
            // With their own root, commands see other files at these paths.
            let is_their_own = own_root && matches!(found.rule, Rule::Temporary | Rule::Home);
            found.write && found.rule != Rule::FullControl && !is_their_own
        })
    };
    if policies.iter().any(may_write) {
        return refuse(format!("commands may write to {}, where the program is", directory.display()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::confine::Allowances;

    #[test]
    fn the_program_that_runs_is_known_by_its_file() {
        let program = of_this_process().unwrap();
        assert_eq!(program, std::env::current_exe().unwrap());
        assert!(
            is_running(&program) && !is_running(Path::new("/bin/sh")) && !is_running(Path::new("/nowhere"))
        );
    }

    #[test]
    fn a_program_that_commands_may_write_to_is_not_replaced() {
        let root = tempfile::Builder::new().tempdir_in("/var").unwrap();
        let place = |name: &str| {
            fs::create_dir_all(root.path().join(name)).unwrap();
            root.path().join(name).canonicalize().unwrap()
        };
        let (work, open, own) = (place("work/bin"), place("open/bin"), place("own/bin"));
        for directory in [&work, &open, &own] {
            fs::write(directory.join("program"), "").unwrap();
        }
        let allowances = Allowances::new(&[], &[place("open")], false).unwrap();
        let policy = ConfinePolicy::detect(&place("work"), &place("state")).unwrap().allowing(allowances);
        let check = |directory: &Path, profile| {
            check(&directory.join("program"), std::slice::from_ref(&policy), profile, true)
        };
        assert_eq!(check(&own, Profile::Workspace), Ok(()));
        for (directory, words) in [
            (&*work, "commands may write"),
            (&*open, "commands may write"),
            (Path::new("/proc"), "no longer in"),
        ] {
            let refused = check(directory, Profile::Workspace).unwrap_err();
            assert!(refused.contains(words) && refused.contains("install line"), "{refused}");
        }
        assert_eq!(check(&work, Profile::FullControl), Ok(()), "nothing is kept from commands there");
    }
}
