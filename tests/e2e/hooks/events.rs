//! Events of calls and of sub-agents: each occurs exactly when it should, with its data, and what its hooks answer takes effect.

use std::fs;

use serde_json::{Value, json};
use tests::http::Client;
use tests::{Asked, Reply, eventually};

use super::{PATIENCE, adds, command, names, recorded, records};
use crate::agent::{ended, messages, new_chat, say};
use crate::agent_subagents::is_child;
use crate::world::World;

/// The hooks of these events, all of which record their payloads.
fn recording(events: &[(&str, Value)]) -> Value {
    events
        .iter()
        .map(|(event, answer)| ((*event).to_owned(), records("", answer)))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

/// A model that calls what the user's message names, and then ends its answer.
fn script(asked: &Asked) -> Reply {
    let shell = |command: &str| ("Shell", json!({"command": command}));
    let read = |path: &str| ("Read", json!({"path": path}));
    let last = asked.body["messages"].as_array().and_then(|messages| messages.last());
    let is_of_user = last.is_some_and(|message| message["role"] == "user");
    match asked.last_of_user().as_str() {
        "four" if is_of_user => {
            Reply::Call(vec![read("missing"), shell("exit 3"), read("there"), shell("touch mark")])
        }
        "one" if is_of_user => Reply::Call(vec![read("there")]),
        "sleep" if is_of_user => Reply::Call(vec![shell("echo > begun; sleep 600")]),
        _ => Reply::Say("that is all".to_owned()),
    }
}

#[test]
fn failures_denials_and_batches_of_calls_are_events_with_their_data_and_their_hooks_are_heard() {
    let world = World::new(script);
    fs::write(world.path("there"), "x\n").unwrap();
    assert_eq!(world.alice.run(&["rule", "add", "deny", "Shell(touch *)"]).code, 0);
    world.hooks(recording(&[
        ("PostToolUseFailure", adds("PostToolUseFailure", "the failure was seen")),
        ("PermissionDenied", adds("PermissionDenied", "ask the owner")),
        ("PostToolBatch", adds("PostToolBatch", "the batch of four is over")),
    ]));
    let client = Client::login(&world.server, "alice");
    let chat = new_chat(&client, "full");
    say(&client, &chat, "four");
    ended(&client, &chat, 1);
    let payloads = recorded(&world);
    let mut events = names(&payloads);
    assert_eq!(events.pop(), Some("PostToolBatch"), "the batch ends last");
    events.sort_unstable();
    assert_eq!(events, ["PermissionDenied", "PostToolUseFailure", "PostToolUseFailure"]);
    for payload in &payloads {
        let cwd = payload["cwd"].as_str().map(std::path::Path::new);
        assert_eq!(
            (&payload["session_id"], cwd),
            (&json!(chat), Some(world.machine.workspace())),
            "{payload}"
        );
        assert_eq!(payload["permission_mode"], "full", "{payload}");
    }
    let of = |event: &str, tool: &str| {
        payloads.iter().find(|it| it["hook_event_name"] == event && it["tool_name"] == tool).unwrap()
    };
    let failed = of("PostToolUseFailure", "Shell");
    assert_eq!(
        (&failed["tool_input"], &failed["is_interrupt"]),
        (&json!({"command": "exit 3"}), &json!(false))
    );
    assert!(
        failed["error"].as_str().unwrap().contains("exit code 3") && failed["duration_ms"].is_u64(),
        "{failed}"
    );
    assert_eq!(of("PostToolUseFailure", "Read")["tool_input"]["path"], "missing");
    let denied = of("PermissionDenied", "Shell");
    assert_eq!(denied["tool_input"]["command"], "touch mark");
    assert!(denied["reason"].as_str().unwrap().contains("denied by the user's rule"), "{denied}");
    let batch = payloads.last().unwrap();
    let calls = batch["tool_calls"].as_array().unwrap();
    let brief: Vec<_> =
        calls.iter().map(|call| (call["tool_name"].as_str().unwrap(), call["is_error"] == true)).collect();
    assert_eq!(
        brief,
        [("Read", true), ("Shell", true), ("Read", false), ("Shell", true)],
        "in the model's order"
    );
    assert_eq!(batch["tool_count"], 4);
    assert_eq!(calls[1]["tool_use_id"], failed["tool_use_id"]);
    assert!(calls[2]["tool_response"].as_str().unwrap().contains('x'), "{batch}");
    let asked = world.model.asked().pop().unwrap();
    let heard: Vec<bool> =
        asked.results().iter().map(|result| result.contains("the failure was seen")).collect();
    assert_eq!(heard, [true, true, false, false]);
    assert!(asked.results()[3].contains("ask the owner"), "{:?}", asked.results());
    let messages = asked.body["messages"].as_array().unwrap();
    assert!(messages.last().unwrap().to_string().contains("the batch of four is over"), "{messages:?}");

    // Nothing fails or is denied: only the batch is an event. An answer without calls is none.
    fs::remove_file(world.path("events")).unwrap();
    let chat = new_chat(&client, "full");
    say(&client, &chat, "one");
    ended(&client, &chat, 1);
    say(&client, &chat, "nothing");
    ended(&client, &chat, 2);
    assert_eq!(names(&recorded(&world)), ["PostToolBatch"]);

    // A call that the user stops has failed by an interruption, which is neither a denial nor the end of a batch.
    fs::remove_file(world.path("events")).unwrap();
    let chat = new_chat(&client, "full");
    say(&client, &chat, "sleep");
    eventually("it sleeps", PATIENCE, || world.path("begun").exists().then_some(()));
    assert_eq!(client.call("POST", &format!("/chats/{chat}/cancel")).status, 200);
    assert_eq!(ended(&client, &chat, 1)["agent"]["status"], "cancelled");
    let payloads =
        eventually("the hook ran", PATIENCE, || Some(recorded(&world)).filter(|all| !all.is_empty()));
    assert_eq!(names(&payloads), ["PostToolUseFailure"]);
    assert_eq!(payloads[0]["is_interrupt"], true, "{payloads:?}");
}

#[test]
fn a_block_or_a_stop_after_calls_ends_the_turn_or_is_told_as_the_event_allows() {
    let world = World::new(script);
    fs::write(world.path("there"), "x\n").unwrap();
    let block = json!({"decision": "block", "reason": "this must be mended"});
    let stop = json!({"continue": false, "stopReason": "that is enough"});
    let run = |event: &str, answer: &Value, text: &str| {
        world.hooks(json!({event: records("", answer)}));
        let before = world.model.asked().len();
        let output = world.alice.run(&["chat", "--new", "--json", "--approval", "full", text]);
        (output, world.model.asked().len() - before)
    };
    let (blocked, asked) = run("PostToolBatch", &block, "one");
    assert!(blocked.code != 0 && blocked.stdout.contains("this must be mended") && asked == 1, "{blocked:?}");
    let (blocked, _) = run("PostToolUseFailure", &block, "four");
    assert_eq!(blocked.code, 0, "a failure cannot be blocked: {blocked:?}");
    assert!(world.model.asked().pop().unwrap().results()[1].contains("this must be mended"));
    for event in ["PostToolUseFailure", "PostToolBatch"] {
        let (stopped, asked) = run(event, &stop, "four");
        assert!(
            stopped.code != 0 && stopped.stdout.contains("that is enough") && asked == 1,
            "{event}: {stopped:?}"
        );
    }
    assert_eq!(world.alice.run(&["rule", "add", "deny", "Shell(touch *)"]).code, 0);
    let (blocked, _) = run("PermissionDenied", &block, "four");
    assert!(
        blocked.code == 0 && blocked.stdout.contains("this must be mended"),
        "people read it: {blocked:?}"
    );
    let (stopped, asked) = run("PermissionDenied", &stop, "four");
    assert!(stopped.code != 0 && stopped.stdout.contains("that is enough") && asked == 1, "{stopped:?}");
    // Before the model is asked for the first time.
    let (stopped, asked) = run("SessionStart", &stop, "one");
    assert!(stopped.code != 0 && stopped.stdout.contains("that is enough") && asked == 0, "{stopped:?}");
}

#[test]
fn a_sub_agents_beginning_and_end_are_events_and_a_hook_sends_it_back_to_work() {
    let world = World::new(|asked| match (is_child(asked), asked.results().len()) {
        (false, 0) => {
            let task = |task: &str, role: &str| ("SubAgent", json!({"task": task, "role": role}));
            Reply::Call(vec![task("dig here", "digger"), task("look there", "looker")])
        }
        (true, _) if asked.last_of_user().contains("count them too") => {
            Reply::Say("there are three".to_owned())
        }
        (true, _) => Reply::Say(format!("found by {}", asked.last_of_user())),
        _ => Reply::Say(asked.results().join(" | ")),
    });
    for role in ["digger", "looker"] {
        world.put(
            &format!(".sandbridge/agents/{role}.md"),
            &format!("---\ndescription: A {role}\n---\nYou work."),
        );
    }
    let answer = json!({"decision": "block", "reason": "count them too"});
    let once = format!(
        "payload=$(cat); printf '%s\\n' \"$payload\" >> events; case $payload in *'\"stop_hook_active\":true'*) ;; *) echo '{answer}';; esac"
    );
    world.hooks(json!({
        "SubAgentStart": records("digger", &adds("SubAgentStart", "the ground is hard")),
        "SubagentStop": command("digger", &once),
        "AgentStop": records("", &json!({})),
    }));
    let client = Client::login(&world.server, "alice");
    let chat = new_chat(&client, "full");
    say(&client, &chat, "go");
    ended(&client, &chat, 1);
    let payloads = recorded(&world);
    assert_eq!(names(&payloads), ["SubAgentStart", "SubagentStop", "SubagentStop", "AgentStop"]);
    let [start, first, second, stop] = payloads.as_slice() else { panic!("{payloads:?}") };
    assert_eq!((&start["agent_type"], &start["task"]), (&json!("digger"), &json!("dig here")), "{start}");
    assert!(start["agent_id"].is_string() && start["agent_id"] != json!(chat), "{start}");
    for end in [first, second] {
        assert_eq!(
            (&end["agent_id"], &end["agent_type"]),
            (&start["agent_id"], &start["agent_type"]),
            "{end}"
        );
    }
    assert_eq!((&first["stop_hook_active"], &second["stop_hook_active"]), (&json!(false), &json!(true)));
    assert!(first["last_assistant_message"].as_str().unwrap().starts_with("found by"), "{first}");
    assert_eq!(second["last_assistant_message"], "there are three");
    assert_eq!(stop["session_id"], json!(chat), "the chat's own agent: {stop}");
    let asked = world.model.asked();
    let told = |text: &str| asked.iter().filter(|asked| is_child(asked) && asked.raw.contains(text)).count();
    assert_eq!((told("the ground is hard"), told("count them too")), (2, 1));
    let text = Value::from(messages(&client, &chat)).to_string();
    assert!(text.contains("there are three") && text.contains("found by"), "{text}");

    let stop = json!({"continue": false, "stopReason": "nobody digs today"});
    world.hooks(json!({"SubAgentStart": records("digger", &stop)}));
    let before = world.model.asked().iter().filter(|asked| is_child(asked)).count();
    let chat = new_chat(&client, "full");
    say(&client, &chat, "go");
    ended(&client, &chat, 1);
    let text = Value::from(messages(&client, &chat)).to_string();
    assert!(text.contains("nobody digs today") && text.contains("found by"), "{text}");
    let after = world.model.asked().iter().filter(|asked| is_child(asked)).count();
    assert_eq!(after, before + 1, "only the other sub-agent's model was asked");
}

#[test]
fn hooks_apply_to_an_answer_that_goes_on_after_a_restart() {
    let mut world = World::new(|asked| match asked.results().len() {
        0 => Reply::Call(vec![(
            "Shell",
            json!({"command": "echo > begun; until [ -e go ]; do sleep 0.05; done"}),
        )]),
        1 => Reply::Call(vec![("Shell", json!({"command": "touch mark"}))]),
        _ => Reply::Say("that is all".to_owned()),
    });
    let guard = "case $(cat) in *'touch mark'*) echo 'no marks' >&2; exit 2;; esac";
    world.hooks(json!({"PreToolUse": command("Shell", guard), "PostToolBatch": records("", &json!({}))}));
    let client = Client::login(&world.server, "alice");
    let chat = new_chat(&client, "full");
    say(&client, &chat, "go");
    eventually("it waits", PATIENCE, || world.path("begun").exists().then_some(()));
    world.kill_and_restart(&[]);
    world.machine.wait_online(&world.alice, "laptop");
    fs::write(world.path("go"), "").unwrap();
    let client = Client::login(&world.server, "alice");
    assert_eq!(ended(&client, &chat, 1)["agent"]["status"], "done");
    assert!(
        !world.path("mark").exists() && world.last_result().contains("no marks"),
        "{}",
        world.last_result()
    );
    assert_eq!(names(&recorded(&world)), ["PostToolBatch", "PostToolBatch"]);
}
