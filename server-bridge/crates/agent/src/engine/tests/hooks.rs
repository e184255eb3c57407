//! Denials, questions and notes of hooks.

use futures_util::future::BoxFuture;
use llm::{Error, Stop};
use records::TurnStatus;
use serde_json::{Map, Value};

use super::fakes::{Does, Fake};
use super::model::{calls, ended, fails, says, text};
use super::world::{Log, World};
use crate::approval::{Access, Answer, Mode};
use crate::hooks::{Estimate, Hold, Hook, HookedTurn, Place, Words};
use crate::limits::STOPS_DENIED;
use crate::tool::Rules;

/// A hook that gives one ruling at one place, and logs all places.
pub(super) struct Says {
    pub(super) log: Log,
    pub(super) at: &'static str,
    pub(super) words: Words,
}

impl Hook for Says {
    fn at<'a>(&'a self, turn: HookedTurn<'a>, place: Place<'a>) -> BoxFuture<'a, Words> {
        let name = match place {
            Place::TurnBegins { text, is_first } => format!("begins {text:?} {is_first}"),
            Place::CallBegins { call, access } => format!("call {} {access:?} {}", call.name, call.arguments),
            Place::Asks { call, access } => format!("asks {} {access:?}", call.name),
            Place::Denied { call, why } => format!("denied {} {why}", call.name),
            Place::CallEnds { outcome, is_cancelled: false, .. } => format!("called {}", outcome.is_error),
            Place::CallEnds { is_cancelled: true, .. } => "cancelled".to_owned(),
            Place::CallsEnd { calls } => format!("calls {}", calls.len()),
            Place::Stops { text, is_again } => format!("stops {text:?} {is_again}"),
            Place::Compresses { is_asked } => format!("compresses {is_asked}"),
            Place::Compressed { is_asked, summary } => format!("compressed {is_asked} {summary:?}"),
            Place::TurnEnds { status, error, cause } => match cause {
                None => format!("ends {status:?} {error:?}"),
                Some(cause) => format!("ends {status:?} {error:?} {}", cause.word()),
            },
        };
        let of = if turn.is_sub_agent() { "sub-agent's hook" } else { "hook" };
        self.log.add(format!("{of} {name}"));
        let is_here = name.split(' ').next() == Some(self.at);
        Box::pin(async move { if is_here { self.words.clone() } else { Words::default() } })
    }
}

