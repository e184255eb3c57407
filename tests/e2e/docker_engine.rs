//! The Docker engine dies and is restarted. Each test has its own engine, because the machine's engine is shared.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::{Duration, Instant};

use tests::docker::{IMAGE, ready};
use tests::engine::OwnEngine;
use tests::{Person, Server, eventually};

use crate::docker::shell;

fn start(engine: &OwnEngine) -> (Server, Person) {
    ready();
    let socket = engine.socket();
    let socket = socket.to_str().unwrap();
    let options =
        ["--docker", "on", "--docker-image", IMAGE, "--docker-socket", socket, "--docker-network", "none"];
    let server = Server::start_with(&options);
    let alice = server.person("alice");
    alice.run(&["use", "__docker__"]);
    (server, alice)
}

/// Kills the engine while a command runs, tries another command meanwhile, and starts the engine again; returns the
/// final output of the first command's client.
fn engine_dies_under_a_command(engine: &mut OwnEngine, alice: &Person) -> (Vec<String>, Option<i32>) {
    let script = "echo begun; i=0; while [ $i -lt 10 ]; do i=$((i+1)); sleep 0.2; done; echo ended";
    let mut client =
        alice.command(&["exec", "--", "sh", "-c", script]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(client.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert_eq!(lines.next().as_deref(), Some("begun"));
    engine.kill();
    let told = eventually("the dead engine is reported", Duration::from_secs(60), || {
        let since = Instant::now();
        let output = alice.run(&["exec", "--", "true"]);
        assert!(output.code == 125 && since.elapsed() < Duration::from_secs(60), "{output:?}");
        output.stderr.contains("engine does not answer").then_some(output.stderr)
    });
    assert!(told.contains("docker info"), "{told}");
    let status = alice.run(&["container", "status"]);
    assert!(status.code == 1 && status.stderr.contains("engine does not answer"), "{}", status.stderr);
    engine.start_again();
    let lines = lines.collect();
    (lines, client.wait().unwrap().code())
}

#[test]
fn command_continues_when_the_engine_dies_but_keeps_its_containers() {
    let mut engine = OwnEngine::start(true);
    let (_server, alice) = start(&engine);
    shell(&alice, "echo kept > file");
    let (lines, code) = engine_dies_under_a_command(&mut engine, &alice);
    assert_eq!((lines, code), (vec!["ended".to_owned()], Some(0)), "nothing is lost");
    assert_eq!(shell(&alice, "cat file"), "kept");
}

#[test]
fn command_is_lost_when_the_engine_dies_with_its_containers_and_the_next_one_works() {
    let mut engine = OwnEngine::start(false);
    let (_server, alice) = start(&engine);
    shell(&alice, "echo kept > file");
    let (lines, code) = engine_dies_under_a_command(&mut engine, &alice);
    assert_eq!((lines, code), (Vec::new(), Some(125)), "reported as lost");
    assert_eq!(shell(&alice, "cat file"), "kept");
}
