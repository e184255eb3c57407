//! Tests of Discord with a stand-in for its servers.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use guard::Reach;
use platforms::event::What;
use platforms::limits::MARKDOWN_MAX_BYTES;
use platforms::{Button, Conversation, End, Failure, FileOut, Media, MediaKind, Outgoing, Platform, Styled};
use proptest::prelude::*;
use serde_json::{Value, json};
use tests::platforms::discord::{BOT, Discord, Fault, TOKEN, check_message};
use tests::platforms::texts::large;

use crate::support::{Memory, Running, made, refused, silent, until};

fn here() -> Reach {
    Reach::public(&["127.0.0.1".to_owned()])
}

fn bot(discord: &Discord) -> Arc<dyn Platform> {
    made("discord", &json!({"token": TOKEN, "api": discord.api()}), &here())
}

fn direct() -> Conversation {
    Conversation { id: "55".to_owned(), is_group: false }
}

fn text(bot: &Arc<dyn Platform>, text: &str) -> Outgoing {
    bot.render(&Styled::markdown(text), &[]).remove(0)
}

fn key(number: u32) -> String {
    format!("{number:064x}").chars().rev().collect()
}

#[tokio::test]
async fn messages_come_once_and_in_order_through_cuts_and_reconnects() {
    let discord = Discord::start();
    let (bot, inbox) = (bot(&discord), Memory::default());
    let running = Running::keep(&bot, &inbox);
    inbox.until("connected", |held| !held.connected.is_empty()).await;
    for number in 0..60 {
        discord.say(&number.to_string());
        match number % 9 {
            0 => discord.cut(),
            4 => discord.reconnect(),
            7 => discord.close(4000),
            _ => {}
        }
        if number % 5 == 0 {
            inbox.count(number).await;
        }
    }
    inbox.count(60).await;
    running.stop().await;
    let expected: Vec<String> = (0..60).map(|number| number.to_string()).collect();
    assert_eq!(inbox.texts(), expected);
    let (began, resumed) = discord.sessions();
    assert!(began == 1 && resumed > 3, "{began} {resumed}");
    assert_eq!(inbox.held().gaps, [""; 0]);
    let (event, message) = inbox.messages().remove(0);
    assert_eq!(
        (event.conversation, event.sender.id.as_str(), event.sender.name.as_str()),
        (direct(), "1", "Ann")
    );
    assert!(!event.sender.is_bot && !message.mentions_us && event.at_ms > 1_700_000_000_000);
    assert_eq!(inbox.held().connected[0], "@sand");
}

#[tokio::test]
async fn kills_and_refused_commits_lose_and_double_nothing() {
    let discord = Discord::start();
    let (bot, inbox) = (bot(&discord), Memory::default());
    let first = Running::start(&bot, &inbox);
    inbox.until("connected", |held| !held.connected.is_empty()).await;
    first.kill().await;
    for round in 0..10 {
        discord.say(&round.to_string());
        inbox.held().dies_after_commit = true;
        let running = Running::start(&bot, &inbox);
        inbox.count(round + 1).await;
        running.kill().await;
    }
    discord.say("10");
    inbox.held().refusals = 1;
    let end = Running::start(&bot, &inbox).end().await;
    assert!(matches!(&end, End::Lost(why) if why.contains("the disk is full")), "{end:?}");
    let running = Running::start(&bot, &inbox);
    inbox.count(11).await;
    running.stop().await;
    let expected: Vec<String> = (0..11).map(|number| number.to_string()).collect();
    assert_eq!(inbox.texts(), expected);
    assert_eq!(discord.sessions().0, 1);
}

#[tokio::test]
async fn after_a_session_that_is_gone_known_conversations_are_looked_up_and_the_gap_is_told() {
    let discord = Discord::start();
    let (bot, inbox) = (bot(&discord), Memory::default());
    let running = Running::start(&bot, &inbox);
    discord.say("before");
    inbox.count(1).await;
    discord.message(json!({"channel_id": "66", "guild_id": "77", "content": "in a server"}));
    inbox.count(2).await;
    running.stop().await;
    discord.forget();
    // Messages are sent while the bot is not connected; then the first commit of the looked-up messages fails.
    for number in 0..120 {
        discord.message(json!({"channel_id": "66", "content": format!("missed {number}")}));
    }
    inbox.held().refusals = 1;
    let end = Running::start(&bot, &inbox).end().await;
    assert!(matches!(&end, End::Lost(why) if why.contains("the disk is full")), "{end:?}");
    discord.forget();
    // The server is killed after the first page; the next one must not resume after the second page.
    inbox.held().dies_after_commit = true;
    let killed = Running::start(&bot, &inbox);
    inbox.count(52).await;
    killed.kill().await;
    assert_eq!(inbox.held().gaps.len(), 0);
    let running = Running::start(&bot, &inbox);
    inbox.until("the gap is reported", |held| held.gaps.len() == 1).await;
    inbox.count(122).await;
    let (event, message) = inbox.messages().pop().unwrap();
    assert!(event.conversation.is_group && message.text == "missed 119");
    discord.say("after");
    inbox.count(123).await;
    // The session is invalidated while the bot is connected: nothing was missed, but the bot cannot know that.
    discord.invalidate();
    inbox.until("the gap is reported", |held| held.gaps.len() == 2).await;
    discord.say("again");
    inbox.count(124).await;
    running.stop().await;
    assert_eq!(discord.sessions(), (5, 0));
    let held = inbox.held();
    assert_eq!((held.events.len(), held.repeated), (124, 0));
}

