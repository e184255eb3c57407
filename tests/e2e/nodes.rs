//! Servers as nodes of one PostgreSQL database: a node dies, freezes, loses its database, or stops gracefully.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::postgres::Postgres;
use tests::http::Client;
use tests::server::run;
use tests::{Machine, Output, Reply, ScriptedModel, Server, binaries, eventually, process};

/// The timeout for any single answer.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a node's lease lasts without a renewal.
const LEASE: Duration = Duration::from_secs(10);

/// The database of the nodes, and the encryption key that they share.
struct Cluster {
    url: String,
    key: TempDir,
}

impl Cluster {
    fn on(url: String) -> Self {
        let key = TempDir::with_prefix("sandbridge-key-").unwrap();
        fs::write(key.path().join("key"), "the key of all nodes of this test\n").unwrap();
        Self { url, key }
    }

    fn options(&self, node_url: &str) -> Vec<String> {
        let key = self.key.path().join("key").to_str().unwrap().to_owned();
        ["--docker", "off", "--node-url", node_url, "--encryption-key-file", &key].map(str::to_owned).to_vec()
    }

    fn start(&self, node_url: &str, more: &[&str]) -> Server {
        let options = self.options(node_url);
        let options: Vec<_> = options.iter().map(String::as_str).chain(more.iter().copied()).collect();
        Server::start_on(&self.url, &options)
    }
}

fn sandbridge(home: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(binaries::sandbridge());
    command.args(arguments).env("SANDBRIDGE_HOME", home);
    run(command, b"")
}

fn new_chat(client: &Client) -> String {
    client.send("POST", "/chats", b"{}").json()["id"].as_str().unwrap().to_owned()
}

fn messages(client: &Client, chat: &str) -> Vec<Value> {
    client.call("GET", &format!("/chats/{chat}/messages")).json()["messages"].as_array().unwrap().clone()
}

/// Posts a message in a chat; returns the status, and the kind of the error if it was refused.
fn say(client: &Client, chat: &str, text: &str) -> (u16, String) {
    let body = json!({ "text": text }).to_string();
    let answer = client.send("POST", &format!("/chats/{chat}/messages"), body.as_bytes());
    (answer.status, if is_taken(answer.status) { String::new() } else { answer.kind() })
}

fn is_taken(status: u16) -> bool {
    (200..300).contains(&status)
}

/// The status of `/readyz`, and its reason.
fn ready(server: &Server) -> (u16, String) {
    let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
    let mut answer = agent.get(format!("{}/readyz", server.url())).call().unwrap();
    (answer.status().as_u16(), answer.body_mut().read_to_string().unwrap())
}

fn wait_ready(server: &Server) {
    eventually("it is ready", PATIENCE, || (ready(server).0 == 200).then_some(()));
}

/// Starts a command that runs until the file `go` is in its workspace.
fn start_command(client: &Client, chat: &str) {
    say(client, chat, "!while [ ! -e go ]; do sleep 0.05; done; echo of the user");
    eventually("it runs", PATIENCE, || {
        messages(client, chat).iter().any(|message| message["exec"]["status"] == "running").then_some(())
    });
}

fn ended(client: &Client, chat: &str) -> Value {
    eventually("the command's end is on record", PATIENCE, || {
        messages(client, chat).into_iter().find(|message| message["exec"]["status"] == "exited")
    })
}

