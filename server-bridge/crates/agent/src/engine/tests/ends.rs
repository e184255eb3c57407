//! Cancels, stops of the server and failures of the store, at each point of a turn.

use llm::{Error, Message, Stop};
use records::TurnStatus;

use super::fakes::{Does, Fake};
use super::model::{Step, calls, ended, fails, says, text};
use super::world::{World, words};
use crate::approval::{Access, Mode};
use crate::tool::Rules;

/// The last stored entry.
fn last(world: &World) -> String {
    world.chat.said().last().map(words).unwrap_or_default()
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_is_cancelled_before_it_begins_asks_nothing() {
    let world = World::new(vec![]);
    world.cancelled.cancel();
    let end = world.run("hi").await;
    assert_eq!((end.status, end.error), (TurnStatus::Cancelled, None));
    assert!(world.asked().is_empty() && world.log.count("begin") == 0);
    world.log.came(&["settle 1", "end Cancelled", "reply 1 Cancelled"]);
}

#[tokio::test(start_paused = true)]
async fn a_turn_is_cancelled_while_it_waits_for_answers_of_others() {
    let world = World::new(vec![]);
    let _place = world.take_place();
    let turn = world.begin("hi");
    world.wait(100).await;
    world.cancelled.cancel();
    assert_eq!(turn.await.unwrap().unwrap().status, TurnStatus::Cancelled);
    assert!(world.asked().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_model_that_says_nothing_is_left_at_once_and_nothing_is_kept() {
    let world = World::new(vec![vec![Step::Hang]]);
    let turn = world.begin("hi");
    world.wait(100).await;
    world.cancelled.cancel();
    assert_eq!(turn.await.unwrap().unwrap().status, TurnStatus::Cancelled);
    assert_eq!(world.chat.said().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_was_said_of_a_cancelled_answer_is_kept_and_calls_that_are_not_whole_are_not() {
    let mut answer = vec![text("I was about to")];
    answer.extend(super::model::written(&[("Look", "{}")]));
    answer.push(Step::Hang);
    let world = World::new(vec![answer]);
    let log = world.log.clone();
    let world = world.with(Fake::reads(&log, "Look", Does::Echo(1)));
    let turn = world.begin("hi");
    world.wait(100).await;
    world.cancelled.cancel();
    let end = turn.await.unwrap().unwrap();
    assert_eq!((end.status, end.words.as_deref()), (TurnStatus::Cancelled, Some("I was about to")));
    let said = world.chat.said();
    let Some(Message::Assistant(said)) = said.last() else { panic!("{said:?}") };
    assert!(said.tool_calls.is_empty() && said.text == "I was about to");
    assert_eq!(world.chat.shown(1), "Cancelled: I was about to");
    assert_eq!(world.log.count("Look begins"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_cancel_in_the_pause_before_another_attempt_ends_the_turn_at_once() {
    let world = World::by(|_, _| fails(Error::Provider("overloaded".to_owned())));
    world.set(|settings| settings.attempts = 30);
    let turn = world.begin("hi");
    world.wait(20_000).await;
    let asked = world.asked().len();
    world.cancelled.cancel();
    assert_eq!(turn.await.unwrap().unwrap().status, TurnStatus::Cancelled);
    assert_eq!(world.asked().len(), asked);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_does_not_see_a_cancel_is_dropped_and_its_result_says_so() {
    let world = World::new(vec![calls(&[("Look", "{}")])]);
    let log = world.log.clone();
    let world = world.with(Fake::reads(&log, "Look", Does::Echo(60_000)));
    let turn = world.begin("hi");
    world.wait(100).await;
    world.cancelled.cancel();
    assert_eq!(turn.await.unwrap().unwrap().status, TurnStatus::Cancelled);
    assert_eq!(world.log.count("Look ends"), 0);
    assert!(last(&world).contains("cancelled by the user"), "{}", last(&world));
    assert!(world.chat.shown(2).starts_with("Look  Cancelled"), "{}", world.chat.shown(2));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_sees_a_cancel_tidies_up_first() {
    let world = World::new(vec![calls(&[("Make", "{}")])]);
    let log = world.log.clone();
    let rules = Rules::of(Access::Run).sees_cancel();
    let world = world.with(Fake::new(&log, "Make", rules, Does::WaitsForCancel));
    let turn = world.begin("hi");
    world.wait(100).await;
    world.cancelled.cancel();
    assert_eq!(turn.await.unwrap().unwrap().status, TurnStatus::Cancelled);
    assert!(last(&world).contains("it tidied up"));
    world.log.came(&["Make ends", "result of Make", "end Cancelled"]);
}

#[tokio::test(start_paused = true)]
async fn a_cancel_between_two_calls_leaves_the_later_one_alone_and_the_next_turn_is_told_so() {
    let world = World::new(vec![calls(&[("Write", r#"{"x":"a"}"#), ("Write", r#"{"x":"b"}"#)])]);
    let log = world.log.clone();
    let world = world.with(Fake::new(&log, "Write", Rules::of(Access::Edit), Does::Echo(1_000)));
    let turn = world.begin("hi");
    world.wait(500).await;
    world.cancelled.cancel();
    assert_eq!(turn.await.unwrap().unwrap().status, TurnStatus::Cancelled);
    assert_eq!(world.log.count("Write begins"), 1);
    let world = World { cancelled: tokio_util::sync::CancellationToken::new(), ..world };
    world.run("and now?").await;
    let results = world.told();
    assert!(results[2].contains("cancelled by the user") && results[3].contains("this was interrupted"));
}

#[tokio::test(start_paused = true)]
async fn a_cancel_while_the_user_is_asked_withdraws_the_question() {
    let world = World::new(vec![calls(&[("Write", r#"{"x":"a"}"#)])]).mode(Mode::Ask);
    let log = world.log.clone();
    let world = world.with(Fake::new(&log, "Write", Rules::of(Access::Web), Does::Echo(1)));
    let turn = world.begin("hi");
    world.wait(100).await;
    assert_eq!(world.log.count("ask with 2 Approval"), 1);
    world.cancelled.cancel();
    assert_eq!(turn.await.unwrap().unwrap().status, TurnStatus::Cancelled);
    assert_eq!(world.log.count("Write begins"), 0);
    assert!(world.chat.shown(2).contains("Cancelled"), "{}", world.chat.shown(2));
    assert!(last(&world).contains("Cancelled by the user"));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_the_servers_stop_cuts_off_stays_in_progress_on_record() {
    let world = World::new(vec![vec![text("half an answer"), Step::Hang]]);
    let turn = world.begin("hi");
    world.wait(100).await;
    world.stop.cancel();
    assert!(turn.await.unwrap().is_none());
    assert_eq!((last(&world).contains("half"), world.log.count("end")), (false, 0));
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_waits_when_the_server_stops_is_left_on_record_as_it_is() {
    let world = World::new(vec![]);
    let _place = world.take_place();
    let turn = world.begin("hi");
    world.wait(100).await;
    world.stop.cancel();
    assert!(turn.await.unwrap().is_none());
    assert_eq!((world.log.count("begin"), world.log.count("end")), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_call_under_way_when_the_server_stops_has_no_result() {
    let world = World::new(vec![calls(&[("Look", "{}")])]);
    let log = world.log.clone();
    let world = world.with(Fake::reads(&log, "Look", Does::Echo(60_000)));
    let turn = world.begin("hi");
    world.wait(100).await;
    world.stop.cancel();
    assert!(turn.await.unwrap().is_none());
    assert_eq!((world.log.count("Look begins"), world.log.count("result of")), (1, 0));
    assert_eq!(
        (world.log.count("end"), world.log.count("settle")),
        (0, 0),
        "the next server goes on with it"
    );
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_cannot_be_kept_ends_the_turn_before_its_calls_run() {
    let world = World::new(vec![calls(&[("Look", "{}")])]);
    let log = world.log.clone();
    let world = world.with(Fake::reads(&log, "Look", Does::Echo(1)));
    world.breaks("append");
    let end = world.run("hi").await;
    assert_eq!(end.status, TurnStatus::Failed);
    assert!(end.error.unwrap().contains("could not store the conversation"));
    assert_eq!(world.log.count("Look begins"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_card_cannot_be_shown_does_not_run() {
    let world = World::new(vec![calls(&[("Look", "{}")])]);
    let log = world.log.clone();
    let world = world.with(Fake::reads(&log, "Look", Does::Echo(1)));
    world.breaks("keep_call");
    assert_eq!(world.run("hi").await.status, TurnStatus::Failed);
    assert_eq!(world.log.count("Look begins"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_cannot_be_noted_does_not_take_effect() {
    let world = World::new(vec![calls(&[("Make", "{}")])]);
    let log = world.log.clone();
    let world = world.with(Fake::new(&log, "Make", Rules::of(Access::Run), Does::Echo(1)));
    world.breaks("runs");
    assert_eq!(world.run("hi").await.status, TurnStatus::Failed);
    assert_eq!(world.log.count("Make begins"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_conversation_that_cannot_be_read_is_not_asked_about() {
    for broken in ["begin", "load", "mode", "news", "change"] {
        let world = World::new(vec![]);
        world.breaks(broken);
        assert_eq!(world.run("hi").await.status, TurnStatus::Failed, "{broken}");
        assert!(world.asked().is_empty(), "{broken}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_looks_as_if_it_went_on_is_settled_unless_the_turn_ended_well() {
    let world = World::new(vec![says("fine"), vec![text("no"), ended(Stop::Refused)]]);
    world.run("hi").await;
    assert_eq!(world.log.count("settle"), 0);
    world.run("hi").await;
    assert_eq!(world.log.count("settle"), 1);
}
