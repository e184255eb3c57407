//! Tests of Telegram with a stand-in for its servers.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use guard::Reach;
use platforms::event::What;
use platforms::limits::MARKDOWN_MAX_BYTES;
use platforms::names::is_invisible;
use platforms::{
    Button, Conversation, End, Failure, FileOut, Media, MediaKind, Outgoing, Platform, Quoted, Styled,
};
use proptest::prelude::*;
use serde_json::{Value, json};
use tests::platforms::telegram::{BOT, Fault, TOKEN, Telegram, USERNAME, check_message};
use tests::platforms::texts::large;

use crate::support::{Memory, Running, made, refused, silent, until};

const ANN: i64 = 4001;
const GROUP: i64 = -100_500;

fn here() -> Reach {
    Reach::public(&["127.0.0.1".to_owned()])
}

fn bot(telegram: &Telegram) -> Arc<dyn Platform> {
    made("telegram", &json!({"token": TOKEN, "api": telegram.url()}), &here())
}

fn direct() -> Conversation {
    Conversation { id: ANN.to_string(), is_group: false }
}

fn group() -> Conversation {
    Conversation { id: GROUP.to_string(), is_group: true }
}

fn in_group(fields: &Value) -> Value {
    let mut message = json!({"chat": {"id": GROUP, "type": "supergroup", "title": "G"}, "from": Telegram::person(ANN, "Ann")});
    message.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    message
}

fn text(bot: &Arc<dyn Platform>, text: &str) -> Outgoing {
    bot.render(&Styled::markdown(text), &[]).remove(0)
}

#[tokio::test]
async fn messages_come_once_and_in_order() {
    let telegram = Telegram::start();
    let (bot, inbox) = (bot(&telegram), Memory::default());
    telegram.say(ANN, "before it was connected");
    let running = Running::start(&bot, &inbox);
    inbox.count(1).await;
    for number in 0..250 {
        telegram.say(ANN, &format!("number {number}"));
    }
    inbox.count(251).await;
    until("everything is confirmed", || telegram.unconfirmed() == 0).await;
    running.stop().await;
    let texts = inbox.texts();
    assert_eq!(texts[0], "before it was connected");
    assert!((0..250).all(|number| texts[number + 1] == format!("number {number}")));
    let (event, message) = inbox.messages().remove(0);
    assert_eq!(event.conversation, direct());
    assert_eq!(
        (event.sender.id.as_str(), event.sender.name.as_str(), event.sender.is_bot),
        ("4001", "Ann", false)
    );
    assert!(!message.mentions_us && event.at_ms > 0 && event.reply.is_null());
    assert_eq!(inbox.held().connected, [format!("@{USERNAME}")]);
}

#[tokio::test]
async fn a_kill_between_commit_and_acknowledgement_doubles_nothing() {
    let telegram = Telegram::start();
    let (bot, inbox) = (bot(&telegram), Memory::default());
    for round in 0..20 {
        telegram.say(ANN, &format!("first {round}"));
        telegram.say(ANN, &format!("second {round}"));
        inbox.held().dies_after_commit = true;
        let running = Running::start(&bot, &inbox);
        inbox.count(2 * (round + 1)).await;
        running.kill().await;
    }
    let running = Running::start(&bot, &inbox);
    telegram.say(ANN, "last");
    inbox.count(41).await;
    running.stop().await;
    assert_eq!(inbox.held().events.len(), 41);
    assert_eq!(inbox.texts()[40], "last");
}

#[tokio::test]
async fn what_was_not_committed_comes_again() {
    let telegram = Telegram::start();
    let (bot, inbox) = (bot(&telegram), Memory::default());
    inbox.held().refusals = 3;
    telegram.say(ANN, "hello");
    for _ in 0..3 {
        let end = Running::start(&bot, &inbox).end().await;
        assert!(matches!(&end, End::Lost(why) if why.contains("the disk is full")), "{end:?}");
        assert_eq!(telegram.unconfirmed(), 1);
    }
    let running = Running::start(&bot, &inbox);
    inbox.count(1).await;
    running.stop().await;
}

