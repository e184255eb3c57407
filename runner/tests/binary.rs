//! The binary from outside: its answer to bad usage, and a whole session over its standard streams.
#![allow(clippy::unwrap_used)]

use std::io::{Read, Write};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use proto::handshake::{Accepted, Handshake, RegisterOk};
use proto::ids::{Epoch, Nonce};
use proto::message::ExitStatus;
use proto::request::{Exec, Stat};
use proto::session::CloseCode;
use proto::stdio::{Payload, Reader, envelope};
use proto::{ErrorKind, Event, ExecId, Message, Session, Side};
use runner::limits::STOP_GRACE_MS;
use rustix::process::{Pid, Signal, kill_process};

fn runner(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sandbridge-runner"));
    command.args(arguments).env_clear().env("HOME", "/nonexistent");
    command
}

fn output(arguments: &[&str]) -> Output {
    runner(arguments).stdin(Stdio::null()).output().unwrap()
}

#[test]
fn bad_usage_ends_with_2_and_a_hint() {
    for (arguments, hint) in [
        (&[][..], "--server"),
        (&["--server", "ws://localhost:1"], "--token-file"),
        (&["--server", "ws://example.com", "--token", "t"], "--insecure"),
        (&["--server", "nonsense", "--token", "t"], "wss://"),
        (&["--server", "ws://localhost:1", "--token", "t", "--profile", "wide"], "full-control"),
        (&["--no-such-option"], "--help"),
    ] {
        let output = output(arguments);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
        assert!(text.contains(hint), "{arguments:?}: {text}");
    }
}

#[test]
fn the_root_directory_is_not_the_workspace_by_default() {
    let output = runner(&["--server", "ws://localhost:1", "--token", "t"])
        .current_dir("/")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--workspace"));
}

#[test]
fn a_token_file_that_is_missing_is_named() {
    let output = output(&[
        "--server",
        "ws://localhost:1",
        "--token-file",
        "/nonexistent/token",
        "--workspace",
        "/tmp",
    ]);
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("/nonexistent/token"));
}

#[test]
fn the_unit_is_printed_without_the_token() {
    let workspace = tempfile::tempdir().unwrap();
    let workspace = workspace.path().to_str().unwrap();
    let output = output(&[
        "install-service",
        "--print",
        "--server",
        "wss://example.com",
        "--token",
        "very-secret",
        "--workspace",
        workspace,
    ]);
    let unit = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && unit.contains("ExecStart=") && unit.contains(workspace), "{unit}");
    assert!(!unit.contains("very-secret"));
}

/// The server's end of a runner's standard streams.
struct Server {
    input: std::process::ChildStdin,
    output: std::process::ChildStdout,
    reader: Reader,
}

impl Server {
    fn send(&mut self, payload: &[u8], is_text: bool) {
        self.input.write_all(&envelope(payload, is_text)).unwrap();
        self.input.write_all(payload).unwrap();
    }

    fn send_text(&mut self, handshake: &Handshake) {
        self.send(handshake.to_text().as_bytes(), true);
    }

    fn next(&mut self) -> Payload {
        loop {
            if let Some(payload) = self.reader.next_payload().unwrap() {
                return payload;
            }
            let mut piece = [0; 4096];
            let length = self.output.read(&mut piece).unwrap();
            assert!(length > 0, "the runner ended");
            self.reader.buffer().extend_from_slice(&piece[..length]);
        }
    }

    fn next_handshake(&mut self) -> Handshake {
        loop {
            if let Payload::Text(text) = self.next() {
                return Handshake::from_text(&text).unwrap();
            }
        }
    }

    /// Registers the runner under an epoch.
    fn register(&mut self, epoch: u64) {
        let Handshake::Register { body, .. } = self.next_handshake() else { panic!("no registration") };
        assert_eq!(body.sandbridge.unwrap().profile, "workspace");
        let accepted = Accepted {
            protocol: 1,
            runner: "local".to_owned(),
            epoch: Epoch(epoch),
            nonce: Nonce([7; 16]),
            token: None,
            version: None,
        };
        self.send_text(&Handshake::RegisterOk {
            body: RegisterOk { status: "ok".to_owned(), sandbridge: Some(accepted) },
        });
        let Handshake::Ready { body } = self.next_handshake() else { panic!("not ready") };
        assert_eq!((body.epoch, body.nonce), (Epoch(epoch), Nonce([7; 16])));
    }

    /// Starts a shell line.
    fn start(&mut self, line: &str) -> Session {
        let mut session = Session::new(Side::Originator, Instant::now());
        let line = proto::request::Command::Shell(line.as_bytes().to_vec());
        let request = Exec { merge_stderr: true, ..Exec::new(ExecId(rand::random()), line) };
        session.open(&request.into()).unwrap();
        self.flush(&mut session);
        session
    }

    fn flush(&mut self, session: &mut Session) {
        while let Some(frame) = session.poll_transmit(Instant::now()) {
            self.send(&frame, false);
        }
    }

    /// The session's next event.
    fn event(&mut self, session: &mut Session) -> Event {
        loop {
            self.flush(session);
            let Payload::Binary(frame) = self.next() else { continue };
            if let Some(event) = session.receive(&frame, Instant::now()).unwrap() {
                return event;
            }
        }
    }

