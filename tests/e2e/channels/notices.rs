//! The administrator's chat on each messenger: each event is reported once, even if the server is killed in the meantime.

use std::time::Duration;

use serde_json::json;
use tests::http::Client;
use tests::{Reply, eventually};

use super::journey::{add, connected, link, reads};
use super::messenger::Messenger;
use super::{PATIENCE, channel, on_each};
use crate::http_tools::OPEN;
use crate::world::World;

/// The longest time until a server notices an event.
const LOOK: Duration = Duration::from_secs(60);
/// A number of wrong passwords above the limit for a minute.
const WRONG: usize = 40;

/// Tries wrong passwords until logins are refused.
fn guess(world: &World, name: &str) {
    let body = json!({"user": name, "password": "guessed wrong"}).to_string();
    let refused = (0..WRONG)
        .any(|_| Client::anonymous(&world.server).send("POST", "/login", body.as_bytes()).status == 429);
    assert!(refused, "logins as {name} are not refused");
}

fn told(messenger: &dyn Messenger, parts: &[&str]) -> usize {
    let is_it = |text: &str| parts.iter().all(|part| text.contains(part));
    messenger.said().iter().filter(|said| is_it(&said.text)).count()
}

fn noticed(messenger: &dyn Messenger) {
    let mut world = World::with(|_| Reply::Say("unused".to_owned()), OPEN);
    add(&world, messenger);
    link(&world, messenger, 0);
    messenger.say(0, "/notices on");
    if messenger.kind() == "qq" {
        reads(messenger, "bots can only reply on this messenger");
        let links = world.alice.json(&["channel", "links", "--json"]);
        assert_eq!(links[0]["notices"], false, "{links}");
        return;
    }
    reads(messenger, "notices are now sent to this conversation");
    guess(&world, "alice");
    guess(&world, "nobody-of-this-name");
    eventually("the refused logins are reported", PATIENCE + LOOK, || {
        (told(messenger, &["Too many wrong passwords", "alice"]) > 0).then_some(())
    });
    // A poll of the killed server may still be open, and a messenger may refuse the second one, so this is checked
    // before the kill.
    assert_eq!(messenger.refused(), Vec::<String>::new());
    for _ in 0..2 {
        world.kill_and_restart(OPEN);
        connected(&world);
        eventually("the start is reported", PATIENCE + LOOK, || {
            (told(messenger, &["The server has started"]) > 0).then_some(())
        });
    }
    // A check that finds this new event would also have reported an earlier one again.
    let _bob = world.server.person("bob");
    guess(&world, "bob");
    eventually("the new event is reported", PATIENCE + LOOK, || {
        (told(messenger, &["Too many wrong passwords", "bob"]) > 0).then_some(())
    });
    // A kill between sending a message and recording it makes the server send the message twice, marked, on messengers
    // without idempotency keys.
    let unsure = usize::try_from(channel(&world)["unsure"].as_u64().unwrap()).unwrap();
    assert!(told(messenger, &["Too many wrong passwords", "alice"]) <= 1 + unsure);
    assert_eq!(told(messenger, &["nobody-of-this-name"]), 0);
    // Starts are reported once per ten-minute window; the two starts may be in different windows.
    assert!(told(messenger, &["The server has started"]) <= 2 + unsure);
    let links = world.alice.json(&["channel", "links", "--json"]);
    assert_eq!(links[0]["notices"], true, "{links}");
    world.run(&["channel", "notices", &links[0]["id"].to_string(), "--off"]);
    assert_eq!(world.alice.json(&["channel", "links", "--json"])[0]["notices"], false);
}

#[test]
fn an_administrators_chat_gets_each_notice_once_on_each_messenger() {
    on_each(noticed);
}
