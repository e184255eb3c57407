//! Permissions of calls, and the effect of the user's answers.

use std::time::Duration;

use records::TurnStatus;
use tokio::time::Instant;

use super::fakes::{Does, Fake};
use super::model::{calls, says};
use super::world::World;
use crate::approval::{Access, Answer, Mode};
use crate::limits::{APPROVAL_DETAIL_BYTES, APPROVAL_PATIENCE};
use crate::tool::Rules;

/// A chat in a mode, whose agent calls one tool with an access and the arguments `{"x":"a"}`, as often as it is asked.
fn world(mode: Mode, access: Access) -> World {
    let world = World::by(|request, _| match request.messages.len() % 4 {
        1 => calls(&[("Do", r#"{"x":"a"}"#)]),
        _ => says("done"),
    });
    let log = world.log.clone();
    world.mode(mode).with(Fake::new(&log, "Do", Rules::of(access), Does::TellsContext))
}

#[tokio::test(start_paused = true)]
async fn nothing_is_asked_for_in_full_mode() {
    for access in [Access::Run, Access::End, Access::Web, Access::Remember] {
        let world = world(Mode::Full, access);
        world.run("go").await;
        assert_eq!((world.log.count("ask with"), world.log.count("Do begins")), (0, 1), "{access:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_read_is_never_asked_for() {
    for mode in Mode::ALL {
        let world = world(mode, Access::Read);
        world.run("go").await;
        assert_eq!((world.log.count("ask with"), world.log.count("Do begins")), (0, 1), "{mode}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_for_its_users_word_and_nobody_is_told_before_an_answer_would_count() {
    let world = world(Mode::Ask, Access::Web);
    let turn = world.begin("go");
    world.wait(10_000).await;
    assert_eq!(world.log.count("Do begins"), 0);
    world.allow(Answer::Allow).await;
    assert_eq!(turn.await.unwrap().unwrap().status, TurnStatus::Done);
    let asked_at = world.log.first("ask with 2");
    for seen in ["card 2 Do a asks", "tell 2"] {
        assert!(asked_at < world.log.first(seen), "an answer could come too soon");
    }
    world.log.came(&[
        "ask with 2 Approval",
        "card 2 Do a asks uses Do",
        "tell 2",
        "card 2 Do a runs",
        "runs Web",
        "Do begins a",
        "card 2 Do a Done",
    ]);
}

#[tokio::test(start_paused = true)]
async fn what_is_denied_does_not_run_and_the_model_is_told_who_said_so() {
    for (answer, why) in
        [(Answer::Deny, "The user does not allow this"), (Answer::NobodyThere, "nobody could be asked")]
    {
        let world = world(Mode::Ask, Access::Web);
        let turn = world.begin("go");
        world.allow(answer).await;
        assert_eq!(turn.await.unwrap().unwrap().status, TurnStatus::Done, "the turn goes on");
        assert_eq!((world.log.count("Do begins"), world.log.count("runs ")), (0, 0));
        assert!(world.chat.results()[0].contains(why));
        assert!(world.chat.shown(2).contains("Denied None"), "{}", world.chat.shown(2));
    }
}

#[tokio::test(start_paused = true)]
async fn nobodys_word_within_five_minutes_is_a_no() {
    let world = world(Mode::Ask, Access::Web);
    let begun = Instant::now();
    world.run("go").await;
    assert!(
        begun.elapsed() >= APPROVAL_PATIENCE && begun.elapsed() < APPROVAL_PATIENCE + Duration::from_secs(1)
    );
    assert!(world.chat.results()[0].contains("Nobody was there to allow this"));
    assert_eq!(world.log.count("Do begins"), 0);
}

#[tokio::test(start_paused = true)]
async fn what_was_allowed_for_good_is_not_asked_for_again() {
    let world = world(Mode::Ask, Access::Web);
    let turn = world.begin("go");
    world.allow(Answer::AllowForGood).await;
    turn.await.unwrap().unwrap();
    world.log.came(&["allowed for good Do", "Do begins a"]);
    world.run("again").await;
    assert_eq!((world.log.count("ask with"), world.log.count("Do begins")), (1, 2));
}

#[tokio::test(start_paused = true)]
async fn what_reaches_beyond_the_chat_is_allowed_this_once_whatever_was_said() {
    let world = world(Mode::Ask, Access::Settings);
    for (text, times) in [("go", 1), ("again", 2)] {
        let turn = world.begin(text);
        world.allow(Answer::AllowForGood).await;
        turn.await.unwrap().unwrap();
        assert_eq!((world.log.count("ask with"), world.log.count("Do begins")), (times, times));
    }
    assert_eq!(world.log.count("allowed for good"), 0);
}

#[tokio::test(start_paused = true)]
async fn plan_mode_denies_what_changes_something_without_asking() {
    for access in [Access::Edit, Access::End, Access::Download, Access::Settings, Access::Remember] {
        let world = world(Mode::Plan, access);
        world.run("go").await;
        assert_eq!((world.log.count("ask with"), world.log.count("Do begins")), (0, 0), "{access:?}");
        assert!(world.chat.results()[0].contains("plan mode"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_command_in_plan_mode_runs_and_knows_that_nothing_may_be_changed() {
    let world = world(Mode::Plan, Access::Run);
    world.run("go").await;
    assert_eq!(world.chat.results(), ["plan true, approved false"]);
    world.log.came(&["runs Run", "Do begins a"]);
}

#[tokio::test(start_paused = true)]
async fn an_edit_that_nobody_was_asked_for_takes_back_which_commands_were_allowed() {
    let world = world(Mode::AutoEdit, Access::Edit);
    world.run("go").await;
    world.log.came(&["files change", "Do begins a"]);
    assert_eq!(world.log.count("ask with"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_mode_that_became_stricter_while_the_user_was_asked_holds() {
    let world = world(Mode::Ask, Access::Settings);
    let turn = world.begin("go");
    world.wait(100).await;
    world.set(|settings| settings.mode = Mode::Plan);
    world.allow(Answer::Allow).await;
    turn.await.unwrap().unwrap();
    assert_eq!(world.log.count("Do begins"), 0);
    assert!(world.chat.results()[0].contains("plan mode"));
}

#[tokio::test(start_paused = true)]
async fn a_command_as_another_user_asks_in_every_mode_where_that_may_be_the_privileged_one() {
    // Without a machine, it is unknown whether the account is the privileged user, so it counts as that; nothing can be shown of the call either.
    let world = World::new(vec![calls(&[("Do", r#"{"x":"a"}"#)])]);
    let log = world.log.clone();
    let tool = Fake::new(&log, "Do", Rules::of(Access::Run), Does::TellsContext).run_as("root");
    let world = world.mode(Mode::Full).with(tool);
    world.run("go").await;
    assert_eq!(world.log.count("Do begins"), 0);
    assert!(world.chat.results()[0].contains("there is no machine"));
}

#[tokio::test(start_paused = true)]
async fn what_is_too_long_to_be_shown_is_not_asked_for() {
    let long = format!(r#"{{"x":"{}"}}"#, "x ".repeat(APPROVAL_DETAIL_BYTES / 2));
    let world = World::new(vec![calls(&[("Do", &long)])]);
    let log = world.log.clone();
    let world = world.mode(Mode::Ask).with(Fake::new(&log, "Do", Rules::of(Access::Web), Does::Echo(1)));
    world.run("go").await;
    assert_eq!((world.log.count("ask with"), world.log.count("Do begins")), (0, 0));
    assert!(world.chat.results()[0].contains("do it in parts"));
}

#[tokio::test(start_paused = true)]
async fn what_would_come_to_nothing_is_not_asked_for() {
    let world = World::new(vec![calls(&[("Do", "{}")])]);
    let log = world.log.clone();
    let tool = Fake::new(&log, "Do", Rules::of(Access::Web), Does::Echo(1)).looks_bad();
    let world = world.mode(Mode::Ask).with(tool);
    world.run("go").await;
    assert_eq!((world.log.count("ask with"), world.log.count("Do begins")), (0, 0));
    assert!(world.chat.results()[0].contains("there is no such file"));
}

#[tokio::test(start_paused = true)]
async fn what_needs_a_machine_to_be_looked_at_is_not_asked_for_without_one() {
    let world = world(Mode::Ask, Access::Edit);
    world.run("go").await;
    assert_eq!(world.log.count("ask with"), 0);
    assert!(world.chat.results()[0].contains("there is no machine"));
}

#[tokio::test(start_paused = true)]
async fn two_calls_of_one_answer_are_asked_for_one_after_the_other() {
    let world = World::new(vec![calls(&[("Do", r#"{"x":"a"}"#), ("Do", r#"{"x":"b"}"#)])]);
    let log = world.log.clone();
    let world = world.mode(Mode::Ask).with(Fake::new(&log, "Do", Rules::of(Access::Web), Does::Echo(1)));
    let turn = world.begin("go");
    world.wait(100).await;
    assert_eq!(world.log.count("ask with"), 1);
    world.allow(Answer::Deny).await;
    world.allow(Answer::Allow).await;
    turn.await.unwrap().unwrap();
    let results = world.chat.results();
    assert!(results[0].contains("does not allow this") && results[1] == "Do of b", "{results:?}");
}

#[tokio::test(start_paused = true)]
async fn an_approval_that_cannot_be_kept_ends_the_turn_before_the_call_runs() {
    let world = world(Mode::Ask, Access::Web);
    world.breaks("allow_for_good");
    let turn = world.begin("go");
    world.allow(Answer::AllowForGood).await;
    assert_eq!(turn.await.unwrap().unwrap().status, TurnStatus::Failed);
    assert_eq!(world.log.count("Do begins"), 0);
}
