//! The time from a cut to the next connection, and the time until a connection on which the messenger has fallen silent is given up.
//!
//! Each connection is cut once, after it had lasted for a while: if a connection ends again within a minute, the server waits longer, by
//! design. All accounts are cut at the same time, as when the server's own network fails. A silent connection is not closed: the messenger neither
//! reads nor sends on it. The server counts the time from the last frame that arrived, so connections fall silent at different times after their
//! beginning.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tests::Server;
use tests::http::Client;
use tests::platforms::dingtalk::DingTalk;
use tests::platforms::feishu::Feishu;
use tests::platforms::onebot::OneBot;
use tests::platforms::telegram::Telegram;
use tests::platforms::wecom::WeCom;

use super::{ACCOUNTS_OF_USER, Bot, OPTIONS, PATIENCE, connected, put, states, user};
use crate::samples::{Row, Samples};

/// The number of accounts on each messenger whose connections are cut.
const CUT: usize = 5;
/// The limit on the time until an account is connected again.
const BACK_WITHIN: Duration = Duration::from_secs(3);
/// How long a connection lasts before it is cut; one that ends within 5 s counts as failing.
const LASTS: Duration = Duration::from_secs(8);
/// When connections fall silent, after their beginning; each time one on each messenger.
const SILENT_AFTER: [Duration; 3] =
    [Duration::from_secs(2), Duration::from_secs(10), Duration::from_secs(20)];
/// The limit on the time until a silent connection is given up.
const NOTICED_WITHIN: Duration = Duration::from_secs(90);
/// The interval at which stand-ins are looked at, and the one at which the server is asked for the states of its accounts.
const LOOKS_EVERY: Duration = Duration::from_millis(2);
const ASKS_EVERY: Duration = Duration::from_millis(50);

pub(super) fn rows() -> Vec<Row> {
    vec![
        in_seconds(
            &after_cuts(),
            &format!("channel, from a cut to its next connection; {} are cut at once", 5 * CUT),
            BACK_WITHIN,
        ),
        in_seconds(
            &silences(),
            "channel, from the silence of an open connection until the server gives it up",
            NOTICED_WITHIN,
        ),
    ]
}

/// A stand-in with one account, whose connection can end.
enum Line {
    DingTalk(DingTalk),
    Feishu(Feishu),
    OneBot(OneBot),
    WeCom(WeCom),
    /// This one is polled; the number of polls before the cut.
    Telegram(Telegram, AtomicUsize),
}

impl Line {
    /// Starts a stand-in of each messenger with a socket.
    fn sockets() -> Vec<Self> {
        vec![
            Self::DingTalk(DingTalk::start()),
            Self::Feishu(Feishu::start()),
            Self::OneBot(OneBot::start()),
            Self::WeCom(WeCom::start()),
        ]
    }

    /// The messenger's name in the API.
    fn kind(&self) -> &'static str {
        match self {
            Self::DingTalk(_) => "dingtalk",
            Self::Feishu(_) => "feishu",
            Self::OneBot(_) => "onebot",
            Self::WeCom(_) => "wecom",
            Self::Telegram(..) => "telegram",
        }
    }

    /// The values of the account.
    fn values(&self) -> Value {
        match self {
            Self::DingTalk(stand_in) => stand_in.setup(),
            Self::Feishu(stand_in) => stand_in.setup(),
            Self::OneBot(stand_in) => stand_in.setup(),
            Self::WeCom(stand_in) => stand_in.setup(),
            Self::Telegram(stand_in, _) => stand_in.values(),
        }
    }

    /// Ends the connection without a close frame.
    fn cut(&self) {
        match self {
            Self::DingTalk(stand_in) => stand_in.cut(),
            Self::Feishu(stand_in) => stand_in.cut(),
            Self::OneBot(stand_in) => stand_in.cut(),
            Self::WeCom(stand_in) => stand_in.cut(),
            Self::Telegram(stand_in, polls) => {
                polls.store(stand_in.polls(), Ordering::Relaxed);
                stand_in.cut();
            }
        }
    }

    /// True if the stand-in has a connection; the one that was cut does not count.
    fn is_back(&self) -> bool {
        match self {
            Self::DingTalk(stand_in) => stand_in.connections() > 0,
            Self::Feishu(stand_in) => stand_in.connections().0 > 0,
            Self::OneBot(stand_in) => stand_in.connections() > 0,
            Self::WeCom(stand_in) => stand_in.connections() > 0,
            Self::Telegram(stand_in, polls) => stand_in.polls() > polls.load(Ordering::Relaxed),
        }
    }

    /// Keeps the connection, and neither reads nor sends on it from now on.
    fn fall_silent(&self) {
        match self {
            Self::DingTalk(stand_in) => stand_in.fall_silent(),
            Self::Feishu(stand_in) => stand_in.fall_silent(),
            Self::OneBot(stand_in) => stand_in.fall_silent(),
            Self::WeCom(stand_in) => stand_in.fall_silent(),
            Self::Telegram(..) => unreachable!("a poll has an end"),
        }
    }
}

