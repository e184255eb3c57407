//! The time from the end of an agent's answer to the whole request of the next step's agent, on another machine.
//!
//! Two agents on two machines answer alternately, in chains of 50 steps. Between two answers the first one is stored and posted to the
//! log, the run goes on, and the next agent is asked in its own chat. This is measured twice in the same group: alone, and while 50 other
//! groups with 10 agents each have open questions: 36 agents stall in the middle of an answer, 4 at a time give answers of 1 MiB, and the
//! others wait for their turn. A client of the measured user has subscribed to events and reads none.
//!
//! A third row kills the server in the middle of an agent's answer, starts it again, and takes the time until the run asks its model again.

use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tests::http::Client;
use tests::{Habits, Machine, Reply, ScriptedModel, Server};
use tungstenite::WebSocket;
use tungstenite::client::IntoClientRequest;

use crate::samples::{Row, Samples, WARM_UPS};

/// The number of steps in a chain: the maximum.
const STEPS: usize = 50;
/// The number of runs in each of the two measurements.
const RUNS: usize = 4;
/// The number of other groups, and of agents in each.
const GROUPS: usize = 50;
const AGENTS: usize = 10;
/// The number of people who own the other groups, and the number of answers that each of them may have in progress. The first person owns the group
/// with the large answers.
const OWNERS: usize = 10;
const ANSWERS_OF_OWNER: usize = 4;
/// The size of a large answer, in bytes.
const LARGE_BYTES: usize = 1024 * 1024;
/// The limit on the median.
const TARGET: Duration = Duration::from_millis(20);
/// The number of kills.
const KILLS: usize = 20;
/// The limit on the time from a kill to the next request, with the start of the next server and the return of the machine.
const CONTINUES_WITHIN: Duration = Duration::from_secs(5);
/// The model behaves as in the rows about the engine.
const HABITS: Habits = Habits { remembers: false, counts: false, pauses: true };

