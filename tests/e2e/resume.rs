//! Network cuts and kills of the server, with real processes: nothing is lost, duplicated or reordered.

use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tests::http::Client;
use tests::proxy::{Fate, Proxy};
use tests::random::{Random, count};
use tests::{Machine, Output, Person, Server, process};

use crate::docker::Cleanup;

/// The options with which runners reconnect soon, so that many cuts fit into a test.
const SOON: [&str; 2] = ["--reconnect-max", "0.2"];

/// The timeout for any single command, including cuts.
const PATIENCE: Duration = Duration::from_secs(120);

/// A running command, and its expected result.
struct Expected {
    what: &'static str,
    caller: thread::JoinHandle<Output>,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    code: i32,
}

impl Expected {
    fn is_over(&self) -> bool {
        self.caller.is_finished()
    }

    fn check(self) {
        let what = self.what;
        let output = self.caller.join().unwrap();
        let refusals = ["is offline", "cannot reach the server"];
        if output.stdout.is_empty() && refusals.iter().any(|refusal| output.stderr.contains(refusal)) {
            // The command was requested while the runner was offline, or the first message to the server was cut off. The error is correct, and
            // nothing ran.
            return;
        }
        assert_eq!(
            output.code,
            self.code,
            "{what}, after {} bytes: {}",
            output.stdout_bytes.len(),
            output.stderr
        );
        assert_same(what, "stdout", &output.stdout_bytes, &self.stdout);
        // After the command's output there may be a notice that the server was unreachable.
        let stderr: String = output
            .stderr
            .lines()
            .filter(|line| !line.starts_with("sandbridge: "))
            .map(|line| format!("{line}\n"))
            .collect();
        assert_same(what, "stderr", stderr.as_bytes(), &self.stderr);
    }
}

fn assert_same(what: &str, channel: &str, is: &[u8], expected: &[u8]) {
    if is == expected {
        return;
    }
    let at = is
        .iter()
        .zip(expected)
        .position(|(left, right)| left != right)
        .unwrap_or(is.len().min(expected.len()));
    let around = |bytes: &[u8]| {
        let range = at.saturating_sub(40).min(bytes.len())..(at + 40).min(bytes.len());
        String::from_utf8_lossy(&bytes[range]).into_owned()
    };
    panic!(
        "{what}: {channel} is {} bytes instead of {}, and differs at {at}: {:?} instead of {:?}",
        is.len(),
        expected.len(),
        around(is),
        around(expected)
    );
}

fn lines(prefix: &str, last: u64) -> Vec<u8> {
    (1..=last).flat_map(|number| format!("{prefix}{number}\n").into_bytes()).collect()
}

fn call(person: &Person, arguments: &[&str], stdin: Vec<u8>) -> thread::JoinHandle<Output> {
    let command = person.command(arguments);
    thread::spawn(move || tests::server::run(command, &stdin))
}

/// Starts a command of the `number`th kind: slow numbered lines on both channels, bulk output, or bulk input that is
/// echoed. It creates a file `begun` with its number.
fn start(person: &Person, number: u64) -> Expected {
    let code = i32::try_from(number % 120).unwrap() + 1;
    let (what, script, stdin, stdout, stderr) = match number % 4 {
        0 | 1 => {
            let (last, nothing) = (150, Vec::new());
            ("numbered lines", slow_lines(last, "; echo e$i >&2"), nothing, lines("", last), lines("e", last))
        }
        2 => ("bulk", "seq 1 750000".to_owned(), Vec::new(), lines("", 750_000), Vec::new()),
        _ => {
            let stdin = lines("in", 200_000);
            ("standard input", "cat".to_owned(), stdin.clone(), stdin, Vec::new())
        }
    };
    let script = format!("touch begun{number}; {script}; exit {code}");
    let mut arguments = vec!["exec", "--", "sh", "-c", &script];
    if !stdin.is_empty() {
        arguments.insert(1, "--stdin");
    }
    let caller = call(person, &arguments, stdin);
    Expected { what, caller, stdout, stderr, code }
}

