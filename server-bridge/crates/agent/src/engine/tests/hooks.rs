//! Denials, questions and notes of hooks.

use futures_util::future::BoxFuture;
use records::TurnStatus;

use super::fakes::{Does, Fake};
use super::model::{calls, says};
use super::world::{Log, World};
use crate::approval::{Access, Answer, Mode};
use crate::hooks::{Hook, HookedTurn, Place, Word};
use crate::tool::Rules;

/// A hook that gives one word at one place, and logs all places.
struct Says {
    log: Log,
    at: &'static str,
    word: Word,
}

impl Hook for Says {
    fn at<'a>(&'a self, _: HookedTurn<'a>, place: Place<'a>) -> BoxFuture<'a, Word> {
        let name = match place {
            Place::TurnBegins => "begins".to_owned(),
            Place::CallBegins { call, access } => format!("call {} {access:?}", call.name),
            Place::CallEnds { outcome, .. } => format!("called {}", outcome.is_error),
            Place::Compresses => "compresses".to_owned(),
            Place::TurnEnds { status } => format!("ends {status:?}"),
        };
        self.log.add(format!("hook {name}"));
        let is_here = name.split(' ').next() == Some(self.at);
        Box::pin(async move { if is_here { self.word.clone() } else { Word::Pass } })
    }
}

/// A chat in full mode whose agent calls a web-reading tool and ends; with a hook for each of these words.
fn world(words: &[(&'static str, Word)]) -> World {
    let world = World::by(|request, _| match request.messages.len() % 4 {
        1 => calls(&[("Do", r#"{"x":"a"}"#)]),
        _ => says("done"),
    });
    let log = world.log.clone();
    let tool = Fake::new(&log, "Do", Rules::of(Access::Web), Does::Echo(0));
    let world = world.mode(Mode::Full).with(tool);
    words.iter().fold(world, |world, (at, word)| {
        let log = world.log.clone();
        world.hooked(Says { log, at, word: word.clone() })
    })
}

fn because(why: &str) -> String {
    why.to_owned()
}

#[tokio::test(start_paused = true)]
async fn a_turn_comes_by_every_place_in_order() {
    let world = world(&[("nowhere", Word::Pass)]);
    assert_eq!(world.run("go").await.status, TurnStatus::Done);
    world.log.came(&[
        "hook begins",
        "hook call Do Web",
        "Do begins a",
        "hook called false",
        "hook ends Done",
    ]);
}

#[tokio::test(start_paused = true)]
async fn a_denial_holds_in_full_mode_whatever_another_hook_says_and_the_model_learns_why() {
    let world = world(&[
        ("call", Word::Ask(because("look at it"))),
        ("call", Word::Deny(because("not on a Friday"))),
        ("call", Word::Note(because("noted"))),
    ]);
    assert_eq!(world.run("go").await.status, TurnStatus::Done);
    assert_eq!((world.log.count("Do begins"), world.log.count("ask with")), (0, 0));
    let told = format!("{:?}", world.asked().last().unwrap().messages);
    assert!(told.contains("not on a Friday"), "{told}");
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_wants_the_user_asked_is_heard_in_full_mode_and_each_time() {
    let world = world(&[("call", Word::Ask(because("look at it")))]);
    for _ in 0..2 {
        let turn = world.begin("go");
        world.allow(Answer::AllowForGood).await;
        assert_eq!(turn.await.unwrap().unwrap().status, TurnStatus::Done);
    }
    assert_eq!((world.log.count("Do begins"), world.log.count("ask with")), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn notes_reach_the_model_beside_the_message_and_the_result() {
    let world = world(&[
        ("begins", Word::Note(because("it is Friday"))),
        ("called", Word::Note(because("3 tests fail now"))),
    ]);
    world.run("go").await;
    let told = format!("{:?}", world.asked().last().unwrap().messages);
    assert!(told.contains("it is Friday") && told.contains("3 tests fail now"), "{told}");
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_a_hook_denies_fails_with_its_reason_and_asks_no_model() {
    let world = world(&[("begins", Word::Deny(because("the budget is spent")))]);
    let end = world.run("go").await;
    assert_eq!((end.status, end.error.as_deref()), (TurnStatus::Failed, Some("the budget is spent")));
    assert!(world.asked().is_empty());
    world.log.came(&["hook begins", "hook ends Failed"]);
}
