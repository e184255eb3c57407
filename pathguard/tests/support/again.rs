//! Running a test again in another process: as another user, or with permission to mount.

use std::os::unix::fs::{PermissionsExt, chown};
use std::process::Command;

/// A user id that no other user has.
const ORDINARY: u32 = 54_321;
/// The environment variable that is set in the other process.
const AGAIN: &str = "PATHGUARD_TEST_AGAIN";

/// True if this is the other process.
pub(crate) fn is_again() -> bool {
    std::env::var_os(AGAIN).is_some()
}

/// Runs a test of this binary as a user without privileges; the tests already run as one unless they are root.
pub(crate) fn as_an_ordinary_user(test: &str) {
    let id = ORDINARY.to_string();
    run(test, &["setpriv", "--reuid", &id, "--regid", &id, "--clear-groups"]);
}

/// Runs a test of this binary with its own mounts, which end with it; requires the superuser.
pub(crate) fn with_mounts_of_its_own(test: &str) {
    run(test, &["unshare", "--mount", "--propagation", "private"]);
}

fn run(test: &str, starter: &[&str]) {
    let home = tempfile::tempdir().unwrap();
    // Other users may not have access to the build directory.
    let program = home.path().join("tests");
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    std::fs::set_permissions(home.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let temporary = home.path().join("temporary");
    std::fs::create_dir(&temporary).unwrap();
    chown(&temporary, Some(ORDINARY), Some(ORDINARY)).unwrap();
    let output = Command::new(starter[0])
        .args(&starter[1..])
        .arg(&program)
        .args(["--exact", test, "--nocapture"])
        .env("TMPDIR", &temporary)
        .env(AGAIN, "1")
        .current_dir(&temporary)
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    assert!(output.status.success() && text[0].contains("1 passed"), "{}\n{}", text[0], text[1]);
}
