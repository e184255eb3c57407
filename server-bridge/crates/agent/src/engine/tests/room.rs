//! Room in the model's window.

use futures_util::future::BoxFuture;
use llm::{Error, Message, Stop};
use records::TurnStatus;

use super::fakes::{Does, Fake};
use super::hooks::Says;
use super::model::{Step, calls, ended, fails, says, text, took};
use super::world::World;
use crate::context::ContextMode;
use crate::hooks::{Estimate, Hold, Hook, HookedTurn, Place, Words};
use crate::limits::COMPRESS_FORCED_TIMES;

/// Earlier turns with long texts.
fn long(count: usize) -> Vec<Message> {
    let turn = |number: usize| {
        let said =
            llm::Assistant { text: format!("answer {number} {}", "y".repeat(4_000)), ..Default::default() };
        [Message::user(format!("question {number} {}", "x".repeat(4_000))), Message::Assistant(said)]
    };
    (0..count).flat_map(turn).collect()
}

/// True if a request asks for a summary.
fn is_for_summary(request: &llm::Request) -> bool {
    super::world::words(request.messages.last().unwrap()).contains("Write a summary that takes its place")
}

/// A model that writes this summary when asked for one, and gives this answer otherwise.
fn world(summary: &'static str) -> World {
    World::by(
        move |request, _| if is_for_summary(request) { took(100, 10, says(summary)) } else { says("done") },
    )
}

#[tokio::test(start_paused = true)]
async fn a_short_conversation_is_left_as_it_is() {
    let world = world("SHORT");
    world.before(long(1));
    world.run("go on").await;
    assert_eq!((world.asked().len(), world.log.count("compacted")), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_conversation_that_fills_three_quarters_of_the_window_is_compressed_before_the_model_is_asked() {
    let world = world("SHORT");
    world.before(long(38));
    world.run("go on").await;
    assert!(is_for_summary(&world.asked()[0]));
    world.log.came(&["begin one", "compacted", "notice 🗜️ The conversation was compressed", "answer of one"]);
    let told = world.told();
    assert!(told[0].contains("SHORT") && told.last().unwrap().ends_with("go on"), "{told:?}");
    assert!(told.len() < 38, "the beginning is not told any more");
}

#[tokio::test(start_paused = true)]
async fn a_user_who_wants_room_gets_it_once() {
    let world = world("SHORT");
    world.before(long(8));
    world.set(|settings| settings.wants_room = true);
    world.run("go on").await;
    assert_eq!(world.log.count("compacted"), 1);
    world.run("go on").await;
    assert_eq!(world.log.count("compacted"), 1);
}

#[tokio::test(start_paused = true)]
async fn what_a_summary_took_is_on_record_and_in_the_turns_cost() {
    let world = world("SHORT");
    world.before(long(8));
    world.set(|settings| settings.wants_room = true);
    let end = world.run("go on").await;
    world.log.came(&["spent 2000", "compacted"]);
    assert_eq!(end.cost.cost_micros, 2_000);
}

#[tokio::test(start_paused = true)]
async fn a_conversation_that_the_provider_finds_too_long_is_compressed_and_asked_again() {
    let world = World::by(|request, number| match number {
        0 => fails(Error::InputTooLong("too many tokens".to_owned())),
        _ if is_for_summary(request) => says("SHORT"),
        _ => says("fits"),
    });
    world.before(long(8));
    let end = world.run("go on").await;
    assert_eq!((end.status, end.words.as_deref()), (TurnStatus::Done, Some("fits")));
    assert_eq!(world.log.count("compacted"), 1);
    assert_eq!(world.chat.shown(1), "Done: fits", "the answer is shown where the first one would have been");
    let told = world.told().join("\n");
    assert!(told.contains("SHORT") && told.ends_with("go on") && !told.contains("question 0"), "{told}");
}

#[tokio::test(start_paused = true)]
async fn without_compression_a_full_conversation_is_left_whole_and_the_user_hears_what_helps() {
    let world = World::by(|request, number| match number {
        0 => says("fits still"),
        1 => fails(Error::InputTooLong("too many tokens".to_owned())),
        _ if is_for_summary(request) => says("SHORT"),
        _ => says("done"),
    });
    world.before(long(38));
    world.set(|settings| settings.context = ContextMode::NoCompression);
    assert_eq!(world.run("go on").await.status, TurnStatus::Done);
    let end = world.run("go on").await;
    assert!(end.error.unwrap().contains("context mode is no-compression"));
    assert_eq!((world.asked().len(), world.log.count("compacted")), (2, 0));
    world.set(|settings| settings.wants_room = true);
    world.run("go on").await;
    assert_eq!(world.log.count("compacted"), 1, "a user who asks for it gets it");
}

#[tokio::test(start_paused = true)]
async fn a_conversation_that_is_too_long_however_often_it_is_compressed_ends_the_turn() {
    let world = World::by(|request, _| match is_for_summary(request) {
        true => says("SHORT"),
        false => fails(Error::InputTooLong("too many tokens".to_owned())),
    });
    world.before(long(30));
    let end = world.run("go on").await;
    assert_eq!(end.status, TurnStatus::Failed);
    assert!(end.error.unwrap().contains("begin a new chat with /new"));
    assert!(world.log.count("compacted") <= COMPRESS_FORCED_TIMES);
}

/// A hook that refuses each request beside the conversation.
struct RefusesSummaries;

impl Hook for RefusesSummaries {
    fn at<'a>(&'a self, _: HookedTurn<'a>, _: Place<'a>) -> BoxFuture<'a, Words> {
        Box::pin(std::future::ready(Words::default()))
    }

    fn holds<'a>(&'a self, _: HookedTurn<'a>, estimate: Estimate) -> BoxFuture<'a, Result<Hold, String>> {
        let held = estimate.answers.map(|_| Hold::default()).ok_or_else(|| "no budget is left".to_owned());
        Box::pin(std::future::ready(held))
    }
}

