//! A runner's life: it is enrolled with a one-use token, its token is rotated during work, it is suspended and resumed, and it is killed.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tempfile::TempDir;
use tests::http::Client;
use tests::proxy::{Fate, Proxy};
use tests::random::{Random, count};
use tests::{Machine, Person, Server, binaries, eventually, process};

/// The time within which a runner must be back once it can connect.
const BACK_WITHIN: Duration = Duration::from_secs(60);

/// The time within which the server must drop a silent runner; it does so after half a minute.
const SILENT_WITHIN: Duration = Duration::from_secs(60);

/// Starts a command that runs until the file `go` exists.
fn start_waiting(person: &Person) -> Child {
    let script = "echo up; while [ ! -e go ]; do sleep 0.05; done; echo done; exit 7";
    let mut command = person.command(&["exec", "--", "sh", "-c", script]);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdout.as_mut().unwrap().read_exact(&mut [0; 3]).unwrap();
    child
}

fn assert_done(caller: Child) {
    let output = caller.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(7), &b"done\n"[..]));
}

/// A token file in a separate directory.
fn token_file(token: &str) -> (TempDir, PathBuf) {
    let directory = TempDir::with_prefix("sandbridge-token-").unwrap();
    let file = directory.path().join("token");
    std::fs::write(&file, token).unwrap();
    (directory, file)
}

fn content(file: &Path) -> String {
    std::fs::read_to_string(file).unwrap().trim().to_owned()
}

fn enrol(person: &Person, name: &str) -> String {
    let added = person.json(&["runner", "add", name, "--enrol", "--ttl", "5m", "--json"]);
    assert!(added["expires_at"].is_i64(), "{added}");
    added["token"].as_str().unwrap().to_owned()
}

#[test]
fn rotating_a_token_disturbs_no_command_and_the_new_token_is_used() {
    let mut server = Server::start();
    let alice = server.person("alice");
    let (_directory, file) = token_file(&alice.add_runner("laptop"));
    let machine = Machine::start_with_token_file(&server, "laptop", &file);
    machine.wait_online(&alice, "laptop");
    let caller = start_waiting(&alice);
    let rotated = alice.json(&["runner", "rotate", "laptop", "--json"]);
    std::fs::write(&file, rotated["token"].as_str().unwrap()).unwrap();
    std::fs::write(machine.workspace().join("go"), "").unwrap();
    assert_done(caller);
    server.restart(&["--docker", "off"]);
    machine.wait_online(&alice, "laptop");
    assert_eq!(alice.run(&["exec", "--", "true"]).code, 0);
}

#[test]
fn a_suspended_runner_is_back_at_once_and_nothing_is_lost() {
    let server = Server::start();
    let alice = server.person("alice");
    let machine = Machine::start(&server, &alice, "laptop");
    let caller = start_waiting(&alice);
    let runner = machine.runner_pid();
    process::signal(runner, Signal::STOP);
    eventually("the server gives the silent runner up", SILENT_WITHIN, || {
        (!alice.is_online("laptop")).then_some(())
    });
    // The machine's commands continue without the runner.
    std::fs::write(machine.workspace().join("go"), "").unwrap();
    process::signal(runner, Signal::CONT);
    eventually("the runner is back", BACK_WITHIN, || alice.is_online("laptop").then_some(()));
    assert_done(caller);
    assert_eq!(machine.runner_pid(), runner, "it is the same process");
    assert_eq!(alice.run(&["exec", "--", "true"]).code, 0);
}

#[test]
fn a_killed_runners_command_is_shown_as_waiting_within_3_s() {
    let server = Server::start();
    let alice = server.person("alice");
    let machine = Machine::start(&server, &alice, "laptop");
    let client = Client::login(&server, "alice");
    let chat = client.call("POST", "/chats").json()["id"].as_str().unwrap().to_owned();
    let shown = || client.call("GET", &format!("/chats/{chat}/messages")).json()["messages"][1].clone();
    let command = br#"{"text": "!echo up; sleep 300"}"#;
    assert_eq!(client.send("POST", &format!("/chats/{chat}/messages"), command).status, 202);
    eventually("it runs", BACK_WITHIN, || (shown()["text"] == "up\n").then_some(()));
    let (runner, guardian) = (machine.runner_pid(), machine.guardian_pid());
    process::signal(guardian, Signal::KILL);
    process::signal(runner, Signal::KILL);
    let error = eventually("it is shown as waiting", Duration::from_secs(3), || {
        shown()["exec"]["error"].as_str().map(str::to_owned)
    });
    assert!(error.contains("laptop is not connected"), "{error}");
    assert_eq!(shown()["exec"]["status"], "running");
    assert!(!alice.is_online("laptop"));
}

#[test]
fn an_enrolled_runner_stores_a_token_of_its_own() {
    let server = Server::start();
    let alice = server.person("alice");
    let (_directory, file) = token_file(&enrol(&alice, "laptop"));
    let mut machine = Machine::start_with_token_file(&server, "laptop", &file);
    machine.wait_online(&alice, "laptop");
    assert!(content(&file).starts_with("sbr_"));
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    machine.restart_with_token_file(&server, "laptop", &file);
    machine.wait_online(&alice, "laptop");
    // A token from standard input is exchanged as well, and the same command line works a second time.
    let token = enrol(&alice, "tower");
    let mut machine = Machine::start_with_token(&server, "tower", &token, &[]);
    machine.wait_online(&alice, "tower");
    machine.restart(&server, "tower", &token, &[]);
    machine.wait_online(&alice, "tower");
}

