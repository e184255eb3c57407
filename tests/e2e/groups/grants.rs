//! The scope and the end of grants, and the rights of a change request at a gate.

use std::fs;

use serde_json::{Value, json};
use tests::eventually;
use tests::http::Client;

use super::attempts::{MARK, answering, deed, team};
use super::private::wish;
use super::{PATIENCE, Team};
use crate::automations::{deliver, in_seconds, signature};

#[test]
fn a_grant_ends_with_its_agent_or_person_and_is_valid_in_one_group() {
    let team = team();
    let asks = |group: &str| {
        let posted = team.of(&team.bob, &["post", group, &format!("@coder do it\n{}", deed())]);
        assert_eq!((&posted["calls"], &posted["entry"]["asks"]), (&json!([]), &json!([])), "{posted}");
        assert!(!team.world.path(MARK).exists());
    };
    let grant = || team.alice(&["grant", &team.group, "coder", "bob", "--mode", "own"]);
    // The grant is not valid for another agent with the same name.
    grant();
    team.alice(&["remove-agent", &team.group, "coder"]);
    asks(&team.group);
    team.alice(&["add-agent", &team.group, "coder", "--on", "laptop", "--approval", "full"]);
    asks(&team.group);
    // The grant ends when a person leaves the group, even if they rejoin it.
    grant();
    team.of(&team.bob, &["remove-person", &team.group, "bob"]);
    team.alice(&["add-person", &team.group, "bob", "--access", "editor"]);
    asks(&team.group);
    // The grant is not valid in another group, even if alice adds an agent of the same name there.
    grant();
    let other = team.of(&team.bob, &["create", "Other"])["id"].to_string();
    team.of(&team.bob, &["add-person", &other, "alice"]);
    team.alice(&["add-agent", &other, "coder", "--on", "laptop", "--approval", "full"]);
    asks(&other);
    // The grant is checked again when a waiting call begins.
    let hang = wish(&[("Shell", json!({"command": "while [ ! -e go ]; do sleep 0.05; done"}))]);
    let first = team.post(&team.world.alice, &format!("@coder wait\n{hang}"))["calls"][0]["id"].clone();
    let second = team.post(&team.bob, &format!("@coder do it\n{}", deed()))["calls"][0]["id"].clone();
    team.until_call(&first, "running");
    team.alice(&["revoke", &team.group, "coder", "bob"]);
    fs::write(team.world.path("go"), "").unwrap();
    team.until_call(&first, "done");
    team.until_call(&second, "stopped");
    assert!(!team.world.path(MARK).exists());
}

#[test]
fn a_change_request_at_a_gate_has_its_writers_rights() {
    let team = team();
    let alice = Client::login(&team.world.server, "alice");
    let begin = || {
        let run = team.begin("1. @coder: say hello [gate]\n");
        let gate = team.until_run(&run, "asking")["gate"].clone();
        (run, gate)
    };
    let answer = |gate: &Value, arguments: &[&str]| {
        let gate = gate["id"].to_string();
        team.bob.run(&[&["group", "chain", "answer", &team.group, &gate], arguments].concat())
    };
    // Bob has no grant, so alice's agent does not carry out his change request, although the run is hers.
    let (run, gate) = begin();
    let wished = answer(&gate, &["redo", "--text", &deed()]);
    assert!(wished.code != 0 && wished.stderr.contains("who has not let you ask it"), "{wished:?}");
    assert_eq!(team.run(&run)["gate"]["id"], gate["id"], "the gate is still open");
    assert_eq!(answer(&gate, &["approve"]).code, 0, "approving the gate needs no grant");
    team.until_run(&run, "done");
    // With a grant of the mode `ask`, alice is asked.
    team.alice(&["grant", &team.group, "coder", "bob", "--mode", "ask"]);
    let (run, gate) = begin();
    let first = team.calls().into_iter().find(|call| call["run_id"] == run).unwrap();
    assert_eq!(answer(&gate, &["redo", "--text", &deed()]).code, 0);
    let again = eventually("the step is run again", PATIENCE, || {
        let calls = team.calls();
        let of_run: Vec<_> = calls.into_iter().filter(|call| call["run_id"] == run).collect();
        of_run.into_iter().max_by_key(|call| call["id"].as_i64()).filter(|call| call["id"] != first["id"])
    });
    let (asked, ended) = answering(&team, &alice, &again["id"], false);
    assert!(asked > 0 && ended["state"] == "done", "she was asked {asked} times: {ended}");
    assert!(!team.world.path(MARK).exists(), "she did not allow it");
    team.alice(&["grant", &team.group, "coder", "bob", "--mode", "own"]);
    let gate = eventually("the gate asks again", PATIENCE, || {
        Some(team.run(&run)["gate"].clone()).filter(|gate| gate["attempt"] == 2)
    });
    assert_eq!(answer(&gate, &["redo", "--text", &deed()]).code, 0);
    eventually("it is done", PATIENCE, || team.world.path(MARK).exists().then_some(()));
}