/// A script that prints numbered lines for a while, and runs `more` for each of them.
fn slow_lines(last: u64, more: &str) -> String {
    format!("i=0; while [ $i -lt {last} ]; do i=$((i+1)); echo $i{more}; sleep 0.01; done")
}

fn fate(random: &mut Random) -> Fate {
    let pause = Duration::from_millis(random.within(10..300));
    match random.within(0..8) {
        0 | 1 => Fate::Reset,
        2 => Fate::End,
        3 | 4 => Fate::Truncate {
            bytes: usize::try_from(random.within(1..40_000)).unwrap(),
            from_server: random.within(0..2) == 0,
        },
        5 => Fate::Stall(pause),
        6 => Fate::StallAndReset(pause),
        _ => Fate::HalfOpen(pause),
    }
}

/// Cuts connections at random moments while commands run, and checks each command at its end.
fn cut_at_random(proxy: &Proxy, person: &Person) {
    let mut random = Random::seeded();
    let cuts = count("SANDBRIDGE_CUTS", 20);
    let mut started = 0;
    let mut running: Vec<Expected> = Vec::new();
    let mut begin = |running: &mut Vec<Expected>| {
        running.push(start(person, started));
        started += 1;
    };
    (0..4).for_each(|_| begin(&mut running));
    let mut done = 0;
    while done < cuts {
        thread::sleep(Duration::from_millis(random.within(20..400)));
        let fate = fate(&mut random);
        let connections = proxy.cut(fate);
        done += u64::from(connections > 0);
        let (over, still): (Vec<_>, Vec<_>) = running.into_iter().partition(Expected::is_over);
        running = still;
        for expected in over {
            expected.check();
            begin(&mut running);
        }
    }
    let deadline = Instant::now() + PATIENCE;
    for expected in running {
        tests::eventually(expected.what, deadline.saturating_duration_since(Instant::now()), || {
            expected.is_over().then_some(())
        });
        expected.check();
    }
}

#[test]
fn cuts_between_runner_and_server_lose_nothing() {
    let server = Server::start();
    let alice = server.person("alice");
    let proxy = Proxy::before(&server);
    let _machine = Machine::start_at(proxy.url(), &alice, "laptop", &SOON);
    cut_at_random(&proxy, &alice);
}

#[test]
fn cuts_between_cli_and_server_lose_nothing() {
    let server = Server::start();
    let alice = server.person("alice");
    let _machine = Machine::start(&server, &alice, "laptop");
    let proxy = Proxy::before(&server);
    let away = alice.at(proxy.url());
    cut_at_random(&proxy, &away);
}

/// Waits until a file that a command writes exists.
fn wait_for(machine: &Machine, file: &str) {
    tests::eventually(file, PATIENCE, || machine.workspace().join(file).exists().then_some(()));
}

/// The first exec message of a chat.
fn chat_exec(client: &Client, chat: &str) -> Value {
    let messages = client.call("GET", &format!("/chats/{chat}/messages")).json();
    let list = messages["messages"].as_array().unwrap().clone();
    list.into_iter().find(|message| message["role"] == "exec").unwrap_or_default()
}

