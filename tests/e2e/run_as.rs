//! Commands and files that belong to another user than the runner's, and the privileged user, who needs an approval.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use tests::terminal::Terminal;
use tests::xbot::XbotRunner;
use tests::{Machine, Output, Person, Server, binaries, eventually, process};

/// An ordinary user that exists on Debian, with an unused home directory.
const USER: &str = "www-data";
const USER_ID: u32 = 33;

/// The timeout for every step.
const PATIENCE: Duration = Duration::from_secs(60);

/// A runner of root whose commands run as [`USER`] by default, and as root with an approval.
fn setup() -> (Server, Person, Machine) {
    let server = Server::start();
    let person = server.person("alice");
    let options = ["--run-as-default", USER, "--run-as-privileged", "root"];
    let machine = Machine::start_with(&server, &person, "laptop", &options);
    chown(machine.workspace(), Some(USER_ID), Some(USER_ID)).unwrap();
    (server, person, machine)
}

fn shell(person: &Person, script: &str) -> Output {
    person.run(&["exec", "--", "sh", "-c", script])
}

fn as_root(person: &Person, options: &[&str], script: &str) -> Output {
    let command = [&["exec", "--run-as", "root"], options, &["--", "sh", "-c", script]].concat();
    person.run(&command)
}

fn owner(path: impl AsRef<Path>) -> (u32, u32) {
    let found = fs::symlink_metadata(path).unwrap();
    (found.uid(), found.gid())
}

#[test]
fn each_user_of_a_runner_has_separate_settings() {
    let (_server, alice, _machine) = setup();
    let script = "git config --global user.name me && git config --global user.name && mkdir -p ~/.config/pip ~/.cargo/registry \
                  && cd $(mktemp -d) && git init -q . && git status --short && echo fine";
    for found in [shell(&alice, script), as_root(&alice, &["--yes"], script)] {
        assert_eq!((found.stdout.as_str(), found.stderr.as_str()), ("me\nfine\n", ""), "{found:?}");
    }
}

#[test]
fn commands_run_entirely_as_the_default_user() {
    let (_server, alice, machine) = setup();
    let found = shell(
        &alice,
        "id -un; id -u; id -g; id -G; echo $USER $LOGNAME $HOME; grep -E '^Cap(Eff|Prm|Amb)' /proc/self/status; \
         echo file > made; mkdir -p ~/.cache/x && echo x > ~/file; echo x > /tmp/file; echo out > /dev/stdout; \
         echo err > /dev/stderr; cat < /dev/stdin; stat -c %U ~ ~/file",
    );
    let lines: Vec<_> = found.stdout.lines().collect();
    let none = "0000000000000000";
    let expected = [
        USER,
        "33",
        "33",
        "33",
        "www-data www-data /var/www",
        &format!("CapPrm:\t{none}"),
        &format!("CapEff:\t{none}"),
        &format!("CapAmb:\t{none}"),
        "out",
        USER,
        USER,
    ];
    assert_eq!(
        (found.code, lines.as_slice(), found.stderr.as_str()),
        (0, expected.as_slice(), "err\n"),
        "{found:?}"
    );
    assert_eq!(owner(machine.workspace().join("made")), (USER_ID, USER_ID));
    assert_eq!(
        alice.run(&["exec", "--run-as", USER, "--", "id", "-un"]).stdout,
        "www-data\n",
        "the default user can also be named"
    );
    let listed = alice.json(&["runner", "list", "--json"]);
    let users = &listed[0]["run_as"];
    assert_eq!((users["default"].as_str(), users["privileged"].as_str()), (Some(USER), Some("root")));
}