#[tokio::test]
async fn a_thousand_missed_messages_of_a_conversation_are_looked_up_and_more_are_told() {
    let discord = Discord::start();
    let (bot, inbox) = (bot(&discord), Memory::default());
    let running = Running::start(&bot, &inbox);
    discord.say("before");
    inbox.count(1).await;
    running.stop().await;
    discord.forget();
    for number in 0..1010 {
        discord.say(&number.to_string());
    }
    let running = Running::start(&bot, &inbox);
    inbox.until("both gaps are reported", |held| held.gaps.len() == 2).await;
    running.stop().await;
    assert_eq!((inbox.texts().pop().unwrap().as_str(), inbox.held().events.len()), ("999", 1001));
}

#[tokio::test]
async fn heartbeats_are_sent_and_a_zombie_is_noticed() {
    let discord = Discord::start_with(200);
    let (bot, inbox) = (bot(&discord), Memory::default());
    let running = Running::start(&bot, &inbox);
    until("it beats", || discord.beats() > 5).await;
    discord.deafen(true);
    let end = running.end().await;
    assert!(matches!(&end, End::Lost(why) if why == "Discord does not answer heartbeats"), "{end:?}");
    discord.deafen(false);
    let running = Running::start(&bot, &inbox);
    until("it resumes", || discord.sessions() == (1, 1)).await;
    running.stop().await;
}

#[tokio::test]
async fn wrong_tokens_intents_and_too_many_sessions_are_told() {
    let discord = Discord::start();
    let inbox = Memory::default();
    let wrong = TOKEN.replace('M', "N");
    let stranger = made("discord", &json!({"token": wrong, "api": discord.api()}), &here());
    let why = refused(Running::start(&stranger, &inbox).end().await);
    assert_eq!(why, "Discord refuses the token: 401: Unauthorized");
    assert!(matches!(stranger.probe().await, Err(Failure::Account(_))));
    let bot = bot(&discord);
    assert_eq!(bot.probe().await.unwrap(), "@sand");
    discord.forbid_content();
    let end = Running::start(&bot, &inbox).end().await;
    assert!(matches!(&end, End::Lost(why) if why.contains("Message Content Intent")), "{end:?}");
    let running = Running::start(&bot, &inbox);
    inbox.until("connected without it", |held| !held.connected.is_empty()).await;
    discord.close(4004);
    assert_eq!(refused(running.end().await), "Discord refuses the token");
    inbox.held().cursor = None;
    discord.exhaust();
    let end = Running::start(&bot, &inbox).end().await;
    assert!(matches!(end, End::Wait { ms: 60_000, .. }), "{end:?}");
    discord.revoke();
    let end = Running::start(&bot, &inbox).end().await;
    silent(&end, &TOKEN[30..]);
    refused(end);
    for bad in ["", "a.b.c", &TOKEN.replace('.', ""), &format!("{TOKEN}/x")] {
        let kind = platforms::KINDS.iter().find(|kind| kind.name == "discord").unwrap();
        assert!((kind.make)(&json!({"token": bad}), &here()).is_err(), "{bad}");
    }
}

