//! Tests of Slack with a stand-in for its servers.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use guard::Reach;
use platforms::event::What;
use platforms::limits::MARKDOWN_MAX_BYTES;
use platforms::{Button, Conversation, End, Failure, FileOut, Media, MediaKind, Outgoing, Platform, Styled};
use proptest::prelude::*;
use serde_json::{Value, json};
use tests::platforms::slack::{APP_TOKEN, BOT, BOT_TOKEN, Fault, Slack, check_message};
use tests::platforms::texts::large;

use crate::support::{Memory, Running, made, refused, silent, until};

fn here() -> Reach {
    Reach::public(&["127.0.0.1".to_owned()])
}

fn app(slack: &Slack) -> Arc<dyn Platform> {
    made("slack", &json!({"app_token": APP_TOKEN, "bot_token": BOT_TOKEN, "api": slack.api()}), &here())
}

fn direct() -> Conversation {
    Conversation { id: "D1".to_owned(), is_group: false }
}

fn text(app: &Arc<dyn Platform>, text: &str) -> Outgoing {
    app.render(&Styled::markdown(text), &[]).remove(0)
}

#[tokio::test]
async fn messages_come_once_whatever_slack_repeats() {
    let slack = Slack::start();
    let (app, inbox) = (app(&slack), Memory::default());
    slack.repeat();
    let running = Running::start(&app, &inbox);
    for number in 0..50 {
        slack.say("U1", &format!("number {number} &amp; &lt;b&gt;"));
    }
    inbox.count(50).await;
    until("all are acknowledged", || slack.acknowledged() == 50).await;
    running.stop().await;
    assert!((0..50).all(|number| inbox.texts()[number] == format!("number {number} & <b>")));
    assert!(inbox.held().repeated > 0);
    let (event, message) = inbox.messages().remove(0);
    assert_eq!(
        (event.conversation, event.sender.id.as_str(), event.sender.name.as_str()),
        (direct(), "U1", "Ann U1")
    );
    assert!(!event.sender.is_bot && !message.mentions_us && event.at_ms == 1_780_000_000_000);
    assert_eq!(inbox.held().connected, ["@sand (Team)"]);
}

#[tokio::test]
async fn kills_cuts_and_refused_commits_lose_and_double_nothing() {
    let slack = Slack::start();
    let (app, inbox) = (app(&slack), Memory::default());
    for round in 0..10 {
        slack.say("U1", &round.to_string());
        inbox.held().dies_after_commit = true;
        let running = Running::start(&app, &inbox);
        inbox.count(round + 1).await;
        running.kill().await;
    }
    inbox.held().refusals = 1;
    slack.say("U1", "10");
    let end = Running::start(&app, &inbox).end().await;
    assert!(
        matches!(&end, End::Lost(why) if why.contains("the disk is full")) || inbox.held().events.len() == 10,
        "{end:?}"
    );
    let running = Running::keep(&app, &inbox);
    for number in 11..60 {
        slack.say("U1", &number.to_string());
        if number % 7 == 0 {
            slack.cut();
        }
    }
    inbox.count(60).await;
    until("all are acknowledged", || slack.acknowledged() >= 60).await;
    running.stop().await;
    let mut numbers: Vec<usize> = inbox.texts().iter().map(|text| text.parse().unwrap()).collect();
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(0..60), "{:?}", inbox.texts());
}

#[tokio::test]
async fn a_new_connection_stands_before_the_old_one_ends() {
    let slack = Slack::start();
    let (app, inbox) = (app(&slack), Memory::default());
    let running = Running::start(&app, &inbox);
    until("connected", || slack.sockets().0 == 1).await;
    for round in 1..=3 {
        slack.disconnect("refresh_requested");
        until("a new one", || slack.sockets().2 == round + 1).await;
        slack.say("U1", "x");
        inbox.count(round).await;
    }
    assert!(slack.sockets().1 >= 2, "{:?}", slack.sockets());
    assert_eq!(inbox.held().connected.len(), 1, "it never was away");
    slack.disconnect("link_disabled");
    let why = refused(running.end().await);
    assert!(why.starts_with("Socket Mode is turned off"), "{why}");
}

