//! Docker mode of a runner on a dev machine: its commands run in a container on that machine.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::Duration;

use tests::docker::{IMAGE, docker, ready};
use tests::{Machine, Server, binaries, eventually, process};

use crate::docker::shell;

/// The containers that mount this machine's workspace.
fn containers(machine: &Machine) -> Vec<String> {
    let filter = format!("volume={}", machine.workspace().canonicalize().unwrap().display());
    let list = docker(&["ps", "-aq", "--no-trunc", "--filter", &filter]).unwrap();
    list.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn commands_of_a_machine_run_in_a_container_and_survive_the_server() {
    ready();
    let mut server = Server::start();
    let alice = server.person("alice");
    let runner = binaries::runner_static();
    let options = [
        "--docker",
        IMAGE,
        "--runner-static",
        runner.to_str().unwrap(),
        "--docker-network",
        "none",
        "--docker-pids",
        "64",
    ];
    let mut machine = Machine::start_with(&server, &alice, "laptop", &options);

    assert_eq!(
        shell(&alice, "pwd; echo made > file; ls /usr"),
        "/workspace\nlocal",
        "no files of the machine itself"
    );
    assert_eq!(std::fs::read_to_string(machine.workspace().join("file")).unwrap(), "made\n");
    let container = containers(&machine);
    assert_eq!(container.len(), 1);
    let inspected = docker(&["inspect", &container[0]]).unwrap();
    assert!(!inspected.contains("sbr_") && !inspected.contains("docker.sock"), "no token, no socket");
    assert!(inspected.contains("\"PidsLimit\": 64") && inspected.contains("no-new-privileges"));

    // A command continues while its server restarts.
    let script = "echo begun; i=0; while [ $i -lt 20 ]; do i=$((i+1)); sleep 0.1; done; echo ended";
    let mut client =
        alice.command(&["exec", "--", "sh", "-c", script]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(client.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert_eq!(lines.next().as_deref(), Some("begun"));
    server.kill();
    server.restart(&["--docker", "off"]);
    assert_eq!((lines.next().as_deref(), client.wait().unwrap().code()), (Some("ended"), Some(0)));

    // A command in a killed container is lost, and another container replaces it.
    docker(&["kill", &container[0]]).unwrap();
    let again = eventually("another container", Duration::from_secs(60), || {
        let output = alice.run(&["exec", "--", "cat", "file"]);
        (output.code == 0).then_some(output.stdout)
    });
    assert_eq!(again, "made\n");
    machine.stop();
    assert!(containers(&machine).is_empty(), "the container ends with the runner");
}

#[test]
fn container_of_a_machine_ends_when_its_runner_is_killed() {
    ready();
    let server = Server::start();
    let alice = server.person("alice");
    let runner = binaries::runner_static();
    let options = ["--docker", IMAGE, "--runner-static", runner.to_str().unwrap()];
    let machine = Machine::start_with(&server, &alice, "laptop", &options);
    assert_eq!(shell(&alice, "echo runs"), "runs");
    assert_eq!(containers(&machine).len(), 1);
    process::signal(machine.guardian_pid(), rustix::process::Signal::KILL);
    eventually("the container is gone", Duration::from_secs(60), || {
        containers(&machine).is_empty().then_some(())
    });
}
