//! A server that is killed while an agent waits for another one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tests::{Asked, Reply, eventually};

use super::{PATIENCE, Team, handle};

/// Kills the server and starts it again, and waits for both machines.
fn kill(team: &mut Team) {
    let options = [&["--docker", "off"], &team.world.model.options("openai")[..]].concat();
    let options: Vec<String> = options.iter().map(|one| (*one).to_owned()).collect();
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    team.world.server.kill();
    team.world.server.restart(&options);
    team.world.machine.wait_online(&team.world.alice, "laptop");
    team.desk.wait_online(&team.bob, "desk");
}

fn is_after_tool(asked: &Asked) -> bool {
    asked.body["messages"].as_array().unwrap().last().unwrap()["role"] == "tool"
}

#[test]
fn a_wait_for_an_agent_resumes_after_kills_and_its_answer_arrives_once() {
    let may_answer = Arc::new(AtomicBool::new(false));
    let answers = Arc::clone(&may_answer);
    let mut team = Team::new(move |asked| match handle(asked).as_str() {
        "writer" if !answers.load(Ordering::Relaxed) => Reply::Hang("one moment".to_owned()),
        "writer" => Reply::Say("here it is".to_owned()),
        _ if is_after_tool(asked) => Reply::Say(format!("done: {}", asked.results().pop().unwrap())),
        _ => Reply::Call(vec![("SendMessage", json!({"to": "writer", "message": "write it"}))]),
    });
    team.of(&team.bob, &["grant", &team.group, "writer", "alice", "--mode", "own"]);
    let call = team.post(&team.world.alice, "@coder go")["calls"][0]["id"].clone();
    let mut before = 0;
    for round in 0..3 {
        eventually("the coder waits for the writer", PATIENCE, || {
            let is_asked =
                team.world.model.asked().iter().skip(before).any(|asked| handle(asked) == "writer");
            let calls = team.calls();
            let is_running = calls.len() == 2 && calls.iter().all(|call| call["state"] == "running");
            (is_asked && is_running).then_some(())
        });
        before = team.world.model.asked().len();
        if round == 2 {
            may_answer.store(true, Ordering::Relaxed);
        }
        kill(&mut team);
    }
    let ended = eventually("the coder has ended", Duration::from_secs(120), || {
        let call = team.call(&call);
        (!call["ended_at"].is_null()).then_some(call)
    });
    assert_eq!(ended["state"], "done", "{ended}");
    let said = team.said();
    let count = |wanted: &str| said.iter().filter(|(_, text)| text.contains(wanted)).count();
    assert_eq!(count("@writer write it"), 1, "the writer is asked once: {said:?}");
    assert_eq!(
        said.iter().filter(|(who, _)| who == "writer").count(),
        1,
        "the writer answers once: {said:?}"
    );
    let finals: Vec<&(String, String)> = said.iter().filter(|(_, text)| text.starts_with("done: ")).collect();
    assert!(finals.len() == 1 && finals[0].1.contains("here it is"), "{said:?}");
    let calls: Vec<Value> = team.calls();
    assert_eq!(calls.len(), 2, "{calls:?}");
    assert!(calls.iter().all(|call| call["state"] == "done"), "{calls:?}");
}
