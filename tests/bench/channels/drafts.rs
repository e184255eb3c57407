//! Refusals of a messenger that enforces its published rate limits, while 100 answers stream to people on one account.
//!
//! Each answer is a draft that is edited as it grows, and then becomes complete; every request counts, also that of the last edit.

use std::thread;
use std::time::{Duration, Instant};

use tests::http::Client;
use tests::platforms::feishu::Feishu;
use tests::platforms::telegram::Telegram;
use tests::{Asked, Reply, ScriptedModel, Server};

use super::{ACCOUNT, Bot, HABITS, OPTIONS, TURNS_OF_USER, connected, link, put, until, user};
use crate::samples::Row;

/// The number of people, each with a chat of their own.
const PEOPLE: usize = 100;
/// The number of numbered words in an answer, and the pause after each: an answer takes 60 s.
const WORDS: usize = 400;
const WORD: Duration = Duration::from_millis(150);
/// An answer of the model that takes at least this long is a stream.
const STREAM: Duration = Duration::from_secs(10);

pub(super) fn rows() -> Vec<Row> {
    vec![measured(&Telegram::start()), measured(&Feishu::start())]
}

fn script(asked: &Asked) -> Reply {
    match asked.last_of_user().as_str() {
        "write" => Reply::Slowly((0..WORDS).map(|number| format!("w{number:03} ")).collect(), WORD),
        other => Reply::Say(format!("echo: {other}")),
    }
}

fn measured<B: Bot>(bot: &B) -> Row {
    let model = ScriptedModel::start_with(HABITS, script);
    let at_once = PEOPLE.to_string();
    let options = [OPTIONS, &["--turns-at-once", &at_once], &model.options("openai")[..]].concat();
    let server = Server::start_with(&options);
    let owner = user(&server, "owner");
    put(&owner, ACCOUNT, B::KIND, &bot.values(), true);
    connected(&owner, 1);
    let readers: Vec<Client> =
        (0..PEOPLE / TURNS_OF_USER).map(|number| user(&server, &format!("reader{number}"))).collect();
    thread::scope(|scope| {
        for (number, reader) in readers.iter().enumerate() {
            let people = number * TURNS_OF_USER..(number + 1) * TURNS_OF_USER;
            scope.spawn(move || people.for_each(|person| link(reader, ACCOUNT, bot, person)));
        }
    });
    let before = (bot.sent(), bot.refused().len());
    (0..PEOPLE).for_each(|person| bot.say(person, "write"));
    let last = format!("w{:03}", WORDS - 1);
    let is_whole = |text: &String| text.contains(&last) && !text.contains('…');
    until("all answers are complete", || (0..PEOPLE).all(|person| bot.heard(person).iter().any(is_whole)));
    let ((messages, edits), refused) = (bot.sent(), bot.refused().split_off(before.1));
    let (messages, edits) = (messages - before.0.0, edits - before.0.1);
    refused.iter().for_each(|why| eprintln!("{} refused: {why}", B::TITLE));
    let empty = String::new;
    Row {
        what: format!(
            "{}, refused requests while {} chats of an account stream",
            B::TITLE,
            at_once_of(&model)
        ),
        min: empty(),
        p50: format!("{} of {}", refused.len(), messages + edits + refused.len()),
        p99: empty(),
        against: format!("{messages} messages and {edits} edits"),
        ratio: format!("{:.2} ×", refused.len() as f64 / (messages + edits) as f64),
        target: "0.00 ×".to_owned(),
    }
}

/// The largest number of streams that the model had in progress at the same time.
fn at_once_of(model: &ScriptedModel) -> usize {
    let streams = model.times().into_iter().filter(|(came, went)| *went - *came > STREAM);
    let mut changes: Vec<(Instant, isize)> =
        streams.flat_map(|(came, went)| [(came, 1), (went, -1)]).collect();
    changes.sort_unstable();
    let counts = changes.iter().scan(0, |count, (_, change)| {
        *count += change;
        Some(*count)
    });
    counts.max().unwrap_or(0).unsigned_abs()
}