#[tokio::test]
async fn cuts_lose_and_double_nothing() {
    let telegram = Telegram::start();
    let (bot, inbox) = (bot(&telegram), Memory::default());
    let running = Running::keep(&bot, &inbox);
    for number in 0..100 {
        telegram.say(ANN, &number.to_string());
        if number % 3 == 0 {
            telegram.cut();
        }
        if number % 10 == 0 {
            telegram.fault("getUpdates", Fault::DoneAndCut);
        }
    }
    inbox.count(100).await;
    running.stop().await;
    let expected: Vec<String> = (0..100).map(|number| number.to_string()).collect();
    assert_eq!(inbox.texts(), expected);
}

#[tokio::test]
async fn ids_that_begin_elsewhere_after_a_week_are_no_old_ones() {
    let telegram = Telegram::start();
    let (bot, inbox) = (bot(&telegram), Memory::default());
    let running = Running::start(&bot, &inbox);
    telegram.say(ANN, "old");
    inbox.count(1).await;
    until("it is confirmed", || telegram.unconfirmed() == 0).await;
    running.kill().await;
    // The stored cursor is more than a week old, so it is no longer used.
    inbox.held().cursor = Some("800000002@1000000000".to_owned());
    telegram.jump_to(5);
    telegram.say(ANN, "new");
    let running = Running::start(&bot, &inbox);
    inbox.count(2).await;
    telegram.say(ANN, "newer");
    inbox.count(3).await;
    running.stop().await;
    assert_eq!(inbox.texts(), ["old", "new", "newer"]);
}

#[tokio::test]
async fn another_poller_a_webhook_and_a_wrong_token_are_told() {
    let telegram = Telegram::start();
    let (ours, inbox) = (bot(&telegram), Memory::default());
    let first = Running::start(&ours, &inbox);
    until("it polls", || telegram.polls() == 1).await;
    let second = Running::start(&bot(&telegram), &inbox);
    let End::Wait { ms, why } = first.end().await else { panic!("it goes on at once") };
    assert!(ms >= 10_000 && why.starts_with("another program polls with this token"), "{ms}: {why}");
    second.stop().await;
    telegram.set_webhook();
    let why = refused(Running::start(&ours, &inbox).end().await);
    assert!(why.starts_with("a webhook is set"), "{why}");
    telegram.revoke();
    let why = refused(Running::start(&ours, &inbox).end().await);
    assert_eq!(why, "Telegram refuses the token: Unauthorized");
    assert!(matches!(ours.probe().await, Err(Failure::Account(_))));
    let other = json!({"token": "1:AAAAAAAAAAAAAAAAAAAAAAAA", "api": telegram.url()});
    let other = made("telegram", &other, &here());
    silent(&other.probe().await, "AAAAAAAA");
    assert!(matches!(other.probe().await, Err(Failure::Account(_))));
}

#[tokio::test]
async fn a_server_that_is_away_is_no_refusal() {
    let nobody = made("telegram", &json!({"token": TOKEN, "api": "http://127.0.0.1:1"}), &here());
    let end = Running::start(&nobody, &Memory::default()).end().await;
    assert!(matches!(end, End::Lost(_)), "{end:?}");
    silent(&end, "AAFD39");
    assert!(matches!(
        nobody.send(&direct(), &text(&nobody, "x"), &Value::Null, "").await,
        Err(Failure::Away(_))
    ));
}

#[tokio::test]
async fn a_deaf_connection_is_noticed() {
    let telegram = Telegram::start();
    let (bot, inbox) = (bot(&telegram), Memory::default());
    telegram.fault("getUpdates", Fault::Silent);
    let running = Running::start(&bot, &inbox);
    until("it is connected", || !inbox.held().connected.is_empty()).await;
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    let began = tokio::time::Instant::now();
    tokio::time::pause();
    let end = running.end_at_any_time().await;
    assert!(matches!(&end, End::Lost(why) if why.contains("too long")), "{end:?}");
    assert!(began.elapsed().as_secs() < 90, "{:?}", began.elapsed());
}

