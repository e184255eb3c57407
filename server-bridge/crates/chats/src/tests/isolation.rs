//! Two users and two chats that are answered at once, and the export of a chat.

use agent::approval::Mode;
use serde_json::{Value, json};
use tests::{Asked, Reply, ScriptedModel};

use super::*;
use crate::Format;

/// A model that creates the files in its instructions, `create PATH` on a line, or runs `shell COMMAND`; it answers anything else with
/// the number of user messages that it sees.
fn obeys(asked: &Asked) -> Reply {
    let messages = asked.body["messages"].as_array().unwrap();
    if messages.last().unwrap()["role"] == "tool" {
        return Reply::Say("done".to_owned());
    }
    let said = asked.last_of_user();
    match said.split_once(' ') {
        Some(("create", path)) => Reply::Call(vec![("FileCreate", json!({"path": path, "content": "x"}))]),
        Some(("shell", command)) => Reply::Call(vec![("Shell", json!({"command": command}))]),
        _ => {
            let said = messages.iter().filter(|message| message["role"] == "user").count();
            Reply::Say(format!("I know {said}"))
        }
    }
}

#[tokio::test]
async fn chats_and_users_at_once_know_nothing_of_each_other() {
    let model = ScriptedModel::start(obeys);
    let bench = Bench::played(&model).await;
    let bob = bench.somebody("bob").await;
    let (laptop, desktop) = (bench.connect("laptop").await, bench.connect_of(&bob, "desktop").await);
    let (one, two) = (bench.talk(Mode::Full).await, bench.other_talk().await);
    let other = bench.talk_of(&bob).await;
    let works = async |talk: &super::talk::Talk, name: &str| {
        for number in 1..=3 {
            talk.say(&format!("create {name}{number}.txt")).await;
            let known = format!("I know {}", 2 * number);
            assert_eq!(talk.say(&format!("{name} {number}")).await["text"], known);
        }
    };
    tokio::join!(works(&one, "one"), works(&two, "two"), works(&other, "other"));
    for asked in model.asked() {
        let known =
            ["one1", "two1", "other1"].iter().filter(|name| asked.raw.contains(&format!("{name}.txt")));
        assert!(known.count() <= 1, "{}", asked.raw);
    }
    let has = |runner: &ScriptedRunner, name: &str| runner.files.content(name).is_some();
    assert!(has(&laptop, "one3.txt") && has(&laptop, "two3.txt") && !has(&laptop, "other1.txt"));
    assert!(has(&desktop, "other3.txt") && !has(&desktop, "one1.txt"));
    // One chat's undo does not affect another chat.
    one.undo().await.unwrap();
    assert_eq!(two.say("still?").await["text"], "I know 7");
}

#[tokio::test]
async fn a_chat_is_exported_whole_with_its_title_and_without_what_was_taken_back() {
    let model = ScriptedModel::start(obeys);
    let bench = Bench::played(&model).await;
    let _laptop = bench.connect("laptop").await;
    let talk = bench.talk(Mode::Full).await;
    // Three backquotes, and the end of the line.
    talk.say("shell bytes:6060600a").await;
    talk.say("taken back").await;
    talk.undo().await.unwrap();
    talk.say("hello").await;
    let named = talk.service.rename(&talk.user, &talk.id, "  About\nfences ").await.unwrap();
    assert_eq!(named.title, "About\nfences");
    let json: Value = serde_json::from_str(&talk.exported(Format::Json).await).unwrap();
    assert_eq!((&json["version"], &json["chat"]["id"]), (&json!(1), &json!(talk.id.to_string())));
    assert_eq!(json["messages"], json!(talk.messages().await), "all of it, as it is read");
    let text = talk.exported(Format::Markdown).await;
    assert!(text.starts_with("# About fences\n\n## You\n"), "{text}");
    assert!(text.contains("**Shell** (done on laptop)") && text.contains("\n````\n```\n"), "{text}");
    assert!(text.contains("I know 2") && !text.contains("\ntaken back\n"), "{text}");
}
