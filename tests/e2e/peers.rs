//! Several nodes that work at the same time: people, programs and runners can connect to any of them.

mod faults;
mod metrics;
mod signing_in;

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};
use tempfile::TempDir;
use tests::http::Client;
use tests::terminal::Terminal;
use tests::{Machine, Person, Reply, ScriptedModel, Server, eventually, process};
use tungstenite::client::IntoClientRequest;

/// The timeout for any single answer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
/// The time within which another node must work for the users of a node that died.
pub(crate) const TAKEN_OVER_WITHIN: Duration = Duration::from_secs(15);
/// The size of a large file, in bytes.
const LARGE_BYTES: usize = 64 * 1024 * 1024;

/// The database of the nodes, and the encryption key that they share.
struct Cluster {
    url: String,
    key: TempDir,
}

/// Returns a port that was free a moment ago.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

impl Cluster {
    fn new() -> Self {
        Self::on(testkit::postgres::database())
    }

    fn on(url: String) -> Self {
        let key = TempDir::with_prefix("sandbridge-key-").unwrap();
        fs::write(key.path().join("key"), "the key of all nodes of this test\n").unwrap();
        Self { url, key }
    }

    fn options(&self, port: u16, node_url: &str, more: &[&str]) -> Vec<String> {
        let key = self.key.path().join("key").to_str().unwrap().to_owned();
        let listen = format!("127.0.0.1:{port}");
        let options = ["--peer-listen", &listen, "--node-url", node_url, "--encryption-key-file", &key];
        options.iter().chain(more).map(|option| (*option).to_owned()).collect()
    }

    fn start(&self, more: &[&str]) -> Server {
        let port = free_port();
        let options = self.options(port, &format!("http://127.0.0.1:{port}"), more);
        let node = Server::start_on(&self.url, &options.iter().map(String::as_str).collect::<Vec<_>>());
        wait_ready(&node);
        node
    }
}

pub(crate) fn wait_ready(node: &Server) {
    let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
    eventually("it is ready", PATIENCE, || {
        let answer = agent.get(format!("{}/readyz", node.url())).call().ok()?;
        (answer.status().as_u16() == 200).then_some(())
    });
}

/// The number of users whose home is at each node, in the order of the node list.
fn homes(person: &Person) -> Vec<i64> {
    let nodes = person.json(&["node", "list", "--json"]);
    nodes.as_array().unwrap().iter().map(|node| node["homes"].as_i64().unwrap()).collect()
}

/// Starts a user's runner that connects to this node; returns the user as a client of the node, and the machine.
fn online_at(user: &Person, node: &Server) -> (Person, Machine) {
    let token = user.add_runner("laptop");
    let there = user.at(node.url());
    let machine = Machine::start_with_token(node, "laptop", &token, &[]);
    eventually("it is online", PATIENCE, || there.is_online("laptop").then_some(()));
    (there, machine)
}

fn messages(client: &Client, chat: &str) -> Vec<Value> {
    client.call("GET", &format!("/chats/{chat}/messages")).json()["messages"].as_array().unwrap().clone()
}

