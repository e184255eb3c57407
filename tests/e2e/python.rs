//! A runner in another language, written from `proto/PROTOCOL.md` alone: this shows that the document is sufficient.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::Signal;
use tempfile::TempDir;
use tests::{Person, Server, eventually, process};

/// The time within which the runner must be online, or back after a lost connection.
const ONLINE_WITHIN: Duration = Duration::from_secs(60);

/// A running `tests/python/runner.py`; it is stopped when this is dropped.
struct PythonRunner {
    process: Child,
    workspace: TempDir,
    state: TempDir,
}

impl PythonRunner {
    fn start(server: &Server, person: &Person) -> Self {
        let (workspace, state) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let token_file = state.path().join("token");
        fs::write(&token_file, person.add_runner("snake")).unwrap();
        let process = Command::new("python3")
            .arg("-B")
            .arg(sources().join("runner.py"))
            .arg(server.url())
            .arg(token_file)
            .arg("snake")
            .arg(workspace.path())
            .stdin(Stdio::null())
            .stderr(fs::File::create(state.path().join("log")).unwrap())
            .spawn()
            .unwrap();
        eventually("the runner is online", ONLINE_WITHIN, || person.is_online("snake").then_some(()));
        Self { process, workspace, state }
    }

    /// Makes the runner drop its connection, whatever is running, and reconnect; returns when the connection was
    /// dropped.
    fn cut(&self) {
        let before = self.lost_links();
        eventually("the link is lost", ONLINE_WITHIN, || {
            // The signal is repeated, since between two links there is none to drop.
            process::signal(self.process.id() as i32, Signal::USR1);
            (self.lost_links() > before).then_some(())
        });
    }

    fn lost_links(&self) -> usize {
        fs::read_to_string(self.state.path().join("log")).unwrap().matches("link lost").count()
    }
}

impl Drop for PythonRunner {
    fn drop(&mut self) {
        process::terminate(&mut self.process);
    }
}

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("python")
}

fn setup() -> (Server, Person, PythonRunner) {
    let server = Server::start();
    let person = server.person("alice");
    let runner = PythonRunner::start(&server, &person);
    (server, person, runner)
}

