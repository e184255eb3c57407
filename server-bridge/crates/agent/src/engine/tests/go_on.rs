//! Turns that were cut off when an earlier run of the server ended, at each point of a turn.

use llm::{Assistant, Message, ToolCall, ToolResult};
use records::{MessageId, TurnStatus};

use super::fakes::{Does, Fake};
use super::model::{Step, calls, says};
use super::world::World;
use crate::approval::{Access, Answer, Mode, Ruling};
use crate::engine::{Called, Left, TurnEnd};
use crate::tool::{Rules, TurnCost};

fn called(names: &[(&str, &str)]) -> Message {
    let call = |(name, id): &(&str, &str)| ToolCall {
        id: (*id).to_owned(),
        name: (*name).to_owned(),
        arguments: "{}".to_owned(),
    };
    Message::Assistant(Assistant { tool_calls: names.iter().map(call).collect(), ..Assistant::default() })
}

fn said(text: &str) -> Message {
    Message::Assistant(Assistant { text: text.to_owned(), ..Assistant::default() })
}

fn result(id: &str) -> Message {
    Message::Tool(ToolResult { call_id: id.to_owned(), content: vec!["kept".into()], is_error: false })
}

/// The record that is left of a turn with this many answers.
fn left(answers: usize, called: &[&str]) -> Left {
    let called = called.iter().map(|name| (*name).to_owned()).collect();
    Left { answers, called, first: ("first".to_owned(), String::new()), ..Left::default() }
}

/// Tools for each kind of call.
fn with_tools(world: World) -> World {
    let log = world.log.clone();
    world
        .with(Fake::reads(&log, "Look", Does::Echo(1)))
        .with(Fake::new(&log, "Write", Rules::of(Access::Edit), Does::Echo(1)))
        .with(Fake::new(&log, "Run", Rules::of(Access::Web).takes_up(), Does::Echo(1)))
        .with(Fake::new(&log, "Send", Rules::of(Access::External), Does::Echo(1)))
}

fn world(answers: Vec<Vec<Step>>) -> World {
    with_tools(World::new(answers))
}

/// The results in the last request.
fn results(world: &World) -> Vec<String> {
    let asked = world.asked();
    let last = asked.last().unwrap();
    let of_tool = last.messages.iter().filter(|message| matches!(***message, Message::Tool(_)));
    of_tool.map(|message| super::world::words(message)).collect()
}

