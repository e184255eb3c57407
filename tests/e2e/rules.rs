//! Permission rules: a denied action is never done, in any mode and for any caller, and the rules' other effects apply too.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};
use tests::http::Client;
use tests::{Asked, Machine, Person, Reply, ScriptedModel, Server, eventually};

use crate::agent::{ended, lines, messages, new_chat, say};

const PATIENCE: Duration = Duration::from_secs(60);

/// The reason that is given with the rule.
const WHY: &str = "the mark stays as it is";

/// A model that runs `touch mark` once for each message, and then repeats the result.
fn touches(asked: &Asked) -> Reply {
    let last = asked.body["messages"].as_array().and_then(|messages| messages.last());
    match last.is_some_and(|message| message["role"] == "tool") {
        true => Reply::Say(format!("got: {}", asked.results().pop().unwrap_or_default())),
        false => Reply::Call(vec![("Shell", json!({"command": "true && touch mark"}))]),
    }
}

fn start(script: impl FnMut(&Asked) -> Reply + Send + 'static) -> (ScriptedModel, Server, Person, Machine) {
    let model = ScriptedModel::start(script);
    let server = Server::start_with(&[&["--docker", "off"], &model.options("openai")[..]].concat());
    let alice = server.person("alice");
    let machine = Machine::start(&server, &alice, "laptop");
    (model, server, alice, machine)
}

fn deny_touch(alice: &Person) {
    let added = alice.run(&["rule", "add", "deny", "Shell(touch *)", "--because", WHY]);
    assert_eq!(
        (added.code, added.stdout.as_str()),
        (0, "rule 1 was added: deny Shell(touch *)\n"),
        "{added:?}"
    );
}

/// The last result that the model was given.
fn last_result(model: &ScriptedModel) -> String {
    model.asked().pop().and_then(|asked| asked.results().pop()).unwrap_or_default()
}

/// The modes of approval.
const MODES: [&str; 4] = ["plan", "ask", "auto-edit", "full"];

#[test]
fn a_deny_rule_applies_in_every_mode_to_each_client_and_to_sub_agents() {
    let delegates = |asked: &Asked| match asked.last_of_user().as_str() {
        "delegate" if asked.results().is_empty() => {
            Reply::Call(vec![("SubAgent", json!({"task": "touch it"}))])
        }
        "delegate" => Reply::Say("it is back".to_owned()),
        _ => touches(asked),
    };
    let (model, server, alice, machine) = start(delegates);
    deny_touch(&alice);
    let page = Client::log_in_as_page(&server, "alice");
    let key =
        alice.json(&["key", "add", "ci", "--scope", "full", "--json"])["key"].as_str().unwrap().to_owned();
    let program = Client::with_token(&server, &key);
    for mode in MODES {
        let output = alice.run(&["chat", "--new", "--json", "--approval", mode, "go"]);
        assert_eq!(output.code, 0, "{mode}: {output:?}");
        assert!(lines(&output).iter().all(|line| line["type"] != "approval"), "{mode}: {output:?}");
        assert!(last_result(&model).contains(WHY), "{mode}: {}", last_result(&model));
        for (who, says) in [("the page", &page), ("a program", &program)] {
            let chat = new_chat(&page, mode);
            let asked = model.asked().len();
            say(says, &chat, "go");
            ended(&page, &chat, 1);
            assert_eq!(model.asked().len(), asked + 2, "{mode}, {who}");
            assert!(last_result(&model).contains(WHY), "{mode}, {who}: {}", last_result(&model));
        }
        let output = alice.run(&["chat", "--new", "--json", "--approval", mode, "delegate"]);
        assert_eq!(output.code, 0, "{mode}: {output:?}");
        assert!(!machine.workspace().join("mark").exists(), "{mode}");
    }
    let rules = alice.json(&["rule", "list", "--json"]);
    let rule = rules.as_array().unwrap().iter().find(|rule| rule["origin"] == "user").unwrap();
    // In each mode there is one call each by the CLI, by the page, by a program, and by a sub-agent.
    assert_eq!(rule["hits"], 16, "{rules}");
    assert!(rule["last_hit_at"].is_i64());
}

