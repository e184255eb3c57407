//! Only the person who was asked, and is linked, can cause an effect.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use agent::tool::Typed;
use api::channel::ChannelPut;

use super::World;
use super::asks::{DONE, Danger, dangerous};
use super::messenger::{Messenger, Shown};

/// Returns the number of presses, codes and messages that other people send; `scripts/soak` raises it.
pub(super) fn attempts() -> usize {
    std::env::var("SANDBRIDGE_CHANNEL_STRANGERS").ok().and_then(|text| text.parse().ok()).unwrap_or(300)
}

#[tokio::test(flavor = "multi_thread")]
async fn presses_codes_and_messages_of_others_do_nothing() {
    /// The number of people who try; a conversation accepts up to 200 waiting messages from each person.
    const PEOPLE: usize = 50;
    let world = World::new(dangerous("counted".to_owned()), Messenger::new()).await;
    world.chats.tools().put(Typed::<Danger>::new(()));
    world.link(&world.ada, "ann").await;
    world.messenger.says("ann", "ann", "do it");
    let ask = world.reads("ann", "Danger needs your approval").await;
    let allow = ask.buttons.iter().find(|button| button.label == "Allow").unwrap().token.clone();
    // Nobody uses this code; it exists so that guesses could hit one.
    let code = world.channels.code(&world.root, "desk").await.unwrap().code;
    let (prefix, _) = code.rsplit_once('-').unwrap();
    let digit = |number: usize| char::from(b"0123456789ABCDEFGHJKMNPQRSTVWXYZ"[number % 32]);
    for number in 0..attempts() {
        let person = format!("other{}", number % PEOPLE);
        match number % 6 {
            0 => world.messenger.presses(&person, &ask, &allow),
            1 => world.messenger.presses(&person, &Shown { to: person.clone(), ..ask.clone() }, &allow),
            2 => {
                let guess: String = (0..8).map(|at| digit(number >> at)).collect();
                world.messenger.says(&person, &person, &format!("{prefix}-{guess}"));
            }
            3 => world.messenger.says(&person, "ann", "do it"),
            4 => world.messenger.says(
                &person,
                &person,
                ["1", "!rm -rf /", "/approval full", "do it"][number % 4],
            ),
            _ => {
                let token = format!("{number:032x}");
                world.messenger.presses("ann", &ask, &token);
            }
        }
    }
    world.rests().await;
    assert_eq!(DONE.load(Ordering::SeqCst), 0);
    assert_eq!(world.channels.list(&world.root).await.unwrap().links.len(), 1);
    assert_eq!(world.store.chats(world.ada.id, 100).await.unwrap().len(), 1);
    assert!(world.store.chats(world.root.id, 100).await.unwrap().is_empty());
    world.messenger.presses("ann", &ask, &allow);
    world.reads("ann", "result: it was done").await;
    assert_eq!(DONE.load(Ordering::SeqCst), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_list_of_people_holds_for_presses_too() {
    let world = World::new(dangerous("counted".to_owned()), Messenger::new()).await;
    world.chats.tools().put(Typed::<Danger>::new(()));
    world.link(&world.ada, "ann").await;
    world.messenger.says("ann", "ann", "do it");
    let ask = world.reads("ann", "Danger needs your approval").await;
    let allow = ask.buttons.iter().find(|button| button.label == "Allow").unwrap().token.clone();
    let put = async |allow: &[&str]| {
        let values = BTreeMap::from([("token".to_owned(), world.messenger.register())]);
        let allow = allow.iter().map(|person| (*person).to_owned()).collect();
        let put = ChannelPut { kind: "fake".to_owned(), values, allow, enabled: true, shared: true };
        world.channels.put(&world.root, "desk", put).await.unwrap();
    };
    put(&["boss"]).await;
    world.messenger.presses("ann", &ask, &allow);
    world.rests().await;
    assert_eq!(DONE.load(Ordering::SeqCst), 0);
    assert!(world.messenger.press_answers().is_empty());
    put(&["boss", "ann"]).await;
    world.messenger.presses("ann", &ask, &allow);
    world.reads("ann", "result: it was done").await;
    assert_eq!(DONE.load(Ordering::SeqCst), 1);
}
