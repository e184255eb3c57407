//! A server that is killed between any two steps of an exec's life, for every kind of exec: the exec gets one end, one audit entry, and the runner's
//! result.
//!
//! The points are those of `execs::Point`; a server built for development kills itself at the one that its environment names.

use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use tests::http::Client;
use tests::{Machine, Person, Reply, ScriptedModel, Server, eventually};
use tungstenite::Message;
use tungstenite::client::IntoClientRequest;

use crate::agent::{messages, new_chat};

/// The timeout for every step.
const PATIENCE: Duration = Duration::from_secs(120);

/// The points in the life of a command whose output is read to its end.
const READ: [&str; 10] = [
    "before_record",
    "after_record",
    "sent",
    "started",
    "output",
    "exited",
    "before_end",
    "before_commit",
    "after_end",
    "acknowledged",
];

/// The points in the life of a command in the background, whose output and result stay on the machine where it ran.
const LEFT: [&str; 9] = [
    "before_record",
    "after_record",
    "sent",
    "started",
    "left",
    "exited",
    "before_end",
    "before_commit",
    "after_end",
];

/// A client that requests a command.
trait Asker {
    /// Requests the command without waiting for it.
    fn ask(&mut self, stage: &Stage, command: &str);

    /// Checks the client's final output.
    fn check(&mut self, _stage: &Stage, _has_run: bool) {}
}

/// A server that is killed and restarted, with a runner that stays connected.
struct Stage {
    server: Server,
    alice: Person,
    client: Client,
    machine: Machine,
    options: Vec<String>,
}

impl Stage {
    fn new(model: &ScriptedModel) -> Self {
        let options = [&["--docker", "off"], &model.options("openai")[..]].concat();
        let server = Server::start_with(&options);
        let alice = server.person("alice");
        let machine = Machine::start_with(&server, &alice, "laptop", &["--reconnect-max", "0.1"]);
        let client = Client::login(&server, "alice");
        let options = options.into_iter().map(str::to_owned).collect();
        Self { server, alice, client, machine, options }
    }

    /// Restarts the server with this point as the next kill, and waits for the runner.
    fn restart(&mut self, point: Option<&str>) {
        let options: Vec<&str> = self.options.iter().map(String::as_str).collect();
        self.server.restart_with(&options, point.map(|point| ("SANDBRIDGE_FAULT", point)).as_slice());
        eventually("the runner is back", PATIENCE, || {
            let runners = self.client.call("GET", "/runners").json();
            runners.as_array().unwrap().iter().any(|runner| runner["online"] == true).then_some(())
        });
    }

    /// The execs whose command contains this word.
    fn execs(&self, word: &str) -> Vec<Value> {
        let all = self.client.call("GET", "/execs?limit=1000").json();
        let is_it = |exec: &&Value| exec["command"].as_str().unwrap().contains(word);
        all.as_array().unwrap().iter().filter(is_it).cloned().collect()
    }

    /// The execs whose command contains this word, after all of them have ended.
    fn ended(&self, word: &str) -> Vec<Value> {
        eventually("all execs have ended", PATIENCE, || {
            let execs = self.execs(word);
            execs.iter().all(|exec| exec["status"] != "running").then_some(execs)
        })
    }

    /// The entries in the audit trail for commands that contain this word.
    fn audit(&self, word: &str) -> Vec<Value> {
        let all = self.client.call("GET", "/audit?action=exec&limit=1000").json();
        let is_it = |entry: &&Value| entry["target"].as_str().unwrap().contains(word);
        all["entries"].as_array().unwrap().iter().filter(is_it).cloned().collect()
    }

    /// The number of times that a command ran.
    fn runs(&self, word: &str) -> usize {
        std::fs::read_to_string(self.machine.workspace().join(word)).unwrap_or_default().lines().count()
    }
}