#[tokio::test]
async fn a_deaf_connection_is_noticed() {
    let slack = Slack::start();
    let (app, inbox) = (app(&slack), Memory::default());
    let running = Running::start(&app, &inbox);
    inbox.until("connected", |held| !held.connected.is_empty()).await;
    slack.deafen(true);
    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    let began = tokio::time::Instant::now();
    tokio::time::pause();
    let end = running.end_at_any_time().await;
    assert!(matches!(&end, End::Lost(why) if why == "nothing was received for 80 s"), "{end:?}");
    assert!(began.elapsed().as_secs() <= 81, "{:?}", began.elapsed());
}

#[tokio::test]
async fn wrong_tokens_and_a_full_slack_are_told() {
    let slack = Slack::start();
    let inbox = Memory::default();
    for (app_token, bot_token) in [("xapp-wrong", BOT_TOKEN), (APP_TOKEN, "xoxb-wrong")] {
        let app = made(
            "slack",
            &json!({"app_token": app_token, "bot_token": bot_token, "api": slack.api()}),
            &here(),
        );
        let why = refused(Running::start(&app, &inbox).end().await);
        assert_eq!(why, "Slack refuses a token: invalid_auth");
        assert!(matches!(app.probe().await, Err(Failure::Account(_))));
    }
    let app = app(&slack);
    assert_eq!(app.probe().await.unwrap(), "@sand (Team)");
    slack.fault("apps.connections.open", Fault::TooFast(Some(9)));
    assert!(matches!(Running::start(&app, &inbox).end().await, End::Wait { ms: 9000, .. }));
    slack.fault("apps.connections.open", Fault::TooFast(None));
    assert!(matches!(Running::start(&app, &inbox).end().await, End::Wait { ms: 5000, .. }));
    slack.turn_off();
    let end = Running::start(&app, &inbox).end().await;
    assert!(matches!(&end, End::Lost(why) if why.contains("socket_mode_not_enabled")), "{end:?}");
    slack.revoke();
    let end = Running::start(&app, &inbox).end().await;
    silent(&end, &BOT_TOKEN[5..]);
    refused(end);
    let swapped = json!({"app_token": BOT_TOKEN, "bot_token": APP_TOKEN});
    let kind = platforms::KINDS.iter().find(|kind| kind.name == "slack").unwrap();
    assert!((kind.make)(&swapped, &here()).is_err());
}

#[tokio::test]
async fn channels_threads_edits_bots_and_removals() {
    let slack = Slack::start();
    let (app, inbox) = (app(&slack), Memory::default());
    let said = |mut fields: Value| {
        let ts = slack.ts();
        for (name, value) in [
            ("type", json!("message")),
            ("channel", json!("C1")),
            ("channel_type", json!("channel")),
            ("ts", json!(ts)),
            ("event_ts", json!(ts)),
        ] {
            if fields[name].is_null() {
                fields[name] = value;
            }
        }
        slack.event(fields.clone());
        fields
    };
    // A mention arrives twice, with two event ids.
    let mention = said(json!({"user": "U1", "text": format!("<@{BOT}> run it")}));
    let mut again = mention.clone();
    again["type"] = json!("app_mention");
    slack.event(again);
    said(json!({"user": "U1", "text": format!("&lt;@{BOT}&gt; by text")}));
    said(json!({"user": "U1", "text": "in a thread", "thread_ts": "1.5"}));
    said(json!({"user": BOT, "bot_id": "BB0T", "text": "own"}));
    said(json!({"bot_id": "B7", "subtype": "bot_message", "text": "another bot"}));
    said(
        json!({"subtype": "message_changed", "message": {"user": "U1", "ts": "1.7", "text": "better", "edited": {"ts": "2.0"}}, "previous_message": {"text": "good"}}),
    );
    said(
        json!({"subtype": "message_changed", "message": {"user": "U1", "ts": "1.7", "text": "same"}, "previous_message": {"text": "same"}}),
    );
    said(json!({"subtype": "message_deleted", "deleted_ts": "1.7"}));
    said(json!({"text": "nobody"}));
    slack.event(json!({"type": "member_left_channel", "user": BOT, "channel": "C1"}));
    slack.event(json!({"type": "channel_id_changed", "old_channel_id": "C1", "new_channel_id": "C9"}));
    let running = Running::start(&app, &inbox);
    until("all are acknowledged", || slack.acknowledged() == 12).await;
    running.stop().await;
    let seen: Vec<_> = inbox
        .messages()
        .into_iter()
        .map(|(event, message)| {
            (message.text, event.conversation.id, message.mentions_us, event.sender.is_bot, message.is_edited)
        })
        .collect();
    let expected = [
        ("run it", "C1", true, false, false),
        ("<@UB0T> by text", "C1", false, false, false),
        ("in a thread", "C1/1.5", false, false, false),
        ("own", "C1", false, true, false),
        ("another bot", "C1", false, true, false),
        ("better", "C1", false, false, true),
    ];
    assert_eq!(
        seen,
        expected.map(|(text, id, mentions, bot, edited)| (
            text.to_owned(),
            id.to_owned(),
            mentions,
            bot,
            edited
        ))
    );
    let events = inbox.held().events.clone();
    assert_eq!(events[6].what, What::Removed);
    assert_eq!(events[7].what, What::Moved { to: "C9".to_owned() });
    assert_eq!(inbox.held().repeated, 1);
}