/// A chat in full mode whose agent calls a web-reading tool and then ends, with a hook for each of these rulings.
fn world(words: &[(&'static str, Words)]) -> World {
    let world = World::by(|request, _| match request.messages.len() % 4 {
        1 => calls(&[("Do", r#"{"x":"a"}"#)]),
        _ => says("done"),
    });
    let log = world.log.clone();
    let tool = Fake::new(&log, "Do", Rules::of(Access::Web), Does::Echo(0));
    let world = world.mode(Mode::Full).with(tool);
    hooked(world, words)
}

fn hooked(world: World, words: &[(&'static str, Words)]) -> World {
    words.iter().fold(world, |world, (at, words)| {
        let log = world.log.clone();
        world.hooked(Says { log, at, words: words.clone() })
    })
}

fn arguments(word: &str) -> Words {
    Words::instead(Map::from_iter([("x".to_owned(), Value::from(word))]))
}

#[tokio::test(start_paused = true)]
async fn a_turn_comes_by_every_place_in_order() {
    let world = world(&[("nowhere", Words::default())]);
    assert_eq!(world.run("go").await.status, TurnStatus::Done);
    world.log.came(&[
        "hook begins \"go\" true",
        "hook call Do Web {\"x\":\"a\"}",
        "ruling on Do",
        "Do begins a",
        "hook called false",
        "hook calls 1",
        "hook stops \"done\" false",
        "hook ends Done None",
    ]);
    assert_eq!(world.run("more").await.status, TurnStatus::Done);
    world.log.came(&["hook ends Done None", "hook begins \"more\" false"]);
}

#[tokio::test(start_paused = true)]
async fn a_denial_holds_in_full_mode_whatever_another_hook_says_and_the_model_learns_why() {
    let world = world(&[
        ("call", Words::ask("look at it")),
        ("call", Words::deny("not on a Friday")),
        ("call", Words::note("noted")),
    ]);
    assert_eq!(world.run("go").await.status, TurnStatus::Done);
    assert_eq!((world.log.count("Do begins"), world.log.count("ask with")), (0, 0));
    let told = format!("{:?}", world.asked().last().unwrap().messages);
    assert!(told.contains("not on a Friday"), "{told}");
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_wants_the_user_asked_is_heard_in_full_mode_and_each_time() {
    let world = world(&[("call", Words::ask("look at it"))]);
    for _ in 0..2 {
        let turn = world.begin("go");
        world.allow(Answer::AllowForGood).await;
        assert_eq!(turn.await.unwrap().unwrap().status, TurnStatus::Done);
    }
    assert_eq!((world.log.count("Do begins"), world.log.count("ask with")), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn notes_reach_the_model_beside_the_message_and_the_result() {
    let world =
        world(&[("begins", Words::note("it is Friday")), ("called", Words::note("3 tests fail now"))]);
    world.run("go").await;
    let told = format!("{:?}", world.asked().last().unwrap().messages);
    assert!(told.contains("it is Friday") && told.contains("3 tests fail now"), "{told}");
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_a_hook_denies_fails_with_its_reason_and_asks_no_model() {
    let world = world(&[("begins", Words::deny("the budget is spent"))]);
    let end = world.run("go").await;
    assert_eq!((end.status, end.error.as_deref()), (TurnStatus::Failed, Some("the budget is spent")));
    assert!(world.asked().is_empty());
    world.log.came(&["hook begins", "hook ends Failed"]);
}

#[tokio::test(start_paused = true)]
async fn replaced_arguments_are_parsed_judged_and_run_and_the_model_learns_of_them() {
    let world = world(&[("call", arguments("b"))]);
    assert_eq!(world.run("go").await.status, TurnStatus::Done);
    world.log.came(&["hook call Do Web {\"x\":\"a\"}", "ruling on Do Command(\"b\")", "Do begins b"]);
    assert!(world.chat.results()[0].contains(r#"changed the arguments of this call to {"x":"b"}"#));
}

#[tokio::test(start_paused = true)]
async fn a_replaced_result_is_what_the_model_gets() {
    let world = world(&[("called", Words { result: Some("[hidden]".to_owned()), ..Words::note("mind it") })]);
    assert_eq!(world.run("go").await.status, TurnStatus::Done);
    assert_eq!(world.chat.results(), ["[hidden]\n\nA hook changed the result of this call.\n\nmind it"]);
}

#[tokio::test(start_paused = true)]
async fn replaced_arguments_that_are_none_fail_the_call_and_run_nothing() {
    let bad = Words::instead(Map::from_iter([("bad".to_owned(), Value::from(1))]));
    let world = world(&[("call", bad)]);
    assert_eq!(world.run("go").await.status, TurnStatus::Done);
    assert_eq!(world.log.count("Do begins"), 0);
    assert!(world.chat.results()[0].contains("the arguments are invalid"), "{:?}", world.chat.results());
}

#[tokio::test(start_paused = true)]
async fn a_denied_call_keeps_its_arguments() {
    let world = world(&[("call", arguments("b")), ("call", Words::deny("no"))]);
    world.run("go").await;
    assert_eq!(world.log.count("Do begins"), 0);
    world.log.came(&["hook denied Do no"]);
    assert!(!world.chat.results()[0].contains("changed the arguments"), "{:?}", world.chat.results());
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_allows_spares_the_modes_question_and_no_other() {
    for (words, asked) in [
        (vec![("call", Words::allow())], 0),
        (vec![("asks", Words::allow())], 0),
        (vec![("call", Words::allow()), ("call", Words::ask("look at it"))], 1),
        (vec![("asks", Words::allow()), ("call", Words::ask("look at it"))], 1),
    ] {
        let world = world(&words).mode(Mode::Ask);
        let turn = world.begin("go");
        if asked == 1 {
            world.allow(Answer::Deny).await;
        }
        turn.await.unwrap().unwrap();
        assert_eq!(
            (world.log.count("ask with"), world.log.count("Do begins")),
            (asked, 1 - asked),
            "{words:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_that_needs_approval_each_time_is_allowed_by_a_hook() {
    for at in ["call", "asks"] {
        let world = World::new(vec![calls(&[("Do", r#"{"x":"a"}"#)]), says("done")]);
        let tool = Fake::new(&world.log.clone(), "Do", Rules::of(Access::Settings), Does::Echo(0));
        let world = hooked(world.mode(Mode::Full).with(tool), &[(at, Words::allow())]);
        let turn = world.begin("go");
        world.allow(Answer::Deny).await;
        turn.await.unwrap().unwrap();
        assert_eq!((world.log.count("ask with"), world.log.count("Do begins")), (1, 0), "{at}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_hook_answers_the_question_with_no_in_place_of_the_user() {
    let world = world(&[("asks", Words::deny("never on this machine"))]).mode(Mode::Ask);
    assert_eq!(world.run("go").await.status, TurnStatus::Done);
    assert_eq!((world.log.count("ask with"), world.log.count("Do begins")), (0, 0));
    world.log.came(&["hook asks Do Web", "hook denied Do never on this machine"]);
}

#[tokio::test(start_paused = true)]
async fn a_model_that_is_done_goes_on_as_often_as_the_limit_allows_and_no_more() {
    let world = world(&[("stops", Words::deny("the tests do not pass"))]);
    assert_eq!(world.run("go").await.status, TurnStatus::Done);
    assert_eq!(world.log.count("hook stops"), STOPS_DENIED + 1);
    world.log.came(&["hook stops \"done\" false", "hook stops \"done\" true", "hook ends Done None"]);
    let told = format!("{:?}", world.asked().last().unwrap().messages);
    assert!(told.contains("the tests do not pass"), "{told}");
}

#[tokio::test(start_paused = true)]
async fn the_users_no_is_told_to_hooks() {
    let world = world(&[("nowhere", Words::default())]).mode(Mode::Ask);
    let turn = world.begin("go");
    world.allow(Answer::Deny).await;
    turn.await.unwrap().unwrap();
    world.log.came(&[
        "hook call Do",
        "hook asks Do Web",
        "hook denied Do The user does not allow this",
        "hook calls 1",
    ]);
    assert_eq!(world.log.count("hook called"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_hook_ends_the_turn_after_the_calls_of_an_answer() {
    let world = world(&[("calls", Words::deny("that is enough"))]);
    let end = world.run("go").await;
    assert_eq!((end.status, end.error.as_deref()), (TurnStatus::Failed, Some("that is enough")));
    assert_eq!((world.log.count("Do begins"), world.asked().len()), (1, 1));
}

/// A hook that holds each request, except after that many answers, and logs it.
struct Holds {
    log: Log,
    refuses_after: usize,
}

/// Logs its release.
struct Released(Log);

impl Drop for Released {
    fn drop(&mut self) {
        self.0.add("released".to_owned());
    }
}

impl Hook for Holds {
    fn at<'a>(&'a self, _: HookedTurn<'a>, _: Place<'a>) -> BoxFuture<'a, Words> {
        Box::pin(std::future::ready(Words::default()))
    }

    fn holds<'a>(&'a self, _: HookedTurn<'a>, estimate: Estimate) -> BoxFuture<'a, Result<Hold, String>> {
        self.log.add(format!("holds {:?}", estimate.answers));
        // The test's model costs 100 a token written, and its answers have at most 1,000.
        assert!(estimate.tokens > 1_000 && estimate.cost_micros > 100_000, "{estimate:?}");
        let held = match estimate.answers {
            Some(answers) if answers >= self.refuses_after => Err("no budget is left".to_owned()),
            _ => Ok(Hold::of(Released(self.log.clone())).with_note("be brief")),
        };
        Box::pin(std::future::ready(held))
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_is_held_until_its_use_is_on_record() {
    let world = world(&[]);
    let log = world.log.clone();
    let world = world.hooked(Holds { log, refuses_after: 2 });
    assert_eq!(world.run("go").await.status, TurnStatus::Done);
    world.log.came(&[
        "holds Some(0)",
        "answer of",
        "released",
        "Do begins",
        "holds Some(1)",
        "answer of",
        "released",
    ]);
    assert_eq!(world.log.count("released"), 2);
    assert_eq!(world.asked()[1].reminder.as_deref(), Some("be brief"));
}

#[tokio::test(start_paused = true)]
async fn a_request_that_a_hook_refuses_ends_the_turn_with_its_reason() {
    let world = world(&[]);
    let log = world.log.clone();
    let world = world.hooked(Holds { log, refuses_after: 1 });
    let end = world.run("go").await;
    assert_eq!((end.status, end.error.as_deref()), (TurnStatus::Failed, Some("no budget is left")));
    assert_eq!((world.asked().len(), world.log.count("released")), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn notes_of_the_places_between_calls_reach_the_model_with_its_next_request() {
    for at in ["asks", "calls"] {
        let world = world(&[(at, Words::note("look at the log"))]).mode(Mode::Ask);
        let turn = world.begin("go");
        world.allow(Answer::Allow).await;
        assert_eq!(turn.await.unwrap().unwrap().status, TurnStatus::Done);
        let told = format!("{:?}", world.asked().last().unwrap().messages);
        assert_eq!(told.matches("look at the log").count(), 1, "{at}: {told}");
    }
    let world = world(&[("stops", Words { notes: vec!["see x".to_owned()], ..Words::deny("not yet") })]);
    world.run("go").await;
    let told = format!("{:?}", world.asked().last().unwrap().messages);
    assert!(told.contains("not yet") && told.contains("see x"), "{told}");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_the_user_stops_is_told_to_hooks_as_such_and_is_no_denial() {
    let world = World::new(vec![calls(&[("Look", "{}")])]);
    let log = world.log.clone();
    let world =
        hooked(world.with(Fake::reads(&log, "Look", Does::Echo(60_000))), &[("no", Words::default())]);
    let turn = world.begin("go");
    world.wait(100).await;
    world.cancelled.cancel();
    assert_eq!(turn.await.unwrap().unwrap().status, TurnStatus::Cancelled);
    world.log.came(&["hook call Look", "hook cancelled", "hook ends Cancelled None"]);
    assert_eq!((world.log.count("hook denied"), world.log.count("hook calls")), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_question_that_the_user_stops_is_no_denial_of_the_call() {
    let world = world(&[("nowhere", Words::default())]).mode(Mode::Ask);
    let turn = world.begin("go");
    world.wait(100).await;
    world.cancelled.cancel();
    assert_eq!(turn.await.unwrap().unwrap().status, TurnStatus::Cancelled);
    world.log.came(&["hook asks Do", "hook ends Cancelled None"]);
    assert_eq!((world.log.count("hook denied"), world.log.count("hook cancelled")), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_failed_tells_its_hooks_the_cause() {
    let fails_with = |error: Error| World::by(move |_, _| fails(error.clone()));
    let limited = || Error::RateLimited { message: String::new(), retry_after: None };
    for (world, cause) in [
        (fails_with(Error::Key(String::new())), "authentication_failed"),
        (fails_with(limited()), "rate_limit"),
        (fails_with(Error::InputTooLong(String::new())), "context_too_long"),
        (World::new(vec![vec![text("x"), ended(Stop::Refused)]]), "refusal"),
        (World::new(vec![vec![text("x"), ended(Stop::MaxTokens)]]), "max_output_tokens"),
        (World::by(|_, _| calls(&[("Nothing", "{}")])), "max_answers"),
        (hooked(World::new(vec![says("x")]), &[("begins", Words::deny("no"))]), "denied"),
    ] {
        let world = hooked(world, &[("nowhere", Words::default())]);
        assert_eq!(world.run("go").await.status, TurnStatus::Failed, "{cause}");
        let ends = world.log.lines().into_iter().rfind(|line| line.starts_with("hook ends Failed"));
        assert!(ends.as_ref().is_some_and(|line| line.ends_with(&format!(" {cause}"))), "{cause}: {ends:?}");
    }
    let world = hooked(World::new(Vec::new()), &[("nowhere", Words::default())]);
    world.set(|settings| settings.chain = Err("no model is set up".to_owned()));
    world.run("go").await;
    assert!(world.log.lines().last().unwrap().ends_with("model_not_found"), "{:?}", world.log.lines());
}
