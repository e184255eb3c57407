//! Plugins are used after they were inspected and installed, only on the user's machine, and exactly as they were installed.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use serde_json::{Value, json};
use tests::http::Client;
use tests::{Asked, Machine, Page, Pages, Reply, eventually};

use crate::agent::{ended, messages, new_chat, say};
use crate::workspace_trust::{system, tools};
use crate::world::{World, put};

const PATIENCE: Duration = Duration::from_secs(60);

/// A hook that denies Bash with a message.
const GUARD: &str =
    "#!/bin/sh\ncat > \"$CLAUDE_PROJECT_DIR/seen.json\"\necho 'the plugin says no' >&2\nexit 2\n";

impl World {
    /// A plugin in Claude Code's format, in a directory of this test.
    pub(crate) fn plugin(&self, version: &str) -> PathBuf {
        let root = self.alice.home().join(format!("plugin-{version}"));
        let manifest = json!({
            "name": "guard", "version": version, "description": "Guards", "lspServers": {"x": {"command": "x"}}
        });
        put(&root.join(".claude-plugin/plugin.json"), &manifest.to_string());
        let hooks = json!({"hooks": {"PreToolUse": [{
            "matcher": "Bash",
            "hooks": [{"type": "command", "command": "${CLAUDE_PLUGIN_ROOT}/hooks/guard.sh"}]
        }]}});
        put(&root.join("hooks/hooks.json"), &hooks.to_string());
        put(&root.join("hooks/guard.sh"), GUARD);
        put(
            &root.join("skills/release/SKILL.md"),
            "---\nname: release\ndescription: How to release\n---\nTag it, see notes.md. Root: ${CLAUDE_PLUGIN_ROOT}.",
        );
        put(&root.join("skills/release/notes.md"), "Be careful.");
        put(
            &root.join("agents/looker.md"),
            "---\ndescription: Only looks\ntools: Read, Grep\n---\nYou only look.",
        );
        root
    }

    pub(crate) fn install(&self, source: &str) {
        self.run(&["plugin", "install", source, "--yes"]);
    }

    /// The directories of the installed copies on the machine, without those of their data.
    pub(crate) fn copies(&self) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(self.path(".sandbridge/plugins")) else { return Vec::new() };
        let is_copy = |path: &PathBuf| path.is_dir() && !path.to_string_lossy().ends_with("-data");
        let mut found: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).filter(is_copy).collect();
        found.sort();
        found
    }
}

/// A model that runs a command, and then repeats the result.
fn runs(asked: &Asked) -> Reply {
    match asked.results().last() {
        Some(result) => Reply::Say(format!("got: {result}")),
        None => Reply::Call(vec![("Shell", json!({"command": "touch mark"}))]),
    }
}

#[test]
fn a_plugins_hook_matches_claude_codes_tool_names_after_its_installation() {
    let world = World::new(runs);
    let plugin = world.plugin("1.0");
    world.chat("full");
    assert!(world.path("mark").exists());
    fs::remove_file(world.path("mark")).unwrap();
    // Inspecting stores nothing, and shows everything that would run.
    let looked = world.alice.run(&["plugin", "install", plugin.to_str().unwrap()]);
    assert_eq!(looked.code, 1, "nobody can be asked: {looked:?}");
    for part in [
        "PreToolUse Bash: ${CLAUDE_PLUGIN_ROOT}/hooks/guard.sh",
        "guard:release",
        "guard:looker",
        "lspServers",
    ] {
        assert!(looked.stderr.contains(part), "{part}: {}", looked.stderr);
    }
    assert_eq!(world.alice.json(&["plugin", "list", "--json"])["plugins"], json!([]));
    world.install(plugin.to_str().unwrap());
    world.chat("full");
    assert!(world.last_result().contains("the plugin says no"), "{}", world.last_result());
    assert!(!world.path("mark").exists());
    let seen: Value = serde_json::from_str(&fs::read_to_string(world.path("seen.json")).unwrap()).unwrap();
    assert_eq!((&seen["tool_name"], &seen["tool_input"]["command"]), (&json!("Bash"), &json!("touch mark")));
    // A file that somebody changed on the machine is restored before it runs.
    let copies = world.copies();
    assert_eq!(copies.len(), 1, "{copies:?}");
    put(&copies[0].join("hooks/guard.sh"), "#!/bin/sh\nexit 0\n");
    world.chat("full");
    assert!(!world.path("mark").exists());
    assert_eq!(fs::read_to_string(copies[0].join("hooks/guard.sh")).unwrap(), GUARD);
    // A hook that somebody made no program is one again.
    fs::set_permissions(copies[0].join("hooks/guard.sh"), fs::Permissions::from_mode(0o644)).unwrap();
    world.chat("full");
    assert!(!world.path("mark").exists());
    // A file that somebody added to the plugin's files is removed before the plugin runs: a program could load it.
    put(&copies[0].join("hooks/json.py"), "");
    put(&copies[0].join("node_modules/x/index.js"), "");
    std::os::unix::fs::symlink("/etc", copies[0].join("etc")).unwrap();
    world.chat("full");
    assert!(!world.path("mark").exists());
    for extra in ["hooks/json.py", "node_modules", "etc"] {
        assert!(copies[0].join(extra).symlink_metadata().is_err(), "{extra}");
    }
    world.run(&["plugin", "disable", "guard"]);
    world.chat("full");
    assert!(world.path("mark").exists(), "a disabled plugin is not used");
    fs::remove_file(world.path("mark")).unwrap();
    world.run(&["plugin", "enable", "guard"]);
    world.chat("full");
    assert!(!world.path("mark").exists());
    world.run(&["plugin", "remove", "guard"]);
    world.chat("full");
    assert!(world.path("mark").exists(), "a removed plugin is not used");
}

