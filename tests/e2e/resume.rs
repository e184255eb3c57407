//! Cuts of the network and kills of the server, with real processes: nothing is lost, doubled or reordered.

use std::thread;
use std::time::{Duration, Instant};

use tests::proxy::{Fate, Proxy};
use tests::random::{Random, count};
use tests::{Machine, Output, Person, Server};

/// Every runner here comes back soon, so that many cuts fit into a test.
const SOON: [&str; 2] = ["--reconnect-max", "0.2"];

/// How long any one command may take, cuts included.
const PATIENCE: Duration = Duration::from_secs(120);

/// A running command, and what it must come to.
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
        if output.stderr.contains("is offline") && output.stdout.is_empty() {
            // It was asked for while the runner was away: an honest refusal, nothing ran.
            return;
        }
        assert_ne!(output.code, 125, "{what}: {}", output.stderr);
        assert_same(what, "stdout", &output.stdout_bytes, &self.stdout);
        // Behind what the command wrote there may be a word on the server's being away.
        let stderr: String = output
            .stderr
            .lines()
            .filter(|line| !line.starts_with("sandbridge: "))
            .map(|line| format!("{line}\n"))
            .collect();
        assert_same(what, "stderr", stderr.as_bytes(), &self.stderr);
        assert_eq!(output.code, self.code, "{what}: {}", output.stderr);
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

/// Starts a command of the `number`th kind: slow numbered lines on both channels, bulk, or bulk through its input.
fn start(person: &Person, number: u64) -> Expected {
    let code = i32::try_from(number % 120).unwrap() + 1;
    match number % 4 {
        0 | 1 => {
            let last = 150;
            let script = format!(
                "i=0; while [ $i -lt {last} ]; do i=$((i+1)); echo $i; echo e$i >&2; sleep 0.01; done; exit {code}"
            );
            let caller = call(person, &["exec", "--", "sh", "-c", &script], Vec::new());
            Expected {
                what: "numbered lines",
                caller,
                stdout: lines("", last),
                stderr: lines("e", last),
                code,
            }
        }
        2 => {
            let last = 750_000;
            let script = format!("seq 1 {last}; exit {code}");
            let caller = call(person, &["exec", "--", "sh", "-c", &script], Vec::new());
            Expected { what: "bulk", caller, stdout: lines("", last), stderr: Vec::new(), code }
        }
        _ => {
            let stdin = lines("in", 200_000);
            let script = format!("cat; exit {code}");
            let caller = call(person, &["exec", "--stdin", "--", "sh", "-c", &script], stdin.clone());
            Expected { what: "standard input", caller, stdout: stdin, stderr: Vec::new(), code }
        }
    }
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

/// Cuts at random moments while commands run, and checks each of them at its end.
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
