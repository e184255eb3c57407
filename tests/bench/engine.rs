//! The time that the agent's engine adds to a model and its tools.
//!
//! A scripted model repeatedly calls a tool that only reads from the store. The time measured is from the end of an answer to the end of the next
//! request, as the model sees it: storing and showing the answer, running the tool, storing and showing its result, serializing and sending the whole
//! conversation. The lower bound is a bare client that sends a request of the same size as soon as it has read the previous answer; the engine and
//! the client alternate, one turn of a conversation each. Everything is repeated several times, and the median run is shown.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::ops::Range;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::json;
use tests::http::Client;
use tests::{Habits, Machine, Reply, ScriptedModel, Server};

use crate::samples::{Row, Runs, Samples, WARM_UPS, shown};

/// The number of runs.
const RUNS: usize = 5;
/// The number of answers in a turn: all but the last one call a tool.
const ITERATIONS: usize = 100;
/// The number of turns before the measurement: 600 messages.
const EARLIER_TURNS: usize = 3;
/// The number of measured turns, which end at 1,400 messages: 1,000 on average.
const TURNS: usize = 4;
/// The approximate size of a call's arguments, and also of its result, in bytes.
const ID_BYTES: usize = 500;
/// The limit on the time that the engine adds to a bare loop.
const TARGET: Duration = Duration::from_millis(2);
/// The model writes word by word, so that everything before the end of an answer has been read when the answer ends.
const HABITS: Habits = Habits { remembers: false, counts: false, pauses: true };

pub(crate) fn rows() -> Vec<Row> {
    let runs = Runs::of(RUNS, run, |run| run.added().as_secs_f64());
    let Run { engine, bare, firsts, body_bytes } = runs.middle();
    let added = runs.middle().added();
    let target_ms = TARGET.as_millis();
    let megabytes = *body_bytes as f64 / 1e6;
    let within = Row {
        against: format!(
            "at most {target_ms} ms more than a bare loop of {megabytes:.1} MB requests: adds {}",
            runs.shown(|added| shown(Duration::from_secs_f64(added)))
        ),
        ratio: format!("{:.2} ×", added.as_secs_f64() / TARGET.as_secs_f64()),
        target: "≤ 1.0 ×".to_owned(),
        ..engine.row("engine, an iteration at 1,000 messages")
    };
    let first = firsts.row("engine, from a message to the model's request, in the same chat");
    vec![within, bare.row("a bare loop of such requests"), first]
}

/// The measurements of one whole conversation.
struct Run {
    engine: Samples,
    bare: Samples,
    /// The times from a message of the user to the first request.
    firsts: Samples,
    body_bytes: usize,
}

impl Run {
    /// The median time that the engine adds to the bare loop.
    fn added(&self) -> Duration {
        self.engine.p50().saturating_sub(self.bare.p50())
    }
}

fn calls() -> Reply {
    Reply::Call(vec![("offload_recall", json!({"id": "x".repeat(ID_BYTES)}))])
}

fn run() -> Run {
    let (said, done) = channel();
    let asked_first: Arc<Mutex<String>> = Arc::default();
    let (body, mut answers) = (asked_first.clone(), 0);
    let model = ScriptedModel::start_with(HABITS, move |asked| {
        answers += 1;
        if answers % ITERATIONS == 1 {
            body.lock().unwrap().clone_from(&asked.raw);
        }
        if answers % ITERATIONS == 0 {
            said.send(()).unwrap();
            return Reply::Say("done".to_owned());
        }
        calls()
    });
    let options = [&["--docker", "off"], &model.options("openai")[..]].concat();
    let server = Server::start_with(&options);
    let alice = server.person("alice");
    let _machine = Machine::start(&server, &alice, "laptop");
    let client = Client::login(&server, &alice.name);
    let chat = client.call("POST", "/chats").json()["id"].as_str().unwrap().to_owned();
    let mut floor = BareLoop::start();
    let (mut begun, mut bare, mut body_bytes) = (Vec::new(), Vec::new(), 0);
    for turn in 0..EARLIER_TURNS + TURNS {
        begun.push(Instant::now());
        let answer = client.send("POST", &format!("/chats/{chat}/messages"), br#"{"text":"work"}"#);
        assert_eq!(answer.status, 202);
        done.recv().unwrap();
        // The end of the turn is stored after its last answer; the next turn must not wait for that.
        std::thread::sleep(Duration::from_millis(50));
        if turn >= EARLIER_TURNS {
            let body = asked_first.lock().unwrap().clone();
            bare.extend(floor.times(&body, ITERATIONS / 4));
            if turn == EARLIER_TURNS + TURNS / 2 {
                body_bytes = body.len();
            }
        }
    }
    let times = model.times();
    let measured = |turns: Range<usize>| turns.start * ITERATIONS..turns.end * ITERATIONS;
    let iterations = measured(EARLIER_TURNS..EARLIER_TURNS + TURNS).filter(|at| at % ITERATIONS != 0);
    let firsts = (EARLIER_TURNS..EARLIER_TURNS + TURNS).map(|turn| times[turn * ITERATIONS].0 - begun[turn]);
    Run {
        engine: Samples::new(iterations.map(|at| times[at].0 - times[at - 1].1).collect()),
        bare: Samples::new(bare),
        firsts: Samples::new(firsts.collect()),
        body_bytes,
    }
}

/// A client that asks a separate model again and again, each time as soon as it has read the previous answer.
struct BareLoop {
    model: ScriptedModel,
    stream: TcpStream,
    reader: BufReader<TcpStream>,
}

impl BareLoop {
    fn start() -> Self {
        let model = ScriptedModel::start_with(HABITS, |_| calls());
        let stream = TcpStream::connect(model.url().trim_start_matches("http://")).unwrap();
        stream.set_nodelay(true).unwrap();
        let reader = BufReader::new(stream.try_clone().unwrap());
        Self { model, stream, reader }
    }

    /// Measures `count` times, each from the end of an answer to the end of the next request.
    fn times(&mut self, body: &str, count: usize) -> Vec<Duration> {
        let length = body.len();
        let request = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        let before = self.model.times().len();
        for _ in 0..WARM_UPS + count {
            self.stream.write_all(request.as_bytes()).unwrap();
            let mut line = String::new();
            // The last chunk is empty.
            while line != "0\r\n" {
                line.clear();
                assert!(self.reader.read_line(&mut line).unwrap() > 0);
            }
            self.reader.read_line(&mut line).unwrap();
        }
        let times = self.model.times().split_off(before);
        times.windows(2).skip(WARM_UPS).map(|pair| pair[1].0 - pair[0].1).collect()
    }
}