#[test]
fn a_plugins_skills_and_roles_are_offered_and_its_files_copied_to_the_machine() {
    let script = |asked: &Asked| match asked.results().len() {
        0 => Reply::Call(vec![("Skill", json!({"name": "guard:release"}))]),
        1 => Reply::Call(vec![("SubAgent", json!({"task": "look", "role": "guard:looker"}))]),
        _ => Reply::Say("that is all".to_owned()),
    };
    let world = World::new(script);
    world.install(world.plugin("1.0").to_str().unwrap());
    world.run(&["plugin", "disable", "guard"]);
    world.run(&["plugin", "enable", "guard"]);
    world.chat("full");
    let asked = world.model.asked();
    let prompt = system(&asked[0]);
    assert!(
        prompt.contains("guard:release: How to release") && prompt.contains("guard:looker: Only looks"),
        "{prompt}"
    );
    let skill = asked.iter().find_map(|asked| asked.results().first().cloned()).unwrap();
    assert!(skill.contains("Tag it, see notes.md.") && !skill.contains("${CLAUDE_PLUGIN_ROOT}"), "{skill}");
    let copies = world.copies();
    assert_eq!(fs::read_to_string(copies[0].join("skills/release/notes.md")).unwrap(), "Be careful.");
    let name = copies[0].file_name().unwrap().to_str().unwrap();
    assert!(skill.contains(&format!(".sandbridge/plugins/{name}/skills/release")), "{skill}");
    // The sub-agent has its role's text, and only its role's tools.
    let sub_agent = asked.iter().find(|asked| system(asked).contains("You only look."));
    let sub_agent = sub_agent.unwrap_or_else(|| panic!("no sub-agent was asked: {asked:?}"));
    assert_eq!(tools(sub_agent), ["Read", "Grep"]);
}