#[tokio::test]
async fn a_press_is_answered_and_a_message_changed() {
    let slack = Slack::start();
    let (app, inbox) = (app(&slack), Memory::default());
    let running = Running::start(&app, &inbox);
    let buttons = [
        Button { label: "Allow".to_owned(), token: "tok_1".to_owned() },
        Button { label: String::new(), token: "tok_2".to_owned() },
    ];
    let question = app.render(&Styled::plain("May I?"), &buttons).remove(0);
    let sent = app.send(&direct(), &question, &Value::Null, "").await.unwrap();
    slack.press("U1", &slack.messages()[0], "tok_1");
    inbox.count(1).await;
    let (event, press) = inbox.presses().remove(0);
    assert_eq!(
        (press.token.as_str(), press.message, event.sender.id.as_str()),
        ("tok_1", sent.id.clone(), "U1")
    );
    app.answer_press(&press.handle, "done <ok>").await.unwrap();
    assert_eq!(slack.answers()[0]["text"], "done &lt;ok&gt;");
    app.edit(&direct(), &sent.id, &text(&app, "Allowed")).await.unwrap();
    assert_eq!(slack.messages()[0].parameters["text"], "Allowed");
    assert!(matches!(app.edit(&direct(), "9.9", &text(&app, "x")).await, Err(Failure::Message(_))));
    running.stop().await;
}

#[tokio::test]
async fn failures_say_whether_a_message_may_have_been_taken() {
    let slack = Slack::start();
    let app = app(&slack);
    let hello = text(&app, "hello");
    let send = async |to: &str| {
        app.send(&Conversation { id: to.to_owned(), is_group: true }, &hello, &Value::Null, "").await
    };
    slack.fault("chat.postMessage", Fault::Cut);
    assert!(matches!(send("C1").await, Err(Failure::Unknown(_))));
    assert_eq!(slack.messages().len(), 0);
    slack.fault("chat.postMessage", Fault::DoneAndCut);
    assert!(matches!(send("C1").await, Err(Failure::Unknown(_))));
    assert_eq!(slack.messages().len(), 1);
    assert!(matches!(send("C1").await, Err(Failure::TooFast { wait_ms: 1000 })), "Slack's own limit");
    slack.fault("chat.postMessage", Fault::Error("internal_error"));
    assert!(matches!(send("C1").await, Err(Failure::Unknown(_))));
    slack.fault("chat.postMessage", Fault::Error("missing_scope"));
    assert!(matches!(send("C1").await, Err(Failure::Account(_))));
    slack.fault("chat.postMessage", Fault::Error("is_archived"));
    assert!(matches!(send("C1").await, Err(Failure::Closed(_))));
    assert!(matches!(send("X1").await, Err(Failure::Closed(_))));
    send("C2/1.5").await.unwrap();
    assert_eq!(slack.messages()[1].parameters["thread_ts"], "1.5");
}

