//! Tool calls: their order, errors in them, and their results.

use std::time::Duration;

use llm::{Content, Message, Stop};
use records::TurnStatus;
use tokio::time::Instant;

use super::fakes::{Does, Fake};
use super::model::{calls, ended, says, text, written};
use super::world::World;
use crate::approval::{Access, Mode};
use crate::ask::Reply;
use crate::limits::{ARGUMENTS_BYTES, QUESTION_PATIENCE, TOOLS_AT_ONCE};
use crate::tool::Rules;

fn world_with(answer: &[(&str, &str)], tool: impl FnOnce(&super::world::Log) -> Fake) -> World {
    let world = World::new(vec![calls(answer)]);
    let tool = tool(&world.log);
    world.with(tool)
}

#[tokio::test(start_paused = true)]
async fn calls_that_only_read_run_side_by_side_and_so_many_at_once() {
    let many = vec![("Look", r#"{"x":"a"}"#); TOOLS_AT_ONCE + 1];
    let world = world_with(&many, |log| Fake::reads(log, "Look", Does::Echo(1_000)));
    let begun = Instant::now();
    world.run("look").await;
    assert_eq!(begun.elapsed().as_secs(), 2, "one more than run at once");
    let most = format!("Look begins a ({TOOLS_AT_ONCE} at work)");
    assert!(world.log.count(&most) > 0);
    assert_eq!(world.log.count(&format!("Look begins a ({} at work)", TOOLS_AT_ONCE + 1)), 0);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_ends_makes_room_for_the_next_while_an_earlier_one_still_runs() {
    let mut many = vec![("Slow", r#"{"x":"a"}"#)];
    many.extend(vec![("Fast", r#"{"x":"b"}"#); TOOLS_AT_ONCE]);
    let world = world_with(&many, |log| Fake::reads(log, "Slow", Does::Echo(60_000)));
    let log = world.log.clone();
    let world = world.with(Fake::reads(&log, "Fast", Does::Echo(1)));
    world.run("look").await;
    let lines = world.log.lines();
    let slow_ended = lines.iter().position(|line| line.starts_with("Slow ends")).unwrap();
    let last_began = lines.iter().rposition(|line| line.starts_with("Fast begins")).unwrap();
    assert!(last_began < slow_ended, "{lines:?}");
    assert_eq!(world.log.count("Fast begins"), TOOLS_AT_ONCE);
    world.log.came(&["result of Slow", "result of Fast"]);
}

#[tokio::test(start_paused = true)]
async fn calls_that_change_something_run_one_after_the_other() {
    let world = world_with(&[("Write", r#"{"x":"a"}"#), ("Write", r#"{"x":"b"}"#)], |log| {
        Fake::new(log, "Write", Rules::of(Access::Edit), Does::Echo(1_000))
    });
    world.run("write").await;
    world.log.came(&[
        "Write begins a (1",
        "Write ends a",
        "result of Write",
        "Write begins b (1",
        "Write ends b",
    ]);
}

#[tokio::test(start_paused = true)]
async fn a_read_after_a_change_sees_what_it_left() {
    let world =
        world_with(&[("Look", r#"{"x":"a"}"#), ("Write", r#"{"x":"b"}"#), ("Look", r#"{"x":"c"}"#)], |log| {
            Fake::reads(log, "Look", Does::Echo(1_000))
        });
    let log = world.log.clone();
    let world = world.with(Fake::new(&log, "Write", Rules::of(Access::Edit), Does::Echo(10)));
    world.run("go").await;
    world.log.came(&["Look ends a", "Write begins b", "Write ends b", "Look begins c"]);
}

#[tokio::test(start_paused = true)]
async fn results_stand_in_the_order_of_the_calls_however_they_end() {
    let world = world_with(&[("Slow", r#"{"x":"a"}"#), ("Fast", r#"{"x":"b"}"#)], |log| {
        Fake::reads(log, "Slow", Does::Echo(900))
    });
    let log = world.log.clone();
    let world = world.with(Fake::reads(&log, "Fast", Does::Echo(1)));
    world.run("go").await;
    world.log.came(&[
        "card 2 Slow",
        "card 3 Fast",
        "Fast ends b",
        "Slow ends a",
        "result of Slow",
        "result of Fast",
    ]);
    assert_eq!(world.chat.results(), ["Slow of a", "Fast of b"]);
}

#[tokio::test(start_paused = true)]
async fn a_call_of_no_tool_is_told_which_there_are_and_the_turn_goes_on() {
    let world = world_with(&[("Fly", "{}")], |log| Fake::reads(log, "Look", Does::Echo(1)));
    assert_eq!(world.run("go").await.status, TurnStatus::Done);
    assert!(world.chat.results()[0].contains(r#"there is no tool "Fly"; the tools are Look"#));
    assert!(world.chat.shown(2).starts_with("Fly  Failed"), "{}", world.chat.shown(2));
}

#[tokio::test(start_paused = true)]
async fn arguments_that_are_no_json_or_do_not_fit_are_told_and_nothing_runs() {
    for (arguments, why) in
        [("{\"x\":", "not a JSON object"), ("[1]", "not a JSON object"), (r#"{"bad":1}"#, "are invalid")]
    {
        let world = world_with(&[("Look", arguments)], |log| Fake::reads(log, "Look", Does::Echo(1)));
        assert_eq!(world.run("go").await.status, TurnStatus::Done);
        assert!(world.chat.results()[0].contains(why), "{:?}", world.chat.results());
        assert_eq!(world.log.count("Look begins"), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn arguments_that_are_too_long_are_refused_and_not_kept() {
    let long = format!(r#"{{"x":"{}"}}"#, "x".repeat(ARGUMENTS_BYTES));
    let world = world_with(&[("Look", &long)], |log| Fake::reads(log, "Look", Does::Echo(1)));
    world.run("go").await;
    assert!(world.chat.results()[0].contains("do it in parts"));
    let said = world.chat.said();
    let Message::Assistant(said) = &said[1] else { panic!("no answer") };
    assert!(said.tool_calls[0].arguments.len() < 100, "they would fill the conversation for good");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_the_answers_end_cut_off_is_told_so_and_whole_ones_before_it_run() {
    let mut answer = written(&[("Look", r#"{"x":"a"}"#), ("Look", r#"{"x":"b"#)]);
    answer.push(ended(Stop::MaxTokens));
    let world = World::new(vec![answer]);
    let log = world.log.clone();
    let world = world.with(Fake::reads(&log, "Look", Does::Echo(1)));
    assert_eq!(world.run("go").await.status, TurnStatus::Done);
    let results = world.chat.results();
    assert_eq!(results[0], "Look of a");
    assert!(results[1].contains("cut off in the middle of this call; write less at once"));
}

#[tokio::test(start_paused = true)]
async fn what_did_not_work_is_told_to_the_model_which_goes_on() {
    let world = world_with(&[("Look", "{}")], |log| Fake::reads(log, "Look", Does::Fails));
    let end = world.run("go").await;
    assert_eq!((end.status, end.words.as_deref()), (TurnStatus::Done, Some("done")));
    assert!(world.chat.results()[0].contains("it did not work"));
    let said = world.chat.said();
    assert!(matches!(&said[2], Message::Tool(result) if result.is_error));
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_goes_away_ends_the_turn_with_its_result_kept() {
    let world = world_with(&[("Look", "{}")], |log| Fake::reads(log, "Look", Does::GoesAway));
    let end = world.run("go").await;
    assert_eq!(end.status, TurnStatus::Failed);
    assert!(end.error.unwrap().starts_with("laptop is offline; the turn ends here"));
    assert!(world.chat.results()[0].contains("laptop is offline"));
    assert_eq!(world.asked().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_fails_under_a_call_ends_the_turn() {
    let world = world_with(&[("Look", "{}")], |log| Fake::reads(log, "Look", Does::LosesStore));
    let end = world.run("go").await;
    assert!(end.error.unwrap().contains("could not store the conversation"));
}

#[tokio::test(start_paused = true)]
async fn without_a_machine_tools_run_that_need_none_and_the_others_say_why_they_do_not() {
    let world = world_with(&[("Local", r#"{"x":"a"}"#), ("Remote", "{}")], |log| {
        Fake::reads(log, "Local", Does::Echo(1))
    });
    let log = world.log.clone();
    let remote = Fake::new(&log, "Remote", Rules::of(Access::Run), Does::Echo(1)).on_a_machine();
    let world = world.mode(Mode::Ask).with(remote);
    assert_eq!(world.run("go").await.status, TurnStatus::Done);
    let results = world.chat.results();
    assert_eq!(results[0], "Local of a");
    assert!(results[1].contains("no machine can be reached (there is no machine), so this tool cannot run"));
    assert_eq!((world.log.count("Remote begins"), world.log.count("ask with")), (0, 0));
    // The conversation contains calls of the tools, and a provider refuses calls of tools that are not declared.
    for asked in world.asked() {
        let declared: Vec<&str> = asked.tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(declared, ["Local", "Remote"]);
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_call_writes_is_shown_meanwhile_in_few_pieces() {
    let world =
        world_with(&[("Make", "{}")], |log| Fake::new(log, "Make", Rules::of(Access::Run), Does::Writes(20)));
    world.run("go").await;
    world.log.came(&["card 2 Make  runs", "stream 2 Output piece 0;", "Make ends", "card 2 Make  Done"]);
    let pieces = world.log.count("stream 2 Output");
    assert!((2..=10).contains(&pieces), "{pieces} events for 20 pieces in 400 ms");
}

#[tokio::test(start_paused = true)]
async fn a_question_is_shown_until_it_is_answered() {
    let rules = Rules::of(Access::Read).waits_for_its_user();
    let world = world_with(&[("Ask", r#"{"x":"which?"}"#)], |log| Fake::new(log, "Ask", rules, Does::Asks));
    let turn = world.begin("go");
    world.answer(Reply::Words(Some("the red one".to_owned()))).await;
    assert_eq!(turn.await.unwrap().unwrap().status, TurnStatus::Done);
    assert_eq!(world.chat.results(), ["the red one"]);
    world.log.came(&[
        "ask with 2 Words",
        r#"card 2 Ask which? questions which? ["yes"]"#,
        "card 2 Ask which? runs",
        "card 2 Ask which? Done",
    ]);
}

#[tokio::test(start_paused = true)]
async fn an_option_that_was_chosen_in_another_language_is_the_one_that_was_offered() {
    let rules = Rules::of(Access::Read).waits_for_its_user();
    let world = world_with(&[("Ask", r#"{"x":"which?"}"#)], |log| Fake::new(log, "Ask", rules, Does::Asks));
    world.set(|settings| settings.is_translated = true);
    let turn = world.begin("go");
    world.answer(Reply::Words(Some("<yes>".to_owned()))).await;
    assert_eq!(turn.await.unwrap().unwrap().status, TurnStatus::Done);
    // A text that is not the server's is shown unchanged.
    world.log.came(&[r#"card 2 Ask which? questions which? ["<yes>"]"#]);
    assert_eq!(world.chat.results(), ["yes"]);
}

#[tokio::test(start_paused = true)]
async fn a_question_that_nobody_answers_ends_after_its_patience() {
    let rules = Rules::of(Access::Read).waits_for_its_user();
    let world = world_with(&[("Ask", r#"{"x":"which?"}"#)], |log| Fake::new(log, "Ask", rules, Does::Asks));
    let begun = Instant::now();
    world.run("go").await;
    assert!(
        begun.elapsed() >= QUESTION_PATIENCE && begun.elapsed() < QUESTION_PATIENCE + Duration::from_secs(1)
    );
    assert!(world.chat.results()[0].contains("nobody answered"));
}

#[tokio::test(start_paused = true)]
async fn other_answers_go_on_while_a_call_waits_for_its_user() {
    let rules = Rules::of(Access::Read).waits_for_its_user();
    let world = world_with(&[("Ask", r#"{"x":"which?"}"#)], |log| Fake::new(log, "Ask", rules, Does::Asks));
    let turn = world.begin("go");
    world.wait(100).await;
    let place = world.take_place();
    world.answer(Reply::Words(None)).await;
    world.wait(1_000).await;
    assert!(!turn.is_finished(), "the place is another's");
    drop(place);
    assert_eq!(turn.await.unwrap().unwrap().status, TurnStatus::Done);
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_goes_away_during_a_turn_is_there_until_its_end() {
    let world = World::new(vec![
        vec![text("wait"), super::model::Step::Pause(1_000), ended(Stop::End)],
        calls(&[("Old", "{}")]),
    ]);
    let world = World { ..world };
    let log = world.log.clone();
    let world = world.with(Fake::reads(&log, "Old", Does::Echo(1)));
    world.run("one").await;
    let turn = world.begin("two");
    world.tools.remove("Old");
    assert_eq!(turn.await.unwrap().unwrap().status, TurnStatus::Done);
    assert_eq!(world.log.count("Old begins"), 1);
    world.run("three").await;
    let asked = world.asked();
    let declared: Vec<&str> = asked.last().unwrap().tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(declared, ["Old"]);
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_edits_the_conversation_is_seen_in_the_next_request() {
    let rules = Rules::of(Access::Read).edits_conversation();
    let world = World::by(|_, number| match number {
        0 => calls(&[("Edit", "{}")]),
        _ => says("done"),
    });
    let log = world.log.clone();
    let world = world.with(Fake::new(&log, "Edit", rules, Does::Echo(200)));
    let turn = world.begin("secret");
    world.wait(100).await;
    world.chat.edit(1, &Message::user("(deleted)"));
    turn.await.unwrap().unwrap();
    assert_eq!(world.told()[0], "(deleted)");
}

#[tokio::test(start_paused = true)]
async fn a_result_with_an_image_shows_it_to_the_model() {
    let image = Content::Image { media_type: "image/png".to_owned(), data: bytes::Bytes::from_static(b"x") };
    let world = world_with(&[("Look", "{}")], |log| Fake::reads(log, "Look", Does::Shows(image.clone())));
    world.run("go").await;
    let asked = world.asked();
    let Message::Tool(result) = &*asked[1].messages[2] else { panic!("no result") };
    assert_eq!(result.content[1], image);
}

#[tokio::test(start_paused = true)]
async fn a_deferred_tool_is_declared_once_it_was_found_and_in_the_next_turn_too() {
    let world = World::new(vec![
        calls(&[("find", r#"{"x":"a"}"#)]),
        calls(&[("Rare", r#"{"x":"b"}"#)]),
        says("done"),
        says("again"),
    ]);
    let log = world.log.clone();
    let rules = Rules::of(Access::Read);
    let world = world
        .with(Fake::new(&log, "find", rules.finds_tools(), Does::Finds("Rare")))
        .with(Fake::new(&log, "Rare", rules.deferred(), Does::Echo(1)))
        .with(Fake::new(&log, "Other", rules.deferred(), Does::Echo(1)));
    world.run("go").await;
    world.run("go on").await;
    let declared: Vec<Vec<String>> = world
        .asked()
        .iter()
        .map(|request| request.tools.iter().map(|tool| tool.name.clone()).collect())
        .collect();
    assert_eq!(declared[0], ["find"]);
    assert!(declared[1..].iter().all(|tools| *tools == ["find", "Rare"]), "{declared:?}");
    assert_eq!(world.chat.results()[1], "Rare of b");
}
