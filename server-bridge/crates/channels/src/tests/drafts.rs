//! Drafts: edited in place, no faster than the messenger allows, and replaced by the complete answer in the end.

use std::time::Duration;

use tests::{Gate, Reply, ScriptedModel};

use super::limits::own_account;
use super::messenger::{Fault, Messenger};
use super::{World, around, until};
use crate::Surroundings;
use crate::limits::EDIT_TRIES;

/// The time between two pieces of a text.
const PIECE: Duration = Duration::from_millis(30);

/// Returns settings with which drafts appear soon.
fn soon() -> Surroundings {
    Surroundings { draft_after: Duration::from_millis(100), ..around() }
}

/// A text of `count` numbered words.
fn words(count: usize) -> String {
    (0..count).map(|number| format!("w{number:03} ")).collect::<String>().trim_end().to_owned()
}

/// A model that writes a text slowly.
fn slow(text: String) -> ScriptedModel {
    ScriptedModel::start(move |_| Reply::Slowly(text.clone(), PIECE))
}

/// A model whose answers consist of this text and end when the gate opens.
fn held(text: &'static str) -> (ScriptedModel, Gate) {
    let gate = Gate::default();
    let held = gate.clone();
    (ScriptedModel::start(move |_| Reply::Held(text.to_owned(), held.clone())), gate)
}