    fn run(&mut self, line: &str) -> String {
        let mut session = self.start(line);
        let mut output = Vec::new();
        loop {
            match self.event(&mut session) {
                Event::Data(_, _, bytes) => output.extend_from_slice(&bytes),
                Event::Message { message: Message::ExecStreamsClosed(_), .. } => {
                    return String::from_utf8(output).unwrap();
                }
                Event::Failed(_, error) => panic!("{error}"),
                _ => {}
            }
        }
    }
}

/// A registered runner over its standard streams, with the directories it needs.
fn attached() -> (Child, Server, [tempfile::TempDir; 2]) {
    let directories = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let mut child = runner(&["--stdio", "--workspace"])
        .arg(directories[0].path())
        .arg("--state-dir")
        .arg(directories[1].path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut server = Server { input, output, reader: Reader::default() };
    server.send_text(&Handshake::Attach {});
    server.register(1);
    (child, server, directories)
}

fn terminate(child: &Child) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::TERM).unwrap();
}

#[test]
fn standard_streams_carry_a_session_a_second_one_and_end_the_runner() {
    let (mut child, mut server, _directories) = attached();
    assert_eq!(server.run("echo first; echo second >&2"), "first\nsecond\n");
    // Another server takes over; the first one's unfinished work does not matter.
    server.send_text(&Handshake::Attach {});
    server.register(2);
    assert_eq!(server.run("echo again"), "again\n");
    drop(server);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_runner_that_is_told_to_stop_tells_results_says_goodbye_and_ends_with_0() {
    let (mut child, mut server, _directories) = attached();
    let mut session = server.start("trap 'echo bye; exit 3' TERM; echo up; while :; do sleep 0.05; done");
    while !matches!(server.event(&mut session), Event::Data(..)) {}
    terminate(&child);
    let (mut output, mut exited) = (Vec::new(), None);
    let close = loop {
        match server.event(&mut session) {
            Event::Data(_, _, bytes) => output.extend_from_slice(&bytes),
            Event::Message { message: Message::ExecExited(told), .. } => exited = Some(told),
            Event::Closed(close) => break close,
            _ => {}
        }
    };
    let exited = exited.unwrap();
    assert_eq!((exited.status, exited.cancelled), (ExitStatus::Code(3), true));
    // The shell reports the end of its sleep on standard error.
    assert!(output.ends_with(b"bye\n"), "{}", String::from_utf8_lossy(&output));
    assert_eq!(close.code, CloseCode::GoingAway);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_runner_that_is_told_to_stop_twice_ends_at_once() {
    let (mut child, mut server, _directories) = attached();
    let mut session = server.start("trap '' TERM; echo up; while :; do sleep 0.05; done");
    while !matches!(server.event(&mut session), Event::Data(..)) {}
    let begun = Instant::now();
    terminate(&child);
    // The first one has arrived when new requests are refused.
    loop {
        session.open(&Stat { path: ".".into() }.into()).unwrap();
        let answer = loop {
            match server.event(&mut session) {
                Event::Failed(_, error) => break Some(error.kind),
                Event::Message { fin: true, .. } => break None,
                _ => {}
            }
        };
        if let Some(kind) = answer {
            assert_eq!(kind, ErrorKind::ShuttingDown);
            break;
        }
    }
    terminate(&child);
    assert_eq!(child.wait().unwrap().code(), Some(137));
    assert!(begun.elapsed() < Duration::from_millis(STOP_GRACE_MS), "{:?}", begun.elapsed());
}

#[test]
fn a_cause_is_told_once() {
    let output = output(&["--server", "ws://localhost:1", "--token-file", "/nonexistent/token"]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(text.matches("os error 2").count(), 1, "{text}");
}

#[test]
fn an_empty_variable_counts_as_none() {
    let mut command = runner(&["--token", "t", "--workspace", "/tmp"]);
    for name in
        ["SERVER", "PROFILE", "INSECURE", "RECONNECT_MAX", "TOKEN_FILE", "RUN_AS_DEFAULT", "STATE_DIR"]
    {
        command.env(format!("SANDBRIDGE_{name}"), "");
    }
    let output = command.stdin(Stdio::null()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("--server URL is missing"), "{text}");
}

#[test]
fn a_service_that_is_not_installed_needs_no_removal() {
    let home = tempfile::tempdir().unwrap();
    let unit = "/etc/systemd/system/sandbridge-runner.service";
    if std::fs::exists(unit).unwrap() {
        return; // a service of this machine's user
    }
    let output = runner(&["uninstall-service"]).env("XDG_CONFIG_HOME", home.path()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && text.contains("nothing was changed"), "{text}");
}

#[test]
fn doctor_says_of_a_layer_that_is_left_out_that_it_does_not_hold() {
    let (workspace, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let doctor = |without: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sandbridge-runner"));
        command.args(["doctor", "--without", without, "--workspace"]).arg(workspace.path());
        let output = command.arg("--state-dir").arg(state.path()).output().unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap() + &String::from_utf8_lossy(&output.stderr),
        )
    };
    let (code, text) = doctor("seccomp,pid-namespace");
    let lines: Vec<_> = text.lines().filter(|line| line.ends_with("left out by --without")).collect();
    assert_eq!((code, lines.len()), (Some(1), 2), "{text}");
    assert!(lines.iter().all(|line| line.starts_with("MISSING")) && text.contains("NOT confined"), "{text}");
    let (code, text) = doctor("capabilities");
    assert!(code == Some(0) && text.contains("Commands are confined."), "{text}");
    for wrong in ["no-new-privs", "everything"] {
        let (code, text) = doctor(wrong);
        assert!(code == Some(2) && text.contains("--without"), "{text}");
    }
}