fn check(arguments: &[&str]) {
    let output = Command::new("python3").arg("-B").args(arguments).current_dir(sources()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn python_codec_agrees_with_every_golden_frame() {
    check(&["check_frames.py", "../../proto/fixtures/frames.txt"]);
}

#[test]
fn python_runner_enforces_rules_that_a_correct_server_never_tests() {
    check(&["check_rules.py"]);
}

#[test]
fn python_runner_runs_commands() {
    let (_server, alice, runner) = setup();
    let shell = |script: &str| alice.run(&["exec", "--", "sh", "-c", script]);
    let output = shell("echo out; echo err >&2; pwd; exit 3");
    let workspace = runner.workspace.path().canonicalize().unwrap();
    assert_eq!(output.stdout, format!("out\n{}\n", workspace.display()));
    assert_eq!((output.stderr.as_str(), output.code), ("err\n", 3));
    assert_eq!(shell("kill -9 $$").code, 128 + 9);
    assert_eq!(alice.run(&["exec", "--", "no-such-program"]).code, 127);
    assert_eq!(alice.run(&["exec", "--env", "A=b c", "--", "sh", "-c", "printf \"$A\""]).stdout, "b c");

    let output = shell("head -c 10485760 /dev/zero | tr '\\0' x; exit 7");
    assert!(output.stdout_bytes.iter().all(|&byte| byte == b'x'));
    assert_eq!((output.stdout_bytes.len(), output.code), (10 << 20, 7));

    let input: Vec<u8> = (0..1_000_000u32).map(|number| (number * 7) as u8).collect();
    let output = alice.with_stdin(&["exec", "--stdin", "--", "cat"], &input);
    assert!(output.stdout_bytes == input && output.code == 0, "{}", output.stderr);

    let output = alice.run(&["exec", "--timeout", "1", "--", "sh", "-c", "echo partial; sleep 60"]);
    assert_eq!((output.stdout.as_str(), output.code), ("partial\n", 124), "{}", output.stderr);
    let output = shell("sleep 60 & echo x");
    assert_eq!(
        (output.stdout.as_str(), output.code),
        ("x\n", 0),
        "a descendant does not delay the end of the exec"
    );
}

#[test]
fn python_runner_ends_a_command_after_an_interrupt() {
    let (_server, alice, _runner) = setup();
    let marker = format!("{}", 51_000_000 + std::process::id());
    let mut caller = alice
        .command(&["exec", "--", "sh", "-c", &format!("echo ready; sleep {marker}")])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    caller.stdout.as_mut().unwrap().read_exact(&mut [0; 6]).unwrap();
    process::signal(caller.id() as i32, Signal::INT);
    caller.wait().unwrap();
    eventually("the command ended", Duration::from_secs(60), || {
        process::with_marker(&format!("sleep {marker}")).is_empty().then_some(())
    });
}

#[test]
fn python_runner_streams_files() {
    let (_server, alice, runner) = setup();
    let directory = TempDir::new().unwrap();
    let content: Vec<u8> = (0..10u32 << 20).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let (local, back) = (directory.path().join("local"), directory.path().join("back"));
    fs::write(&local, &content).unwrap();
    let cp = |from: &str, to: &str| alice.run(&["cp", from, to]);
    let sent = cp(local.to_str().unwrap(), ":made/here");
    assert_eq!(sent.code, 0, "{}", sent.stderr);
    assert!(fs::read(runner.workspace.path().join("made/here")).unwrap() == content);
    let received = cp(":made/here", back.to_str().unwrap());
    assert_eq!(received.code, 0, "{}", received.stderr);
    assert!(fs::read(&back).unwrap() == content);
    for (path, error) in [(":absent", "no such file"), (":../outside", "escapes the workspace")] {
        let refused = cp(path, back.to_str().unwrap());
        assert!(refused.code != 0 && refused.stderr.contains(error), "{path}: {}", refused.stderr);
    }
    let left = fs::read_dir(runner.workspace.path().join("made")).unwrap().count();
    assert_eq!(left, 1, "no temporary file remains");
}

#[test]
fn python_runner_resumes_output_after_cuts() {
    let (_server, alice, runner) = setup();
    let script = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); echo line $i; done; exit 9";
    let mut caller =
        alice.command(&["exec", "--", "sh", "-c", script]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(caller.stdout.take().unwrap()).lines();
    for number in 1..=60_000 {
        assert_eq!(lines.next().unwrap().unwrap(), format!("line {number}"));
        // Some of the data in transit at the cut has arrived, and the rest must be sent again.
        if number % 10_000 == 5_000 {
            runner.cut();
        }
    }
    assert!(lines.next().is_none(), "no line arrives twice");
    assert_eq!(caller.wait().unwrap().code(), Some(9));
}

#[test]
fn python_runner_resumes_standard_input_after_a_cut() {
    let (_server, alice, runner) = setup();
    let mut caller = alice
        .command(&["exec", "--stdin", "--", "cat"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut stdin, mut stdout) = (caller.stdin.take().unwrap(), caller.stdout.take().unwrap());
    let input: Vec<u8> = (0..3_000_000u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let mut output = vec![0; input.len()];
    for (part, back) in input.chunks(1_000_000).zip(output.chunks_mut(1_000_000)) {
        std::thread::scope(|scope| {
            scope.spawn(|| stdin.write_all(part).unwrap());
            stdout.read_exact(&mut back[..1]).unwrap();
            runner.cut();
            stdout.read_exact(&mut back[1..]).unwrap();
        });
    }
    drop(stdin);
    assert!(output == input, "every byte once, in order");
    assert_eq!(stdout.read(&mut [0]).unwrap(), 0);
    assert_eq!(caller.wait().unwrap().code(), Some(0));
}

#[test]
fn python_runner_keeps_a_result_from_while_it_was_disconnected() {
    let (_server, alice, runner) = setup();
    let gate = runner.workspace.path().join("gate");
    let script = "echo ready; while [ ! -e gate ]; do sleep 0.01; done; echo after; exit 5";
    let mut caller =
        alice.command(&["exec", "--", "sh", "-c", script]).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdout = caller.stdout.take().unwrap();
    stdout.read_exact(&mut [0; 6]).unwrap();
    runner.cut();
    fs::write(gate, "").unwrap();
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).unwrap();
    assert_eq!((rest.as_str(), caller.wait().unwrap().code()), ("after\n", Some(5)));
}
