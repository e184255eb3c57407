//! Killing the runner or its guardian leaves nothing, and the caller is told the truth.

use std::io::Read;
use std::process::{Child, Stdio};
use std::time::Duration;

use rustix::process::Signal;
use tests::{Machine, Person, Server, eventually, process};

/// Starts a tree with a double fork in sessions of their own; returns when all of it runs.
fn start_tree(person: &Person, marker: &str) -> Child {
    let script = format!(
        "setsid sh -c 'sleep {marker} & setsid sleep {marker} &' ; sleep {marker} & echo ready; sleep {marker}"
    );
    let mut child = person
        .command(&["exec", "--", "sh", "-c", &script])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdout.as_mut().unwrap().read_exact(&mut [0; 6]).unwrap();
    eventually("the tree runs", Duration::from_secs(5), || (sleepers(marker) >= 4).then_some(()));
    child
}

fn sleepers(marker: &str) -> usize {
    process::with_marker(&format!("sleep {marker}")).len()
}

fn kill_leaves_nothing(victim: impl Fn(&Machine) -> i32, number: u32) {
    let server = Server::start();
    let alice = server.person("alice");
    let token = alice.add_runner("laptop");
    let mut machine = Machine::start_with_token(&server, "laptop", &token, &[]);
    machine.wait_online(&alice, "laptop");
    let marker = format!("{}", number + std::process::id());
    let caller = start_tree(&alice, &marker);
    let victim = victim(&machine);
    process::signal(victim, Signal::KILL);
    eventually("no process is left", Duration::from_secs(5), || {
        // The caller waits for the runner, and its command line holds the marker too.
        let left = process::with_marker(&format!("sleep {marker}"));
        left.iter().all(|pid| *pid == caller.id() as i32).then_some(())
    });
    if victim == machine.guardian_pid() {
        // Without it nothing starts the runner again, whose next life says that this one is over.
        machine.restart(&server, "laptop", &token, &[]);
    }
    let output = caller.wait_with_output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(125), "never a made-up exit code: {error}");
    assert!(error.contains("lost") || error.contains("offline"), "{error}");
}

#[test]
fn killed_guardian_leaves_nothing() {
    kill_leaves_nothing(Machine::guardian_pid, 41_000_000);
}

#[test]
fn killed_runner_leaves_nothing_and_comes_back() {
    kill_leaves_nothing(Machine::runner_pid, 42_000_000);
    let server = Server::start();
    let alice = server.person("alice");
    let machine = Machine::start(&server, &alice, "laptop");
    process::signal(machine.runner_pid(), Signal::KILL);
    eventually("the guardian starts it again", Duration::from_secs(20), || {
        (alice.run(&["exec", "--", "true"]).code == 0).then_some(())
    });
}

#[test]
fn orderly_stop_leaves_nothing() {
    let server = Server::start();
    let alice = server.person("alice");
    let mut machine = Machine::start(&server, &alice, "laptop");
    let marker = format!("{}", 43_000_000 + std::process::id());
    let mut caller = start_tree(&alice, &marker);
    machine.stop();
    assert_eq!(sleepers(&marker), 0);
    assert_eq!(caller.wait().unwrap().code(), Some(125));
    assert!(!alice.is_online("laptop"));
}