#[tokio::test]
async fn servers_mentions_edits_bots_and_answers() {
    let discord = Discord::start();
    let (bot, inbox) = (bot(&discord), Memory::default());
    let us = json!([{"id": BOT, "username": "sand", "bot": true}]);
    let in_server = |mut fields: Value| {
        fields["guild_id"] = json!("77");
        discord.message(fields)
    };
    in_server(json!({"content": format!("<@{BOT}> run it"), "mentions": us}));
    in_server(json!({"content": format!("`<@{BOT}>` in code")}));
    in_server(json!({"content": "@sand by text"}));
    in_server(json!({"content": "own", "author": {"id": BOT, "username": "sand"}}));
    in_server(
        json!({"content": "hook", "webhook_id": "9", "author": {"id": "9", "username": "\u{202e}admin"}}),
    );
    let quoted = json!({"id": "5", "content": "May I?", "author": {"id": BOT, "username": "sand"}});
    let answer =
        in_server(json!({"content": "yes", "type": 19, "mentions": us, "referenced_message": quoted}));
    let mut edited = answer.clone();
    edited["content"] = json!("no");
    edited["edited_timestamp"] = json!("2026-01-01T00:00:05+00:00");
    discord.dispatch("MESSAGE_UPDATE", &edited);
    discord.dispatch("MESSAGE_UPDATE", &answer);
    in_server(json!({"content": "joined", "type": 7}));
    discord.dispatch(
        "MESSAGE_DELETE",
        &json!({"id": answer["id"], "channel_id": answer["channel_id"], "guild_id": "77"}),
    );
    discord.dispatch("CHANNEL_DELETE", &json!({"id": "55", "guild_id": "77"}));
    discord.dispatch("SOMETHING_NEW", &json!([1, 2]));
    let running = Running::start(&bot, &inbox);
    inbox.count(8).await;
    running.stop().await;
    let seen: Vec<_> = inbox
        .messages()
        .into_iter()
        .map(|(event, message)| (message.text, message.mentions_us, event.sender.is_bot, message.is_edited))
        .collect();
    let expected = [
        ("run it".to_owned(), true, false, false),
        (format!("`<@{BOT}>` in code"), false, false, false),
        ("@sand by text".to_owned(), false, false, false),
        ("own".to_owned(), false, true, false),
        ("hook".to_owned(), false, true, false),
        ("yes".to_owned(), false, false, false),
        ("no".to_owned(), false, false, true),
    ];
    assert_eq!(seen, expected);
    let (event, message) = inbox.messages().remove(5);
    let quoted = message.quoted.unwrap();
    assert!(quoted.is_ours && quoted.text == "May I?" && event.conversation.is_group);
    assert_eq!(event.reply, json!({"message": answer["id"]}));
    assert_eq!(inbox.messages()[4].0.sender.name, "admin");
    assert_eq!(inbox.held().events[7].what, What::Removed);
}

#[tokio::test]
async fn presses_are_acknowledged_after_the_commit_and_answered_later() {
    let discord = Discord::start();
    let (bot, inbox) = (bot(&discord), Memory::default());
    let running = Running::start(&bot, &inbox);
    inbox.until("connected", |held| !held.connected.is_empty()).await;
    let buttons = [
        Button { label: "Allow".to_owned(), token: "a".repeat(64) },
        Button { label: String::new(), token: "b".to_owned() },
    ];
    let question = bot.render(&Styled::plain("May I?"), &buttons).remove(0);
    let sent = bot.send(&direct(), &question, &Value::Null, &key(1)).await.unwrap();
    discord.press("1", &discord.messages()[0], &"a".repeat(64));
    inbox.count(1).await;
    until("it is acknowledged", || discord.callbacks().len() == 1).await;
    assert_eq!(discord.callbacks()[0].1, json!({"type": 6}));
    let (event, press) = inbox.presses().remove(0);
    assert_eq!(
        (press.token, press.message, event.sender.id.as_str()),
        ("a".repeat(64), sent.id.clone(), "1")
    );
    bot.answer_press(&press.handle, "Allowed").await.unwrap();
    assert_eq!(
        (&discord.followups()[0]["content"], &discord.followups()[0]["flags"]),
        (&json!("Allowed"), &json!(64))
    );
    let late = json!({"app": BOT, "token": "expired"});
    assert!(matches!(bot.answer_press(&late, "x").await, Err(Failure::Expired)));
    bot.edit(&direct(), &sent.id, &text(&bot, "Allowed")).await.unwrap();
    assert_eq!(discord.messages()[0].parameters["components"], json!([]));
    assert!(matches!(bot.edit(&direct(), "9", &text(&bot, "x")).await, Err(Failure::Message(_))));
    running.stop().await;
}

