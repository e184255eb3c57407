//! Sub-agents in the background while the server is killed at random moments: each command runs once, and each sub-agent's end is
//! reported once.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};
use tests::random::{Random, count};
use tests::{Asked, Reply, ScriptedModel, eventually};

use crate::agent::{messages, new_chat};
use crate::agent_subagents::{COMMANDS, PATIENCE, World, is_child, kill, runs_its_commands};

fn called(task: &str) -> (&'static str, Value) {
    ("SubAgent", json!({"task": task, "background": true}))
}

/// The ids of the tasks that a server's message names, with their statuses.
fn told_of(text: &str) -> Vec<(String, String)> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("task "));
    let pairs = lines.filter_map(|line| line.split_once(": "));
    pairs.map(|(id, end)| (id.to_owned(), end.trim_end_matches(')').to_owned())).collect()
}

/// All tasks whose end the server reported to a model, with their statuses.
fn told_in(asked: &Asked) -> Vec<(String, String)> {
    let messages = asked.body["messages"].as_array().unwrap().iter();
    let of_user = messages.filter(|message| message["role"] == "user");
    of_user.flat_map(|message| told_of(message["content"].as_str().unwrap_or_default())).collect()
}

/// A script that starts two sub-agents and ends its answer, and that later reads the result of each sub-agent that has ended.
fn calls_two(asked: &Asked) -> Reply {
    let results = asked.results();
    let is_read = |id: &String| results.iter().any(|result| result.starts_with(&format!("{id} done")));
    let mut unread: Vec<String> = told_in(asked).into_iter().map(|(id, _)| id).collect();
    unread.retain(|id| !is_read(id));
    match (unread.is_empty(), results.is_empty()) {
        (false, _) => Reply::Call(unread.iter().map(|id| ("task_read", json!({"id": id}))).collect()),
        (true, true) => Reply::Call(vec![called("one"), called("two")]),
        (true, false) => Reply::Say("on we go".to_owned()),
    }
}

#[test]
fn kills_of_the_server_repeat_nothing_and_each_end_is_reported_once() {
    let model = ScriptedModel::start(|asked| match is_child(asked) {
        true => runs_its_commands(asked),
        false => calls_two(asked),
    });
    let mut random = Random::seeded();
    let mut world = World::new(&model, "full");
    let log = world.workspace().join("log");
    for round in 0..count("SANDBRIDGE_TURN_KILLS", 3) {
        world.chat = new_chat(&world.client, "full");
        world.say("begin");
        for _ in 0..=random.within(0..2) {
            std::thread::sleep(Duration::from_millis(random.within(0..1_200)));
            kill(&mut world, &model);
        }
        eventually("nothing is in progress", PATIENCE, || {
            let agents = world.agents();
            let are_done = agents.len() == 2 && agents.iter().all(|agent| agent["status"] == "done");
            let goes_on = |message: &Value| {
                ["asking", "running", "queued"]
                    .contains(&message["agent"]["status"].as_str().unwrap_or_default())
            };
            let is_quiet = !messages(&world.client, &world.chat).iter().any(goes_on);
            (are_done && is_quiet).then_some(())
        });
        world.say("and now?");
        assert_eq!(world.answer()["agent"]["status"], "done", "round {round}");
        let asked = model.asked().pop().unwrap();
        let told = told_in(&asked);
        assert!(told.len() == 2 && told[0].0 != told[1].0, "round {round}: {told:?}");
        assert!(told.iter().all(|(_, end)| end == "done"), "round {round}: {told:?}");
        let results = asked.results().join(" | ");
        for task in ["one is done", "two is done"] {
            assert_eq!(results.matches(task).count(), 1, "round {round}: {results}");
        }
        let ran = fs::read_to_string(&log).unwrap();
        let mut ran: Vec<&str> = ran.lines().collect();
        ran.sort_unstable();
        let each = ["one", "two"].iter().flat_map(|task| (0..COMMANDS).map(move |at| format!("{task} {at}")));
        assert_eq!(ran, each.collect::<Vec<_>>(), "round {round}");
        fs::remove_file(&log).unwrap();
    }
}
