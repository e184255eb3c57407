//! Agents that reach the limit on messages without a person: a stored question asks whether they may continue.

use serde_json::{Value, json};
use tests::http::Client;
use tests::{Asked, Reply, eventually};

use super::tools::{fresh, later, team};
use super::{PATIENCE, Team, handle};

/// Two agents, each of which answers every message with a message to the other.
fn talkers() -> Team {
    let mut count = 0;
    team(move |asked| {
        let to = if handle(asked) == "coder" { "writer" } else { "coder" };
        match fresh(asked).first() {
            None => {
                count += 1;
                Reply::Call(vec![later(to, &format!("message {count}"))])
            }
            Some(result) => Reply::Say(format!("I said it: {result}")),
        }
    })
}

/// The number of messages that agents sent to each other, after all calls have ended.
fn sent(team: &Team) -> usize {
    eventually("no call is in progress", PATIENCE, || {
        team.calls().iter().all(|call| !call["ended_at"].is_null()).then_some(())
    });
    team.entries().iter().filter(|entry| entry["kind"] == "agent" && entry["asks"] != json!([])).count()
}

fn runs(team: &Team) -> Vec<Value> {
    team.alice(&["chain", "runs", &team.group]).as_array().unwrap().clone()
}

fn answer(client: &Client, team: &Team, gate: &Value, reply: &str) -> (u16, String) {
    let path = format!("/groups/{}/gates/{}", team.group, gate["id"]);
    let answer = client.send("POST", &path, json!({"reply": reply}).to_string().as_bytes());
    (answer.status, answer.json()["error"]["message"].as_str().unwrap_or_default().to_owned())
}

#[test]
fn agents_alone_stop_after_eight_messages_until_a_person_lets_them_continue() {
    let mut team = talkers();
    let rita = team.world.server.person("rita");
    team.alice(&["add-person", &team.group, "rita", "--access", "reader"]);
    team.post(&team.world.alice, "@coder go");
    assert_eq!(sent(&team), 8, "{:?}", team.entries());
    let notices: Vec<_> = team.entries().into_iter().filter(|entry| entry["kind"] == "server").collect();
    assert_eq!(notices.len(), 1, "{notices:?}");
    assert_eq!(
        notices[0]["text"],
        "The agents have exchanged 8 messages since alice asked, and stop here until a person lets them go on."
    );
    assert!(team.said().iter().any(|(_, text)| text.contains("reached the limit on messages")));
    let asked = runs(&team);
    assert_eq!((asked.len(), &asked[0]["state"]), (1, &json!("asking")), "{asked:?}");
    let gate = &asked[0]["gate"];
    assert_eq!(
        gate["question"],
        "The agents have exchanged 8 messages since alice asked, and stopped. May they exchange as many again?"
    );
    assert_eq!(gate["replies"], json!(["approve", "stop"]));
    assert!(asked[0]["request"].as_str().unwrap().contains(" message 9"), "{asked:?}");

    team.world.kill_and_restart(&[]);
    assert_eq!(runs(&team), asked, "the question still waits");
    let [alice, bob] = ["alice", "bob"].map(|name| Client::login(&team.world.server, name));
    assert_eq!(answer(&Client::login(&team.world.server, &rita.name), &team, gate, "approve").0, 403);
    assert_eq!(answer(&alice, &team, gate, "redo").0, 400);
    assert_eq!(answer(&bob, &team, gate, "approve").0, 200);
    let (status, told) = answer(&alice, &team, gate, "stop");
    assert!(status == 409 && told.contains("bob answered it before"), "{status} {told}");
    team.until_run(&asked[0]["id"], "done");
    eventually("the agents continue", PATIENCE, || (sent(&team) == 16).then_some(()));
    // After the same number of further messages the question is asked again, and this answer stops the agents.
    let next = eventually("the agents stop again", PATIENCE, || {
        runs(&team).into_iter().find(|run| run["state"] == "asking")
    });
    assert_ne!(next["id"], asked[0]["id"]);
    team.answer(&team.world.alice, &next["gate"], &["stop"]);
    team.until_run(&next["id"], "stopped");
    assert_eq!((sent(&team), runs(&team).len()), (16, 2));
    // A person can still ask the agents.
    team.post(&team.world.alice, "@coder go on");
    assert_eq!(sent(&team), 24);
}

#[test]
fn a_step_whose_agents_were_stopped_asks_before_the_next_one_begins() {
    let team =
        Team::new(|asked: &Asked| match (asked.last_of_user().contains("tell"), fresh(asked).as_slice()) {
            (true, []) => Reply::Call(
                (1..=9)
                    .map(|number| ("SendMessage", json!({"message": format!("number {number}")})))
                    .collect(),
            ),
            (_, results) => Reply::Say(format!("told {}", results.len())),
        });
    let run = team.begin("1. @coder: tell\n2. @coder: end\n");
    for attempt in 1..=2 {
        let gate = eventually("it asks", PATIENCE, || {
            Some(team.run(&run)["gate"].clone()).filter(|gate| gate["attempt"] == attempt)
        });
        assert_eq!((&gate["kind"], &gate["step"]), (&json!("review"), &json!(0)), "{gate}");
        let question = gate["question"].as_str().unwrap();
        assert!(question.starts_with("The agents have exchanged 8 messages in step 1 (@coder)"), "{gate}");
        assert_eq!(team.said().iter().filter(|(_, text)| text.starts_with("number")).count(), 8 * attempt);
        team.answer(&team.world.alice, &gate, &[if attempt == 1 { "redo" } else { "approve" }]);
    }
    let done = team.until_run(&run, "done");
    assert_eq!(done["steps"][0]["output"], "told 9", "{done}");
    assert_eq!(runs(&team).len(), 1, "{done}");
}
