//! Programs in places where they cannot be replaced, or must be replaced in a different way.

use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::Command;

use tests::Server;

use super::{NEW, OLD, Runner, directory, put_program, version_of};

/// A command that starts a program through a script that ends with `exec "$@"`.
fn by(script: &str, program: &Path) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", &format!("{script}; exec \"$@\""), "sh"]).arg(program);
    command
}

/// Checks that an update is refused with these words, in one line.
fn assert_refused(runner: &Runner, words: &str) {
    let asked = runner.updated();
    assert_eq!(asked.code, 1, "{words}: {}{}", asked.stdout, runner.log());
    assert!(asked.stderr.contains(words) && asked.stderr.lines().count() == 1, "{words}: {}", asked.stderr);
}

#[test]
fn a_program_that_may_not_be_replaced_is_reported_with_advice() {
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
fn a_full_disk_is_reported_before_anything_is_written() {
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
    assert_eq!(left, 1, "nothing is left of the new program");
}

#[test]
fn the_first_process_of_a_container_is_replaced_too() {
    let server = Server::start();
    let person = server.person("alice");
    let place = directory("program");
    let program = put_program(place.path(), OLD);
    let mut starter = Command::new("unshare");
    starter.args(["--pid", "--fork", "--mount-proc", "--kill-child"]).arg(&program);
    let runner = Runner::start_by(starter, place, server.url(), &person, "container", &[]);
    let first = tests::process::children(runner.pid());
    let asked = runner.updated();
    assert_eq!(asked.code, 0, "{}{}", asked.stderr, runner.log());
    runner.wait_registered(&person, NEW);
    assert_eq!(tests::process::children(runner.pid()), first, "the same process");
    assert_eq!(version_of(&runner.program()), NEW);
    assert_eq!(person.run(&["exec", "--on", "container", "--", "true"]).code, 0);
}

/// The user id of an ordinary user.
const USER: u32 = 4_711;

/// A command that starts a program as that user.
fn as_user(program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    let user = USER.to_string();
    command
        .args(["--reuid", &user, "--regid", &user, "--clear-groups"])
        .arg(program)
        .env("HOME", "/nonexistent");
    command
}

#[test]
fn a_runner_of_an_ordinary_user_is_replaced_where_its_user_may_write() {
    let server = Server::start();
    let person = server.person("alice");
    let start = |name: &str, owner: u32, program_owner: u32| {
        let place = directory("program");
        let program = put_program(place.path(), OLD);
        chown(place.path(), Some(owner), Some(owner)).unwrap();
        chown(&program, Some(program_owner), Some(program_owner)).unwrap();
        std::fs::set_permissions(place.path(), PermissionsExt::from_mode(0o755)).unwrap();
        Runner::start_owned_by(USER, as_user(&program), place, server.url(), &person, name)
    };
    let own = start("own", USER, USER);
    let asked = own.updated();
    assert_eq!(asked.code, 0, "{}{}", asked.stderr, own.log());
    own.assert_updated(&person);
    // The directory belongs to the user, and the program in it to root.
    let copied = start("copied", USER, 0);
    let asked = copied.updated();
    assert_eq!(asked.code, 0, "{}{}", asked.stderr, copied.log());
    copied.assert_updated(&person);
    let roots = start("roots", 0, 0);
    assert_refused(&roots, "the runner's user has no permission to replace files in");
    roots.assert_unchanged(&person);
}
