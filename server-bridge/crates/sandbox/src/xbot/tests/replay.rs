//! The recorded frames of an unmodified runner, replayed: each recorded answer is given to our request with the same
//! meaning, and each recorded request that ours differs from is named in [`Difference`].

use std::collections::BTreeMap;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};

use super::{Runner, connect_at, info, register_text};
use crate::{DirEntry, ExecRequest, FileKind, Range, SandboxError, WriteOptions};

const TRANSCRIPT: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/xbot-dialect/transcript.jsonl"));

/// The reason why this server would not send a recorded request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Difference {
    /// No id, a number as id, an id used twice, no body, no JSON: each of our requests has its own id and a complete
    /// body.
    Malformed,
    /// Process streams, terminals, background tasks, downloads and a local LLM: never requested here.
    UnknownHere,
    /// No program at all, which the runner answers with an error: refused here.
    NoProgram,
    /// A time limit outside 1 to 3600 s, absent, or no whole number: whole seconds in that range here.
    TimeLimit,
    /// A relative working directory, which the runner resolves against its own: an absolute one here.
    RelativeDirectory,
    /// A directory outside, which the runner silently replaces with the workspace, or accepts: refused here.
    DirectoryOutside,
    /// A path to a directory outside whose name begins like the workspace's, which the runner's guard accepts: refused
    /// here.
    EscapeLetOut,
    /// A path outside that its guard refuses as well: refused here before it is sent.
    EscapeRefused,
    /// No permissions, which means mode 0000, or bits that Go keeps elsewhere: always present and always converted here.
    Permissions,
    /// An empty path, one with a NUL, or the workspace itself as the target of a write or removal: refused here.
    NoEntry,
    /// Content that is not base64: never sent.
    NotBase64,
    /// Reading a directory or FIFO: found by a stat first.
    NoRegularFile,
    /// The answer was cut off in the recording, never arrived, or was omitted.
    NoAnswer,
}

struct Recorded {
    asked: Value,
    answer: Value,
}

#[derive(Default)]
struct Segment {
    register: Value,
    requests: Vec<Result<Recorded, Difference>>,
    answer: String,
}

/// The recording by connection, each request with its answer.
fn segments() -> Vec<Segment> {
    let frames: Vec<(bool, String, bool)> = TRANSCRIPT
        .lines()
        .map(|line| {
            let frame: Value = serde_json::from_str(line).unwrap();
            let text = frame["frame"].as_str().unwrap().to_owned();
            let is_cut = (text.len() as u64) < frame["len"].as_u64().unwrap();
            (frame["from"] == "runner", text, is_cut)
        })
        .collect();
    let mut segments: Vec<Segment> = Vec::new();
    for (position, (is_runners, text, _)) in frames.iter().enumerate() {
        let message: Value = serde_json::from_str(text).unwrap_or_default();
        if message["type"] == "register" {
            segments.push(Segment { register: message, ..Segment::default() });
            continue;
        }
        let segment = segments.last_mut().unwrap();
        if *is_runners || text.starts_with("conn error") || text.starts_with("sent ") {
            continue;
        }
        if segment.answer.is_empty() && (message["type"] == "register_ok" || message["type"] == "error") {
            segment.answer.clone_from(text);
            continue;
        }
        let Some(id) = message["id"].as_str().filter(|_| message["body"].is_object()) else {
            segment.requests.push(Err(Difference::Malformed));
            continue;
        };
        let behind = frames[position..].iter().take_while(|(_, text, _)| !text.contains("\"register\""));
        let answers: Vec<_> = behind.filter(|(_, text, _)| is_answer(text, id)).collect();
        segment.requests.push(match answers[..] {
            [(_, text, false)] => {
                Ok(Recorded { answer: serde_json::from_str(text).unwrap(), asked: message })
            }
            [_, _] => Err(Difference::Malformed),
            _ => Err(Difference::NoAnswer),
        });
    }
    segments
}

fn is_answer(text: &str, id: &str) -> bool {
    text.starts_with(&format!("{{\"id\":\"{id}\"")) && !text.contains("\"user_id\"")
}

