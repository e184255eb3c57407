//! Updates with commands running: nothing is lost, and nothing runs twice.

use std::collections::BTreeMap;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tests::random::count;
use tests::terminal::Terminal;
use tests::{Person, Server};

use super::{Runner, says};

/// The interval at which short commands are started.
const EVERY: Duration = Duration::from_millis(50);
/// How long short commands continue to be started after the runner is back.
const AFTER: Duration = Duration::from_millis(500);
/// The number of lines of the long command.
const LINES: usize = 60;

fn exec(person: &Person, name: &str, script: &str) -> Child {
    let mut command = person.command(&["exec", "--on", name, "--", "sh", "-c", script]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Starts short commands until `ends` is set; returns each command's number with its caller.
fn stream(person: &Person, name: &str, ends: &AtomicBool) -> Vec<(usize, Child)> {
    let mut callers = Vec::new();
    while !ends.load(Ordering::Relaxed) {
        let (number, next) = (callers.len(), Instant::now() + EVERY);
        callers
            .push((number, exec(person, name, &format!("echo {number} >>short; echo out {number}; exit 3"))));
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
    }
    callers
}

/// The nightly goal is 20 of 20 rounds.
#[test]
fn an_update_with_commands_running_loses_nothing_and_runs_nothing_twice() {
    let server = Server::start();
    let person = Arc::new(server.person("alice"));
    for round in 0..count("SANDBRIDGE_UPDATES", 3) {
        let name = format!("laptop-{round}");
        let runner = Runner::start(server.url(), &person, &name, &[]);
        let long = exec(
            &person,
            &name,
            &format!("echo x >>long; for i in $(seq {LINES}); do echo line $i; sleep 0.02; done; exit 7"),
        );
        let mut terminal = Terminal::start(person.command(&["shell", "--on", &name, "--", "sh"]), 24, 80);
        terminal.types("echo ter''minal\r");
        terminal.sees("terminal");
        let left = exec(&person, &name, "(sleep 1; echo left >>behind) >/dev/null 2>&1 & exit 0");
        let ends = Arc::new(AtomicBool::new(false));
        let (caller, for_thread) = (Arc::clone(&person), (name.clone(), Arc::clone(&ends)));
        let short = std::thread::spawn(move || stream(&caller, &for_thread.0, &for_thread.1));
        let mut asking = runner.update().stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        says(&mut asking, "waits for");
        assert_eq!(left.wait_with_output().unwrap().status.code(), Some(0));
        let long = long.wait_with_output().unwrap();
        let expected: String = (1..=LINES).map(|line| format!("line {line}\n")).collect();
        assert_eq!(
            (long.status.code(), String::from_utf8_lossy(&long.stdout).as_ref()),
            (Some(7), &*expected)
        );
        terminal.types("echo still; exit 5\r");
        assert_eq!(terminal.ends(), 5);
        let asked = asking.wait_with_output().unwrap();
        assert!(asked.status.success(), "{}{}", String::from_utf8_lossy(&asked.stderr), runner.log());
        std::thread::sleep(AFTER);
        ends.store(true, Ordering::Relaxed);
        let mut expected = BTreeMap::new();
        for (number, caller) in short.join().unwrap() {
            let output = caller.wait_with_output().unwrap();
            let found = (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned());
            assert_eq!(
                found,
                (Some(3), format!("out {number}\n")),
                "{}",
                String::from_utf8_lossy(&output.stderr)
            );
            expected.insert(number.to_string(), 1);
        }
        let file = |name: &str| std::fs::read_to_string(runner.workspace.path().join(name)).unwrap();
        let mut ran = BTreeMap::new();
        file("short").lines().for_each(|line| *ran.entry(line.to_owned()).or_insert(0) += 1);
        assert_eq!(ran, expected, "each command ran once");
        assert_eq!((file("long"), file("behind")), ("x\n".to_owned(), "left\n".to_owned()));
        runner.assert_updated(&person);
    }
}
