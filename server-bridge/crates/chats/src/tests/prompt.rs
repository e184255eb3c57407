//! The prompt and its parts: instructions, skills, roles, memory, and the administrators' settings.

use agent::approval::Mode;
use serde_json::{Value, json};
use tests::{Asked, Reply, ScriptedModel};

use super::*;
use crate::Preferences;

fn keeps() -> ScriptedModel {
    ScriptedModel::start(|asked| match (asked.last_of_user().as_str(), asked.results().len()) {
        ("one", 0) => Reply::Call(vec![
            ("Cd", json!({"path": "src"})),
            ("Skill", json!({"name": "release"})),
            ("Skill", json!({"name": "../../etc"})),
            ("memory_write", json!({"name": "tabs", "text": "likes tabs"})),
            ("memory_list", json!({})),
        ]),
        _ => Reply::Say(format!("did {}", asked.last_of_user())),
    })
}

/// A home directory, and a service that uses it.
async fn at_home(model: &ScriptedModel) -> (tempfile::TempDir, Bench) {
    let (home, bench) = (tempfile::tempdir().unwrap(), Bench::played(model).await);
    let _same = bench.service.clone().with_home(home.path().to_owned());
    (home, bench)
}

fn put_library(runner: &ScriptedRunner) {
    for (path, content) in [
        ("AGENTS.md", "Scripts are POSIX."),
        ("src/a", ""),
        (".sandbridge/AGENTS.md", "Tests first."),
        (
            ".sandbridge/skills/release/SKILL.md",
            "---\nname: release\ndescription: How to release\n---\nTag it, then push.",
        ),
        (".sandbridge/skills/empty/README", "none"),
        (".sandbridge/agents/looker.md", "---\ndescription: Looks\n---\nLook."),
    ] {
        runner.files.write(path, content);
    }
}

fn messages_of(asked: &Asked) -> &[Value] {
    asked.body["messages"].as_array().unwrap()
}

#[tokio::test]
async fn the_prompt_is_put_together_in_order_and_its_beginning_stays_as_it_is() {
    let model = keeps();
    let (home, bench) = at_home(&model).await;
    std::fs::write(home.path().join("AGENTS.md"), "Server says hello.").unwrap();
    let (service, user) = (&bench.service, &bench.user);
    let of = |instructions: &str| Preferences {
        instructions: Some(instructions.to_owned()),
        language: Some("German".to_owned()),
        approval: None,
    };
    service.set_preferences(user, &of("Be kind.")).await.unwrap();
    let long = service.set_preferences(user, &of(&"x".repeat(33 * 1024))).await.unwrap_err();
    assert_eq!(long.kind(), "invalid");
    assert_eq!(
        service.preferences(user.id).await.unwrap(),
        of("Be kind."),
        "what is refused changes nothing"
    );
    let runner = bench.connect("laptop").await;
    put_library(&runner);
    let talk = bench.talk(Mode::Full).await;
    for word in ["one", "two", "three"] {
        assert_eq!(talk.say(word).await["agent"]["status"], "done");
    }
    let asked = model.asked();
    let system = asked[0].system();
    let parts = [
        "You are an engineer",
        "Server says hello.",
        "Be kind.",
        "A person reads",
        "Scripts are POSIX.",
        "Tests first.",
        "- release: How to release",
        "- looker: Looks",
        "The user is called ada.",
        "Answer in German",
    ];
    let found: Vec<usize> =
        parts.iter().map(|part| system.find(part).unwrap_or_else(|| panic!("{part}: {system}"))).collect();
    assert!(found.is_sorted(), "{system}");
    assert!(!system.contains("empty"));
    let results = asked[1].results();
    assert!(
        results[1].contains("Tag it, then push.") && results[1].contains(".sandbridge/skills/release"),
        "{results:?}"
    );
    assert!(results[2].contains("there is no skill"), "{results:?}");
    assert!(results[3].contains("proposed as #1"), "{results:?}");
    assert_eq!(results[4], "nothing is remembered");
    // Everything that was sent before is sent again, byte for byte, although the directory has changed and there are more memories.
    for pair in asked.windows(2) {
        assert_eq!(pair[0].system(), pair[1].system());
        let (before, after) = (messages_of(&pair[0]), messages_of(&pair[1]));
        assert_eq!(before, &after[..before.len()]);
    }
    let said = messages_of(&asked[3]).iter().filter(|message| message["role"] == "user");
    let said: Vec<&str> = said.map(|message| message["content"].as_str().unwrap()).collect();
    assert!(said[0].contains("Full mode") && said[0].contains("directory is ., "), "{said:?}");
    assert!(said[1].contains("directory is src, ") && said[2] == "three", "{said:?}");
}