async fn linked(model: ScriptedModel, messenger: Messenger) -> World {
    let world = World::with(model, messenger, soon()).await;
    world.link(&world.ada, "ann").await;
    world
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_grows_in_one_message_at_the_messengers_pace_and_ends_whole() {
    let text = words(60);
    let world = linked(slow(text.clone()), Messenger::paced()).await;
    let before = world.messenger.texts("ann").len();
    world.messenger.says("ann", "ann", "write");
    until("the answer is whole", async || {
        world.messenger.texts("ann").last().is_some_and(|last| *last == text).then_some(())
    })
    .await;
    world.rests().await;
    let shown = world.messenger.shown("ann");
    assert_eq!(shown.len(), before + 1, "one message: {shown:?}");
    let versions = world.messenger.versions(&shown[before].id);
    let (whole, drafts) = versions.split_last().unwrap();
    assert_eq!(*whole, text);
    assert!(drafts.len() >= 3, "{drafts:?}");
    for pair in drafts.windows(2) {
        assert!(pair[1].len() > pair[0].len(), "{pair:?}");
    }
    for draft in drafts {
        let begun = draft.strip_suffix(" …").unwrap();
        assert!(text.starts_with(begun), "{draft}");
    }
    assert_eq!(world.messenger.too_fast(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_answers_at_once_are_shown_without_a_refusal_and_all_end_whole() {
    const PEOPLE: usize = 12;
    let text = words(70);
    let world = linked(slow(text.clone()), Messenger::paced()).await;
    let people: Vec<String> = (0..PEOPLE).map(|number| format!("p{number}")).collect();
    for person in &people {
        world.link(&world.ada, person).await;
    }
    for person in &people {
        world.messenger.says(person, person, "write");
    }
    until("all are whole", async || {
        let is_whole = |person: &String| world.messenger.texts(person).last() == Some(&text);
        people.iter().all(is_whole).then_some(())
    })
    .await;
    world.rests().await;
    assert_eq!(world.messenger.too_fast(), 0);
    let drafted = people.iter().filter(|person| {
        let shown = world.messenger.shown(person);
        world.messenger.versions(&shown.last().unwrap().id).len() > 1
    });
    assert!(drafted.count() > 1, "more than one of them had a draft");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_changed_comes_whole_as_a_new_message() {
    let text = words(70);
    let world = linked(slow(text.clone()), Messenger::new()).await;
    world.messenger.refuses_edits(true);
    world.messenger.says("ann", "ann", "write");
    world.reads("ann", &text).await;
    world.rests().await;
    let texts = world.messenger.texts("ann");
    assert_eq!(texts.iter().filter(|shown| **shown == text).count(), 1, "{texts:?}");
    assert!(texts.iter().any(|shown| shown.ends_with(" …")), "there was a draft: {texts:?}");
    assert_eq!(world.channels.list(&world.root).await.unwrap().channels[0].failed, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_without_an_answer_is_tried_again_and_then_sent_anew() {
    let (model, gate) = held("It begins");
    let world = linked(model, Messenger::without_keys()).await;
    world.messenger.says("ann", "ann", "write");
    world.reads("ann", "It begins …").await;
    let tries = usize::try_from(EDIT_TRIES).unwrap();
    world.messenger.loses_edits(tries);
    gate.open();
    until("it comes as a new message", async || {
        world.messenger.texts("ann").iter().any(|text| text == "It begins").then_some(())
    })
    .await;
    world.rests().await;
    assert_eq!(world.channels.list(&world.root).await.unwrap().channels[0].failed, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_draft_of_unknown_fate_is_not_sent_twice_and_the_answer_comes() {
    let (model, gate) = held("It begins");
    let world = linked(model, Messenger::without_keys()).await;
    world.messenger.fails([Fault::TakenUnsaid]);
    world.messenger.says("ann", "ann", "write");
    world.reads("ann", "It begins …").await;
    world.rests().await;
    gate.open();
    until("the answer comes", async || {
        world.messenger.texts("ann").iter().any(|text| text == "It begins").then_some(())
    })
    .await;
    world.rests().await;
    let texts = world.messenger.texts("ann");
    assert_eq!(texts.iter().filter(|text| text.contains("It begins")).count(), 2, "{texts:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_ends_in_the_middle_leaves_no_draft_behind() {
    let text = words(70);
    let mut world = linked(slow(text.clone()), Messenger::paced()).await;
    world.messenger.says("ann", "ann", "write");
    until("a draft is shown", async || {
        world.messenger.texts("ann").iter().any(|shown| shown.ends_with(" …")).then_some(())
    })
    .await;
    world.restart().await;
    until("the draft is replaced", async || {
        let texts = world.messenger.texts("ann");
        let is_open = texts.iter().any(|shown| shown.ends_with(" …"));
        (!is_open && texts.last().is_some_and(|last| *last == text || last.contains('⚠'))).then_some(())
    })
    .await;
    world.rests().await;
    assert_eq!(world.messenger.too_fast(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_draft_whose_chat_is_deleted_says_that_the_answer_was_stopped() {
    let (model, _gate) = held("It begins");
    let world = linked(model, Messenger::new()).await;
    world.messenger.says("ann", "ann", "write");
    world.reads("ann", "It begins …").await;
    let chat = world.store.chats(world.ada.id, 1).await.unwrap().remove(0);
    world.chats.delete(&world.ada, &chat.id).await.unwrap();
    world.reads("ann", "The answer was stopped.").await;
    world.rests().await;
    let texts = world.messenger.texts("ann");
    assert!(!texts.iter().any(|text| text.contains("It begins")), "{texts:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_stands_below_what_came_after_its_draft() {
    let (model, gate) = held("It begins");
    let world = linked(model, Messenger::new()).await;
    world.messenger.says("ann", "ann", "write");
    world.reads("ann", "It begins …").await;
    world.messenger.says("ann", "ann", "/runner");
    world.reads("ann", "/runner NAME binds this chat").await;
    gate.open();
    world.reads("ann", "↓ The answer is below.").await;
    until("the answer comes", async || {
        (world.messenger.texts("ann").last().map(String::as_str) == Some("It begins")).then_some(())
    })
    .await;
    world.rests().await;
    assert!(!world.messenger.texts("ann").iter().any(|text| text.ends_with(" …")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_messenger_without_changes_gets_no_drafts() {
    let (model, gate) = held("It begins");
    let world = linked(model, Messenger::without_buttons()).await;
    let own = own_account(&world).await;
    world.messenger.says("ann", "ann", "write");
    until("it is being written", async || {
        (world.store.answers_in_progress(9).await.unwrap().len() == 1).then_some(())
    })
    .await;
    // Once the later draft of the other messenger is shown, the same passes would also have shown one here.
    own.says("own", "own", "write");
    until("a draft is shown there", async || {
        own.texts("own").iter().any(|text| text == "It begins …").then_some(())
    })
    .await;
    gate.open();
    world.reads("ann", "It begins").await;
    assert!(!world.messenger.texts("ann").iter().any(|text| text.contains('…')));
}
