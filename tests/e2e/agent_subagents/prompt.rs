//! The prompt that is put together from parts: instructions, skills, roles, memory.

use super::*;

#[test]
fn the_prompt_is_put_together_in_order_and_its_beginning_stays_as_it_is() {
    let model = ScriptedModel::start(|asked| match (asked.last_of_user().as_str(), asked.results().len()) {
        ("one", 0) => Reply::Call(vec![
            ("Cd", json!({"path": "src"})),
            ("Skill", json!({"name": "release"})),
            ("Skill", json!({"name": "../../etc"})),
            ("memory_write", json!({"name": "tabs", "text": "likes tabs"})),
            ("memory_list", json!({})),
        ]),
        _ => Reply::Say(format!("did {}", asked.last_of_user())),
    });
    let world = World::new(&model, "full");
    fs::write(world.server.home().join("AGENTS.md"), "Server says hello.").unwrap();
    let wanted = json!({"instructions": "Be kind.", "language": "German"}).to_string();
    assert_eq!(world.client.send("PUT", "/settings/agent", wanted.as_bytes()).status, 200);
    let long = json!({"instructions": "x".repeat(33 * 1024)}).to_string();
    assert_eq!(world.client.send("PUT", "/settings/agent", long.as_bytes()).status, 400);
    assert_eq!(world.client.call("GET", "/settings/agent").json()["language"], "German");
    world.put("AGENTS.md", "Scripts are POSIX.");
    world.put("src/a", "");
    world.put(".sandbridge/AGENTS.md", "Tests first.");
    world.put(
        ".sandbridge/skills/release/SKILL.md",
        "---\nname: release\ndescription: How to release\n---\nTag it, then push.",
    );
    world.put(".sandbridge/skills/empty/README", "none");
    world.put(".sandbridge/agents/looker.md", "---\ndescription: Looks\n---\nLook.");
    for word in ["one", "two", "three"] {
        world.say(word);
        assert_eq!(world.answer()["agent"]["status"], "done");
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
        "The user is called alice.",
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
    assert_eq!(results[4], "- tabs: likes tabs");
    // All that was sent before is sent again, byte for byte, though the directory is another one and more is kept by now.
    for pair in asked.windows(2) {
        assert_eq!(pair[0].system(), pair[1].system());
        let (before, after) = (&pair[0].body["messages"], &pair[1].body["messages"]);
        let (before, after) = (before.as_array().unwrap(), after.as_array().unwrap());
        assert_eq!(before[..], after[..before.len()]);
    }
    let said: Vec<String> = asked[3].body["messages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|message| message["role"] == "user")
        .map(|message| message["content"].as_str().unwrap().to_owned())
        .collect();
    assert!(said[0].contains("Full mode") && said[0].contains("directory is ., "), "{said:?}");
    assert!(said[1].contains("directory is src, ") && said[2] == "three", "{said:?}");
    // Another chat knows what was kept; another user does not.
    let chat = new_chat(&world.client, "full");
    say(&world.client, &chat, "new");
    ended(&world.client, &chat);
    assert!(model.asked().pop().unwrap().system().contains("- tabs: likes tabs"));
    let shown = world.alice.run(&["chat", "--new", "/memory"]);
    assert_eq!(shown.stdout, "tabs: likes tabs\n");
    world.server.person("eve");
    let eve = Client::login(&world.server, "eve");
    assert_eq!(eve.call("GET", "/memories").json(), json!([]));
    assert_eq!(eve.call("DELETE", "/memories/tabs").status, 404);
    say(&eve, &new_chat(&eve, "full"), "hello");
    eventually("she is answered", PATIENCE, || {
        model.asked().iter().any(|asked| asked.system().contains("called eve")).then_some(())
    });
    let hers = model.asked().into_iter().find(|asked| asked.system().contains("called eve")).unwrap();
    assert!(
        !hers.raw.contains("likes tabs")
            && !hers.raw.contains("Be kind.")
            && hers.raw.contains("Server says hello.")
    );
    assert_eq!(world.client.call("DELETE", "/memories/tabs").status, 204);
    assert_eq!(world.client.call("GET", "/memories").json(), json!([]));
}

#[test]
fn an_administrator_changes_the_base_prompt_and_the_layers_while_the_server_runs() {
    let model = ScriptedModel::start(|asked| Reply::Say(format!("heard {}", asked.last_of_user())));
    let world = World::new(&model, "full");
    let file = world.server.home().join("prompt.md");
    fs::write(&file, "Be a pirate.").unwrap();
    let set = |options: &[&str]| {
        let shown = world.alice.run(&[&["server", "settings"], options].concat());
        assert_eq!(shown.code, 0, "{}", shown.stderr);
        shown
    };
    let system = |world: &World, word: &str| {
        world.say(word);
        assert_eq!(world.answer()["agent"]["status"], "done");
        model.asked().pop().unwrap()
    };
    assert!(system(&world, "one").system().contains("You are an engineer"));
    let shown = set(&["--base-prompt", "prompt.md", "--context-mode", "none", "--turns-at-once", "3"]).stdout;
    assert!(shown.contains("3 (started with 16)") && shown.contains("prompt.md"), "{shown}");
    let asked = system(&world, "two");
    assert!(
        asked.system().starts_with("Be a pirate.") && !asked.raw.contains("context_edit"),
        "{}",
        asked.raw
    );
    let context = world.alice.run(&["chat", "--resume", &world.chat, "/context"]).stdout;
    assert!(context.contains("context mode is none"), "{context}");
    // The file is read again at each turn; while it cannot be used, the built-in prompt is, and administrators see why.
    fs::write(&file, "Be a parrot.").unwrap();
    assert!(system(&world, "three").system().starts_with("Be a parrot."));
    fs::remove_file(&file).unwrap();
    assert!(system(&world, "four").system().contains("You are an engineer"));
    assert!(set(&[]).stderr.contains("there is no file prompt.md"));
    let bad = world.alice.run(&["server", "settings", "--base-prompt", "/etc/passwd"]);
    assert!(bad.code != 0 && bad.stderr.contains("ends in .md"), "{}", bad.stderr);
    set(&["--base-prompt", "none", "--context-mode", "default"]);
    let asked = system(&world, "five");
    assert!(asked.system().contains("You are an engineer") && asked.raw.contains("context_edit"));
}
