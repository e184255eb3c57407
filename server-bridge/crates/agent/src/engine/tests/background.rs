//! Sub-agents in the background, as the turn that calls them sees them.

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
    world.set(|settings| settings.heard.extend([String::new(), "it has ended".to_owned()]));
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

    // A sub-agent cannot call another one in the background.
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

/// The last line of a request's conversation, without the notes before it.
fn last_line(request: &llm::Request) -> &str {
    let llm::Message::User(content) = &**request.messages.last().unwrap() else { return "" };
    content.iter().rev().find_map(llm::Content::text).and_then(|text| text.lines().last()).unwrap_or_default()
}

#[tokio::test(start_paused = true)]
async fn a_task_for_one_at_work_becomes_a_message_to_it() {
    let world = World::by(|request, _| match last_line(request) {
        "first" | "again" => calls(&[("SubAgent", r#"{"task":"look","instance":"scout"}"#)]),
        "with tools" => calls(&[(
            "SubAgent",
            r#"{"task":"and there","instance":"scout","tools":["Look"],"background":"y"}"#,
        )]),
        _ => says("ok"),
    });
    let log = world.log.clone();
    let world = world.with(Fake::delegates(&log)).with(Fake::reads(&log, "Look", Does::Echo(1)));
    world.run("first").await;
    let status = |status| {
        world.set(|settings| settings.agents.values_mut().for_each(|agent| agent.status = Some(status)));
    };
    status(TurnStatus::Running);
    // A message needs no check, because no new sub-agent begins.
    world.set(|settings| settings.broken.extend(["background"]));
    world.run("with tools").await;
    world.log.came(&["sent and there"]);
    let results = world.chat.results();
    let sent = results.last().unwrap();
    assert!(sent.contains("reads this before its next step. It keeps the tools"), "{sent}");
    status(TurnStatus::Done);
    world.run("again").await;
    assert_eq!(world.log.count("sent "), 1, "it has ended, so it is called as ever");
    assert!(!world.chat.results().last().unwrap().contains("reads this"));
}

#[tokio::test(start_paused = true)]
async fn one_that_is_done_goes_on_if_a_message_waits_and_its_parent_does_not() {
    let world = World::by(|request, _| match last_line(request) {
        "go" => calls(&[("SubAgent", r#"{"task":"look"}"#)]),
        "and there" => says("looked there too"),
        _ => says("looked"),
    });
    let log = world.log.clone();
    let world = world.with(Fake::delegates(&log)).with(Fake::reads(&log, "Look", Does::Echo(1)));
    // The results of the calls of `hear`, in order: the parent's first, then the sub-agent's, then those at its end, until nothing is left.
    let (nothing, found) = (String::new, "and there".to_owned());
    let of_sub_agent = [nothing(), found, nothing(), nothing(), nothing()];
    world.set(|settings| {
        settings.heard.push_back(nothing());
        settings.heard.extend(of_sub_agent);
        settings.heard.extend([nothing(), "not now".to_owned()]);
    });
    world.run("go").await;
    let result = world.chat.results().pop().unwrap();
    assert!(result.contains("looked there too"), "{result}");
    world.set(|settings| assert_eq!(settings.heard, ["not now"], "its own answer has ended"));
}
