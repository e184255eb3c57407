//! What the database of a server holds about the messages of this test.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;
use tests::Server;

/// Sets the times of channels back, as if the server's clock had gone on, and prints what is stored. A message's number is found by its send id.
const READ: &str = r#"
import hashlib, json, sqlite3, sys
db = sqlite3.connect(sys.argv[1])
rows = lambda sql: db.execute(sql).fetchall()
passed = int(sys.argv[2])
if passed:
    for (table,) in rows("SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'channel@_%' ESCAPE '@'"):
        for column in [row[1] for row in rows(f"PRAGMA table_info({table})") if row[1].endswith("_at_ms")]:
            db.execute(f"UPDATE {table} SET {column} = {column} - ?", (passed,))
    db.commit()
said = {send: int(text) for send, text in rows("SELECT s.send_id, m.text FROM sends s JOIN messages m ON m.id = s.message_id") if text.isdigit()}
sends = {row: hashlib.sha256(f"channel/{account}/{event}".encode()).hexdigest()
         for row, account, event in rows("SELECT id, account_id, platform_id FROM channel_inbox")}
number = lambda source: said.get(sends.get(int(source.split("/")[1])))
out = {"sending": [], "marked": [], "failed": {}}
for source, state, tries, unsure, error in rows("SELECT source, state, tries, is_unsure, error FROM channel_outbox WHERE source LIKE 'answer/%'"):
    if number(source) is not None:
        out["sending"] += [number(source)] if state in ("ready", "sending") and tries > 0 else []
        out["marked"] += [number(source)] if unsure else []
        out["failed"].update({number(source): error} if state == "failed" else {})
out["posted"] = sorted(int(text) for (text,) in rows("SELECT text FROM messages WHERE role = 'user'") if text.isdigit())
out["waiting"] = (rows("SELECT COUNT(*) FROM channel_outbox WHERE state IN ('ready', 'sending')")[0][0]
    + rows("SELECT COUNT(*) FROM channel_inbox WHERE state <> 'done'")[0][0] + rows("SELECT COUNT(*) FROM channel_answers")[0][0])
print(json.dumps(out))
"#;

/// The messages of people, and the answers to them, by their numbers.
#[derive(Debug)]
pub(super) struct Record {
    /// The messages in chats, in ascending order.
    pub(super) posted: Vec<usize>,
    /// The answers whose try has no known outcome yet.
    pub(super) sending: BTreeSet<usize>,
    /// The answers that may have arrived twice.
    pub(super) marked: BTreeSet<usize>,
    /// The answers that were given up, with the reasons.
    pub(super) failed: BTreeMap<usize, String>,
    /// How much is not done yet.
    pub(super) waiting: u64,
}

impl Record {
    /// Reads the database, after this time has passed by the clock of a dead server.
    pub(super) fn read(server: &Server, passed_ms: u64) -> Self {
        let (file, passed) = (server.home().join("sandbridge.db"), passed_ms.to_string());
        let output = Command::new("python3").args(["-c", READ]).arg(file).arg(passed).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let read: Value = serde_json::from_slice(&output.stdout).unwrap();
        let numbers = |key: &str| -> Vec<usize> {
            let numbers = read[key].as_array().unwrap().iter();
            numbers.map(|number| usize::try_from(number.as_u64().unwrap()).unwrap()).collect()
        };
        let failed = read["failed"].as_object().unwrap().iter();
        let failed = failed.map(|(number, why)| (number.parse().unwrap(), why.as_str().unwrap().to_owned()));
        Self {
            posted: numbers("posted"),
            sending: numbers("sending").into_iter().collect(),
            marked: numbers("marked").into_iter().collect(),
            failed: failed.collect(),
            waiting: read["waiting"].as_u64().unwrap(),
        }
    }
}
