//! The server's own MCP endpoint, over HTTP and over `sandbridge mcp`, used by the official MCP client.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};
use tests::http::Client;
use tests::{Machine, Person, Server, eventually, process};
use ureq::Agent;

/// The timeout for every step; node has to start first.
const WITHIN: Duration = Duration::from_secs(60);

/// The official client, in a separate process.
struct Official {
    process: Child,
    stdin: ChildStdin,
    answers: Receiver<Value>,
    waiting: Vec<Value>,
    asked: u64,
}

impl Official {
    fn start() -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("mcp");
        assert!(folder.join("node_modules").exists(), "run `npm ci` in {}", folder.display());
        let mut process = Command::new("node")
            .arg(folder.join("client.mjs"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (send, answers) = channel();
        let stdout = process.stdout.take().unwrap();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if send.send(serde_json::from_str(&line).unwrap()).is_err() {
                    return;
                }
            }
        });
        let stdin = process.stdin.take().unwrap();
        Self { process, stdin, answers, waiting: Vec::new(), asked: 0 }
    }

    /// Sends a request to the client's process; returns the request's number.
    fn begin(&mut self, mut what: Value) -> u64 {
        self.asked += 1;
        what["id"] = json!(self.asked);
        writeln!(self.stdin, "{what}").unwrap();
        self.asked
    }

    /// The result of the request with this number.
    fn end(&mut self, id: u64) -> Value {
        loop {
            if let Some(at) = self.waiting.iter().position(|answer| answer["id"] == id) {
                return self.waiting.remove(at);
            }
            let answer = self.answers.recv_timeout(WITHIN).expect("an answer in time");
            self.waiting.push(answer);
        }
    }

    fn ask(&mut self, what: Value) -> Value {
        let id = self.begin(what);
        let answer = self.end(id);
        assert!(answer["error"].is_null(), "{answer}");
        answer["ok"].clone()
    }

    fn call(&mut self, name: &str, tool: &str, arguments: Value) -> Value {
        self.ask(json!({"do": "call", "name": name, "tool": tool, "args": arguments}))
    }

    fn over_http(&mut self, name: &str, server: &Server, key: &str) {
        let hello = self
            .ask(json!({"do": "connect", "name": name, "url": format!("{}/mcp", server.url()), "key": key}));
        assert_eq!(hello["server"]["name"], "sandbridge", "{hello}");
        assert!(hello["instructions"].as_str().unwrap().contains("list_runners"), "{hello}");
    }

    fn over_stdio(&mut self, name: &str, person: &Person, key: Option<&str>) {
        let command = person.command(&["mcp"]);
        let variables = command.get_envs().map(|(name, value)| (name, value.unwrap_or_default()));
        let mut env: Value =
            variables.map(|(name, value)| (name.to_str().unwrap(), value.to_str().unwrap())).collect();
        if let Some(key) = key {
            env["SANDBRIDGE_API_KEY"] = json!(key);
            // With the key, no other login is needed.
            env["SANDBRIDGE_HOME"] = json!("/nonexistent");
        }
        let program = command.get_program().to_str().unwrap();
        self.ask(json!({"do": "connect", "name": name, "command": program, "args": ["mcp"], "env": env}));
    }
}

impl Drop for Official {
    fn drop(&mut self) {
        process::terminate(&mut self.process);
    }
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{result}"))
}

fn key(person: &Person, name: &str, scope: &str) -> String {
    let made = person.json(&["key", "add", name, "--scope", scope, "--json"]);
    made["key"].as_str().unwrap().to_owned()
}

