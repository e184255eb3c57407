//! Hooks whose handlers are prompts to models, agents that read files, or tools of MCP servers.

use serde_json::{Value, json};
use tests::{Asked, Reply};

use crate::world::World;

/// An MCP server in Python whose tool repeats a text.
const ECHO: &str = include_str!("../fixtures/mcp_echo.py");

/// True if the request is from a hook, not from the chat.
fn is_of_hook(asked: &Asked) -> bool {
    asked.body.to_string().contains("You are a hook of an agent")
}

/// A model that creates a file once; requests from hooks are answered by `judge`.
fn judged(
    mut judge: impl FnMut(&Asked) -> Reply + Send + 'static,
) -> impl FnMut(&Asked) -> Reply + Send + 'static {
    move |asked| match asked.results().is_empty() {
        _ if is_of_hook(asked) => judge(asked),
        true => Reply::Call(vec![("Shell", json!({"command": "touch mark"}))]),
        false => Reply::Say("that is all".to_owned()),
    }
}

fn set(world: &World, handler: Value) {
    let hooks = json!({"enable_command_hooks": true, "hooks": {"PreToolUse": [{"matcher": "Shell", "hooks": [handler]}]}});
    let set = world.alice.with_stdin(&["hook", "set", "-"], hooks.to_string().as_bytes());
    assert_eq!(set.code, 0, "{set:?}");
}

fn calls_of_models(world: &World) -> i64 {
    let usage = world.alice.json(&["model", "usage", "--json"]);
    usage["total"]["calls"].as_i64().unwrap_or_else(|| panic!("{usage}"))
}

#[test]
fn a_model_judges_a_call_and_its_cost_is_counted() {
    let world = World::new(judged(|asked| {
        let text = asked.body.to_string();
        assert!(
            text.contains("touch mark") && asked.body["tools"].as_array().is_none_or(Vec::is_empty),
            "{text}"
        );
        match text.contains("is it harmful") {
            true => Reply::Say(
                "```json\n{\"ok\": false, \"reason\": \"marks are not made here\"}\n```".to_owned(),
            ),
            false => Reply::Say("{\"ok\": true}".to_owned()),
        }
    }));
    set(&world, json!({"type": "prompt", "prompt": "is it harmful? $ARGUMENTS"}));
    let before = calls_of_models(&world);
    let lines = world.chat("full");
    assert!(world.last_result().contains("marks are not made here"), "{}", world.last_result());
    assert!(!world.path("mark").exists());
    assert!(calls_of_models(&world) >= before + 3, "the hook's request counts");
    let usage = lines.iter().rev().find_map(|line| line.get("usage").filter(|usage| usage.is_object()));
    if let Some(usage) = usage {
        let asked = world.model.asked().len() as i64;
        assert!(usage["input_tokens"].as_i64().unwrap() > 0, "{usage} {asked}");
    }
    set(&world, json!({"type": "prompt", "prompt": "all well?"}));
    world.chat("full");
    assert!(world.path("mark").exists());
}

#[test]
fn an_invalid_answer_is_a_failure_and_on_failure_decides() {
    let world = World::new(judged(|_| Reply::Say("I would rather not say".to_owned())));
    set(&world, json!({"type": "prompt", "prompt": "well?", "onFailure": "deny"}));
    world.chat("full");
    assert!(!world.path("mark").exists());
    let log = world.alice.json(&["hook", "log", "--json"]);
    assert!(log[0]["outcome"].as_str().unwrap().contains("JSON"), "{log}");
    set(&world, json!({"type": "prompt", "prompt": "well?"}));
    world.chat("full");
    assert!(world.path("mark").exists(), "without onFailure the call is made");
}

#[test]
fn a_question_that_is_not_answered_in_time_fails() {
    let world = World::new(judged(|_| Reply::Hang("{".to_owned())));
    set(&world, json!({"type": "prompt", "prompt": "well?", "timeout": 1, "onFailure": "deny"}));
    world.chat("full");
    assert!(!world.path("mark").exists());
    let log = world.alice.json(&["hook", "log", "--json"]);
    assert!(log[0]["outcome"].as_str().unwrap().contains("within 1 s"), "{log}");
}

