//! Where the built programs are: beside the test binary, built by `scripts/test` before the tests run.

use std::path::PathBuf;

/// The directory of the built programs, such as `target/debug`; tests stand in `deps` below it, the bench beside them.
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

fn existing(path: PathBuf) -> PathBuf {
    assert!(path.exists(), "{} is not built: run the tests through scripts/test", path.display());
    path
}