fn dies_at_every_point(points: &[&str], stage: &mut Stage, asker: &mut dyn Asker) {
    for point in points {
        let word = format!("ran-{point}");
        stage.restart(Some(point));
        asker.ask(stage, &format!("echo once >> {word}; echo said; sleep 0.3; exit 3"));
        stage.server.wait_killed(PATIENCE);
        stage.restart(None);
        // A running command finishes; a command whose result is unknown counts as lost.
        stage.ended(&word);
        asker.check(stage, stage.runs(&word) == 1);
        // A client that retried may have started the command only after the restart.
        let execs = stage.ended(&word);
        let (execs, audit, runs) = (execs.len(), stage.audit(&word), stage.runs(&word));
        assert!(execs <= 1 && runs <= execs, "{point}: {execs} execs, {runs} runs");
        // A client that retries before the runner is back gets an error, which is not the end of an exec.
        let ends = audit.iter().filter(|entry| entry["outcome"] != "offline").count();
        assert_eq!(ends, execs, "{point}: one audit entry for each end: {audit:?}");
        if execs == 1 {
            let exec = &stage.execs(&word)[0];
            let (status, outcome) = if runs == 1 { ("exited", "exit 3") } else { ("lost", "lost") };
            assert_eq!(
                (&exec["status"], &audit[0]["outcome"]),
                (&json!(status), &json!(outcome)),
                "{point}: {exec}"
            );
            assert_eq!(exec["code"], if runs == 1 { json!(3) } else { Value::Null }, "{point}: {exec}");
            assert_eq!(
                (&audit[0]["user"], &audit[0]["location"]),
                (&json!("alice"), &json!("laptop")),
                "{point}"
            );
        }
        match *point {
            "before_record" | "after_record" | "sent" => {}
            _ => assert_eq!(runs, 1, "{point}: the command had started"),
        }
    }
}

/// A model that runs the text of the user's message as a command.
fn model() -> ScriptedModel {
    ScriptedModel::start(|asked| {
        let said = asked.last_of_user();
        match said.split_once(' ') {
            Some((how @ ("run" | "leave"), command)) if asked.results().is_empty() => {
                Reply::Call(vec![("Shell", json!({"command": command, "background": how == "leave"}))])
            }
            _ => Reply::Say("done".to_owned()),
        }
    })
}

/// A person who posts a message in a new chat.
struct InChat {
    word: &'static str,
    chat: String,
}

impl InChat {
    fn new(word: &'static str) -> Self {
        Self { word, chat: String::new() }
    }
}

impl Asker for InChat {
    fn ask(&mut self, stage: &Stage, command: &str) {
        self.chat = new_chat(&stage.client, "full");
        let (address, token) = (stage.server.url().to_owned(), stage.client.token().to_owned());
        let text = format!("{}{command}", self.word);
        let path = format!("{address}/api/v1/chats/{}/messages", self.chat);
        // The server may die before it answers.
        thread::spawn(move || {
            let request = ureq::post(path).header("authorization", format!("Bearer {token}"));
            let request = request.header("content-type", "application/json");
            drop(request.send(json!({"text": text}).to_string()));
        });
    }

    fn check(&mut self, stage: &Stage, has_run: bool) {
        // The next server resumes the answer.
        eventually("the answer is over", PATIENCE, || {
            let shown = messages(&stage.client, &self.chat);
            let goes_on = |message: &Value| {
                ["queued", "running"].iter().any(|status| message["agent"]["status"] == *status)
            };
            (!shown.iter().any(goes_on)).then_some(())
        });
        if self.word != "!" || !has_run {
            return;
        }
        let shown = messages(&stage.client, &self.chat);
        let shown: Vec<&Value> = shown.iter().filter(|message| message["role"] == "exec").collect();
        assert_eq!(shown.len(), 1, "{shown:?}");
        assert_eq!(
            (&shown[0]["text"], &shown[0]["exec"]["exit_code"]),
            (&json!("said\n"), &json!(3)),
            "{shown:?}"
        );
    }
}

#[test]
fn a_chat_command_ends_once() {
    let mut stage = Stage::new(&model());
    dies_at_every_point(&READ, &mut stage, &mut InChat::new("!"));
}

#[test]
fn a_models_command_ends_once() {
    let mut stage = Stage::new(&model());
    dies_at_every_point(&READ, &mut stage, &mut InChat::new("run "));
}

#[test]
fn a_models_task_ends_once() {
    let mut stage = Stage::new(&model());
    dies_at_every_point(&LEFT, &mut stage, &mut InChat::new("leave "));
}

