//! Hooks run on the user's machine, get the tool names that they expect, and have their decisions enforced.

mod answers;
mod background;
mod callbacks;
mod changed_input;
mod events;
mod models_fail;
mod sessions;
mod summaries;
mod too_many;
mod trouble;

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tests::http::Client;
use tests::{Asked, Machine, Page, Pages, Reply, eventually, process};

use crate::agent::{ended, lines, messages, new_chat, say};
use crate::world::{World, put};

const PATIENCE: Duration = Duration::from_secs(60);

/// A model that makes this call once, and then ends its answer.
fn calls(tool: &'static str, arguments: Value) -> impl FnMut(&Asked) -> Reply + Send + 'static {
    move |asked| {
        let last = asked.body["messages"].as_array().and_then(|messages| messages.last());
        match last.is_some_and(|message| message["role"] == "tool") {
            true => Reply::Say("that is all".to_owned()),
            false => Reply::Call(vec![(tool, arguments.clone())]),
        }
    }
}

impl World {
    /// Sets the user's own hooks: one group for each event.
    fn hooks(&self, hooks: Value) {
        let document = json!({"enable_command_hooks": true, "hooks": hooks}).to_string();
        let set = self.alice.with_stdin(&["hook", "set", "-"], document.as_bytes());
        assert_eq!(set.code, 0, "{set:?}");
    }

    /// The JSON document that a hook wrote into a file.
    fn written(&self, name: &str) -> Value {
        let text = eventually("the hook wrote", PATIENCE, || {
            fs::read_to_string(self.path(name)).ok().filter(|text| text.ends_with('\n'))
        });
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }
}

/// A hook that appends its payload to the file `events` as one line, and answers with this JSON document.
fn records(matcher: &str, answer: &Value) -> Value {
    command(matcher, &format!("printf '%s\\n' \"$(cat)\" >> events; echo '{answer}'"))
}

/// The payloads that hooks recorded so far.
fn recorded(world: &World) -> Vec<Value> {
    let text = fs::read_to_string(world.path("events")).unwrap_or_default();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

/// The events of recorded payloads.
fn names(payloads: &[Value]) -> Vec<&str> {
    payloads.iter().map(|payload| payload["hook_event_name"].as_str().unwrap()).collect()
}

/// An answer that adds context for the model at an event.
fn adds(event: &str, context: &str) -> Value {
    json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": context}})
}

fn command(matcher: &str, command: &str) -> Value {
    json!([{"matcher": matcher, "hooks": [{"type": "command", "command": command}]}])
}

#[test]
fn a_command_gets_the_call_and_denies_it_in_every_mode() {
    let world = World::new(calls("Shell", json!({"command": "touch mark"})));
    let guard = "cat > seen.json; echo >> seen.json; echo 'nothing is touched' >&2; exit 2";
    world.hooks(json!({"PreToolUse": command("Shell", guard)}));
    for mode in ["plan", "ask", "auto-edit", "full"] {
        let output = world.alice.run(&["chat", "--new", "--json", "--approval", mode, "go"]);
        assert_eq!(output.code, 0, "{mode}: {output:?}");
        assert!(world.last_result().contains("nothing is touched"), "{mode}: {}", world.last_result());
        assert!(!world.path("mark").exists(), "{mode}");
    }
    let seen = world.written("seen.json");
    assert_eq!(seen["hook_event_name"], "PreToolUse");
    assert_eq!((&seen["tool_name"], &seen["tool_input"]["command"]), (&json!("Shell"), &json!("touch mark")));
    assert_eq!(seen["cwd"].as_str().map(Path::new), Some(world.machine.workspace()));
    let log = world.alice.json(&["hook", "log", "--json"]);
    assert!(log.as_array().unwrap().len() >= 4, "{log}");
    assert!(log[0]["outcome"].as_str().unwrap().contains("nothing is touched"), "{log}");
}

#[test]
fn a_hook_is_tried_on_a_sample_or_payload_and_a_workspaces_only_after_its_approval() {
    let world = World::new(|_| Reply::Say("done".to_owned()));
    let guard = "cat > seen.json; echo >> seen.json; grep -q 'git push' seen.json && { echo 'not today' >&2; exit 2; }; exit 0";
    world.hooks(json!({"PreToolUse": command("Shell", guard)}));
    let test = |arguments: &[&str]| world.alice.run(&[&["hook", "test"], arguments].concat());
    let listed = world.alice.json(&["hook", "list", "--json"]);
    let hash = &listed["hooks"][0]["hash"].as_str().unwrap()[..12];
    let tried = world.alice.json(&["hook", "test", hash, "--json"]);
    assert_eq!((&tried["decision"], &tried["event"]), (&json!("none"), &json!("PreToolUse")), "{tried}");
    assert_eq!((&tried["runs"][0]["exit_code"], &tried["runs"][0]["kind"]), (&json!(0), &json!("command")));
    assert_eq!(world.written("seen.json")["tool_input"]["command"], "ls");
    let payload = br#"{"tool_name": "Bash", "tool_input": {"command": "git push --force"}}"#;
    let denied = world.alice.with_stdin(&["hook", "test", hash, "--payload", "-"], payload);
    assert_eq!(denied.code, 0, "{denied:?}");
    assert!(
        denied.stdout.contains("decision: deny") && denied.stdout.contains("  | not today"),
        "{denied:?}"
    );
    assert_eq!(world.written("seen.json")["tool_input"]["command"], "git push --force");
    assert_eq!(world.alice.json(&["hook", "log", "--json"]), json!([]), "a trial is not logged as a run");
    let wrong = world.alice.with_stdin(&["hook", "test", hash, "--payload", "-"], b"[1]");
    assert!(wrong.code != 0 && wrong.stderr.contains("JSON object"), "{wrong:?}");
    let unknown = test(&["--event", "PreTool"]);
    assert!(unknown.code != 0 && unknown.stderr.contains("PostToolBatch"), "{unknown:?}");

    fs::create_dir_all(world.path(".sandbridge")).unwrap();
    let of_workspace =
        json!({"enable_command_hooks": true, "hooks": {"PreToolUse": command("Shell", "touch ran")}});
    fs::write(world.path(".sandbridge/hooks.json"), of_workspace.to_string()).unwrap();
    let listed = world.alice.json(&["hook", "list", "--json"]);
    let waiting = listed["hooks"].as_array().unwrap().iter().find(|hook| hook["state"] == "waiting").unwrap();
    let (hash, id) = (waiting["hash"].as_str().unwrap(), waiting["id"].as_str().unwrap());
    let refused = test(&[id]);
    assert!(refused.code != 0 && refused.stderr.contains("waits for your approval"), "{refused:?}");
    let of_event = test(&["--event", "PreToolUse"]);
    assert!(of_event.stdout.contains(&format!("not run: {id}")), "{of_event:?}");
    assert!(!world.path("ran").exists());
    world.run(&["hook", "approve", hash, "--yes"]);
    assert_eq!(test(&[id]).code, 0);
    assert!(world.path("ran").exists());
    // A hook that asks a model needs a chat.
    let asks = json!({"Stop": [{"hooks": [{"type": "prompt", "prompt": "Is it done? $ARGUMENTS"}]}]});
    world.hooks(asks);
    let alone = test(&["--event", "Stop"]);
    assert!(alone.stdout.contains("it needs a chat with at least one answer"), "{alone:?}");
    let client = Client::login(&world.server, "alice");
    let chat = new_chat(&client, "ask");
    say(&client, &chat, "hello");
    ended(&client, &chat, 1);
    let before = world.model.asked().len();
    let there = test(&["--event", "Stop", "--chat", &chat]);
    assert!(there.stdout.contains("failed") && world.model.asked().len() == before + 1, "{there:?}");
}

#[test]
fn a_published_hook_gets_claude_codes_tool_names_after_its_approval() {
    let script = |asked: &Asked| match asked.results().len() {
        0 => Reply::Call(vec![("Shell", json!({"command": "true"}))]),
        1 => Reply::Call(vec![("FileCreate", json!({"path": "new.txt", "content": "new"}))]),
        2 => Reply::Call(vec![(
            "FileReplace",
            json!({"path": "new.txt", "old_string": "new", "new_string": "old"}),
        )]),
        _ => Reply::Say("that is all".to_owned()),
    };
    let world = World::new(script);
    let log = "#!/bin/sh\npython3 -c 'import json, sys\ncall = json.load(sys.stdin)\n\
               print(call[\"tool_name\"], sorted(call[\"tool_input\"]))' >> \"$CLAUDE_PROJECT_DIR/calls\"\n";
    world.put(".claude/hooks/log.sh", log);
    let settings = json!({"hooks": {"PreToolUse": [{"matcher": "Bash|Edit|Write", "hooks": [
        {"type": "command", "command": "\"$CLAUDE_PROJECT_DIR\"/.claude/hooks/log.sh"}]}]}});
    world.put(".claude/settings.json", &settings.to_string());
    let client = Client::login(&world.server, "alice");
    let chat = new_chat(&client, "full");
    say(&client, &chat, "go");
    ended(&client, &chat, 1);
    assert!(!world.path("calls").exists(), "the hook was not approved");
    let said: Vec<Value> =
        messages(&client, &chat).into_iter().map(|message| message["text"].clone()).collect();
    assert!(said.iter().any(|text| text.as_str().unwrap().contains("Waiting for your approval")), "{said:?}");
    let listed = world.alice.json(&["hook", "list", "--json"]);
    let hook = listed["hooks"]
        .as_array()
        .unwrap()
        .iter()
        .find(|hook| hook["state"] == "waiting")
        .expect("it waits")
        .clone();
    let hash = hook["hash"].as_str().unwrap();
    let refused = world.alice.run(&["hook", "approve", &hash[..12]]);
    assert!(refused.code != 0, "without a terminal nobody could confirm: {refused:?}");
    let approved = world.alice.run(&["hook", "approve", &hash[..12], "--yes"]);
    assert_eq!(approved.code, 0, "{approved:?}");
    fs::remove_file(world.path("new.txt")).unwrap();
    world.chat("full");
    let calls = fs::read_to_string(world.path("calls")).unwrap();
    let expected = [
        "Bash ['command']",
        "Write ['content', 'file_path']",
        "Edit ['file_path', 'new_string', 'old_string']",
    ];
    assert_eq!(calls.lines().collect::<Vec<_>>(), expected);
    // A script with other content is another hook.
    world.put(".claude/hooks/log.sh", &format!("{log}touch \"$CLAUDE_PROJECT_DIR/evil\"\n"));
    fs::remove_file(world.path("new.txt")).unwrap();
    world.chat("full");
    assert!(!world.path("evil").exists());
    assert_eq!(fs::read_to_string(world.path("calls")).unwrap(), calls);
    assert_eq!(world.alice.run(&["hook", "revoke", hash]).code, 0);
}

#[test]
fn an_approval_covers_one_workspace_and_only_files_that_can_be_hashed() {
    let world = World::new(|_| Reply::Say("hello".to_owned()));
    let other = Machine::start(&world.server, &world.alice, "other");
    let settings = json!({"hooks": {"SessionStart": command("", "sh hook.sh")}}).to_string();
    world.put(".claude/settings.json", &settings);
    world.put("hook.sh", "true\n");
    put(&other.workspace().join(".claude/settings.json"), &settings);
    put(&other.workspace().join("hook.sh"), "true\n");
    let listed = |on: &str| world.alice.json(&["hook", "list", "--on", on, "--json"]);
    let hash = listed("laptop")["hooks"][0]["hash"].as_str().unwrap().to_owned();
    assert_eq!(world.alice.run(&["hook", "approve", &hash, "--on", "laptop", "--yes"]).code, 0);
    assert_eq!(listed("laptop")["hooks"][0]["state"], "runs");
    assert_eq!(listed("other")["hooks"][0]["state"], "waiting");

    // The runner does not hash files of more than 1 GiB: their content could change after the approval.
    world.put("hook.sh", "exit 0\n");
    fs::File::options().write(true).open(world.path("hook.sh")).unwrap().set_len((1 << 30) + 1).unwrap();
    let list = listed("laptop");
    assert_eq!(list["hooks"].as_array().unwrap().len(), 0, "{list}");
    assert!(list["problems"][0]["text"].as_str().unwrap().contains("hook.sh"), "{list}");
    for hash in [hash.as_str(), listed("other")["hooks"][0]["hash"].as_str().unwrap()] {
        let refused = world.alice.run(&["hook", "approve", hash, "--on", "laptop", "--yes"]);
        assert!(refused.code != 0, "{refused:?}");
    }
}

#[test]
fn a_workspace_denies_and_never_allows_or_rewrites() {
    let world = World::new(calls("Shell", json!({"command": "touch one"})));
    let answer = json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow",
        "updatedInput": {"command": "touch two"}}});
    let hooks = json!({"enable_command_hooks": true, "hooks": {
        "PreToolUse": command("", &format!("cat > /dev/null; echo '{answer}'"))}});
    world.put(".sandbridge/hooks.json", &hooks.to_string());
    let listed = world.alice.json(&["hook", "list", "--json"]);
    let hash = listed["hooks"][0]["hash"].as_str().unwrap().to_owned();
    assert_eq!(world.alice.run(&["hook", "approve", &hash, "--yes"]).code, 0);
    // Nobody can be asked, so the call is denied: an `allow` of the workspace does not replace the question.
    let output = world.alice.run(&["chat", "--new", "--json", "--approval", "ask", "go"]);
    assert!(lines(&output).iter().any(|line| line["type"] == "approval"), "{output:?}");
    assert!(!world.path("one").exists() && !world.path("two").exists());
    world.chat("full");
    assert!(world.path("one").exists() && !world.path("two").exists());
}

