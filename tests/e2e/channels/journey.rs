//! A person's journey through each messenger, from linking to stopping an answer. No secret of the messenger appears anywhere on the way.

use std::fs;

use serde_json::json;
use tests::http::Client;
use tests::{Machine, Reply, Server, eventually};

use super::messenger::{Messenger, STRANGER, Said, arguments, secrets};
use super::{PATIENCE, PHONE, channel, channel_of, on_each};
use crate::http_tools::OPEN;
use crate::world::World;

/// The marker in the tokens and tickets that stand-ins give out.
const PLANTED: &[&str] = &["planted", "ticket-", "ticket+"];

/// Adds the account, and waits until it is connected.
pub(super) fn add(world: &World, messenger: &dyn Messenger) {
    add_as(world, PHONE, messenger);
}

/// Adds an account with this name, and waits until it is connected.
pub(super) fn add_as(world: &World, name: &str, messenger: &dyn Messenger) {
    let (options, secrets) = arguments(messenger);
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let add = [&["channel", "add", name, messenger.kind(), "--secrets-stdin"], &options[..]].concat();
    let added = world.alice.with_stdin(&add, secrets.as_bytes());
    assert_eq!(added.code, 0, "{added:?}");
    eventually("the account is connected", PATIENCE * 2, || {
        (channel_of(world, name)["state"] == "connected").then_some(())
    });
}

/// Waits until the account is connected. After three short connections in a row the server pauses for a minute.
pub(super) fn connected(world: &World) {
    eventually("the account is connected", PATIENCE * 2, || {
        (channel(world)["state"] == "connected").then_some(())
    });
}

/// Links a person with alice.
pub(super) fn link(world: &World, messenger: &dyn Messenger, person: usize) {
    link_to(world, PHONE, messenger, person);
}

/// Links a person on the account with this name with alice.
pub(super) fn link_to(world: &World, name: &str, messenger: &dyn Messenger, person: usize) {
    let linked = || messenger.said().iter().filter(|said| said.text.contains("You are linked as")).count();
    let before = linked();
    let code = world.alice.json(&["channel", "link", name, "--json"])["code"].as_str().unwrap().to_owned();
    messenger.say(person, &code);
    eventually("the person is linked", PATIENCE, || (linked() > before).then_some(()));
}

/// Waits for a message of the bot that contains this text.
pub(super) fn reads(messenger: &dyn Messenger, part: &str) -> Said {
    eventually(&format!("{part:?} is read"), PATIENCE, || {
        messenger.said().into_iter().find(|said| said.text.contains(part))
    })
}

/// Answers a question with this choice, by a button or a number.
pub(super) fn chooses(messenger: &dyn Messenger, ask: &Said, label: &str) {
    if messenger.has_buttons() {
        let said = eventually("the buttons arrive", PATIENCE, || {
            messenger.said().into_iter().find(|said| said.labels.iter().any(|known| known == label))
        });
        messenger.press(0, &said, label);
        return;
    }
    let mut lines = ask.text.lines().filter_map(|line| line.trim().strip_suffix(label));
    let number = lines.next().unwrap_or_else(|| panic!("no {label} in {ask:?}"));
    messenger.say(0, number.trim().trim_end_matches('.'));
}

fn journey(messenger: &dyn Messenger) {
    let script = |asked: &tests::Asked| match (asked.last_of_user().as_str(), asked.results().last()) {
        ("make it", None) => Reply::Call(vec![("Shell", json!({"command": "echo made > made.txt"}))]),
        ("make it", Some(_)) => Reply::Say("made it".to_owned()),
        ("wait", _) => Reply::Hang("…".to_owned()),
        (other, _) => Reply::Say(format!("echo: {other}")),
    };
    let world = World::on(script, OPEN, Server::start_logged);
    add(&world, messenger);
    let tested = world.run(&["channel", "test", "phone"]);
    messenger.say(STRANGER, "let me in");
    reads(messenger, "only people who are linked");
    link(&world, messenger, 0);
    messenger.say(0, "hello");
    reads(messenger, "echo: hello");
    messenger.say(0, "make it");
    let ask = reads(messenger, "Shell needs your approval");
    assert!(ask.text.contains("echo made"), "the whole command is shown: {ask:?}");
    assert!(!world.path("made.txt").exists());
    chooses(messenger, &ask, "Allow");
    reads(messenger, "made it");
    assert_eq!(fs::read_to_string(world.path("made.txt")).unwrap(), "made\n");
    eventually("the outcome is shown", PATIENCE, || {
        let said = messenger.said();
        said.iter().any(|said| said.text.contains("→ Allow") || said.text.trim() == "Allow").then_some(())
    });
    messenger.say(0, "!cat made.txt && uname -s");
    reads(messenger, "Linux");
    messenger.say(0, "/send made.txt");
    eventually("the file arrives", PATIENCE, || {
        let is_it = |(name, bytes): &(Option<String>, Vec<u8>)| {
            name.as_ref().is_none_or(|name| name == "made.txt") && bytes == b"made\n"
        };
        messenger.files().iter().any(is_it).then_some(())
    });
    let other = Machine::start(&world.server, &world.alice, "desktop");
    other.wait_online(&world.alice, "desktop");
    fs::write(other.workspace().join("here"), "elsewhere\n").unwrap();
    messenger.say(0, "/runner desktop");
    reads(messenger, "go to desktop now");
    messenger.say(0, "!cat here");
    reads(messenger, "elsewhere");
    messenger.say(0, "wait");
    eventually("the model is asked", PATIENCE, || {
        world.model.asked().iter().any(|asked| asked.last_of_user() == "wait").then_some(())
    });
    messenger.say(0, "/cancel");
    reads(messenger, "being stopped");
    reads(messenger, "The answer was stopped");
    assert_eq!(messenger.refused(), Vec::<String>::new());
    let status = channel(&world);
    assert_eq!((&status["failed"], &status["unsure"]), (&json!(0), &json!(0)), "{status}");
    let audit = Client::login(&world.server, "alice").call("GET", "/audit").json().to_string();
    let kind = format!("({})", messenger.kind());
    assert!(audit.contains("channel.link") && audit.contains(&kind), "{audit}");
    let planted: Vec<String> = PLANTED.iter().map(|word| (*word).to_owned()).collect();
    let places = [
        ("the log", world.server.log()),
        ("the audit trail", audit),
        ("the status", status.to_string()),
        ("the test", format!("{tested:?}")),
        ("the prompts", format!("{:?}", world.model.asked())),
    ];
    for (place, text) in places {
        for secret in secrets(messenger).iter().chain(&planted) {
            let at = text.find(secret.as_str());
            assert_eq!(
                at,
                None,
                "{secret} is in {place}: {:.400}",
                &text[text.floor_char_boundary(at.unwrap_or(0).saturating_sub(200))..]
            );
        }
    }
}

#[test]
fn a_person_uses_their_chat_from_each_messenger() {
    on_each(journey);
}
