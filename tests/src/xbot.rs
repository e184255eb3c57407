//! A stand-in for an xbot runner: its JSON dialect over a real WebSocket, with real commands and files.
//!
//! It behaves as in the recorded frames of the real one, oddities included: it does not confine commands, kills only a
//! command's own process at a time limit, and answers in the order in which requests end.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tempfile::TempDir;
use tungstenite::{Message, WebSocket};

use crate::{Person, Server, eventually};

/// The interval at which reading the socket is interrupted for sending.
const TURN: Duration = Duration::from_millis(5);

/// How long the stand-in may take to be online.
const ONLINE_WITHIN: Duration = Duration::from_secs(60);

/// A connected stand-in; it disconnects when this is dropped.
pub struct XbotRunner {
    workspace: TempDir,
    is_over: Arc<AtomicBool>,
    socket: Option<JoinHandle<()>>,
}

impl XbotRunner {
    /// Registers a runner of `person` and connects it; returns when it is online.
    pub fn start(server: &Server, person: &Person, name: &str) -> Self {
        let token = person.add_runner(name);
        let workspace = TempDir::with_prefix("sandbridge-xbot-").unwrap();
        let mut socket = connect(server, &person.name);
        let user = &person.name;
        let body = json!({"user_id": user, "auth_token": token, "workspace": workspace.path(), "shell": "/bin/bash"});
        let register = json!({"type": "register", "user_id": user, "body": body});
        socket.send(Message::text(register.to_string())).unwrap();
        let answer = socket.read().unwrap();
        assert_eq!(answer.to_text().unwrap(), r#"{"type":"register_ok","body":{"status":"ok"}}"#);
        let is_over = Arc::new(AtomicBool::new(false));
        let (root, stop) = (workspace.path().to_owned(), Arc::clone(&is_over));
        let runner =
            Self { workspace, is_over, socket: Some(thread::spawn(move || serve(socket, root, &stop))) };
        eventually(&format!("runner {name} is online"), ONLINE_WITHIN, || {
            person.is_online(name).then_some(())
        });
        runner
    }

    /// The stand-in's workspace on disk.
    pub fn workspace(&self) -> &Path {
        self.workspace.path()
    }

    /// Hangs up without a close frame.
    pub fn disconnect(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(socket) = self.socket.take() {
            socket.join().unwrap();
        }
    }
}

impl Drop for XbotRunner {
    fn drop(&mut self) {
        self.disconnect();
    }
}

fn connect(server: &Server, user: &str) -> WebSocket<TcpStream> {
    let address = server.url().trim_start_matches("http://");
    let stream = TcpStream::connect(address).unwrap();
    let (socket, _) = tungstenite::client(format!("ws://{address}/ws/{user}"), stream).unwrap();
    socket
}

/// Owns the socket: reads requests, each of which gets a thread, and sends their answers.
fn serve(mut socket: WebSocket<TcpStream>, root: PathBuf, is_over: &AtomicBool) {
    socket.get_ref().set_read_timeout(Some(TURN)).unwrap();
    let (answers, answered): (Sender<String>, Receiver<String>) = channel();
    while !is_over.load(Ordering::Relaxed) {
        match socket.read() {
            Ok(Message::Text(text)) => {
                let request: Value = serde_json::from_str(&text).unwrap();
                let (answers, root) = (answers.clone(), root.clone());
                thread::spawn(move || {
                    // After hanging up, answers are not needed.
                    let _ = answers.send(answer(&root, &request).to_string());
                });
            }
            Ok(_) => {}
            Err(tungstenite::Error::Io(error))
                if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
            Err(_) => return,
        }
        while let Ok(text) = answered.try_recv() {
            if socket.send(Message::text(text)).is_err() {
                return;
            }
        }
    }
}

fn answer(root: &Path, request: &Value) -> Value {
    let body = &request["body"];
    let path = root.join(body["path"].as_str().unwrap_or_default());
    let done = |result: io::Result<()>| result.map(|()| ("ok", Value::Null));
    let result = match request["type"].as_str().unwrap() {
        "exec" => exec(root, body),
        "read_file" => {
            std::fs::read(&path).map(|data| ("file_content", json!({"data": STANDARD.encode(data)})))
        }
        "write_file" => done(write(&path, body)),
        "stat" => std::fs::metadata(&path).map(|found| ("file_info", info(&path, &found))),
        "read_dir" => read_dir(&path),
        "mkdir_all" => done(std::fs::create_dir_all(&path)),
        "remove" => done(std::fs::remove_file(&path).or_else(|_| std::fs::remove_dir(&path))),
        "remove_all" => done(match std::fs::remove_dir_all(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }),
        other => {
            let message = format!("unknown request type: {other}");
            return json!({"id": request["id"], "type": "error", "body": {"message": message, "code": "EINVAL"}});
        }
    };
    let (kind, body) = result.unwrap_or_else(|error| ("error", fault(&path, &error)));
    json!({"id": request["id"], "type": kind, "body": body})
}

/// An error in Go's wording: lower case, no number.
fn fault(path: &Path, error: &io::Error) -> Value {
    let words = error.to_string().to_lowercase();
    let words = words.split(" (os error").next().unwrap();
    let code = match error.kind() {
        io::ErrorKind::NotFound => "ENOENT",
        io::ErrorKind::AlreadyExists | io::ErrorKind::DirectoryNotEmpty => "EEXIST",
        io::ErrorKind::PermissionDenied => "EPERM",
        _ => "EIO",
    };
    json!({"message": format!("open {}: {words}", path.display()), "code": code})
}

fn write(path: &Path, body: &Value) -> io::Result<()> {
    let perm = body["perm"].as_u64().unwrap_or(0) as u32 & 0o777;
    let data = STANDARD.decode(body["data"].as_str().unwrap()).map_err(io::Error::other)?;
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(perm).open(path)?.write_all(&data)
}

fn info(path: &Path, found: &std::fs::Metadata) -> Value {
    const DIRECTORY: u32 = 1 << 31;
    let mode = found.mode() & 0o777 | if found.is_dir() { DIRECTORY } else { 0 };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    json!({
        "name": name, "size": found.len(), "mode": mode, "mod_time": "2026-11-21T20:49:28Z", "is_dir": found.is_dir(),
    })
}

fn read_dir(path: &Path) -> io::Result<(&'static str, Value)> {
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(path)? {
        let entry = entry?;
        let (name, found) = (entry.file_name(), entry.metadata()?);
        entries.push(json!({"name": name.to_string_lossy(), "is_dir": found.is_dir(), "size": found.len()}));
    }
    Ok(("dir_entries", json!({"entries": entries})))
}

fn exec(root: &Path, body: &Value) -> io::Result<(&'static str, Value)> {
    let mut command = if body["shell"] == true {
        let mut shell = Command::new("/bin/sh");
        shell.arg("-c").arg(body["command"].as_str().unwrap());
        shell
    } else {
        let mut words = body["args"].as_array().unwrap().iter().map(|word| word.as_str().unwrap());
        let mut program = Command::new(words.next().unwrap());
        program.args(words);
        program
    };
    let limit = match body["timeout"].as_u64() {
        Some(seconds @ 1..=3600) => Duration::from_secs(seconds),
        _ => Duration::from_secs(60),
    };
    let spawned = command
        .current_dir(body["dir"].as_str().map_or(root, Path::new))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut child) = spawned else {
        let message = "exec error: fork/exec: no such file or directory";
        return Ok(("error", json!({"message": message, "code": "EIO"})));
    };
    let input = body["stdin"].as_str().unwrap_or_default().to_owned();
    let mut stdin = child.stdin.take().unwrap();
    // A command that reads no input breaks the pipe.
    let writer = thread::spawn(move || drop(stdin.write_all(input.as_bytes())));
    let (stdout, stderr) = (gather(child.stdout.take().unwrap()), gather(child.stderr.take().unwrap()));
    let exit_code = wait(&mut child, limit)?;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let (stdout, stderr) = (text(stdout.join().unwrap()), text(stderr.join().unwrap()));
    writer.join().unwrap();
    Ok((
        "exec_result",
        json!({"stdout": stdout, "stderr": stderr, "exit_code": exit_code, "timed_out": false}),
    ))
}

fn gather(mut from: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = from.read_to_end(&mut bytes);
        bytes
    })
}

/// Waits for the command's own process; -1 if a signal or its limit ended it.
fn wait(child: &mut Child, limit: Duration) -> io::Result<i32> {
    let end = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status.code().unwrap_or(-1));
        }
        if Instant::now() >= end {
            child.kill()?;
        }
        thread::sleep(TURN);
    }
}