#[tokio::test]
async fn only_entities_mention_in_groups_and_bots_are_marked() {
    let telegram = Telegram::start();
    let (bot, inbox) = (bot(&telegram), Memory::default());
    telegram.message(in_group(&json!({"text": "@sand_bot by text alone"})));
    let mention = json!([{"type": "mention", "offset": 0, "length": 9}]);
    telegram.message(in_group(&json!({"text": "@Sand_bot do it", "entities": mention})));
    telegram.message(in_group(&json!({"text": "@sand_bot", "entities": mention})));
    let other_bot = json!({"id": 9, "is_bot": true, "first_name": "Other"});
    telegram.message(in_group(&json!({"text": "loop", "from": other_bot})));
    let own = json!({"id": BOT, "is_bot": true, "first_name": "Sand"});
    telegram.message(in_group(&json!({"text": "own", "from": own})));
    let strange = json!({"id": 3, "is_bot": false, "first_name": "\u{202e}\u{200b}Eve\u{feff}"});
    let answered = json!({"message_id": 5, "text": "run it?", "from": {"id": BOT, "is_bot": true, "first_name": "Sand"}});
    telegram.message(in_group(&json!({"text": "yes", "from": strange, "reply_to_message": answered})));
    // Sends updates without a sender, without content, or of an unknown kind.
    telegram.update(
        "channel_post",
        json!({"message_id": 1, "date": 1, "chat": {"id": -1, "type": "channel"}, "text": "x"}),
    );
    telegram.message(in_group(&json!({"from": Value::Null, "text": "nobody"})));
    telegram.message(in_group(&json!({"new_chat_title": "H"})));
    telegram.update("poll_answer", json!({"poll_id": "1"}));
    telegram.message(in_group(&json!({"text": "end"})));
    let running = Running::start(&bot, &inbox);
    inbox.count(7).await;
    running.stop().await;
    let seen: Vec<_> = inbox
        .messages()
        .into_iter()
        .map(|(event, message)| (message.text, message.mentions_us, event.sender.is_bot))
        .collect();
    let expected = [
        ("@sand_bot by text alone", false, false),
        ("do it", true, false),
        ("", true, false),
        ("loop", false, true),
        ("own", false, true),
        ("yes", false, false),
        ("end", false, false),
    ];
    assert_eq!(seen, expected.map(|(text, mentions, is_bot)| (text.to_owned(), mentions, is_bot)));
    let (event, message) = inbox.messages().remove(5);
    assert_eq!(event.sender.name, "Eve");
    assert_eq!(
        message.quoted,
        Some(Quoted { id: "5".to_owned(), text: "run it?".to_owned(), is_ours: true })
    );
    assert_eq!(event.reply, json!({"message": message.id.parse::<i64>().unwrap()}));
}

#[tokio::test]
async fn edits_presses_moves_and_removals_come() {
    let telegram = Telegram::start();
    let (bot, inbox) = (bot(&telegram), Memory::default());
    let buttons = [Button { label: "Allow".to_owned(), token: "a".repeat(64) }];
    let question = bot.render(&Styled::plain("May I?"), &buttons).remove(0);
    let sent = bot.send(&direct(), &question, &Value::Null, "").await.unwrap();
    telegram.press(ANN, &telegram.messages()[0], &"a".repeat(64));
    let edited = telegram.dated(in_group(&json!({"text": "better", "edit_date": 1_780_000_100})));
    telegram.update("edited_message", edited);
    telegram.message(in_group(&json!({"migrate_to_chat_id": -100_900})));
    let change = json!({"chat": {"id": GROUP, "type": "group"}, "from": Telegram::person(ANN, "Ann"), "date": 1,
        "new_chat_member": {"status": "kicked", "user": {"id": BOT}}});
    telegram.update("my_chat_member", change);
    let running = Running::start(&bot, &inbox);
    inbox.count(4).await;
    running.stop().await;
    let (event, press) = inbox.presses().remove(0);
    assert_eq!((press.token, press.message, event.sender.id), ("a".repeat(64), sent.id, ANN.to_string()));
    bot.answer_press(&press.handle, &"done ".repeat(100)).await.unwrap();
    assert_eq!(telegram.answered()[0].1.chars().count(), 200);
    let (_, message) = inbox.messages().remove(0);
    assert!(message.is_edited && message.text == "better");
    let events = inbox.held().events.clone();
    assert_eq!(events[2].what, What::Moved { to: "-100900".to_owned() });
    assert_eq!((&events[3].what, &events[3].conversation), (&What::Removed, &group()));
}