#[test]
fn files_are_written_and_read_with_the_default_users_rights() {
    let (_server, alice, machine) = setup();
    let here = tempfile::tempdir().unwrap();
    fs::create_dir(here.path().join("sub")).unwrap();
    fs::write(here.path().join("sub/file"), "text").unwrap();
    let (tree, file) = (here.path().to_str().unwrap(), here.path().join("sub/file"));
    assert_eq!(alice.run(&["cp", file.to_str().unwrap(), ":deep/down/file"]).code, 0);
    assert_eq!(alice.run(&["cp", "-r", tree, ":tree"]).code, 0);
    for made in ["deep", "deep/down", "deep/down/file", "tree", "tree/sub", "tree/sub/file"] {
        assert_eq!(owner(machine.workspace().join(made)), (USER_ID, USER_ID), "{made}");
    }
    assert_eq!(
        alice.run(&["cp", file.to_str().unwrap(), ":deep/down/file"]).code,
        0,
        "and again over the existing file"
    );
    assert_eq!(owner(machine.workspace().join("deep/down/file")), (USER_ID, USER_ID));

    let closed = machine.workspace().join("closed");
    fs::create_dir(&closed).unwrap();
    fs::write(closed.join("secret"), "treasure").unwrap();
    fs::set_permissions(closed.join("secret"), fs::Permissions::from_mode(0o600)).unwrap();
    assert_ne!(shell(&alice, "cat closed/secret").code, 0);
    let read = alice.run(&["cp", ":closed/secret", here.path().join("got").to_str().unwrap()]);
    assert!(read.code != 0 && read.stderr.contains("permission denied"), "{read:?}");
    let written = alice.run(&["cp", file.to_str().unwrap(), ":closed/new"]);
    assert!(written.code != 0 && written.stderr.contains("chown -R www-data:"), "{written:?}");
    assert!(!closed.join("new").exists() && !here.path().join("got").exists());
}

#[test]
fn the_default_user_cannot_become_root() {
    let (_server, alice, machine) = setup();
    let pids = format!("1 {} {} $PPID", machine.guardian_pid(), machine.runner_pid());
    for script in [
        "python3 -c 'import os; os.setuid(0)'",
        "python3 -c 'import os; os.setgroups([0])'",
        "setpriv --reuid 0 --regid 0 --clear-groups id",
        "su -c id < /dev/null",
        "sudo -n id",
        "touch x && chown 0 x",
        "cp /bin/sh x && chmod 4755 x && chown root x",
        "unshare -Ur id",
        "cat /etc/shadow",
        &format!("kill -9 {pids}"),
    ] {
        let found = shell(&alice, script);
        assert!(found.code != 0 && !found.stdout.contains("uid=0"), "{script}: {found:?}");
    }
    assert_eq!(shell(&alice, "id -u").stdout, "33\n");
    let found = alice.run(&["exec", "--json", "--run-as", "daemon", "--", "id"]);
    let last: Value = serde_json::from_str(found.stdout.lines().last().unwrap()).unwrap();
    assert_eq!((found.code, last["kind"].as_str()), (125, Some("sandbox_denied")), "{last}");
    assert!(
        last["message"].as_str().unwrap().contains("as www-data or root, and as no other user"),
        "{last}"
    );
}

#[test]
fn the_privileged_user_needs_an_approval() {
    let (_server, alice, machine) = setup();
    let refused = as_root(&alice, &["--json"], "touch ran; id -u");
    let last: Value = serde_json::from_str(refused.stdout.lines().last().unwrap()).unwrap();
    assert_eq!((refused.code, last["kind"].as_str()), (125, Some("approval_required")), "{refused:?}");
    assert!(!machine.workspace().join("ran").exists());

    let run = as_root(
        &alice,
        &["--yes"],
        "id -u; echo $USER $HOME; echo x > ran; echo x > ~/kept; id -u > /dev/stdout",
    );
    assert_eq!((run.code, run.stdout.as_str()), (0, "0\nroot /root\n0\n"), "{run:?}");
    assert_eq!(owner(machine.workspace().join("ran")), (0, 0));
    assert!(!Path::new("/root/kept").exists(), "root's home is replaced by a private one");
    assert_eq!(as_root(&alice, &["--yes"], "cat ~/kept").stdout, "x\n");
    assert_ne!(as_root(&alice, &["--yes"], "cat /etc/shadow").code, 0, "root's commands are confined, too");
    assert_ne!(shell(&alice, "echo y > ran").code, 0, "a file that root created belongs to root");
    assert_eq!(alice.run(&["exec", "--yes", "--", "true"]).code, 2, "--yes without --run-as is refused");

    let listed = alice.run(&["ps", "--all", "--json"]);
    assert!(
        listed.stdout.contains("as root: sh -c") && listed.stdout.contains("as www-data: sh -c"),
        "{listed:?}"
    );
}

