//! The official client of each messenger, used with the stand-in with which our own client is tested: a stand-in counts only if the official client
//! accepts it.

use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use tests::eventually;
use tests::platforms::discord::{self, Discord};
use tests::platforms::official;
use tests::platforms::slack::{self, Slack};
use tests::platforms::telegram::{BOT, Fault, TOKEN, Telegram, USERNAME};

const PATIENCE: Duration = Duration::from_secs(120);

fn saw(lines: &[Value], expected: &Value) {
    assert!(lines.contains(expected), "{expected} is not among {lines:#?}");
}

#[test]
fn aiogram_accepts_the_stand_in_of_telegram() {
    let telegram = Telegram::start();
    telegram.unhurried();
    telegram.file("photos/1.jpg", b"picture");
    let mention = json!([{"type": "mention", "offset": 0, "length": 9}]);
    let person = Telegram::person(4001, "Ann");
    telegram.message(json!({"chat": {"id": -5, "type": "group", "title": "G"}, "from": person, "text": "@sand_bot hi", "entities": mention}));
    let photo =
        json!([{"file_id": "photos/1.jpg", "file_unique_id": "1", "width": 1, "height": 1, "file_size": 7}]);
    telegram.message(
        json!({"chat": {"id": 4001, "type": "private"}, "from": person, "photo": photo, "caption": "look"}),
    );
    let edited = json!({"chat": {"id": 4001, "type": "private"}, "from": person, "text": "better", "edit_date": 1_780_000_001});
    telegram.update("edited_message", telegram.dated(edited));
    telegram.close(6, "Forbidden: bot was blocked by the user");
    telegram.migrate(-7, -70);
    let url = telegram.url();
    let client = thread::spawn(move || official::python("aiogram", "telegram.py", &[&url, TOKEN]));
    let asked = eventually("the bot asks, and sends its file", PATIENCE, || {
        let messages = telegram.messages();
        let asked = messages.iter().find(|message| message.method == "sendMessage").cloned();
        asked.filter(|_| messages.iter().any(|message| message.method == "sendDocument"))
    });
    telegram.fault("sendMessage", Fault::TooFast(Some(3)));
    telegram.press(4001, &asked, "yes-1");
    let lines = client.join().unwrap();
    saw(&lines, &json!({"me": USERNAME, "id": BOT}));
    saw(&lines, &json!({"text": "@sand_bot hi", "sender": 4001, "chat": "group", "entities": ["mention"]}));
    saw(&lines, &json!({"sent": "😀 bold", "entities": [["bold", 3, 4]]}));
    saw(&lines, &json!({"photo": "picture", "caption": "look"}));
    saw(&lines, &json!({"document": "report.bin"}));
    saw(&lines, &json!({"edited": "better"}));
    saw(&lines, &json!({"pressed": "yes-1", "changed": "changed"}));
    saw(&lines, &json!({"too_fast": "retry after 3"}));
    saw(&lines, &json!({"long": "TelegramBadRequest"}));
    saw(&lines, &json!({"closed": "TelegramForbiddenError"}));
    saw(&lines, &json!({"moved": "migrate to -70"}));
    saw(&lines, &json!({"first_poller": "TelegramConflictError", "second_poller": "none"}));
    saw(&lines, &json!({"stranger": "TelegramUnauthorizedError"}));
    assert_eq!(telegram.answered(), [(format!("press-{}", asked.id), "done".to_owned())]);
    let document = telegram.messages().into_iter().find(|message| message.method == "sendDocument").unwrap();
    assert_eq!(document.file, Some(("report.bin".to_owned(), b"\0\xffreport".to_vec())));
    assert_eq!(telegram.unconfirmed(), 0);
}

#[test]
fn the_official_client_of_slack_accepts_the_stand_in() {
    let stand_in = Slack::start();
    stand_in.unhurried();
    stand_in.say("U1", "hello");
    stand_in.say("U1", "again");
    let api = stand_in.api();
    let client =
        thread::spawn(move || official::node("slack.mjs", &[&api, slack::APP_TOKEN, slack::BOT_TOKEN]));
    let asked = eventually("the bot asks", PATIENCE, || stand_in.messages().first().cloned());
    stand_in.press("U1", &asked, "yes-1");
    eventually("it answers the press with a file", PATIENCE, || stand_in.files().first().cloned());
    eventually("the unacknowledged event is redelivered", PATIENCE, || {
        (stand_in.acknowledged() == 3).then_some(())
    });
    stand_in.disconnect("refresh_requested");
    eventually("it connects again", PATIENCE, || (stand_in.sockets().2 == 2).then_some(()));
    stand_in.fault("chat.postMessage", slack::Fault::TooFast(Some(3)));
    stand_in.say("U1", "after the disconnect");
    let lines = client.join().unwrap();
    saw(&lines, &json!({"me": slack::BOT}));
    saw(&lines, &json!({"text": "hello", "user": "U1", "retry": false}));
    saw(&lines, &json!({"text": "again", "user": "U1", "retry": true}));
    saw(&lines, &json!({"sent": true}));
    saw(&lines, &json!({"pressed": "yes-1", "changed": "changed"}));
    saw(&lines, &json!({"connections": 2}));
    saw(&lines, &json!({"too_fast": "retry after 3"}));
    saw(&lines, &json!({"broken": "invalid_blocks: an empty rich_text"}));
    saw(&lines, &json!({"stranger": "invalid_auth"}));
    assert_eq!(stand_in.files(), [("D1".to_owned(), "report.bin".to_owned(), vec![0, 255, 1])]);
    assert_eq!(stand_in.answers()[0]["text"], "done");
}

#[test]
fn the_official_client_of_discord_accepts_the_stand_in() {
    let stand_in = Discord::start_with(500);
    stand_in.fault_in("56", discord::Fault::TooFast(Some(3.0)));
    stand_in.say("hello");
    let api = stand_in.api();
    let client = thread::spawn(move || official::node("discord.mjs", &[&api, discord::TOKEN]));
    let asked = eventually("the bot asks", PATIENCE, || stand_in.messages().first().cloned());
    eventually("heartbeats arrive", PATIENCE, || (stand_in.beats() > 2).then_some(()));
    stand_in.press("1", &asked, "yes-1");
    eventually("it answers the press with a file", PATIENCE, || {
        stand_in.messages().into_iter().find(|message| message.file.is_some())
    });
    stand_in.reconnect();
    eventually("it resumes", PATIENCE, || (stand_in.sessions().1 > 0).then_some(()));
    stand_in.say("after the reconnect");
    let lines = client.join().unwrap();
    saw(&lines, &json!({"ready": "sand"}));
    saw(&lines, &json!({"text": "hello", "author": "1"}));
    saw(&lines, &json!({"same": true}));
    saw(&lines, &json!({"pressed": "yes-1"}));
    saw(&lines, &json!({"resumed": true}));
    saw(&lines, &json!({"text": "after the reconnect", "author": "1"}));
    saw(&lines, &json!({"beats": true}));
    saw(&lines, &json!({"long": 50035}));
    saw(&lines, &json!({"too_fast": "RateLimitError[/channels/56/messages]"}));
    let messages = stand_in.messages();
    assert_eq!(messages[0].parameters["content"], "changed");
    assert_eq!(messages[1].file, Some(("report.bin".to_owned(), vec![0, 255, 1])));
    assert_eq!(messages.len(), 2, "the nonce was enforced");
    assert_eq!(stand_in.followups()[0]["content"], "done");
    assert_eq!(stand_in.callbacks()[0].1, json!({"type": 6}));
}
