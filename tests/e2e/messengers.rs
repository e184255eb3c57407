//! The official client of each messenger against the stand-in that our side is tested with: only what it accepts is a stand-in.

use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use tests::eventually;
use tests::platforms::official;
use tests::platforms::telegram::{BOT, Fault, TOKEN, Telegram, USERNAME};

const PATIENCE: Duration = Duration::from_secs(30);

fn saw(lines: &[Value], expected: &Value) {
    assert!(lines.contains(expected), "{expected} is not among {lines:#?}");
}

#[test]
fn aiogram_accepts_telegrams_stand_in() {
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