#[test]
fn a_person_at_a_terminal_is_asked_for_the_approval() {
    let (_server, alice, _machine) = setup();
    let exec = ["exec", "--run-as", "root", "--", "id", "-u"];
    for (answer, code, shown) in
        [("y\r", 0, "0\r\n"), ("\r", 125, "nothing was run"), ("\x03", 125, "nothing was run")]
    {
        let mut terminal = Terminal::start(alice.command(&exec), 24, 80);
        terminal.sees("Run as root on laptop? [y/N] ");
        if answer == "\x03" {
            process::signal(terminal.pid(), rustix::process::Signal::INT);
        } else {
            terminal.types(answer);
        }
        assert_eq!(terminal.ends(), code);
        let rest = terminal.rest();
        assert!(rest.contains(shown), "{answer:?}: {rest}");
    }
    let mut terminal = Terminal::start(alice.command(&["shell", "--run-as", "root"]), 24, 80);
    terminal.sees("Run as root on laptop? [y/N] ");
    terminal.types("yes\r");
    terminal.wait_raw(true);
    terminal.types("id -u; exit 5\r");
    assert_eq!(terminal.ends(), 5);
}

#[test]
fn a_terminal_belongs_to_the_user_of_the_command() {
    let (_server, alice, _machine) = setup();
    let script = "stat -c %U $(tty); echo reopened > $(tty); echo -n ask > /dev/tty; read word < /dev/tty; echo $word-$(id -un)";
    let mut terminal = Terminal::start(alice.command(&["shell", "--", "sh", "-c", script]), 24, 80);
    terminal.sees("www-data");
    terminal.sees("reopened");
    terminal.sees("ask");
    terminal.types("typed\r");
    terminal.sees("typed-www-data");
    assert_eq!(terminal.ends(), 0);
}

#[test]
fn commands_of_another_user_are_signalled_and_killed_like_others() {
    let (_server, alice, _machine) = setup();
    // The two commands run at the same time, because each takes the whole grace period.
    let users = [("8641.5", &["--run-as", USER][..]), ("8642.5", &["--run-as", "root", "--yes"])];
    let running = users.map(|(number, options)| {
        let script = format!("trap '' TERM; setsid sh -c 'trap \"\" TERM; sleep {number}' & sleep {number}");
        let command = [&["exec", "--timeout", "0.3"], options, &["--", "sh", "-c", &script]].concat();
        (number, alice.command(&command).stdin(Stdio::null()).spawn().unwrap())
    });
    for (number, mut running) in running {
        assert_eq!(running.wait().unwrap().code(), Some(124));
        eventually("nothing is left", PATIENCE, || {
            process::with_command(&format!("sleep {number}")).is_empty().then_some(())
        });
    }
    let mut waiting = alice.command(&[
        "exec",
        "--",
        "sh",
        "-c",
        "trap 'echo caught; exit 3' TERM; echo ready; sleep 60 & wait",
    ]);
    let mut waiting = waiting.stdout(Stdio::piped()).spawn().unwrap();
    let mut ready = [0; 6];
    std::io::Read::read_exact(waiting.stdout.as_mut().unwrap(), &mut ready).unwrap();
    process::signal(waiting.id() as i32, rustix::process::Signal::INT);
    let output = waiting.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "caught\n");
}

#[test]
fn a_workspace_closed_to_the_user_is_reported_with_advice() {
    let (_server, alice, machine) = setup();
    chown(machine.workspace(), Some(0), Some(0)).unwrap();
    fs::set_permissions(machine.workspace(), fs::Permissions::from_mode(0o700)).unwrap();
    let found = shell(&alice, "true");
    assert_eq!(found.code, 125);
    assert!(found.stderr.contains("www-data") && found.stderr.contains("chown"), "{found:?}");
    assert_eq!(as_root(&alice, &["--yes"], "true").code, 0);
}

#[test]
fn a_runner_of_an_ordinary_user_runs_commands_only_as_that_user() {
    let server = Server::start();
    let alice = server.person("alice");
    let home = tempfile::TempDir::with_prefix("sandbridge-ordinary-").unwrap();
    let (workspace, program) = (home.path().join("work"), home.path().join("runner"));
    fs::create_dir(&workspace).unwrap();
    fs::copy(binaries::runner(), &program).unwrap();
    fs::write(home.path().join("token"), alice.add_runner("laptop")).unwrap();
    for path in [home.path(), &workspace, &home.path().join("token")] {
        chown(path, Some(USER_ID), Some(USER_ID)).unwrap();
    }
    let runner = |options: &[&str]| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "33", "--regid", "33", "--clear-groups"]).arg(&program);
        command.args(["--server", server.url(), "--token-file"]).arg(home.path().join("token"));
        command.arg("--workspace").arg(&workspace).arg("--state-dir").arg(home.path().join("state"));
        command.args(options).env("HOME", home.path()).stdin(Stdio::null());
        command
    };
    for options in [
        ["--run-as-default", "daemon"],
        ["--run-as-privileged", "root"],
        ["--run-as-default", "no-such-user"],
    ] {
        let refused = runner(&options).output().unwrap();
        let text = String::from_utf8_lossy(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{text}");
        assert!(
            text.contains(options[0]) && (text.contains("root") || text.contains("no such user")),
            "{text}"
        );
    }
    let mut running = runner(&["--run-as-default", USER]).stdout(Stdio::null()).spawn().unwrap();
    eventually("online", PATIENCE, || alice.is_online("laptop").then_some(()));
    assert_eq!(alice.run(&["exec", "--", "id", "-un"]).stdout, "www-data\n");
    assert_eq!(
        alice.run(&["exec", "--run-as", USER, "--", "id", "-un"]).stdout,
        "www-data\n",
        "the runner's own user may be named"
    );
    let found = alice.run(&["exec", "--json", "--run-as", "root", "--", "id"]);
    process::terminate(&mut running);
    let last: Value = serde_json::from_str(found.stdout.lines().last().unwrap()).unwrap();
    assert_eq!((found.code, last["kind"].as_str()), (125, Some("unsupported")), "{last}");
}

