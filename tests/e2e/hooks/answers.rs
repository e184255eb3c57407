//! Each decision of a hook takes effect, whoever makes the call; handlers run when their conditions say so; and the layers that are not
//! shared count as well.

use std::fs;

use serde_json::{Value, json};
use tests::http::Client;
use tests::{Asked, Reply, eventually};

use super::{PATIENCE, calls, command};
use crate::agent::{ended, lines, messages, new_chat, say};
use crate::world::World;

/// The modes of approval.
const MODES: [&str; 4] = ["plan", "ask", "auto-edit", "full"];

/// A handler that gives this answer.
fn answers(answer: &Value) -> Value {
    json!({"type": "command", "command": format!("cat > /dev/null; echo '{answer}'")})
}

/// A handler that decides about a call before it runs.
fn decides(decision: &str) -> Value {
    answers(&json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": decision,
        "permissionDecisionReason": format!("the hook says {decision}")}}))
}

/// A handler that writes a line into a file, whenever it runs.
fn notes(file: &str) -> Value {
    json!({"type": "command", "command": format!("echo ran >> {file}")})
}

impl World {
    /// How often [`notes`] wrote into this file.
    fn noted(&self, file: &str) -> usize {
        fs::read_to_string(self.path(file)).unwrap_or_default().lines().count()
    }

    /// Runs a chat whose model touches `mark`; returns whether somebody was asked, and whether it was touched. A question counts as refused, since
    /// nobody answers it.
    fn touched(&self, mode: &str) -> (bool, bool) {
        let output = self.alice.run(&["chat", "--new", "--json", "--approval", mode, "go"]);
        let is_asked = lines(&output).iter().any(|line| line["type"] == "approval");
        (is_asked, fs::remove_file(self.path("mark")).is_ok())
    }
}

#[test]
fn each_decision_takes_effect_and_the_strictest_one_counts() {
    let world = World::new(calls("Shell", json!({"command": "touch mark"})));
    let before = |decisions: &[&str]| {
        let handlers: Vec<_> = decisions.iter().map(|decision| decides(decision)).collect();
        world.hooks(json!({"PreToolUse": [{"matcher": "Shell", "hooks": handlers}]}));
    };
    let (asked, runs, denied) = ((true, false), (false, true), (false, false));
    // Each row is a list of decisions, with the effect in mode `ask` and in mode `full`.
    for (decisions, in_ask, in_full) in [
        (&["ask"][..], asked, asked),
        (&["allow"], runs, runs),
        (&["defer"], asked, asked),
        (&["defer", "allow"], runs, runs),
        (&["allow", "defer"], asked, asked),
        (&["allow", "ask"], asked, asked),
        (&["ask", "deny", "allow"], denied, denied),
    ] {
        before(decisions);
        assert_eq!((world.touched("ask"), world.touched("full")), (in_ask, in_full), "{decisions:?}");
    }
    let permits = answers(&json!({"hookSpecificOutput": {"hookEventName": "PermissionRequest",
        "decision": {"behavior": "allow"}}}));
    world.hooks(json!({"PermissionRequest": [{"matcher": "Shell", "hooks": [permits]}]}));
    assert_eq!(world.touched("ask"), runs);
    let refuses = answers(&json!({"hookSpecificOutput": {"hookEventName": "PermissionRequest",
        "decision": {"behavior": "deny", "message": "no hook permits this"}}}));
    world.hooks(json!({"PermissionRequest": [{"matcher": "Shell", "hooks": [refuses]}]}));
    assert_eq!(world.touched("ask"), denied);
    assert!(world.last_result().contains("no hook permits this"), "{}", world.last_result());
}