#[tokio::test]
async fn files_go_both_ways_within_bounds() {
    let slack = Slack::start();
    let (app, inbox) = (app(&slack), Memory::default());
    let file = FileOut {
        name: "../r\u{202e}.bin".to_owned(),
        bytes: Bytes::from_static(b"\0\xff--"),
        is_image: false,
    };
    app.send_file(&Conversation { id: "C1/1.5".to_owned(), is_group: true }, &file, &Value::Null, "")
        .await
        .unwrap();
    assert_eq!(slack.files(), [("C1".to_owned(), "r.bin".to_owned(), file.bytes.to_vec())]);
    slack.fault("files.completeUploadExternal", Fault::DoneAndCut);
    assert!(matches!(app.send_file(&direct(), &file, &Value::Null, "").await, Err(Failure::Unknown(_))));
    slack.fault("files.getUploadURLExternal", Fault::Cut);
    assert!(matches!(app.send_file(&direct(), &file, &Value::Null, "").await, Err(Failure::Away(_))));

    let url = slack.file("a.png", b"picture");
    let shown =
        json!({"id": "F1", "name": "a.png", "mimetype": "image/png", "size": 3, "url_private_download": url});
    let external = json!({"id": "F2", "mode": "external", "url_private": "https://evil.example/x"});
    slack.event(json!({"type": "message", "subtype": "file_share", "channel": "D1", "channel_type": "im", "user": "U1", "text": "", "ts": "5.0", "files": [shown, external]}));
    let running = Running::start(&app, &inbox);
    inbox.count(1).await;
    running.stop().await;
    let media = inbox.messages().remove(0).1.media;
    assert_eq!((media.len(), media[0].kind, media[0].bytes), (1, MediaKind::Image, Some(3)));
    assert_eq!(app.fetch(&media[0], 7).await.unwrap(), "picture");
    assert!(matches!(app.fetch(&media[0], 6).await, Err(Failure::Message(_))));
    let at = |url: &str| Media { handle: json!(url), ..media[0].clone() };
    for url in
        ["https://evil.example/x", "http://169.254.169.254/x", "https://slack.com.evil.example/x", "nonsense"]
    {
        assert!(matches!(app.fetch(&at(url), 9).await, Err(Failure::Message(_))), "{url}");
    }
    for to in ["http://169.254.169.254/x", "http://localhost/x", "http://10.0.0.1/"] {
        assert!(
            matches!(app.fetch(&at(&slack.moved_file("m", to)), 9).await, Err(Failure::Message(_))),
            "{to}"
        );
    }
    let page = slack.file("page", b"<!DOCTYPE html><title>Sign in</title>");
    assert!(
        matches!(app.fetch(&at(&page), 99).await, Err(Failure::Account(_))),
        "its login page is not the file"
    );
}

fn check(markdown: &str) {
    static APP: OnceLock<Arc<dyn Platform>> = OnceLock::new();
    let setup = json!({"app_token": APP_TOKEN, "bot_token": BOT_TOKEN});
    let app = APP.get_or_init(|| made("slack", &setup, &Reach::public(&[])));
    let styled = Styled::markdown(markdown);
    let buttons = [Button { label: "\u{200b}".to_owned(), token: "t".to_owned() }];
    let mut kept = String::new();
    for message in app.render(&styled, &buttons) {
        check_message(&message.payload).unwrap_or_else(|why| panic!("{why}: {:?}", message.payload));
        let blocks = message.payload["blocks"][0]["elements"].as_array().unwrap().clone();
        let pieces = blocks.iter().flat_map(|block| block["elements"].as_array().unwrap());
        pieces.for_each(|piece| kept.push_str(piece["text"].as_str().unwrap()));
    }
    let letters = |text: &str| text.chars().filter(|c| !c.is_whitespace() && *c != '…').collect::<String>();
    assert_eq!(letters(&kept), letters(&styled.text()));
}

#[test]
fn large_texts_of_every_kind_are_taken() {
    large(MARKDOWN_MAX_BYTES).for_each(|text| check(&text));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn any_markdown_is_taken(text in "([a-z ]{1,5}|[*_~`>#|&<\\[\\]()!-]{1,3}|\n|\n\n|\n```sh\n|\n> |\n- |\\*\\*b\\*\\*|_i_|`c`|😀|\u{200b}|名|\\[l\\]\\(http://a.example/x\\)|\\[m\\]\\(mailto:a@b.example\\)){0,400}") {
        check(&text);
    }
}