#[test]
fn without_a_mount_namespace_the_user_still_has_a_home_and_leaves_nothing() {
    let server = Server::start();
    let alice = server.person("alice");
    let (work, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    chown(work.path(), Some(USER_ID), Some(USER_ID)).unwrap();
    fs::write(state.path().join("token"), alice.add_runner("laptop")).unwrap();
    fs::set_permissions(state.path().join("token"), fs::Permissions::from_mode(0o600)).unwrap();
    let mut command = Command::new("setpriv");
    command.args(["--bounding-set", "-sys_admin", "--inh-caps", "-all"]).arg(binaries::runner());
    command
        .args(["--server", server.url(), "--run-as-default", USER, "--token-file"])
        .arg(state.path().join("token"));
    command.arg("--workspace").arg(work.path()).arg("--state-dir").arg(state.path());
    let mut running = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    eventually("online", PATIENCE, || alice.is_online("laptop").then_some(()));
    let found = shell(
        &alice,
        "id -un; echo x > ~/file && cat ~/file && stat -c %U ~/file; ls ~/../..; cat ~/../../token",
    );
    assert_eq!(found.stdout, "www-data\nx\nwww-data\n", "{found:?}");
    let left =
        alice.run(&["exec", "--timeout", "0.2", "--", "sh", "-c", "setsid sleep 8643.5 & sleep 8643.5"]);
    assert_eq!(left.code, 124);
    eventually("nothing is left", PATIENCE, || {
        process::with_command("sleep 8643.5").is_empty().then_some(())
    });
    process::terminate(&mut running);
}

#[test]
fn a_server_that_requires_layers_uses_no_runner_without_them() {
    let server = Server::start_with(&["--docker", "off", "--require", "confined,mount-namespace"]);
    let alice = server.person("alice");
    let _confined = Machine::start(&server, &alice, "good");
    let _unconfined = Machine::start_with(&server, &alice, "open", &["--profile", "full-control"]);
    let _legacy = XbotRunner::start(&server, &alice, "old");
    assert_eq!(alice.run(&["exec", "--on", "good", "--", "echo", "hi"]).stdout, "hi\n");
    for (name, fix) in [("open", "--profile workspace"), ("old", "start sandbridge-runner there")] {
        let refused = alice.run(&["exec", "--on", name, "--", "echo", "hi"]);
        assert_eq!((refused.code, refused.stdout.as_str()), (125, ""), "{refused:?}");
        let expected = format!(
            "runner {name} lacks landlock, seccomp, no-new-privs, mount-namespace; this server requires it"
        );
        assert!(refused.stderr.contains(&expected) && refused.stderr.contains(fix), "{refused:?}");
        assert_ne!(alice.run(&["cp", "/etc/hostname", &format!("{name}:x")]).code, 0);
    }
    let listed = alice.run(&["runner", "list"]).stdout;
    assert_eq!(listed.matches("refused: lacks landlock").count(), 2, "{listed}");
}

#[test]
fn a_legacy_runner_runs_as_another_user_only_with_an_approval() {
    let server = Server::start();
    let alice = server.person("alice");
    let _legacy = XbotRunner::start(&server, &alice, "old");
    let refused = alice.run(&["exec", "--json", "--run-as", "daemon", "--", "id"]);
    let last: Value = serde_json::from_str(refused.stdout.lines().last().unwrap()).unwrap();
    assert_eq!((refused.code, last["kind"].as_str()), (125, Some("approval_required")), "{last}");
}