#[test]
fn a_deny_rule_applies_in_every_mode_to_a_turn_resumed_after_a_kill() {
    // Each turn first looks at its machine, so that the next server waits for that machine; then the model is silent until that
    // server asks.
    let mut silent = MODES.len();
    let script = move |asked: &Asked| match asked.results().len() {
        0 => Reply::Call(vec![("Glob", json!({"pattern": "*"}))]),
        1 if silent > 0 => {
            silent -= 1;
            Reply::Hang(String::new())
        }
        1 => Reply::Call(vec![("Shell", json!({"command": "touch mark"}))]),
        _ => Reply::Say(format!("got: {}", asked.results().pop().unwrap())),
    };
    let (model, mut server, alice, machine) = start(script);
    let client = Client::login(&server, "alice");
    let chats = MODES.map(|mode| new_chat(&client, mode));
    for (number, chat) in chats.iter().enumerate() {
        say(&client, chat, "go");
        eventually("the model is silent", PATIENCE, || {
            (model.asked().len() == 2 * (number + 1)).then_some(())
        });
    }
    deny_touch(&alice);
    server.kill();
    server.restart(&[&["--docker", "off"], &model.options("openai")[..]].concat());
    let client = Client::login(&server, "alice");
    for (mode, chat) in MODES.iter().zip(&chats) {
        let turn = ended(&client, chat, 1);
        assert_eq!(turn["agent"]["status"], "done", "{mode}: {turn}");
        let shown = messages(&client, chat);
        let told = |message: &Value| {
            message["text"].as_str().is_some_and(|text| text.starts_with("got: ") && text.contains(WHY))
        };
        assert!(shown.iter().any(told), "{mode}: {shown:?}");
    }
    assert!(!machine.workspace().join("mark").exists());
    let rules = alice.json(&["rule", "list", "--json"]);
    let rule = rules.as_array().unwrap().iter().find(|rule| rule["origin"] == "user").unwrap();
    assert_eq!(rule["hits"], 4, "{rules}");
}

#[test]
fn a_deny_rule_added_during_a_wait_for_approval_applies_after_a_kill() {
    let (model, mut server, alice, machine) = start(touches);
    let options = [&["--docker", "off"], &model.options("openai")[..]].concat();
    let client = Client::login(&server, "alice");
    let chat = new_chat(&client, "ask");
    say(&client, &chat, "go");
    eventually("the call needs an approval", PATIENCE, || {
        messages(&client, &chat).iter().any(|message| message["agent"]["status"] == "asking").then_some(())
    });
    deny_touch(&alice);
    server.kill();
    server.restart(&options);
    let client = Client::login(&server, "alice");
    eventually("the turn has ended", PATIENCE, || {
        let busy = ["asking", "running", "queued"];
        let is_busy =
            |message: &Value| busy.contains(&message["agent"]["status"].as_str().unwrap_or_default());
        (!messages(&client, &chat).iter().any(is_busy)).then_some(())
    });
    say(&client, &chat, "go on");
    eventually("the model was told", PATIENCE, || last_result(&model).contains(WHY).then_some(()));
    assert!(!machine.workspace().join("mark").exists());
}

#[test]
fn an_allowed_command_needs_no_approval_and_one_that_hides_another_does() {
    let script = |asked: &Asked| match asked.results().len() {
        0 => Reply::Call(vec![("Shell", json!({"command": "touch one"}))]),
        1 => Reply::Call(vec![("Shell", json!({"command": "touch two; sh -c 'touch three > four'"}))]),
        _ => Reply::Say("that is all".to_owned()),
    };
    let (_model, _server, alice, machine) = start(script);
    let added = alice.run(&["rule", "add", "allow", "Bash(touch *)"]);
    assert_eq!(added.code, 0, "{added:?}");
    let output = alice.run(&["chat", "--new", "--json", "--approval", "ask", "go"]);
    let asked: Vec<Value> = lines(&output).into_iter().filter(|line| line["type"] == "approval").collect();
    assert_eq!(asked.len(), 1, "{output:?}");
    assert!(asked[0].to_string().contains("three"), "{asked:?}");
    assert!(machine.workspace().join("one").exists() && !machine.workspace().join("two").exists());
}

#[test]
fn a_rule_about_a_path_follows_links() {
    let script = |asked: &Asked| match asked.results().len() {
        0 => Reply::Call(vec![
            ("Read", json!({"path": "secret/key"})),
            ("Read", json!({"path": "./open/../secret/key"})),
            ("Read", json!({"path": "link"})),
            ("Read", json!({"path": "open/fine"})),
        ]),
        _ => Reply::Say("that is all".to_owned()),
    };
    let (model, _server, alice, machine) = start(script);
    let workspace = machine.workspace();
    for (path, content) in [("secret/key", "hidden words"), ("open/fine", "open words")] {
        fs::create_dir_all(workspace.join(path).parent().unwrap()).unwrap();
        fs::write(workspace.join(path), content).unwrap();
    }
    std::os::unix::fs::symlink("secret/key", workspace.join("link")).unwrap();
    assert_eq!(alice.run(&["rule", "add", "deny", "Read(/secret/**)"]).code, 0);
    let output = alice.run(&["chat", "--new", "--json", "--approval", "full", "go"]);
    assert_eq!(output.code, 0, "{output:?}");
    let results = model.asked().pop().unwrap().results();
    assert_eq!(results.len(), 4);
    assert!(
        results[..3]
            .iter()
            .all(|text| text.contains("denied by the user's rule") && !text.contains("hidden words")),
        "{results:?}"
    );
    assert!(results[3].contains("open words"), "{results:?}");
}

