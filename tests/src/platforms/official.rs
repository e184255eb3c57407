//! A messenger's official client, run against a stand-in.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::binaries;

/// How long a client may take.
const PATIENCE: Duration = Duration::from_secs(90);

fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("platforms")
}

/// Runs `platforms/SCRIPT` with the Python that `scripts/test` has installed a package for. Returns each line that it prints, as JSON.
pub fn python(package: &str, script: &str, arguments: &[&str]) -> Vec<Value> {
    let program = binaries::directory().join(format!("../third-party/{package}/bin/python"));
    assert!(program.exists(), "{} is not there: run the tests through scripts/test", program.display());
    run(Command::new(program).arg(scripts().join(script)).args(arguments))
}

/// Runs `platforms/SCRIPT` with Node.
pub fn node(script: &str, arguments: &[&str]) -> Vec<Value> {
    assert!(
        scripts().join("node_modules").exists(),
        "packages are missing: run the tests through scripts/test"
    );
    run(Command::new("node").arg(scripts().join(script)).args(arguments))
}

fn run(command: &mut Command) -> Vec<Value> {
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = child.stderr.take().unwrap();
    let errors = std::thread::spawn(move || {
        let mut text = Vec::new();
        stderr.read_to_end(&mut text).map(|_| String::from_utf8_lossy(&text).into_owned())
    });
    let mut stdout = child.stdout.take().unwrap();
    let output = std::thread::spawn(move || {
        let mut text = String::new();
        stdout.read_to_string(&mut text).map(|_| text)
    });
    let until = Instant::now() + PATIENCE;
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break Some(status);
        }
        if Instant::now() > until {
            child.kill().unwrap();
            child.wait().unwrap();
            break None;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let (output, errors) = (output.join().unwrap().unwrap(), errors.join().unwrap().unwrap());
    assert!(status.is_some_and(|status| status.success()), "{command:?}: {status:?}\n{output}\n{errors}");
    output
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}
