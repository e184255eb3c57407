//! An MCP server from npm as an example of a line-based program: its lines go in and out over `exec --stdin`.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};
use tests::{Machine, Person, Server};

use crate::world::copy_node_modules;

/// How long an answer may take; node has to start first.
const ANSWER_WITHIN: Duration = Duration::from_secs(60);

/// The server's program, relative to the workspace.
const PROGRAM: &str = "mcp/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js";

/// An MCP server on the machine, and its output.
struct Mcp {
    process: Child,
    stdin: ChildStdin,
    lines: Receiver<String>,
}

impl Mcp {
    fn start(person: &Person, workspace: &Path) -> Self {
        let mut process = person
            .command(&["exec", "--stdin", "--", "node", PROGRAM, workspace.to_str().unwrap()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (stdin, stdout) = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
        Self { process, stdin, lines: lines_of(stdout) }
    }

    fn say(&mut self, message: &Value) {
        writeln!(self.stdin, "{message}").unwrap();
    }

    /// Reads the next line, which must be JSON-RPC.
    fn hear(&self) -> Value {
        let line = self.lines.recv_timeout(ANSWER_WITHIN).expect("a line in time");
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("not JSON: {line}"));
        assert_eq!(message["jsonrpc"], "2.0", "{message}");
        message
    }

    fn ask(&mut self, id: u64, method: &str, params: Value) -> Value {
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        let answer = self.hear();
        assert_eq!(answer["id"], id, "{answer}");
        assert!(answer["error"].is_null(), "{answer}");
        answer["result"].clone()
    }

    fn initialize(&mut self) -> Value {
        let client = json!({"name": "sandbridge-tests", "version": "1"});
        let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
        let result = self.ask(0, "initialize", params);
        self.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        result
    }

    /// Closes the server's standard input; returns the remaining output on both streams, and the exit code.
    fn close(mut self) -> (Vec<String>, String, Option<i32>) {
        drop(self.stdin);
        let mut stderr = String::new();
        self.process.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        let code = self.process.wait().unwrap().code();
        (self.lines.iter().collect(), stderr, code)
    }
}

fn lines_of(stdout: ChildStdout) -> Receiver<String> {
    let (send, lines) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines() {
            let Ok(line) = line else { return };
            if send.send(line).is_err() {
                return;
            }
        }
    });
    lines
}

/// A machine whose workspace contains the package.
fn machine(server: &Server, person: &Person) -> Machine {
    let machine = Machine::start(server, person, "laptop");
    copy_node_modules(&machine.workspace().join("mcp/node_modules"));
    machine
}

#[test]
fn an_mcp_server_from_npm_answers_every_request_and_ends_with_its_input() {
    let server = Server::start();
    let person = server.person("alice");
    let machine = machine(&server, &person);
    let workspace = machine.workspace().canonicalize().unwrap();
    std::fs::write(workspace.join("notes.txt"), "zweite Zeile: äöü 😀\n").unwrap();
    let mut mcp = Mcp::start(&person, &workspace);

    let result = mcp.initialize();
    assert_eq!(result["serverInfo"]["name"], "secure-filesystem-server", "{result}");
    let tools = mcp.ask(1, "tools/list", json!({}));
    let names: Vec<_> = tools["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert!(names.contains(&&json!("read_text_file")), "{names:?}");

    let path = workspace.join("notes.txt");
    let read = json!({"name": "read_text_file", "arguments": {"path": path}});
    let read = mcp.ask(2, "tools/call", read);
    assert_eq!(read["content"][0]["text"], "zweite Zeile: äöü 😀\n", "{read}");

    // Many requests at once, each answered by one whole line.
    for id in 3..53 {
        mcp.say(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/list"}));
    }
    let mut answered: Vec<u64> = (3..53).map(|_| mcp.hear()["id"].as_u64().unwrap()).collect();
    answered.sort_unstable();
    assert_eq!(answered, (3..53).collect::<Vec<_>>());

    let (rest, stderr, code) = mcp.close();
    assert_eq!((rest, code), (Vec::new(), Some(0)), "{stderr}");
    assert!(stderr.contains("running on stdio") && !stderr.contains("jsonrpc"), "{stderr}");
}

#[test]
fn an_mcp_server_is_confined_like_every_command() {
    let server = Server::start();
    let person = server.person("alice");
    let machine = machine(&server, &person);
    let elsewhere = tempfile::tempdir().unwrap();
    std::fs::write(elsewhere.path().join("secret"), "secret words").unwrap();
    // Even if it is asked to serve the whole machine, the server sees only the files that commands see.
    let mut mcp = Mcp::start(&person, Path::new("/"));
    mcp.initialize();
    let path = elsewhere.path().join("secret");
    let read = mcp.ask(1, "tools/call", json!({"name": "read_text_file", "arguments": {"path": path}}));
    assert!(read["isError"] == true && !read.to_string().contains("secret words"), "{read}");
    let made = json!({"path": machine.workspace().canonicalize().unwrap().join("made"), "content": "x"});
    let made = mcp.ask(2, "tools/call", json!({"name": "write_file", "arguments": made}));
    assert!(made["isError"] != true && machine.workspace().join("made").exists(), "{made}");
    assert_eq!(mcp.close().2, Some(0));
}
