//! The `sandbridge` program, tested from the outside: its output and its exit codes.
#![allow(clippy::unwrap_used, missing_docs)]

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::proxied::many_header_lines;
use tokio_tungstenite::tungstenite::{self, Message, WebSocket};

/// The timeout for every step of these tests.
const PATIENCE: Duration = Duration::from_secs(20);

/// Returns a command that runs the program, without environment variables that could configure it.
fn sandbridge(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sandbridge"));
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.as_bytes().starts_with(b"SANDBRIDGE_")) {
        command.env_remove(name);
    }
    command.env("HOME", home).stdin(Stdio::null());
    command
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Creates a home directory with a login to `server`.
fn logged_in(server: &str) -> TempDir {
    let home = tempfile::tempdir().unwrap();
    let login = json!({"server": server, "logins": {server: {"token": "t", "user": "ada", "chat": "c"}}});
    fs::create_dir(home.path().join(".sandbridge")).unwrap();
    fs::write(home.path().join(".sandbridge/client.json"), login.to_string()).unwrap();
    home
}

/// Starts a server that answers every connection with these bytes once it has received something, and then closes the connection.
fn answering(bytes: &'static [u8]) -> (String, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let answering = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 1024]).unwrap();
        stream.write_all(bytes).unwrap();
    });
    (address.to_string(), answering)
}

/// A TLS server's response to plain text: a fatal alert.
const TLS_ALERT: &[u8] = &[0x15, 3, 3, 0, 2, 2, 50];

#[test]
fn an_empty_environment_variable_counts_as_unset() {
    let home = tempfile::tempdir().unwrap();
    let mut command = sandbridge(home.path());
    for name in ["SANDBRIDGE_HOME", "SANDBRIDGE_SERVER", "SANDBRIDGE_TIMEOUT", "SANDBRIDGE_CA_CERT"] {
        command.env(name, "");
    }
    let output = command.args(["exec", "--", "true"]).output().unwrap();
    assert_eq!(output.status.code(), Some(125), "{}", told(&output));
    assert!(told(&output).contains("not logged in to http://127.0.0.1:8080"), "{}", told(&output));
}

#[test]
fn invalid_arguments_are_usage_errors() {
    let home = logged_in("http://127.0.0.1:1");
    for (arguments, words) in [
        (
            &[OsStr::new("exec"), OsStr::new("--timeout"), OsStr::new("99999999"), OsStr::new("true")][..],
            "--timeout",
        ),
        (&[OsStr::new("exec"), OsStr::new("--"), OsStr::from_bytes(b"\xff")], "must be UTF-8"),
        (&[OsStr::new("chat"), OsStr::new(" ")], "MESSAGE is empty"),
    ] {
        let output = sandbridge(home.path()).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", told(&output));
        assert!(told(&output).contains(words), "{}", told(&output));
    }
}

#[test]
fn an_error_of_an_account_command_is_json_for_programs() {
    let home = tempfile::tempdir().unwrap();
    let output = sandbridge(home.path()).args(["user", "remove", "nobody", "--json"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let line: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&line["type"], &line["kind"]), (&json!("error"), &json!("not_found")));
    assert!(line["message"].as_str().unwrap().contains("nobody"), "{line}");
}

#[test]
fn plain_http_to_a_tls_server_is_reported() {
    for command in [&["runner", "list"][..], &["exec", "--", "true"]] {
        let (address, answering) = answering(TLS_ALERT);
        let home = logged_in(&format!("http://{address}"));
        let output = sandbridge(home.path()).args(command).output().unwrap();
        assert!(told(&output).contains("begin with https://"), "{command:?}: {}", told(&output));
        answering.join().unwrap();
    }
}

#[test]
fn tls_to_a_plain_http_server_is_reported() {
    let (address, answering) = answering(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    let home = logged_in(&format!("https://{address}"));
    let output = sandbridge(home.path()).args(["runner", "list"]).output().unwrap();
    assert!(told(&output).contains("begin with http://"), "{}", told(&output));
    answering.join().unwrap();
}

#[test]
fn a_copy_that_is_terminated_leaves_nothing_behind() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let home = logged_in(&format!("http://{}", listener.local_addr().unwrap()));
    let target = tempfile::tempdir().unwrap();
    let mut copy = sandbridge(home.path())
        .args(["cp", ":x", "x"])
        .current_dir(target.path())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let (mut stream, _) = listener.accept().unwrap();
    request(&stream);
    let stat = r#"{"kind":"file","size":10,"mode":420}"#;
    write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{stat}", stat.len()).unwrap();
    request(&stream);
    write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf").unwrap();
    let files = || fs::read_dir(target.path()).unwrap().count();
    eventually(&mut copy, || files() == 1);
    let pid = rustix::process::Pid::from_child(&copy);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert_eq!(copy.wait().unwrap().code(), Some(130));
    assert_eq!(files(), 0, "the partial file was removed");
}

