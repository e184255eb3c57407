//! Memory from the command line, and across a restart: memories are added, found, changed with their history, forgotten, and private to each user.

use serde_json::{Value, json};
use tests::{Reply, ScriptedModel, Server};

fn json_of(output: &str) -> Value {
    serde_json::from_str(output).unwrap_or_else(|error| panic!("{error}: {output}"))
}

#[test]
fn memories_are_added_found_changed_and_forgotten_and_are_private_to_their_user() {
    let server = Server::start();
    let (alice, bob) = (server.person("alice"), server.person("bob"));
    let run = |words: &[&str]| {
        let output = alice.run(&[&["memory"], words].concat());
        assert_eq!(output.code, 0, "{words:?}: {output:?}");
        output.stdout
    };
    assert_eq!(run(&["add", "The user likes tabs"]), "remembered as memory 1\n");
    assert_eq!(run(&["add", "the user LIKES tabs"]), "remembered as memory 1\n", "it is known");
    run(&["add", "Be brief.", "--kind", "core", "--name", "persona"]);
    run(&["add", "部署在每周五", "--kind", "procedural"]);
    run(&["edit", "1", "The user likes spaces"]);
    assert!(run(&["show", "1"]).contains("The user likes tabs"), "its history");
    assert!(
        run(&["search", "佈署"]).contains("no memory") && run(&["search", "每週五"]).contains("部署在每周五")
    );
    let listed = json_of(&run(&["list", "--json"]));
    assert_eq!(listed.as_array().unwrap().len(), 3);
    let exported = json_of(&run(&["export"]));
    assert_eq!(exported[0]["history"][0]["text"], "The user likes tabs");
    assert_eq!(run(&["proposals"]), "nothing is proposed\n");
    for words in [&["show", "1"][..], &["edit", "1", "mine"], &["forget", "1"], &["accept", "1"]] {
        let output = bob.run(&[&["memory"], words].concat());
        assert!(output.code != 0 && !output.stdout.contains("tabs"), "{output:?}");
    }
    assert!(bob.run(&["memory", "list"]).stdout.contains("nothing is remembered"));
    let long = "x".repeat(2_001);
    for words in [
        &["add", ""][..],
        &["add", "--kind", "core", "x"],
        &["add", "--kind", "core", "--name", "user", &long],
    ] {
        assert_ne!(alice.run(&[&["memory"], words].concat()).code, 0, "{words:?}");
    }
    assert_eq!(run(&["forget", "--about", "tabs"]), "forgotten memories: 1\n", "by its earlier text");
    assert_eq!(run(&["forget", "3"]), "memory 3 is forgotten\n");
    assert_eq!(run(&["add", "Deploys run on Fridays"]), "remembered as memory 4\n");
    assert_eq!(run(&["add", "Deploys run on Mondays", "--replaces", "4"]), "remembered as memory 5\n");
    assert!(run(&["list"]).contains("Deploys run on Fridays (superseded by 5)"));
    for number in ["4", "77"] {
        assert_ne!(alice.run(&["memory", "add", "Deploys run daily", "--replaces", number]).code, 0);
    }
    assert_ne!(bob.run(&["memory", "add", "Deploys run daily", "--replaces", "5"]).code, 0);
    assert!(
        run(&["mode", "letta", "--from-chats", "on"]).contains("mode letta; proposals from your chats: on")
    );
    assert!(run(&["mode"]).contains("letta"));
}

#[test]
fn what_a_model_proposes_waits_for_its_user() {
    let model = ScriptedModel::start(|asked| match asked.results().is_empty() {
        true => {
            Reply::Call(vec![("memory_write", json!({"text": "The user works at night", "replaces": [1]}))])
        }
        false => Reply::Say(asked.results().join("|")),
    });
    let server = Server::start_with(&[&["--docker", "off"], &model.options("openai")[..]].concat());
    let alice = server.person("alice");
    alice.run(&["memory", "add", "The user works by day"]);
    let said = alice.run(&["chat", "--new", "--approval", "full", "hello"]);
    assert!(said.stdout.contains("proposed as #2"), "{said:?}");
    let proposals = alice.run(&["memory", "proposals"]).stdout;
    assert!(proposals.contains("The user works at night") && proposals.contains("an agent"), "{proposals}");
    assert!(proposals.contains("(would replace 1: The user works by day)"), "{proposals}");
    assert!(!alice.run(&["memory", "list"]).stdout.contains("superseded"));
    assert_eq!(alice.run(&["memory", "accept", "2"]).stdout, "remembered as memory 2\n");
    let kept = alice.run(&["memory", "list"]).stdout;
    assert!(
        kept.contains("The user works at night") && kept.contains("works by day (superseded by 2)"),
        "{kept}"
    );
}
