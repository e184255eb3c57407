//! New programs that do not work: the old program is restored, and works.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use tests::{Server, binaries, eventually, process};

use super::{NEW, PATIENCE, Runner, directory, says};

/// The time limit within which a new program must register.
const TRIAL: Duration = Duration::from_secs(60);

/// Starts a server that offers a program that reports the right version but otherwise runs this script.
pub(super) fn handing_out(place: &tempfile::TempDir, script: &str) -> Server {
    let program: PathBuf = place.path().join("program");
    let text =
        format!("#!/bin/sh\n[ \"$1\" = --version ] && echo sandbridge-runner {NEW} && exit\n{script}\n");
    std::fs::write(&program, text).unwrap();
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    Server::start_with(&["--docker", "off", "--runner-static", program.to_str().unwrap()])
}

/// Checks that an update to a program with this script fails, that the error contains these words, and that the old program is
/// back.
fn fails(script: &str, words: &str) {
    let place = directory("broken");
    let server = handing_out(&place, script);
    let person = server.person("alice");
    let runner = Runner::start(server.url(), &person, "laptop", &[]);
    let (pid, child) = (runner.pid(), process::children(runner.pid()));
    let asked = runner.updated();
    assert_eq!(asked.code, 1, "{script}: {}{}", asked.stdout, runner.log());
    assert!(asked.stderr.contains(words) && asked.stderr.lines().count() == 1, "{script}: {}", asked.stderr);
    runner.assert_unchanged(&person);
    assert!(process::is_alive(pid) && process::children(pid) != child, "started again in the same process");
    assert_eq!(process::children(pid).len(), 1, "{script}: nothing is left of the trial");
    let command = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap();
    assert_eq!(command.matches("-fd=").count(), 2, "{command}");
}

#[test]
fn a_program_that_does_not_register_is_rolled_back() {
    let real = binaries::runner_static();
    let refused = format!(
        "shift; case $1 in --token-fd=*) shift;; esac; exec {} --on-trial --token sbr_wrong \"$@\"",
        real.display()
    );
    let cases = [
        ("exit 1", "ended with exit status: 1"),
        // This program has the right version, but is not a runner.
        ("echo hello; exit 0", "ended with exit status: 0"),
        (refused.as_str(), "ended with exit status: 5"),
        ("kill -SEGV $$", "ended with signal: 11"),
    ];
    for (script, words) in cases {
        fails(script, words);
    }
}

#[test]
fn a_program_that_hangs_is_rolled_back_after_a_minute() {
    fails("setsid sleep 1009 & sleep 1009", "did not register within 60 s");
    assert_eq!(process::with_command("sleep 1009").len(), 0, "all processes of the trial have ended");
}

#[test]
fn a_runner_that_updates_by_itself_tries_a_broken_program_once() {
    let place = directory("broken");
    let tried = place.path().join("tried");
    let server = handing_out(&place, &format!("echo x >>{}; exit 1", tried.display()));
    let person = server.person("alice");
    let runner = Runner::start(server.url(), &person, "laptop", &["--auto-update"]);
    eventually("it was tried", PATIENCE, || {
        runner.log().contains("the update to 0.1.0 failed").then_some(())
    });
    runner.assert_unchanged(&person);
    // If a person requests the update, the program is tried again.
    assert_eq!(runner.updated().code, 1);
    runner.assert_unchanged(&person);
    assert_eq!(std::fs::read_to_string(&tried).unwrap(), "x\nx\n");
}

#[test]
fn a_runner_whose_new_program_is_on_trial_still_stops() {
    let place = directory("broken");
    let server = handing_out(&place, "sleep 1000");
    let person = server.person("alice");
    let mut runner = Runner::start(server.url(), &person, "laptop", &[]);
    let mut asking = runner.update().stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    says(&mut asking, "trying version");
    let tried = |pid: i32| process::children(pid).iter().any(|child| process::children(*child).len() == 1);
    eventually("the trial is in progress", TRIAL, || tried(runner.pid()).then_some(()));
    assert_eq!(runner.stop(), Some(0), "{}", runner.log());
    assert_eq!(runner.files(), ["sandbridge-runner"]);
    process::terminate(&mut asking);
}
