//! Sub-agents in the background: what the turn that calls them sees.

use records::TurnStatus;

use super::fakes::{Does, Fake};
use super::model::{calls, says};
use super::world::{World, words};

fn world(first: &'static [(&str, &str)]) -> World {
    let world = World::by(move |request, _| match request.messages.len() {
        1 => calls(first),
        _ => says("I go on"),
    });
    let log = world.log.clone();
    world.with(Fake::delegates(&log)).with(Fake::reads(&log, "Look", Does::Echo(10)))
}

#[tokio::test(start_paused = true)]
async fn a_call_in_the_background_has_its_result_at_once_and_what_it_begins_with_is_on_record() {
    const CALL: &[(&str, &str)] =
        &[("SubAgent", r#"{"task":"look around","background":"y","worktree":"y","model":"swift"}"#)];
    let world = world(CALL);
    assert_eq!(world.run("go").await.status, TurnStatus::Done);
    world.log.came(&[
        "sub-agent with",
        r#"background look around: "" Some("swift") ["Look"] None true"#,
        "SubAgent ends",
    ]);
    let results = world.chat.results();
    assert!(results[0].starts_with("The sub-agent works in the background as task "), "{results:?}");
    assert_eq!(world.asked().len(), 2, "no model was asked for the sub-agent");
}

#[tokio::test(start_paused = true)]
async fn a_model_is_told_of_the_end_with_its_next_request_and_once() {
    let world = world(&[("Look", r#"{"x":"here"}"#)]);
    world.set(|settings| settings.ended.extend([String::new(), "it has ended".to_owned()]));
    world.run("go").await;
    let asked = world.asked();
    let told = |at: usize| {
        let of_end = |message: &&std::sync::Arc<llm::Message>| words(message).contains("it has ended");
        asked[at].messages.iter().filter(of_end).count()
    };
    assert_eq!((told(0), told(1)), (0, 1));
    world.run("and now").await;
    let last = world.asked().pop().unwrap();
    let of_end = last.messages.iter().filter(|message| words(message).contains("it has ended")).count();
    assert_eq!(of_end, 1, "it is a part of the conversation");
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_in_the_background_is_told() {
    const CALL: &[(&str, &str)] = &[("SubAgent", r#"{"task":"x","background":"y"}"#)];
    let full = world(CALL);
    full.set(|settings| settings.broken.extend(["background"]));
    assert_eq!(full.run("go").await.status, TurnStatus::Done);
    assert!(full.chat.results()[0].contains("3 are at work already"), "{:?}", full.chat.results());
    assert_eq!(full.log.count("sub-agent with"), 0, "no conversation was made for it");

    // A sub-agent's own call.
    let nested = World::by(|request, _| {
        let first = words(&request.messages[0]);
        match (first.contains("inner"), request.messages.len()) {
            (false, 1) => calls(&[("SubAgent", r#"{"task":"inner","tools":["SubAgent","Look"]}"#)]),
            (true, 1) => calls(CALL),
            _ => says(&words(request.messages.last().unwrap())),
        }
    });
    let log = nested.log.clone();
    let nested = nested.with(Fake::delegates(&log)).with(Fake::reads(&log, "Look", Does::Echo(1)));
    nested.run("go").await;
    let result = &nested.chat.results()[0];
    assert!(result.contains("only the chat's own agent"), "{result}");
    assert_eq!(log.count("background"), 0);
}
