//! A chain during kills of the server at random moments.

use std::collections::BTreeSet;
use std::fs;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tests::random::Random;
use tests::{Reply, eventually};

use super::{PATIENCE, Team, echo, last_line};

#[test]
fn kills_of_the_server_lose_and_repeat_no_step_of_a_chain() {
    const STEPS: usize = 5;
    let results = Arc::new(Mutex::new(BTreeSet::new()));
    let told = Arc::clone(&results);
    let mut team = Team::new(move |asked| {
        let part = last_line(asked).replace("part ", "");
        let last = asked.body["messages"].as_array().unwrap().last().unwrap().clone();
        let is_unknown = last["content"].to_string().contains("not known if it took effect");
        if last["role"] == "tool" {
            told.lock().unwrap().insert(last["content"].to_string());
        }
        if last["role"] == "tool" && !is_unknown {
            return echo(asked);
        }
        // If the outcome of the command is unknown, the model first checks whether it ran.
        let unless = if is_unknown { format!("grep -qx {part} effects || ") } else { String::new() };
        let command = format!("{unless}echo {part} >> effects; sleep 0.1");
        Reply::Call(vec![("Shell", json!({"command": command}))])
    });
    let steps: String =
        (1..=STEPS).map(|number| format!("{number}. @coder: part {number} [retries 5]\n")).collect();
    let kills: u64 =
        std::env::var("SANDBRIDGE_CHAIN_KILLS").ok().and_then(|count| count.parse().ok()).unwrap_or(4);
    let expected: Vec<_> = (1..=STEPS).map(|number| format!("coder heard: part {number}")).collect();
    let effects = team.world.machine.workspace().join("effects");
    let mut random = Random::seeded();
    let mut kill = 0;
    let mut runs = 0;
    // The tokens that a run has used: they grow with each answer on record.
    let spent = |team: &Team, run: &Value| {
        let calls = team.calls().into_iter().filter(|call| call["run_id"] == *run);
        calls.map(|call| call["tokens"].as_u64().unwrap()).sum::<u64>()
    };
    while kill < kills {
        let (mut fruitless, mut so_far) = (0, 0);
        let before = team.entries().last().map_or(0, |entry| entry["id"].as_i64().unwrap());
        let run = team.begin(&steps);
        runs += 1;
        while kill < kills && team.run(&run)["ended_at"].is_null() {
            // Each kill happens at a different moment of a step. Every tenth server lives for longer than a second: if twenty links in a row broke
            // early, the runner would back off for longer than a turn waits for it.
            let lives_ms = if kill % 10 == 9 { 1_200 } else { random.within(0..150) };
            // A turn that makes no progress in four server processes is given up.
            if fruitless == 2 {
                eventually("the run gets further", PATIENCE, || {
                    (spent(&team, &run) > so_far || !team.run(&run)["ended_at"].is_null()).then_some(())
                });
            }
            std::thread::sleep(Duration::from_millis(lives_ms));
            team.world.kill_and_restart(&[]);
            kill += 1;
            eventually("the machine is back", PATIENCE, || {
                team.world.alice.is_online("laptop").then_some(())
            });
            let now = spent(&team, &run);
            fruitless = if now > so_far { 0 } else { fruitless + 1 };
            so_far = now;
        }
        let done = team.until_run(&run, "done");
        let entries = team.entries().into_iter();
        let new = entries.filter(|entry| entry["kind"] == "agent" && entry["id"].as_i64().unwrap() > before);
        let said: Vec<_> = new.map(|entry| entry["text"].as_str().unwrap().to_owned()).collect();
        assert_eq!(said, expected, "{done}");
        let outputs: Vec<_> =
            done["steps"].as_array().unwrap().iter().map(|step| step["output"].as_str().unwrap()).collect();
        assert_eq!(outputs, expected);
        let calls: Vec<_> = team.calls().into_iter().filter(|call| call["run_id"] == run).collect();
        assert!(calls.iter().all(|call| call["state"] == "done"), "{calls:?}");
        assert_eq!(calls.len(), STEPS, "no step was tried twice: {calls:?}");
        let written = fs::read_to_string(&effects).unwrap();
        let each: Vec<_> = (1..=STEPS).map(|number| number.to_string()).collect();
        assert!(written.lines().eq(&each), "after {kill} kills: {written} {results:#?}");
        fs::remove_file(&effects).unwrap();
    }
    eprintln!("{kill} kills in {runs} runs");
}
