//! The bytes of every frame kind, request and message, fixed by `fixtures/frames.txt`.
//!
//! A difference here is a change of the protocol. A new type adds a line (run with `SANDBRIDGE_BLESS=1`); an old line
//! never changes.
#![allow(clippy::unwrap_used, missing_docs)]

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use bytes::Bytes;
use proto::frame::{Header, Kind};
use proto::message::{
    Attached, DirBatch, DirEntry, DirRead, Done, ExecEntry, ExecExited, ExecList, ExecReport, ExecStarted,
    ExecStreamsClosed, ExecTreeGone, ExitStatus, FileKind, FileOpened, FileRead, FileWritten, GlobBatch,
    GlobDone, GlobEntry, GrepBatch, GrepDone, GrepFile, GrepLine, HttpDone, HttpHeaders, LlmDone, LlmHeaders,
    Metadata, Resolved, TreeHashed, TreeRead, TreeWritten, Truncation,
};
use proto::request::{
    Attach, Command, Download, DownloadResolved, Exec, Glob, Grep, HashTree, Http, List, Llm, MkdirAll,
    Overflow, Present, Profile, Pty, ReadDir, ReadFile, ReadTree, Remove, RemoveAll, Rename, Report, Resize,
    Resolve, Signal, Stat, Stdin, Update, Worktree, WorktreeAction, WriteFile, WriteResolved, WriteTree,
};
use proto::session::{Close, CloseCode};
use proto::{
    Channel, DataBuf, ErrorKind, Event, ExecId, Message, Request, Session, Side, StreamId, WireError,
    WirePath,
};