/// True if a recorded request is one that this server sends in the same words.
fn difference(workspace: &str, Recorded { asked, answer }: &Recorded) -> Option<Difference> {
    let body = &asked["body"];
    let root = workspace.trim_end_matches('/');
    let is_outside = |path: &str| {
        let workspace = super::super::path::Workspace::new(root);
        workspace.relative(path.as_bytes()).is_err_and(|error| error.kind() == "escapes_workspace")
    };
    let escapes = |path: &str| match answer["body"]["code"].as_str() {
        _ if !is_outside(path) => None,
        Some("EPERM") => Some(Difference::EscapeRefused),
        _ => Some(Difference::EscapeLetOut),
    };
    let path = body["path"].as_str().unwrap_or_default();
    let is_entry = !matches!(path, "" | ".") && !path.contains('\0');
    match asked["type"].as_str().unwrap() {
        "exec" => {
            let is_shell = body["shell"] == true;
            let limit = body["timeout"].as_u64();
            let dir = body["dir"].as_str();
            match () {
                () if !is_shell && body["args"].is_null() => Some(Difference::NoProgram),
                () if !limit.is_some_and(|limit| (1..=3600).contains(&limit)) => Some(Difference::TimeLimit),
                () if dir.is_some_and(is_outside) => Some(Difference::DirectoryOutside),
                () if dir.is_some_and(|dir| !dir.starts_with('/')) => Some(Difference::RelativeDirectory),
                () => None,
            }
        }
        "write_file" => match body["perm"].as_u64() {
            _ if STANDARD.decode(body["data"].as_str().unwrap()).is_err() => Some(Difference::NotBase64),
            _ if !is_entry => Some(Difference::NoEntry),
            Some(perm) if perm <= 0o777 => escapes(path),
            _ => Some(Difference::Permissions),
        },
        "mkdir_all" if body["perm"].is_null() => Some(Difference::Permissions),
        "remove" | "remove_all" if !is_entry => Some(Difference::NoEntry),
        "read_file" if path.contains('\0') => Some(Difference::NoEntry),
        "read_file" if matches!(path, "." | "fifo") => Some(Difference::NoRegularFile),
        "read_file" | "stat" | "read_dir" | "mkdir_all" | "remove" | "remove_all" => escapes(path),
        _ => Some(Difference::UnknownHere),
    }
}

#[test]
fn every_recorded_request_is_replayed_or_differs_for_a_named_reason() {
    let (mut replayed, mut differences) = (0, BTreeMap::new());
    for segment in segments() {
        let workspace = segment.register["body"]["workspace"].as_str().unwrap();
        for request in &segment.requests {
            let named = match request {
                Ok(recorded) => difference(workspace, recorded),
                Err(difference) => Some(*difference),
            };
            match named {
                Some(difference) => *differences.entry(difference).or_insert(0) += 1,
                None => replayed += 1,
            }
        }
    }
    use Difference::{
        DirectoryOutside, EscapeLetOut, EscapeRefused, Malformed, NoAnswer, NoEntry, NoProgram,
        NoRegularFile, NotBase64, Permissions, RelativeDirectory, TimeLimit, UnknownHere,
    };
    let expected = BTreeMap::from([
        (Malformed, 15),
        (UnknownHere, 62),
        (NoProgram, 1),
        (TimeLimit, 4),
        (RelativeDirectory, 2),
        (DirectoryOutside, 5),
        (EscapeLetOut, 9),
        (EscapeRefused, 11),
        (Permissions, 4),
        (NoEntry, 4),
        (NotBase64, 1),
        (NoRegularFile, 2),
        (NoAnswer, 10),
    ]);
    assert_eq!((replayed, differences), (120, expected));
}

#[tokio::test(start_paused = true)]
async fn recorded_answers_mean_here_what_they_meant() {
    for segment in segments() {
        let workspace = segment.register["body"]["workspace"].as_str().unwrap();
        let (_router, sandbox, mut runner) = connect_at(workspace).await;
        for recorded in segment.requests.into_iter().flatten() {
            if difference(workspace, &recorded).is_none() {
                replay(&sandbox, &mut runner, workspace, recorded).await;
            }
        }
    }
}

