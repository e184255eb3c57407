//! Sub-agents in the background, with a real store: the turn that calls one continues, and its agent is notified of the end once.

use agent::approval::{Answer, Mode};
use serde_json::{Value, json};
use store::TurnStatus;
use tests::{Asked, Gate, Reply, ScriptedModel};

use super::talk::Talk;
use super::*;
use crate::limits::{SUB_AGENTS_IN_BACKGROUND, TURNS_BY_THEMSELVES};

/// A command that ends when it is released.
const WAITS: &str = "out:before wait out:after";

fn called(task: &str) -> (&'static str, Value) {
    ("SubAgent", json!({"task": task, "background": true}))
}

fn is_child(asked: &Asked) -> bool {
    asked.system().contains("You are a sub-agent")
}

/// Extracts the id of a task from a result or a message of the server.
pub(super) fn task_in(text: &str) -> Option<String> {
    let id = text.split("task ").nth(1)?;
    Some(id.chars().take_while(|c| c.is_ascii_hexdigit() || *c == '-').collect())
}

/// A parent that calls a sub-agent and ends its answer; when it is notified of the end, it reads the result and repeats it.
/// The sub-agent runs a command.
pub(super) fn one(asked: &Asked) -> Reply {
    if is_child(asked) {
        return match asked.results().is_empty() {
            true => Reply::Call(vec![("Shell", json!({"command": WAITS}))]),
            false => Reply::Say(format!("it wrote {}", asked.results().join(" | "))),
        };
    }
    let (results, told) = (asked.results(), asked.last_of_user());
    match (results.len(), told.contains("have ended")) {
        (0, _) => Reply::Call(vec![called("look around")]),
        (1, false) => Reply::Say("I go on".to_owned()),
        (1, true) => Reply::Call(vec![("task_read", json!({"id": task_in(&told).unwrap()}))]),
        _ => Reply::Say(format!("I heard {}", results[1])),
    }
}

/// The statuses of the sub-agents that a chat called.
async fn statuses(bench: &Bench, talk: &Talk) -> Vec<Option<TurnStatus>> {
    let agents = bench.store.sub_agents(bench.user.id, &talk.id).await.unwrap();
    agents.into_iter().map(|agent| agent.status).collect()
}

/// Waits for a result on record of which no turn has been notified, which no event reports; returns the result.
async fn on_record(bench: &Bench, talk: &Talk) -> String {
    let untold = async || bench.store.background_ended(bench.user.id, &talk.id).await.unwrap();
    until("its result is on record", async || !untold().await.is_empty()).await;
    untold().await.remove(0).result_text.unwrap()
}

/// Waits until nothing is at work in the background of a chat.
pub(super) async fn at_rest(bench: &Bench, talk: &Talk) {
    // The turn ends before its worker records the result and notifies the parent.
    until("nothing is at work", async || {
        let open = bench.store.open_turns(Some(bench.user.id)).await.unwrap();
        open.is_empty() && talk.service.0.queue.at_work() == 0
    })
    .await;
}

#[tokio::test]
async fn an_answer_does_not_wait_for_it_and_another_one_begins_when_it_has_ended() {
    let model = ScriptedModel::start(one);
    let bench = Bench::played(&model).await;
    let mut runner = bench.connect("laptop").await;
    let talk = bench.talk(Mode::Full).await;
    let answer = talk.say("begin").await;
    assert_eq!((&answer["agent"]["status"], &answer["text"]), (&json!("done"), &json!("")));
    assert_eq!(runner.started.recv().await.unwrap(), WAITS);
    let card = talk
        .sees("a step on the card", |messages| {
            let card = messages.iter().find(|message| message["agent"]["tool"] == "SubAgent")?;
            (card["agent"]["sub_agent"]["steps"] == 1).then(|| card.clone())
        })
        .await;
    assert_eq!(
        (&card["agent"]["status"], &card["agent"]["sub_agent"]["background"]),
        (&json!("running"), &json!(true))
    );
    let text = talk.messages().await.pop().unwrap();
    assert_eq!(text["text"], "I go on");

    runner.release();
    let heard = talk.sees("the end is told", |messages| {
        let last = messages.last()?;
        last["text"]
            .as_str()
            .unwrap()
            .starts_with("I heard")
            .then(|| last["text"].as_str().unwrap().to_owned())
    });
    let heard = heard.await;
    assert!(heard.contains("done: sub-agent") && heard.contains("it wrote before"), "{heard}");
    at_rest(&bench, &talk).await;
    let card = talk.cards("SubAgent").await.remove(0);
    assert_eq!(card["agent"]["status"], "done");
    assert!(card["text"].as_str().unwrap().contains("it wrote before"), "{card}");
    assert!(card["agent"]["sub_agent"]["usage"].is_object(), "{card}");
    let roles: Vec<String> =
        talk.messages().await.iter().map(|message| message["role"].as_str().unwrap().to_owned()).collect();
    let notices = roles.iter().filter(|role| *role == "notice").count();
    assert_eq!(notices, 1, "{roles:?}");
    // The parent is notified once.
    talk.say("and now").await;
    let told = model.asked().pop().unwrap();
    let messages = serde_json::to_string(&told.body["messages"]).unwrap();
    assert_eq!(messages.matches("have ended").count(), 1, "{messages}");
}

