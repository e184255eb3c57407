//! Third-party servers for models, in both dialects: a mock in every run, and a real proxy (`SANDBRIDGE_LITELLM`) in
//! the soak.

use std::fs;

use serde_json::{Value, json};
use tests::http::Client;
use tests::third_party::ThirdParty;
use tests::{Machine, Person, Reply, ScriptedModel, Server};

use crate::agent::lines;

const KEY: &str = "sk-third-party-0123456789";
const DIALECTS: [&str; 2] = ["openai", "anthropic"];

/// Creates a user with models on that server, one for each dialect, and the user's machine.
fn world(url: &str) -> (Server, Person, Machine) {
    let server = Server::start_with(&["--docker", "off", "--llm-retry-attempts", "1"]);
    let alice = server.person("alice");
    let machine = Machine::start(&server, &alice, "laptop");
    for (name, key) in [("", KEY), ("-wrong", "sk-wrong-0123456789")] {
        for provider in DIALECTS {
            let name = format!("{provider}{name}");
            let arguments =
                ["model", "add", &name, "--provider", provider, "--base-url", url, "--model", "scripted"];
            let added = alice.with_stdin(&[&arguments[..], &["--api-key-stdin"]].concat(), key.as_bytes());
            assert_eq!(added.code, 0, "{added:?}");
        }
    }
    (server, alice, machine)
}

/// Runs a turn in a new chat; returns the output for programs, and the exit code.
fn turn(alice: &Person, model: &str, text: &str) -> (Vec<Value>, i32) {
    assert_eq!(alice.run(&["model", "use", model]).code, 0);
    let output = alice.run(&["chat", "--new", "--json", "--approval", "full", text]);
    (lines(&output), output.code)
}

fn said(lines: &[Value]) -> String {
    let texts = lines.iter().filter(|line| line["type"] == "text");
    texts.map(|line| line["text"].as_str().unwrap()).collect()
}

/// Checks that the agent runs a command because the server's model asks for it, and repeats the model's last text.
fn check_work(alice: &Person, machine: &Machine, provider: &str) {
    let (lines, code) = turn(alice, provider, &format!("please run it for {provider}"));
    assert_eq!(code, 0, "{lines:?}");
    assert!(lines.iter().any(|line| line["type"] == "tool_start" && line["tool"] == "Shell"), "{lines:?}");
    assert_eq!(said(&lines), "It ran as you wished.", "{lines:?}");
    assert!(
        lines.iter().filter(|line| line["type"] == "text").count() > 1,
        "the answer is streamed: {lines:?}"
    );
    let log = machine.workspace().join("log");
    assert_eq!(fs::read_to_string(&log).unwrap(), "ran\n");
    fs::remove_file(log).unwrap();
}

#[test]
fn a_third_party_mock_drives_the_agent_in_both_dialects() {
    let shell = r#"{name: Shell, arguments: {command: "echo ran >> log; echo it did run"}}"#;
    let rules = DIALECTS.map(|dialect| {
        let header = if dialect == "openai" { format!("authorization: Bearer {KEY}") } else { format!("x-api-key: {KEY}") };
        format!(
            "  - name: after-{dialect}\n    when: {{header.{header}, tool_result_contains: it did run}}\n    \
                 respond: {{content: It ran as you wished.}}\n  \
               - name: before-{dialect}\n    when: {{header.{header}, tools_include: Shell, messages_contain: please run it}}\n    \
                 respond: {{tool_calls: [{shell}]}}\n"
        )
    });
    let mock = ThirdParty::mock(&format!("rules:\n{}", rules.concat()));
    let (_server, alice, machine) = world(mock.url());
    for provider in DIALECTS {
        check_work(&alice, &machine, provider);
        // The mock echoes a message that no rule matches, which results in no command.
        let (lines, code) = turn(&alice, &format!("{provider}-wrong"), "please run it with another key");
        assert!(code == 0 && !said(&lines).is_empty(), "{lines:?}");
        assert!(!machine.workspace().join("log").exists(), "{lines:?}");
    }
}

#[test]
fn a_third_party_proxy_translates_between_us_and_a_model() {
    if std::env::var_os("SANDBRIDGE_LITELLM").is_none() {
        println!("skipped: SANDBRIDGE_LITELLM is not set, as scripts/soak sets it");
        return;
    }
    let model = ScriptedModel::start(|asked| match asked.results().len() {
        0 => Reply::Call(vec![("Shell", json!({"command": "echo ran >> log; echo it did run"}))]),
        _ => Reply::Say("It ran as you wished.".to_owned()),
    });
    let proxy = ThirdParty::proxy(&format!(
        "model_list:\n  - model_name: scripted\n    litellm_params: {{model: hosted_vllm/behind, api_base: \"{}/v1\", api_key: x}}\n\
         general_settings: {{master_key: {KEY}}}\n",
        model.url()
    ));
    let (server, alice, machine) = world(proxy.url());
    let client = Client::login(&server, "alice");
    for provider in DIALECTS {
        check_work(&alice, &machine, provider);
        // The proxy's response to a wrong key depends on whether the proxy has a database; it has none here.
        for (choice, told) in [("-wrong", "refused the request"), ("/no-such-model", "has no such model")] {
            let (lines, code) = turn(&alice, &format!("{provider}{choice}"), "hello");
            let error = lines.iter().find(|line| line["type"] == "error").map(Value::to_string);
            assert!(code != 0 && error.is_some_and(|error| error.contains(told)), "{choice}: {lines:?}");
        }
    }
    assert!(model.asked().iter().all(|asked| asked.body["model"] == "behind"));
    let usage = client.call("GET", "/usage").json();
    assert!(usage["total"]["output_tokens"].as_i64().unwrap() >= 20, "{usage}");
}