/// Makes our request with the same meaning as the recorded one, and gives it the recorded answer.
async fn replay(sandbox: &crate::Sandbox, runner: &mut Runner, workspace: &str, recorded: Recorded) {
    let Recorded { asked, answer } = recorded;
    let (body, kind) = (&asked["body"], asked["type"].as_str().unwrap());
    let path = body["path"].as_str().unwrap_or_default();
    let answers = async {
        if kind == "read_file" {
            // Our request checks the path before it reads.
            runner.serve("stat", "file_info", info(8, 420, false)).await;
        }
        let ours = runner.asked_for(kind).await;
        expect_same(workspace, kind, body, &ours["body"]);
        if let (Some(limit), Some(-1)) = (body["timeout"].as_u64(), answer["body"]["exit_code"].as_i64()) {
            let died_of_a_signal = body.to_string().contains("kill -");
            tokio::time::sleep(Duration::from_secs(if died_of_a_signal { 0 } else { limit })).await;
        }
        runner.answer(&ours, answer["type"].as_str().unwrap(), answer["body"].clone()).await;
        if kind == "exec"
            && answer["body"]["message"].as_str().is_some_and(|text| text.contains("no such file"))
        {
            runner.serve("stat", "error", json!({"message": "x", "code": "ENOENT"})).await;
        }
    };
    let call = async {
        match kind {
            "exec" => exec(sandbox, body, &answer).await,
            "read_file" => read(sandbox, path, &answer).await,
            "write_file" => {
                let content = STANDARD.decode(body["data"].as_str().unwrap()).unwrap();
                let mut writer = sandbox.write_file(path.as_bytes(), WriteOptions::default()).await?;
                writer.write(&content).await?;
                assert_eq!(writer.finish().await?, content.len() as u64);
                Ok(())
            }
            "stat" => {
                let found = sandbox.stat(path.as_bytes()).await?;
                let said = &answer["body"];
                assert_eq!(found.kind == FileKind::Directory, said["is_dir"] == true);
                assert_eq!(found.size_bytes, said["size"]);
                assert_eq!(u64::from(found.mode), said["mode"].as_u64().unwrap() & 0o777);
                Ok(())
            }
            "read_dir" => {
                let mut reader = sandbox.read_dir(path.as_bytes()).await?;
                let mut listed: Vec<DirEntry> = Vec::new();
                while let Some(batch) = reader.next_batch().await {
                    listed.extend(batch?);
                }
                let said = answer["body"]["entries"].as_array().unwrap();
                assert_eq!(listed.len(), said.len());
                for (ours, theirs) in listed.iter().zip(said) {
                    assert_eq!(ours.name, theirs["name"].as_str().unwrap().as_bytes());
                    assert_eq!(ours.kind == FileKind::Directory, theirs["is_dir"] == true);
                }
                Ok(())
            }
            "mkdir_all" => sandbox.mkdir_all(path.as_bytes(), body["perm"].as_u64().unwrap() as u32).await,
            "remove" => sandbox.remove(path.as_bytes()).await,
            "remove_all" => sandbox.remove_all(path.as_bytes()).await,
            other => panic!("{other}"),
        }
    };
    let (called, ()) = tokio::join!(call, answers);
    match called {
        Ok(()) => assert_ne!(answer["type"], "error", "{answer}"),
        Err(error) => expect_fault(&error, &answer, &asked),
    }
}

/// Asserts that our request has the same content as the recorded one.
fn expect_same(workspace: &str, kind: &str, theirs: &Value, ours: &Value) {
    let same = |field: &str| assert_eq!(ours.get(field), theirs.get(field), "{field} of {theirs}");
    if kind == "exec" {
        if theirs["shell"] == true {
            same("command")
        } else {
            same("args")
        }
        assert_eq!(ours["shell"] == true, theirs["shell"] == true);
        // The workspace itself is the default, and is not named.
        if theirs["dir"]
            .as_str()
            .is_some_and(|dir| dir.trim_end_matches('/') != workspace.trim_end_matches('/'))
        {
            same("dir");
        }
        for field in ["timeout", "stdin", "run_as_user"] {
            same(field);
        }
        return;
    }
    let normal = super::super::path::Workspace::new(workspace);
    let path = normal.relative(theirs["path"].as_str().unwrap().as_bytes()).unwrap();
    assert_eq!(ours["path"], path);
    if kind == "write_file" {
        same("data");
    }
    if kind == "mkdir_all" {
        same("perm");
    }
}