/// How long it may take until the questions of the other groups have started.
const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) fn rows() -> Vec<Row> {
    let (said, done) = channel();
    let (begun, large) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let is_over = Arc::new(AtomicBool::new(false));
    let (counted, answered, over, mut steps) =
        (Arc::clone(&begun), Arc::clone(&large), Arc::clone(&is_over), 0);
    let model = ScriptedModel::start_with(HABITS, move |asked| match asked.agent().as_str() {
        "coder" | "writer" => {
            steps += 1;
            if steps % STEPS == 0 {
                said.send(()).unwrap();
            }
            Reply::Say("said".to_owned())
        }
        _ => {
            counted.fetch_add(1, Ordering::Relaxed);
            let writes = asked.last_of_user().contains("at length") && !over.load(Ordering::Relaxed);
            if !writes {
                return Reply::Hang("one moment".to_owned());
            }
            answered.fetch_add(1, Ordering::Relaxed);
            Reply::Say("word ".repeat(LARGE_BYTES / 5))
        }
    });
    let at_once = (OWNERS * ANSWERS_OF_OWNER + ANSWERS_OF_OWNER).to_string();
    let options = [&["--docker", "off", "--turns-at-once", &at_once], &model.options("openai")[..]].concat();
    let server = Server::start_with(&options);
    let alice = server.person("alice");
    let _machines = ["laptop", "tower"].map(|name| Machine::start(&server, &alice, name));
    let client = Client::login(&server, &alice.name);
    let group = group(&client);
    for (handle, runner) in [("coder", "laptop"), ("writer", "tower")] {
        put(&client, &format!("{group}/agents/{handle}"), &json!({"runner": runner, "approval": "full"}));
    }
    let agents = ["coder", "writer"].into_iter().cycle().take(STEPS);
    let chain: String =
        agents.enumerate().map(|(at, agent)| format!("{}. @{agent}: part {at}\n", at + 1)).collect();
    put(&client, &format!("{group}/chains/long"), &json!({"text": chain}));
    let measured = || {
        let (mut samples, path) = (Vec::new(), format!("{group}/chains/long/runs"));
        for _ in 0..RUNS {
            let before = times(&model).len();
            assert!(client.send("POST", &path, br#"{"request": "work"}"#).status < 300);
            done.recv().unwrap();
            // The last answer must be recorded before the next run begins.
            until("the run is over", || {
                client.call("GET", &format!("{group}/runs")).json()[0]["state"] == "done"
            });
            let times = times(&model).split_off(before);
            assert_eq!(times.len(), STEPS);
            samples.extend(times.windows(2).skip(WARM_UPS).map(|pair| pair[1].0 - pair[0].1));
        }
        Samples::new(samples)
    };
    let alone = measured();

    let _unread = events(&server, &client);
    let owners: Vec<(Client, Machine)> = (0..OWNERS)
        .map(|number| {
            let owner = server.person(&format!("owner{number}"));
            (Client::login(&server, &owner.name), Machine::start(&server, &owner, "box"))
        })
        .collect();
    let (writing, waiting) = owners.split_first().unwrap();
    ask_everyone(&writing.0, true);
    waiting.iter().cycle().take(GROUPS - 1).for_each(|(owner, _)| ask_everyone(owner, false));
    until("the other groups are at work", || {
        begun.load(Ordering::Relaxed) >= OWNERS * ANSWERS_OF_OWNER
            && large.load(Ordering::Relaxed) >= ANSWERS_OF_OWNER
    });
    let before = large.load(Ordering::Relaxed);
    let busy = measured();
    eprintln!("{} answers of 1 MiB meanwhile", large.load(Ordering::Relaxed) - before);
    is_over.store(true, Ordering::Relaxed);
    let within = |row: Row, samples: &Samples| Row {
        against: format!("{} ms at p50", TARGET.as_millis()),
        ratio: format!("{:.2} ×", samples.p50().as_secs_f64() / TARGET.as_secs_f64()),
        target: "≤ 1.0 ×".to_owned(),
        ..row
    };
    vec![
        within(alone.row("chain, from an agent's answer to the request of the next agent"), &alone),
        Row {
            what: format!(
                "the same beside {GROUPS} groups of {AGENTS} agents, stalled answers, answers of 1 MiB and an unread socket"
            ),
            ..within(busy.row(""), &busy)
        },
        after_kills().row_within(
            "chain, from the death of the server to the run's next request to a model",
            CONTINUES_WITHIN,
        ),
    ]
}

/// The times from a kill of the server in the middle of an answer to the next request of the same turn. Each run has one kill: the model
/// stalls at its first request, and answers the second one.
fn after_kills() -> Samples {
    let (requests, asked) = channel();
    let mut count = 0;
    let model = ScriptedModel::start_with(HABITS, move |_| {
        count += 1;
        requests.send(Instant::now()).unwrap();
        if count % 2 == 1 { Reply::Hang("one moment".to_owned()) } else { Reply::Say("said".to_owned()) }
    });
    let options = [&["--docker", "off"], &model.options("openai")[..]].concat();
    let mut server = Server::start_with(&options);
    let alice = server.person("alice");
    let _machine = Machine::start(&server, &alice, "laptop");
    let client = Client::login(&server, &alice.name);
    let group = group(&client);
    put(&client, &format!("{group}/agents/coder"), &json!({"runner": "laptop", "approval": "full"}));
    put(&client, &format!("{group}/chains/short"), &json!({"text": "1. @coder: part 1"}));
    let kill = |_| {
        let begun = client.send("POST", &format!("{group}/chains/short/runs"), br#"{"request": "work"}"#);
        assert!(begun.status < 300, "{begun:?}");
        asked.recv_timeout(PATIENCE).unwrap();
        server.kill();
        let killed_at = Instant::now();
        server.restart(&options);
        let pause = asked.recv_timeout(PATIENCE).unwrap() - killed_at;
        until("the run is over", || {
            client.call("GET", &format!("{group}/runs")).json()[0]["state"] == "done"
        });
        pause
    };
    Samples::new((0..KILLS).map(kill).collect())
}

/// The measured times of the two agents.
fn times(model: &ScriptedModel) -> Vec<(Instant, Instant)> {
    let mut times = model.times_of("coder");
    times.extend(model.times_of("writer"));
    times.sort_unstable();
    times
}

/// Creates a group; returns its path.
fn group(client: &Client) -> String {
    let made = client.send("POST", "/groups", br#"{"title": "Work"}"#);
    assert!(made.status < 300, "{made:?}");
    format!("/groups/{}", made.json()["id"])
}

fn put(client: &Client, path: &str, body: &Value) {
    let answer = client.send("PUT", path, body.to_string().as_bytes());
    assert!(answer.status < 300, "{path}: {answer:?}");
}

/// Creates a group of agents on its owner's machine, and asks all of them. Agents that give large answers are asked again whenever they have
/// answered.
fn ask_everyone(owner: &Client, is_long: bool) {
    let group = group(owner);
    for number in 0..AGENTS {
        put(owner, &format!("{group}/agents/agent{number}"), &json!({"runner": "box"}));
    }
    let (text, times) = if is_long { ("@all at length", AGENTS) } else { ("@all wait", 1) };
    for _ in 0..times {
        let posted =
            owner.send("POST", &format!("{group}/entries"), json!({"text": text}).to_string().as_bytes());
        assert_eq!(posted.json()["calls"].as_array().unwrap().len(), AGENTS);
    }
}

/// Opens a WebSocket of events that nobody reads.
fn events(server: &Server, client: &Client) -> WebSocket<TcpStream> {
    let address = server.url().trim_start_matches("http://");
    let mut request = format!("ws://{address}/api/v1/events").into_client_request().unwrap();
    request.headers_mut().insert("authorization", format!("Bearer {}", client.token()).parse().unwrap());
    tungstenite::client(request, TcpStream::connect(address).unwrap()).unwrap().0
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    tests::eventually(what, PATIENCE, || is_so().then_some(()));
}
