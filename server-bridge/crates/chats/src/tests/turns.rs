//! Queued, cancelled and failed answers, and their messages.

use std::sync::mpsc as blocking;

use agent::approval::Mode;
use serde_json::json;
use tests::{Reply, ScriptedModel};

use super::talk::answered_by;
use super::*;
use crate::NewPost;
use crate::limits::TURNS_QUEUED;
use crate::models::Provider;

/// Runs a command that waits, and then repeats the message.
fn waits_first() -> ScriptedModel {
    ScriptedModel::start(|asked| match asked.results().len() {
        0 => Reply::Call(vec![("Shell", json!({"command": "wait"}))]),
        _ => Reply::Say(format!("you said {}", asked.last_of_user())),
    })
}

#[tokio::test]
async fn a_cancel_leaves_the_messages_that_wait_and_a_full_queue_takes_no_more() {
    let model = waits_first();
    let bench = Bench::played(&model).await;
    let mut runner = bench.connect("laptop").await;
    let talk = bench.talk(Mode::Full).await;
    let first = talk.post("wait a little").await.messages[1].id;
    assert_eq!(runner.started.recv().await.unwrap(), "wait");
    for number in 1..=TURNS_QUEUED {
        talk.post(&format!("message {number}")).await;
    }
    let one_too_many = || {
        let post = NewPost {
            text: "one too many",
            send_id: Some("33"),
            attachments: &[],
            author: crate::Author::Owner,
            client: None,
        };
        talk.service.say(&talk.user, &talk.id, post)
    };
    let refused = one_too_many().await.unwrap_err();
    assert_eq!(refused.kind(), "busy", "{refused}");
    let kept = async |text: &str| talk.messages().await.iter().any(|message| message["text"] == text);
    assert!(kept("message 32").await && !kept("one too many").await, "its client has it still");
    assert_eq!(talk.service.cancel(talk.user.id, &talk.id).await.unwrap(), 1);
    assert_eq!(talk.ended(first).await["agent"]["status"], "cancelled");
    let answered = async |text: &str| {
        let is_it = |message: &serde_json::Value| message["text"] == text;
        talk.sees(text, |messages| messages.iter().any(is_it).then_some(())).await;
    };
    answered("you said message 32").await;
    for number in 1..TURNS_QUEUED {
        let text = format!("you said message {number}");
        assert!(kept(&text).await, "{text}");
    }
    one_too_many().await.expect("there is room again");
    answered("you said one too many").await;
}

#[tokio::test]
async fn messages_are_answered_one_after_the_other_and_without_a_machine_the_model_is_told_so() {
    let model = ScriptedModel::start(|asked| Reply::Say(format!("you said {}", asked.last_of_user())));
    let bench = Bench::asking(answered_by(&model, Provider::Anthropic)).await;
    let talk = bench.talk(Mode::Full).await;
    let mut posted = Vec::new();
    for word in ["one", "two", "three"] {
        posted.push((word, talk.post(word).await.messages[1].id));
    }
    for (word, answer) in posted {
        assert_eq!(talk.ended(answer).await["text"], format!("you said {word}"));
    }
    let asked = model.asked();
    assert_eq!(asked.len(), 3);
    for (before, word) in asked.iter().zip(["one", "two", "three"]) {
        assert_eq!(before.last_of_user(), word);
    }
    assert!(asked[2].raw.contains("you said one") && asked[2].raw.contains("you said two"));
    // The tools stay declared, because the conversation may contain calls of them.
    let first = &asked[0];
    assert!(
        first.raw.contains("No machine can be reached") && first.body["tools"].is_array(),
        "{}",
        first.raw
    );
}

