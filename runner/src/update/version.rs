//! The version of a program.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use proto::version::is_version;

use crate::kill;
use crate::limits::{UPDATE_BUSY_MS, UPDATE_LOOK_MS, UPDATE_VERSION_MS};

/// This program's version.
pub(crate) const OWN: &str = env!("CARGO_PKG_VERSION");

/// The longest version text of a program, in bytes.
const TOLD_BYTES: usize = 256;

/// The version that a runner's program reports. Blocks for [`UPDATE_VERSION_MS`] at most; call this on an unconfined thread.
///
/// # Errors
/// The program does not run here, or reports something else; as text.
pub(crate) fn of(program: &Path) -> Result<String, String> {
    let mut command = Command::new(program);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = spawn(&mut command).map_err(|error| format!("the new program cannot be run: {error}"))?;
    let told = wait(&mut child);
    kill::forget_child(child.id());
    let (status, told) = told.map_err(|error| format!("the new program cannot be tried: {error}"))?;
    match told.trim_end().strip_prefix("sandbridge-runner ") {
        Some(version) if status.success() && is_version(version) => Ok(version.to_owned()),
        _ => Err(format!(
            "the download is not a runner for this machine: it did not report a version and ended with {status}"
        )),
    }
}

/// Starts it with its own mark, like a command, so that it is not killed together with a command.
fn spawn(command: &mut Command) -> io::Result<Child> {
    let deadline = Instant::now() + Duration::from_millis(UPDATE_BUSY_MS);
    loop {
        let spawned = kill::spawn_marked(|| {
            let child = command.spawn()?;
            Ok((child.id(), child))
        });
        match spawned {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy && Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(UPDATE_LOOK_MS));
            }
            spawned => return spawned.map(|(_, child, _)| child),
        }
    }
}

/// Waits for its end; returns how it ended, and the beginning of its output.
fn wait(child: &mut Child) -> io::Result<(ExitStatus, String)> {
    let deadline = Instant::now() + Duration::from_millis(UPDATE_VERSION_MS);
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if Instant::now() >= deadline {
            child.kill()?;
            break child.wait()?;
        }
        std::thread::sleep(Duration::from_millis(UPDATE_LOOK_MS));
    };
    let mut told = [0; TOLD_BYTES];
    let count = match &mut child.stdout {
        // It may have left a process that holds the other end.
        Some(stdout) => {
            rustix::io::ioctl_fionbio(stdout.as_fd(), true)?;
            stdout.read(&mut told).unwrap_or(0)
        }
        None => 0,
    };
    Ok((status, String::from_utf8_lossy(&told[..count]).into_owned()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_program_tells_its_version_or_is_no_runner() {
        let directory = tempfile::tempdir().unwrap();
        for (script, expected) in [
            ("echo sandbridge-runner 1.2.3", Ok("1.2.3")),
            ("echo sandbridge-runner 1.2.3; sleep 100 &", Ok("1.2.3")),
            ("echo sandbridge-runner 1.2.3; exit 1", Err("not a runner")),
            ("echo hello", Err("not a runner")),
            ("echo sandbridge-runner 1.2.3 and more", Err("not a runner")),
            ("kill -9 $$", Err("not a runner")),
        ] {
            let program = directory.path().join("program");
            std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
            std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
            match (of(&program), expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found, expected),
                (Err(found), Err(expected)) => assert!(found.contains(expected), "{script}: {found}"),
                (found, _) => panic!("{script}: {found:?}"),
            }
        }
        assert!(of(&directory.path().join("missing")).unwrap_err().contains("cannot be run"));
    }
}