/// The checks that apply to each transport.
fn works(official: &mut Official, name: &str, machine: &Machine) {
    let tools = official.ask(json!({"do": "list", "name": name}));
    let names: Vec<&str> =
        tools["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "list_runners",
            "exec",
            "read_file",
            "write_file",
            "list_directory",
            "glob",
            "grep",
            "task_start",
            "task_status",
            "task_read",
            "task_kill"
        ]
    );
    official.ask(json!({"do": "ping", "name": name}));
    let runners = official.call(name, "list_runners", json!({}));
    assert!(text(&runners).starts_with("laptop: online"), "{runners}");
    assert_eq!(runners["structuredContent"]["runners"][0]["name"], "laptop");

    let done =
        official.call(name, "exec", json!({"command": "cat; echo oops >&2; exit 3", "stdin": "äöü\n"}));
    assert_eq!(
        (&done["isError"], &done["structuredContent"]["exit_code"]),
        (&json!(true), &json!(3)),
        "{done}"
    );
    assert!(text(&done).contains("äöü") && text(&done).contains("oops"), "{done}");
    assert!(text(&done).ends_with("(exit code 3 on laptop)"), "{done}");
    let done = official.call(name, "exec", json!({"argv": ["printf", "%s", "a b"], "runner": "laptop"}));
    assert!(text(&done).starts_with("a b\n(exit code 0") && done["isError"] == false, "{done}");
    let killed = official.call(name, "exec", json!({"command": "kill -9 $$"}));
    assert_eq!(killed["structuredContent"]["signal"], 9, "{killed}");
    let late = official.call(name, "exec", json!({"command": "echo begun; sleep 30", "timeout_s": 0.5}));
    assert_eq!(
        (&late["structuredContent"]["timed_out"], &late["isError"]),
        (&json!(true), &json!(true)),
        "{late}"
    );
    assert!(text(&late).starts_with("begun\n"), "{late}");

    let written =
        official.call(name, "write_file", json!({"path": "notes/a.txt", "content": "eins\nzwei äöü\n"}));
    assert!(text(&written).starts_with("wrote 17 bytes"), "{written}");
    assert_eq!(std::fs::read_to_string(machine.workspace().join("notes/a.txt")).unwrap(), "eins\nzwei äöü\n");
    let read = official.call(name, "read_file", json!({"path": "notes/a.txt"}));
    assert_eq!(text(&read), "eins\nzwei äöü\n");
    let hash = read["content"][1]["text"]
        .as_str()
        .unwrap()
        .rsplit(' ')
        .next()
        .unwrap()
        .trim_end_matches(')')
        .to_owned();
    let part = official.call(name, "read_file", json!({"path": "notes/a.txt", "offset": 5, "limit": 6}));
    assert_eq!(text(&part), "zwei ", "half a character is left for the next part: {part}");
    assert!(part["content"][1]["text"].as_str().unwrap().contains("read on with offset 10"), "{part}");
    let changed = json!({"path": "notes/a.txt", "content": "neu", "if_match": hash});
    assert_eq!(official.call(name, "write_file", changed.clone())["isError"], false);
    let refused = official.call(name, "write_file", changed);
    assert!(refused["isError"] == true && text(&refused).contains("precondition_failed"), "{refused}");
    assert_eq!(text(&official.call(name, "list_directory", json!({"path": "notes"}))), "a.txt\t3");
    assert_eq!(text(&official.call(name, "glob", json!({"pattern": "**/*.txt"}))), "notes/a.txt\n");
    assert_eq!(text(&official.call(name, "grep", json!({"pattern": "n.u"}))), "notes/a.txt:1:neu\n");
    let outside = official.call(name, "read_file", json!({"path": "../../etc/passwd"}));
    assert!(outside["isError"] == true && !outside.to_string().contains("root:"), "{outside}");
    let wrong = official.call(name, "exec", json!({"comand": "true"}));
    assert!(wrong["isError"] == true && text(&wrong).contains("unknown field `comand`"), "{wrong}");
    let nowhere = official.call(name, "exec", json!({"command": "true", "runner": "nobody"}));
    assert!(
        nowhere["isError"] == true && text(&nowhere).contains("you have no runner named nobody"),
        "{nowhere}"
    );
}

