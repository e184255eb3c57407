//! Sub-agents in the background across a restart: they resume, and the agent that called them is notified once.

use agent::approval::{Answer, Mode};
use serde_json::json;
use store::TurnStatus;
use tests::{Reply, ScriptedModel};

use super::super::background::{at_rest, one};
use super::sub_agents::{Next, RecoveryTest, is_child};
use super::*;

/// The command of the sub-agent that [`one`] calls.
const COMMAND: &str = "out:before wait out:after";

/// Waits until the sub-agent's command runs and the answer that called the sub-agent has ended.
async fn at_work(test: &mut RecoveryTest) {
    assert_eq!(test.runner.started.recv().await.unwrap(), COMMAND);
    let store = test.life.bench.store.clone();
    let user = test.life.bench.user.id;
    until("the answer has ended", async || {
        store.open_turns(Some(user)).await.unwrap().iter().all(|turn| turn.is_background)
    })
    .await;
}

/// Waits until no turn is open, and returns the agent's answer to the notification.
async fn heard(next: &Next) -> String {
    let heard = next.talk.sees("the end is told", |messages| {
        let text = messages.last()?["text"].as_str().unwrap();
        text.starts_with("I heard").then(|| text.to_owned())
    });
    let heard = heard.await;
    let (store, user) = (&next.bench.store, next.bench.user.id);
    at_rest(&next.bench, &next.talk).await;
    assert_eq!(store.background_to_do(Some(user)).await.unwrap(), []);
    assert_eq!(store.background_ended(user, &next.talk.id).await.unwrap(), []);
    let messages = next.talk.messages().await;
    let notices = messages.iter().filter(|message| message["role"] == "notice").count();
    assert_eq!(notices, 1, "it is told once: {messages:#?}");
    for message in &messages {
        let status = message["agent"]["status"].as_str().unwrap_or_default();
        assert!(!["asking", "running", "queued"].contains(&status), "{message}");
    }
    heard
}

#[tokio::test]
async fn one_at_work_goes_on_after_the_answer_that_called_it_has_ended() {
    let model = ScriptedModel::start(one);
    let mut test = RecoveryTest::begin(&model, Mode::Full).await;
    at_work(&mut test).await;
    let mut next = test.next(&model, Mode::Full).await;
    next.runner.release();
    let heard = heard(&next).await;
    assert!(heard.contains("it wrote before"), "{heard}");
    assert!(next.runner.started.try_recv().is_err(), "its command ran once");
}

#[tokio::test]
async fn an_end_whose_result_was_not_recorded_is_told_by_the_next_server() {
    let model = ScriptedModel::start(one);
    let mut test = RecoveryTest::begin(&model, Mode::Full).await;
    at_work(&mut test).await;
    let next = test
        .next_after(&model, Mode::Full, async |bench| {
            // The state after a crash between the end of the turn and the record of its result.
            let open = bench.store.open_turns(Some(bench.user.id)).await.unwrap();
            assert!(bench.store.finish_turn(open[0].id, TurnStatus::Failed, Some("it broke")).await.unwrap());
        })
        .await;
    let heard = heard(&next).await;
    assert!(heard.contains("failed: sub-agent") && heard.contains("did not finish: it broke"), "{heard}");
}

#[tokio::test]
async fn a_result_of_which_nobody_was_told_is_told_by_the_next_server() {
    let model = ScriptedModel::start(one);
    let mut test = RecoveryTest::begin(&model, Mode::Full).await;
    at_work(&mut test).await;
    let next = test
        .next_after(&model, Mode::Full, async |bench| {
            let open = bench.store.open_turns(Some(bench.user.id)).await.unwrap();
            bench.store.finish_turn(open[0].id, TurnStatus::Done, None).await.unwrap();
            assert!(bench.store.put_background_result(open[0].id, "all is well").await.unwrap());
            assert!(!bench.store.put_background_result(open[0].id, "again").await.unwrap());
        })
        .await;
    let said = next.talk.sees("the end is told", |messages| {
        let text = messages.last()?["text"].as_str().unwrap();
        text.starts_with("I heard").then(|| text.to_owned())
    });
    let said = said.await;
    assert!(said.contains("all is well"), "{said}");
}

