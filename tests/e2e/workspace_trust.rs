//! Definitions in a workspace (custom tools, skills for every prompt, hooks and servers) have no effect before their user has approved them.

use std::fs;

use serde_json::{Value, json};
use tests::{Asked, Reply};

use crate::world::World;

/// A tool that repeats its input.
const ECHO: &str = r#"#!/bin/sh
if [ "$1" = --describe ]; then
    touch described 2>/dev/null
    echo '{"description": "Repeats its arguments", "parameters": {"properties": {"text": {"type": "string"}}}}'
    exit
fi
echo "it was given $(cat)"
touch called
"#;

/// A model that calls a custom tool if it is declared, and then repeats the result.
fn caller(tool: &'static str) -> impl FnMut(&Asked) -> Reply + Send + 'static {
    move |asked| match asked.results().last() {
        Some(result) => Reply::Say(format!("got: {result}")),
        None if tools(asked).iter().any(|name| name == tool) => {
            Reply::Call(vec![(tool, json!({"text": "hello"}))])
        }
        None => Reply::Say(format!("{tool} is not here")),
    }
}

/// The names of the tools that a request declares.
pub(crate) fn tools(asked: &Asked) -> Vec<String> {
    let tools = asked.body["tools"].as_array().cloned().unwrap_or_default();
    tools.iter().filter_map(|tool| Some(tool["function"]["name"].as_str()?.to_owned())).collect()
}

/// All text of a request before the user's message.
pub(crate) fn system(asked: &Asked) -> String {
    asked.body["messages"][0]["content"].to_string()
}

impl World {
    /// All text of an answer in a new chat in this mode, whether it was streamed or not.
    fn said(&self, mode: &str) -> String {
        let lines = self.chat(mode);
        lines.iter().filter_map(|line| line["text"].as_str()).collect()
    }

    fn items(&self) -> Vec<Value> {
        self.alice.json(&["trust", "list", "--json"])["items"].as_array().unwrap().clone()
    }

    fn item(&self, name: &str) -> Value {
        let items = self.items();
        items.iter().find(|item| item["name"] == name).unwrap_or_else(|| panic!("{name}: {items:?}")).clone()
    }

    fn problems(&self) -> String {
        let list = self.alice.json(&["trust", "list", "--json"]);
        let problems = list["problems"].as_array().unwrap().iter();
        let lines = problems.map(|problem| {
            format!("{}: {}", problem["origin"].as_str().unwrap(), problem["text"].as_str().unwrap())
        });
        lines.collect::<Vec<_>>().join("\n")
    }
}

#[test]
fn a_custom_tool_needs_an_approval_that_ends_with_a_change() {
    let world = World::new(caller("custom__echo"));
    world.put("custom-tools/echo.sh", ECHO);
    let said = world.said("full");
    assert!(said.contains("custom__echo is not here"), "{said}");
    assert!(said.contains("Waiting for your approval") && said.contains("custom tools: 1"), "{said}");
    assert!(!world.path("described").exists(), "the tool is not even run to describe itself");
    let waiting = world.item("echo");
    assert_eq!((&waiting["kind"], &waiting["state"]), (&json!("custom_tool"), &json!("waiting")));
    let refused = world.alice.run(&["trust", "approve", "echo"]);
    assert_eq!(refused.code, 1, "nobody was asked: {refused:?}");
    world.run(&["trust", "approve", "echo", "--yes"]);
    let said = world.said("full");
    assert!(said.contains(r#"it was given {"text":"hello"}"#), "{said}");
    assert!(
        world.path("called").exists() && !world.path("described").exists(),
        "a description has no side effects"
    );
    // In plan mode nothing may change, and a tool that does not declare otherwise is assumed to change things.
    fs::remove_file(world.path("called")).unwrap();
    assert!(!world.said("plan").contains("it was given"));
    assert!(!world.path("called").exists());
    let audited = world.alice.json(&["ps", "--all", "--json"]).to_string();
    assert!(audited.contains("custom-tools/echo.sh"), "{audited}");
    // A change to the tool's content needs another approval, and the list shows the changed files.
    world.put("custom-tools/echo.sh", &ECHO.replace("it was given", "it got"));
    assert!(world.said("full").contains("custom__echo is not here"));
    let changed = world.item("echo");
    assert_eq!(changed["state"], "waiting");
    assert_eq!(changed["change"]["files"], json!(["custom-tools/echo.sh"]));
    let words = world.run(&["trust", "list"]).stdout;
    assert!(words.contains("changed files: custom-tools/echo.sh"), "{words}");
    world.run(&["trust", "approve", "--all", "--yes"]);
    assert!(world.said("full").contains("it got"));
    let hash = world.item("echo")["hash"].as_str().unwrap().to_owned();
    world.run(&["trust", "revoke", &hash[..12]]);
    assert!(world.said("full").contains("custom__echo is not here"));
}

#[test]
fn a_tool_that_changes_while_a_turn_is_in_progress_is_not_run() {
    let script = |asked: &Asked| match asked.results().len() {
        0 => Reply::Call(vec![("Shell", json!({"command": "echo 'touch called' >> custom-tools/echo"}))]),
        1 => Reply::Call(vec![("custom__echo", json!({}))]),
        _ => Reply::Say(format!("got: {}", asked.results().last().unwrap())),
    };
    let world = World::new(script);
    world.put("custom-tools/echo", ECHO);
    world.run(&["trust", "approve", "echo", "--yes"]);
    let said = world.said("full");
    assert!(said.contains("has changed since its user approved it"), "{said}");
    assert!(!world.path("called").exists());
}

#[test]
fn a_tool_declared_as_read_only_cannot_write() {
    let reads = ECHO.replace("\"description\"", "\"read_only\": true, \"description\"");
    let world = World::new(caller("custom__echo"));
    world.put("custom-tools/echo", &reads);
    world.run(&["trust", "approve", "echo", "--yes"]);
    let said = world.said("full");
    assert!(said.contains("it was given"), "{said}");
    assert!(!world.path("called").exists(), "the tool's workspace is read-only");
}

#[test]
fn a_broken_tool_is_named_and_the_turn_continues() {
    let world = World::new(caller("custom__echo"));
    for (name, content) in [
        ("no-json", "#!/bin/sh\necho hello"),
        ("fails", "#!/bin/sh\necho sorry >&2; exit 3"),
        ("too-long", "#!/bin/sh\nhead -c 100000 /dev/zero | tr '\\0' x"),
        ("missing", "#!/nowhere/interpreter\n"),
        ("echo", ECHO),
        ("echo.py", ECHO),
        ("two words", ECHO),
        ("übergröße", ECHO),
    ] {
        world.put(&format!("custom-tools/{name}"), content);
    }
    fs::write(world.path("custom-tools/not-executable"), ECHO).unwrap();
    std::os::unix::fs::symlink("/bin/sh", world.path("custom-tools/outside")).unwrap();
    world.run(&["trust", "approve", "--all", "--yes"]);
    assert!(world.said("full").contains("it was given"), "the valid tool works");
    let problems = world.problems();
    for part in [
        "no-json: the tool is not offered: what it prints with --describe is not the expected JSON object",
        "fails: the tool is not offered: it did not describe itself: it ended with exit status 3; its standard error ends with:",
        "too-long: the tool is not offered: its description is longer than",
        "missing: the tool is not offered",
        "echo.py: another file already defines the tool echo",
        "übergröße: it is not a tool",
        "chmod +x custom-tools/not-executable",
    ] {
        assert!(problems.contains(part), "{part}: {problems}");
    }
    assert!(world.items().iter().all(|item| item["name"] != "outside"), "{problems}");
}

#[test]
fn a_tool_that_fails_floods_or_hangs_ends_with_a_message() {
    let script = |asked: &Asked| match asked.results().len() {
        at @ 0..3 => Reply::Call(vec![(["custom__fails", "custom__floods", "custom__hangs"][at], json!({}))]),
        _ => Reply::Say("that is all".to_owned()),
    };
    let world = World::new(script);
    let described = |extra: &str, then: &str| {
        format!(
            "#!/bin/sh\n[ \"$1\" = --describe ] && {{ echo '{{\"description\": \"x\"{extra}}}'; exit; }}\n{then}\n"
        )
    };
    world.put("custom-tools/fails", &described("", "echo half; echo why >&2; exit 4"));
    world.put("custom-tools/floods", &described("", "yes | head -c 3000000"));
    world.put("custom-tools/hangs", &described(", \"timeout\": 1", "echo begun; sleep 600"));
    world.run(&["trust", "approve", "--all", "--yes"]);
    let said = world.said("full");
    let asked = world.model.asked();
    let results = asked.last().unwrap().results();
    assert!(
        results[0].contains("half") && results[0].contains("exit status 4") && results[0].contains("why"),
        "{}",
        results[0]
    );
    assert!(results[1].len() < 600_000, "{}", results[1].len());
    assert!(results[2].contains("begun") && results[2].contains("did not end within 1 s"), "{}", results[2]);
    assert!(said.contains("that is all"), "{said}");
}

#[test]
fn a_skill_that_always_applies_is_in_prompts_only_after_its_approval() {
    let world = World::new(|_: &Asked| Reply::Say("hello".to_owned()));
    let skill = "---\ndescription: How we talk\nalways: true\n---\nAlways rhyme.";
    world.put(".agents/skills/talk/SKILL.md", skill);
    world.put(".claude/skills/other/SKILL.md", "---\ndescription: Only when it is needed\n---\nNever mind.");
    let prompt = |world: &World| {
        world.chat("full");
        system(world.model.asked().last().unwrap())
    };
    let before = prompt(&world);
    assert!(!before.contains("Always rhyme."), "{before}");
    assert!(
        before.contains("talk: How we talk") && before.contains("other: Only when it is needed"),
        "{before}"
    );
    world.run(&["trust", "approve", "talk", "--yes"]);
    assert!(prompt(&world).contains("# Skills that always apply\\n\\n## talk\\n\\nAlways rhyme."));
    assert!(!prompt(&world).contains("Never mind."));
    world.put(".agents/skills/talk/SKILL.md", &skill.replace("rhyme", "obey"));
    let after = prompt(&world);
    assert!(!after.contains("Always rhyme.") && !after.contains("Always obey."), "{after}");
    assert_eq!(world.item("talk")["change"]["files"], json!([".agents/skills/talk/SKILL.md"]));
}

#[test]
fn a_hook_of_a_workspace_adds_to_the_prompt_only_after_its_approval() {
    let world = World::new(|_: &Asked| Reply::Say("hello".to_owned()));
    let hooks = |words: &str| {
        let hook = json!({"type": "command", "command": format!("echo '{words}'; touch ran")});
        json!({"hooks": {"SessionStart": [{"hooks": [hook]}]}}).to_string()
    };
    world.put(".claude/settings.json", &hooks("the build is red"));
    let prompt = |world: &World| {
        world.chat("full");
        world.model.asked().pop().unwrap().body.to_string()
    };
    assert!(!prompt(&world).contains("the build is red"));
    assert!(!world.path("ran").exists(), "it did not run");
    world.run(&["trust", "approve", "--all", "--yes"]);
    assert!(prompt(&world).contains("the build is red"));
    // Another hook, even in the same place, is one that nobody approved.
    world.put(".claude/settings.json", &hooks("obey the README"));
    let after = prompt(&world);
    assert!(!after.contains("the build is red") && !after.contains("obey the README"), "{after}");
}

#[test]
fn everything_that_a_workspace_defines_is_in_one_list() {
    let world = World::new(|_: &Asked| Reply::Say("hello".to_owned()));
    world.put("custom-tools/echo", ECHO);
    world.put("skills/talk/SKILL.md", "---\nmetadata: '{\"nanobot\":{\"always\":true}}'\n---\nBe kind.");
    world.put("server.py", "");
    world.put(".mcp.json", r#"{"mcpServers": {"own": {"command": "python3", "args": ["server.py"]}}}"#);
    let hooks = json!({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "./lint.sh"}]}]}});
    world.put(".claude/settings.json", &hooks.to_string());
    world.put("lint.sh", "#!/bin/sh\n");
    let tool =
        json!([{"name": "now", "description": "d", "method": "GET", "url": "https://time.example/now"}]);
    world.put(".sandbridge/http-tools.json", &tool.to_string());
    let mut kinds: Vec<String> =
        world.items().iter().map(|item| item["kind"].as_str().unwrap().to_owned()).collect();
    kinds.sort();
    assert_eq!(kinds, ["custom_tool", "hook", "http_tool", "mcp_server", "skill"]);
    assert!(world.items().iter().all(|item| item["state"] == "waiting"));
    let said = world.said("full");
    for line in ["hooks: 1", "MCP servers: 1", "HTTP tools: 1", "custom tools: 1", "skills: 1"] {
        assert!(said.contains(line), "{line}: {said}");
    }
    world.run(&["trust", "approve", "--all", "--yes"]);
    assert!(world.items().iter().all(|item| item["state"] == "approved"));
    assert!(!world.said("full").contains("Waiting for your approval"), "nothing waits");
    // An approval in the list of one kind is the same approval as in this list.
    assert!(world.alice.json(&["hook", "list", "--json"]).to_string().contains(r#""state":"runs""#));
    let approvals = world.alice.json(&["trust", "list", "--all", "--json"])["approvals"].clone();
    assert_eq!(approvals.as_array().unwrap().len(), 5, "{approvals}");
    // The approval of a hook covers the file that it names.
    world.put("lint.sh", "#!/bin/sh\ntouch mark\n");
    let hook = world.items().into_iter().find(|item| item["kind"] == "hook").unwrap();
    assert_eq!((&hook["state"], &hook["change"]["files"]), (&json!("waiting"), &json!(["lint.sh"])));
    // Another user's machine has a separate list, and that user's approvals are separate.
    let bob = world.server.person("bob");
    let _machine = tests::Machine::start(&world.server, &bob, "desk");
    let list = bob.json(&["trust", "list", "--json"]);
    assert_eq!((&list["items"], &list["approvals"]), (&json!([]), &json!([])));
}

#[test]
fn a_skill_with_missing_requirements_is_offered_with_a_note() {
    let world = World::new(|asked: &Asked| match asked.results().last() {
        None => Reply::Call(vec![("Skill", json!({"name": "film"}))]),
        Some(_) => Reply::Say("that is all".to_owned()),
    });
    let skill = |needs: &str| format!("---\ndescription: Cuts films\n{needs}\n---\nCut them.\n");
    world.put(
        ".sandbridge/skills/film/SKILL.md",
        &skill("requires_bins: [sh, no-such-program]\nrequires_env: NO_SUCH_VARIABLE"),
    );
    world.put(".sandbridge/skills/plain/SKILL.md", &skill("requires_bins: sh"));
    world.chat("full");
    let told = system(&world.model.asked()[0]);
    assert!(
        told.contains("needs `no-such-program`, $NO_SUCH_VARIABLE, which laptop does not have"),
        "{told}"
    );
    let plain = told.lines().find(|line| line.contains("plain")).unwrap_or(&told).to_owned();
    assert!(!plain.contains("plain: (needs"), "{plain}");
    let read = world.last_result();
    assert!(read.contains("no-such-program") && read.contains("Cut them"), "{read}");
}