#[test]
fn the_official_client_works_on_a_runner_over_http_and_over_stdio() {
    let server = Server::start();
    let person = server.person("alice");
    let machine = Machine::start(&server, &person, "laptop");
    let key = key(&person, "client", "exec");
    let mut official = Official::start();
    official.over_http("http", &server, &key);
    works(&mut official, "http", &machine);
    official.over_stdio("login", &person, None);
    works(&mut official, "login", &machine);
    official.over_stdio("key", &person, Some(&key));
    let done = official.call("key", "exec", json!({"command": "echo $((6 * 7))"}));
    assert!(text(&done).starts_with("42\n"), "{done}");
    for name in ["http", "login", "key"] {
        official.ask(json!({"do": "close", "name": name}));
    }
    let audit = Client::login(&server, "alice").call("GET", "/execs").json();
    assert!(audit.as_array().unwrap().iter().all(|exec| exec["status"] != "running"), "{audit}");
}

#[test]
fn a_cancelled_call_ends_its_command_and_progress_is_reported_before() {
    let server = Server::start();
    let person = server.person("alice");
    let _machine = Machine::start(&server, &person, "laptop");
    let key = key(&person, "client", "exec");
    let mut official = Official::start();
    official.over_http("http", &server, &key);
    official.over_stdio("stdio", &person, None);
    for (name, seconds) in [("http", "98765"), ("stdio", "98766")] {
        let command = format!("echo one; sleep 0.4; echo two; sleep {seconds}");
        let call = official.begin(
            json!({"do": "call", "name": name, "tool": "exec", "args": {"command": command}, "watch": true}),
        );
        let sleeping = format!("sleep {seconds}");
        eventually("the command sleeps", WITHIN, || {
            (!process::with_command(&sleeping).is_empty()).then_some(())
        });
        official.ask(json!({"do": "cancel", "call": call}));
        let cancelled = official.end(call);
        assert!(cancelled["error"].as_str().unwrap().contains("the test wants it to stop"), "{cancelled}");
        eventually("the command has ended", WITHIN, || {
            process::with_command(&sleeping).is_empty().then_some(())
        });

        let args = json!({"command": "for i in 1 2 3; do echo line $i; sleep 0.3; done"});
        let done =
            official.ask(json!({"do": "call", "name": name, "tool": "exec", "args": args, "watch": true}));
        let heard = done["heard"].as_array().unwrap();
        assert!(heard.iter().any(|news| news["message"].as_str().unwrap().contains("line 1")), "{done}");
        assert!(
            heard.windows(2).all(|pair| pair[0]["progress"].as_f64() < pair[1]["progress"].as_f64()),
            "{done}"
        );
    }
}

#[test]
fn two_sessions_work_in_parallel_and_a_task_outlives_its_session() {
    let server = Server::start();
    let person = server.person("alice");
    let mut machine = Machine::start(&server, &person, "laptop");
    let key = key(&person, "client", "exec");
    let mut official = Official::start();
    official.over_http("one", &server, &key);
    official.over_http("two", &server, &key);
    let call = |name: &str, word: &str| {
        let command = format!("sleep 0.3; echo {word}");
        json!({"do": "call", "name": name, "tool": "exec", "args": {"command": command}})
    };
    let begun: Vec<_> = [("one", "a"), ("two", "b"), ("one", "c"), ("two", "d")]
        .map(|(name, word)| (official.begin(call(name, word)), word))
        .into_iter()
        .collect();
    for (id, word) in begun {
        let done = official.end(id)["ok"].clone();
        assert!(text(&done).starts_with(&format!("{word}\n")), "{done}");
    }

    let long =
        official.call("one", "exec", json!({"command": "head -c 200000 /dev/zero | tr '\\0' x; echo end"}));
    assert!(
        text(&long).len() < 60_000 && text(&long).contains("bytes are left out"),
        "{}",
        text(&long).len()
    );
    let id = long["structuredContent"]["id"].as_str().unwrap();
    let rest = official.call("one", "task_read", json!({"id": id, "offset": 199_990, "limit": 100}));
    assert_eq!(text(&rest), "xxxxxxxxxxend\n", "{rest}");

    let started = official.call("one", "task_start", json!({"command": "echo up; sleep 87654"}));
    let id = started["structuredContent"]["id"].as_str().unwrap().to_owned();
    official.ask(json!({"do": "close", "name": "one"}));
    let read = eventually("the task has printed its output", WITHIN, || {
        let read = official.call("two", "task_read", json!({"id": id}));
        (text(&read) == "up\n").then_some(read)
    });
    assert!(read["content"][1]["text"].as_str().unwrap().contains("read on with offset 3"), "{read}");
    let status = official.call("two", "task_status", json!({}));
    assert!(text(&status).contains(&format!("{id} running on laptop: echo up")), "{status}");
    official.call("two", "task_kill", json!({"id": id}));
    assert!(process::with_command("sleep 87654").is_empty());
    eventually("its end is on record", WITHIN, || {
        let status = official.call("two", "task_status", json!({"id": id}));
        (status["structuredContent"]["tasks"][0]["status"] == "cancelled").then_some(())
    });

    machine.stop();
    eventually("the runner is offline", WITHIN, || (!person.is_online("laptop")).then_some(()));
    let offline = official.call("two", "exec", json!({"command": "true"}));
    assert!(
        offline["isError"] == true && text(&offline).starts_with("runner laptop is offline"),
        "{offline}"
    );
}