#[test]
fn a_users_hook_changes_a_command_and_the_changed_one_is_checked_and_run() {
    let world = World::new(calls("Shell", json!({"command": "touch one"})));
    let answer = json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": {"command": "touch two"}}});
    world.hooks(json!({"PreToolUse": command("Shell", &format!("echo '{answer}'"))}));
    world.chat("full");
    assert!(!world.path("one").exists() && world.path("two").exists());
    fs::remove_file(world.path("two")).unwrap();
    assert_eq!(world.alice.run(&["rule", "add", "deny", "Shell(touch two)"]).code, 0);
    world.chat("full");
    assert!(
        !world.path("two").exists() && world.last_result().contains("touch two"),
        "{}",
        world.last_result()
    );
}

#[test]
fn a_hooks_context_reaches_the_model_and_a_hook_can_refuse_a_prompt() {
    let world = World::new(|_| Reply::Say("hello".to_owned()));
    world.hooks(json!({
        "SessionStart": command("", "echo 'the build is red'"),
        "UserPromptSubmit": command("", "python3 -c 'import json, sys\nif \"secret\" in json.load(sys.stdin)[\"prompt\"]: sys.exit(\"no secrets here\") or 1\nprint(\"it is Friday\")' || exit 2"),
    }));
    world.chat("full");
    let told = world.model.asked().pop().unwrap().body.to_string();
    assert!(told.contains("the build is red") && told.contains("it is Friday"), "{told}");
    let asked = world.model.asked().len();
    let refused = world.alice.run(&["chat", "--new", "--json", "my secret is 7"]);
    assert!(refused.code != 0 && refused.stdout.contains("no secrets here"), "{refused:?}");
    assert_eq!(world.model.asked().len(), asked, "no model was asked");
}