#[tokio::test]
async fn the_turn_in_progress_is_told_with_its_next_request() {
    let gate = Gate::default();
    let model = ScriptedModel::start({
        let gate = gate.clone();
        move |asked| {
            if is_child(asked) {
                return Reply::Held("nothing there".to_owned(), gate.clone());
            }
            match asked.results().len() {
                0 => Reply::Call(vec![called("look around")]),
                1 => Reply::Call(vec![("Shell", json!({"command": WAITS}))]),
                _ => Reply::Say(asked.last_of_user()),
            }
        }
    });
    let bench = Bench::played(&model).await;
    let mut runner = bench.connect("laptop").await;
    let talk = bench.talk(Mode::Full).await;
    let answer = talk.post("begin").await.messages[1].id;
    assert_eq!(runner.started.recv().await.unwrap(), WAITS);
    // Opened only now; otherwise, the request that calls the command would already contain the news.
    gate.open();
    on_record(&bench, &talk).await;
    runner.release();
    talk.ended(answer).await;
    at_rest(&bench, &talk).await;
    let messages = talk.messages().await;
    assert!(
        messages.iter().all(|message| message["role"] != "notice"),
        "no turn began by itself: {messages:#?}"
    );
    let said = messages.last().unwrap()["text"].as_str().unwrap().to_owned();
    assert!(said.contains("have ended") && said.contains(": done"), "{said}");
}

#[tokio::test]
async fn a_cancel_stops_it_and_nothing_begins_by_itself() {
    let model = ScriptedModel::start(one);
    let bench = Bench::played(&model).await;
    let mut runner = bench.connect("laptop").await;
    let talk = bench.talk(Mode::Full).await;
    talk.say("begin").await;
    assert_eq!(runner.started.recv().await.unwrap(), WAITS);
    assert!(talk.told("/tasks").await.contains("running: sub-agent"));
    assert_eq!(talk.undo().await.unwrap_err().kind(), "busy", "its files may still change");
    assert!(talk.told("/cancel").await.contains("being stopped"));
    at_rest(&bench, &talk).await;
    assert_eq!(statuses(&bench, &talk).await, [Some(TurnStatus::Cancelled)]);
    let card = talk
        .sees("the card says so", |messages| {
            let card = messages.iter().find(|message| message["agent"]["tool"] == "SubAgent")?;
            (card["agent"]["status"] == "cancelled").then(|| card.clone())
        })
        .await;
    assert!(card["text"].as_str().unwrap().contains("the user stopped it"), "{card}");
    on_record(&bench, &talk).await;
    // Counts only the parent's requests; those of the new sub-agent may arrive at any time.
    let of_parent = || model.asked().iter().filter(|asked| !is_child(asked)).count();
    let asked = of_parent();
    let undone = talk.undo().await.unwrap();
    assert_eq!((undone.text.as_str(), undone.turns), ("begin", 1));
    talk.say("again").await;
    assert_eq!(of_parent(), asked + 2, "it calls another one, and was not told of what was taken back");
    runner.started.recv().await.unwrap();
    let id = talk.told("/tasks").await.split(' ').next().unwrap().to_owned();
    assert_eq!(talk.told(&format!("/tasks kill {id}")).await, format!("Task {id} has ended."));
    assert_eq!(statuses(&bench, &talk).await.pop().unwrap(), Some(TurnStatus::Cancelled));
    // The turn that answers the next message is notified.
    let end = talk.say("what became of it?").await;
    assert_eq!(end["agent"]["status"], "done");
    assert!(talk.messages().await.pop().unwrap()["text"].as_str().unwrap().contains("cancelled: sub-agent"));
}