#[test]
fn commands_of_plugins_and_workspaces_become_messages_and_run_nothing() {
    let world = World::new(|_: &Asked| Reply::Say("that is all".to_owned()));
    let root = world.plugin("1.0");
    let review = "---\ndescription: Reviews\nargument-hint: BRANCH\n---\nReview $1.\n!`touch pwned`\n";
    put(&root.join("commands/git/review.md"), review);
    world.install(root.to_str().unwrap());
    world.put(".claude/commands/tidy.md", "Tidy $ARGUMENTS, please.");
    world.put(".claude/commands/hidden.md", "!Do\u{e0041} it.");
    world.put(".claude/commands/guard/git/review.md", "A stranger's.");
    let skill = "---\ndescription: Ships it\ndisable-model-invocation: true\n---\nShip it.";
    world.put("skills/ship/SKILL.md", skill);
    let (client, asked) = (Client::login(&world.server, "alice"), || world.model.asked().pop().unwrap());
    let chat = new_chat(&client, "full");
    let send = |text: &str| {
        say(&client, &chat, text);
        eventually("the model answered", PATIENCE, || {
            let messages = messages(&client, &chat);
            messages
                .last()
                .filter(|last| last["role"] == "assistant" && last["text"] == "that is all")
                .cloned()
        })
    };
    send("/guard:git:review main; rm -rf x");
    let text = asked().last_of_user();
    assert!(text.contains("Review main;.") && text.contains("run this first"), "{text}");
    assert!(!world.path("pwned").exists());
    assert!(!system(&asked()).contains("Ships it"), "models do not see the command");
    for (typed, told) in [
        ("/tidy the shed", "Tidy the shed, please."),
        ("/ship", "Ship it."),
        ("/hidden", "(/hidden)\n\n!Do it."),
    ] {
        client.send(
            "POST",
            &format!("/chats/{chat}/messages"),
            json!({"text": typed}).to_string().as_bytes(),
        );
        eventually(told, PATIENCE, || asked().last_of_user().contains(told).then_some(()));
        eventually("the turn ended", PATIENCE, || {
            (messages(&client, &chat).last()?["text"] == "that is all").then_some(())
        });
    }
    let commands = client.call("GET", &format!("/commands?chat={chat}")).json().to_string();
    for part in ["/guard:git:review BRANCH", "Reviews", "/tidy", "/ship"] {
        assert!(commands.contains(part), "{part}: {commands}");
    }
    // An argument that the shell could not take as one word is reported, and nothing is sent.
    put(&root.join("commands/git/review.md"), "!`sh -c \"git log $1\"`");
    world.install(root.to_str().unwrap());
    let body = json!({"text": "/guard:git:review $(touch pwned)"}).to_string();
    let refused = client.send("POST", &format!("/chats/{chat}/messages"), body.as_bytes());
    assert_eq!(refused.kind(), "command_failed");
}

#[test]
fn a_plugins_server_runs_on_the_users_machine_from_its_copy() {
    let world = World::new(|asked: &Asked| match asked.results().len() {
        0 => Reply::Call(vec![("search_tools", json!({"query": "repeat a text"}))]),
        1 => Reply::Call(vec![("mcp__plugin_guard_echo__echo", json!({"text": "hello"}))]),
        _ => Reply::Say("that is all".to_owned()),
    });
    let root = world.plugin("1.0");
    put(&root.join("server/echo.py"), include_str!("../fixtures/mcp_echo.py"));
    put(&root.join("server/about.txt"), "Repeats a text.");
    let args = ["${CLAUDE_PLUGIN_ROOT}/server/echo.py", "${CLAUDE_PLUGIN_ROOT}/server/about.txt", "word"];
    let servers = json!({"mcpServers": {"echo": {"command": "python3", "args": args}}});
    put(&root.join(".mcp.json"), &servers.to_string());
    fs::remove_dir_all(root.join("hooks")).unwrap();
    world.install(root.to_str().unwrap());
    world.chat("full");
    let result = world.last_result();
    assert!(result.contains("hello"), "{result}");
    let listed = world.server_named("plugin_guard_echo");
    assert_eq!((&listed["origin"], &listed["state"]), (&json!("plugin guard"), &json!("ready")));
    world.run(&["plugin", "remove", "guard"]);
    assert!(!world.alice.json(&["mcp-server", "list", "--json"]).to_string().contains("plugin_guard"));
}

#[test]
fn a_plugins_hook_runs_in_the_workspace_that_its_machine_has_now() {
    let ((moves, moved), (asks, is_asked)) = (mpsc::channel(), mpsc::channel());
    let world = World::new(move |asked: &Asked| {
        let shell = |command: &str| Reply::Call(vec![("Shell", json!({"command": command}))]);
        match asked.results().len() {
            0 => shell("touch first"),
            1 => {
                asks.send(()).unwrap();
                moved.recv_timeout(PATIENCE).unwrap();
                shell("touch mark")
            }
            _ => Reply::Say(asked.results().join(" | ")),
        }
    });
    let token = world.alice.add_runner("desk");
    let mut desk = Machine::start_with_token(&world.server, "desk", &token, &[]);
    desk.wait_online(&world.alice, "desk");
    world.run(&["use", "desk"]);
    world.install(world.plugin("1.0").to_str().unwrap());
    let client = Client::login(&world.server, "alice");
    let chat = new_chat(&client, "full");
    say(&client, &chat, "go");
    is_asked.recv_timeout(PATIENCE).unwrap();
    assert!(desk.workspace().join("seen.json").exists());
    desk.restart_elsewhere(&world.server, "desk", &token);
    let now = fs::canonicalize(desk.workspace()).unwrap();
    eventually("the machine has its new workspace", PATIENCE, || {
        let is_new = world.alice.run(&["exec", "--", "pwd"]).stdout.trim_end() == now.to_str().unwrap();
        is_new.then_some(())
    });
    moves.send(()).unwrap();
    ended(&client, &chat, 1);
    let shown = messages(&client, &chat);
    let mut said = shown.iter().rev().filter_map(|message| message["text"].as_str());
    let results = said.find(|text| text.contains(" | ")).unwrap_or_else(|| panic!("{shown:?}"));
    assert_eq!(results.matches("the plugin says no").count(), 2, "{results}");
    assert!(!desk.workspace().join("mark").exists());
    let seen = fs::read_to_string(desk.workspace().join("seen.json")).unwrap();
    assert!(seen.contains("touch mark"), "{seen}");
}