#[test]
fn hooks_comment_on_results_and_keep_the_model_working_until_satisfied() {
    let script = |asked: &Asked| match asked.last_of_user().contains("not yet") {
        true => Reply::Say("now it is done".to_owned()),
        false if asked.results().is_empty() => Reply::Call(vec![("Shell", json!({"command": "echo built"}))]),
        false => Reply::Say("done".to_owned()),
    };
    let world = World::new(script);
    let post =
        json!({"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "2 warnings"}});
    let stop = "python3 -c 'import json, sys\nif not json.load(sys.stdin)[\"stop_hook_active\"]: print(\"not yet\", file=sys.stderr); sys.exit(2)'";
    world.hooks(
        json!({"PostToolUse": command("Shell", &format!("echo '{post}'")), "Stop": command("", stop)}),
    );
    let said = world.chat("full");
    assert!(
        world.model.asked()[1].results()[0].contains("2 warnings"),
        "{:?}",
        world.model.asked()[1].results()
    );
    let words: String = said.iter().filter_map(|line| line["text"].as_str()).collect();
    assert!(words.contains("now it is done"), "{said:?}");
}

#[test]
fn a_failing_hook_is_reported_and_an_administrators_one_denies() {
    let world = World::new(calls("Shell", json!({"command": "touch mark"})));
    world.hooks(json!({"PreToolUse": command("Shell", "echo 'the disk is full' >&2; exit 1")}));
    let client = Client::login(&world.server, "alice");
    let chat = new_chat(&client, "full");
    say(&client, &chat, "go");
    ended(&client, &chat, 1);
    assert!(world.path("mark").exists(), "a failure of a user's hook does not stop the work");
    let notices = messages(&client, &chat);
    let notice = notices.iter().find(|message| message["text"].as_str().unwrap().contains("A hook failed"));
    assert!(
        notice.expect("a notice about the failed hook")["text"]
            .as_str()
            .unwrap()
            .contains("the disk is full"),
        "{notices:?}"
    );
    fs::remove_file(world.path("mark")).unwrap();
    assert_eq!(world.alice.run(&["hook", "clear"]).code, 0);
    let file = world.server.home().join("hooks.json");
    let managed = json!({"enable_command_hooks": true, "hooks": {"PreToolUse": command("Shell", "exit 1")}});
    fs::write(&file, managed.to_string()).unwrap();
    world.chat("full");
    assert!(!world.path("mark").exists(), "the administrator's hooks fail closed");
    fs::write(&file, "{").unwrap();
    world.chat("full");
    assert!(
        !world.path("mark").exists() && world.last_result().contains("administrator"),
        "{}",
        world.last_result()
    );
    fs::remove_file(&file).unwrap();
    world.chat("full");
    assert!(world.path("mark").exists());
}

#[test]
fn a_hook_that_hangs_or_floods_ends_in_time_and_leaves_nothing() {
    let world = World::new(calls("Shell", json!({"command": "touch mark"})));
    let marker = format!("{}", 77_000_000 + std::process::id() % 1_000_000);
    let slow = |command: &str| json!([{"matcher": "Shell", "hooks": [{"type": "command", "command": command, "timeout": 1}]}]);
    for hook in [
        format!("sleep {marker} & sleep {marker}"),
        "yes".to_owned(),
        "(sleep 300 &) ; cat > /dev/null".to_owned(),
    ] {
        world.hooks(json!({"PreToolUse": slow(&hook)}));
        let begun = Instant::now();
        world.chat("full");
        assert!(begun.elapsed() < Duration::from_secs(30), "{hook}");
        assert!(world.path("mark").exists(), "{hook}");
        fs::remove_file(world.path("mark")).unwrap();
    }
    eventually("nothing is left", PATIENCE, || process::with_marker(&marker).is_empty().then_some(()));
}

#[test]
fn a_cancelled_turn_ends_its_hook_and_runs_nothing() {
    let world = World::new(calls("Shell", json!({"command": "touch mark"})));
    let marker = format!("{}", 78_000_000 + std::process::id() % 1_000_000);
    world.hooks(json!({"PreToolUse": command("Shell", &format!("touch begun; sleep {marker}"))}));
    let client = Client::login(&world.server, "alice");
    let chat = new_chat(&client, "full");
    say(&client, &chat, "go");
    eventually("the hook runs", PATIENCE, || world.path("begun").exists().then_some(()));
    assert_eq!(client.call("POST", &format!("/chats/{chat}/cancel")).status, 200);
    eventually("nothing is left", PATIENCE, || process::with_marker(&marker).is_empty().then_some(()));
    assert!(!world.path("mark").exists());
    eventually("its end is on record", PATIENCE, || {
        let execs = client.call("GET", "/execs").json();
        execs.as_array().unwrap().iter().all(|exec| exec["status"] != "running").then_some(())
    });
}

#[test]
fn an_http_hook_sends_the_payload_and_reaches_no_address_of_the_servers_network() {
    let answer = json!({"decision": "block", "reason": "the service says no"}).to_string().into_bytes();
    let pages = Pages::start(move |_| Page::Is("application/json", answer.clone()));
    let url = format!("http://127.0.0.1:{}/check", pages.port());
    let hook =
        |url: &str| json!({"PreToolUse": [{"matcher": "Shell", "hooks": [{"type": "http", "url": url}]}]});
    let closed = World::new(calls("Shell", json!({"command": "touch mark"})));
    closed.hooks(hook(&url));
    closed.chat("full");
    assert!(
        closed.path("mark").exists() && pages.asked().is_empty(),
        "the address is in the server's own network"
    );
    let open = World::with(calls("Shell", json!({"command": "touch mark"})), &["--fetch-allow", "127.0.0.1"]);
    open.hooks(hook(&url));
    open.chat("full");
    let asked = pages.asked().pop().unwrap();
    assert!(asked.starts_with("POST /check") && asked.contains("touch mark"), "{asked}");
    assert!(
        !open.path("mark").exists() && open.last_result().contains("the service says no"),
        "{}",
        open.last_result()
    );
}

#[test]
fn an_invalid_document_is_refused_with_its_error_and_the_old_one_kept() {
    let world = World::new(|_| Reply::Say("hello".to_owned()));
    world.hooks(json!({"Stop": command("", "true")}));
    for (document, why) in [
        ("{".to_owned(), "JSON"),
        (json!({"hooks": {"PreToolUse": [{"matcher": "(", "hooks": [{"type": "command", "command": "true"}]}]}}).to_string(), "PreToolUse"),
        (json!({"hooks": {"PreToolUse": [{"hooks": [{"type": "command"}]}]}}).to_string(), "command"),
    ] {
        let refused = world.alice.with_stdin(&["hook", "set", "-"], document.as_bytes());
        assert!(refused.code != 0 && refused.stderr.contains(why), "{document}: {refused:?}");
    }
    let shown = world.alice.run(&["hook", "show"]).stdout;
    assert!(shown.contains("Stop") && !shown.contains("PreToolUse"), "the old document is kept: {shown}");
}

#[test]
fn a_script_that_a_model_changes_or_replaces_within_a_turn_does_not_run() {
    let script = |asked: &Asked| match asked.results().len() {
        0 => Reply::Call(vec![(
            "FileCreate",
            json!({"path": "check.sh", "content": "touch evil\n", "rewrite": true}),
        )]),
        1 => Reply::Call(vec![("Cd", json!({"path": "vendor"}))]),
        2 => Reply::Call(vec![("Shell", json!({"command": "true"}))]),
        _ => Reply::Say("that is all".to_owned()),
    };
    let world = World::new(script);
    world.put("check.sh", "#!/bin/sh\ntouch ran\n");
    world.put("vendor/check.sh", "#!/bin/sh\ntouch ../evil\n");
    let hooks = json!({"enable_command_hooks": true, "hooks": {"PreToolUse": command("", "./check.sh")}});
    world.put(".sandbridge/hooks.json", &hooks.to_string());
    let listed = world.alice.json(&["hook", "list", "--json"]);
    let hash = listed["hooks"][0]["hash"].as_str().unwrap().to_owned();
    assert_eq!(world.alice.run(&["hook", "approve", &hash, "--yes"]).code, 0);
    world.chat("full");
    assert!(world.path("ran").exists() && !world.path("evil").exists() && !world.path("vendor/ran").exists());
    let log = world.alice.json(&["hook", "log", "--json"]);
    assert!(log.to_string().contains("has changed since you approved"), "{log}");
}

#[test]
fn a_permission_hook_changes_no_arguments_and_continue_false_ends_the_turn() {
    let world = World::new(calls("Shell", json!({"command": "touch one"})));
    let answer = json!({"hookSpecificOutput": {"hookEventName": "PermissionRequest",
        "decision": {"behavior": "allow", "updatedInput": {"command": "touch two"}}}});
    world.hooks(json!({"PermissionRequest": command("Shell", &format!("echo '{answer}'"))}));
    let output = world.alice.run(&["chat", "--new", "--json", "--approval", "ask", "go"]);
    assert!(lines(&output).iter().any(|line| line["type"] == "approval"), "the user is asked: {output:?}");
    assert!(!world.path("one").exists() && !world.path("two").exists());
    let stop = json!({"continue": false, "stopReason": "that is enough"});
    world.hooks(json!({"PostToolUse": command("Shell", &format!("echo '{stop}'"))}));
    let asked = world.model.asked().len();
    let output = world.alice.run(&["chat", "--new", "--json", "--approval", "full", "go"]);
    assert!(output.code != 0 && output.stdout.contains("that is enough"), "{output:?}");
    assert!(world.path("one").exists());
    assert_eq!(world.model.asked().len(), asked + 1, "the model was not asked again");
}
