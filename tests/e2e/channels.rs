//! Chats from a messenger: a journey on Telegram, and what is lost or doubled when the server dies. `messengers` shows that Telegram's own
//! client accepts the stand-in.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use serde_json::{Value, json};
use tests::http::Client;
use tests::platforms::telegram::{Fault, Message, TOKEN, Telegram};
use tests::{Asked, Machine, Reply, eventually};

use crate::http_tools::OPEN;
use crate::world::World;

const PATIENCE: Duration = Duration::from_secs(90);
/// Alice on Telegram, and somebody else.
const ALICE: i64 = 4001;
const MALLORY: i64 = 6666;

/// How many messages are sent while the server is killed; `scripts/soak` makes it larger.
fn messages() -> usize {
    std::env::var("SANDBRIDGE_CHANNEL_MESSAGES").ok().and_then(|text| text.parse().ok()).unwrap_or(200)
}

/// A server whose alice has a bot, with which she is linked.
fn linked(script: impl FnMut(&Asked) -> Reply + Send + 'static) -> (World, Telegram) {
    let world = World::with(script, OPEN);
    let telegram = Telegram::start();
    telegram.unhurried();
    let api = format!("api={}", telegram.url());
    let token = format!("token={TOKEN}\n");
    let added = world.alice.with_stdin(
        &["channel", "add", "phone", "telegram", "--set", &api, "--secrets-stdin"],
        token.as_bytes(),
    );
    assert_eq!(added.code, 0, "{added:?}");
    let tested = world.run(&["channel", "test", "phone"]);
    assert!(tested.stdout.contains("sand_bot"), "{tested:?}");
    link(&world, &telegram, ALICE);
    (world, telegram)
}

/// Links a person on Telegram with alice.
fn link(world: &World, telegram: &Telegram, person: i64) {
    let code = world.alice.json(&["channel", "link", "phone", "--json"])["code"].as_str().unwrap().to_owned();
    telegram.say(person, &code);
    reads(telegram, person, "You are linked");
}

fn text(message: &Message) -> String {
    message.parameters["text"].as_str().unwrap_or_default().to_owned()
}

/// Waits for a message of the bot in a chat that contains this.
fn reads(telegram: &Telegram, chat: i64, part: &str) -> Message {
    eventually(&format!("{part:?} is read"), PATIENCE, || {
        let messages = telegram.messages();
        messages.into_iter().find(|message| message.chat == chat && text(message).contains(part))
    })
}

/// The token of a message's button.
fn button(message: &Message, label: &str) -> String {
    let rows = message.parameters["reply_markup"]["inline_keyboard"].as_array().unwrap();
    let mut buttons = rows.iter().flat_map(|row| row.as_array().unwrap());
    let found = buttons.find(|button| button["text"] == label);
    found.unwrap_or_else(|| panic!("no {label} in {rows:?}"))["callback_data"].as_str().unwrap().to_owned()
}

fn channel(world: &World) -> Value {
    world.alice.json(&["channel", "status", "phone", "--json"])
}

#[test]
fn a_person_reaches_their_chat_from_telegram() {
    let (world, telegram) = linked(|asked| match (asked.last_of_user().as_str(), asked.results().last()) {
        ("make it", None) => Reply::Call(vec![("Shell", json!({"command": "echo made > made.txt"}))]),
        ("make it", Some(_)) => Reply::Say("**made** it".to_owned()),
        ("wait", _) => Reply::Hang("…".to_owned()),
        (other, _) => Reply::Say(format!("echo: {other}")),
    });
    telegram.say(MALLORY, "let me in");
    reads(&telegram, MALLORY, "only people who are linked");
    telegram.say(ALICE, "hello");
    reads(&telegram, ALICE, "echo: hello");
    telegram.say(ALICE, "make it");
    let ask = reads(&telegram, ALICE, "Shell needs your approval");
    let allow = button(&ask, "Allow");
    telegram.press(MALLORY, &ask, &allow);
    eventually("the other one is told", PATIENCE, || {
        telegram.answered().iter().any(|(_, text)| text.contains("somebody else")).then_some(())
    });
    assert!(!world.path("made.txt").exists());
    telegram.press(ALICE, &ask, &allow);
    let answer = reads(&telegram, ALICE, "made it");
    assert_eq!(answer.parameters["entities"][0]["type"], "bold");
    assert_eq!(fs::read_to_string(world.path("made.txt")).unwrap(), "made\n");
    let outcome = reads(&telegram, ALICE, "→ Allow");
    assert!(
        outcome.id == ask.id
            && outcome.parameters["reply_markup"]
                .get("inline_keyboard")
                .is_none_or(|rows| rows == &json!([]))
    );
    telegram.say(ALICE, "!cat made.txt && uname -s");
    reads(&telegram, ALICE, "Linux");
    telegram.say(ALICE, "/send made.txt");
    eventually("the file comes", PATIENCE, || {
        telegram.messages().into_iter().find(|message| {
            message.file.as_ref().is_some_and(|(name, bytes)| name == "made.txt" && bytes == b"made\n")
        })
    });
    telegram.say(ALICE, "/send ../../etc/shadow");
    reads(&telegram, ALICE, "The file was not sent");
    telegram.file("photos/1.jpg", b"\xff\xd8\xff picture");
    let photo =
        json!([{"file_id": "photos/1.jpg", "file_unique_id": "1", "width": 1, "height": 1, "file_size": 11}]);
    let person = Telegram::person(ALICE, "Ann");
    telegram.message(json!({"chat": {"id": ALICE, "type": "private"}, "from": person, "photo": photo, "caption": "look at this"}));
    let seen = reads(&telegram, ALICE, "echo: look at this");
    assert!(text(&seen).contains("[attached: .sandbridge/attachments/"), "{seen:?}");
    let other = Machine::start(&world.server, &world.alice, "desktop");
    other.wait_online(&world.alice, "desktop");
    fs::write(other.workspace().join("here"), "the other machine\n").unwrap();
    telegram.say(ALICE, "/runner desktop");
    reads(&telegram, ALICE, "go to desktop now");
    telegram.say(ALICE, "!cat here");
    reads(&telegram, ALICE, "the other machine");
    telegram.say(ALICE, "wait");
    eventually("the model is asked", PATIENCE, || {
        world.model.asked().iter().any(|asked| asked.last_of_user() == "wait").then_some(())
    });
    telegram.say(ALICE, "/cancel");
    reads(&telegram, ALICE, "being stopped");
    reads(&telegram, ALICE, "The answer was stopped");
    assert_eq!(telegram.refused(), Vec::<String>::new());
    let audit = Client::login(&world.server, "alice").call("GET", "/audit").json().to_string();
    assert!(audit.contains("channel.link") && audit.contains("(telegram)"), "{audit}");
    assert!(!audit.contains(TOKEN) && !channel(&world).to_string().contains(TOKEN));
}