/// The CLI, which reconnects after the server was killed.
struct Cli {
    options: &'static [&'static str],
    process: Option<Child>,
}

impl Asker for Cli {
    fn ask(&mut self, stage: &Stage, command: &str) {
        let arguments = [&["exec"], self.options, &["--", "sh", "-c", command]].concat();
        let mut cli = stage.alice.command(&arguments);
        cli.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.process = Some(cli.spawn().unwrap());
    }

    fn check(&mut self, _stage: &Stage, _has_run: bool) {
        // The CLI got the result, or its id, or it reconnects and gets the result that is known by then.
        assert!(self.process.take().unwrap().wait().unwrap().code().is_some(), "the CLI exits by itself");
    }
}

#[test]
fn an_exec_of_the_cli_ends_once() {
    let mut stage = Stage::new(&model());
    dies_at_every_point(&READ, &mut stage, &mut Cli { options: &[], process: None });
}

#[test]
fn a_detached_exec_of_the_cli_ends_once() {
    let mut stage = Stage::new(&model());
    dies_at_every_point(&LEFT, &mut stage, &mut Cli { options: &["--detach"], process: None });
}

/// A page with a terminal, which does not reconnect.
struct Terminal;

impl Asker for Terminal {
    fn ask(&mut self, stage: &Stage, command: &str) {
        let address = stage.server.url().trim_start_matches("http://").to_owned();
        let mut request = format!("ws://{address}/api/v1/exec").into_client_request().unwrap();
        let authorization = format!("Bearer {}", stage.client.token());
        request.headers_mut().insert("authorization", authorization.parse().unwrap());
        let (mut socket, _) = tungstenite::client(request, TcpStream::connect(&address).unwrap()).unwrap();
        let size = json!({"rows": 24, "columns": 80});
        let ask = json!({"pty": size, "linger_s": 60, "argv": ["sh", "-c", command]});
        socket.send(Message::text(ask.to_string())).unwrap();
        thread::spawn(move || while socket.read().is_ok() {});
    }
}

#[test]
fn a_terminal_ends_once() {
    let mut stage = Stage::new(&model());
    dies_at_every_point(&READ, &mut stage, &mut Terminal);
}

/// A client of the Model Context Protocol that calls this tool, each time in a new session.
struct Mcp {
    tool: &'static str,
    key: String,
}

impl Mcp {
    fn new(stage: &Stage, tool: &'static str) -> Self {
        let made = stage.alice.json(&["key", "add", "program", "--scope", "exec", "--json"]);
        Self { tool, key: made["key"].as_str().unwrap().to_owned() }
    }
}

impl Asker for Mcp {
    fn ask(&mut self, stage: &Stage, command: &str) {
        let (url, key) = (format!("{}/mcp", stage.server.url()), self.key.clone());
        let post = move |session: Option<&str>, body: &Value| {
            let request = ureq::post(&url)
                .header("authorization", format!("Bearer {key}"))
                .header("content-type", "application/json")
                .header("accept", "application/json, text/event-stream");
            let request = match session {
                Some(session) => request.header("mcp-session-id", session),
                None => request,
            };
            request.send(body.to_string())
        };
        let client = json!({"name": "test", "version": "1"});
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
        let hello =
            post(None, &json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello})).unwrap();
        let session = hello.headers()["mcp-session-id"].to_str().unwrap().to_owned();
        post(Some(&session), &json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).unwrap();
        let call = json!({"name": self.tool, "arguments": {"command": command}});
        thread::spawn(move || {
            let called = post(
                Some(&session),
                &json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}),
            );
            drop(called.map(|answer| answer.into_body().read_to_string()));
        });
    }
}

#[test]
fn an_mcp_exec_ends_once() {
    let mut stage = Stage::new(&model());
    let mut program = Mcp::new(&stage, "exec");
    dies_at_every_point(&READ, &mut stage, &mut program);
}

#[test]
fn an_mcp_task_ends_once() {
    let mut stage = Stage::new(&model());
    let mut program = Mcp::new(&stage, "task_start");
    dies_at_every_point(&LEFT, &mut stage, &mut program);
}