#[tokio::test]
async fn a_call_whose_result_is_not_on_record_begins_one_sub_agent_and_after_it() {
    // The restart interrupts the answer during its second call, so none of its results is on record.
    let model = ScriptedModel::start(|asked| {
        if is_child(asked) {
            return match (asked.last_of_user().as_str(), asked.results().is_empty()) {
                ("work", true) => Reply::Call(vec![("Shell", json!({"command": COMMAND}))]),
                _ => Reply::Say("nothing there".to_owned()),
            };
        }
        match asked.results().len() {
            0 => Reply::Call(vec![
                ("SubAgent", json!({"task": "look", "background": true})),
                ("SubAgent", json!({"task": "work"})),
            ]),
            _ => Reply::Say(asked.results().join(" / ")),
        }
    });
    let mut test = RecoveryTest::begin(&model, Mode::Full).await;
    assert_eq!(test.runner.started.recv().await.unwrap(), COMMAND);
    let mut next = test.next_away(&model, Mode::Full, async |_| {}).await;
    // The answer waits for the machine, and the sub-agent in the background waits for the answer; otherwise, the sub-agent's end would be
    // overwritten by the result of its call.
    assert_eq!(next.bench.service.0.queue.at_work(), 1);
    next.bench.take_over(&mut next.runner, "laptop").await;
    next.runner.release();
    next.talk.ended(next.answer).await;
    at_rest(&next.bench, &next.talk).await;
    let (store, user) = (&next.bench.store, next.bench.user.id);
    assert_eq!(store.sub_agents(user, &next.talk.id).await.unwrap().len(), 2);
    assert_eq!(store.background_below(user, &next.talk.id, 10).await.unwrap().len(), 1);
    let said = next.talk.messages().await;
    assert!(said.iter().any(|message| message["text"].as_str().unwrap().contains("as task")), "{said:#?}");
    assert!(next.runner.started.try_recv().is_err(), "the command ran once");
    let cards = next.talk.cards("SubAgent").await;
    let card = cards.iter().find(|card| card["agent"]["sub_agent"]["background"] == true).unwrap();
    assert_eq!(card["agent"]["status"], "done", "{card}");
    assert!(card["text"].as_str().unwrap().contains("nothing there"), "{card}");
}

#[tokio::test]
async fn what_one_asks_is_asked_again_and_its_first_question_is_over() {
    let model = ScriptedModel::start(|asked| match (is_child(asked), asked.results().len()) {
        (false, 0) => Reply::Call(vec![(
            "SubAgent",
            json!({"task": "write", "background": true, "instance": "scribe"}),
        )]),
        (true, 0) => Reply::Call(vec![("Shell", json!({"command": "append:log:ran"}))]),
        _ => Reply::Say("ok".to_owned()),
    });
    let test = RecoveryTest::begin(&model, Mode::Ask).await;
    let first = test.asking("append:log:ran").await;
    let next = test.next(&model, Mode::Ask).await;
    let again = next.talk.asking("append:log:ran").await;
    assert_ne!(first["id"], again["id"]);
    assert_eq!(next.talk.approve(&first, Answer::Allow).await, Some("not_found"));
    let cards = next.talk.cards("Shell").await;
    assert_eq!(cards.iter().filter(|card| card["agent"]["status"] == "asking").count(), 1, "{cards:#?}");
    assert_eq!(next.talk.approve(&again, Answer::Allow).await, None);
    at_rest(&next.bench, &next.talk).await;
    assert_eq!(next.runner.files.content("log").unwrap(), "ran");
}

#[tokio::test]
async fn one_that_its_user_stopped_does_not_go_on() {
    let model = ScriptedModel::start(one);
    let mut test = RecoveryTest::begin(&model, Mode::Full).await;
    at_work(&mut test).await;
    let next = test
        .next_after(&model, Mode::Full, async |bench| {
            let open = bench.store.open_turns(Some(bench.user.id)).await.unwrap();
            bench.store.cancel_turn(bench.user.id, &open[0].chat).await.unwrap();
        })
        .await;
    let (store, user) = (&next.bench.store, next.bench.user.id);
    until("its result is on record", async || {
        !store.background_ended(user, &next.talk.id).await.unwrap().is_empty()
    })
    .await;
    let told = store.background_ended(user, &next.talk.id).await.unwrap().remove(0);
    assert_eq!(told.status, TurnStatus::Cancelled);
    assert!(next.talk.messages().await.iter().all(|message| message["role"] != "notice"));
}
