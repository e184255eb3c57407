//! A runner that speaks xbot's JSON dialect, used from the CLI and the chat like any other runner.

use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tests::http::{Client, encode};
use tests::xbot::XbotRunner;
use tests::{Person, Server, eventually};

fn setup() -> (Server, Person, XbotRunner) {
    let server = Server::start();
    let person = server.person("alice");
    let runner = XbotRunner::start(&server, &person, "old");
    (server, person, runner)
}

#[test]
fn commands_run_from_the_cli_with_their_output_code_and_limits() {
    let (_server, person, runner) = setup();
    let list = person.run(&["runner", "list"]);
    assert!(list.stdout.contains("legacy: unconfined, no resume"), "{list:?}");

    let output = person.run(&["exec", "--", "sh", "-c", "echo out; echo err >&2; exit 3"]);
    assert_eq!((output.stdout.as_str(), output.stderr.as_str(), output.code), ("out\n", "err\n", 3));
    let output = person.run(&["exec", "--env", "FOO=a b", "--", "printenv", "FOO"]);
    assert_eq!((output.stdout.as_str(), output.code), ("a b\n", 0));
    std::fs::create_dir(runner.workspace().join("sub")).unwrap();
    let output = person.run(&["exec", "--cwd", "sub", "--", "pwd"]);
    assert!(output.stdout.ends_with("/sub\n"), "{output:?}");
    let output = person.with_stdin(&["exec", "--stdin", "--", "cat"], "grüße\n".as_bytes());
    assert_eq!((output.stdout.as_str(), output.code), ("grüße\n", 0));

    let code = |arguments: &[&str]| person.run(&[&["exec"], arguments].concat()).code;
    assert_eq!(code(&["--", "no-such-program"]), 127);
    assert_eq!(code(&["--timeout", "1", "--", "sleep", "60"]), 124);
    let output = person.run(&["exec", "--timeout", "4000", "--", "true"]);
    assert!(output.code == 125 && output.stderr.contains("3600 s"), "{output:?}");
    let output = person.run(&["exec", "--cwd", "../..", "--", "true"]);
    assert!(output.code == 125 && output.stderr.contains("out of the workspace"), "{output:?}");
    let output = person.run(&["exec", "--", "printf", "\\377"]);
    assert_eq!(output.stdout, "\u{fffd}", "lossy, as the runner's facts say");
}

#[test]
fn files_are_copied_both_ways() {
    let (_server, person, runner) = setup();
    let here = tempfile::tempdir().unwrap();
    let content: Vec<u8> = (0..=255u8).cycle().take(2_000_003).collect();
    let (there, back) = (here.path().join("there"), here.path().join("back"));
    std::fs::write(&there, &content).unwrap();
    let copied = person.run(&["cp", there.to_str().unwrap(), ":a/b/c.bin"]);
    assert_eq!(copied.code, 0, "{copied:?}");
    assert_eq!(std::fs::read(runner.workspace().join("a/b/c.bin")).unwrap(), content);
    let copied = person.run(&["cp", "old:a/b/c.bin", back.to_str().unwrap()]);
    assert_eq!(copied.code, 0, "{copied:?}");
    assert_eq!(std::fs::read(back).unwrap(), content);
    let escaped = person.run(&["cp", there.to_str().unwrap(), ":../escaped"]);
    assert_ne!(escaped.code, 0, "{escaped:?}");
}

#[test]
fn the_file_api_works_within_the_workspace() {
    let (server, _person, runner) = setup();
    let client = Client::login(&server, "alice");
    std::fs::create_dir(runner.workspace().join("d")).unwrap();
    std::fs::write(runner.workspace().join("d/-a b"), "x").unwrap();
    let rename = |from: &str, to: &str| {
        let body = json!({"from": from, "to": to}).to_string();
        client.send("POST", "/files/rename", body.as_bytes()).status
    };
    assert_eq!(rename("d/-a b", "-c").to_string().as_bytes()[0], b'2');
    assert_eq!(std::fs::read(runner.workspace().join("-c")).unwrap(), b"x");
    assert_eq!(client.call("GET", &format!("/files/stat?path={}", encode("-c"))).json()["size"], 1);
    assert!(rename("missing", "e") >= 400 && rename("-c", "d") >= 400 && rename("-c", "../e") >= 400);
    assert!(client.call("GET", "/files?path=../x").status >= 400);
    assert!(client.call("DELETE", "/files?path=.").status >= 400);
    assert!(client.call("DELETE", "/files?path=-c").status < 300);
    assert!(!runner.workspace().join("-c").exists() && runner.workspace().join("d").exists());
}

#[test]
fn chat_runs_commands_on_the_runner_and_stores_large_output() {
    let (_server, person, runner) = setup();
    let output = person.run(&["chat", "--new", "!echo hello; exit 3"]);
    let said = format!("{}{}", output.stdout, output.stderr);
    assert_eq!(output.code, 3, "{said}");
    assert!(said.contains("hello") && said.contains("old"), "{said}");

    let output = person.run(&["chat", "--new", "!seq 1 5000"]);
    assert_eq!(output.code, 0, "{output:?}");
    let kept = std::fs::read_dir(runner.workspace().join(".sandbridge")).map(|entries| entries.count());
    assert!(kept.is_ok_and(|kept| kept > 0), "the whole output is stored on the command's machine");
}

#[test]
fn many_commands_at_once_each_get_their_own_answer() {
    let (_server, person, _runner) = setup();
    let children: Vec<_> = (0..12)
        .map(|number| {
            let line = format!("sleep 0.{}; echo {number}", 12 - number);
            let mut command = person.command(&["exec", "--", "sh", "-c", &line]);
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    for (number, child) in children.into_iter().enumerate() {
        let output = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), format!("{number}\n"));
    }
}

#[test]
fn a_result_in_transit_at_a_disconnect_is_reported_as_lost() {
    let (_server, person, mut runner) = setup();
    let begun = runner.workspace().join("begun");
    let child = person
        .command(&["exec", "--json", "--", "sh", "-c", "touch begun; sleep 60"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    eventually("the command runs", Duration::from_secs(60), || begun.exists().then_some(()));
    let begin = Instant::now();
    runner.disconnect();
    let output = child.wait_with_output().unwrap();
    let last = String::from_utf8(output.stdout).unwrap().lines().last().unwrap_or_default().to_owned();
    let last: Value = serde_json::from_str(&last).unwrap();
    assert_eq!((last["type"].as_str(), last["kind"].as_str()), (Some("error"), Some("lost")), "{last}");
    assert_eq!(output.status.code(), Some(125));
    assert!(
        begin.elapsed() < Duration::from_secs(45),
        "the caller does not wait for a result that cannot arrive"
    );
    let offline = person.run(&["exec", "--", "true"]);
    assert!(offline.code == 125 && offline.stderr.contains("offline"), "{offline:?}");
}