#[test]
fn a_denial_applies_in_every_mode_to_each_client_to_sub_agents_and_after_a_kill() {
    // A turn that is to be resumed first looks at its machine; then the model is silent, once for each mode.
    let mut silent = MODES.len();
    let script = move |asked: &Asked| {
        let said = asked.last_of_user();
        let results = asked.results().len();
        match (said.as_str(), results) {
            ("delegate", 0) => Reply::Call(vec![("SubAgent", json!({"task": "touch it"}))]),
            ("delegate", _) => Reply::Say("it is back".to_owned()),
            ("resume", 0) => Reply::Call(vec![("Glob", json!({"pattern": "*"}))]),
            ("resume", 1) if silent > 0 => {
                silent -= 1;
                Reply::Hang(String::new())
            }
            ("resume", 1) | (_, 0) => Reply::Call(vec![("Shell", json!({"command": "touch mark"}))]),
            _ => Reply::Say(format!("got: {}", asked.results().pop().unwrap())),
        }
    };
    let mut world = World::new(script);
    let guard = "cat > /dev/null; echo denied >> denials; echo 'nothing is touched' >&2; exit 2";
    world.hooks(json!({"PreToolUse": command("Shell", guard)}));
    let page = Client::log_in_as_page(&world.server, "alice");
    let key = world.alice.json(&["key", "add", "ci", "--scope", "full", "--json"]);
    let program = Client::with_token(&world.server, key["key"].as_str().unwrap());
    for mode in MODES {
        for (who, says) in [("the page", &page), ("a program", &program)] {
            let chat = new_chat(&page, mode);
            say(says, &chat, "go");
            ended(&page, &chat, 1);
            assert!(
                world.last_result().contains("nothing is touched"),
                "{mode}, {who}: {}",
                world.last_result()
            );
        }
        let output = world.alice.run(&["chat", "--new", "--json", "--approval", mode, "delegate"]);
        assert_eq!(output.code, 0, "{mode}: {output:?}");
    }
    // In each mode there is one call each by the page, by a program, and by a sub-agent. In mode `plan` the hook cannot write.
    assert_eq!(world.noted("denials"), 3 * (MODES.len() - 1));
    let chats = MODES.map(|mode| new_chat(&page, mode));
    let before = world.model.asked().len();
    for (number, chat) in chats.iter().enumerate() {
        say(&page, chat, "resume");
        eventually("the model is silent", PATIENCE, || {
            (world.model.asked().len() == before + 2 * (number + 1)).then_some(())
        });
    }
    world.kill_and_restart(&[]);
    let page = Client::login(&world.server, "alice");
    for (mode, chat) in MODES.iter().zip(&chats) {
        ended(&page, chat, 1);
        let told = |message: &Value| {
            message["text"]
                .as_str()
                .is_some_and(|text| text.starts_with("got: ") && text.contains("nothing is touched"))
        };
        assert!(messages(&page, chat).iter().any(told), "{mode}");
    }
    assert_eq!(world.noted("denials"), 4 * (MODES.len() - 1));
    assert!(!world.path("mark").exists());
}

#[test]
fn handlers_run_when_their_conditions_and_matchers_say_so() {
    let script = |asked: &Asked| match asked.results().len() {
        0 => Reply::Call(vec![("Shell", json!({"command": "sh -c 'git --version'"}))]),
        1 => Reply::Call(vec![("Shell", json!({"command": "true"}))]),
        2 => Reply::Call(vec![("FileCreate", json!({"path": "new.txt", "content": "new"}))]),
        _ => Reply::Say("that is all".to_owned()),
    };
    let world = World::new(script);
    let with = |mut handler: Value, field: &str, value: Value| {
        handler[field] = value;
        handler
    };
    world.hooks(json!({"PreToolUse": [
        {"matcher": "Shell", "hooks": [with(notes("if"), "if", json!("Shell(git *)"))]},
        {"matcher": "Shell", "hooks": [with(notes("once"), "once", json!(true))]},
        {"matcher": "File*", "hooks": [notes("glob")]},
        {"matcher": "^(Shell|File.*e)$", "hooks": [notes("regex")]},
        {"matcher": "Shell", "hooks": [with(
            // It would deny the call, but decides nothing in the background; the turn does not wait for it.
            json!({"type": "command", "command": "while [ ! -e new.txt ]; do sleep 0.1; done; echo ran >> async; exit 2"}),
            "async", json!(true))]},
    ]}));
    world.chat("full");
    let noted = || ["if", "once", "glob", "regex"].map(|file| world.noted(file));
    assert_eq!(noted(), [1, 1, 1, 3]);
    eventually("the handlers in the background have ended", PATIENCE, || {
        (world.noted("async") == 2).then_some(())
    });
}

#[test]
fn a_payload_contains_no_secrets() {
    let secret = format!("ghp_{}", "a1B2".repeat(9));
    let used = format!("echo {secret} > kept");
    let world = World::new(calls("Shell", json!({"command": used})));
    world.hooks(json!({"PreToolUse": command("Shell", "cat > seen.json; echo >> seen.json")}));
    world.chat("full");
    assert_eq!(world.written("seen.json")["tool_input"]["command"], "echo [redacted] > kept");
    assert_eq!(
        fs::read_to_string(world.path("kept")).unwrap().trim(),
        secret,
        "the call itself is unchanged"
    );
}

