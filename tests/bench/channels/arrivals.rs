//! The time from a message to its acknowledgement, beside 16 answers in progress.
//!
//! ```text
//!   a webhook: a request of Telegram's ─▶ its answer          a socket: an event of Feishu's ─▶ its acknowledgement
//! ```
//! The server acknowledges a message once it is stored. Half of the answers in progress stream, to people on the same two accounts, so that their
//! drafts are shown there; the others run commands on two machines, one after the other. The two messengers take turns, and each message is answered.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle, sleep};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tests::http::Client;
use tests::platforms::feishu::Feishu;
use tests::platforms::telegram::Telegram;
use tests::{Asked, Machine, Reply, ScriptedModel, Server};

use super::{ACCOUNT, Bot, HABITS, OPTIONS, TURNS_OF_USER, connected, link, put, until, user};
use crate::samples::{Row, Samples, WARM_UPS};

/// The number of messages on each messenger.
const MESSAGES: usize = 500;
/// The limit on the 99th percentile.
const LIMIT: Duration = Duration::from_millis(500);
/// The pause between two messages.
const PAUSE: Duration = Duration::from_millis(20);
/// The number of people on each messenger who write the measured messages.
const WRITERS: usize = 4;
/// The number of answers that stream, half of them on each messenger.
const STREAMS: usize = 2 * TURNS_OF_USER;
/// The number of answers that call tools.
const LOOPS: usize = 2 * TURNS_OF_USER;
/// The number of calls in a turn; after that, another chat begins one.
const CALLS: usize = 60;
/// The number of answers that may be in progress: those beside the measurement, and those to the measured messages.
const TURNS_AT_ONCE: usize = STREAMS + LOOPS + TURNS_OF_USER;
/// The length of an answer that streams, in characters, and the pause between two of its pieces of five characters: 500 s in total.
const STREAM_CHARS: usize = 50_000;
const PIECE: Duration = Duration::from_millis(50);
/// The name of the Feishu account; [`ACCOUNT`] is on Telegram.
const LARK: &str = "lark";
/// After this time, a message counts as lost.
const LOST: Duration = Duration::from_secs(30);

pub(super) fn rows() -> Vec<Row> {
    let work = Work::default();
    let (signals, ends): (Vec<_>, Vec<_>) = (0..LOOPS).map(|_| channel()).unzip();
    let model = ScriptedModel::start_with(HABITS, work.script(signals));
    let at_once = TURNS_AT_ONCE.to_string();
    let options = [OPTIONS, &["--turns-at-once", &at_once], &model.options("openai")[..]].concat();
    let server = Server::start_with(&options);
    let (telegram, feishu) = (Telegram::start(), Feishu::start());
    let owner = user(&server, "alice");
    let account = put(&owner, ACCOUNT, Telegram::KIND, &telegram.values(), true);
    put(&owner, LARK, Feishu::KIND, &feishu.values(), true);
    connected(&owner, 2);
    let readers = [user(&server, "reader0"), user(&server, "reader1")];
    for person in 0..WRITERS {
        link(&owner, ACCOUNT, &telegram, person);
        link(&owner, LARK, &feishu, person);
    }
    for person in WRITERS..WRITERS + STREAMS / 2 {
        link(&readers[0], ACCOUNT, &telegram, person);
        link(&readers[1], LARK, &feishu, person);
    }
    let path = account["delivery_path"].as_str().unwrap();
    begin_deliveries(&owner, &telegram, &format!("{}{path}", server.url()));

    for person in WRITERS..WRITERS + STREAMS / 2 {
        Bot::say(&telegram, person, "stream");
        assert_eq!(telegram.deliver().len(), 1);
        Bot::say(&feishu, person, "stream");
    }
    let (_machines, threads) = work.begin(&server, ends);
    let before = work.calls.load(Ordering::Relaxed);
    let (mut by_webhook, mut by_socket) = (Vec::new(), Vec::new());
    for number in 0..MESSAGES + WARM_UPS {
        let person = number % WRITERS;
        let times = (delivered(&telegram, person, number), acknowledged(&feishu, person, number));
        if number >= WARM_UPS {
            by_webhook.push(times.0);
            by_socket.push(times.1);
        }
        sleep(PAUSE);
    }
    eprintln!("{} commands meanwhile", work.calls.load(Ordering::Relaxed) - before);
    work.is_over.store(true, Ordering::Relaxed);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let beside = format!("beside {} answers in progress", STREAMS + LOOPS);
    vec![
        Samples::new(by_webhook).row_within(
            &format!("webhook (Telegram), from a message to its acknowledgement, {beside}"),
            LIMIT,
        ),
        Samples::new(by_socket)
            .row_within(&format!("socket (Feishu), from a message to its acknowledgement, {beside}"), LIMIT),
    ]
}