/// Sends a request like another program; returns the status, a header and the body.
fn post(server: &Server, headers: &[(&str, &str)], body: &str) -> (u16, Option<String>, String) {
    let agent: Agent = Agent::config_builder().http_status_as_error(false).build().into();
    let mut request = ureq::http::Request::post(format!("{}/mcp", server.url()))
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let mut response = agent.run(request.body(body.to_owned()).unwrap()).unwrap();
    let header = |name: &str| response.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
    let told = header("www-authenticate").or_else(|| header("mcp-session-id"));
    (response.status().as_u16(), told, response.body_mut().read_to_string().unwrap())
}

/// Announces a body of this size without sending it; returns the server's response.
fn announce(server: &Server, authorization: &str, session: &str, bytes: usize) -> String {
    let host = server.url().trim_start_matches("http://");
    let mut stream = TcpStream::connect(host).unwrap();
    write!(
        stream,
        "POST /mcp HTTP/1.1\r\nhost: {host}\r\nauthorization: {authorization}\r\nmcp-session-id: {session}\r\n\
         content-type: application/json\r\naccept: application/json, text/event-stream\r\ncontent-length: {bytes}\r\n\r\n"
    )
    .unwrap();
    stream.set_read_timeout(Some(WITHIN)).unwrap();
    let mut told = Vec::new();
    let mut piece = [0; 4096];
    while !String::from_utf8_lossy(&told).contains("}}") {
        let read = stream.read(&mut piece).unwrap();
        assert!(read > 0, "{}", String::from_utf8_lossy(&told));
        told.extend_from_slice(&piece[..read]);
    }
    String::from_utf8(told).unwrap()
}

fn initialize() -> String {
    let client = json!({"name": "t", "version": "1"});
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}).to_string()
}

#[test]
fn strangers_hostile_pages_and_invalid_requests_are_refused() {
    let server = Server::start();
    let (alice, bob) = (server.person("alice"), server.person("bob"));
    let [mine, his] =
        [key(&alice, "client", "exec"), key(&bob, "client", "exec")].map(|key| format!("Bearer {key}"));
    let wrong = format!("Bearer sbk_{}", "A".repeat(43));
    for headers in [&[][..], &[("authorization", wrong.as_str())], &[("cookie", "sandbridge_session=sbs_x")]]
    {
        let (status, told, body) = post(&server, headers, &initialize());
        assert_eq!((status, told.as_deref()), (401, Some("Bearer realm=\"sandbridge\"")), "{body}");
    }
    let mine_header = ("authorization", mine.as_str());
    let (status, _, body) = post(&server, &[mine_header, ("origin", "https://evil.example")], &initialize());
    assert_eq!(status, 403, "{body}");
    let (status, session, body) = post(&server, &[mine_header, ("origin", server.url())], &initialize());
    assert_eq!(status, 200, "{body}");
    let session = session.unwrap();
    let in_session = |authorization| [("authorization", authorization), ("mcp-session-id", session.as_str())];
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string();
    assert_eq!(post(&server, &in_session(&his), &list).0, 404, "another user's session is not found");
    assert_eq!(post(&server, &[mine_header, ("mcp-session-id", "made-up")], &list).0, 404);
    let (status, _, body) = post(&server, &in_session(&mine), &list);
    assert!(status == 200 && body.contains("task_kill"), "{status} {body}");

    let told = announce(&server, &mine, &session, 5 * 1024 * 1024);
    assert!(told.starts_with("HTTP/1.1 413 ") && told.contains("too_large"), "{told}");
    for nonsense in ["", "{", "[]", "null", "{}", "{\"jsonrpc\":\"1.0\"}", &"[".repeat(100_000)] {
        let (status, _, body) = post(&server, &in_session(&mine), nonsense);
        assert!((400..500).contains(&status), "{nonsense:.20}: {status} {body}");
    }
    assert_eq!(
        post(&server, &in_session(&mine), &list).0,
        200,
        "the invalid requests did not harm the session"
    );
}

