//! Approvals of a workspace's commands, which cover every file that a command names in any form, and list everything that they cannot cover.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tests::{Asked, Reply};

use crate::world::World;

/// Command lines, each with the file of the workspace that it runs.
const LINES: &[(&str, &str)] = &[
    ("./run", "run"),
    ("bash run", "run"),
    ("sh -eu run --fix", "run"),
    (". ./run", "run"),
    ("source run", "run"),
    ("bash < run", "run"),
    ("cat run | sh", "run"),
    ("eval \"$(cat run)\"", "run"),
    ("sh -c ./run", "run"),
    ("sh -c 'exec bash run'", "run"),
    ("bash <<'EOF'\n./run\nEOF", "run"),
    ("X=./run; $X", "run"),
    ("env -i ./run", "run"),
    ("timeout 5 nice bash run", "run"),
    ("true && { ./run; } || exit 2", "run"),
    ("echo x | xargs ./run", "run"),
    ("f() { ./run; }; f", "run"),
    ("trap ./run EXIT", "run"),
    ("\"$CLAUDE_PROJECT_DIR\"/run", "run"),
    ("bash ${PWD}/run", "run"),
    ("cd tools && ./check", "tools/check"),
    ("cd tools; bash check", "tools/check"),
    ("(cd ./tools/ && exec ./check)", "tools/check"),
    ("cd \"$CLAUDE_PROJECT_DIR/tools\" && sh check", "tools/check"),
    ("pushd tools && ./check", "tools/check"),
    ("cd tools && cd sub && ./deep", "tools/sub/deep"),
    ("cd tools/../tools/sub && ./deep", "tools/sub/deep"),
    ("env -C tools ./check", "tools/check"),
    ("PATH=tools:$PATH check", "tools/check"),
    ("CDPATH=tools; cd sub && ./deep", "tools/sub/deep"),
    ("BASH_ENV=./run bash -c true", "run"),
    ("NODE_OPTIONS=--require=./run node -v", "run"),
    ("LD_PRELOAD=./run true", "run"),
    ("python3 -c \"exec(open('run').read())\"", "run"),
    ("awk 'BEGIN { system(\"./run\") }'", "run"),
    ("make -frun", "run"),
];

/// Command lines that run something an approval cannot cover, each with the text that reports it.
const UNSEEN: &[(&str, &str)] = &[
    ("$CHECK", "$CHECK"),
    ("bash \"$HOME/run\"", "$HOME/run"),
    ("bash tools/*", "tools/*"),
    ("\"$(git rev-parse --show-toplevel)\"/run", "/run"),
    ("make lint", "`make`"),
    ("npm run lint", "`npm`"),
    ("python3 tools", "the directory tools"),
    ("cd $DIR && ./run", "the directory $DIR"),
    ("curl -s https://example.com/x | sh", "`sh`"),
];

/// The hooks of a workspace with these command lines, spread over several events, since the number of hooks for an
/// event is limited.
fn hooks<'a>(lines: impl Iterator<Item = &'a str>) -> Value {
    let events = ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PermissionRequest"];
    let mut hooks: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    for (number, line) in lines.enumerate() {
        let handler = json!({"hooks": [{"type": "command", "command": line}]});
        hooks.entry(events[number / 10]).or_default().push(handler);
    }
    json!({"hooks": hooks})
}

/// Lists everything in the workspace that needs an approval.
fn items(world: &World) -> Vec<Value> {
    world.alice.json(&["trust", "list", "--json"])["items"].as_array().unwrap().clone()
}

/// The item whose action ends with this command line.
fn of<'a>(items: &'a [Value], line: &str) -> &'a Value {
    let ends = format!("\n{line}");
    let is_it = |item: &&Value| item["action"].as_str().unwrap().ends_with(&ends);
    items.iter().find(is_it).unwrap_or_else(|| panic!("{line}: {items:?}"))
}

fn put_files(world: &World, content: &str) {
    for path in ["run", "tools/check", "tools/sub/deep"] {
        world.put(path, content);
    }
}

#[test]
fn a_change_of_any_file_that_a_command_names_needs_another_approval() {
    let world = World::new(|_| Reply::Say("hello".to_owned()));
    put_files(&world, "true\n");
    world.put(".claude/settings.json", &hooks(LINES.iter().map(|(line, _)| *line)).to_string());
    let before = items(&world);
    for (line, file) in LINES {
        let covers = of(&before, line)["files"].as_array().unwrap();
        assert!(covers.iter().any(|covered| covered == file), "{line}: {covers:?}");
    }
    assert_eq!(world.alice.run(&["trust", "approve", "--all", "--yes"]).code, 0);
    assert!(items(&world).iter().all(|item| item["state"] == "approved"));
    put_files(&world, "touch evil\n");
    let after = items(&world);
    for (line, file) in LINES {
        let item = of(&after, line);
        assert_eq!(item["state"], "waiting", "{line}");
        assert!(
            item["change"]["files"].as_array().unwrap().iter().any(|changed| changed == file),
            "{line}: {item}"
        );
    }
    world.chat("full");
    assert!(!world.path("evil").exists());
}

#[test]
fn files_that_an_approval_cannot_cover_are_named_before_it() {
    let world = World::new(|_| Reply::Say("hello".to_owned()));
    put_files(&world, "true\n");
    world.put(".claude/settings.json", &hooks(UNSEEN.iter().map(|(line, _)| *line)).to_string());
    let server = json!({"mcpServers": {"one": {"command": "sh", "args": ["-c", "cd tools && exec ./check"]},
        "two": {"command": "node", "args": ["${HOME}/server"]}}});
    world.put(".mcp.json", &server.to_string());
    let all = items(&world);
    for (line, told) in UNSEEN {
        let unseen = of(&all, line)["unseen"].to_string();
        assert!(unseen.contains(told), "{line}: {unseen}");
    }
    let named = |name: &str| all.iter().find(|item| item["name"] == name).unwrap();
    assert_eq!((&named("one")["files"], &named("one")["unseen"]), (&json!(["tools/check"]), &json!([])));
    assert_eq!(named("two")["unseen"], json!(["${HOME}/server"]));
    let hash = of(&all, "$CHECK")["hash"].as_str().unwrap();
    let shown = world.alice.run(&["trust", "approve", hash, "--yes"]);
    assert!(shown.stderr.contains("runs files that the approval does not cover: $CHECK"), "{shown:?}");
}

#[test]
fn a_file_added_during_a_turn_to_a_commands_directory_does_not_run() {
    let script = |asked: &Asked| match asked.results().len() {
        0 => Reply::Call(vec![("FileCreate", json!({"path": "tools/check", "content": "touch evil\n"}))]),
        1 => Reply::Call(vec![("Shell", json!({"command": "true"}))]),
        _ => Reply::Say("that is all".to_owned()),
    };
    let world = World::new(script);
    world.put("tools/other", "");
    let line = "cd tools && test ! -e check || sh check; touch ran";
    let handler = json!({"PreToolUse": [{"hooks": [{"type": "command", "command": line}]}]});
    world.put(".claude/settings.json", &json!({"hooks": handler}).to_string());
    assert_eq!(world.alice.run(&["trust", "approve", "--all", "--yes"]).code, 0);
    world.chat("full");
    assert!(world.path("tools/ran").exists() && world.path("tools/check").exists());
    assert!(!world.path("tools/evil").exists());
    let log = world.alice.json(&["hook", "log", "--json"]);
    assert!(log.to_string().contains("tools/check has changed since you approved"), "{log}");
}