/// Reads a request without a body to its end.
fn request(stream: &TcpStream) {
    let mut lines = BufReader::new(stream).lines();
    while !lines.next().unwrap().unwrap().is_empty() {}
}

/// Waits until `is_so` returns true while `child` runs.
fn eventually(child: &mut Child, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "it did not happen in time");
        assert_eq!(child.try_wait().unwrap(), None, "the program exited early");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn two_servers_on_one_home_are_refused() {
    let home = tempfile::tempdir().unwrap();
    let mut first = sandbridge(home.path())
        .args(["serve", "--listen", "127.0.0.1:0", "--docker", "off"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(first.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert!(line.starts_with("listening on"), "{line}");
    let second = sandbridge(home.path())
        .args(["serve", "--listen", "127.0.0.1:0", "--docker", "off"])
        .output()
        .unwrap();
    let users = sandbridge(home.path()).args(["user", "list"]).output().unwrap();
    first.kill().unwrap();
    first.wait().unwrap();
    assert_eq!(second.status.code(), Some(1));
    let expected = format!("(pid {}); stop it or pass --home DIR", first.id());
    assert!(told(&second).contains(&expected), "{}", told(&second));
    assert!(users.status.success(), "accounts are managed while a server runs: {}", told(&users));
}

/// A message list of a chat whose only message reports a running command.
const RUNNING: &str = r#"{"messages":[{"id":1,"role":"exec","text":"","exec":{"status":"running"}}]}"#;

/// `sandbridge chat` at a server that this test plays, up to its request to post.
struct ChatUnderTest {
    chat: Child,
    events: WebSocket<TcpStream>,
    requests: TcpStream,
    _home: TempDir,
}

impl ChatUnderTest {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let home = logged_in(&format!("http://{}", listener.local_addr().unwrap()));
        let chat = sandbridge(home.path())
            .args(["chat", "!sleep 9"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut events = tungstenite::accept(listener.accept().unwrap().0).unwrap();
        events.send(Message::text(r#"{"type":"hello"}"#)).unwrap();
        let (requests, _) = listener.accept().unwrap();
        let mut this = Self { chat, events, requests, _home: home };
        assert!(this.request().starts_with("POST /api/v1/chats/c/messages"));
        this
    }

    /// Reads a request with its body, and returns its first line.
    fn request(&mut self) -> String {
        let mut reader = BufReader::new(&self.requests);
        let lines: Vec<String> =
            reader.by_ref().lines().map(Result::unwrap).take_while(|line| !line.is_empty()).collect();
        let length = lines
            .iter()
            .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
        reader.read_exact(&mut vec![0; length.unwrap()]).unwrap();
        lines[0].clone()
    }

    fn answer(&mut self, json: &str) {
        write!(self.requests, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{json}", json.len()).unwrap();
    }

    fn ctrl_c(&self) {
        let pid = rustix::process::Pid::from_child(&self.chat);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    }
}

#[test]
fn a_chat_whose_connection_breaks_while_a_command_runs_ends_with_125() {
    let mut test = ChatUnderTest::start();
    test.answer(RUNNING);
    drop(test.events);
    assert_eq!(test.chat.wait().unwrap().code(), Some(125));
}

#[test]
fn ctrl_c_while_a_message_is_posted_cancels_its_command() {
    let mut test = ChatUnderTest::start();
    test.ctrl_c();
    test.answer(RUNNING);
    assert!(test.request().starts_with("POST /api/v1/chats/c/cancel"));
    test.answer("{}");
    let ended =
        r#"{"type":"message","message":{"id":1,"role":"exec","text":"","exec":{"status":"cancelled"}}}"#;
    test.events.send(Message::text(ended)).unwrap();
    assert_eq!(test.chat.wait().unwrap().code(), Some(130));
}

#[test]
fn a_socket_is_opened_through_a_proxy_that_adds_a_hundred_header_lines() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let home = logged_in(&format!("http://{}", listener.local_addr().unwrap()));
    let mut command = sandbridge(home.path());
    let mut chat =
        command.args(["chat", "!true"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut events = tungstenite::accept_hdr(listener.accept().unwrap().0, many_header_lines).unwrap();
    events.send(Message::text(r#"{"type":"hello"}"#)).unwrap();
    let mut method = [0; 4];
    listener.accept().unwrap().0.read_exact(&mut method).unwrap();
    assert_eq!(&method, b"POST");
    chat.kill().unwrap();
    chat.wait().unwrap();
}

#[test]
fn a_refused_socket_reports_the_servers_reason_after_one_request() {
    let refusal = concat!(
        "HTTP/1.1 403 Forbidden\r\nContent-Length: 65\r\n\r\n",
        r#"{"error":{"kind":"forbidden","message":"this key may only read"}}"#
    );
    let (address, answering) = answering(refusal.as_bytes());
    let home = logged_in(&format!("http://{address}"));
    let output = sandbridge(home.path()).args(["chat", "!true"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", told(&output));
    assert!(told(&output).contains("this key may only read"), "{}", told(&output));
    answering.join().unwrap();
}