#[test]
fn all_features_work_at_a_node_that_is_not_the_users_home() {
    let cluster = Cluster::new();
    let nodes = [cluster.start(&[]), cluster.start(&[]), cluster.start(&[])];
    let alice = nodes[0].person("alice");
    // The first work for alice makes this node her home.
    let token = alice.add_runner("laptop");
    let elsewhere = alice.at(nodes[1].url());
    let machine = Machine::start_with_token(&nodes[2], "laptop", &token, &[]);
    eventually("it is online", PATIENCE, || elsewhere.is_online("laptop").then_some(()));
    assert_eq!(homes(&elsewhere).iter().sum::<i64>(), 1, "one home: {:?}", homes(&elsewhere));
    assert!(alice.is_online("laptop"));

    let output = elsewhere
        .with_stdin(&["exec", "--stdin", "--on", "laptop", "--", "sh", "-c", "cat; exit 7"], b"some input");
    assert_eq!((output.code, output.stdout.as_str()), (7, "some input"), "{output:?}");
    let said = elsewhere.run(&["chat", "--new", "!echo of the chat"]);
    assert!(said.code == 0 && said.stdout.contains("of the chat"), "{said:?}");

    let mut terminal = Terminal::start(elsewhere.command(&["shell", "--on", "laptop"]), 24, 80);
    terminal.wait_raw(true);
    terminal.types("PS1='ready''> '; stty -echo\r");
    terminal.sees("ready> ");
    terminal.types("stty size; exit 3\r");
    terminal.sees("24 80");
    assert_eq!(terminal.ends(), 3);

    let large: Vec<u8> =
        (0..LARGE_BYTES as u64 / 8).flat_map(|word| (word * 0x9e37_79b9).to_le_bytes()).collect();
    let directory = TempDir::new().unwrap();
    let (up, down) = (directory.path().join("up"), directory.path().join("down"));
    fs::write(&up, &large).unwrap();
    let sent = elsewhere.run(&["cp", up.to_str().unwrap(), ":large"]);
    assert_eq!(sent.code, 0, "{sent:?}");
    assert!(fs::read(machine.workspace().join("large")).unwrap() == large);
    let received = elsewhere.run(&["cp", ":large", down.to_str().unwrap()]);
    assert_eq!(received.code, 0, "{received:?}");
    assert!(fs::read(&down).unwrap() == large);
}

#[test]
fn a_page_logs_in_at_one_node_and_downloads_at_the_others() {
    let cluster = Cluster::new();
    let nodes = [cluster.start(&[]), cluster.start(&[])];
    let alice = nodes[0].person("alice");
    let machine = Machine::start(&nodes[0], &alice, "laptop");
    fs::write(machine.workspace().join("file"), "its content").unwrap();
    let page = Client::log_in_as_page(&nodes[1], "alice");
    assert_eq!(page.call("GET", "/me").json()["name"], "alice");
    for at in [&nodes[1], &nodes[0]] {
        let ticket = signing_in::ticket(&page);
        for (node, expected) in [(at, 200), (&nodes[0], 401), (&nodes[1], 401)] {
            let (status, content) = signing_in::fetch(node, &page, &ticket);
            assert_eq!(status, expected);
            if expected == 200 {
                assert_eq!(content, "its content");
            }
        }
    }
    // The routes between nodes are unavailable to anybody else, both at a user's home and through another node.
    for node in &nodes {
        let ask = |path: &str| {
            let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
            let request = agent.get(format!("{}{path}", node.url())).header("sandbridge-user", "1");
            let mut answer = request.header("cookie", page.cookie()).call().unwrap();
            (answer.status().as_u16(), answer.body_mut().read_to_string().unwrap())
        };
        assert_eq!(ask("/peer/home/1"), ask("/no/such/page"));
    }
}

#[test]
fn a_killed_home_is_replaced_by_a_live_node_and_its_turn_resumes_once() {
    let cluster = Cluster::new();
    let asked = Arc::new(AtomicUsize::new(0));
    let model = ScriptedModel::start({
        let asked = Arc::clone(&asked);
        move |question| {
            asked.fetch_add(1, Ordering::SeqCst);
            match question.results().len() {
                0 => Reply::Call(vec![(
                    "Shell",
                    json!({
                        "command": "echo once >> begun; while [ ! -e go ]; do sleep 0.05; done; echo of the user"
                    }),
                )]),
                _ => Reply::Say("It is done.".to_owned()),
            }
        }
    });
    let options = model.options("openai");
    let mut home = cluster.start(&options);
    let other = cluster.start(&options);
    let alice = home.person("alice");
    let (elsewhere, machine) = online_at(&alice, &other);
    let client = Client::login(&other, "alice");
    let chat = crate::agent::new_chat(&client, "full");
    crate::agent::say(&client, &chat, "go");
    eventually("the command runs", PATIENCE, || machine.workspace().join("begun").exists().then_some(()));
    home.kill();
    let killed = Instant::now();
    eventually("the other node works for her", TAKEN_OVER_WITHIN, || {
        let answer = client.send("POST", "/chats", b"{}");
        (answer.status == 201).then_some(())
    });
    assert!(killed.elapsed() < TAKEN_OVER_WITHIN, "{:?}", killed.elapsed());
    fs::write(machine.workspace().join("go"), "").unwrap();
    eventually("the turn ends", PATIENCE, || {
        messages(&client, &chat).into_iter().find(|message| message["text"] == "It is done.")
    });
    assert_eq!(fs::read_to_string(machine.workspace().join("begun")).unwrap(), "once\n");
    assert_eq!(asked.load(Ordering::SeqCst), 2);
    assert!(elsewhere.is_online("laptop"));
}