#[tokio::test(start_paused = true)]
async fn a_turn_without_an_answer_begins_and_does_not_say_its_note_twice() {
    let world = world(vec![says("hello")]);
    let end = world.again("hi", &[], left(0, &[])).await;
    assert_eq!((end.status, end.words.as_deref()), (TurnStatus::Done, Some("hello")));
    assert_eq!(world.told().last().unwrap().matches("<context>").count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_only_reads_is_run_again_and_one_that_has_a_result_is_not() {
    let world = world(vec![says("done")]);
    let before = [called(&[("Look", "1"), ("Look", "2")]), result("1")];
    world.again("hi", &before, left(1, &["Look"])).await;
    assert_eq!(world.log.count("Look begins"), 1);
    let results = results(&world);
    assert_eq!(results.len(), 2, "{results:?}");
    assert!(results[0] == "kept" && !results[1].contains("interrupted"), "{results:?}");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_had_not_begun_is_judged_and_run() {
    let world = world(vec![says("done")]);
    world.again("hi", &[called(&[("Write", "1")])], left(1, &["Write"])).await;
    assert_eq!((world.log.count("Write begins"), world.log.count("ruling on Write")), (1, 1));
    assert!(!results(&world)[0].contains("interrupted"));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_may_have_taken_effect_is_not_run_and_its_model_looks_first() {
    let world = world(vec![says("done")]);
    world.had_begun_next("1");
    world.again("hi", &[called(&[("Write", "1")])], left(1, &["Write"])).await;
    assert_eq!(world.log.count("Write begins"), 0);
    assert!(results(&world)[0].contains("It is not known whether it took effect"));
    assert!(world.chat.shown(2).contains("Failed"), "{}", world.chat.shown(2));
}

#[tokio::test(start_paused = true)]
async fn where_the_mode_asks_a_call_in_doubt_is_made_again_only_if_its_user_says_so() {
    for (answer, times, why) in [
        (Some(Answer::Allow), 1, ""),
        (Some(Answer::Deny), 0, "The user does not allow this"),
        (Some(Answer::NobodyThere), 0, "nobody could be asked"),
        (None, 0, "Nobody was there to allow this"),
    ] {
        let world = world(vec![says("done")]).mode(Mode::Ask);
        // A rule that allows such calls does not allow a second attempt.
        world.set(|settings| drop(settings.rulings.insert("Send".to_owned(), Ruling::Allow)));
        world.had_begun_next("1");
        let turn = world.begin_again("hi", &[called(&[("Send", "1")])], left(1, &["Send"]));
        if let Some(answer) = answer {
            world.allow(answer).await;
        }
        assert_eq!(turn.await.unwrap().unwrap().status, TurnStatus::Done, "{answer:?}");
        assert_eq!((world.log.count("ask with"), world.log.count("Send begins")), (1, times), "{answer:?}");
        let result = results(&world).remove(0);
        assert_eq!(result.contains("It is not known whether it took effect"), times == 0, "{result}");
        assert!(result.contains(why), "{result}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_rule_that_denies_a_call_in_doubt_spares_the_question() {
    let world = world(vec![says("done")]).mode(Mode::Ask);
    world.set(|settings| {
        drop(settings.rulings.insert("Send".to_owned(), Ruling::Deny("not here".to_owned())))
    });
    world.had_begun_next("1");
    world.again("hi", &[called(&[("Send", "1")])], left(1, &["Send"])).await;
    assert_eq!((world.log.count("ask with"), world.log.count("Send begins")), (0, 0));
    let result = results(&world).remove(0);
    assert!(
        result.contains("It is not known whether it took effect") && result.contains("not here"),
        "{result}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_finds_what_it_began_takes_it_up_without_a_question() {
    let world = world(vec![says("done")]).mode(Mode::Ask);
    world.had_begun_next("1");
    world.again("hi", &[called(&[("Run", "1")])], left(1, &["Run"])).await;
    assert_eq!((world.log.count("Run begins taken up"), world.log.count("ask with")), (1, 0));
    assert_eq!(world.log.count("runs Web"), 0, "its beginning is on record");
}

#[tokio::test(start_paused = true)]
async fn the_same_tool_is_asked_about_if_its_call_had_not_begun() {
    let world = world(vec![says("done")]).mode(Mode::Ask);
    let turn = world.begin_again("hi", &[called(&[("Run", "1")])], left(1, &["Run"]));
    world.allow(Answer::Allow).await;
    turn.await.unwrap().unwrap();
    assert_eq!((world.log.count("Run begins"), world.log.count("Run begins taken up")), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_command_never_got_on_record_is_judged_and_run() {
    let world = world(vec![says("done")]);
    world.set(|settings| settings.has_command = false);
    world.had_begun_next("1");
    world.again("hi", &[called(&[("Run", "1")])], left(1, &["Run"])).await;
    assert_eq!((world.log.count("Run begins"), world.log.count("Run begins taken up")), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_deny_of_a_rule_holds_in_a_turn_that_goes_on() {
    let world = world(vec![says("done")]);
    world.set(|settings| {
        let deny = Ruling::Deny("not here".to_owned());
        settings.rulings.insert("Write".to_owned(), deny);
    });
    world.again("hi", &[called(&[("Write", "1")])], left(1, &["Write"])).await;
    assert_eq!(world.log.count("Write begins"), 0);
    assert!(results(&world)[0].contains("not here"));
}

#[tokio::test(start_paused = true)]
async fn a_last_answer_ends_the_turn_and_the_model_is_not_asked() {
    let world = world(vec![]);
    let before = [called(&[("Look", "1")]), result("1"), said("all done")];
    let words = Some("all done".to_owned());
    let end = world.again("hi", &before, Left { words, ..left(2, &["Look"]) }).await;
    assert_eq!((end.status, end.words.as_deref()), (TurnStatus::Done, Some("all done")));
    assert!(world.asked().is_empty());
}

#[tokio::test(start_paused = true)]
async fn the_next_answer_is_shown_where_the_cut_one_was_and_the_first_one_stays() {
    let world = world(vec![says("second")]);
    let before = [called(&[("Look", "1")]), result("1")];
    let void = Some(MessageId(77));
    world.again("hi", &before, Left { void, ..left(1, &["Look"]) }).await;
    assert_eq!(
        (world.chat.shown(77).as_str(), world.chat.shown(1).as_str()),
        ("Done: second", "Done: first")
    );
    assert_eq!(world.log.count("reply 2 begins"), 0);
}

#[tokio::test(start_paused = true)]
async fn rounds_and_costs_count_on() {
    let limit = crate::limits::TURN_ITERATIONS;
    let world = with_tools(World::by(|_, _| calls(&[("Look", "{}")])));
    let cost = TurnCost { cost_micros: 7, ..TurnCost::default() };
    let before = [called(&[("Look", "1")]), result("1")];
    let end = world.again("hi", &before, Left { cost, ..left(limit - 2, &["Look"]) }).await;
    assert_eq!(world.asked().len(), 2);
    assert!(end.status == TurnStatus::Failed && end.cost.cost_micros >= 7, "{end:?}");
}

#[tokio::test(start_paused = true)]
async fn an_id_that_comes_twice_has_as_many_results() {
    let world = world(vec![says("done")]);
    let before = [called(&[("Look", "1"), ("Look", "1")]), result("1")];
    world.again("hi", &before, left(1, &["Look"])).await;
    assert_eq!(world.log.count("Look begins"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_comes_back_is_waited_for_only_if_the_turn_worked_on_one() {
    let world = world(vec![says("done")]);
    let log = world.log.clone();
    let world = world.with(Fake::new(&log, "Build", Rules::of(Access::Run), Does::Echo(1)).on_a_machine());
    let begun = tokio::time::Instant::now();
    world.again("hi", &[called(&[("Look", "1")]), result("1")], left(1, &["Look"])).await;
    assert!(begun.elapsed().as_millis() < u128::from(crate::limits::MACHINE_PATIENCE_MS));
    assert_eq!(world.log.count("notice"), 0);
    let begun = tokio::time::Instant::now();
    let end = world.again("hi", &[called(&[("Build", "2")]), result("2")], left(1, &["Build"])).await;
    assert!(begun.elapsed().as_millis() >= u128::from(crate::limits::MACHINE_PATIENCE_MS));
    assert_eq!(end.status, TurnStatus::Done, "it goes on without one");
    assert_eq!(
        world.log.count("notice The server was restarted during this answer; it continues as soon"),
        1
    );
}

#[tokio::test(start_paused = true)]
async fn a_cancel_ends_the_wait_for_a_machine() {
    let world = world(vec![]);
    let log = world.log.clone();
    let world = world.with(Fake::new(&log, "Build", Rules::of(Access::Run), Does::Echo(1)).on_a_machine());
    let turn = world.begin_again("hi", &[called(&[("Build", "1")]), result("1")], left(1, &["Build"]));
    world.wait(1_000).await;
    world.cancelled.cancel();
    assert_eq!(turn.await.unwrap().unwrap().status, TurnStatus::Cancelled);
}

/// A call of a sub-agent.
fn delegated() -> Message {
    let call = ToolCall {
        id: "1".to_owned(),
        name: "SubAgent".to_owned(),
        arguments: r#"{"task":"work"}"#.to_owned(),
    };
    Message::Assistant(Assistant { tool_calls: vec![call], ..Assistant::default() })
}

/// A chat that can call sub-agents.
fn with_sub_agents(answers: Vec<Vec<Step>>) -> World {
    let world = world(answers);
    let log = world.log.clone();
    world.with(Fake::delegates(&log))
}

#[tokio::test(start_paused = true)]
async fn a_sub_agent_that_was_called_goes_on_from_its_record_and_its_end_is_the_result() {
    let world =
        with_sub_agents(vec![calls(&[("Look", r#"{"x":"there"}"#)]), says("found it"), says("thanks")]);
    let record = [called(&[("Look", "1"), ("Look", "2")]), result("1")];
    world.left_sub_agent(50, &record, Ok(left(1, &["Look"])));
    let end = world.again("hi", &[delegated()], left(1, &["SubAgent"])).await;
    assert_eq!((end.status, end.words.as_deref()), (TurnStatus::Done, Some("thanks")));
    assert_eq!(world.chat.results(), ["found it"]);
    assert_eq!(world.log.count("sub-agent with"), 0, "none is made");
    assert_eq!(world.log.count("Look begins"), 2, "the one without a result, and a new one");
    world.log.came(&[
        "card 50 SubAgent work delegates 2",
        ">begin one",
        "card 50 SubAgent work delegates 4",
        ">end Done",
    ]);
    assert!(world.chat.shown(50).ends_with(" 4 steps"), "{}", world.chat.shown(50));
}

#[tokio::test(start_paused = true)]
async fn a_sub_agent_that_had_ended_only_tells_its_end() {
    let world = with_sub_agents(vec![says("thanks")]);
    let over = TurnEnd {
        status: TurnStatus::Failed,
        error: Some("offline".to_owned()),
        cost: TurnCost::default(),
        words: Some("half".to_owned()),
    };
    world.left_sub_agent(50, &[], Err(over));
    world.again("hi", &[delegated()], left(1, &["SubAgent"])).await;
    assert_eq!(world.asked().len(), 1, "the parent's model, and no other");
    assert!(world.chat.results()[0].contains("did not finish: offline\nIts last message:\nhalf"));
}

#[tokio::test(start_paused = true)]
async fn a_sub_agent_that_was_not_called_yet_is_judged_and_called() {
    let world = with_sub_agents(vec![says("found it"), says("thanks")]);
    world.left_card(50, Called::Nobody);
    world.again("hi", &[delegated()], left(1, &["SubAgent"])).await;
    assert_eq!((world.log.count("sub-agent with"), world.log.count("ruling on SubAgent")), (1, 1));
    assert_eq!(world.chat.results(), ["found it"]);
    assert!(world.chat.shown(50).contains("Done"), "its card is used again");
}

#[tokio::test(start_paused = true)]
async fn of_a_sub_agent_of_an_older_server_nobody_knows_how_far_it_got() {
    let world = with_sub_agents(vec![says("thanks")]);
    world.left_card(50, Called::Unknown);
    world.again("hi", &[delegated()], left(1, &["SubAgent"])).await;
    assert_eq!(world.log.count("sub-agent with"), 0);
    assert!(world.chat.results()[0].contains("It is not known whether it took effect"));
}

#[tokio::test(start_paused = true)]
async fn a_cancel_reaches_a_sub_agent_that_goes_on() {
    let world = with_sub_agents(vec![vec![super::model::text("on it"), Step::Hang]]);
    world.left_sub_agent(50, &[], Ok(left(0, &[])));
    let turn = world.begin_again("hi", &[delegated()], left(1, &["SubAgent"]));
    world.wait(1_000).await;
    world.cancelled.cancel();
    assert_eq!(turn.await.unwrap().unwrap().status, TurnStatus::Cancelled);
    world.log.came(&[">end Cancelled", "result of SubAgent", "end Cancelled"]);
}

#[tokio::test(start_paused = true)]
async fn a_message_to_a_sub_agent_is_answered_by_it_and_no_model_is_asked_after_it() {
    let world = with_sub_agents(vec![says("I am here")]);
    world.left_sub_agent(50, &[], Ok(left(0, &[])));
    let left = Left { is_relay: true, ..left(1, &["SubAgent"]) };
    let end = world.again("hi", &[delegated()], left).await;
    assert_eq!((end.status, end.words.as_deref()), (TurnStatus::Done, Some("I am here")));
    // The first message of the sub-agent's chat belongs to its own turn.
    assert_eq!((world.asked().len(), world.chat.shown(2).as_str()), (1, "Done: I am here"));
}

#[tokio::test(start_paused = true)]
async fn a_turn_waits_for_the_machine_that_its_sub_agent_had() {
    let world = with_sub_agents(vec![says("found it"), says("thanks")]);
    world.left_sub_agent(50, &[], Ok(left(0, &[])));
    let begun = tokio::time::Instant::now();
    let left = Left { needs_machine: true, ..left(1, &["SubAgent"]) };
    world.again("hi", &[delegated()], left).await;
    assert!(begun.elapsed().as_millis() >= u128::from(crate::limits::MACHINE_PATIENCE_MS));
    assert_eq!(world.chat.results(), ["found it"]);
}