#[test]
fn the_administrators_file_applies_to_everybody_and_a_broken_one_is_named() {
    let (model, mut server, alice, machine) = start(touches);
    let options = [&["--docker", "off"], &model.options("openai")[..]].concat();
    let file = server.home().join("permissions.json");
    let rules = json!({"permissions": {"deny": [{"rule": "Shell(touch *)", "justification": WHY}]}});
    fs::write(&file, rules.to_string()).unwrap();
    // The file is read again without a restart, and takes precedence over the user's allow rules.
    assert_eq!(alice.run(&["rule", "add", "allow", "Shell(touch *)"]).code, 0);
    let output = alice.run(&["chat", "--new", "--json", "--approval", "full", "go"]);
    assert_eq!(output.code, 0, "{output:?}");
    assert!(
        last_result(&model).contains(WHY) && last_result(&model).contains("administrator"),
        "{}",
        last_result(&model)
    );
    let listed = alice.run(&["rule", "list"]).stdout;
    assert!(listed.contains("administrator") && listed.contains(WHY), "{listed}");
    // A file that cannot be read changes nothing while the server runs, and prevents its next start.
    fs::write(&file, "{\"permissions\": {\"deny\": [\"Shell(\"]}}").unwrap();
    assert_eq!(alice.run(&["chat", "--new", "--json", "--approval", "full", "go"]).code, 0);
    assert!(last_result(&model).contains(WHY), "{}", last_result(&model));
    assert!(!machine.workspace().join("mark").exists());
    server.kill();
    let refused = std::process::Command::new(tests::binaries::sandbridge())
        .args(["serve", "--listen", "127.0.0.1:0", "--home"])
        .arg(server.home())
        .args(&options)
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&refused.stderr);
    assert!(
        !refused.status.success() && stderr.contains("permissions.json") && stderr.contains("Shell("),
        "{stderr}"
    );
}

#[test]
fn a_trial_reports_the_verdict_and_runs_nothing() {
    let (_model, _server, alice, machine) = start(touches);
    deny_touch(&alice);
    let tried = alice.run(&["rule", "test", "Shell", "ls && touch mark"]);
    assert_eq!(tried.code, 0, "{tried:?}");
    assert!(
        tried.stdout.starts_with("denied: ") && tried.stdout.contains("deny Shell(touch *) (you)"),
        "{}",
        tried.stdout
    );
    let tried = alice.run(&["rule", "test", "Shell", "ls"]);
    assert!(tried.stdout.starts_with("left to the chat's approval mode: "), "{}", tried.stdout);
    let tried = alice.run(&["rule", "test", "Shell", "rm -rf /"]);
    assert!(
        tried.stdout.starts_with("asked about: ") && tried.stdout.contains("built in"),
        "{}",
        tried.stdout
    );
    assert!(!machine.workspace().join("mark").exists());
}

#[test]
fn invalid_rules_are_refused_with_the_reason() {
    let (_model, server, alice, _machine) = start(touches);
    for (rule, why) in [("", "empty"), ("Shell(", "Shell("), ("Shell(a && b)", "&&")] {
        let refused = alice.run(&["rule", "add", "deny", rule]);
        assert!(refused.code != 0 && refused.stderr.contains(why), "{rule:?}: {refused:?}");
    }
    assert_eq!(alice.run(&["rule", "remove", "7"]).code, 1);
    let eve = server.person("eve");
    deny_touch(&alice);
    assert!(eve.run(&["rule", "remove", "1"]).stderr.contains("no rule"), "another user's");
    let key =
        alice.json(&["key", "add", "ci", "--scope", "full", "--json"])["key"].as_str().unwrap().to_owned();
    let by_key = |method: &str, path: &str| {
        let request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}/api/v1{path}", server.url()))
            .header("authorization", format!("Bearer {key}"))
            .header("content-type", "application/json")
            .body(json!({"effect": "allow", "rule": "Shell"}).to_string())
            .unwrap();
        let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
        agent.run(request).unwrap().status().as_u16()
    };
    // A key cannot loosen the rules of its user.
    assert_eq!((by_key("POST", "/rules"), by_key("DELETE", "/rules/1")), (403, 403));
    assert_eq!(alice.run(&["rule", "remove", "1"]).stdout, "rule 1 was removed\n");
}

