//! Checks for lost or duplicated messages while the server is killed and connections end: none are lost on messengers that redeliver missed messages.

use std::collections::BTreeMap;

use serde_json::Value;
use tests::{Reply, eventually};

use super::journey::{add, connected, link};
use super::messenger::Messenger;
use super::{PATIENCE, channel, on_each};
use crate::http_tools::OPEN;
use crate::world::World;

/// The maximum number of messages between two kills; the connections end twice in that time.
const PER_KILL: usize = 100;
/// The number of polls after which the messenger redelivers unacknowledged messages.
const LOOKS_PER_DELIVERY: usize = 20;

/// The number of messages to each messenger while the server is killed; `scripts/soak` sends more.
fn messages() -> usize {
    std::env::var("SANDBRIDGE_CHANNEL_MESSAGES").ok().and_then(|text| text.parse().ok()).unwrap_or(24)
}

/// The numbers that the bot answered, each with the number of answers.
fn answered(messenger: &dyn Messenger) -> BTreeMap<usize, usize> {
    let mut counts = BTreeMap::new();
    for said in messenger.said() {
        let number = said.text.strip_prefix("echo: ").and_then(|number| number.trim().parse().ok());
        if let Some(number) = number {
            *counts.entry(number).or_insert(0) += 1;
        }
    }
    counts
}

/// The numbers in the messages of alice's chats.
fn posted(world: &World) -> Vec<usize> {
    let mut posted: Vec<usize> = Vec::new();
    for chat in world.alice.json(&["chat", "list", "--json"]).as_array().unwrap() {
        let id = chat["id"].as_str().unwrap();
        let exported: Value =
            serde_json::from_str(&world.run(&["chat", "export", id, "--format", "json"]).stdout).unwrap();
        let messages = exported["messages"].as_array().unwrap();
        let of_user = messages.iter().filter(|message| message["role"] == "user");
        posted.extend(of_user.filter_map(|message| message["text"].as_str().unwrap().parse::<usize>().ok()));
    }
    posted.sort_unstable();
    posted
}

/// Waits until `probe` returns a value, while the messenger redelivers unacknowledged messages.
fn delivering<T>(what: &str, messenger: &dyn Messenger, mut probe: impl FnMut() -> Option<T>) -> T {
    let mut looks = 0;
    eventually(what, PATIENCE * 3, || {
        looks += 1;
        if looks % LOOKS_PER_DELIVERY == 0 {
            messenger.redeliver();
        }
        probe()
    })
}

fn killed(messenger: &dyn Messenger) {
    let count = messages();
    let kills = count.div_ceil(PER_KILL).max(2);
    // After three short connections in a row the server pauses for a minute.
    let cuts_every = if count > PER_KILL { PER_KILL / 2 } else { count / kills };
    // The slowest messenger accepts one message in 3 s for each conversation.
    let people = (count / 25).clamp(4, 64);
    let mut world = World::with(|asked| Reply::Say(format!("echo: {}", asked.last_of_user())), OPEN);
    add(&world, messenger);
    (0..people).for_each(|person| link(&world, messenger, person));
    // An answer that four kills in a row interrupt ends with a notice about that.
    let interrupted = || messenger.said().iter().filter(|said| said.text.contains('⚠')).count();
    for kill in 0..kills {
        let before = answered(messenger).len();
        messenger.fail();
        for (sent, number) in (kill..count).step_by(kills).enumerate() {
            messenger.say(number % people, &number.to_string());
            if sent % cuts_every == cuts_every / 2 {
                messenger.cut();
                if !messenger.replays() {
                    connected(&world);
                }
            }
        }
        delivering("some are answered", messenger, || (answered(messenger).len() > before).then_some(()));
        world.kill_and_restart(OPEN);
        connected(&world);
    }
    if !messenger.replays() {
        messenger.say(0, &count.to_string());
        eventually("the last one is answered", PATIENCE * 3, || answered(messenger).get(&count).copied());
        let posted = posted(&world);
        assert!(posted.windows(2).all(|pair| pair[0] < pair[1]), "duplicated: {posted:?}");
        assert_eq!(posted.last(), Some(&count));
        assert!(channel(&world)["gap"].as_str().unwrap().contains("are lost"));
        return;
    }
    let counts = delivering("all are answered", messenger, || {
        let counts = answered(messenger);
        let status = channel(&world);
        // An answer is given up, and counted, after two attempts without a known outcome.
        let given_up = usize::try_from(status["failed"].as_u64().unwrap()).unwrap();
        (counts.len() + interrupted() + given_up >= count && status["waiting"] == 0).then_some(counts)
    });
    assert!(interrupted() <= kills * people * 2, "{}", interrupted());
    let doubled = counts.values().filter(|count| **count > 1).count();
    let status = channel(&world);
    assert!(counts.values().all(|count| *count <= 2), "{counts:?}");
    assert!(
        doubled <= usize::try_from(status["unsure"].as_u64().unwrap()).unwrap(),
        "{doubled} duplicated: {status}"
    );
    // A message that was given up had two attempts without a known outcome, and counts among the marked ones.
    assert!(status["failed"].as_u64() <= status["unsure"].as_u64(), "{status}");
    assert_eq!(posted(&world), (0..count).collect::<Vec<_>>());
}

#[test]
fn a_killed_server_loses_no_message_and_marks_duplicates_on_each_messenger() {
    on_each(killed);
}