/// Lets Telegram deliver to this address instead of being polled.
fn begin_deliveries(owner: &Client, telegram: &Telegram, address: &str) {
    let mut values = telegram.values();
    values["deliveries"] = json!(address);
    put(owner, ACCOUNT, Telegram::KIND, &values, true);
    until("a webhook is requested", || telegram.webhook().is_some_and(|(url, _)| url == address));
    connected(owner, 2);
    // The last poll may not have been confirmed.
    until("everything was delivered", || {
        telegram.deliver();
        telegram.unconfirmed() == 0
    });
}

/// The time of one delivery by a request, from before its connection is opened.
fn delivered(telegram: &Telegram, person: usize, number: usize) -> Duration {
    let begun = Instant::now();
    Bot::say(telegram, person, &number.to_string());
    let taken = telegram.deliver();
    let took = begun.elapsed();
    assert_eq!(taken.len(), 1, "message {number} was refused");
    took
}

/// The time from an event on the socket to its acknowledgement.
fn acknowledged(feishu: &Feishu, person: usize, number: usize) -> Duration {
    let before = feishu.acknowledged();
    let begun = Instant::now();
    Bot::say(feishu, person, &number.to_string());
    while feishu.acknowledged() == before {
        assert!(begun.elapsed() < LOST, "message {number} was not acknowledged");
        sleep(Duration::from_micros(500));
    }
    begun.elapsed()
}

/// The counts of the answers beside the measurement, and the signal to end them.
#[derive(Clone, Default)]
struct Work {
    streams: Arc<AtomicUsize>,
    calls: Arc<AtomicUsize>,
    is_over: Arc<AtomicBool>,
}

impl Work {
    /// The script of the model; `ends` gets the end of each loop's turns.
    fn script(&self, ends: Vec<Sender<()>>) -> impl FnMut(&Asked) -> Reply + Send + use<> {
        let (work, mut calls) = (self.clone(), [0_usize; LOOPS]);
        let text = "word ".repeat(STREAM_CHARS / 5);
        move |asked| {
            let said = asked.last_of_user();
            if said == "stream" {
                work.streams.fetch_add(1, Ordering::Relaxed);
                return Reply::Slowly(text.clone(), PIECE);
            }
            let number = said.strip_prefix("loop ").and_then(|number| number.parse::<usize>().ok());
            let Some(number) = number else { return Reply::Say(format!("echo: {said}")) };
            calls[number] += 1;
            work.calls.fetch_add(1, Ordering::Relaxed);
            if work.is_over.load(Ordering::Relaxed) || calls[number].is_multiple_of(CALLS) {
                // At the end of the measurement, nobody waits.
                let _ = ends[number].send(());
                return Reply::Say("done".to_owned());
            }
            Reply::Call(vec![("Shell", json!({"command": format!("true {}", calls[number])}))])
        }
    }

    /// Begins the loops, and waits until all answers are in progress.
    fn begin(&self, server: &Server, ends: Vec<Receiver<()>>) -> (Vec<Machine>, Vec<JoinHandle<()>>) {
        let owners: Vec<_> = (0..LOOPS / TURNS_OF_USER)
            .map(|number| {
                let person = server.person(&format!("worker{number}"));
                let machine = Machine::start(server, &person, "box");
                (Arc::new(Client::with_token(server, &person.token())), machine)
            })
            .collect();
        let threads = ends.into_iter().enumerate().map(|(number, ends)| {
            let (client, is_over) = (owners[number / TURNS_OF_USER].0.clone(), self.is_over.clone());
            thread::spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    begin_turn(&client, number);
                    ends.recv().unwrap();
                }
            })
        });
        let threads = threads.collect();
        until("all answers are in progress", || {
            let counts = [&self.streams, &self.calls].map(|count| count.load(Ordering::Relaxed));
            counts[0] == STREAMS && counts[1] >= LOOPS * 2
        });
        (owners.into_iter().map(|(_, machine)| machine).collect(), threads)
    }
}

/// Begins a turn of a loop, in a new chat.
fn begin_turn(client: &Client, number: usize) {
    let chat = client.call("POST", "/chats").json()["id"].as_str().unwrap().to_owned();
    let send = |method: &str, path: &str, body: &Value| {
        let answer = client.send(method, &format!("/chats/{chat}/{path}"), body.to_string().as_bytes());
        assert!(answer.status < 300, "{answer:?}");
    };
    send("PUT", "approval", &json!({"mode": "full"}));
    send("POST", "messages", &json!({"text": format!("loop {number}")}));
}
