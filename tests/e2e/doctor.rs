//! `sandbridge doctor`: its reports on common problems, each with the fix.

use std::os::unix::fs::PermissionsExt;

use serde_json::Value;
use tests::{Person, Reply, ScriptedModel, Server};

/// The status and the detail of a check.
fn check(person: &Person, name: &str) -> Option<(String, String)> {
    let output = person.run(&["doctor", "--json"]);
    let report: Value = serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    let found = report["checks"].as_array().unwrap().iter().find(|check| check["name"] == name)?;
    assert!(found["standing"] == "works" || found["fix"].is_string(), "{found}");
    Some((found["standing"].as_str().unwrap().to_owned(), found["detail"].as_str().unwrap().to_owned()))
}

fn standing(person: &Person, name: &str) -> String {
    check(person, name).map_or_else(|| "absent".to_owned(), |(standing, _)| standing)
}

#[test]
fn common_problems_are_reported_with_the_fix() {
    let model = ScriptedModel::with(vec![Reply::Say("yes".to_owned()), Reply::Refuse(401, "no".to_owned())]);
    let mut server = Server::start_with(&[&["--docker", "off"], &model.options("openai")[..]].concat());
    let alice = server.person("alice");
    let (_, detail) = check(&alice, "model").unwrap();
    assert!(detail.contains("scripted"), "{detail}");
    assert_eq!(standing(&alice, "model"), "broken", "the second request is refused");
    for (name, expected) in [
        ("server", "works"),
        ("clock", "works"),
        ("login", "works"),
        ("version", "works"),
        ("permissions", "works"),
        ("active runner", "missing"),
    ] {
        assert_eq!(standing(&alice, name), expected, "{name}");
    }
    alice.add_runner("laptop");
    assert_eq!(standing(&alice, "active runner"), "broken");
    assert_eq!(standing(&alice, "runners"), "missing");

    let file = alice.home().join("client.json");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(standing(&alice, "permissions"), "broken");
    let output = alice.run(&["doctor", "--skip-model"]);
    assert!(output.code == 1 && output.stdout.contains("chmod 600"), "{output:?}");

    assert_eq!(alice.run(&["logout"]).code, 0);
    assert_eq!(standing(&alice, "login"), "broken");
    let other_scheme = server.url().replace("http://", "https://");
    let output = alice.run(&["doctor", "--server", &other_scheme]);
    assert!(output.stdout.contains("TLS"), "{output:?}");
    server.kill();
    assert_eq!(standing(&alice, "server"), "broken");
}