#[tokio::test]
async fn failures_say_whether_a_message_may_have_been_taken() {
    let telegram = Telegram::start();
    telegram.unhurried();
    let make = || bot(&telegram);
    let hello = text(&make(), "hello");
    let send = async || make().send(&direct(), &hello, &Value::Null, "").await;
    telegram.fault("sendMessage", Fault::TooFast(Some(7)));
    assert!(matches!(send().await, Err(Failure::TooFast { wait_ms: 7000 })));
    telegram.fault("sendMessage", Fault::TooFast(None));
    assert!(matches!(send().await, Err(Failure::TooFast { wait_ms: 5000 })));
    telegram.fault("sendMessage", Fault::Gateway(502));
    assert!(matches!(send().await, Err(Failure::Unknown(_))));
    telegram.fault("sendMessage", Fault::Cut);
    assert!(matches!(send().await, Err(Failure::Unknown(_))));
    assert_eq!(telegram.messages().len(), 0);
    telegram.fault("sendMessage", Fault::DoneAndCut);
    assert!(matches!(send().await, Err(Failure::Unknown(_))));
    assert_eq!(telegram.messages().len(), 1, "it was taken once");
    for why in ["Forbidden: bot was blocked by the user", "Bad Request: chat not found"] {
        telegram.close(ANN, why);
        assert!(matches!(send().await, Err(Failure::Closed(_))), "{why}");
    }
    let broken = Outgoing { payload: json!({"text": "x".repeat(5000)}) };
    assert!(matches!(make().send(&group(), &broken, &Value::Null, "").await, Err(Failure::Message(_))));
}

#[tokio::test]
async fn a_group_that_changed_its_id_is_followed() {
    let telegram = Telegram::start();
    telegram.migrate(GROUP, -100_900);
    let bot = bot(&telegram);
    bot.send(&group(), &text(&bot, "hello"), &json!({"message": 3}), "").await.unwrap();
    let sent = telegram.messages().remove(0);
    assert_eq!(sent.chat, -100_900);
    assert_eq!(sent.parameters["reply_parameters"]["message_id"], 3);
}

#[tokio::test]
async fn the_pace_is_kept_before_telegram_has_to_say_so() {
    let telegram = Telegram::start();
    let bot = bot(&telegram);
    let hello = text(&bot, "hello");
    let mut sent = 0;
    while sent < 3 {
        match bot.send(&direct(), &hello, &Value::Null, "").await {
            Ok(_) => sent += 1,
            Err(Failure::TooFast { wait_ms }) => {
                tokio::time::sleep(std::time::Duration::from_millis(wait_ms)).await
            }
            Err(other) => panic!("{other:?}"),
        }
    }
    assert_eq!(telegram.refused(), [""; 0]);
}

#[tokio::test]
async fn a_message_is_edited_in_place() {
    let telegram = Telegram::start();
    telegram.unhurried();
    let first = bot(&telegram);
    let sent = first.send(&direct(), &text(&first, "one"), &Value::Null, "").await.unwrap();
    bot(&telegram).edit(&direct(), &sent.id, &text(&first, "**two**")).await.unwrap();
    bot(&telegram)
        .edit(&direct(), &sent.id, &text(&first, "**two**"))
        .await
        .expect("the same again is no failure");
    assert_eq!(telegram.messages()[0].parameters["text"], "two");
    let missing = bot(&telegram).edit(&direct(), "99", &text(&first, "x")).await;
    assert!(matches!(missing, Err(Failure::Message(_))));
}

#[tokio::test]
async fn files_go_out_as_they_are() {
    let telegram = Telegram::start();
    telegram.unhurried();
    let file = |name: &str, bytes: &'static [u8], is_image| FileOut {
        name: name.to_owned(),
        bytes: Bytes::from_static(bytes),
        is_image,
    };
    let all = [
        file("a.png", b"\x89PNG\r\n\x1a\n--", true),
        file("no picture.png", b"text", true),
        file("../../\"x\".bin", b"\r\n--boundary\r\n\0\xff", false),
    ];
    for file in &all {
        bot(&telegram).send_file(&direct(), file, &Value::Null, "").await.unwrap();
    }
    let sent: Vec<_> =
        telegram.messages().into_iter().map(|message| (message.method, message.file.unwrap())).collect();
    let expected = [
        ("sendPhoto", "a.png", 0),
        ("sendDocument", "no picture.png", 1),
        ("sendDocument", "%22x%22.bin", 2),
    ];
    for ((method, (name, bytes)), (known_method, known_name, at)) in sent.into_iter().zip(expected) {
        assert_eq!((method.as_str(), name.as_str()), (known_method, known_name));
        assert_eq!(bytes, all[at].bytes);
    }
}