#[tokio::test]
async fn a_provider_that_refuses_the_key_is_told_and_the_chat_goes_on() {
    let mut replies = vec![
        Reply::Refuse(401, json!({"error": {"message": "no such key"}}).to_string()),
        Reply::Break("half an answer".to_owned()),
        Reply::Say("whole".to_owned()),
    ]
    .into_iter();
    let model = ScriptedModel::start(move |_| replies.next().unwrap());
    let bench = Bench::played(&model).await;
    let talk = bench.talk(Mode::Full).await;
    let refused = talk.say("hello").await;
    assert_eq!(refused["agent"]["status"], "failed", "{refused}");
    let why = refused["agent"]["error"].as_str().unwrap();
    assert!(why.contains("refused the key") && why.contains("no such key"), "{why}");
    assert_eq!(model.asked().len(), 1, "a key that is refused is not tried again");
    let again = talk.say("hello").await;
    assert_eq!((&again["agent"]["status"], &again["text"]), (&json!("done"), &json!("whole")), "{again}");
    talk.notice("trying again").await;
}

#[tokio::test]
async fn a_person_is_told_why_an_answer_does_not_begin_yet() {
    let (go, gate) = blocking::channel::<()>();
    let model = ScriptedModel::start(move |asked| {
        if asked.last_of_user() == "first" {
            gate.recv_timeout(DEADLINE).unwrap();
        }
        Reply::Say("all done".to_owned())
    });
    let models = crate::ModelsConfig { turns_at_once: 1, ..answered_by(&model, Provider::OpenAi) };
    let bench = Bench::asking(models).await;
    let (talk, other) = (bench.talk(Mode::Ask).await, bench.other_talk().await);
    let first = talk.post("first").await.messages[1].id;
    let is_asked = |message: &serde_json::Value| message["agent"]["status"] == "running";
    talk.sees("it is under way", |messages| messages.iter().any(is_asked).then_some(())).await;
    let second = other.post("second").await.messages[1].id;
    let waits = |message: &serde_json::Value| message["agent"]["waits"] == true;
    let card = other.sees("it waits", |messages| messages.iter().find(|m| waits(m)).cloned()).await;
    assert_eq!(card["id"], second.0);
    other.notice("Other answers are under way").await;
    assert!(!talk.messages().await.iter().any(|message| waits(message) || message["role"] == "notice"));
    go.send(()).unwrap();
    assert_eq!(talk.ended(first).await["text"], "all done");
    assert_eq!(other.ended(second).await["text"], "all done");
}

#[tokio::test]
async fn nothing_is_taken_back_while_an_answer_is_under_way() {
    let model = ScriptedModel::start(|asked| {
        let messages = asked.body["messages"].as_array().unwrap();
        let said = messages.iter().filter(|message| message["role"] == "user").count();
        match asked.last_of_user().as_str() {
            "work" => Reply::Call(vec![("Shell", json!({"command": "wait"}))]),
            _ => Reply::Say(format!("I know {said}")),
        }
    });
    let bench = Bench::played(&model).await;
    let mut runner = bench.connect("laptop").await;
    let talk = bench.talk(Mode::Full).await;
    let work = talk.post("work").await.messages[1].id;
    runner.started.recv().await.unwrap();
    let busy = talk.undo().await.unwrap_err();
    assert_eq!(busy.kind(), "busy", "{busy}");
    // The undo waits for an answer that was stopped.
    talk.service.cancel(talk.user.id, &talk.id).await.unwrap();
    let taken = talk.undo().await.unwrap();
    assert_eq!(taken.commands, 1, "{taken:?}");
    assert_eq!(talk.ended(work).await["agent"]["status"], "cancelled");
    assert_eq!(talk.say("hello").await["text"], "I know 1");
}

#[tokio::test]
async fn an_answer_that_has_just_ended_is_no_obstacle_to_an_undo() {
    let bench = Bench::new().await;
    let (house, user, chat) = (&bench.service.0, &bench.user, &bench.chat.id);
    let place = house.queue.reserve(user.id, chat).unwrap();
    let worker = house.queue.employ(user.id, chat).unwrap();
    drop(place);
    // The turn has ended on record; its worker ends a moment later.
    let goes = async {
        tokio::task::yield_now().await;
        assert!(worker.next().is_none());
    };
    let (rest, ()) = tokio::join!(crate::turns::rest(house, user, chat), goes);
    assert!(rest.is_some());
}