#[test]
fn a_frozen_home_is_replaced_and_changes_nothing_when_it_wakes_up() {
    let cluster = Cluster::new();
    let home = cluster.start(&[]);
    let other = cluster.start(&[]);
    let alice = home.person("alice");
    alice.add_runner("laptop");
    let (at_home, client) = (Client::login(&home, "alice"), Client::login(&other, "alice"));
    let chat = at_home.send("POST", "/chats", b"{}").json()["id"].as_str().unwrap().to_owned();
    let post = |client: &Client| {
        client.send(
            "POST",
            &format!("/chats/{chat}/messages"),
            json!({"text": "/help"}).to_string().as_bytes(),
        )
    };
    process::signal(home.pid(), Signal::STOP);
    let frozen = Instant::now();
    let late = std::thread::spawn({
        let url = format!("{}/api/v1/chats/{chat}/messages", home.url());
        let token = at_home.token().to_owned();
        move || {
            let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
            let request = agent.post(url).header("authorization", format!("Bearer {token}"));
            request
                .header("content-type", "application/json")
                .send(r#"{"text":"/status"}"#)
                .map(|answer| answer.status().as_u16())
        }
    });
    eventually("the other node works for her", TAKEN_OVER_WITHIN + Duration::from_secs(5), || {
        (post(&client).status < 300).then_some(())
    });
    assert!(frozen.elapsed() < TAKEN_OVER_WITHIN + Duration::from_secs(5));
    let before = messages(&client, &chat).len();
    process::signal(home.pid(), Signal::CONT);
    // The late request is forwarded to the new home, refused, or cut off: it is never done twice, and never alongside
    // the new home.
    let late = late.join().unwrap();
    let after = eventually("the late change is complete or absent", PATIENCE, || {
        Some(messages(&client, &chat).len())
    });
    match late {
        Ok(200..=299) => assert!(after > before),
        Ok(503) | Err(_) => {}
        Ok(status) => panic!("{status}"),
    }
    eventually("changes are made", PATIENCE, || (post(&client).status < 300).then_some(()));
}

#[test]
fn a_draining_node_hands_over_its_users_and_their_commands_continue() {
    let cluster = Cluster::new();
    let home = cluster.start(&["--drain", "60s"]);
    let other = cluster.start(&[]);
    let alice = home.person("alice");
    let (elsewhere, machine) = online_at(&alice, &other);
    let client = Client::login(&other, "alice");
    let chat = client.send("POST", "/chats", b"{}").json()["id"].as_str().unwrap().to_owned();
    let command =
        json!({"text": "!echo once >> begun; while [ ! -e go ]; do sleep 0.05; done; echo of the user"});
    client.send("POST", &format!("/chats/{chat}/messages"), command.to_string().as_bytes());
    eventually("it runs", PATIENCE, || machine.workspace().join("begun").exists().then_some(()));
    process::signal(home.pid(), Signal::TERM);
    eventually("it stops by itself", PATIENCE, || (!process::is_alive(home.pid())).then_some(()));
    eventually("the runner is back", PATIENCE, || elsewhere.is_online("laptop").then_some(()));
    fs::write(machine.workspace().join("go"), "").unwrap();
    let ended = eventually("the command's end is on record", PATIENCE, || {
        messages(&client, &chat).into_iter().find(|message| message["exec"]["status"] == "exited")
    });
    assert!(ended["text"].as_str().unwrap().contains("of the user"), "{ended}");
    assert_eq!(fs::read_to_string(machine.workspace().join("begun")).unwrap(), "once\n");
}

#[test]
fn an_administrator_drains_a_node_that_keeps_running() {
    let cluster = Cluster::new();
    let (home, other) = (cluster.start(&[]), cluster.start(&[]));
    let alice = home.person("alice");
    let (elsewhere, machine) = online_at(&alice, &other);
    let node = |person: &Person, url: &str| {
        let nodes = person.json(&["node", "list", "--json"]);
        let known = nodes.as_array().unwrap().iter().find(|node| node["url"] == url).unwrap();
        (known["state"].as_str().unwrap().to_owned(), known["homes"].as_i64().unwrap())
    };
    let nodes = alice.json(&["node", "list", "--json"]);
    let at_home = nodes.as_array().unwrap().iter().find(|node| node["homes"] == 1).unwrap();
    let url = at_home["url"].as_str().unwrap();
    let other_url =
        nodes.as_array().unwrap().iter().find(|node| node["homes"] == 0).unwrap()["url"].as_str().unwrap();
    let drained = elsewhere.run(&["node", "drain", url]);
    assert!(drained.code == 0 && drained.stdout.contains("is draining"), "{drained:?}");
    eventually("the other node is the home", PATIENCE, || {
        (node(&elsewhere, url) == ("draining".to_owned(), 0) && node(&elsewhere, other_url).1 == 1)
            .then_some(())
    });
    let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
    let ready = || agent.get(format!("{}/readyz", home.url())).call().unwrap().status().as_u16();
    assert_eq!(ready(), 503);
    // The drained node forwards requests that still reach it, including those for the runner.
    eventually("the runner is back", PATIENCE, || alice.is_online("laptop").then_some(()));
    for person in [&alice, &elsewhere] {
        let ran = eventually("a command runs", PATIENCE, || {
            let ran = person.run(&["exec", "--", "sh", "-c", "echo ran >> all; echo ran"]);
            (ran.code == 0).then_some(ran)
        });
        assert_eq!(ran.stdout, "ran\n");
    }
    assert_eq!(fs::read_to_string(machine.workspace().join("all")).unwrap(), "ran\nran\n");
    assert_eq!(node(&elsewhere, url).1, 0, "a draining node becomes no user's home");
    let last = elsewhere.run(&["node", "drain", other_url]);
    assert!(last.code != 0 && last.stderr.contains("the only one that accepts users"), "{last:?}");
    let bob = other.person("bob");
    assert_ne!(bob.run(&["node", "drain", url, "--undo"]).code, 0, "for administrators");
    let undone = elsewhere.run(&["node", "drain", url, "--undo"]);
    assert_eq!(undone.code, 0, "{undone:?}");
    eventually("it is ready", PATIENCE, || (ready() == 200).then_some(()));
    assert_eq!(node(&elsewhere, url).0, "up");
}

#[test]
fn headers_between_nodes_are_ignored_from_clients() {
    let cluster = Cluster::new();
    let (home, other) = (cluster.start(&[]), cluster.start(&[]));
    let alice = home.person("alice");
    let token = alice.add_runner("laptop");
    let bob = home.person("bob");
    bob.add_runner("work");
    let address = other.url().trim_start_matches("http://").to_owned();
    let mut request = format!("ws://{address}/ws/alice").into_client_request().unwrap();
    for (name, value) in
        [("sandbridge-client", "6.6.6.6"), ("sandbridge-user", "2"), ("sandbridge-not-here", "1")]
    {
        request.headers_mut().insert(name, value.parse().unwrap());
    }
    let (mut socket, _) = tungstenite::client(request, TcpStream::connect(&address).unwrap()).unwrap();
    let register = json!({"type": "register", "user_id": "alice", "body": {
        "user_id": "alice", "auth_token": token, "workspace": "/w", "shell": "/bin/sh"
    }});
    socket.send(tungstenite::Message::text(register.to_string())).unwrap();
    assert!(socket.read().unwrap().to_text().unwrap().contains("ok"));
    assert!(alice.is_online("laptop"));
    let trail = Client::login(&home, "alice").call("GET", "/audit?action=runner.register&limit=1").json();
    let registered = trail["entries"][0]["target"].as_str().unwrap();
    assert!(registered.contains("127.0.0.1") && !registered.contains("6.6.6.6"), "{registered}");
    let claimed = [("sandbridge-client", "6.6.6.6"), ("sandbridge-not-here", "1")];
    let client = Client::login(&other, "alice");
    assert_eq!(client.send_with("POST", "/chats", &claimed, b"{}").status, 201);
}

#[test]
fn the_peer_port_answers_nobody_but_nodes() {
    let cluster = Cluster::new();
    let port = free_port();
    let options = cluster.options(port, &format!("http://127.0.0.1:{port}"), &[]);
    let node = Server::start_on(&cluster.url, &options.iter().map(String::as_str).collect::<Vec<_>>());
    wait_ready(&node);
    let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
    client
        .write_all(b"GET /api/v1/me HTTP/1.1\r\nHost: localhost\r\nSandbridge-Client: 127.0.0.1\r\n\r\n")
        .unwrap();
    let mut answer = Vec::new();
    let _reset = client.read_to_end(&mut answer);
    assert!(!answer.starts_with(b"HTTP"), "{answer:?}");
    assert!(ureq::get(format!("https://127.0.0.1:{port}/healthz")).call().is_err());
    assert_eq!(tests::http::text(&format!("{}/healthz", node.url())), "ok");
}

#[test]
fn a_node_url_that_leads_to_another_node_is_logged() {
    let cluster = Cluster::new();
    let port = free_port();
    let options = cluster.options(port, &format!("http://127.0.0.1:{port}"), &[]);
    let options: Vec<_> = options.iter().map(String::as_str).collect();
    let right = Server::start_logged_on(&cluster.url, &options);
    wait_ready(&right);
    let wrong = cluster.options(free_port(), &format!("http://localhost:{port}"), &[]);
    let wrong: Vec<_> = wrong.iter().map(String::as_str).collect();
    let wrong = Server::start_logged_on(&cluster.url, &wrong);
    wait_ready(&wrong);
    eventually("it says so", PATIENCE, || wrong.log().contains("leads to another program").then_some(()));
    // A user whose home is at the wrong node cannot be reached from the right one.
    let alice = wrong.person("alice");
    alice.add_runner("laptop");
    let client = Client::login(&right, "alice");
    let answer = client.call("GET", "/me");
    assert_eq!((answer.status, answer.kind().as_str()), (503, "unavailable"), "{answer:?}");
    assert!(right.log().contains("leads to this node itself"), "{}", right.log());
}

#[test]
fn a_node_with_a_peer_port_refuses_other_kinds_of_servers() {
    let cluster = Cluster::new();
    let _node = cluster.start(&[]);
    let home = TempDir::new().unwrap();
    let serve = |more: &[&str]| {
        let mut command = std::process::Command::new(tests::binaries::sandbridge());
        let all = ["serve", "--listen", "127.0.0.1:0", "--database", &cluster.url];
        command.args(all).args(more).env("SANDBRIDGE_HOME", home.path());
        let output = tests::server::run(command, b"");
        assert_eq!(output.code, 1, "{output:?}");
        output.stderr
    };
    let key = cluster.key.path().join("key").to_str().unwrap().to_owned();
    let plain = serve(&["--node-url", "http://node-b:1", "--encryption-key-file", &key]);
    assert!(plain.contains("another server uses the database"), "{plain}");
    let url = ["--peer-listen", "127.0.0.1:0", "--node-url", "http://node-b:1"];
    let docker = serve(&[&url[..], &["--docker", "on"]].concat());
    assert!(docker.contains("runs no work on its own machine"), "{docker}");
    let local = serve(&[&url[..], &["--docker", "off", "--local", "admins"]].concat());
    assert!(local.contains("runs no work on its own machine"), "{local}");
}