#[tokio::test]
async fn only_so_many_are_at_work_and_a_name_is_at_work_once() {
    let model = ScriptedModel::start(|asked| {
        if is_child(asked) {
            return match asked.results().is_empty() {
                true => Reply::Call(vec![("Shell", json!({"command": WAITS}))]),
                false => Reply::Say("done".to_owned()),
            };
        }
        let named = |name: &str| ("SubAgent", json!({"task": "x", "background": true, "instance": name}));
        match asked.results().len() {
            0 => Reply::Call(["a", "b", "c", "d"].map(named).to_vec()),
            4 => Reply::Call(vec![("SubAgent", json!({"task": "x", "instance": "a"}))]),
            _ => Reply::Say(asked.results().join(" / ")),
        }
    });
    let bench = Bench::played(&model).await;
    let mut runner = bench.connect("laptop").await;
    let talk = bench.talk(Mode::Full).await;
    talk.say("begin").await;
    for _ in 0..SUB_AGENTS_IN_BACKGROUND {
        assert_eq!(runner.started.recv().await.unwrap(), WAITS);
    }
    let said = talk.messages().await.pop().unwrap()["text"].as_str().unwrap().to_owned();
    let results: Vec<&str> = said.split(" / ").collect();
    assert_eq!(results.iter().filter(|result| result.contains("works in the background as task")).count(), 3);
    assert!(results[3].contains("3 sub-agents are at work in the background"), "{said}");
    assert!(results[4].contains("reads this before its next step"), "{said}");
    // Deleting a chat also deletes its sub-agents.
    talk.service.delete(&talk.user, &talk.id).await.unwrap();
    until("nothing is at work", async || talk.service.0.queue.at_work() == 0).await;
    assert_eq!(bench.store.open_turns(None).await.unwrap(), []);
}

#[tokio::test]
async fn answers_that_begin_by_themselves_come_to_an_end() {
    let model = ScriptedModel::start(|asked| {
        let ends_with_result =
            asked.body["messages"].as_array().unwrap().last().is_some_and(|last| last["role"] == "tool");
        match (is_child(asked), ends_with_result) {
            (true, false) => Reply::Call(vec![("Shell", json!({"command": WAITS}))]),
            // The agent answers each notification with another call.
            (false, false) => Reply::Call(vec![called("again")]),
            (_, true) => Reply::Say("on it".to_owned()),
        }
    });
    let bench = Bench::played(&model).await;
    let mut runner = bench.connect("laptop").await;
    let talk = bench.talk(Mode::Full).await;
    talk.post("begin").await;
    for _ in 0..=TURNS_BY_THEMSELVES {
        assert_eq!(runner.started.recv().await.unwrap(), WAITS);
        // Waits for the end of the answer that made the call, so that this answer is not the one that is notified.
        talk.until("the answer has ended", async || {
            (!talk.service.0.queue.is_working(talk.user.id, &talk.id)).then_some(())
        })
        .await;
        runner.release();
    }
    talk.notice("waits for your next message").await;
    at_rest(&bench, &talk).await;
    assert_eq!(statuses(&bench, &talk).await.len() as u64, TURNS_BY_THEMSELVES + 1);
    assert_eq!(bench.store.background_ended(bench.user.id, &talk.id).await.unwrap().len(), 1);
    talk.say("go on").await;
    assert_eq!(bench.store.background_ended(bench.user.id, &talk.id).await.unwrap(), []);
}

#[tokio::test]
async fn what_it_asks_is_asked_in_the_chat_whose_answer_has_ended() {
    let model = ScriptedModel::start(|asked| match (is_child(asked), asked.results().len()) {
        (false, 0) => Reply::Call(vec![called("write")]),
        (true, 0) => Reply::Call(vec![("Shell", json!({"command": "append:log:ran"}))]),
        _ => Reply::Say("ok".to_owned()),
    });
    let bench = Bench::played(&model).await;
    let runner = bench.connect("laptop").await;
    let talk = bench.talk(Mode::Ask).await;
    talk.say("begin").await;
    let card = talk.asking("append:log:ran").await;
    assert_eq!(card["agent"]["asked_by"], "sub-agent");
    // A failed answer of the parent does not end the question.
    let other = talk.post("and this").await.messages[1].id;
    talk.ended(other).await;
    assert_eq!(talk.approve(&card, Answer::Allow).await, None);
    at_rest(&bench, &talk).await;
    assert_eq!(runner.files.content("log").unwrap(), "ran");
}