#[test]
fn a_plugin_cannot_turn_off_its_users_own_hooks() {
    let world = World::new(runs);
    let own = json!({"enable_command_hooks": true, "hooks": {"PreToolUse": [{
        "matcher": "Shell", "hooks": [{"type": "command", "command": "echo 'its user says no' >&2; exit 2"}]
    }]}});
    let set = world.alice.with_stdin(&["hook", "set", "-"], own.to_string().as_bytes());
    assert_eq!(set.code, 0, "{set:?}");
    let root = world.plugin("1.0");
    put(&root.join("hooks/hooks.json"), r#"{"disableAllHooks": true, "hooks": {}}"#);
    world.install(root.to_str().unwrap());
    world.chat("full");
    assert!(world.last_result().contains("its user says no"), "{}", world.last_result());
}

#[test]
fn a_new_copy_is_a_new_installation_that_lists_the_changes() {
    let world = World::new(runs);
    world.install(world.plugin("1.0").to_str().unwrap());
    let next = world.plugin("2.0");
    put(&next.join("hooks/guard.sh"), "#!/bin/sh\nexit 0\n");
    let looked = world.alice.run(&["plugin", "install", next.to_str().unwrap()]);
    assert!(looked.stderr.contains("replaces the installed copy 1.0"), "{}", looked.stderr);
    assert!(
        looked.stderr.contains("  hooks/guard.sh") && !looked.stderr.contains("  skills/release/notes.md"),
        "{}",
        looked.stderr
    );
    world.chat("full");
    assert!(!world.path("mark").exists(), "the first copy still guards");
    world.install(next.to_str().unwrap());
    world.chat("full");
    assert!(world.path("mark").exists());
    // A hash that was not inspected installs nothing.
    let client = Client::login(&world.server, "alice");
    let body = json!({"files": [{"path": "skills/a/SKILL.md", "content": "eA==", "executable": false}], "name": "other", "hash": "00"});
    let refused = client.send("POST", "/plugins", body.to_string().as_bytes());
    assert_eq!(refused.kind(), "conflict");
    assert_eq!(world.alice.json(&["plugin", "list", "--json"])["plugins"].as_array().unwrap().len(), 1);
}

#[test]
fn hooks_of_many_plugins_run_at_once_and_their_data_outlives_a_copy() {
    // Together they have more files than a machine writes at the same time.
    const PLUGINS: usize = 6;
    const FILES: usize = 40;
    let world = World::new(|_: &Asked| Reply::Say("that is all".to_owned()));
    let mut expected = String::new();
    for version in ["1.0", "2.0"] {
        for number in 0..PLUGINS {
            let root = world.alice.home().join(format!("many-{number}"));
            put(
                &root.join(".claude-plugin/plugin.json"),
                &json!({"name": format!("many-{number}"), "version": version}).to_string(),
            );
            let note = format!("echo {version} >> \"$CLAUDE_PLUGIN_DATA/seen\"");
            let words = json!(["-c", "test -e \"$1\" && touch \"$1/words\"", "sh", "${CLAUDE_PLUGIN_DATA}"]);
            let hooks = json!({"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": note, "async": true}]}],
                "UserPromptSubmit": [{"hooks": [{"type": "command", "command": "sh", "args": words}]}]}});
            put(&root.join("hooks/hooks.json"), &hooks.to_string());
            for file in 0..FILES {
                put(&root.join(format!("files/{file}.txt")), version);
            }
            world.install(root.to_str().unwrap());
        }
        expected.push_str(&format!("{version}\n"));
        let said = world.chat("full");
        assert!(!said.iter().any(|line| line.to_string().contains("A hook failed")), "{said:?}");
        for number in 0..PLUGINS {
            let data = world.path(&format!(".sandbridge/plugins/many-{number}-data"));
            eventually("its hook wrote", PATIENCE, || {
                fs::read_to_string(data.join("seen")).is_ok_and(|seen| seen == expected).then_some(())
            });
            assert!(data.join("words").exists());
        }
    }
}

