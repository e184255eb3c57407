//! The Docker engine and the image that the container tests use.

use std::process::{Command, Stdio};
use std::sync::Once;

/// An image made by `scripts/lib.sh` from busybox alone, since there may be no registry.
pub const IMAGE: &str = "sandbridge-test:busybox";

/// Checks that the engine answers and the image exists.
///
/// # Panics
/// Without an engine: `scripts/test` starts one.
pub fn ready() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        assert!(docker(&["info"]).is_some(), "no Docker engine answers: run the tests through scripts/test");
        assert!(
            docker(&["image", "inspect", IMAGE]).is_some(),
            "no image {IMAGE}: run the tests through scripts/test"
        );
    });
}

/// Runs the docker CLI; `None` when it fails.
pub fn docker(arguments: &[&str]) -> Option<String> {
    let output = Command::new("docker").args(arguments).stdin(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}
