//! A long run: many messages, with disconnects and kills in between. `SANDBRIDGE_CHANNEL_MESSAGES` makes it longer.

use std::sync::Arc;

use guard::Reach;
use platforms::{Conversation, Failure, Platform, Styled};
use serde_json::{Value, json};
use tests::platforms::discord::{self, Discord};
use tests::platforms::slack::{self, Slack};
use tests::platforms::telegram::{self, Telegram};

use crate::support::{Memory, Running, made};

/// The number of messages after which the connection is cut.
const CUT_EVERY: usize = 50;
/// The number of messages after which the server is killed.
const KILL_EVERY: usize = 199;

fn messages() -> usize {
    std::env::var("SANDBRIDGE_CHANNEL_MESSAGES").map_or(400, |count| count.parse().unwrap())
}

fn here(kind: &str, setup: &Value) -> Arc<dyn Platform> {
    made(kind, setup, &Reach::public(&["127.0.0.1".to_owned()]))
}

/// Sends the numbers from 0 as messages, and checks that each arrived once.
async fn run(platform: Arc<dyn Platform>, say: impl Fn(&str), cut: impl Fn()) {
    let inbox = Memory::default();
    let mut running = Running::keep(&platform, &inbox);
    inbox.until("connected", |held| !held.connected.is_empty()).await;
    let count = messages();
    for number in 0..count {
        say(&number.to_string());
        if number % CUT_EVERY == CUT_EVERY - 1 {
            cut();
        }
        if number % KILL_EVERY == KILL_EVERY - 1 {
            // Waits until the earlier messages are on record, so that the next commit contains a new one.
            inbox.count(number).await;
            inbox.held().dies_after_commit = true;
            inbox.count(number + 1).await;
            running.kill().await;
            inbox.held().dies_after_commit = false;
            running = Running::keep(&platform, &inbox);
        }
    }
    inbox.count(count).await;
    running.stop().await;
    let mut numbers: Vec<usize> = inbox.texts().iter().map(|text| text.parse().unwrap()).collect();
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(0..count), "{:?}", inbox.texts());
    assert_eq!(inbox.held().gaps, [""; 0]);
}

#[tokio::test]
async fn telegram_loses_and_doubles_nothing() {
    let stand_in = Telegram::start();
    let platform = here("telegram", &json!({"token": telegram::TOKEN, "api": stand_in.url()}));
    let say = |text: &str| {
        stand_in.say(1, text);
    };
    run(platform, say, || stand_in.cut()).await;
}

#[tokio::test]
async fn slack_loses_and_doubles_nothing() {
    let stand_in = Slack::start();
    let setup = json!({"app_token": slack::APP_TOKEN, "bot_token": slack::BOT_TOKEN, "api": stand_in.api()});
    run(here("slack", &setup), |text| drop(stand_in.say("U1", text)), || stand_in.cut()).await;
}

/// Every third message is accepted but the response is lost, so it is sent again with the same key.
#[tokio::test]
async fn discord_takes_each_message_once() {
    let stand_in = Discord::start();
    stand_in.unhurried();
    let platform = here("discord", &json!({"token": discord::TOKEN, "api": stand_in.api()}));
    let to = Conversation { id: "55".to_owned(), is_group: false };
    let count = messages();
    for number in 0..count {
        let message = platform.render(&Styled::plain(&number.to_string()), &[]).remove(0);
        let key: String = format!("{number:064x}").chars().rev().collect();
        match number % 3 {
            0 => stand_in.fault(discord::Fault::DoneAndCut),
            1 => stand_in.fault(discord::Fault::Cut),
            _ => {}
        }
        while let Err(failure) = platform.send(&to, &message, &Value::Null, &key).await {
            assert!(matches!(failure, Failure::Unknown(_)), "{failure:?}");
        }
    }
    let sent = stand_in
        .messages()
        .into_iter()
        .map(|message| message.parameters["content"].as_str().unwrap().parse::<usize>().unwrap());
    assert!(sent.eq(0..count));
}

#[tokio::test]
async fn discord_loses_and_doubles_nothing() {
    let stand_in = Discord::start();
    let platform = here("discord", &json!({"token": discord::TOKEN, "api": stand_in.api()}));
    run(platform, |text| drop(stand_in.say(text)), || stand_in.cut()).await;
}
