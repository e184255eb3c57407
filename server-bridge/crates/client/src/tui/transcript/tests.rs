use serde_json::{Value, json};

use super::*;
use crate::tui::wire;

fn message(value: Value) -> Message {
    let mut whole = json!({"chat_id": "c", "role": "assistant", "text": "", "created_at": 0});
    whole.as_object_mut().unwrap().extend(value.as_object().unwrap().clone());
    wire::message(serde_json::from_value(whole).unwrap()).unwrap()
}

fn reply(id: i64, status: &str, text: &str) -> Message {
    message(json!({"id": id, "text": text, "agent": {"kind": "reply", "status": status}}))
}

fn said(transcript: &Transcript) -> Vec<&str> {
    transcript.entries().map(|entry| entry.said.as_str()).collect()
}

#[test]
fn pieces_are_added_unless_one_was_missed() {
    let mut transcript = Transcript::default();
    transcript.told(reply(1, "running", ""), 0);
    transcript.output(1, "text", "one ");
    transcript.output(1, "text", "two\u{1b}[2J");
    assert_eq!(said(&transcript), ["one two\u{fffd}[2J"]);
    transcript.miss();
    transcript.miss();
    transcript.output(1, "text", "four");
    assert_eq!(said(&transcript), ["one two\u{fffd}[2J … four"]);
    transcript.told(reply(1, "done", "one two three four"), 0);
    assert_eq!(said(&transcript), ["one two three four"]);
}

#[test]
fn an_answer_that_begins_anew_takes_the_place_of_the_old_one() {
    let mut transcript = Transcript::default();
    transcript.told(reply(1, "running", ""), 0);
    transcript.output(1, "text", "void");
    transcript.told(reply(1, "running", ""), 0);
    transcript.output(1, "text", "new");
    assert_eq!(said(&transcript), ["new"]);
}

#[test]
fn a_page_does_not_undo_what_was_told_since() {
    let mut transcript = Transcript::default();
    let asked = transcript.clock();
    transcript.told(reply(2, "done", "new"), 0);
    transcript.posted(reply(2, "queued", ""), 0);
    transcript.page(vec![reply(1, "done", "old"), reply(2, "running", "n")], false, asked, true, 0);
    assert_eq!(said(&transcript), ["old", "new"]);
    assert!(!transcript.is_running());
}

#[test]
fn a_page_far_behind_the_known_takes_its_place() {
    let mut transcript = Transcript::default();
    transcript.page(vec![reply(1, "done", "a")], false, 0, true, 0);
    transcript.page(vec![reply(900, "done", "z")], true, 0, true, 0);
    assert_eq!(said(&transcript), ["z"]);
    assert!(transcript.has_older);
    transcript.older(vec![reply(899, "done", "y")], false);
    assert_eq!(said(&transcript), ["y", "z"]);
    assert!(!transcript.has_older);
}

#[test]
fn live_output_gives_way_to_what_is_kept_and_memory_stays_bounded() {
    let exec = |status: &str, text: &str| {
        message(json!({"id": 7, "role": "exec", "text": text, "exec": {"exec_id": "", "command": "x",
            "status": status, "exit_code": null, "signal": null, "duration_ms": null, "runner": "laptop",
            "sandbox_denied": false, "truncated": false, "stdout_bytes": 0, "stderr_bytes": 0,
            "output_path": null, "error": null}}))
    };
    let mut transcript = Transcript::default();
    transcript.told(exec("running", ""), 5);
    for number in 0..50_000 {
        transcript.output(7, "stdout", &format!("line {number}\n"));
    }
    let printed = &transcript.entries().next().unwrap().printed;
    assert!(printed.text().len() <= LIVE_OUTPUT_BYTES && printed.text().ends_with("line 49999\n"));
    transcript.miss();
    transcript.output(7, "stdout", "unknown where");
    assert_eq!(transcript.stale(), Some(7));
    transcript.page(vec![exec("running", "so far\n")], false, transcript.clock(), true, 6);
    assert_eq!(transcript.entries().next().unwrap().printed.text(), "so far\n");
    transcript.told(exec("exited", "head\ntail\n"), 9);
    let entry = transcript.entries().next().unwrap();
    assert_eq!(entry.printed.text(), "head\ntail\n");
    assert_eq!((entry.began_ms, entry.ended_ms), (Some(5), Some(9)));
    for id in 0..3000 {
        transcript.told(reply(id + 10, "done", ""), 0);
    }
    assert_eq!(transcript.entries().count(), TRANSCRIPT_MESSAGES);
    assert!(transcript.has_older);
}
