//! Chats in messengers: a journey on each messenger, checks that no message is lost or duplicated when the server dies, and features that only
//! Telegram has. `messengers` and `stand_ins` show that the messengers' official clients accept the stand-ins.

mod asking;
mod bound;
mod cards;
mod drafts;
mod eastern;
mod journey;
mod kills;
mod messenger;
mod notices;
mod shared;
mod webhook;
mod western;

use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tests::platforms::dingtalk::DingTalk;
use tests::platforms::feishu::Feishu;
use tests::platforms::onebot::OneBot;
use tests::platforms::slack::Slack;
use tests::platforms::telegram::{Message, Telegram};
use tests::platforms::wecom::WeCom;
use tests::{Reply, eventually};

use crate::http_tools::OPEN;
use crate::world::World;
use eastern::Qqs;
use journey::{add, link};
use messenger::{Messenger, STRANGER};
use western::{Discords, Matrix};

const PATIENCE: Duration = Duration::from_secs(90);

/// The name of the account, where a test has only one.
const PHONE: &str = "phone";

/// The stand-ins of a messenger, each with an account of the bot.
type StandIns = Vec<Box<dyn Messenger>>;

/// Starts this number of stand-ins of a messenger.
type Start = fn(usize) -> StandIns;

/// The messengers, each with a function that starts its stand-ins.
const EACH: &[(&str, Start)] = &[
    ("dingtalk", |count| several(count, DingTalk::start)),
    ("discord", |count| several(count, Discords::start)),
    ("feishu", |count| several(count, Feishu::start)),
    ("matrix", |count| Matrix::start(count).into_iter().map(boxed).collect()),
    ("onebot", |count| several(count, OneBot::start)),
    ("qq", |count| several(count, || Qqs::start(false))),
    ("qq with buttons", |count| several(count, || Qqs::start(true))),
    ("slack", |count| {
        several(count, || {
            let slack = Slack::start();
            slack.unhurried();
            slack
        })
    }),
    ("telegram", |count| {
        several(count, || {
            let telegram = Telegram::start();
            telegram.unhurried();
            telegram
        })
    }),
    ("wecom", |count| several(count, WeCom::start)),
];

fn several<M: Messenger + 'static>(count: usize, start: fn() -> M) -> StandIns {
    (0..count).map(|_| boxed(start())).collect()
}

fn boxed<M: Messenger + 'static>(messenger: M) -> Box<dyn Messenger> {
    Box::new(messenger)
}

/// Runs the same test on all messengers at once: most of the time passes in waiting for their rate limits. `SANDBRIDGE_MESSENGER`
/// selects some of them, separated by commas.
fn on_each(work: fn(&dyn Messenger)) {
    on_each_in_turn(EACH.len(), move |_, start| work(&*start(1)[0]));
}

/// Runs the same test on all messengers, this many at once; it gets a messenger's name, and the function that starts its stand-ins.
fn on_each_in_turn(at_once: usize, work: impl Fn(&str, Start) + Copy + Send + 'static) {
    let wanted = std::env::var("SANDBRIDGE_MESSENGER").unwrap_or_default();
    let chosen: Vec<_> = EACH
        .iter()
        .filter(|(name, _)| wanted.is_empty() || wanted.split(',').any(|it| it == *name))
        .collect();
    assert!(
        !chosen.is_empty(),
        "{wanted} is none of {:?}",
        EACH.iter().map(|(name, _)| name).collect::<Vec<_>>()
    );
    let begin = |(name, start): &'static (&'static str, Start)| {
        let started = Instant::now();
        let thread = thread::Builder::new().name((*name).to_owned());
        let worked = thread.spawn(move || {
            work(name, *start);
            println!("{name}: {:.1} s", started.elapsed().as_secs_f32());
        });
        (name, worked.unwrap())
    };
    let mut ended = Vec::new();
    for some in chosen.chunks(at_once) {
        let begun: Vec<_> = some.iter().copied().map(begin).collect();
        ended.extend(begun.into_iter().map(|(name, thread)| (name, thread.join())));
    }
    let failed: Vec<_> = ended.iter().filter(|(_, ended)| ended.is_err()).map(|(name, _)| name).collect();
    assert!(failed.is_empty(), "failed on {failed:?}; see their panics above");
}

/// The status of the account.
fn channel(world: &World) -> Value {
    channel_of(world, PHONE)
}

