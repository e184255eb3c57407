//! What a model is told of what changed since it looked, and how it edits what it was told.

use super::*;

#[test]
fn a_model_edits_its_conversation_and_is_told_what_changed_since_it_looked() {
    let model = ScriptedModel::start(|asked| match asked.last_of_user().as_str() {
        "read" if asked.results().is_empty() => Reply::Call(vec![("Read", json!({"path": "long.txt"}))]),
        "change" if asked.results().len() == 1 => {
            Reply::Call(vec![("Shell", json!({"command": "echo more >> long.txt; mkdir -p src"}))])
        }
        "change" if asked.results().len() == 2 => Reply::Call(vec![("Cd", json!({"path": "src"}))]),
        "forget" if asked.results().len() == 3 => {
            Reply::Call(vec![("context_edit", json!({"action": "delete_turn", "contains": "a secret word"}))])
        }
        "again" if asked.results().len() == 4 => Reply::Call(vec![("Read", json!({"path": "../long.txt"}))]),
        last => Reply::Say(format!("done with {last}")),
    });
    let options = [&["--docker", "off"], &model.options("openai")[..]].concat();
    let mut server = Server::start_with(&options);
    let alice = server.person("alice");
    let machine = Machine::start_with(&server, &alice, "laptop", &["--reconnect-max", "0.2"]);
    let content: String = (0..2_000).map(|number| format!("line {number}\n")).collect();
    fs::write(machine.workspace().join("long.txt"), content).unwrap();
    let say = |text: &str| {
        let output = alice.run(&["chat", "--approval", "full", text]);
        assert_eq!(output.code, 0, "{output:?}");
        model.asked().pop().unwrap()
    };
    alice.run(&["chat", "--new", "--approval", "full", "a secret word"]);
    let read = say("read");
    assert!(read.results()[0].starts_with("📂 [offload:ol_") && !read.raw.contains("<system-reminder>"));
    let changed = say("change");
    assert!(changed.raw.contains("STALE: long.txt on laptop has changed"), "{}", changed.raw);
    assert!(changed.raw.contains("now in src"), "{}", changed.raw);
    let forgotten = say("forget");
    assert!(forgotten.results()[3].contains("2 messages edited"), "{:?}", forgotten.results());
    assert!(!forgotten.raw.contains("done with a secret word"), "{}", forgotten.raw);
    server.restart(&options);
    machine.wait_online(&alice, "laptop");
    let again = say("again");
    assert!(!again.raw.contains("done with a secret word"), "{}", again.raw);
    assert!(!again.raw.contains("STALE: long.txt on laptop"), "it was read again");
    assert!(again.raw.contains("The current directory is src"));
}

#[test]
fn a_file_is_stale_until_the_model_that_read_it_looks_again_whatever_became_of_it() {
    let at = Arc::new(Mutex::new(String::new()));
    let model_at = Arc::clone(&at);
    let reads = |paths: [String; 3]| paths.map(|path| ("Read", json!({"path": path}))).to_vec();
    let names = ["a", "b", "c"].map(str::to_owned);
    let model = ScriptedModel::start(move |asked| {
        let (said, results) = (asked.last_of_user(), asked.results().len());
        let workspace = model_at.lock().unwrap().clone();
        match (said.as_str(), results) {
            ("read", 0) => Reply::Call(reads(names.clone())),
            ("change", 3) => Reply::Call(vec![("Shell", json!({"command": "echo more >> a; rm b; : > c"}))]),
            ("send", 4) => Reply::Call(vec![("SubAgent", json!({"task": "look at a"}))]),
            ("look at a", 0) => Reply::Call(vec![("Read", json!({"path": "a"}))]),
            ("again", 5) => Reply::Call(reads(names.clone().map(|name| format!("{workspace}/{name}")))),
            _ => Reply::Say("done".to_owned()),
        }
    });
    let server = Server::start_with(&[&["--docker", "off"], &model.options("openai")[..]].concat());
    let alice = server.person("alice");
    let machine = Machine::start(&server, &alice, "laptop");
    let workspace = fs::canonicalize(machine.workspace()).unwrap();
    workspace.to_str().unwrap().clone_into(&mut at.lock().unwrap());
    for name in ["a", "b", "c"] {
        let content: String = (0..2_000).map(|number| format!("line {number}\n")).collect();
        fs::write(workspace.join(name), content).unwrap();
    }
    let stale = |text: &str| {
        let output = alice.run(&["chat", "--approval", "full", text]);
        assert_eq!(output.code, 0, "{output:?}");
        let last = model.asked().pop().unwrap().raw;
        ["a", "b", "c"].map(|name| last.contains(&format!("STALE: {name} on laptop")))
    };
    assert_eq!(stale("read"), [false; 3]);
    assert_eq!(stale("change"), [true; 3]);
    assert_eq!(stale("send"), [true; 3], "what a sub-agent read its parent does not know");
    let of_agent = model.asked().into_iter().rfind(|asked| asked.last_of_user() == "look at a").unwrap();
    assert!(!of_agent.raw.contains("STALE"), "it had read nothing before");
    assert_eq!(stale("again"), [false; 3]);
}
