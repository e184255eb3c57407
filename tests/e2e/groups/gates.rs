//! Gates: stored questions, each of which a person answers once.

use std::sync::Barrier;
use std::thread;

use serde_json::{Value, json};
use tests::Reply;
use tests::eventually;
use tests::http::Client;

use super::{PATIENCE, Team, echo};

/// The open gate of a run, of this kind, at this step.
fn gate(team: &Team, run: &Value, kind: &str, step: u64) -> Value {
    eventually(&format!("step {step} asks: {kind}"), PATIENCE, || {
        let gate = team.run(run)["gate"].clone();
        (gate["kind"] == kind && gate["step"] == step).then_some(gate)
    })
}

fn put(client: &Client, team: &Team, gate: &Value, answer: &Value) -> (u16, Value) {
    let path = format!("/groups/{}/gates/{}", team.group, gate["id"]);
    let answer = client.send("POST", &path, answer.to_string().as_bytes());
    (answer.status, answer.json())
}

#[test]
fn kills_at_gates_and_budgets_ask_once_and_run_each_step_once() {
    const STEPS: u64 = 3;
    let mut team = Team::new(echo);
    let options: Vec<String> = [&["--docker", "off"], &team.world.model.options("openai")[..]]
        .concat()
        .iter()
        .map(|one| (*one).to_owned())
        .collect();
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let steps: String =
        (1..=STEPS).map(|number| format!("{number}. @coder: part {number} [gate]\n")).collect();
    let run = team.begin(&format!("{steps}budget: 1 tokens\n"));
    let mut kills = 0;
    for step in 0..STEPS {
        for (kind, reply) in [("budget", "more"), ("review", "approve")] {
            if step == 0 && kind == "budget" {
                continue;
            }
            let before = gate(&team, &run, kind, step);
            team.world.server.kill();
            team.world.server.restart(&options);
            // After the restart, the question is still the same.
            assert_eq!(team.run(&run)["gate"], before);
            let client = Client::login(&team.world.server, "bob");
            let (status, _) = put(&client, &team, &before, &json!({"reply": reply}));
            assert_eq!(status, 200);
            // Kills the server right after the answer, when the next step or the end of the run is about to follow.
            team.world.server.kill();
            team.world.server.restart(&options);
            let client = Client::login(&team.world.server, "alice");
            let (status, told) = put(&client, &team, &before, &json!({"reply": "stop"}));
            assert_eq!(status, 409, "{told}");
            assert!(told["error"]["message"].as_str().unwrap().contains("bob answered it before"), "{told}");
            kills += 2;
        }
    }
    let done = team.until_run(&run, "done");
    let expected: Vec<_> = (1..=STEPS).map(|number| format!("coder heard: part {number}")).collect();
    let said: Vec<_> = team.said().into_iter().map(|(_, text)| text).collect();
    assert_eq!(said, expected, "after {kills} kills: {done}");
    for (step, output) in done["steps"].as_array().unwrap().iter().zip(&expected) {
        assert_eq!((&step["output"], &step["attempts"]), (&json!(output), &json!(1)));
    }
    assert_eq!(team.calls().len(), expected.len());
}