#[tokio::test]
async fn what_is_kept_of_a_user_is_known_in_another_chat_and_to_nobody_else() {
    let model = keeps();
    let (home, bench) = at_home(&model).await;
    std::fs::write(home.path().join("AGENTS.md"), "Server says hello.").unwrap();
    let wanted = Preferences { instructions: Some("Be kind.".to_owned()), ..Preferences::default() };
    bench.service.set_preferences(&bench.user, &wanted).await.unwrap();
    let runner = bench.connect("laptop").await;
    put_library(&runner);
    bench.talk(Mode::Full).await.say("one").await;
    let talk = bench.other_talk().await;
    talk.say("tabs or spaces?").await;
    assert!(!model.asked().pop().unwrap().raw.contains("likes tabs"), "nobody has accepted it yet");
    assert_eq!(talk.told("/memory accept 1").await, "Remembered as #1.");
    talk.say("tabs or spaces?").await;
    let asked = model.asked().pop().unwrap().raw;
    assert!(asked.contains("#1 semantic") && asked.contains("found by tabs"), "{asked}");
    let context = talk.told("/context").await;
    assert!(context.contains("recalled with the last message:\n- #1 semantic \"tabs\""), "{context}");
    let documents: Vec<&str> =
        context.lines().filter_map(|line| Some(line.split_once("  of which ")?.1)).collect();
    let of_runner = ["AGENTS.md", ".sandbridge/AGENTS.md"];
    let all = ["the server's AGENTS.md", of_runner[0], of_runner[1], "your own instructions"];
    assert_eq!(documents.len(), all.len(), "{context}");
    assert!(all.iter().all(|name| documents.contains(name)), "{context}");
    talk.say("what is the weather?").await;
    assert!(!talk.told("/context").await.contains("recalled"));
    assert_eq!(talk.told("/memory").await, "- #1 semantic \"tabs\": \"likes tabs\"");
    let eve = bench.somebody("eve").await;
    let (service, user) = (&bench.service, &bench.user);
    assert_eq!(service.memories(eve.id, None).await.unwrap(), []);
    assert_eq!(service.forget_memory(&eve, 1).await.unwrap_err().kind(), "not_found");
    bench.talk_of(&eve).await.say("tabs or spaces?").await;
    let hers = model.asked().pop().unwrap();
    assert!(hers.system().contains("called eve") && hers.system().contains("Server says hello."));
    assert!(!hers.raw.contains("likes tabs") && !hers.raw.contains("Be kind."), "{}", hers.raw);
    assert_eq!(service.forget_about(user, None, "tabs").await.unwrap(), 1);
    assert_eq!(service.memories(user.id, None).await.unwrap(), []);
}

#[tokio::test]
async fn an_administrator_changes_the_base_prompt_and_the_layers_while_the_server_runs() {
    let model = ScriptedModel::start(|asked| Reply::Say(format!("heard {}", asked.last_of_user())));
    let (home, bench) = at_home(&model).await;
    let file = home.path().join("prompt.md");
    std::fs::write(&file, "Be a pirate.").unwrap();
    let talk = bench.talk(Mode::Full).await;
    let set = async |change: Value| {
        let change = serde_json::from_value(change).unwrap();
        let settings = talk.service.change_server_settings(&talk.user, change).await.unwrap();
        serde_json::to_value(settings).unwrap()
    };
    let said = async |word: &str| {
        assert_eq!(talk.say(word).await["agent"]["status"], "done");
        model.asked().pop().unwrap()
    };
    assert!(said("one").await.system().contains("You are an engineer"));
    let shown = set(json!({"base_prompt": "prompt.md", "context_mode": "none", "turns_at_once": 3})).await;
    assert_eq!((&shown["turns_at_once"], &shown["turns_at_once_default"]), (&json!(3), &json!(16)));
    let asked = said("two").await;
    assert!(
        asked.system().starts_with("Be a pirate.") && !asked.tools().contains(&"context_edit".to_owned()),
        "{}",
        asked.raw
    );
    let context = talk.told("/context").await;
    assert!(context.contains("context mode is none"), "{context}");
    // The file is read again at each turn. While it cannot be used, the built-in prompt is used, and administrators see the reason.
    std::fs::write(&file, "Be a parrot.").unwrap();
    assert!(said("three").await.system().starts_with("Be a parrot."));
    std::fs::remove_file(&file).unwrap();
    assert!(said("four").await.system().contains("You are an engineer"));
    let problem = set(json!({})).await["base_prompt_problem"].as_str().unwrap().to_owned();
    assert!(problem.contains("there is no file prompt.md"), "{problem}");
    set(json!({"base_prompt": null, "context_mode": null})).await;
    let asked = said("five").await;
    assert!(
        asked.system().contains("You are an engineer") && asked.tools().contains(&"context_edit".to_owned())
    );
}
