//! What a grant is for, when it ends, and whose rights a wish at a gate has.

use std::fs;

use serde_json::{Value, json};
use tests::eventually;
use tests::http::Client;

use super::PATIENCE;
use super::attempts::{MARK, answering, deed, team};
use super::private::wish;

#[test]
fn a_grant_ends_with_the_agent_and_with_the_person_and_is_of_one_group() {
    let team = team();
    let asks = |group: &str| {
        let posted = team.of(&team.bob, &["post", group, &format!("@coder do it\n{}", deed())]);
        assert_eq!((&posted["calls"], &posted["entry"]["asks"]), (&json!([]), &json!([])), "{posted}");
        assert!(!team.world.path(MARK).exists());
    };
    let grant = || team.alice(&["grant", &team.group, "coder", "bob", "--mode", "own"]);
    // Another agent of the same name.
    grant();
    team.alice(&["remove-agent", &team.group, "coder"]);
    asks(&team.group);
    team.alice(&["add-agent", &team.group, "coder", "--on", "laptop", "--approval", "full"]);
    asks(&team.group);
    // Somebody who went and came back.
    grant();
    team.of(&team.bob, &["remove-person", &team.group, "bob"]);
    team.alice(&["add-person", &team.group, "bob", "--access", "editor"]);
    asks(&team.group);
    // Another group with an agent of the same name, which bob owns with alice's help.
    grant();
    let other = team.of(&team.bob, &["create", "Other"])["id"].to_string();
    team.of(&team.bob, &["add-person", &other, "alice"]);
    team.alice(&["add-agent", &other, "coder", "--on", "laptop", "--approval", "full"]);
    asks(&other);
    // A grant is asked for again when what waits for it begins.
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
fn a_wish_at_a_gate_is_its_writers_own() {
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
    // Bob has no grant: what he wants changed is not done by alice's agent, though the run is hers.
    let (run, gate) = begin();
    let wished = answer(&gate, &["redo", "--text", &deed()]);
    assert!(wished.code != 0 && wished.stderr.contains("who has not let you ask it"), "{wished:?}");
    assert_eq!(team.run(&run)["gate"]["id"], gate["id"], "the gate is still open");
    assert_eq!(answer(&gate, &["approve"]).code, 0, "to let it pass needs no grant");
    team.until_run(&run, "done");
    // With a grant that has alice asked, she is.
    team.alice(&["grant", &team.group, "coder", "bob", "--mode", "ask"]);
    let (run, gate) = begin();
    let first = team.calls().into_iter().find(|call| call["run_id"] == run).unwrap();
    assert_eq!(answer(&gate, &["redo", "--text", &deed()]).code, 0);
    let again = eventually("the step is done again", PATIENCE, || {
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