#[test]
fn kills_of_the_server_lose_no_result() {
    let mut random = Random::seeded();
    let mut server = Server::start();
    let alice = server.person("alice");
    let machine = Machine::start_with(&server, &alice, "laptop", &SOON);
    let client = Client::login(&server, "alice");
    for round in 0..count("SANDBRIDGE_KILLS", 5) {
        let slow = slow_lines(100, "");
        let numbers = [4 * round, 4 * round + 2, 4 * round + 3];
        let attached = numbers.map(|number| start(&alice, number));
        let detached = alice.run(&["exec", "--detach", "--", "sh", "-c", &format!("{slow}; exit 7")]);
        assert_eq!(detached.code, 0, "{}", detached.stderr);
        let id = detached.stdout.trim().to_owned();
        let chat = client.call("POST", "/chats").json()["id"].as_str().unwrap().to_owned();
        let said = serde_json::json!({"text": format!("!touch chat{round}; {slow}; exit 3")}).to_string();
        assert_eq!(client.send("POST", &format!("/chats/{chat}/messages"), said.as_bytes()).status, 202);
        // All of the commands have started, so each must end with its result.
        wait_for(&machine, &format!("chat{round}"));
        numbers.iter().for_each(|number| wait_for(&machine, &format!("begun{number}")));
        thread::sleep(Duration::from_millis(random.within(0..900)));
        server.kill();
        thread::sleep(Duration::from_millis(random.within(0..500)));
        server.restart(&["--docker", "off"]);
        for expected in attached {
            expected.check();
        }
        machine.wait_online(&alice, "laptop");
        let all = alice.run(&["ps", "--all"]);
        assert!(all.stdout.contains(&id), "{}", all.stdout);
        let whole = alice.run(&["attach", &id]);
        assert_same("attach", "stdout", &whole.stdout_bytes, &lines("", 100));
        assert_eq!(whole.code, 7, "{}", whole.stderr);
        let message = tests::eventually("the chat has its result", PATIENCE, || {
            Some(chat_exec(&client, &chat)).filter(|message| message["exec"]["status"] != "running")
        });
        assert_same("chat", "text", message["text"].as_str().unwrap().as_bytes(), &lines("", 100));
        assert_eq!(message["exec"]["exit_code"], 3, "{message}");
    }
}

#[test]
fn a_command_whose_caller_died_during_an_outage_is_cancelled_afterwards() {
    let mut server = Server::start();
    let alice = server.person("alice");
    let machine = Machine::start_with(&server, &alice, "laptop", &SOON);
    let marker = format!("{}", 44_000_000 + std::process::id());
    let script = format!("touch ready; sleep {marker}");
    let mut command = alice.command(&["exec", "--", "sh", "-c", &script]);
    let mut caller = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    wait_for(&machine, "ready");
    server.kill();
    caller.kill().unwrap();
    caller.wait().unwrap();
    server.restart(&["--docker", "off"]);
    machine.wait_online(&alice, "laptop");
    assert!(alice.run(&["ps"]).stdout.contains(&marker), "the command still runs, and is listed");
    tests::eventually("the command has ended", Duration::from_secs(60), || {
        process::with_marker(&format!("sleep {marker}")).is_empty().then_some(())
    });
    tests::eventually("it is on record", Duration::from_secs(60), || {
        alice.run(&["ps", "--all"]).stdout.contains("cancelled").then_some(())
    });
}

#[test]
fn a_kill_of_the_server_loses_no_result_of_a_container() {
    tests::docker::ready();
    let mut random = Random::seeded();
    let options = ["--docker", "on", "--docker-image", tests::docker::IMAGE];
    let mut server = Server::start_with(&options);
    let alice = server.person("alice");
    let _cleanup = Cleanup::of(&server);
    alice.run(&["use", "__docker__"]);
    let warm = alice.run(&["exec", "--", "true"]);
    assert_eq!(warm.code, 0, "{}", warm.stderr);
    for round in 0..count("SANDBRIDGE_DOCKER_KILLS", 2) {
        let numbers = [4 * round, 4 * round + 2];
        let attached = numbers.map(|number| start(&alice, number));
        let script = slow_lines(100, "") + "; exit 7";
        let detached = alice.run(&["exec", "--detach", "--", "sh", "-c", &script]);
        assert_eq!(detached.code, 0, "{}", detached.stderr);
        for number in numbers {
            let begun = format!("begun{number}");
            tests::eventually(&begun, PATIENCE, || {
                (alice.run(&["exec", "--", "test", "-e", &begun]).code == 0).then_some(())
            });
        }
        thread::sleep(Duration::from_millis(random.within(0..500)));
        server.kill();
        server.restart(&options);
        for expected in attached {
            expected.check();
        }
        let whole = alice.run(&["attach", detached.stdout.trim()]);
        assert_same("attach", "stdout", &whole.stdout_bytes, &lines("", 100));
        assert_eq!(whole.code, 7, "{}", whole.stderr);
    }
}
