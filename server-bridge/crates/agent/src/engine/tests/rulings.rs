//! The rulings of permission rules on calls.

use records::TurnStatus;

use super::fakes::{Does, Fake};
use super::hooks::Says;
use super::model::{calls, says};
use super::world::World;
use crate::approval::{Access, Answer, Mode, Ruling};
use crate::hooks::Words;
use crate::tool::Rules;

/// A chat in a mode, whose agent calls one tool with an access, on which the rules give a ruling.
fn world(mode: Mode, access: Access, ruling: Ruling) -> World {
    let world = World::by(|request, _| match request.messages.len() % 4 {
        1 => calls(&[("Do", r#"{"x":"a"}"#)]),
        _ => says("done"),
    });
    world.set(|settings| drop(settings.rulings.insert("Do".to_owned(), ruling)));
    let log = world.log.clone();
    world.mode(mode).with(Fake::new(&log, "Do", Rules::of(access), Does::Echo(0)))
}

fn deny() -> Ruling {
    Ruling::Deny("a rule of yours denies it: Do".to_owned())
}

fn ask() -> Ruling {
    Ruling::Ask("a rule of yours asks: Do".to_owned())
}

#[tokio::test(start_paused = true)]
async fn a_denial_holds_in_every_mode_and_for_every_access_and_the_model_learns_why() {
    for mode in Mode::ALL {
        for access in [Access::Read, Access::Edit, Access::Run, Access::Web, Access::Settings] {
            let world = world(mode, access, deny());
            assert_eq!(world.run("go").await.status, TurnStatus::Done);
            assert_eq!(
                (world.log.count("Do begins"), world.log.count("ask with")),
                (0, 0),
                "{mode} {access:?}"
            );
            assert!(world.chat.results()[0].contains("a rule of yours denies it"), "{mode} {access:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_denial_holds_for_a_call_that_was_allowed_for_good() {
    let world = world(Mode::Ask, Access::Web, Ruling::Silent);
    let turn = world.begin("go");
    world.allow(Answer::AllowForGood).await;
    turn.await.unwrap().unwrap();
    world.set(|settings| drop(settings.rulings.insert("Do".to_owned(), deny())));
    world.run("go").await;
    assert_eq!(world.log.count("Do begins"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_rule_that_asks_is_heard_in_full_mode_each_time_and_even_for_a_read() {
    for access in [Access::Web, Access::Read] {
        let world = world(Mode::Full, access, ask());
        for _ in 0..2 {
            let turn = world.begin("go");
            world.allow(Answer::AllowForGood).await;
            assert_eq!(turn.await.unwrap().unwrap().status, TurnStatus::Done);
        }
        assert_eq!((world.log.count("Do begins"), world.log.count("ask with")), (2, 2), "{access:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_rule_that_allows_spares_the_modes_question() {
    let world = world(Mode::Ask, Access::Web, Ruling::Allow);
    world.run("go").await;
    assert_eq!((world.log.count("Do begins"), world.log.count("ask with")), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_rule_that_allows_changes_nothing_about_plan_mode() {
    let world = world(Mode::Plan, Access::Edit, Ruling::Allow);
    world.run("go").await;
    assert_eq!((world.log.count("Do begins"), world.log.count("ask with")), (0, 0));
    assert!(world.chat.results()[0].contains("plan mode"));
}

#[tokio::test(start_paused = true)]
async fn what_needs_approval_each_time_is_asked_for_in_spite_of_a_rule_that_allows_it() {
    for access in [Access::Settings, Access::Remember] {
        let world = world(Mode::Ask, access, Ruling::Allow);
        let turn = world.begin("go");
        world.allow(Answer::Deny).await;
        turn.await.unwrap().unwrap();
        assert_eq!((world.log.count("Do begins"), world.log.count("ask with")), (0, 1), "{access:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_wants_the_user_asked_is_heard_in_spite_of_a_rule_that_allows_it() {
    let world = world(Mode::Full, Access::Web, Ruling::Allow);
    let log = world.log.clone();
    let world = world.hooked(Says { log, at: "call", words: Words::ask("look at it") });
    let turn = world.begin("go");
    world.allow(Answer::Deny).await;
    turn.await.unwrap().unwrap();
    assert_eq!((world.log.count("Do begins"), world.log.count("ask with")), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn a_rule_that_cannot_be_read_ends_the_turn_before_the_call_runs() {
    let world = world(Mode::Full, Access::Web, Ruling::Silent);
    world.breaks("ruling");
    assert_eq!(world.run("go").await.status, TurnStatus::Failed);
    assert_eq!(world.log.count("Do begins"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_not_understood_is_not_ruled_on() {
    let world = World::new(vec![calls(&[("Do", r#"{"bad":"a"}"#)])]);
    let log = world.log.clone();
    let world = world.mode(Mode::Full).with(Fake::new(&log, "Do", Rules::of(Access::Web), Does::Echo(0)));
    world.run("go").await;
    assert_eq!(world.log.count("ruling on"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_denial_that_came_while_the_user_was_asked_holds() {
    let world = world(Mode::Ask, Access::Web, Ruling::Silent);
    let turn = world.begin("go");
    world.wait(100).await;
    world.set(|settings| drop(settings.rulings.insert("Do".to_owned(), deny())));
    world.allow(Answer::Allow).await;
    turn.await.unwrap().unwrap();
    assert_eq!(world.log.count("Do begins"), 0);
    assert!(world.chat.results()[0].contains("a rule of yours denies it"));
}