#[tokio::test(start_paused = true)]
async fn a_conversation_that_is_too_long_while_a_hook_refuses_the_summary_ends_the_turn_with_its_reason() {
    let world = World::by(|_, _| fails(Error::InputTooLong("too many tokens".to_owned())));
    let world = world.hooked(RefusesSummaries);
    world.before(long(8));
    let end = world.run("go on").await;
    assert_eq!((end.status, end.error.as_deref()), (TurnStatus::Failed, Some("no budget is left")));
    assert_eq!((world.asked().len(), world.log.count("compacted")), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_later_answer_that_is_too_long_is_shown_again_where_it_began() {
    let world = World::by(|request, number| match number {
        0 => calls(&[("Look", "{}")]),
        1 => vec![text("half"), Step::Break(Error::InputTooLong("too many tokens".to_owned()))],
        _ if is_for_summary(request) => says("SHORT"),
        _ => says("whole"),
    });
    let log = world.log.clone();
    let world = world.with(Fake::reads(&log, "Look", Does::Echo(1)));
    world.before(long(8));
    assert_eq!(world.run("go on").await.status, TurnStatus::Done);
    let began = world.log.lines().into_iter().filter(|line| line.ends_with(" begins")).collect::<Vec<_>>();
    assert_eq!(began, ["reply 3 begins"], "half an answer is not left beside the whole one");
    assert_eq!(world.chat.shown(3), "Done: whole");
}

#[tokio::test(start_paused = true)]
async fn a_turn_makes_room_by_force_so_often_and_no_more() {
    let mut asked = 0;
    let world = World::by(move |request, _| {
        if is_for_summary(request) {
            return says("SHORT");
        }
        asked += 1;
        match asked % 4 {
            0 => fails(Error::InputTooLong("too many tokens".to_owned())),
            _ => calls(&[("Look", "{}")]),
        }
    });
    let log = world.log.clone();
    let world = world.with(Fake::reads(&log, "Look", Does::Gives("word ".repeat(3_000))));
    let end = world.run("go").await;
    assert!(end.error.unwrap().contains("begin a new chat with /new"));
    assert_eq!(world.log.count("compacted"), COMPRESS_FORCED_TIMES, "{}", world.log.lines().join("\n"));
}

#[tokio::test(start_paused = true)]
async fn a_model_whose_window_is_full_during_its_answer_goes_on_from_a_summary() {
    let world = World::by(|request, number| match number {
        0 => vec![text("I got so far"), ended(Stop::ContextFull)],
        _ if is_for_summary(request) => says("SHORT"),
        _ => says("and finished"),
    });
    world.before(long(8));
    let end = world.run("go on").await;
    assert_eq!((end.status, end.words.as_deref()), (TurnStatus::Done, Some("and finished")));
    world.log.came(&["answer of one", "said", "compacted", "answer of one"]);
    assert!(world.told().last().unwrap().contains("Your answer was cut off"));
}

#[tokio::test(start_paused = true)]
async fn a_summary_that_nobody_writes_leaves_all_as_it_is_and_the_answer_comes() {
    for (answer, why) in [
        (vec![text("no"), ended(Stop::Refused)], "the model refused"),
        (fails(Error::Key("no such key".to_owned())), "refused the key"),
        (says("   "), "the model wrote no summary"),
    ] {
        let world =
            World::by(move |request, _| if is_for_summary(request) { answer.clone() } else { says("done") });
        world.before(long(8));
        world.set(|settings| settings.wants_room = true);
        let end = world.run("go on").await;
        assert_eq!((end.status, end.words.as_deref()), (TurnStatus::Done, Some("done")));
        assert_eq!((world.log.count("compacted"), world.log.count("not compacted")), (0, 1));
        let notice = format!("notice ⚠️ The conversation was not compressed: {why}");
        assert!(
            world.log.lines().iter().any(|line| line.contains(why)),
            "{notice}\n{}",
            world.log.lines().join("\n")
        );
        assert_eq!(world.told().len(), 17);
    }
}

#[tokio::test(start_paused = true)]
async fn another_model_writes_the_summary_where_the_first_one_is_not_there() {
    let world = World::by(|request, _| match (request.model.as_str(), is_for_summary(request)) {
        ("one", _) => fails(Error::Quota("used up".to_owned())),
        (_, true) => says("SHORT"),
        (_, false) => says("I am two"),
    });
    let chain = ["one", "two"].map(|name| world.played.setup(name, 100_000));
    world.set(|settings| (settings.chain, settings.wants_room) = (Ok(chain.into()), true));
    world.before(long(8));
    assert_eq!(world.run("go on").await.words.as_deref(), Some("I am two"));
    assert_eq!(world.log.count("compacted"), 1);
}

/// A chat whose model looked at 20 long results in one turn.
async fn after_long_results(mode: ContextMode) -> World {
    let world = World::by(|request, _| match request.messages.len() {
        0..40 => calls(&[("Look", "{}")]),
        _ => says("done"),
    });
    let log = world.log.clone();
    let result = "word ".repeat(3_000);
    let world = world.with(Fake::reads(&log, "Look", Does::Gives(result)));
    let mut setup = world.played.setup("one", 100_000);
    setup.reply_tokens = 10;
    world.set(|settings| (settings.chain, settings.context) = (Ok(vec![setup]), mode));
    world.run("go").await;
    world
}

#[tokio::test(start_paused = true)]
async fn old_results_give_way_to_lines_where_the_window_fills() {
    for mode in [ContextMode::Full, ContextMode::NoCompression] {
        let world = after_long_results(mode).await;
        assert!(world.log.count("masked") > 0, "{}", world.log.lines().join("\n"));
        let told = world.told();
        let is_masked = |text: &String| text.contains("[masked:mk_");
        assert!(told.iter().any(is_masked) && told.last().unwrap().starts_with("word"));
    }
}

#[tokio::test(start_paused = true)]
async fn old_results_stay_whole_where_no_layer_works() {
    let world = after_long_results(ContextMode::None).await;
    assert_eq!((world.log.count("masked"), world.log.count("compacted")), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_chat_at_rest_is_compressed_and_a_short_one_says_why_not() {
    let world = world("SHORT");
    let log = world.log.clone();
    let world = world.hooked(Says { log, at: "nowhere", words: Words::default() });
    world.before(long(8));
    assert_eq!(world.compress().await, None);
    world.log.came(&["hook compresses true", "compacted", "notice 🗜️", "hook compressed true"]);
    let short = self::world("SHORT");
    short.before(vec![Message::user("hi")]);
    assert_eq!(short.compress().await, None);
    short
        .log
        .came(&["not compacted", "notice ⚠️ The conversation was not compressed: there is nothing in it"]);
}

#[tokio::test(start_paused = true)]
async fn a_summary_that_is_cancelled_changes_nothing() {
    let world = World::by(|_, _| vec![Step::Hang]);
    world.before(long(8));
    let cancelled = world.cancelled.clone();
    let (told, ()) = tokio::join!(world.compress(), async {
        world.wait(1_000).await;
        cancelled.cancel();
    });
    assert_eq!(told.as_deref(), Some("The conversation was not compressed: it was cancelled."));
    assert_eq!((world.log.count("compacted"), world.log.count("not compacted")), (0, 0));
}