#[test]
fn a_payload_contains_no_token_that_the_server_knows() {
    // Neither looks like a secret.
    let (of_hook, of_server) = ("plain-words-of-hook-7", "plain-words-of-server-8");
    let used = format!("echo {of_hook} {of_server} > kept");
    let world = World::new(calls("Shell", json!({"command": used})));
    let entry = json!({"command": "true", "env": {"GIT_TOKEN": of_server}});
    let client = Client::login(&world.server, "alice");
    let put = client.send("PUT", "/mcp-servers/far", entry.to_string().as_bytes());
    assert!((200..300).contains(&put.status), "{}", put.status);
    let header = json!({"Authorization": format!("Bearer {of_hook}")});
    let posts = json!({"type": "http", "url": "https://a.example/", "headers": header});
    let see = command("Shell", "cat > seen.json; echo >> seen.json");
    world.hooks(json!({"PreToolUse": see, "SessionEnd": [{"hooks": [posts]}]}));
    world.chat("full");
    assert_eq!(world.written("seen.json")["tool_input"]["command"], "echo [redacted] [redacted] > kept");
    let kept = fs::read_to_string(world.path("kept")).unwrap();
    assert_eq!(kept.trim(), format!("{of_hook} {of_server}"), "the call itself is unchanged");
}

#[test]
fn a_hook_replaces_the_result_that_the_model_gets() {
    let world = World::new(calls("Shell", json!({"command": "echo the number is 4711"})));
    let hides = answers(&json!({"hookSpecificOutput": {"hookEventName": "PostToolUse",
        "updatedToolOutput": {"stdout": "the number is hidden\n", "stderr": ""}}}));
    let hooks = json!({"PostToolUse": [{"matcher": "Shell", "hooks": [hides]}]});
    world.hooks(hooks.clone());
    let shown = world.chat("full");
    let told = world.last_result();
    assert!(told.starts_with("the number is hidden") && !told.contains("4711"), "{told}");
    assert!(told.contains("A hook changed the result of this call"), "{told}");
    let card = shown.iter().find(|line| line["type"] == "tool_end").expect("a card");
    assert!(card.to_string().contains("the number is hidden"), "{card}");
    // A workspace's hook cannot do that.
    world.run(&["hook", "clear"]);
    let of_workspace = json!({"enable_command_hooks": true, "hooks": hooks});
    world.put(".sandbridge/hooks.json", &of_workspace.to_string());
    let listed = world.alice.json(&["hook", "list", "--json"]);
    world.run(&["hook", "approve", listed["hooks"][0]["hash"].as_str().unwrap(), "--yes"]);
    world.chat("full");
    assert!(world.last_result().contains("4711"), "{}", world.last_result());
}

#[test]
fn files_that_a_workspace_does_not_share_count_as_well() {
    let world = World::new(calls("Shell", json!({"command": "touch mark"})));
    let hooks = |file: &str| json!({"PreToolUse": [{"matcher": "Shell", "hooks": [notes(file)]}]});
    let own = json!({"enable_command_hooks": true, "hooks": hooks("own")});
    world.put(".sandbridge/hooks.local.json", &own.to_string());
    world.put(".claude/settings.local.json", &json!({"hooks": hooks("claude")}).to_string());
    world
        .put(".sandbridge/mcp.local.json", &json!({"mcpServers": {"here": {"command": "true"}}}).to_string());
    assert_eq!(world.touched("full"), (false, true));
    assert_eq!((world.noted("own"), world.noted("claude")), (0, 0), "neither is approved");
    let listed = world.alice.json(&["hook", "list", "--json"]);
    let waiting: Vec<_> =
        listed["hooks"].as_array().unwrap().iter().filter(|hook| hook["state"] == "waiting").collect();
    assert_eq!(waiting.len(), 2, "{listed}");
    for hook in waiting {
        world.run(&["hook", "approve", hook["hash"].as_str().unwrap(), "--yes"]);
    }
    let servers = world.alice.json(&["mcp-server", "list", "--json"]).to_string();
    assert!(servers.contains("\"here\""), "{servers}");
    assert_eq!(world.touched("full"), (false, true));
    assert_eq!((world.noted("own"), world.noted("claude")), (1, 1));
    // What denies or asks needs no approval.
    world.put(
        ".sandbridge/permissions.local.json",
        &json!({"permissions": {"ask": ["Shell(touch *)"]}}).to_string(),
    );
    assert_eq!(world.touched("full"), (true, false));
}

#[test]
fn a_dangerous_command_is_asked_about_in_full_mode() {
    let world = World::new(calls("Shell", json!({"command": "rm -rf /tmp/../mark"})));
    let output = world.alice.run(&["chat", "--new", "--json", "--approval", "full", "go"]);
    assert!(lines(&output).iter().any(|line| line["type"] == "approval"), "{output:?}");
}
