//! Messengers that cannot be reached, clocks that are set, questions that have expired, and messages that were recalled.

use api::words::ChannelState;
use tests::{Reply, ScriptedModel};

use super::asks::{dangerous, offer};
use super::messenger::{Fault, Messenger, Shown};
use super::{World, echo, until};
use crate::limits::{ASK_PATIENCE_MS, RECONNECT_MIN};
use crate::questions::NO_LONGER;

const HOUR_MS: i64 = 3_600_000;

/// The state in which clients see the account.
pub(super) async fn state(world: &World) -> ChannelState {
    world.channels.list(&world.root).await.unwrap().channels.remove(0).state
}

async fn becomes(world: &World, wanted: ChannelState) {
    until(&format!("it is {wanted}"), async || (state(world).await == wanted).then_some(())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_messenger_that_is_down_is_shown_as_down_tried_again_and_back_by_itself() {
    let world = World::new(echo(), Messenger::new()).await;
    world.link(&world.ada, "ann").await;
    becomes(&world, ChannelState::Connected).await;
    let connections = world.messenger.connections();
    let begun = std::time::Instant::now();
    world.messenger.goes_down(true);
    becomes(&world, ChannelState::Down).await;
    let view = world.channels.list(&world.root).await.unwrap().channels.remove(0);
    assert!(["the connection ended", "nobody answers"].contains(&view.last_error.as_str()), "{view:?}");
    world.messenger.says("ann", "ann", "while you were away");
    until("it is tried again", async || (world.messenger.connections() > connections).then_some(())).await;
    // The first pause has jitter: half of it at least.
    assert!(begun.elapsed() >= RECONNECT_MIN / 2, "{:?}", begun.elapsed());
    until("the reason is shown", async || {
        let view = world.channels.list(&world.root).await.unwrap().channels.remove(0);
        (view.last_error == "nobody answers").then_some(())
    })
    .await;
    assert_eq!(state(&world).await, ChannelState::Down);
    world.messenger.goes_down(false);
    world.reads("ann", "echo: while you were away").await;
    becomes(&world, ChannelState::Connected).await;
    assert!(world.messenger.connections() - connections <= 3, "{}", world.messenger.connections());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_is_set_back_or_forward_holds_nothing_up() {
    let world = World::new(echo(), Messenger::new()).await;
    world.link(&world.ada, "ann").await;
    for (number, hours) in [-72, 30, -400, 0, 24 * 300].into_iter().enumerate() {
        // The clock is set while a message waits to be sent, and while the account waits to connect again.
        world.messenger.goes_down(true);
        world.messenger.says("ann", "ann", &number.to_string());
        becomes(&world, ChannelState::Down).await;
        world.sets_clock(hours * HOUR_MS);
        world.messenger.goes_down(false);
        let answer = format!("echo: {number}");
        world.reads("ann", &answer).await;
        world.rests().await;
        assert_eq!(world.messenger.texts("ann").iter().filter(|text| **text == answer).count(), 1);
        // A third fast end is followed by a long pause, so the account is connected anew.
        world.put(false).await;
        world.put(true).await;
    }
}

/// Returns a world in which Ann is asked to allow a call, her question, and the token of its button `Allow`.
async fn asked(what: &str) -> (World, Shown, String) {
    let world = World::new(dangerous(what.to_owned()), Messenger::new()).await;
    offer(&world.chats);
    world.link(&world.ada, "ann").await;
    world.messenger.says("ann", "ann", "do it");
    let ask = world.reads("ann", "Danger needs your approval").await;
    let allow = ask.buttons.iter().find(|button| button.label == "Allow").unwrap().token.clone();
    world.rests().await;
    (world, ask, allow)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_press_on_an_expired_question_does_nothing_and_says_so() {
    let (mut world, ask, allow) = asked("expires").await;
    world.sets_clock(ASK_PATIENCE_MS + HOUR_MS);
    world.messenger.presses("ann", &ask, &allow);
    world.rests().await;
    assert_eq!(world.messenger.press_answers(), [NO_LONGER]);
    assert!(!world.messenger.texts("ann").iter().any(|text| text.contains("result:")));
    // The next server asks again, and the person gets as much time again to answer.
    world.restart().await;
    until("the press counts", async || {
        world.messenger.presses("ann", &ask, &allow);
        world.rests().await;
        let answers = world.messenger.press_answers();
        let is_late = |text: &String| text == NO_LONGER || text.contains("will ask this again");
        (!is_late(answers.last().unwrap())).then_some(())
    })
    .await;
    world.reads("ann", "result: it was done").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_press_after_its_turn_was_cancelled_does_nothing_and_says_so_also_after_a_restart() {
    let (mut world, ask, allow) = asked("cancelled").await;
    world.messenger.says("ann", "ann", "/cancel");
    let shown = world.reads("ann", "no longer waits").await;
    assert!(shown.id == ask.id && shown.buttons.is_empty(), "{shown:?}");
    for number in 1..3 {
        world.messenger.presses("ann", &ask, &allow);
        world.rests().await;
        assert_eq!(world.messenger.press_answers(), vec![NO_LONGER; number]);
        world.restart().await;
    }
    assert!(!world.messenger.texts("ann").iter().any(|text| text.contains("result:")));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_answer_to_a_recalled_message_arrives_once_without_a_reference_to_it() {
    let model = ScriptedModel::start(|asked| {
        Reply::Say(format!("echo: {}\n{}", asked.last_of_user(), "word ".repeat(200)))
    });
    let world = World::new(model, Messenger::new()).await;
    world.link(&world.ada, "ann").await;
    world.rests().await;
    // Each part of the answer refers to the message.
    world.messenger.fails([Fault::Recalled, Fault::Recalled, Fault::Recalled, Fault::TakenUnsaid]);
    world.messenger.says("ann", "ann", "never mind");
    world.reads("ann", "echo: never mind").await;
    world.rests().await;
    let view = world.channels.list(&world.root).await.unwrap().channels.remove(0);
    assert_eq!(view.failed, 0);
    let texts = world.messenger.texts("ann");
    let words: usize = texts.iter().map(|text| text.matches("word").count()).sum();
    assert_eq!(
        (texts.iter().filter(|text| text.starts_with("echo: never mind")).count(), words),
        (1, 200),
        "{texts:?}"
    );
}