#[tokio::test]
async fn files_come_in_within_bounds_and_from_outside_only() {
    let telegram = Telegram::start();
    let (bot, inbox) = (bot(&telegram), Memory::default());
    telegram.file("photos/large", b"picture");
    let photo = json!([{"file_id": "photos/small", "width": 1, "height": 1}, {"file_id": "photos/large", "file_size": 7, "width": 9, "height": 9}]);
    telegram.message(in_group(&json!({"photo": photo, "caption": "look", "caption_entities": []})));
    telegram.message(in_group(&json!({"document": {"file_id": "photos/large", "file_name": "../a/b.txt", "mime_type": "text/plain", "file_size": 1}})));
    let running = Running::start(&bot, &inbox);
    inbox.count(2).await;
    running.stop().await;
    let media: Vec<Media> = inbox.messages().into_iter().flat_map(|(_, message)| message.media).collect();
    assert_eq!((media[0].kind, media[0].bytes), (MediaKind::Image, Some(7)));
    assert_eq!((media[1].kind, media[1].name.as_str()), (MediaKind::File, "b.txt"));
    assert_eq!(inbox.texts(), ["look", ""]);
    assert_eq!(bot.fetch(&media[1], 7).await.unwrap(), "picture");
    let fetch = async |id: &str| bot.fetch(&Media { handle: json!(id), ..media[0].clone() }, 7).await;
    telegram.file("large", &[0; 8]);
    telegram.lying_file("short", 7, b"pic");
    telegram.lying_file("long", 3, b"picture, and more of it");
    for to in
        ["http://169.254.169.254/latest", "http://localhost/x", "file:///etc/passwd", "http://10.0.0.1/"]
    {
        telegram.moved_file("moved", to);
        let failure = fetch("moved").await.unwrap_err();
        assert!(matches!(failure, Failure::Message(_)), "{to}: {failure:?}");
        silent(&failure, "AAFD39");
    }
    assert!(matches!(fetch("large").await, Err(Failure::Message(_))));
    assert!(matches!(fetch("short").await, Err(Failure::Away(_))));
    assert_eq!(fetch("long").await.unwrap(), "pic");
    assert!(matches!(fetch("missing").await, Err(Failure::Message(_))));
    telegram.file("../../etc/passwd", b"secret");
    assert!(matches!(fetch("../../etc/passwd").await, Err(Failure::Message(_))));
}

/// Returns the letters of a text that remain after cutting removes spaces and messages with nothing visible are left out.
fn letters(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace() && *c != '…' && !is_invisible(*c)).collect()
}

fn check(markdown: &str) {
    static BOT: OnceLock<Arc<dyn Platform>> = OnceLock::new();
    let bot = BOT.get_or_init(|| made("telegram", &json!({"token": TOKEN}), &Reach::public(&[])));
    let styled = Styled::markdown(markdown);
    let buttons = [Button { label: String::new(), token: "t".to_owned() }];
    let messages = bot.render(&styled, &buttons);
    let mut kept = String::new();
    for message in &messages {
        check_message(&message.payload).unwrap_or_else(|why| panic!("{why}: {:?}", message.payload));
        kept.push_str(message.payload["text"].as_str().unwrap());
    }
    // Every letter is present, in order; addresses that Telegram does not link to may be in between.
    let mut written = kept.chars();
    let text = styled.text();
    for letter in letters(&text).chars() {
        assert!(written.any(|c| c == letter), "{letter:?} of {text:?} is missing in {kept:?}");
    }
    assert!(messages.last().unwrap().payload["reply_markup"].is_object());
}

#[test]
fn large_texts_of_every_kind_are_taken() {
    large(MARKDOWN_MAX_BYTES).for_each(|text| check(&text));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn any_markdown_is_taken(text in "([a-z ]{1,5}|[*_~`>#|\\[\\]()!-]{1,3}|\n|\n\n|\n```sh\n|\n> |\n- |\\*\\*b\\*\\*|_i_|`c`|😀|\u{200b}|名|\\[l\\]\\(http://a.example/x\\)|\\[m\\]\\(mailto:a@b.example\\)){0,400}") {
        check(&text);
    }

    #[test]
    fn any_text_is_taken(text in any::<String>(), times in 1_usize..300) {
        check(&text.repeat(times));
    }
}