/// The status of the account with this name.
fn channel_of(world: &World, name: &str) -> Value {
    world.alice.json(&["channel", "status", name, "--json"])
}

fn text(message: &Message) -> String {
    message.parameters["text"].as_str().unwrap_or_default().to_owned()
}

/// Waits for a message of the bot that contains this text.
fn reads(telegram: &Telegram, part: &str) -> Message {
    eventually(&format!("{part:?} is read"), PATIENCE, || {
        telegram.messages().into_iter().find(|message| text(message).contains(part))
    })
}

#[test]
fn a_picture_from_telegram_is_stored_and_its_markup_and_buttons_are_used() {
    /// Alice's id on Telegram.
    const ALICE: i64 = 4001;
    let script = |asked: &tests::Asked| match (asked.last_of_user().as_str(), asked.results().last()) {
        ("make it", None) => Reply::Call(vec![("Shell", json!({"command": "echo made > made.txt"}))]),
        ("make it", Some(_)) => Reply::Say("**made** it".to_owned()),
        (other, _) => Reply::Say(format!("echo: {other}")),
    };
    let (world, telegram) = (World::with(script, OPEN), Telegram::start());
    telegram.unhurried();
    add(&world, &telegram);
    link(&world, &telegram, 0);
    let tested = world.run(&["channel", "test", "phone"]);
    assert!(tested.stdout.contains("sand_bot"), "{tested:?}");
    telegram.say(ALICE, "make it");
    reads(&telegram, "Shell needs your approval");
    let ask = telegram.said().into_iter().find(|said| !said.labels.is_empty()).unwrap();
    Messenger::press(&telegram, STRANGER, &ask, "Allow");
    eventually("the other person is refused", PATIENCE, || {
        telegram.answered().iter().any(|(_, text)| text.contains("somebody else")).then_some(())
    });
    assert!(!world.path("made.txt").exists());
    Messenger::press(&telegram, 0, &ask, "Allow");
    let answer = reads(&telegram, "made it");
    assert_eq!(answer.parameters["entities"][0]["type"], "bold");
    let outcome = eventually("the question shows its outcome", PATIENCE, || {
        telegram.said().into_iter().find(|said| said.text.contains("→ Allow"))
    });
    assert!(outcome.at == ask.at && outcome.labels.is_empty(), "{outcome:?}");
    telegram.say(ALICE, "/send ../../etc/shadow");
    reads(&telegram, "The file was not sent");
    telegram.file("photos/1.jpg", b"\xff\xd8\xff picture");
    let photo =
        json!([{"file_id": "photos/1.jpg", "file_unique_id": "1", "width": 1, "height": 1, "file_size": 11}]);
    let person = Telegram::person(ALICE, "Ann");
    telegram.message(json!({"chat": {"id": ALICE, "type": "private"}, "from": person, "photo": photo, "caption": "look at this"}));
    let seen = reads(&telegram, "echo: look at this");
    assert!(text(&seen).contains("[attached: .sandbridge/attachments/"), "{seen:?}");
}

#[test]
fn a_turn_may_ask_more_questions_than_qq_allows_replies() {
    /// QQ accepts five replies to a message.
    const QUESTIONS: usize = 6;
    let script = |asked: &tests::Asked| match asked.results().len() {
        QUESTIONS => Reply::Say("all done".to_owned()),
        number => Reply::Call(vec![("Shell", json!({"command": format!("echo {number} >> made.txt")}))]),
    };
    let (world, qq) = (World::with(script, OPEN), Qqs::start(true));
    add(&world, &qq);
    link(&world, &qq, 0);
    qq.say(0, "make them");
    let mut answered = Vec::new();
    for number in 0..QUESTIONS {
        let ask = eventually(&format!("question {number} arrives"), PATIENCE, || {
            let is_new = |said: &messenger::Said| !said.labels.is_empty() && !answered.contains(&said.at);
            qq.said().into_iter().find(is_new)
        });
        answered.push(ask.at);
        qq.press(0, &ask, "Allow");
    }
    eventually("the answer arrives", PATIENCE, || {
        qq.said().iter().any(|said| said.text.contains("all done")).then_some(())
    });
    assert_eq!(std::fs::read_to_string(world.path("made.txt")).unwrap(), "0\n1\n2\n3\n4\n5\n");
    assert_eq!(qq.refused(), Vec::<String>::new());
}