async fn exec(sandbox: &crate::Sandbox, body: &Value, answer: &Value) -> Result<(), SandboxError> {
    let word = |value: &Value| value.as_str().unwrap().as_bytes().to_vec();
    let mut request = match body["args"].as_array() {
        Some(arguments) if body["shell"] != true => ExecRequest::argv(arguments.iter().map(word)),
        _ => ExecRequest::shell(word(&body["command"])),
    };
    request.timeout = body["timeout"].as_u64().map(Duration::from_secs);
    request.cwd = body.get("dir").map(word);
    if let Some(user) = body["run_as_user"].as_str() {
        request = request.run_as(user, Some(crate::Approval::given_by("u1")));
    }
    request.stdin = body.get("stdin").is_some();
    let exec = sandbox.exec(request).await?;
    if let Some(input) = body["stdin"].as_str() {
        exec.control().write_stdin(input.as_bytes()).await?;
        exec.control().close_stdin();
    }
    let collected = exec.collect(usize::MAX).await?;
    let said = &answer["body"];
    assert_eq!((collected.stdout, collected.stderr), (word(&said["stdout"]), word(&said["stderr"])));
    assert_eq!(collected.outcome.code.map(i64::from), said["exit_code"].as_i64());
    // Difference: `timed_out` follows the clock, since the runner reports the opposite.
    let met_limit = said["exit_code"] == -1 && !body.to_string().contains("kill -");
    assert_eq!(collected.outcome.timed_out, met_limit, "{body}");
    assert_eq!(collected.outcome.still_open, said["timed_out"] == true);
    Ok(())
}

async fn read(sandbox: &crate::Sandbox, path: &str, answer: &Value) -> Result<(), SandboxError> {
    let mut reader = sandbox.read_file(path.as_bytes(), Range::default()).await?;
    let mut content = Vec::new();
    while let Some(piece) = reader.next().await {
        content.extend_from_slice(&piece?);
    }
    assert_eq!(content, STANDARD.decode(answer["body"]["data"].as_str().unwrap()).unwrap());
    Ok(())
}

/// The expected meaning of a runner's error, by its code and the end of its text.
fn expect_fault(error: &SandboxError, answer: &Value, asked: &Value) {
    let (code, message) = (
        answer["body"]["code"].as_str().unwrap_or_default(),
        answer["body"]["message"].as_str().unwrap_or_default(),
    );
    let ends = |words: &str| message.ends_with(words);
    let expected = match code {
        "EIO" if asked["type"] == "exec" && message.contains("\"sudo\"") => "unsupported",
        "EIO" if asked["type"] == "exec" && ends("no such file or directory") => "invalid_cwd",
        "ENOENT" => "not_found",
        "EEXIST" if ends("directory not empty") => "directory_not_empty",
        "EPERM" => "escapes_workspace",
        "EIO" if ends("is a directory") => "is_a_directory",
        "EIO" if ends("not a directory") => "not_a_directory",
        "EIO" if ends("file name too long") => "name_too_long",
        _ => "io",
    };
    assert_eq!(error.kind(), expected, "{asked} {answer}");
    assert!(!error.to_string().contains("resolved to"), "no resolved path is revealed");
}

#[tokio::test(start_paused = true)]
async fn registrations_are_answered_as_they_were() {
    for segment in segments() {
        let text = segment.register.to_string();
        if segment.answer.contains("AUTH_FAILED") {
            let answer = refusal(&text).await;
            let recorded: Value = serde_json::from_str(&segment.answer).unwrap();
            // Difference: the message names the problem with the token.
            assert_eq!(
                (&answer["type"], &answer["body"]["code"]),
                (&recorded["type"], &recorded["body"]["code"])
            );
            continue;
        }
        let router = crate::SandboxRouter::new(crate::RouterConfig::default());
        let workspace = segment.register["body"]["workspace"].as_str().unwrap();
        // The recorded token is not valid here; the rest is unchanged.
        let ours: Value = serde_json::from_str(&register_text("u1:laptop:1", workspace)).unwrap();
        let theirs: Value = serde_json::from_str(&text.replace("\"tok\"", "\"u1:laptop:1\"")).unwrap();
        assert_eq!(ours, theirs);
        Runner::register(&router, &theirs.to_string()).await;
        assert!(matches!(segment.answer.as_str(), "" | r#"{"type":"register_ok","body":{"status":"ok"}}"#));
    }
}

/// The answer to a registration with an unknown token.
async fn refusal(register: &str) -> Value {
    let router = crate::SandboxRouter::new(crate::RouterConfig::default());
    let (server_end, mut link) = crate::memory_link();
    let register = async {
        link.send(crate::LinkMessage::Text(register.to_owned())).await.unwrap();
        let Some(Ok(crate::LinkMessage::Text(answer))) = link.next().await else { panic!("no answer") };
        serde_json::from_str(&answer).unwrap()
    };
    tokio::join!(router.serve_remote(server_end, crate::testing::admit), register).1
}