#[tokio::test]
async fn a_message_is_sent_once_and_failures_say_what_follows() {
    let discord = Discord::start();
    let bot = bot(&discord);
    let hello = text(&bot, "hello");
    let send = async |number| bot.send(&direct(), &hello, &json!({"message": "5"}), &key(number)).await;
    discord.fault(Fault::DoneAndCut);
    assert!(matches!(send(1).await, Err(Failure::Unknown(_))));
    let sent = send(1).await.unwrap();
    assert_eq!(discord.messages().len(), 1);
    assert_eq!(sent.id, discord.messages()[0].id);
    let sent = &discord.messages()[0].parameters;
    assert_eq!(
        (&sent["allowed_mentions"], &sent["message_reference"]["message_id"]),
        (&json!({"parse": []}), &json!("5"))
    );
    discord.fault(Fault::Cut);
    assert!(matches!(send(2).await, Err(Failure::Unknown(_))));
    discord.fault(Fault::TooFast(Some(0.25)));
    assert!(matches!(send(2).await, Err(Failure::TooFast { wait_ms: 250 })));
    discord.fault(Fault::TooFast(None));
    assert!(matches!(send(2).await, Err(Failure::TooFast { wait_ms: 5000 })));
    discord.fault(Fault::Error(403, 50_007, "Cannot send messages to this user"));
    assert!(matches!(send(2).await, Err(Failure::Closed(_))));
    discord.fault(Fault::Error(503, 0, "out of order"));
    assert!(matches!(send(2).await, Err(Failure::Unknown(_))));
    let nowhere = Conversation { id: "x/../y".to_owned(), is_group: true };
    assert!(matches!(
        bot.send(&nowhere, &hello, &Value::Null, &key(3)).await,
        Err(Failure::Closed(_) | Failure::Account(_))
    ));
    for number in 4..12 {
        if let Err(failure) = send(number).await {
            assert!(matches!(failure, Failure::TooFast { wait_ms } if wait_ms <= 5000), "{failure:?}");
            return;
        }
    }
    panic!("the stand-in keeps no pace");
}

#[tokio::test]
async fn files_go_both_ways_within_bounds() {
    let discord = Discord::start();
    let (bot, inbox) = (bot(&discord), Memory::default());
    let file =
        FileOut { name: "../r.bin".to_owned(), bytes: Bytes::from_static(b"\0\xff--\r\n"), is_image: false };
    discord.fault(Fault::DoneAndCut);
    assert!(bot.send_file(&direct(), &file, &Value::Null, &key(1)).await.is_err());
    bot.send_file(&direct(), &file, &Value::Null, &key(1)).await.unwrap();
    let sent = discord.messages();
    assert_eq!((sent.len(), sent[0].file.clone().unwrap()), (1, ("r.bin".to_owned(), file.bytes.to_vec())));
    let url = discord.file("a.png", b"picture");
    discord.message(json!({"attachments": [{"id": "1", "filename": "a.png", "size": 1, "url": url, "content_type": "image/png"}]}));
    let running = Running::start(&bot, &inbox);
    inbox.count(1).await;
    running.stop().await;
    let media = inbox.messages().remove(0).1.media.remove(0);
    assert_eq!((media.kind, media.bytes), (MediaKind::Image, Some(1)));
    assert_eq!(bot.fetch(&media, 7).await.unwrap(), "picture");
    assert!(matches!(bot.fetch(&media, 6).await, Err(Failure::Message(_))));
    let at = |url: &str| Media { handle: json!(url), ..media.clone() };
    for url in
        ["https://evil.example/x", "http://169.254.169.254/x", "https://cdn.discordapp.com.evil.example/x"]
    {
        assert!(matches!(bot.fetch(&at(url), 9).await, Err(Failure::Message(_))), "{url}");
    }
    for to in ["http://169.254.169.254/x", "http://localhost/x"] {
        assert!(
            matches!(bot.fetch(&at(&discord.moved_file("m", to)), 9).await, Err(Failure::Message(_))),
            "{to}"
        );
    }
}

fn check(markdown: &str) {
    static BOT: OnceLock<Arc<dyn Platform>> = OnceLock::new();
    let bot = BOT.get_or_init(|| made("discord", &json!({"token": TOKEN}), &Reach::public(&[])));
    let styled = Styled::markdown(markdown);
    let mut kept = String::new();
    for message in bot.render(&styled, &[Button { label: String::new(), token: "t".to_owned() }]) {
        check_message(&message.payload).unwrap_or_else(|why| panic!("{why}: {:?}", message.payload));
        kept.push_str(message.payload["content"].as_str().unwrap());
    }
    // Every letter is present, in order, between the marks.
    let mut written = kept.chars();
    let text = styled.text();
    for letter in text.chars().filter(|c| !c.is_whitespace() && *c != '\u{200b}') {
        assert!(written.any(|c| c == letter), "{letter:?} of {text:?} is missing in {kept:?}");
    }
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