#[test]
fn of_simultaneous_answers_the_first_counts_and_the_others_get_an_error() {
    const PEOPLE: [&str; 2] = ["alice", "bob"];
    let team = Team::new(echo);
    // Without a grant, bob's change request would be refused.
    team.alice(&["grant", &team.group, "coder", "bob"]);
    let clients = PEOPLE.map(|name| Client::login(&team.world.server, name));
    for round in 0..8 {
        let run = team.begin("1. @coder: one [gate]\n2. @coder: two\n");
        let open = gate(&team, &run, "review", 0);
        let answers = [
            json!({"reply": "edit", "text": "of alice"}),
            json!({"reply": "edit", "text": "of bob"}),
            json!({"reply": "stop"}),
            json!({"reply": "redo", "text": "again"}),
            json!({"reply": "approve"}),
            json!({"reply": "stop"}),
        ];
        let start = Barrier::new(answers.len());
        let taken: Vec<(usize, (u16, Value))> = thread::scope(|scope| {
            let threads: Vec<_> = answers
                .iter()
                .enumerate()
                .map(|(place, answer)| {
                    let (client, start, team, open) = (&clients[place % PEOPLE.len()], &start, &team, &open);
                    scope.spawn(move || {
                        start.wait();
                        (place, put(client, team, open, answer))
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let (won, lost): (Vec<_>, Vec<_>) = taken.into_iter().partition(|(_, (status, _))| *status == 200);
        assert_eq!((won.len(), lost.len()), (1, answers.len() - 1), "round {round}: {won:?} {lost:?}");
        let (place, _) = won[0];
        for (_, (status, told)) in &lost {
            assert_eq!(*status, 409, "{told}");
            let told = told["error"]["message"].as_str().unwrap();
            // If the first answer stops the run, the run ends; everyone else is told who answered first.
            assert!(told.contains(&format!("{} answered it before", PEOPLE[place % PEOPLE.len()])), "{told}");
        }
        // The run follows the first answer.
        match answers[place]["reply"].as_str().unwrap() {
            "stop" => {
                team.until_run(&run, "stopped");
            }
            "redo" => {
                let again = gate(&team, &run, "review", 0);
                assert_eq!(again["attempt"], 2);
                team.alice(&["chain", "stop", &team.group, &run.to_string()]);
            }
            reply => {
                let done = team.until_run(&run, "done");
                let output =
                    if reply == "edit" { answers[place]["text"].clone() } else { json!("coder heard: one") };
                assert_eq!(done["steps"][0]["output"], output, "{done}");
            }
        }
    }
}

#[test]
fn a_gate_waits_for_a_permitted_person_and_a_valid_answer() {
    let team = Team::new(echo);
    let server = &team.world.server;
    let (reader, _outsider) = (server.person("rita"), server.person("oscar"));
    team.alice(&["add-person", &team.group, "rita", "--access", "reader"]);
    let other = team.of(&reader, &["create", "Other"])["id"].to_string();
    let run = team.begin("1. @coder: one [gate]\n2. @coder: two\n");
    let open = gate(&team, &run, "review", 0);
    let [alice, bob, rita, oscar] = ["alice", "bob", "rita", "oscar"].map(|name| Client::login(server, name));
    let approve = json!({"reply": "approve"});
    assert_eq!(put(&rita, &team, &open, &approve).0, 403);
    assert_eq!(put(&oscar, &team, &open, &approve).0, 404);
    let nobody = Client::anonymous(server);
    assert_eq!(put(&nobody, &team, &open, &approve).0, 401);
    // A reader cannot reach the gate through a group of her own either.
    let path = format!("/groups/{other}/gates/{}", open["id"]);
    assert_eq!(rita.send("POST", &path, approve.to_string().as_bytes()).status, 404);
    for answer in [
        json!({"reply": "more"}),
        json!({"reply": "unknown"}),
        json!({"reply": "edit"}),
        json!({"reply": "edit", "text": " \n"}),
    ] {
        let (status, told) = put(&alice, &team, &open, &answer);
        assert_eq!((status, told["error"]["kind"].as_str()), (400, Some("invalid")), "{answer}: {told}");
    }
    // Replies that no gate accepts are refused as well.
    for body in ["{}", "[]", "approve", r#"{"reply": 1}"#] {
        let path = format!("/groups/{}/gates/{}", team.group, open["id"]);
        let status = alice.send("POST", &path, body.as_bytes()).status;
        assert!((400..500).contains(&status), "{body}: {status}");
    }
    // A person who was removed in the meantime cannot answer.
    team.alice(&["remove-person", &team.group, "bob"]);
    assert_eq!(put(&bob, &team, &open, &approve).0, 404);
    assert_eq!(team.run(&run)["gate"], open, "the gate still waits");
    assert_eq!(put(&alice, &team, &open, &approve).0, 200);
    team.until_run(&run, "done");
    // A program that did not learn that its answer was accepted sends it again.
    assert_eq!(put(&alice, &team, &open, &approve).0, 200);
    assert_eq!(put(&alice, &team, &open, &json!({"reply": "approve", "text": "else"})).0, 409);
}

#[test]
fn a_gate_of_a_stopped_run_accepts_no_answer() {
    let team = Team::new(|_| Reply::Say("said".to_owned()));
    let run = team.begin("1. @coder: one [gate]\n2. @coder: two\n");
    let open = gate(&team, &run, "review", 0);
    team.alice(&["chain", "stop", &team.group, &run.to_string()]);
    let alice = Client::login(&team.world.server, "alice");
    let (status, told) = put(&alice, &team, &open, &json!({"reply": "approve"}));
    assert_eq!(status, 409, "{told}");
    assert!(told["error"]["message"].as_str().unwrap().contains("its run has ended"), "{told}");
    assert_eq!(team.said().len(), 1);
}