#[test]
fn a_killed_node_is_replaced_by_one_with_its_url_and_then_by_another() {
    let cluster = Cluster::on(testkit::postgres::database());
    let mut server = cluster.start("http://node-a:1", &[]);
    wait_ready(&server);
    let alice = server.person("alice");
    let machine = Machine::start(&server, &alice, "laptop");
    let client = Client::login(&server, "alice");
    let chat = new_chat(&client);
    start_command(&client, &chat);
    for url in ["http://node-a:1", "http://node-b:1"] {
        server.kill();
        let killed = Instant::now();
        let options = cluster.options(url);
        server.restart(&options.iter().map(String::as_str).collect::<Vec<_>>());
        wait_ready(&server);
        let taken = killed.elapsed();
        assert!(taken < LEASE + Duration::from_secs(20), "{taken:?}");
        assert!(messages(&client, &chat).iter().any(|message| message["exec"]["status"] == "running"));
    }
    fs::write(machine.workspace().join("go"), "").unwrap();
    assert!(ended(&client, &chat)["text"].as_str().unwrap().contains("of the user"));
    fs::remove_file(machine.workspace().join("go")).unwrap();

    let list = alice.run(&["node", "list", "--json"]);
    let nodes: Vec<Value> = serde_json::from_str(&list.stdout).unwrap();
    let states: Vec<_> = nodes.iter().map(|node| (&node["url"], &node["state"], &node["homes"])).collect();
    assert_eq!(
        json!(states),
        json!([["http://node-a:1", "gone", 0], ["http://node-b:1", "up", 1]]),
        "{list:?}"
    );
    let live = alice.run(&["node", "forget", "http://node-b:1"]);
    assert!(live.code != 0 && live.stderr.contains("still running"), "{live:?}");
    assert_eq!(alice.run(&["node", "forget", "http://node-a:1"]).code, 0);
    let gone = alice.run(&["node", "forget", "http://node-a:1"]);
    assert!(gone.code != 0 && gone.stderr.contains("there is no node"), "{gone:?}");
    let list = alice.run(&["node", "list"]);
    assert!(list.stdout.contains("http://node-b:1") && !list.stdout.contains("node-a"), "{list:?}");
}

#[test]
fn a_node_that_froze_beyond_its_lease_changes_nothing_more_and_stops() {
    let cluster = Cluster::on(testkit::postgres::database());
    let frozen = cluster.start("http://node-a:1", &[]);
    frozen.person("alice");
    let client = Client::login(&frozen, "alice");
    let chat = new_chat(&client);
    assert!(is_taken(say(&client, &chat, "/help").0));
    let before = messages(&client, &chat).len();
    process::signal(frozen.pid(), Signal::STOP);
    // The request arrives while the node is frozen, and is read when the node resumes.
    let (said, answer) = mpsc::channel();
    let late = std::thread::spawn({
        let chat = chat.clone();
        move || said.send(say(&client, &chat, "/help")).unwrap()
    });
    let next = cluster.start("http://node-b:1", &[]);
    wait_ready(&next);
    let client = Client::login(&next, "alice");
    assert_eq!(messages(&client, &chat).len(), before);
    assert!(is_taken(say(&client, &chat, "/help").0));
    let after = messages(&client, &chat).len();
    process::signal(frozen.pid(), Signal::CONT);
    // The request gets an error that states what to do, or its connection is cut because the node stops.
    if late.join().is_ok() {
        let answer = answer.recv().unwrap();
        assert_eq!(answer, (503, "unavailable".to_owned()));
    }
    eventually("it stops by itself", PATIENCE, || (!process::is_alive(frozen.pid())).then_some(()));
    assert_eq!(messages(&client, &chat).len(), after, "the late request changed nothing");
    assert!(is_taken(say(&client, &chat, "/help").0));
}

#[test]
fn a_node_survives_a_database_outage_that_is_longer_than_its_lease() {
    let database = Postgres::own();
    let cluster = Cluster::on(database.empty());
    let server = cluster.start("http://node-a:1", &[]);
    wait_ready(&server);
    let alice = server.person("alice");
    let machine = Machine::start(&server, &alice, "laptop");
    let client = Client::login(&server, "alice");
    let chat = new_chat(&client);
    start_command(&client, &chat);
    database.stop();
    let away = Instant::now();
    let reason = eventually("it is not ready", PATIENCE, || {
        let (status, reason) = ready(&server);
        (status == 503).then_some(reason)
    });
    assert!(reason.contains("database is unavailable"), "{reason}");
    assert_eq!(tests::http::text(&format!("{}/healthz", server.url())), "ok");
    // The command ends meanwhile, and its end cannot be recorded yet.
    fs::write(machine.workspace().join("go"), "").unwrap();
    eventually("the lease is over", PATIENCE, || (away.elapsed() > LEASE).then_some(()));
    database.start();
    wait_ready(&server);
    assert!(ended(&client, &chat)["text"].as_str().unwrap().contains("of the user"));
    eventually("changes are made again", PATIENCE, || is_taken(say(&client, &chat, "/help").0).then_some(()));
    assert!(alice.is_online("laptop"), "its link was not lost");
    assert!(process::is_alive(server.pid()));
}