#[test]
fn a_downloaded_plugin_is_installed_only_with_the_inspected_files() {
    let version = Arc::new(Mutex::new(Vec::new()));
    let pages = {
        let version = Arc::clone(&version);
        Pages::start(move |_| Page::Is("application/gzip", version.lock().unwrap().clone()))
    };
    let world = World::with(runs, &["--fetch-allow", "127.0.0.1"]);
    let packed = |version: &str| {
        let root = world.plugin(version);
        let (above, name) = (root.parent().unwrap(), root.file_name().unwrap());
        let tar = Command::new("tar").args(["-czf", "-", "-C"]).arg(above).arg(name).output().unwrap();
        assert!(tar.status.success(), "{tar:?}");
        tar.stdout
    };
    *version.lock().unwrap() = packed("1.0");
    let source = format!("http://127.0.0.1:{}/guard.tar.gz", pages.port());
    let client = Client::login(&world.server, "alice");
    let post = |path: &str, body: Value| client.send("POST", path, body.to_string().as_bytes());
    let looked = post("/plugins/look", json!({"source": source})).json();
    assert_eq!((&looked["name"], &looked["version"]), (&json!("guard"), &json!("1.0")));
    *version.lock().unwrap() = packed("2.0");
    let install = json!({"source": source, "hash": looked["hash"]});
    assert_eq!(
        post("/plugins", install.clone()).kind(),
        "conflict",
        "the archive changed after the inspection"
    );
    *version.lock().unwrap() = packed("1.0");
    assert!(post("/plugins", install).json()["installed_at"].is_i64());
    world.chat("full");
    assert!(world.last_result().contains("the plugin says no"), "{}", world.last_result());
}

#[test]
fn hostile_plugins_are_refused_with_the_reason_and_broken_parts_are_skipped() {
    let pages = Pages::start(|path| match path {
        "/none.tar.gz" => Page::Is("application/gzip", b"this is no archive".to_vec()),
        _ => Page::Status(404),
    });
    let at = |path: &str| format!("http://127.0.0.1:{}{path}", pages.port());
    let world = World::with(runs, &["--fetch-allow", "127.0.0.1"]);
    for (source, reason) in [
        (at("/none.tar.gz"), "neither a .tar.gz nor a .zip"),
        (at("/missing.zip"), "404"),
        ("http://169.254.169.254/latest/x.tar.gz".to_owned(), "address"),
        ("npm:../../x".to_owned(), "not a source of a plugin"),
        ("nothing".to_owned(), "not a source of a plugin"),
    ] {
        let refused = world.alice.run(&["plugin", "install", &source, "--yes"]);
        assert!(refused.code != 0 && refused.stderr.contains(reason), "{source}: {refused:?}");
    }
    let client = Client::login(&world.server, "alice");
    for path in ["../x", "/etc/passwd", "a/../../x", "a\u{202e}b", "a\\b"] {
        let body = json!({"name": "x", "files": [{"path": path, "content": "eA==", "executable": false}]});
        let refused = client.send("POST", "/plugins/look", body.to_string().as_bytes());
        assert_eq!(refused.kind(), "invalid", "{path}");
    }
    let root = world.plugin("1.0");
    put(&root.join("skills/broken/SKILL.md"), "---\nname: broken");
    put(&root.join("agents/binary.md"), "");
    fs::write(root.join("agents/binary.md"), [0xff, 0xfe, 0]).unwrap();
    world.install(root.to_str().unwrap());
    let list = world.alice.json(&["plugin", "list", "--json"]);
    let problems = list["plugins"][0]["problems"].to_string();
    assert!(problems.contains("skills/broken") && problems.contains("agents/binary.md"), "{problems}");
    assert_eq!(list["plugins"][0]["skills"].as_array().unwrap().len(), 1, "{list}");
}
