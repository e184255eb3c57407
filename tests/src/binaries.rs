//! The paths of the built programs: next to the test binary, built by `scripts/test` before the tests run.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The directory of the built programs, such as `target/debug`; tests are in `deps` below it, the benchmark next to them.
pub fn directory() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let directory = own.parent().unwrap();
    if directory.ends_with("deps") {
        directory.parent().unwrap().to_path_buf()
    } else {
        directory.to_path_buf()
    }
}

/// The server and client.
pub fn sandbridge() -> PathBuf {
    existing(directory().join("sandbridge"))
}

/// The runner for this machine.
pub fn runner() -> PathBuf {
    existing(directory().join("sandbridge-runner"))
}

/// The runner for containers: `$SANDBRIDGE_RUNNER_STATIC`, or where `scripts/test` puts it.
pub fn runner_static() -> PathBuf {
    match std::env::var_os("SANDBRIDGE_RUNNER_STATIC") {
        Some(path) => existing(path.into()),
        None => {
            let (directory, target) = (directory(), format!("{}-unknown-linux-gnu", std::env::consts::ARCH));
            let profile = directory.file_name().unwrap();
            existing(directory.join("../static").join(target).join(profile).join("sandbridge-runner"))
        }
    }
}

/// A program to be run by the user who owns a directory: unchanged if that is the current user; otherwise a copy in the directory, since that user
/// may have no permission to read the build directory.
pub fn for_owner_of(directory: &Path, program: &Path) -> PathBuf {
    if owner_of(directory).is_none() {
        return program.to_owned();
    }
    let copy = directory.join(program.file_name().unwrap());
    if !copy.exists() {
        std::fs::copy(program, &copy).unwrap();
    }
    copy
}

/// The beginning of a command line that runs a program as the user who owns a directory.
pub fn as_owner_of(directory: &Path, program: &Path) -> Command {
    let program = for_owner_of(directory, program);
    let Some(owner) = owner_of(directory) else { return Command::new(program) };
    let mut command = Command::new("setpriv");
    command
        .args(["--reuid", &owner, "--regid", &owner, "--clear-groups"])
        .arg(program)
        .env("HOME", directory);
    command
}

/// The user who owns a directory, if that is another one.
fn owner_of(directory: &Path) -> Option<String> {
    let owner = std::fs::metadata(directory).unwrap().uid();
    (owner != rustix::process::geteuid().as_raw()).then(|| owner.to_string())
}

fn existing(path: PathBuf) -> PathBuf {
    assert!(path.exists(), "{} is not built: run the tests through scripts/test", path.display());
    path
}
