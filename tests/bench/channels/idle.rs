//! The server's memory for a connected account to which nobody writes.

use std::ops::Range;
use std::thread;
use std::time::Duration;

use serde_json::Value;
use tests::platforms::feishu::Feishu;
use tests::platforms::onebot::OneBot;
use tests::{Server, process};

use super::{ACCOUNTS_OF_USER, OPTIONS, connected, put, user};
use crate::samples::Row;

/// The number of measured accounts.
const ACCOUNTS: usize = 200;
/// How long to wait: long enough for every connection to have exchanged a second ping.
const SETTLED: Duration = Duration::from_secs(35);
/// The limit on the memory of an account, in KiB.
const LIMIT_KIB: f64 = 200.0;

pub(super) fn rows() -> Vec<Row> {
    let (onebot, feishu) = (OneBot::start(), Feishu::start());
    let (onebot_values, feishu_values) = (onebot.setup(), feishu.setup());
    // Each has its own server, so that they can wait at the same time.
    thread::scope(|scope| {
        let first = scope.spawn(|| measured("OneBot", "onebot", &onebot_values));
        let second = measured("Feishu", "feishu", &feishu_values);
        vec![first.join().unwrap(), second]
    })
}

fn measured(title: &str, kind: &str, values: &Value) -> Row {
    let server = Server::start_with(OPTIONS);
    let owned = |number: usize| {
        let owner = user(&server, &format!("owner{number}"));
        for account in 0..ACCOUNTS_OF_USER {
            put(&owner, &format!("a{account}"), kind, values, false);
        }
        owner
    };
    let settled = |owners: Range<usize>| {
        let owners: Vec<_> = owners.map(owned).collect();
        owners.iter().for_each(|owner| connected(owner, ACCOUNTS_OF_USER));
        thread::sleep(SETTLED);
        process::resident_kib(server.pid())
    };
    // By the first measurement, everything that is created only once exists.
    let before = settled(0..1);
    let after = settled(1..1 + ACCOUNTS / ACCOUNTS_OF_USER);
    let each = after.saturating_sub(before) as f64 / ACCOUNTS as f64;
    let empty = String::new;
    Row {
        what: format!("server, for each of {ACCOUNTS} idle accounts on {title}"),
        min: empty(),
        p50: format!("{each:.1} KiB"),
        p99: empty(),
        against: format!("{LIMIT_KIB:.0} KiB"),
        ratio: format!("{:.2} ×", each / LIMIT_KIB),
        target: "≤ 1.0 ×".to_owned(),
    }
}