#[test]
fn a_killed_server_loses_no_message_and_doubles_only_what_it_marks() {
    const KILLS: usize = 6;
    /// Each has a conversation, to which Telegram allows one message a second.
    const PEOPLE: usize = 8;
    let count = messages();
    let (mut world, telegram) = linked(|asked| Reply::Say(format!("echo: {}", asked.last_of_user())));
    let person = |number: usize| ALICE + i64::try_from(number % PEOPLE).unwrap();
    for number in 1..PEOPLE {
        link(&world, &telegram, person(number));
    }
    let options: Vec<String> = [&["--docker", "off"], OPEN, &world.model.options("openai")[..]]
        .concat()
        .iter()
        .map(|one| (*one).to_owned())
        .collect();
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let answered = || {
        let mut counts = BTreeMap::new();
        for message in telegram.messages() {
            if let Some(number) =
                text(&message).strip_prefix("echo: ").and_then(|number| number.parse::<usize>().ok())
            {
                *counts.entry(number).or_insert(0_usize) += 1;
            }
        }
        counts
    };
    // The answer that a kill interrupts ends with that notice: a turn is not begun again by itself.
    let interrupted = || telegram.messages().iter().filter(|message| text(message).contains('⚠')).count();
    for kill in 0..KILLS {
        for number in (kill..count).step_by(KILLS) {
            telegram.say(person(number), &number.to_string());
        }
        telegram.fault("sendMessage", Fault::DoneAndCut);
        telegram.fault("sendMessage", Fault::TooFast(Some(1)));
        let before = answered().len();
        eventually("some are answered", PATIENCE, || (answered().len() > before).then_some(()));
        world.server.kill();
        world.server.restart(&options);
    }
    let counts = eventually("all are answered", PATIENCE * 3, || {
        let counts = answered();
        let status = channel(&world);
        // After two tries without a known outcome an answer is given up, and counted.
        let given_up = usize::try_from(status["failed"].as_u64().unwrap()).unwrap();
        (counts.len() + interrupted() + given_up >= count && status["waiting"] == 0).then_some(counts)
    });
    assert!(interrupted() <= KILLS * PEOPLE * 2, "{}", interrupted());
    let doubled = counts.values().filter(|count| **count > 1).count();
    let status = channel(&world);
    assert!(counts.values().all(|count| *count <= 2), "{counts:?}");
    assert!(
        doubled <= usize::try_from(status["unsure"].as_u64().unwrap()).unwrap(),
        "{doubled} doubled: {status}"
    );
    // A message that is given up had two tries without a known outcome, and stands among those that are marked.
    assert!(status["failed"].as_u64() <= status["unsure"].as_u64(), "{status}");
    // Telegram confirmed them all, and each was posted once.
    assert_eq!(telegram.unconfirmed(), 0);
    let mut said: Vec<usize> = Vec::new();
    for chat in world.alice.json(&["chat", "list", "--json"]).as_array().unwrap() {
        let id = chat["id"].as_str().unwrap();
        let exported: Value =
            serde_json::from_str(&world.run(&["chat", "export", id, "--format", "json"]).stdout).unwrap();
        let messages = exported["messages"].as_array().unwrap();
        let of_user = messages.iter().filter(|message| message["role"] == "user");
        said.extend(of_user.filter_map(|message| message["text"].as_str().unwrap().parse::<usize>().ok()));
    }
    said.sort_unstable();
    assert_eq!(said, (0..count).collect::<Vec<_>>());
}