/// The last lines of the user messages in a request, without the server's notes before them.
fn said_in(asked: &Asked) -> Vec<String> {
    let messages = asked.body["messages"].as_array().unwrap().iter();
    let said = messages.filter(|message| message["role"] == "user" && message["content"].is_string());
    said.map(|message| last_line(message["content"].as_str().unwrap()).to_owned()).collect()
}

fn last_line(text: &str) -> &str {
    text.lines().last().unwrap_or_default()
}

#[tokio::test]
async fn a_message_to_one_at_work_is_read_before_its_next_step_and_once() {
    let gate = Gate::default();
    let model = ScriptedModel::start({
        let gate = gate.clone();
        move |asked| {
            if is_child(asked) {
                return match (asked.results().len(), said_in(asked).len()) {
                    (0, _) => Reply::Call(vec![("Shell", json!({"command": WAITS}))]),
                    (1, 2) => Reply::Held("done so far".to_owned(), gate.clone()),
                    _ => Reply::Say(format!("read {}", said_in(asked).join(", "))),
                };
            }
            match asked.results().len() {
                0 => Reply::Call(vec![(
                    "SubAgent",
                    json!({"task": "look", "background": true, "instance": "scout"}),
                )]),
                _ => Reply::Say(asked.results().pop().unwrap()),
            }
        }
    });
    let bench = Bench::played(&model).await;
    let mut runner = bench.connect("laptop").await;
    let talk = bench.talk(Mode::Full).await;
    talk.say("begin").await;
    assert_eq!(runner.started.recv().await.unwrap(), WAITS);
    // The user writes to the sub-agent while its command runs.
    let told = talk.say("/agent scout and look at the roof").await;
    assert!(told["text"].as_str().unwrap().contains("reads this before its next step"), "{told}");
    runner.release();
    let of_child = || model.asked().into_iter().filter(is_child).collect::<Vec<_>>();
    until("it was asked again", async || of_child().len() == 2).await;
    assert_eq!(said_in(&of_child()[1]), ["look", "and look at the roof"]);
    // The user writes again while the sub-agent is writing its last answer.
    let told = talk.say("/agent scout and beneath it").await;
    assert!(told["text"].as_str().unwrap().contains("reads this"), "{told}");
    gate.open();
    at_rest(&bench, &talk).await;
    let of_child = of_child();
    assert_eq!(of_child.len(), 3);
    assert_eq!(said_in(&of_child[2]), ["look", "and look at the roof", "and beneath it"]);
    let agent = bench.store.sub_agents(bench.user.id, &talk.id).await.unwrap().remove(0);
    let (shown, _) = bench.store.messages(bench.user.id, &agent.chat, None, 100).await.unwrap();
    let texts = shown.iter().map(|message| last_line(&message.text)).filter(|text| text.starts_with("and "));
    let texts: Vec<&str> = texts.collect();
    assert_eq!(texts, ["and look at the roof", "and beneath it"], "each is shown in its conversation once");
}

#[tokio::test]
async fn a_message_that_was_not_read_is_named_in_the_result() {
    let model = ScriptedModel::start(|asked| {
        if is_child(asked) {
            return Reply::Call(vec![("Shell", json!({"command": WAITS}))]);
        }
        match asked.results().len() {
            0 => Reply::Call(vec![(
                "SubAgent",
                json!({"task": "look", "background": true, "instance": "scout"}),
            )]),
            _ => Reply::Say("ok".to_owned()),
        }
    });
    let bench = Bench::played(&model).await;
    let mut runner = bench.connect("laptop").await;
    let talk = bench.talk(Mode::Full).await;
    talk.say("begin").await;
    assert_eq!(runner.started.recv().await.unwrap(), WAITS);
    talk.say("/agent scout look at the roof").await;
    talk.told("/cancel").await;
    at_rest(&bench, &talk).await;
    let result = on_record(&bench, &talk).await;
    assert!(result.starts_with("(It ended before it read your last message."), "{result}");
}
