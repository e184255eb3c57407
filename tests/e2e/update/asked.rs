//! Updates that are requested at the server, and commands that delay them.

use std::process::Stdio;

use tests::Server;

use super::broken::handing_out;
use super::{NEW, OLD, Runner, directory, put_program, says};

#[test]
fn a_runner_is_updated_from_anywhere_and_the_command_waits_until_it_is_back() {
    let server = Server::start();
    let person = server.person("alice");
    let runner = Runner::start(server.url(), &person, "laptop", &[]);
    let list = person.run(&["runner", "list"]).stdout;
    assert!(list.contains("0.0.9 (update to 0.1.0: sandbridge runner update laptop)"), "{list}");
    let listed = person.json(&["runner", "list", "--json"]);
    assert_eq!(listed[0]["update"], serde_json::json!({"version": NEW, "can": true}));

    let mut long = person.command(&[
        "exec",
        "--",
        "sh",
        "-c",
        "echo up; until [ -e go ]; do sleep 0.1; done; echo over",
    ]);
    let mut long = long.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    says(&mut long, "up\n");
    let mut asked = person.command(&["runner", "update", "laptop"]);
    let mut asked = asked.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let told = asked.stderr.take().unwrap();
    let (mut told, mut waiting) = (std::io::BufReader::new(told), String::new());
    while !waiting.contains("is waiting for a running command") {
        let mut line = String::new();
        assert_ne!(std::io::BufRead::read_line(&mut told, &mut line).unwrap(), 0, "{waiting}");
        waiting.push_str(&line);
    }
    assert!(waiting.contains("is downloading its new program"), "{waiting}");
    assert_eq!(runner.registered(&person).as_deref(), Some(OLD), "the update waits");
    // From here on commands run one after the other: some of them are sent while the runner is restarting.
    std::fs::write(runner.workspace.path().join("go"), "").unwrap();
    let mut met = 0;
    while asked.try_wait().unwrap().is_none() || met < 3 {
        let done = person.run(&["exec", "--", "sh", "-c", "echo x >>done; echo fine"]);
        assert_eq!((done.code, done.stdout.as_str()), (0, "fine\n"), "{}{}", done.stderr, runner.log());
        met += 1;
    }
    let done = std::fs::read_to_string(runner.workspace.path().join("done")).unwrap();
    assert_eq!(done.lines().count(), met, "each command ran once");
    let long = long.wait_with_output().unwrap();
    assert_eq!((long.status.code(), String::from_utf8_lossy(&long.stdout).as_ref()), (Some(0), "over\n"));
    let updated = asked.wait_with_output().unwrap();
    assert!(updated.status.success(), "{}", runner.log());
    assert_eq!(String::from_utf8_lossy(&updated.stdout), "runner laptop has version 0.1.0\n");
    runner.assert_updated(&person);

    let again = person.run(&["runner", "update", "laptop"]);
    assert!(again.code == 1 && again.stderr.contains("there is nothing newer"), "{again:?}");
    let list = person.run(&["runner", "list"]).stdout;
    assert!(list.contains("0.1.0") && !list.contains("update to"), "{list}");
    let nobody = person.run(&["runner", "update", "nobody"]);
    assert!(nobody.code == 1 && nobody.stderr.contains("nobody"), "{nobody:?}");
}

#[test]
fn an_update_that_was_rolled_back_is_reported_with_the_reason() {
    let place = directory("broken");
    let server = handing_out(&place, "exit 1");
    let person = server.person("alice");
    let runner = Runner::start(server.url(), &person, "laptop", &[]);
    for _ in 0..2 {
        let asked = person.run(&["runner", "update", "laptop", "--json"]);
        assert_eq!((asked.code, asked.stderr.as_str()), (1, ""), "{}", runner.log());
        let told: serde_json::Value = serde_json::from_str(&asked.stdout).unwrap();
        assert!(told["message"].as_str().unwrap().contains("ended with exit status: 1"), "{told}");
    }
    runner.assert_unchanged(&person);
    let list = person.run(&["runner", "list"]).stdout;
    assert!(list.contains("last time: the update to 0.1.0 failed"), "{list}");
}

#[test]
fn a_runner_that_cannot_replace_itself_is_replaced_by_a_rotations_install_line() {
    let server = Server::start();
    let person = server.person("alice");
    // Here, the runner's own commands can write to its program, and any user with write access to the program decides what runs as the runner's user.
    let place = directory("program");
    put_program(place.path(), OLD);
    let path = place.path().to_str().unwrap().to_owned();
    let runner = Runner::start_in(place, server.url(), &person, "laptop", &["--allow-write", &path]);
    let asked = person.run(&["runner", "update", "laptop"]);
    assert!(
        asked.code == 1 && asked.stderr.contains("sandbridge runner rotate laptop"),
        "{asked:?}{}",
        runner.log()
    );
    let rotated = person.json(&["runner", "rotate", "laptop", "--json"]);
    let line = rotated["command"].as_str().unwrap();
    assert!(line.contains("/install") && line.contains("--name laptop"), "{line}");
}

#[test]
fn a_runner_that_refuses_server_updates_is_updated_only_on_its_machine() {
    let server = Server::start();
    let person = server.person("alice");
    let runner = Runner::start(server.url(), &person, "laptop", &["--refuse-server-updates"]);
    let listed = person.json(&["runner", "list", "--json"]);
    assert_eq!(listed[0]["update"], serde_json::json!({"version": NEW, "can": false}));
    let refused = person.run(&["runner", "update", "laptop"]);
    assert_ne!(refused.code, 0, "{refused:?}");
    assert_eq!(runner.registered(&person).as_deref(), Some(OLD), "{}", runner.log());
    let asked = runner.updated();
    assert_eq!(asked.code, 0, "{}{}", asked.stderr, runner.log());
    runner.assert_updated(&person);
}