#[test]
fn a_second_runner_gets_an_error_that_the_enrolment_token_was_used() {
    let server = Server::start();
    let alice = server.person("alice");
    let token = enrol(&alice, "laptop");
    let (_directory, file) = token_file(&token);
    let machine = Machine::start_with_token_file(&server, "laptop", &file);
    machine.wait_online(&alice, "laptop");
    let (_other_directory, other_file) = token_file(&token);
    let places = [TempDir::new().unwrap(), TempDir::new().unwrap()];
    let mut second = Command::new(binaries::runner())
        .args(["--server", server.url(), "--token-file"])
        .arg(&other_file)
        .arg("--workspace")
        .arg(places[0].path())
        .arg("--state-dir")
        .arg(places[1].path())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut told = BufReader::new(second.stderr.take().unwrap()).lines().map(Result::unwrap);
    let refusal = told.find(|line| line.contains("refused")).unwrap();
    assert!(refusal.contains("this enrolment token was already used"), "{refusal}");
    process::terminate(&mut second);
    assert_eq!(content(&other_file), token, "the second runner's token file is unchanged");
    std::fs::write(machine.workspace().join("here"), "").unwrap();
    assert_eq!(alice.run(&["exec", "--", "test", "-e", "here"]).code, 0, "the first runner still works");
}

/// Simulates a flaky network. In a soak, each link lasts for 1 to 20 s.
#[test]
fn a_runner_whose_link_is_cut_repeatedly_reconnects_soon_each_time() {
    let server = Server::start();
    let alice = server.person("alice");
    let proxy = Proxy::before(&server);
    let _machine = Machine::start_at(proxy.url(), &alice, "laptop", &[]);
    let client = Client::login(&server, "alice");
    let newest =
        || client.call("GET", "/audit?action=runner.register&limit=1").json()["entries"][0]["id"].as_i64();
    let mut random = Random::seeded();
    let longest_ms = count("SANDBRIDGE_LINK_LIVES_MS", 300);
    let mut away = Vec::new();
    for _ in 0..count("SANDBRIDGE_LINK_CUTS", 20) {
        std::thread::sleep(Duration::from_millis(random.within(longest_ms / 20..longest_ms)));
        let before = newest();
        let fate = [Fate::Reset, Fate::End][usize::try_from(random.within(0..2)).unwrap()];
        let cut = Instant::now();
        assert!(proxy.cut(fate) >= 1);
        eventually("the runner registered again", BACK_WITHIN, || (newest() != before).then_some(()));
        away.push(cut.elapsed());
    }
    away.sort();
    let (most, count) = (away[away.len() - 1], away.len());
    println!(
        "{count} cuts: p50 {:?}, p95 {:?}, most {most:?}",
        away[count / 2],
        away[(count - 1) * 95 / 100]
    );
    eventually("the runner works", BACK_WITHIN, || alice.is_online("laptop").then_some(()));
    assert_eq!(alice.run(&["exec", "--", "true"]).code, 0);
}

#[test]
fn a_command_sent_before_the_runner_is_back_after_a_restart_waits_for_it() {
    let mut server = Server::start();
    let alice = server.person("alice");
    let machine = Machine::start_with(&server, &alice, "laptop", &["--reconnect-max", "0.2"]);
    let client = Client::login(&server, "alice");
    let chat = client.call("POST", "/chats").json()["id"].as_str().unwrap().to_owned();
    let path = format!("/chats/{chat}/messages");
    for is_killed in [true, false] {
        let runner = machine.runner_pid();
        if is_killed {
            server.kill();
        }
        process::signal(runner, Signal::STOP);
        server.restart(&["--docker", "off"]);
        let posted = client.send("POST", &path, br#"{"text": "!echo back; exit 4"}"#);
        assert_eq!(posted.status, 202);
        let runners = client.call("GET", "/runners").json();
        assert_eq!(runners[0]["online"], false, "the runner cannot be back yet");
        process::signal(runner, Signal::CONT);
        let message = eventually("the command has run", BACK_WITHIN, || {
            let messages = client.call("GET", &path).json()["messages"].as_array().unwrap().clone();
            let newest = messages.into_iter().rfind(|message| message["role"] == "exec")?;
            (newest["exec"]["status"] != "running").then_some(newest)
        });
        assert_eq!(message["exec"]["exit_code"], 4, "{message}");
    }
    // A runner that was disconnected before the restart is offline at once.
    drop(machine);
    eventually("the server notices the disconnect", SILENT_WITHIN, || {
        (!alice.is_online("laptop")).then_some(())
    });
    server.restart(&["--docker", "off"]);
    let refused = Instant::now();
    assert_eq!(alice.run(&["exec", "--", "true"]).code, 125);
    assert!(refused.elapsed() < BACK_WITHIN / 2, "{:?}", refused.elapsed());
}
