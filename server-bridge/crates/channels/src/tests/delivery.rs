//! No message is lost, and no message arrives twice.

use std::collections::BTreeMap;
use std::sync::mpsc;
use std::sync::{Arc, Mutex};

use serde_json::json;
use store::MessageRole;
use tests::{Gate, Reply, ScriptedModel};

use super::messenger::{Fault, KEY_LIFETIME_MS, Messenger};
use super::{World, echo, until};

/// Counts how many times each number occurs in texts such as `echo: 7`.
fn counted(texts: &[String]) -> BTreeMap<usize, usize> {
    let mut counts = BTreeMap::new();
    for text in texts {
        if let Some(number) = text.strip_prefix("echo: ").and_then(|number| number.parse().ok()) {
            *counts.entry(number).or_insert(0) += 1;
        }
    }
    counts
}

#[tokio::test(flavor = "multi_thread")]
async fn each_message_is_answered_once_in_spite_of_repetitions_cuts_and_lost_answers() {
    const MESSAGES: usize = 120;
    let mut world = World::new(echo(), Messenger::new()).await;
    let people: Vec<String> = (0..4).map(|number| format!("p{number}")).collect();
    for person in &people {
        world.link(&world.ada, person).await;
    }
    world.messenger.repeats();
    world.messenger.cuts_every(20);
    let faults = [Fault::TakenUnsaid, Fault::LostUnsaid, Fault::Away, Fault::TooFast];
    world.messenger.fails(faults.into_iter().cycle().take(12));
    for number in 0..MESSAGES {
        let person = &people[number % people.len()];
        world.messenger.says(person, person, &number.to_string());
        if number % 40 == 20 {
            world.restart().await;
            world.messenger.cuts_every(20);
        }
    }
    until("all are answered", async || {
        let counts: usize = people.iter().map(|person| counted(&world.messenger.texts(person)).len()).sum();
        (counts == MESSAGES).then_some(())
    })
    .await;
    world.rests().await;
    for (at, person) in people.iter().enumerate() {
        let counts = counted(&world.messenger.texts(person));
        let wanted = (at..MESSAGES).step_by(people.len()).map(|number| (number, 1)).collect();
        assert_eq!(counts, wanted, "{person}");
    }
    let mut said = 0;
    for chat in world.store.chats(world.ada.id, 100).await.unwrap() {
        let (messages, _) = world.store.messages(world.ada.id, &chat.id, None, 1000).await.unwrap();
        said += messages.iter().filter(|message| message.role == MessageRole::User).count();
    }
    assert_eq!(said, MESSAGES, "each is posted once");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_of_unknown_fate_is_sent_once_more_at_most_where_there_are_no_keys() {
    let world = World::new(echo(), Messenger::without_keys()).await;
    world.link(&world.ada, "ann").await;
    world.messenger.fails([Fault::TakenUnsaid]);
    world.messenger.says("ann", "ann", "1");
    world.rests().await;
    until("it is answered", async || {
        (counted(&world.messenger.texts("ann")).get(&1) == Some(&2)).then_some(())
    })
    .await;
    world.messenger.fails([Fault::LostUnsaid, Fault::LostUnsaid]);
    world.messenger.says("ann", "ann", "2");
    let view = async || world.channels.list(&world.root).await.unwrap().channels.remove(0);
    until("it is given up", async || (view().await.failed == 1).then_some(())).await;
    assert_eq!(view().await.unsure, 2);
    world.messenger.fails([Fault::TooFast, Fault::Away, Fault::TooFast]);
    world.messenger.says("ann", "ann", "3");
    world.reads("ann", "echo: 3").await;
    world.rests().await;
    assert_eq!(counted(&world.messenger.texts("ann")), BTreeMap::from([(1, 2), (3, 1)]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_of_unknown_fate_is_marked_if_its_key_may_be_forgotten() {
    let mut world = World::new(echo(), Messenger::new()).await;
    world.link(&world.ada, "ann").await;
    let unsure = async |world: &World| world.channels.list(&world.root).await.unwrap().channels[0].unsure;
    for (number, is_late) in [(1, false), (2, true)] {
        world.messenger.fails([Fault::TakenUnsaid, Fault::Away]);
        world.messenger.says("ann", "ann", &number.to_string());
        world.reads("ann", &format!("echo: {number}")).await;
        world.messenger.goes_away(true);
        if is_late {
            world.sets_clock(i64::try_from(KEY_LIFETIME_MS).unwrap());
            world.messenger.forgets_keys();
        }
        world.restart().await;
        world.messenger.goes_away(false);
        world.rests().await;
        assert_eq!(unsure(&world).await, i64::from(is_late), "{number}");
    }
    assert_eq!(counted(&world.messenger.texts("ann")), BTreeMap::from([(1, 1), (2, 2)]));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_has_no_room_waits_in_the_inbox_and_commands_overtake_it() {
    const MESSAGES: usize = 40;
    let (release, held) = mpsc::channel::<()>();
    let held = Mutex::new(held);
    let first = Arc::new(Mutex::new(true));
    let model = ScriptedModel::start(move |asked| {
        if std::mem::take(&mut *first.lock().unwrap()) {
            let _ = held.lock().unwrap().recv();
        }
        Reply::Say(format!("echo: {}", asked.last_of_user()))
    });
    let world = World::new(model, Messenger::new()).await;
    world.link(&world.ada, "ann").await;
    for number in 0..MESSAGES {
        world.messenger.says("ann", "ann", &number.to_string());
    }
    world.messenger.says("ann", "ann", "/runner");
    world.reads("ann", "/runner NAME binds this chat").await;
    assert!(counted(&world.messenger.texts("ann")).is_empty());
    assert_eq!(world.store.inbox_lanes(10).await.unwrap().len(), 1, "some wait in the inbox");
    release.send(()).unwrap();
    until("all are answered", async || {
        (counted(&world.messenger.texts("ann")).len() == MESSAGES).then_some(())
    })
    .await;
    let numbers: Vec<String> =
        world.messenger.texts("ann").into_iter().filter(|text| text.starts_with("echo: ")).collect();
    let wanted: Vec<String> = (0..MESSAGES).map(|number| format!("echo: {number}")).collect();
    assert_eq!(numbers, wanted, "in their order");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_answer_is_five_messages_and_a_link() {
    let model = ScriptedModel::start(|_| Reply::Say("word ".repeat(2_000)));
    let world = World::new(model, Messenger::new()).await;
    world.link(&world.ada, "ann").await;
    let before = world.messenger.texts("ann").len();
    world.messenger.says("ann", "ann", "write a lot");
    let link = world.reads("ann", "https://sandbridge.example/#/chats/").await;
    world.rests().await;
    let texts = world.messenger.texts("ann");
    assert_eq!(texts.len() - before, 5);
    assert_eq!(texts.last().unwrap(), &link.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_who_floods_a_conversation_is_told_once_that_messages_are_dropped() {
    let (release, held) = mpsc::channel::<()>();
    let held = Mutex::new(held);
    let model = ScriptedModel::start(move |asked| {
        let _ = held.lock().unwrap().recv();
        Reply::Say(format!("echo: {}", asked.last_of_user()))
    });
    let world = World::new(model, Messenger::new()).await;
    world.link(&world.ada, "ann").await;
    for number in 0..300 {
        world.messenger.says("ann", "ann", &number.to_string());
    }
    world.reads("ann", "200 of your messages are already waiting here").await;
    until("all are taken or dropped", async || world.messenger.is_delivered().then_some(())).await;
    drop(release);
    world.rests().await;
    let texts = world.messenger.texts("ann");
    assert_eq!(texts.iter().filter(|text| text.contains("further ones are dropped")).count(), 1);
    assert!(counted(&texts).contains_key(&0) && !counted(&texts).contains_key(&299), "{texts:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_begins_by_itself_is_sent_once_to_the_conversation_of_its_chat() {
    let gate = Gate::default();
    let held = gate.clone();
    let model = ScriptedModel::start(move |asked| {
        if asked.system().contains("You are a sub-agent") {
            return Reply::Held("found it".to_owned(), held.clone());
        }
        match (asked.results().is_empty(), asked.last_of_user().contains("have ended")) {
            (true, _) => Reply::Call(vec![("SubAgent", json!({"task": "look", "background": true}))]),
            (false, false) => Reply::Say("I go on".to_owned()),
            (false, true) => Reply::Say("I heard of it".to_owned()),
        }
    });
    let mut world = World::new(model, Messenger::new()).await;
    world.link(&world.ada, "p").await;
    world.messenger.says("p", "p", "begin");
    world.reads("p", "I go on").await;
    gate.open();
    world.reads("p", "I heard of it").await;
    world.rests().await;
    world.restart().await;
    world.messenger.says("p", "p", "/help");
    world.reads("p", "/cancel").await;
    world.rests().await;
    let texts = world.messenger.texts("p");
    let count = |words: &str| texts.iter().filter(|text| text.contains(words)).count();
    assert_eq!((count("I go on"), count("I heard of it")), (1, 1), "{texts:?}");
}
