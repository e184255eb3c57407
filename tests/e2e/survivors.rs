//! Killing the runner or its guardian leaves no process behind, and the caller gets a truthful result.

use std::io::Read;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::process::Signal;
use tests::{Machine, Person, Server, eventually, process};

/// The time within which killed processes must end, and within which their callers must be notified once the runner is back.
const PROMPTLY: Duration = Duration::from_secs(60);

/// The time within which a killed runner must be back.
const BACK_WITHIN: Duration = Duration::from_secs(60);

/// The number of bytes of a caller's output that are examined.
const BEGINNING_BYTES: u64 = 64;

/// The number of kills in a test, unless `SANDBRIDGE_ROUNDS` sets it.
const ROUNDS: u32 = 5;

/// The latest moment at which a runner is killed, in milliseconds after the start of its commands.
const KILL_WITHIN_MS: u32 = 600;

/// A script that creates a process tree with a double fork in separate sessions, which ends up as four `sleep` processes.
fn tree(marker: &str) -> String {
    format!(
        "setsid sh -c 'sleep {marker} & setsid sleep {marker} &' ; sleep {marker} & echo ready; sleep {marker}"
    )
}

fn spawn(person: &Person, script: &str) -> Child {
    let mut command = person.command(&["exec", "--", "sh", "-c", script]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Starts a process tree; returns once all its processes are running.
fn start_tree(person: &Person, marker: &str) -> Child {
    let mut child = spawn(person, &tree(marker));
    child.stdout.as_mut().unwrap().read_exact(&mut [0; 6]).unwrap();
    eventually("the tree runs", PROMPTLY, || (sleepers(marker) == 4).then_some(()));
    child
}

fn sleepers(marker: &str) -> usize {
    process::with_command(&format!("sleep {marker}")).len()
}

fn marker(number: u32) -> String {
    format!("{}", number + std::process::id())
}

/// Waits until no process of a tree is left.
fn gone(marker: &str) {
    eventually("no process is left", PROMPTLY, || (sleepers(marker) == 0).then_some(()));
}

/// Waits for a caller, which must report that the result is lost, and not a made-up exit code.
fn told_lost(mut caller: Child, what: &str) {
    let stdout = caller.stdout.take().unwrap();
    // Unread output would block a caller that writes a lot.
    let beginning = std::thread::spawn(move || {
        let (mut stdout, mut beginning) = (stdout, Vec::new());
        stdout.by_ref().take(BEGINNING_BYTES).read_to_end(&mut beginning).unwrap();
        std::io::copy(&mut stdout, &mut std::io::sink()).unwrap();
        String::from_utf8_lossy(&beginning).into_owned()
    });
    let code =
        eventually(&format!("{what}: the caller is notified"), PROMPTLY, || caller.try_wait().unwrap());
    let mut error = String::new();
    caller.stderr.take().unwrap().read_to_string(&mut error).unwrap();
    let beginning = beginning.join().unwrap();
    assert_eq!(code.code(), Some(125), "{what}: never a made-up exit code: {beginning} {error}");
    // The command never ran if the runner had not accepted it yet.
    let has_begun = beginning.contains("ready");
    assert!(error.contains("lost") || !has_begun && error.contains("offline"), "{what}: {beginning} {error}");
}

#[test]
fn killed_guardian_leaves_nothing() {
    let server = Server::start();
    let alice = server.person("alice");
    let token = alice.add_runner("laptop");
    let mut machine = Machine::start_with_token(&server, "laptop", &token, &[]);
    machine.wait_online(&alice, "laptop");
    let marker = marker(41_000_000);
    let caller = start_tree(&alice, &marker);
    process::signal(machine.guardian_pid(), Signal::KILL);
    gone(&marker);
    machine.restart(&server, "laptop", &token, &[]);
    machine.wait_online(&alice, "laptop");
    told_lost(caller, "killed guardian");
}

#[test]
fn killed_runner_leaves_nothing_and_is_restarted() {
    let server = Server::start();
    let alice = server.person("alice");
    let machine = Machine::start(&server, &alice, "laptop");
    let marker = marker(42_000_000);
    let caller = start_tree(&alice, &marker);
    process::signal(machine.runner_pid(), Signal::KILL);
    gone(&marker);
    eventually("the guardian restarts the runner", BACK_WITHIN, || {
        (alice.run(&["exec", "--", "true"]).code == 0).then_some(())
    });
    told_lost(caller, "killed runner");
}

/// Waits until a killed runner is connected again, as another process.
fn back(machine: &Machine, alice: &Person, killed: i32) {
    eventually("the killed runner is gone", BACK_WITHIN, || {
        let is_another = process::children(machine.guardian_pid()).first().is_some_and(|pid| *pid != killed);
        (is_another || !alice.is_online("laptop")).then_some(())
    });
    machine.wait_online(alice, "laptop");
}

#[test]
fn killed_at_any_moment_nothing_survives_and_every_caller_is_notified() {
    let rounds = std::env::var("SANDBRIDGE_ROUNDS").map_or(ROUNDS, |rounds| rounds.parse().unwrap());
    let mut seed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().subsec_nanos();
    let server = Server::start();
    let alice = server.person("alice");
    let token = alice.add_runner("laptop");
    let mut machine = Machine::start_with_token(&server, "laptop", &token, &[]);
    machine.wait_online(&alice, "laptop");
    for round in 0..rounds {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let (delay_ms, is_guardian) = ((seed >> 8) % KILL_WITHIN_MS, seed >> 31 == 0);
        let what = format!("round {round}, guardian {is_guardian}, after {delay_ms} ms");
        let marker = marker(44_000_000 + round * 100_000);
        let scripts = [
            tree(&marker),
            tree(&marker),
            format!("echo ready; while :; do seq 1000; done; sleep {marker}"),
            format!(
                "echo ready; trap '' TERM HUP INT; (setsid sleep {marker} &); while :; do sleep {marker}; done"
            ),
        ];
        let runner = machine.runner_pid();
        let victim = if is_guardian { machine.guardian_pid() } else { runner };
        let begun = Instant::now();
        let callers = scripts.map(|script| spawn(&alice, &script));
        std::thread::sleep(Duration::from_millis(u64::from(delay_ms)).saturating_sub(begun.elapsed()));
        process::signal(victim, Signal::KILL);
        eventually(&format!("{what}: the runner is dead"), PROMPTLY, || {
            (!process::is_alive(runner)).then_some(())
        });
        if is_guardian {
            machine.restart(&server, "laptop", &token, &[]);
        }
        back(&machine, &alice, runner);
        std::thread::scope(|scope| {
            callers.into_iter().for_each(|caller| drop(scope.spawn(|| told_lost(caller, &what))));
        });
        gone(&marker);
        if !is_guardian {
            // The runner is restarted here, since a guardian waits longer and longer before it restarts a runner that
            // keeps dying.
            machine.restart(&server, "laptop", &token, &[]);
            back(&machine, &alice, runner);
        }
    }
}

#[test]
fn orderly_stop_leaves_nothing_and_reports_results() {
    let server = Server::start();
    let alice = server.person("alice");
    let mut machine = Machine::start(&server, &alice, "laptop");
    let marker = marker(43_000_000);
    let caller = start_tree(&alice, &marker);
    let mut polite = spawn(&alice, "trap 'echo bye; exit 3' TERM; echo up; while :; do sleep 0.05; done");
    polite.stdout.as_mut().unwrap().read_exact(&mut [0; 3]).unwrap();
    machine.stop();
    assert_eq!(sleepers(&marker), 0);
    // The exit code is the one for an interrupt: the command was cancelled, and its result is known.
    assert_eq!(caller.wait_with_output().unwrap().status.code(), Some(130));
    let polite = polite.wait_with_output().unwrap();
    assert_eq!((polite.status.code(), polite.stdout.as_slice()), (Some(130), &b"bye\n"[..]));
    assert!(!alice.is_online("laptop"));
}