const ID: ExecId = ExecId([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);

fn exec() -> Exec {
    Exec {
        exec_id: ID,
        command: Command::Argv(vec![b"sh".to_vec(), b"-c".to_vec(), b"exit 3".to_vec()]),
        cwd: Some(WirePath::from("sub")),
        env: vec![(b"K".to_vec(), b"V\xff".to_vec())],
        stdin: Stdin::Stream,
        merge_stderr: true,
        timeout_ms: Some(120_000),
        output_cap_bytes: None,
        overflow: Overflow::DropOldest,
        run_as: None,
        profile: Some(Profile::ReadOnly),
        pty: Some(Pty { rows: 24, columns: 80, term: "xterm-256color".into() }),
        retain: true,
        age_ms: 7,
    }
}

fn requests() -> Vec<Request> {
    let path = || WirePath::from("dir/file");
    vec![
        exec().into(),
        Exec {
            command: Command::Shell(b"make".to_vec()),
            cwd: None,
            env: vec![],
            stdin: Stdin::Empty,
            merge_stderr: false,
            timeout_ms: None,
            output_cap_bytes: Some(1),
            overflow: Overflow::Block,
            run_as: Some("dev".into()),
            profile: None,
            pty: None,
            retain: false,
            age_ms: 0,
            ..exec()
        }
        .into(),
        Signal { exec_id: ID, signal: 15 }.into(),
        Attach { id: ID, offset: 0, output: true }.into(),
        Report { exec_id: ID, head_bytes: 100, tail_bytes: 200 }.into(),
        List {}.into(),
        Resize { exec_id: ID, rows: 50, columns: 132 }.into(),
        ReadFile { path: path(), offset: 5, length: Some(7) }.into(),
        WriteFile {
            id: ID,
            path: path(),
            mode: Some(0o644),
            parents: true,
            size_bytes: Some(9),
            if_match: Some([0xab; 32]),
        }
        .into(),
        Stat { path: WirePath(b"not\xffutf8".to_vec()) }.into(),
        ReadDir { path: path() }.into(),
        MkdirAll { id: ID, path: path(), mode: 0o755 }.into(),
        Remove { id: ID, path: path() }.into(),
        RemoveAll { id: ID, path: path() }.into(),
        Rename { id: ID, from: path(), to: WirePath::from("other") }.into(),
        Glob { pattern: "**/*.rs".into(), path: path(), ignored: true, max_results: 100 }.into(),
        Grep {
            pattern: "fn .*".into(),
            path: path(),
            include: Some("*.rs".into()),
            ignore_case: true,
            context_lines: 2,
            ignored: false,
            max_results: 50,
        }
        .into(),
        ReadTree { path: path() }.into(),
        WriteTree { id: ID, path: path(), delete_extra: true }.into(),
        Download {
            id: ID,
            url: "https://example.com/".into(),
            path: path(),
            mode: None,
            parents: true,
            max_bytes: 9,
            sha256: Some([0xcd; 32]),
        }
        .into(),
        Llm { path: "/v1/messages".into(), headers: vec![("accept".into(), "*/*".into())] }.into(),
        Resolve { path: path() }.into(),
        WriteResolved {
            write: WriteFile {
                id: ID,
                path: path(),
                mode: None,
                parents: true,
                size_bytes: Some(9),
                if_match: None,
            },
            present: Present::Nothing,
        }
        .into(),
        DownloadResolved {
            download: Download {
                id: ID,
                url: "https://example.com/".into(),
                path: path(),
                mode: None,
                parents: true,
                max_bytes: 9,
                sha256: None,
            },
            present: Present::Content([0xef; 32]),
        }
        .into(),
        Update {}.into(),
        Http {
            method: "POST".into(),
            url: "http://10.0.0.5/mcp".into(),
            headers: vec![("accept".into(), b"*/*".to_vec())],
            timeout_ms: Some(30_000),
            idle_ms: None,
        }
        .into(),
        Worktree { id: ID, repository: path(), name: "topic".into(), action: WorktreeAction::Add }.into(),
        HashTree { path: path(), most_entries: 3, most_bytes: 9 }.into(),
    ]
}

fn messages() -> Vec<Message> {
    vec![
        Done {}.into(),
        ExecStarted { pid: 4711 }.into(),
        ExecExited {
            status: ExitStatus::Code(3),
            timed_out: false,
            cancelled: false,
            sandbox_denied: true,
            duration_us: 1500,
        }
        .into(),
        ExecExited {
            status: ExitStatus::Signal(9),
            timed_out: true,
            cancelled: true,
            sandbox_denied: false,
            duration_us: 0,
        }
        .into(),
        ExecStreamsClosed { stdout_bytes: 10, stderr_bytes: 20, dropped_bytes: 5, still_open: true }.into(),
        ExecTreeGone { exec_id: ID }.into(),
        Attached { input_bytes: 9 }.into(),
        ExecReport {
            exited: None,
            complete: false,
            age_ms: 5,
            output_bytes: 4,
            head: b"he".to_vec(),
            tail: b"ta".to_vec(),
        }
        .into(),
        ExecList { execs: vec![ExecEntry { exec_id: ID, running: true, age_ms: 1, output_bytes: 2 }] }.into(),
        FileOpened { size_bytes: 10, mode: 0o600, modified_ms: -1 }.into(),
        FileRead { bytes: 10 }.into(),
        FileWritten { bytes: 10 }.into(),
        Metadata { kind: FileKind::Directory, size_bytes: 4096, mode: 0o755, modified_ms: 1 }.into(),
        DirRead { entries: 2 }.into(),
        GlobDone { entries: 2, matched: 3, truncated: Some(Truncation::Results) }.into(),
        GrepDone { matches: 1, files: 2, searched: 3, binary: 4, unreadable: 5, truncated: None }.into(),
        TreeRead { files: 1, directories: 2, symlinks: 3, size_bytes: 4, skipped: 5, note: Some("n".into()) }
            .into(),
        TreeWritten { files: 1, directories: 2, symlinks: 3, size_bytes: 4, removed: 5 }.into(),
        LlmHeaders { status: 200, headers: vec![("content-type".into(), "text/event-stream".into())] }.into(),
        LlmDone { bytes: 6 }.into(),
        Resolved {
            path: WirePath::from("docs/a"),
            found: Some(Metadata { kind: FileKind::File, size_bytes: 3, mode: 0o644, modified_ms: 1 }),
            sha256: Some([0xab; 32]),
        }
        .into(),
        HttpHeaders { status: 307, headers: vec![("location".into(), b"/next".to_vec())] }.into(),
        HttpDone { bytes: 6 }.into(),
        TreeHashed { sha256: [0xab; 32] }.into(),
    ]
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

fn drain(session: &mut Session, now: Instant) -> Vec<Bytes> {
    std::iter::from_fn(|| session.poll_transmit(now)).collect()
}

/// Name and bytes of every frame the two sides can produce, each read by the other side.
fn frames() -> Vec<(String, Bytes)> {
    let now = Instant::now();
    let mut server = Session::new(Side::Originator, now);
    let mut runner = Session::new(Side::Executor, now);
    let mut frames = Vec::new();
    for request in requests() {
        let stream = server.open(&request).unwrap();
        let sent = drain(&mut server, now);
        assert_eq!(runner.receive(&sent[0], now), Ok(Some(Event::Opened(stream, request.clone()))));
        frames.push((format!("OPEN {}", name(&format!("{request:?}"))), sent[0].clone()));
    }
    for (at, message) in messages().into_iter().enumerate() {
        let stream = StreamId(at as u32 % 2);
        runner.message(stream, &message, false).unwrap();
        let sent = drain(&mut runner, now);
        assert_eq!(
            server.receive(&sent[0], now),
            Ok(Some(Event::Message { stream, message: message.clone(), fin: false }))
        );
        frames.push((format!("MESSAGE {}", name(&format!("{message:?}"))), sent[0].clone()));
    }
    frames.extend(flow(&mut server, &mut runner, now));
    let batch = DirBatch {
        entries: vec![
            DirEntry { name: b"a".to_vec(), kind: FileKind::File, size_bytes: 1 },
            DirEntry { name: b"\xff".to_vec(), kind: FileKind::Symlink, size_bytes: 2 },
        ],
    };
    frames.push(("body DirBatch".into(), proto::codec::encode(&batch).unwrap().into()));
    frames.extend(search_batches());
    frames
}

fn search_batches() -> [(String, Bytes); 2] {
    let entry = GlobEntry { path: b"a".to_vec(), kind: FileKind::File, size_bytes: 1, modified_ms: -1 };
    let glob = GlobBatch { entries: vec![entry] };
    let line = GrepLine { number: 7, is_match: true, is_cut: false, text: b"\xff".to_vec() };
    let grep = GrepBatch { files: vec![GrepFile { path: b"a".to_vec(), lines: vec![line] }] };
    [
        ("body GlobBatch".into(), proto::codec::encode(&glob).unwrap().into()),
        ("body GrepBatch".into(), proto::codec::encode(&grep).unwrap().into()),
    ]
}

fn flow(server: &mut Session, runner: &mut Session, now: Instant) -> Vec<(String, Bytes)> {
    let stream = StreamId(1);
    runner.data(stream, Channel::Stdout, DataBuf::copy_from(b"out"));
    runner.data(stream, Channel::Stderr, DataBuf::copy_from(&vec![b'e'; 1000]));
    runner.gap(stream, Channel::Stdout, 99);
    runner.end(stream, Channel::Stderr);
    runner.fail(stream, &WireError::new(ErrorKind::EscapesWorkspace, "path escapes the workspace"));
    let mut sent = drain(runner, now);
    sent.remove(1);
    for _ in 0..64 {
        server.data(stream, Channel::Main, DataBuf::copy_from(&[b'i'; 1024]));
    }
    for frame in drain(server, now) {
        runner.receive(&frame, now).unwrap();
    }
    server.cancel(stream);
    server.acknowledge(ID);
    sent.extend(drain(server, now));
    sent.push(Close::new(CloseCode::Replaced, "another machine took over").to_frame());
    sent.push(Close::come_back_after("the server is stopping", Duration::from_millis(1_500)).to_frame());
    let names = ["DATA", "GAP", "END", "FAIL", "CANCEL", "ACK", "CLOSE", "GOODBYE"];
    assert_eq!(sent.len(), names.len());
    let mut frames: Vec<_> = names.into_iter().map(str::to_owned).zip(sent).collect();
    let leave = Header { type_number: 1, ..Header::new(Kind::Cancel, stream) };
    frames.push(("LEAVE".into(), leave.frame(&[])));
    for (name, kind, sequence) in
        [("CREDIT", Kind::Credit, 65_536u64), ("PING", Kind::Ping, 7), ("PONG", Kind::Pong, 7)]
    {
        let stream = if kind == Kind::Credit { stream } else { StreamId::SESSION };
        frames.push((name.into(), Header { sequence, ..Header::new(kind, stream) }.frame(&[])));
    }
    frames
}

fn name(debug: &str) -> String {
    debug.split('(').next().unwrap().to_owned()
}

#[test]
fn bytes_on_the_wire_never_change() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/frames.txt");
    let found = frames().iter().fold(String::new(), |mut text, (name, bytes)| {
        writeln!(text, "{name}: {}", hex(bytes)).unwrap();
        text
    });
    if std::env::var_os("SANDBRIDGE_BLESS").is_some() {
        std::fs::write(path, &found).unwrap();
    }
    assert_eq!(found, std::fs::read_to_string(path).unwrap(), "the protocol's bytes changed");
}

#[test]
fn every_type_has_a_golden_frame() {
    let text = include_str!("../fixtures/frames.txt");
    for (_, name, _) in Request::TABLE {
        assert!(text.contains(&format!("OPEN {name}:")), "no golden bytes for request {name}");
    }
    for (_, name) in Message::TABLE {
        assert!(text.contains(&format!("MESSAGE {name}:")), "no golden bytes for message {name}");
    }
}

#[test]
fn specification_lists_every_type_kind_and_error() {
    let text = include_str!("../PROTOCOL.md");
    for (number, name, response) in Request::TABLE {
        assert!(
            text.contains(&format!("| {number} | `{name}` | `{response}` |")),
            "PROTOCOL.md: request {number} {name}"
        );
    }
    for (number, name) in Message::TABLE {
        assert!(text.contains(&format!("| {number} | `{name}` |")), "PROTOCOL.md: message {number} {name}");
    }
    for kind in ErrorKind::ALL {
        assert!(
            text.contains(&format!("| {} | `{}` |", kind.code(), kind.name())),
            "PROTOCOL.md: error {kind:?}"
        );
    }
    for kind in Kind::ALL {
        let row = format!("| {} | {} |", *kind as u8, format!("{kind:?}").to_uppercase());
        assert!(text.contains(&row), "PROTOCOL.md: frame kind {row}");
    }
}

#[test]
fn specification_states_the_limits_in_force() {
    let text = include_str!("../PROTOCOL.md");
    let limits = include_str!("../src/limits.rs");
    for line in limits.lines().filter_map(|line| line.strip_prefix("pub const ")) {
        let name = line.split(':').next().unwrap();
        assert!(text.contains(&format!("`{name}`")), "PROTOCOL.md does not state {name}");
    }
}
