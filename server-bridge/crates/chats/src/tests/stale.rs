//! Reminders that a model gets about files that changed since it read them, and its edits to its conversation.

use agent::approval::Mode;
use serde_json::json;
use tests::{Reply, ScriptedModel};

use super::talk::answered_by;
use super::*;
use crate::models::Provider;

/// A result longer than a conversation keeps.
fn long() -> String {
    (0..2_000).map(|number| format!("line {number}\n")).collect()
}

#[tokio::test]
async fn a_model_edits_its_conversation_and_is_told_what_changed_since_it_looked() {
    let model = ScriptedModel::start(|asked| match asked.last_of_user().as_str() {
        "read" if asked.results().is_empty() => Reply::Call(vec![("Read", json!({"path": "long.txt"}))]),
        "change" if asked.results().len() == 1 => {
            Reply::Call(vec![("Shell", json!({"command": "append:long.txt:more append:src/a:x"}))])
        }
        "change" if asked.results().len() == 2 => Reply::Call(vec![("Cd", json!({"path": "src"}))]),
        "forget" if asked.results().len() == 3 => {
            Reply::Call(vec![("context_edit", json!({"action": "delete_turn", "contains": "a secret word"}))])
        }
        "again" if asked.results().len() == 4 => Reply::Call(vec![("Read", json!({"path": "../long.txt"}))]),
        last => Reply::Say(format!("done with {last}")),
    });
    let models = answered_by(&model, Provider::OpenAi);
    let bench = Bench::asking(models.clone()).await;
    let mut runner = bench.connect("laptop").await;
    runner.files.write("long.txt", &long());
    let talk = bench.talk(Mode::Full).await;
    let say = async |text: &str| {
        assert_eq!(talk.say(text).await["agent"]["status"], "done");
        model.asked().pop().unwrap()
    };
    say("a secret word").await;
    let read = say("read").await;
    assert!(read.results()[0].starts_with("📂 [offload:ol_") && !read.raw.contains("<system-reminder>"));
    let changed = say("change").await;
    assert!(changed.raw.contains("STALE: long.txt on laptop has changed"), "{}", changed.raw);
    assert!(changed.raw.contains("now in src"), "{}", changed.raw);
    let forgotten = say("forget").await;
    assert!(forgotten.results()[3].contains("2 messages edited"), "{:?}", forgotten.results());
    assert!(!forgotten.raw.contains("done with a secret word"), "{}", forgotten.raw);
    let bench = bench.restarted(models).await;
    bench.take_over(&mut runner, "laptop").await;
    bench.talk(Mode::Full).await.say("again").await;
    let again = model.asked().pop().unwrap();
    assert!(again.results()[4].starts_with("📂 [offload:ol_"), "{:?}", again.results());
    assert!(!again.raw.contains("done with a secret word"), "{}", again.raw);
    assert!(!again.raw.contains("STALE: long.txt on laptop"), "it was read again");
    assert!(again.raw.contains("The current directory is src"));
}

#[tokio::test]
async fn a_file_is_stale_until_the_model_that_read_it_looks_again_whatever_became_of_it() {
    let reads = |folder: &str| {
        ["a", "b", "c"].map(|name| ("Read", json!({"path": format!("{folder}{name}")}))).to_vec()
    };
    let model =
        ScriptedModel::start(move |asked| match (asked.last_of_user().as_str(), asked.results().len()) {
            ("read", 0) => Reply::Call(reads("")),
            ("change", 3) => {
                let command = "append:a:more remove:b remove:c append:c:";
                Reply::Call(vec![("Shell", json!({"command": command}))])
            }
            ("send", 4) => Reply::Call(vec![("SubAgent", json!({"task": "look at a"}))]),
            ("look at a", 0) => Reply::Call(vec![("Read", json!({"path": "a"}))]),
            ("again", 5) => Reply::Call(reads("/workspace/")),
            _ => Reply::Say("done".to_owned()),
        });
    let bench = Bench::played(&model).await;
    let runner = bench.connect("laptop").await;
    for name in ["a", "b", "c"] {
        runner.files.write(name, &long());
    }
    let talk = bench.talk(Mode::Full).await;
    let stale = async |text: &str| {
        assert_eq!(talk.say(text).await["agent"]["status"], "done");
        let last = model.asked().pop().unwrap().raw;
        ["a", "b", "c"].map(|name| last.contains(&format!("STALE: {name} on laptop")))
    };
    assert_eq!(stale("read").await, [false; 3]);
    assert_eq!(stale("change").await, [true; 3]);
    assert_eq!(stale("send").await, [true; 3], "what a sub-agent read its parent does not know");
    let of_agent = model.asked().into_iter().rfind(|asked| asked.last_of_user() == "look at a").unwrap();
    assert!(!of_agent.raw.contains("STALE"), "it had read nothing before");
    assert_eq!(stale("again").await, [false; 3]);
}