/// An automation of alice's, as she sees it.
fn automation(team: &Team, command: &str, name: &str) -> Value {
    let all = team.world.alice.json(&[command, "list", "--json"]);
    all.as_array().unwrap().iter().find(|one| one["name"] == name).cloned().unwrap()
}

/// Sends a delivery to a trigger of alice's; returns the run. Each delivery has a different body.
fn delivered(team: &Team, name: &str, body: &str) -> Value {
    let saved = team.world.alice.json(&["trigger", "address", name, "--json"]);
    let path = saved["delivery_path"].as_str().unwrap().strip_prefix("/api/v1").unwrap();
    let signed = signature(saved["secret"].as_str().unwrap(), body);
    let answer = deliver(&team.world.server, path, &signed, body);
    assert_eq!(answer.status, 202, "{answer:?}");
    newest_run(team, "trigger", name)
}

/// The newest run of an automation, after it has ended.
fn newest_run(team: &Team, command: &str, name: &str) -> Value {
    eventually(&format!("{name} has run"), PATIENCE, || {
        let runs = team.world.alice.json(&[command, "runs", name, "--json"]);
        let newest = runs.as_array().unwrap().first().cloned()?;
        (newest["outcome"] != "waiting" && newest["outcome"] != "running").then_some(newest)
    })
}

#[test]
fn an_automation_proposed_for_a_person_runs_as_long_as_they_may_ask() {
    let team = team();
    let alice = Client::login(&team.world.server, "alice");
    let grant = || team.alice(&["grant", &team.group, "coder", "bob", "--mode", "ask"]);
    let propose = |person: &tests::Person, call: (&str, Value)| {
        let posted = team.post(person, &format!("@coder do it\n{}", wish(&[call])));
        let (asked, ended) = answering(&team, &alice, &posted["calls"][0]["id"], true);
        assert!(asked > 0 && ended["state"] == "done", "she was asked {asked} times: {ended}");
    };
    let trigger = |name: &str| {
        let add = json!({"action": "add", "name": name, "text": "Look at it.", "from": "github"});
        ("EventTrigger", add)
    };
    let is_paused = |command: &str, name: &str| {
        let shown = automation(&team, command, name);
        let why = shown["paused_because"].as_str().unwrap_or_default();
        assert!(shown["state"] == "paused" && why.contains("bob") && why.contains("@coder"), "{shown}");
    };
    let at = in_seconds(30);
    grant();
    let later = json!({"action": "add", "name": "later", "text": "Look at it.", "at": at});
    propose(&team.bob, ("Cron", later));
    propose(&team.bob, trigger("push"));
    propose(&team.bob, trigger("pull"));
    propose(&team.world.alice, trigger("hers"));
    assert_eq!(delivered(&team, "push", "[1]")["outcome"], "done", "as long as bob may ask");
    team.alice(&["revoke", &team.group, "coder", "bob"]);
    assert!(at > in_seconds(0), "the schedule is due after the grant ended, or this test shows nothing");
    for (command, run) in
        [("trigger", delivered(&team, "push", "[2]")), ("cron", newest_run(&team, "cron", "later"))]
    {
        assert_eq!(run["outcome"], "skipped", "{command}: {run}");
    }
    is_paused("trigger", "push");
    is_paused("cron", "later");
    assert_eq!(
        delivered(&team, "hers", "[3]")["outcome"],
        "done",
        "a proposal that was made for alice is hers"
    );
    // A new grant resumes nothing by itself. An automation that alice resumes becomes her own and no longer depends on the grant.
    grant();
    is_paused("trigger", "push");
    team.alice(&["revoke", &team.group, "coder", "bob"]);
    team.world.run(&["trigger", "resume", "push"]);
    assert_eq!(delivered(&team, "push", "[4]")["outcome"], "done", "she resumed it");
    // The grant also ends when the agent is removed.
    grant();
    assert_eq!(delivered(&team, "pull", "[5]")["outcome"], "done");
    team.alice(&["remove-agent", &team.group, "coder"]);
    assert_eq!(delivered(&team, "pull", "[6]")["outcome"], "skipped");
    is_paused("trigger", "pull");
    assert_eq!(delivered(&team, "hers", "[7]")["outcome"], "done");
}
