//! Where programs lie that cannot be replaced, or only in another way.

use std::path::Path;
use std::process::Command;

use tests::Server;

use super::{OLD, Runner, directory, put_program};

/// Starts a program as a script does that ends with `exec "$@"`.
fn by(script: &str, program: &Path) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", &format!("{script}; exec \"$@\""), "sh"]).arg(program);
    command
}

/// What an update comes to that cannot be made.
fn assert_refused(runner: &Runner, words: &str) {
    let asked = runner.updated();
    assert_eq!(asked.code, 1, "{words}: {}{}", asked.stdout, runner.log());
    assert!(asked.stderr.contains(words) && asked.stderr.lines().count() == 1, "{words}: {}", asked.stderr);
}

#[test]
fn a_program_that_may_not_be_replaced_says_why_and_what_to_do() {
    let server = Server::start();
    let person = server.person("alice");
    let place = directory("program");
    let program = put_program(place.path(), OLD);
    let mounted = format!("mount --bind {0} {0} && mount -o remount,bind,ro {0}", place.path().display());
    let runner = Runner::start_by(by(&mounted, &program), place, server.url(), &person, "read-only", &[]);
    assert!(runner.log().contains("is read-only; paste the install line again"), "{}", runner.log());
    assert_refused(&runner, "is read-only; paste the install line again");
    runner.assert_unchanged(&person);
    let opened = directory("program");
    put_program(opened.path(), OLD);
    let path = opened.path().to_str().unwrap().to_owned();
    let runner = Runner::start_in(opened, server.url(), &person, "open", &["--allow-write", &path]);
    assert_refused(&runner, "commands may write to");
    runner.assert_unchanged(&person);
}

#[test]
fn a_full_disk_is_said_before_anything_is_written() {
    let server = Server::start();
    let person = server.person("alice");
    let place = directory("program");
    let program = put_program(place.path(), OLD);
    let size = program.metadata().unwrap().len() * 3 / 2;
    let here = place.path().display();
    let kept = directory("kept");
    let script = format!(
        "cp {here}/sandbridge-runner {kept} && mount -t tmpfs -o size={size} none {here} && cp {kept}/sandbridge-runner {here}",
        kept = kept.path().display()
    );
    let runner = Runner::start_by(by(&script, &program), place, server.url(), &person, "full", &[]);
    assert_refused(&runner, "KiB left and the new program needs");
    runner.assert_unchanged(&person);
    let root = format!("/proc/{}/root{}", runner.pid(), runner.directory.path().display());
    let left = std::fs::read_dir(root).unwrap().count();
    assert_eq!(left, 1, "nothing is left of it");
}
