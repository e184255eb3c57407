//! What the agent's engine adds to a model and its tools.
//!
//! A scripted model calls a tool that only looks into the store, again and again. What counts is the time from the end of an
//! answer to the whole next request, as the model sees it: keeping and showing the answer, running the tool, keeping and showing
//! its result, writing and sending everything that was said so far. The floor is a bare client that sends a request of the
//! same size as soon as it has read the answer to the one before.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::json;
use tests::http::Client;
use tests::{Habits, Machine, Reply, ScriptedModel, Server};

use crate::samples::{Row, Samples, WARM_UPS};

/// Answers of one turn: all but the last one call a tool.
const ITERATIONS: usize = 100;
/// Turns before it is measured: 400 messages.
const EARLIER_TURNS: usize = 2;
/// Turns that are measured, up to 1,600 messages: 1,000 in the middle.
const TURNS: usize = 6;
/// A call's arguments and its result have about so many bytes each.
const ID_BYTES: usize = 500;
/// What the engine may add to a bare loop.
const TARGET: Duration = Duration::from_millis(2);

pub(crate) fn rows() -> Vec<Row> {
    let (said, done) = channel();
    let middle: Arc<Mutex<String>> = Arc::default();
    let (its_middle, mut answers) = (middle.clone(), 0);
    let habits = Habits { remembers: false, counts: false, pauses: true };
    let model = ScriptedModel::start_with(habits, move |asked| {
        answers += 1;
        if answers == (EARLIER_TURNS + TURNS / 2) * ITERATIONS {
            its_middle.lock().unwrap().clone_from(&asked.raw);
        }
        if answers % ITERATIONS == 0 {
            said.send(()).unwrap();
            return Reply::Say("done".to_owned());
        }
        Reply::Call(vec![("offload_recall", json!({"id": "x".repeat(ID_BYTES)}))])
    });
    let options = [&["--docker", "off"], &model.options("openai")[..]].concat();
    let server = Server::start_with(&options);
    let alice = server.person("alice");
    let _machine = Machine::start(&server, &alice, "laptop");
    let client = Client::login(&server, &alice.name);
    let chat = client.call("POST", "/chats").json()["id"].as_str().unwrap().to_owned();
    let mut begun = Vec::new();
    for _ in 0..EARLIER_TURNS + TURNS {
        begun.push(Instant::now());
        let answer = client.send("POST", &format!("/chats/{chat}/messages"), br#"{"text":"work"}"#);
        assert_eq!(answer.status, 202);
        done.recv().unwrap();
        // The end of the turn is kept behind its last answer; the next one is not to wait for that.
        std::thread::sleep(Duration::from_millis(50));
    }
    let times = model.times();
    let measured = EARLIER_TURNS * ITERATIONS..(EARLIER_TURNS + TURNS) * ITERATIONS;
    let iterations = (measured.start + 1..measured.end).filter(|at| at % ITERATIONS != 0);
    let engine = Samples::new(iterations.map(|at| times[at].0 - times[at - 1].1).collect());
    let firsts = (EARLIER_TURNS..EARLIER_TURNS + TURNS).map(|turn| times[turn * ITERATIONS].0 - begun[turn]);
    let firsts = Samples::new(firsts.collect());
    let body = middle.lock().unwrap().clone();
    let bare = bare_loop(&body);
    let added = engine.p50().saturating_sub(bare.p50());
    let within = Row {
        against: format!(
            "a bare loop, of {:.1} MB requests, and {} ms",
            body.len() as f64 / 1e6,
            TARGET.as_millis()
        ),
        ratio: format!("{:.2} ×", added.as_secs_f64() / TARGET.as_secs_f64()),
        target: "≤ 1.0 ×".to_owned(),
        ..engine.row("engine, an iteration at 1,000 messages")
    };
    let first = firsts.row("engine, from a message to the model's request, then");
    vec![within, bare.row("a bare loop of such requests"), first]
}

/// Sends a request again and again, each as soon as the one before was answered, to a model of its own.
fn bare_loop(body: &str) -> Samples {
    let habits = Habits { remembers: false, counts: false, pauses: true };
    let model = ScriptedModel::start_with(habits, |_| {
        Reply::Call(vec![("offload_recall", json!({"id": "x".repeat(ID_BYTES)}))])
    });
    let address = model.url().trim_start_matches("http://");
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let length = body.len();
    let request =
        format!("POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\n\r\n{body}");
    for _ in 0..WARM_UPS + ITERATIONS {
        stream.write_all(request.as_bytes()).unwrap();
        let mut line = String::new();
        // The last chunk is empty.
        while line != "0\r\n" {
            line.clear();
            assert!(reader.read_line(&mut line).unwrap() > 0);
        }
        reader.read_line(&mut line).unwrap();
    }
    let times = model.times();
    Samples::new(times.windows(2).skip(WARM_UPS).map(|pair| pair[1].0 - pair[0].1).collect())
}
