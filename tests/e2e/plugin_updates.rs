//! An update of a plugin takes effect with the next turn: a turn in progress keeps the plugin's hooks and servers.

use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::json;
use tests::{Asked, Reply, eventually, process};

use crate::world::{World, put};

const PATIENCE: Duration = Duration::from_secs(60);

/// A command that runs until the test lets it go on.
const WAITS: &str = "touch begun; until [ -e go ]; do sleep 0.05; done";

/// A hook that denies one command, in the name of its copy.
fn guard(copy: &str) -> String {
    format!("#!/bin/sh\ngrep -q 'touch mark' || exit 0\necho 'copy {copy} says no' >&2\nexit 2\n")
}

/// A server whose tool waits until the test lets it go on, and then names its copy.
fn server(copy: &str) -> String {
    let repeats = "text = str(params.get(\"arguments\", {}).get(\"text\", \"\"))";
    let waits = format!(
        "open(\"begun\", \"w\").close()\n        while not os.path.exists(\"go\"):\n            time.sleep(0.05)\n        text = \"copy {copy}\""
    );
    let echo = include_str!("../fixtures/mcp_echo.py");
    assert!(echo.contains(repeats) && echo.contains("import os\n"));
    echo.replace(repeats, &waits).replace("import os\n", "import os\nimport time\n")
}

impl World {
    /// Begins a turn, and returns once its first call is in progress.
    fn begun(&self) -> Child {
        for mark in ["begun", "go"] {
            let _ = fs::remove_file(self.path(mark));
        }
        let mut chat = self.alice.command(&["chat", "--new", "--json", "--approval", "full", "go"]);
        let chat = chat.stdout(Stdio::piped()).spawn().unwrap();
        eventually("the call is in progress", PATIENCE, || self.path("begun").exists().then_some(()));
        chat
    }

    /// Lets the turn go on, and waits until it has ended.
    fn goes_on(&self, chat: Child) {
        self.put("go", "");
        let output = chat.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
}

#[test]
fn a_guard_of_a_plugin_that_is_updated_or_removed_guards_until_the_turn_ends() {
    let world = World::new(|asked: &Asked| match asked.results().len() {
        0 => Reply::Call(vec![("Shell", json!({"command": WAITS}))]),
        1 => Reply::Call(vec![("Shell", json!({"command": "touch mark"}))]),
        _ => Reply::Say("that is all".to_owned()),
    });
    let copy = |version: &str| {
        let root = world.plugin(version);
        put(&root.join("hooks/guard.sh"), &guard(version));
        root.to_str().unwrap().to_owned()
    };
    world.install(&copy("1.0"));
    let chat = world.begun();
    world.install(&copy("2.0"));
    // The files on the machine are gone too: they come from the copy with which the turn began.
    fs::remove_dir_all(world.path(".sandbridge/plugins")).unwrap();
    world.goes_on(chat);
    assert!(world.last_result().contains("copy 1.0 says no"), "{}", world.last_result());
    let chat = world.begun();
    world.run(&["plugin", "remove", "guard"]);
    fs::remove_dir_all(world.path(".sandbridge/plugins")).unwrap();
    world.goes_on(chat);
    assert!(world.last_result().contains("copy 2.0 says no"), "{}", world.last_result());
    assert!(!world.path("mark").exists());
    let chat = world.begun();
    world.goes_on(chat);
    assert!(world.path("mark").exists(), "a turn that begins later has no guard");
}

#[test]
fn a_call_of_a_server_ends_normally_while_its_plugin_is_updated() {
    let call = || Reply::Call(vec![("mcp__plugin_guard_echo__echo", json!({"text": "x"}))]);
    let world = World::new(move |asked: &Asked| match asked.results().len() {
        0 => Reply::Call(vec![("search_tools", json!({"query": "repeat a text"}))]),
        1 | 2 => call(),
        _ => Reply::Say("that is all".to_owned()),
    });
    let copy = |version: &str| {
        let root = world.plugin(version);
        put(&root.join("server/echo.py"), &server(version));
        let servers = json!({"mcpServers": {"echo": {"command": "python3", "args": ["${CLAUDE_PLUGIN_ROOT}/server/echo.py"]}}});
        put(&root.join(".mcp.json"), &servers.to_string());
        fs::remove_dir_all(root.join("hooks")).unwrap();
        root.to_str().unwrap().to_owned()
    };
    let results = || {
        let results = world.model.asked().pop().unwrap().results();
        results[1..].iter().map(|result| result.trim().to_owned()).collect::<Vec<_>>()
    };
    world.install(&copy("1.0"));
    let chat = world.begun();
    let directory = world.copies().pop().unwrap();
    let old = directory.file_name().and_then(|name| name.to_str()).unwrap().to_owned();
    let runs = |copy: &str| !process::with_marker(&format!("{copy}/server/echo.py")).is_empty();
    assert!(runs(&old));
    world.install(&copy("2.0"));
    world.goes_on(chat);
    assert_eq!(results(), ["copy 1.0", "copy 1.0"], "the turn keeps its server");
    let chat = world.begun();
    eventually("the old copy's program ended", PATIENCE, || (!runs(&old)).then_some(()));
    world.goes_on(chat);
    assert_eq!(results(), ["copy 2.0", "copy 2.0"]);
    let new = world.copies().into_iter().find(|path| !path.ends_with(Path::new(&old))).unwrap();
    assert!(new.join("server/echo.py").exists());
}