/// The times from a cut to the next connection. The connections of all accounts are cut at the same time.
fn after_cuts() -> Samples {
    let server = Server::start_with(OPTIONS);
    let sockets = (0..CUT).flat_map(|_| Line::sockets());
    let polled = (0..CUT).map(|_| Line::Telegram(Telegram::start(), AtomicUsize::new(0)));
    let lines: Vec<Line> = sockets.chain(polled).collect();
    for (number, lines) in lines.chunks(ACCOUNTS_OF_USER).enumerate() {
        let owner = user(&server, &format!("owner{number}"));
        add(&owner, lines);
        connected(&owner, lines.len());
    }
    thread::sleep(LASTS);
    let back = |line: &Line| {
        let cut = Instant::now();
        line.cut();
        while !line.is_back() {
            assert!(cut.elapsed() < PATIENCE, "{} is not connected again", line.kind());
            thread::sleep(LOOKS_EVERY);
        }
        cut.elapsed()
    };
    let times: Vec<Duration> = thread::scope(|scope| {
        let threads: Vec<_> = lines.iter().map(|line| scope.spawn(move || back(line))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    Samples::new(times)
}

/// The times from the silence of a connection to the state in which clients see its account as no longer connected.
fn silences() -> Samples {
    let server = Server::start_with(OPTIONS);
    let owner = user(&server, "owner");
    let lines: Vec<Line> = SILENT_AFTER.iter().flat_map(|_| Line::sockets()).collect();
    add(&owner, &lines);
    connected(&owner, lines.len());
    let begun = Instant::now();
    let mut silent = HashMap::new();
    let each = lines.len() / SILENT_AFTER.len();
    for (lines, after) in lines.chunks(each).zip(SILENT_AFTER) {
        thread::sleep(after.saturating_sub(begun.elapsed()));
        for line in lines {
            line.fall_silent();
            silent.insert(name(silent.len()), Instant::now());
        }
    }
    let mut times = Vec::new();
    while !silent.is_empty() {
        assert!(begun.elapsed() < PATIENCE, "{} are silent, and connected", silent.len());
        for (name, state) in states(&owner) {
            if state != "connected" {
                times.extend(silent.remove(&name).map(|since| since.elapsed()));
            }
        }
        thread::sleep(ASKS_EVERY);
    }
    Samples::new(times)
}

/// The name of an account, by its place among the owner's.
fn name(number: usize) -> String {
    format!("line{number}")
}

/// Adds an account for each of these stand-ins.
fn add(owner: &Client, lines: &[Line]) {
    for (number, line) in lines.iter().enumerate() {
        put(owner, &name(number), line.kind(), &line.values(), false);
    }
}

/// A row in seconds, whose longest sample is compared with a limit.
fn in_seconds(samples: &Samples, what: &str, limit: Duration) -> Row {
    let seconds = |duration: Duration| format!("{:.2} s", duration.as_secs_f64());
    // Of fewer than a hundred samples, the 99th percentile is the longest one.
    let longest = samples.p99();
    Row {
        what: what.to_owned(),
        min: seconds(samples.min()),
        p50: seconds(samples.p50()),
        p99: seconds(longest),
        against: format!("{} s, the longest", limit.as_secs()),
        ratio: format!("{:.2} ×", longest.as_secs_f64() / limit.as_secs_f64()),
        target: "≤ 1.0 ×".to_owned(),
    }
}
