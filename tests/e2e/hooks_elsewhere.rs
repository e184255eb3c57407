//! Hooks of a sub-agent that works on another machine than its parent.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tests::{Asked, Machine, Reply};

use crate::agent_subagents::is_child;
use crate::world::{World, put};

/// A sub-agent on another machine, which runs three commands.
fn script(asked: &Asked) -> Reply {
    let shell = |command: &str| Reply::Call(vec![("Shell", json!({"command": command}))]);
    match (is_child(asked), asked.results().len()) {
        (false, 0) => Reply::Call(vec![("SubAgent", json!({"task": "go", "on": "desk"}))]),
        (true, 0) => shell("touch plain"),
        (true, 1) => shell("touch not-on-desk"),
        (true, 2) => shell("touch not-on-laptop"),
        (true, _) => Reply::Say(asked.results().join(" | ")),
        (false, _) => Reply::Say("that is all".to_owned()),
    }
}

/// Gives a workspace a hook that denies one command; a file shows where it ran.
fn guard(workspace: &Path, place: &str) {
    let script = format!(
        "#!/bin/sh\ntouch \"$CLAUDE_PROJECT_DIR/guarded\"\ngrep -q not-on-{place} || exit 0\necho '{place} says no' >&2\nexit 2\n"
    );
    put(&workspace.join(".claude/hooks/guard.sh"), &script);
    let settings = json!({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [
        {"type": "command", "command": "\"$CLAUDE_PROJECT_DIR\"/.claude/hooks/guard.sh"}]}]}});
    put(&workspace.join(".claude/settings.json"), &settings.to_string());
}

impl World {
    /// Approves the one hook that waits on a machine.
    fn approve_on(&self, place: &str) {
        let listed = self.alice.json(&["hook", "list", "--on", place, "--json"]);
        let waits = |hook: &&Value| hook["state"] == "waiting";
        let hook =
            listed["hooks"].as_array().unwrap().iter().find(waits).unwrap_or_else(|| panic!("{listed}"));
        self.run(&["hook", "approve", hook["hash"].as_str().unwrap(), "--on", place, "--yes"]);
    }

    /// The results of the sub-agent's commands in a new chat.
    fn commands(&self) -> String {
        self.chat("full");
        let result = self.last_result();
        assert!(result.contains("It worked on desk."), "{result}");
        result
    }
}

#[test]
fn a_users_hooks_run_where_the_call_runs_and_both_workspaces_hooks_in_their_own() {
    let world = World::new(script);
    let desk = Machine::start(&world.server, &world.alice, "desk");
    world.run(&["use", "laptop"]);
    let (here, there) = (world.machine.workspace(), desk.workspace());
    let own = json!({"enable_command_hooks": true, "hooks": {"PreToolUse": [{
        "matcher": "Shell", "hooks": [{"type": "command", "command": "cat > seen.json"}]
    }]}});
    let set = world.alice.with_stdin(&["hook", "set", "-"], own.to_string().as_bytes());
    assert_eq!(set.code, 0, "{set:?}");
    guard(here, "laptop");
    guard(there, "desk");

    let results = world.commands();
    assert!(!results.contains("says no"), "no workspace's hook was approved: {results}");
    assert!(!here.join("guarded").exists() && !there.join("guarded").exists());
    let seen: Value = serde_json::from_str(&fs::read_to_string(there.join("seen.json")).unwrap()).unwrap();
    assert_eq!(seen["cwd"].as_str().map(Path::new), Some(there));
    assert!(!here.join("seen.json").exists(), "the user's hook runs where the call runs");
    for file in ["not-on-desk", "not-on-laptop"] {
        fs::remove_file(there.join(file)).unwrap();
    }

    world.approve_on("laptop");
    let results = world.commands();
    assert!(results.contains("laptop says no") && !results.contains("desk says no"), "{results}");
    assert!(here.join("guarded").exists() && !there.join("guarded").exists());
    assert!(!there.join("not-on-laptop").exists());
    fs::remove_file(there.join("not-on-desk")).unwrap();

    world.approve_on("desk");
    let results = world.commands();
    assert!(results.contains("laptop says no") && results.contains("desk says no"), "{results}");
    assert!(there.join("guarded").exists() && there.join("plain").exists());
    assert!(!there.join("not-on-laptop").exists() && !there.join("not-on-desk").exists());
    // A script that changed since its approval runs on neither machine; without it, its hook does not count.
    put(&here.join(".claude/hooks/guard.sh"), "#!/bin/sh\ntouch changed\n");
    let results = world.commands();
    assert!(!results.contains("laptop says no") && results.contains("desk says no"), "{results}");
    assert!(!here.join("changed").exists() && !there.join("changed").exists());
}