#[test]
fn a_key_for_reading_cannot_run_or_write() {
    let server = Server::start();
    let person = server.person("alice");
    let machine = Machine::start(&server, &person, "laptop");
    std::fs::write(machine.workspace().join("a"), "A").unwrap();
    let mut official = Official::start();
    official.over_http("read", &server, &key(&person, "looker", "read"));
    let tools = official.ask(json!({"do": "list", "name": "read"})).to_string();
    assert!(
        tools.contains("read_file") && !tools.contains("write_file") && !tools.contains("\"exec\""),
        "{tools}"
    );
    assert_eq!(text(&official.call("read", "read_file", json!({"path": "a"}))), "A");
    for (tool, arguments) in [
        ("exec", json!({"command": "touch made"})),
        ("task_start", json!({"command": "touch made"})),
        ("write_file", json!({"path": "made", "content": ""})),
    ] {
        let refused = official.call("read", tool, arguments);
        assert!(refused["isError"] == true && text(&refused).contains("for reading only"), "{refused}");
    }
    assert!(!machine.workspace().join("made").exists());
}

#[test]
fn the_stdio_bridge_prints_only_messages_and_survives_a_server_restart() {
    let mut server = Server::start();
    let person = server.person("alice");
    let _machine = Machine::start(&server, &person, "laptop");
    let mut bridge = person.command(&["mcp"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = bridge.stdin.take().unwrap();
    let mut lines = BufReader::new(bridge.stdout.take().unwrap()).lines();
    let mut hear = move || -> Value { serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap() };
    writeln!(stdin, "{}", initialize()).unwrap();
    assert_eq!(hear()["result"]["protocolVersion"], "2025-06-18");
    writeln!(stdin, "{}", json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).unwrap();
    writeln!(stdin, "no json\n\n[1]").unwrap();
    assert_eq!(hear()["error"]["code"], -32700);
    assert_eq!(hear()["error"]["code"], -32600);
    writeln!(stdin, "{}", json!({"jsonrpc": "2.0", "id": 1, "method": "no/such"})).unwrap();
    assert!(hear()["error"].is_object());
    server.restart(&["--docker", "off"]);
    eventually("the runner is back", WITHIN, || person.is_online("laptop").then_some(()));
    let params = json!({"name": "exec", "arguments": {"command": "echo again"}});
    writeln!(stdin, "{}", json!({"jsonrpc": "2.0", "id": "x", "method": "tools/call", "params": params}))
        .unwrap();
    let done = hear();
    assert_eq!(
        (&done["id"], &done["result"]["structuredContent"]["output"]),
        (&json!("x"), &json!("again\n")),
        "{done}"
    );
    drop(stdin);
    assert_eq!(bridge.wait().unwrap().code(), Some(0));

    let refused = person.run(&["logout"]);
    assert_eq!(refused.code, 0);
    let refused = person.run(&["mcp"]);
    assert!(
        refused.code == 1 && refused.stdout.is_empty() && refused.stderr.contains("not logged in"),
        "{refused:?}"
    );
}