#[test]
fn errors_at_the_start_of_a_node_are_one_line() {
    let cluster = Cluster::on(testkit::postgres::database());
    let home = TempDir::new().unwrap();
    let serve = |more: &[&str]| {
        let output = sandbridge(home.path(), &[&["serve", "--listen", "127.0.0.1:0"], more].concat());
        assert_eq!(output.code, 1, "{output:?}");
        let lines: Vec<_> = output.stderr.lines().filter(|line| !line.contains("waiting")).collect();
        assert_eq!(lines.len(), 1, "{output:?}");
        lines[0].to_owned()
    };
    let alone = serve(&["--node-url", "http://node-a:1"]);
    assert!(alone.contains("nodes share a PostgreSQL database"), "{alone}");
    let on = ["--database", &cluster.url];
    let wrong = serve(&[&on[..], &["--node-url", "node-a"]].concat());
    assert!(wrong.contains("http://HOST"), "{wrong}");

    let _node = cluster.start("http://node-a:1", &[]);
    let single = serve(&on);
    assert!(single.contains("another server uses the database"), "{single}");
    let options = |url: &str| cluster.options(url);
    let second = options("http://node-b:1");
    let second: Vec<_> = on.iter().copied().chain(second.iter().map(String::as_str)).collect();
    let refused = serve(&second);
    assert!(refused.contains("another server uses the database (node http://node-a:1)"), "{refused}");
    let same = options("http://node-a:1");
    let same: Vec<_> = on.iter().copied().chain(same.iter().map(String::as_str)).collect();
    let refused = serve(&same);
    assert!(refused.contains("another node uses the URL http://node-a:1"), "{refused}");
}

#[test]
fn a_node_with_another_key_is_refused_although_nothing_is_sealed_yet() {
    let cluster = Cluster::on(testkit::postgres::database());
    drop(cluster.start("http://node-a:1", &[]));
    let home = TempDir::new().unwrap();
    let serve =
        ["serve", "--listen", "127.0.0.1:0", "--database", &cluster.url, "--node-url", "http://node-b:1"];
    let refused = sandbridge(home.path(), &serve);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("give all nodes the same key"), "{refused:?}");
    // The first node stopped gracefully, so the next one does not have to wait for the lease to end.
    let begun = Instant::now();
    let node = cluster.start("http://node-b:1", &[]);
    assert!(begun.elapsed() < LEASE);
    wait_ready(&node);
}

#[test]
fn a_draining_node_finishes_its_answers_and_accepts_no_new_users() {
    let cluster = Cluster::on(testkit::postgres::database());
    let may_end = Arc::new(AtomicBool::new(false));
    let model = ScriptedModel::start({
        let may_end = Arc::clone(&may_end);
        move |_| {
            eventually("the answer may end", PATIENCE, || may_end.load(Ordering::Acquire).then_some(()));
            Reply::Say("It is done.".to_owned())
        }
    });
    let server =
        cluster.start("http://node-a:1", &[&["--drain", "60s"], &model.options("openai")[..]].concat());
    wait_ready(&server);
    server.person("alice");
    server.person("bob");
    let client = Client::login(&server, "alice");
    let chat = crate::agent::new_chat(&client, "full");
    crate::agent::say(&client, &chat, "go");
    eventually("the model is asked", PATIENCE, || (!model.asked().is_empty()).then_some(()));
    process::signal(server.pid(), Signal::TERM);
    let reason = eventually("it is not ready", PATIENCE, || {
        let (status, reason) = ready(&server);
        (status == 503).then_some(reason)
    });
    assert!(reason.contains("the server is draining"), "{reason}");
    // The node first stops taking new requests, and records its drain afterwards.
    eventually("the other nodes know of the drain", PATIENCE, || {
        (client.call("GET", "/nodes").json()[0]["state"] == "draining").then_some(())
    });
    may_end.store(true, Ordering::Release);
    eventually("it stops by itself", PATIENCE, || (!process::is_alive(server.pid())).then_some(()));
    let next = cluster.start("http://node-b:1", &[]);
    let client = Client::login(&next, "alice");
    let said = messages(&client, &chat);
    let answer = said.iter().find(|message| message["agent"]["status"] == "done");
    assert_eq!(answer.unwrap()["text"], "It is done.", "{said:?}");
    assert_eq!(model.asked().len(), 1);
}