#[test]
fn files_that_may_not_be_read_are_not_found_by_searches_either() {
    let script = |asked: &Asked| match asked.results().len() {
        0 => Reply::Call(vec![
            ("Grep", json!({"pattern": "hidden"})),
            ("Grep", json!({"pattern": "hidden", "path": "secret"})),
            ("Grep", json!({"pattern": "hidden", "path": "open/link"})),
            ("Grep", json!({"pattern": "hidden", "path": "secret/key"})),
            ("Glob", json!({"pattern": "**/*"})),
            ("Cd", json!({"path": "secret"})),
            ("Grep", json!({"pattern": "."})),
            ("Shell", json!({"command": "cat key"})),
        ]),
        _ => Reply::Say("that is all".to_owned()),
    };
    let (model, _server, alice, machine) = start(script);
    let workspace = machine.workspace();
    for (path, content) in
        [("secret/key", "hidden words"), ("open/fine", "nothing is hidden here"), (".env", "hidden=1")]
    {
        fs::create_dir_all(workspace.join(path).parent().unwrap()).unwrap();
        fs::write(workspace.join(path), content).unwrap();
    }
    std::os::unix::fs::symlink("../secret", workspace.join("open/link")).unwrap();
    for rule in ["Read(/secret/**)", "Read(.env)"] {
        assert_eq!(alice.run(&["rule", "add", "deny", rule]).code, 0);
    }
    let output = alice.run(&["chat", "--new", "--json", "--approval", "full", "go"]);
    assert_eq!(output.code, 0, "{output:?}");
    let results = model.asked().pop().unwrap().results();
    assert_eq!(results.len(), 8);
    assert!(results[0].contains("open/fine") && results[0].contains("left out"), "{results:?}");
    assert!(
        !results[4].contains("key") && !results[4].contains(".env") && results[4].contains("open/fine"),
        "{results:?}"
    );
    assert!(
        results.iter().all(|text| !text.contains("hidden words") && !text.contains("hidden=1")),
        "{results:?}"
    );
}

#[test]
fn a_deny_rule_added_during_a_wait_for_approval_applies() {
    let (model, server, alice, machine) = start(touches);
    let client = Client::login(&server, "alice");
    let chat = new_chat(&client, "ask");
    say(&client, &chat, "go");
    let card = eventually("the call needs an approval", PATIENCE, || {
        messages(&client, &chat).into_iter().find(|message| message["agent"]["status"] == "asking")
    });
    deny_touch(&alice);
    let body = json!({"message_id": card["id"], "allow": true}).to_string();
    assert_eq!(client.send("POST", &format!("/chats/{chat}/approvals"), body.as_bytes()).status, 204);
    ended(&client, &chat, 1);
    assert!(last_result(&model).contains(WHY), "{}", last_result(&model));
    assert!(!machine.workspace().join("mark").exists());
}

#[test]
fn every_accepted_kind_of_rule_can_deny_its_tool() {
    let script = |asked: &Asked| match asked.results().len() {
        0 => Reply::Call(vec![
            ("Skill", json!({"name": "deploy"})),
            ("Cd", json!({"path": "secret"})),
            ("FileCreate", json!({"path": "made", "content": "x"})),
            ("SubAgent", json!({"task": "work", "role": "reviewer"})),
        ]),
        _ => Reply::Say("that is all".to_owned()),
    };
    let (model, _server, alice, machine) = start(script);
    fs::create_dir_all(machine.workspace().join("secret")).unwrap();
    fs::create_dir_all(machine.workspace().join(".sandbridge/skills/deploy")).unwrap();
    let skill = "---\nname: deploy\ndescription: deploys\n---\nhow to deploy";
    fs::write(machine.workspace().join(".sandbridge/skills/deploy/SKILL.md"), skill).unwrap();
    for rule in ["Skill(deploy)", "Cd(/secret)", "Write(/made)", "Agent(reviewer)"] {
        let added = alice.run(&["rule", "add", "deny", rule]);
        assert_eq!(added.code, 0, "{added:?}");
    }
    let refused = alice.run(&["rule", "add", "deny", "Read(~/.ssh/**)"]);
    assert!(refused.code != 0 && refused.stderr.contains("home directory"), "{refused:?}");
    assert_eq!(alice.run(&["chat", "--new", "--json", "--approval", "full", "go"]).code, 0);
    let results = model.asked().pop().unwrap().results();
    assert!(
        results.len() == 4 && results.iter().all(|text| text.contains("is denied by the user's rule")),
        "{results:?}"
    );
}
