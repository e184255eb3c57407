//! The limits on one person, one owner and one message, and messages that are no longer sent.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::channel::ChannelPut;
use platforms::event::{Media, MediaKind, Message};
use serde_json::Value;

use super::messenger::{Messenger, written};
use super::{World, echo, until};
use crate::limits::{AT_ONCE_PER_OWNER, FILES_AT_ONCE};

/// Creates a message with this text and a picture.
fn with_picture(text: &str) -> Message {
    let picture =
        Media { kind: MediaKind::Image, name: "p.jpg".to_owned(), bytes: Some(7), handle: Value::Null };
    Message { media: vec![picture], ..written(text) }
}

/// Creates an account of ada's on another messenger, and links the person `own` with ada there.
pub(super) async fn own_account(world: &World) -> Arc<Messenger> {
    let own = Arc::new(Messenger::new());
    let values = BTreeMap::from([("token".to_owned(), own.register())]);
    let put = ChannelPut { kind: "fake".to_owned(), values, enabled: true, ..ChannelPut::default() };
    world.channels.put(&world.ada, "own", put).await.unwrap();
    let code = world.channels.code(&world.ada, "own").await.unwrap().code;
    own.says("own", "own", &code);
    until("the person is linked", async || {
        own.texts("own").iter().any(|text| text.starts_with("You are linked")).then_some(())
    })
    .await;
    own
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_to_one_owners_accounts_leave_room_for_those_of_others() {
    let world = World::new(echo(), Messenger::new()).await;
    let own = own_account(&world).await;
    let people: Vec<String> = (0..=AT_ONCE_PER_OWNER).map(|number| format!("p{number}")).collect();
    for person in &people {
        world.link(&world.ada, person).await;
    }
    world.messenger.holds_files(true);
    let (last, busy) = people.split_last().unwrap();
    for person in busy {
        world.messenger.writes(person, person, with_picture("look"));
    }
    until("all seats of the owner are taken", async || {
        (world.messenger.fetching().0 == AT_ONCE_PER_OWNER).then_some(())
    })
    .await;
    world.messenger.says(last, last, "me too");
    own.says("own", "own", "and I?");
    until("the other owner's message is answered", async || {
        own.texts("own").iter().any(|text| text.contains("and I?")).then_some(())
    })
    .await;
    let is_answered = world.messenger.texts(last).iter().any(|text| text.contains("me too"));
    // On a slow machine, a file may have taken too long by now, which frees a seat.
    assert!(!is_answered || world.messenger.fetching().0 < AT_ONCE_PER_OWNER);
    world.messenger.holds_files(false);
    world.reads(last, "echo: me too").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn four_messages_with_files_are_in_memory_at_once() {
    let world = World::new(echo(), Messenger::new()).await;
    let own = own_account(&world).await;
    let people: Vec<String> = (0..AT_ONCE_PER_OWNER).map(|number| format!("p{number}")).collect();
    for person in &people {
        world.link(&world.ada, person).await;
    }
    world.messenger.holds_files(true);
    own.holds_files(true);
    for person in &people {
        world.messenger.writes(person, person, with_picture("look"));
    }
    until("all places are taken", async || (world.messenger.fetching().0 == FILES_AT_ONCE).then_some(()))
        .await;
    own.writes("own", "own", with_picture("mine"));
    until("it was taken", async || own.is_delivered().then_some(())).await;
    let is_fetched = own.fetching().1 > 0;
    assert!(!is_fetched || world.messenger.fetching().0 < FILES_AT_ONCE);
    world.messenger.holds_files(false);
    own.holds_files(false);
    until("it is answered", async || own.texts("own").iter().any(|text| text.contains("mine")).then_some(()))
        .await;
    assert_eq!((world.messenger.fetching().1, own.fetching().1), (FILES_AT_ONCE, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_does_not_come_holds_its_message_up_for_a_limited_time() {
    let world = World::new(echo(), Messenger::new()).await;
    world.link(&world.ada, "ann").await;
    world.messenger.holds_files(true);
    world.messenger.writes("ann", "ann", with_picture("look"));
    let shown = world.reads("ann", "echo: look").await;
    assert!(shown.text.contains("p.jpg") && shown.text.contains("the transfer took too long"), "{shown:?}");
    assert_eq!(world.messenger.fetching().0, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_to_be_sent_to_a_group_that_is_switched_off_is_not_sent() {
    let world = World::new(echo(), Messenger::new()).await;
    world.link(&world.root, "boss").await;
    world.link(&world.ada, "ann").await;
    world.messenger.says("boss", "group", "/group on");
    world.reads("group", "This group is on").await;
    world.rests().await;
    world.messenger.goes_away(true);
    world.messenger.says("ann", "group", "secret");
    let account = world.store.channel(world.root.id, "desk").await.unwrap();
    until("the answer waits to be sent", async || {
        let lanes = world.store.outbox_lanes(9).await.unwrap();
        lanes.iter().any(|lane| lane.conversation == "group").then_some(())
    })
    .await;
    world.store.set_channel_group(&account, "group", false).await.unwrap();
    // The messenger stays away until the answer is given up: an attempt that began before the switch may still send it.
    until("the answer is given up", async || {
        world.store.outbox_lanes(1).await.unwrap().is_empty().then_some(())
    })
    .await;
    world.messenger.goes_away(false);
    world.rests().await;
    assert!(!world.messenger.texts("group").iter().any(|text| text.contains("secret")));
}