#[test]
fn an_agent_reads_before_it_judges_and_only_what_rules_allow() {
    let world = World::new(judged(|asked| match asked.results().as_slice() {
        [] => Reply::Call(vec![
            ("Read", json!({"path": "policy.txt"})),
            ("Read", json!({"path": "secret.txt"})),
        ]),
        results => Reply::Say(json!({"ok": false, "reason": results.join(" / ")}).to_string()),
    }));
    world.put("policy.txt", "no marks on Fridays\n");
    world.put("secret.txt", "hunter2\n");
    world.run(&["rule", "add", "deny", "Read(secret.txt)"]);
    set(&world, json!({"type": "agent", "prompt": "Does the policy allow this?"}));
    world.chat("full");
    assert!(!world.path("mark").exists());
    let told = world.last_result();
    assert!(told.contains("no marks on Fridays") && !told.contains("hunter2"), "{told}");
    let asked: Vec<String> = world
        .model
        .asked()
        .iter()
        .filter(|asked| is_of_hook(asked))
        .map(|asked| {
            let tools = asked.body["tools"].as_array().unwrap().iter();
            tools
                .map(|tool| tool["function"]["name"].as_str().unwrap().to_owned())
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect();
    assert!(asked.iter().all(|tools| tools == "Read Glob Grep"), "{asked:?}");
}

#[test]
fn an_agent_that_never_answers_is_stopped() {
    let world = World::new(judged(|_| Reply::Call(vec![("Glob", json!({"pattern": "*"}))])));
    set(&world, json!({"type": "agent", "prompt": "well?", "onFailure": "deny"}));
    world.chat("full");
    assert!(!world.path("mark").exists());
    let log = world.alice.json(&["hook", "log", "--json"]);
    assert!(log[0]["outcome"].as_str().unwrap().contains("rounds"), "{log}");
}

#[test]
fn a_tool_of_an_mcp_server_judges_and_one_of_a_workspace_needs_approval() {
    let world = World::new(judged(|_| Reply::Say("{}".to_owned())));
    world.put("tool/echo.py", ECHO);
    world.put("about.txt", "Repeats a text.");
    world.run(&["mcp-server", "add", "echo", "--", "python3", "tool/echo.py", "about.txt", "x"]);
    let list = world.alice.json(&["mcp-server", "list", "--json"]);
    let schema = list["servers"][0]["tools"][0]["definition"].as_str().unwrap_or_default().to_owned();
    assert!(schema.contains("text"), "{list}");
    let handler = json!({"type": "mcp_tool", "server": "echo", "tool": "echo",
        "input": {"text": "seen: ${tool_input.command}"}});
    set(&world, handler.clone());
    world.chat("full");
    let log = world.alice.json(&["hook", "log", "--json"]);
    assert!(!log[0]["outcome"].as_str().unwrap().starts_with("failed"), "{log}");
    // A deny rule applies to hooks as well.
    world.run(&["rule", "add", "deny", "mcp__echo__echo", "--because", "not by hooks"]);
    world.chat("full");
    let log = world.alice.json(&["hook", "log", "--json"]);
    assert!(log[0]["outcome"].as_str().unwrap().starts_with("failed"), "{log}");
    assert!(log[0].to_string().contains("not by hooks"), "{log}");
    let rules = world.alice.json(&["rule", "list", "--json"]);
    let number =
        rules.as_array().unwrap().iter().find(|rule| rule["origin"] == "user").unwrap()["id"].to_string();
    world.run(&["rule", "remove", &number]);
    let missing = json!({"type": "mcp_tool", "server": "nowhere", "tool": "x", "onFailure": "deny"});
    set(&world, missing);
    std::fs::remove_file(world.path("mark")).unwrap();
    world.chat("full");
    assert!(!world.path("mark").exists(), "a server that does not exist counts as a failure");
    world.run(&["hook", "clear"]);
    let hooks = json!({"hooks": {"PreToolUse": [{"hooks": [handler]}]}});
    world.put(".claude/settings.json", &hooks.to_string());
    let waits = world.alice.json(&["trust", "list", "--json"]);
    let item = &waits["items"][0];
    assert_eq!(item["state"], "waiting", "{waits}");
    assert!(
        item["action"]
            .as_str()
            .unwrap()
            .contains("mcp__echo__echo {\"text\":\"seen: ${tool_input.command}\"}"),
        "{item}"
    );
}
