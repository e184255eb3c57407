//! Chats through the CLI: slash commands, `!command`, and persistence.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use tests::http::{Client, encode};
use tests::{Machine, Server, eventually};

#[test]
fn command_shows_output_exit_code_and_runner() {
    let server = Server::start();
    let alice = server.person("alice");
    let _machine = Machine::start(&server, &alice, "laptop");
    let output = alice.run(&["chat", "--new", "!echo hello; exit 3"]);
    assert_eq!(output.code, 3, "{output:?}");
    let said = output.stdout + &output.stderr;
    assert!(said.contains("hello") && said.contains("exit 3") && said.contains("laptop"), "{said}");
}

#[test]
fn output_streams_while_the_command_runs() {
    let server = Server::start();
    let alice = server.person("alice");
    let machine = Machine::start(&server, &alice, "laptop");
    let go = machine.workspace().join("go");
    let mut child = alice
        .command(&["chat", "--new", "!echo first; while [ ! -e go ]; do sleep 0.05; done; echo second"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains("first")), "the first line comes before the command ends");
    std::fs::write(go, "").unwrap();
    assert!(lines.any(|line| line.contains("second")));
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn large_output_is_stored_completely_in_the_sandbox() {
    let server = Server::start();
    let alice = server.person("alice");
    let machine = Machine::start(&server, &alice, "laptop");
    alice.run(&["chat", "--new", "!seq 1 5000"]);
    let client = Client::login(&server, "alice");
    let chat = client.call("GET", "/chats").json()[0]["id"].as_str().unwrap().to_owned();
    let message = eventually("the command ended", Duration::from_secs(60), || {
        let messages = client.call("GET", &format!("/chats/{chat}/messages")).json();
        let list = messages["messages"].as_array().unwrap().clone();
        list.into_iter().find(|message| message["exec"]["status"] == "exited")
    });
    let (text, exec) = (message["text"].as_str().unwrap(), &message["exec"]);
    assert!(
        text.chars().count() < 5_000 && text.starts_with("1\n2\n") && text.trim_end().ends_with("5000"),
        "{text}"
    );
    let path = exec["output_path"].as_str().unwrap();
    let whole: String = (1..=5000).map(|number| format!("{number}\n")).collect();
    assert_eq!(std::fs::read_to_string(machine.workspace().join(path)).unwrap(), whole);
    let link = client.call("GET", &format!("/files?path={}&on=laptop", encode(path)));
    assert_eq!(link.body, whole.as_bytes());
    assert_eq!(exec["stdout_bytes"].as_u64(), Some(whole.len() as u64));
}

#[test]
fn slash_commands_are_answered() {
    let server = Server::start();
    let alice = server.person("alice");
    let _machine = Machine::start(&server, &alice, "laptop");
    let say = |text: &str| {
        let output = alice.run(&["chat", text]);
        output.stdout + &output.stderr
    };
    let help = say("/help");
    for command in ["/new", "/runner", "/cancel", "!"] {
        assert!(help.contains(command), "{command} in {help}");
    }
    assert!(say("/runner").contains("laptop"));
    assert!(say("/runner nowhere").contains("nowhere"));
    assert!(say("/what").contains("/help"), "the error for an unknown command says what to do");
    for (text, code, kind) in
        [("/runner nowhere", 1, "not_found"), ("/what", 1, "invalid"), ("!", 1, "invalid")]
    {
        assert_eq!(alice.run(&["chat", text]).code, code, "{text}");
        let lines = alice.run(&["chat", "--json", text]).stdout;
        assert!(
            lines.contains(&format!("\"kind\":\"{kind}\"")) && lines.contains("\"type\":\"error\""),
            "{lines}"
        );
    }
    assert_eq!(alice.run(&["chat", "/runner laptop"]).code, 0);
    assert!(
        say("hello").contains("SANDBRIDGE_LLM_PROVIDER"),
        "without a model the answer says how to set one up"
    );
}

#[test]
fn an_administrator_changes_server_settings_from_the_terminal() {
    let server = Server::start_with(&["--docker", "off"]);
    let alice = server.person("alice");
    let file = server.home().join("prompt.md");
    std::fs::write(&file, "Be a pirate.").unwrap();
    let set = |options: &[&str]| {
        let shown = alice.run(&[&["server", "settings"], options].concat());
        assert_eq!(shown.code, 0, "{}", shown.stderr);
        shown
    };
    let shown = set(&["--base-prompt", "prompt.md", "--context-mode", "none", "--turns-at-once", "3"]).stdout;
    assert!(shown.contains("3 (started with 16)") && shown.contains("prompt.md"), "{shown}");
    std::fs::remove_file(&file).unwrap();
    assert!(set(&[]).stderr.contains("there is no file prompt.md"));
    let bad = alice.run(&["server", "settings", "--base-prompt", "/etc/passwd"]);
    assert!(bad.code != 0 && bad.stderr.contains("ends in .md"), "{}", bad.stderr);
    let shown = set(&["--base-prompt", "none", "--context-mode", "default"]).stdout;
    assert!(shown.contains("3 (started with 16)") && !shown.contains("prompt.md"), "{shown}");
}

#[test]
fn cancel_ends_the_command_and_messages_survive_a_restart() {
    let mut server = Server::start();
    let alice = server.person("alice");
    let _machine = Machine::start(&server, &alice, "laptop");
    let client = Client::login(&server, "alice");
    let chat = client.call("POST", "/chats").json()["id"].as_str().unwrap().to_owned();
    let post = |text: &str| {
        let body = serde_json::json!({"text": text}).to_string();
        let answer = client.send("POST", &format!("/chats/{chat}/messages"), body.as_bytes());
        assert_eq!(answer.status, 202, "{answer:?}");
    };
    let statuses = || -> Vec<Value> {
        let messages = client.call("GET", &format!("/chats/{chat}/messages")).json();
        let list = messages["messages"].as_array().unwrap().clone();
        list.iter()
            .filter(|message| message["role"] == "exec")
            .map(|message| message["exec"]["status"].clone())
            .collect()
    };
    post("!sleep 300");
    eventually("it runs", Duration::from_secs(60), || (statuses() == ["running"]).then_some(()));
    post("/cancel");
    eventually("it was cancelled", Duration::from_secs(60), || (statuses() == ["cancelled"]).then_some(()));
    post("!echo before");
    eventually("both ended", Duration::from_secs(60), || {
        (statuses() == ["cancelled", "exited"]).then_some(())
    });
    server.restart(&["--docker", "off"]);
    assert_eq!(statuses(), ["cancelled", "exited"]);
}

#[test]
fn a_command_continues_over_a_restart_of_the_server() {
    goes_on(|_| ());
}

#[test]
fn a_command_continues_after_the_server_was_killed() {
    goes_on(|server| {
        let killed = std::process::Command::new("kill").args(["-9", &server.pid().to_string()]).status();
        assert!(killed.unwrap().success());
    });
}

fn goes_on(before_the_restart: impl Fn(&Server)) {
    let mut server = Server::start();
    let alice = server.person("alice");
    let _machine = Machine::start(&server, &alice, "laptop");
    let client = Client::login(&server, "alice");
    let chat = client.call("POST", "/chats").json()["id"].as_str().unwrap().to_owned();
    let shown = || client.call("GET", &format!("/chats/{chat}/messages")).json()["messages"][1].clone();
    let command = r#"{"text": "!echo before; until [ -e go ]; do sleep 0.1; done; echo after; exit 3"}"#;
    let answer = client.send("POST", &format!("/chats/{chat}/messages"), command.as_bytes());
    assert_eq!(answer.status, 202, "{answer:?}");
    eventually("the command has written", Duration::from_secs(60), || {
        (shown()["text"] == "before\n").then_some(())
    });
    before_the_restart(&server);
    server.restart(&["--docker", "off"]);
    assert_eq!(shown()["exec"]["status"], "running");
    eventually("the runner is back", Duration::from_secs(60), || {
        (alice.run(&["exec", "--on", "laptop", "--", "touch", "go"]).code == 0).then_some(())
    });
    eventually("it ended", Duration::from_secs(60), || (shown()["exec"]["status"] == "exited").then_some(()));
    assert_eq!(
        (shown()["text"].as_str(), shown()["exec"]["exit_code"].as_i64()),
        (Some("before\nafter\n"), Some(3))
    );
}

#[test]
fn a_command_on_the_server_itself_is_cancelled_when_the_server_stops() {
    let options = ["--docker", "off", "--local", "admins"];
    let mut server = Server::start_with(&options);
    let alice = server.person("alice");
    assert_eq!(alice.run(&["use", "none"]).code, 0);
    let client = Client::login(&server, "alice");
    let chat = client.call("POST", "/chats").json()["id"].as_str().unwrap().to_owned();
    let shown = || client.call("GET", &format!("/chats/{chat}/messages")).json()["messages"][1].clone();
    let command = br#"{"text": "!echo before; sleep 300"}"#;
    assert_eq!(client.send("POST", &format!("/chats/{chat}/messages"), command).status, 202);
    eventually("the command has written", Duration::from_secs(20), || {
        (shown()["text"] == "before\n").then_some(())
    });
    server.restart(&options);
    let message = shown();
    assert_eq!((&message["text"], &message["exec"]["status"]), (&"before\n".into(), &"cancelled".into()));
    assert!(message["exec"]["error"].as_str().unwrap().contains("server was stopped"), "{message}");
}

#[test]
fn json_lines_report_a_command_to_programs() {
    let server = Server::start();
    let alice = server.person("alice");
    let _machine = Machine::start(&server, &alice, "laptop");
    let output = alice.run(&["chat", "--new", "--json", "!echo hello"]);
    let lines: Vec<Value> = output.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let types: Vec<_> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    for expected in ["tool_start", "tool_output", "tool_end", "done"] {
        assert!(types.contains(&expected), "{expected} in {types:?}");
    }
}
