//! Commands that ask with their first line to continue in the background.

use serde_json::{Value, json};
use tests::http::Client;
use tests::{eventually, process};

use super::{PATIENCE, calls, command};
use crate::agent::{ended, messages, new_chat, say};
use crate::world::World;

/// The outcomes in the log of hooks, the newest first, as soon as there are this many.
fn outcomes(world: &World, count: usize) -> Vec<String> {
    eventually("the runs are in the log", PATIENCE, || {
        let log = world.alice.json(&["hook", "log", "--json"]);
        let outcomes: Vec<String> =
            log.as_array().unwrap().iter().map(|run| run["outcome"].as_str().unwrap().to_owned()).collect();
        (outcomes.len() >= count).then_some(outcomes)
    })
}

#[test]
fn a_command_that_asks_for_it_continues_in_the_background_and_decides_nothing() {
    let world = World::new(calls("Shell", json!({"command": "touch mark"})));
    // The call that it would deny runs only if the turn does not wait for it.
    let hook = r#"echo '{"async": true, "asyncTimeout": 60000}'
        while [ ! -e mark ]; do sleep 0.1; done; echo '{"systemMessage": "it is there"}'"#;
    let denies = format!("{hook}; echo 'no touching' >&2; exit 2");
    world.hooks(json!({"PreToolUse": command("Shell", &denies), "PostToolUse": command("Shell", hook)}));
    let client = Client::login(&world.server, "alice");
    let chat = new_chat(&client, "full");
    say(&client, &chat, "go");
    ended(&client, &chat, 1);
    assert!(world.path("mark").exists());
    let outcomes = outcomes(&world, 4);
    let count = |words: &str| outcomes.iter().filter(|outcome| outcome.contains(words)).count();
    assert_eq!(outcomes.len(), 4, "{outcomes:?}");
    assert_eq!(count("goes on in the background, for at most 60 s"), 2, "{outcomes:?}");
    assert_eq!((count("deny: no touching"), count("nothing to say")), (1, 1), "{outcomes:?}");
    let says = |words: &str| {
        let found = || messages(&client, &chat).iter().any(|message| message["text"] == words);
        eventually(words, PATIENCE, || found().then_some(()));
    };
    says("Hook (your hooks): it is there");
    says("Hook (your hooks): this came too late to decide anything: no touching");
    let shown = messages(&client, &chat);
    assert!(!shown.iter().any(|message| message.to_string().contains("A hook failed")), "{shown:?}");
}

#[test]
fn a_command_in_the_background_has_the_time_that_it_asked_for() {
    let world = World::new(calls("Shell", json!({"command": "touch mark"})));
    let marker = format!("{}", 81_000_000 + std::process::id() % 1_000_000);
    let hook = format!(r#"echo '{{"async": true, "asyncTimeout": 500}}'; sleep {marker}"#);
    let hooks =
        json!([{"matcher": "Shell", "hooks": [{"type": "command", "command": hook, "onFailure": "deny"}]}]);
    world.hooks(json!({"PreToolUse": hooks}));
    world.chat("full");
    assert!(world.path("mark").exists(), "its failure comes too late, too");
    let outcomes = outcomes(&world, 2);
    assert_eq!(
        outcomes,
        ["failed: it did not end within 0.5 s", "goes on in the background, for at most 0.5 s"]
    );
    eventually("nothing is left", PATIENCE, || process::with_marker(&marker).is_empty().then_some(()));
    let tried: Value = world.alice.json(&["hook", "test", "--event", "PreToolUse", "--json"]);
    let run = &tried["runs"][0];
    assert_eq!((&tried["decision"], &run["in_background"]), (&json!("none"), &json!(true)), "{tried}");
    assert_eq!(run["outcome"], "goes on in the background, for at most 0.5 s");
    eventually("nothing is left of the trial", PATIENCE, || {
        process::with_marker(&marker).is_empty().then_some(())
    });
}
