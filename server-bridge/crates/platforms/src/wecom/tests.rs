use std::sync::atomic::Ordering;

use ::tests::platforms::lines::{Fault, Trick};
use ::tests::platforms::wecom::{AES_KEY, ENCRYPTED, PLAIN, WeCom as StandIn, fault_of_card};
use proptest::prelude::*;

use super::*;
use crate::testing::{Memory, Running, assert_kept, is_fenced, key, large, letters_of_markdown, until};

async fn running(stand_in: &StandIn) -> (Arc<WeCom>, Running) {
    let account = Arc::new(WeCom::new(&stand_in.setup(), &Reach::Anywhere).unwrap());
    let running = Running::start(account.clone());
    until("it is connected", || running.inbox.connections() == 1).await;
    (account, running)
}

fn text(account: &WeCom, markdown: &str) -> Outgoing {
    account.render(&Styled::markdown(markdown), &[]).remove(0)
}

#[tokio::test]
async fn messages_arrive_once_and_a_gap_is_told() {
    let stand_in = StandIn::start();
    let (_, running) = running(&stand_in).await;
    let first = stand_in.event("u1", None, "hello");
    stand_in.deliver(&first);
    stand_in.deliver(&first);
    let mut group = stand_in.event("u2", Some("g1"), "@Bot run it");
    group["quote"] = json!({"msgtype": "text", "text": {"content": "quoted"}});
    stand_in.deliver(&group);
    stand_in.deliver(&stand_in.event("aib-bot", None, "echo"));
    stand_in.deliver(&stand_in.event("", None, "nobody"));
    stand_in.deliver(&json!({"msgtype": "event", "msgid": "e", "from": {"userid": "u1"}, "event": {"eventtype": "enter_chat"}}));
    stand_in.deliver(&json!("garbage"));
    running.inbox.is_broken.store(true, Ordering::SeqCst);
    stand_in.say("u1", None, "while broken");
    tokio::time::sleep(Duration::from_millis(100)).await;
    running.inbox.is_broken.store(false, Ordering::SeqCst);
    until("all are there", || running.inbox.events().len() == 4).await;
    let events = running.inbox.events();
    assert_eq!(events[0].conversation, Conversation { id: "user:u1".to_owned(), is_group: false });
    assert_eq!(events[1].conversation, Conversation { id: "group:g1".to_owned(), is_group: true });
    assert_eq!(
        (events[0].at_ms, events[2].sender.is_bot, events[1].sender.is_bot),
        (1_700_000_000_000, true, false)
    );
    let messages = running.inbox.messages();
    assert_eq!((messages[1].text.as_str(), messages[1].mentions_us), ("run it", true));
    assert_eq!(messages[1].quoted.as_ref().unwrap().text, "quoted");
    assert_eq!(running.inbox.repeated.load(Ordering::SeqCst), 1);
    assert_eq!(running.inbox.gaps.lock().unwrap().len(), 0);
    stand_in.cut();
    until("it is connected again, and reports the gap", || running.inbox.gaps.lock().unwrap().len() == 1)
        .await;
    assert!(matches!(running.stop().await, End::Stopped));
}

#[tokio::test]
async fn a_deaf_connection_and_another_server_are_noticed() {
    let stand_in = StandIn::start();
    let account = WeCom {
        silence: Duration::from_millis(400),
        ..WeCom::new(&stand_in.setup(), &Reach::Anywhere).unwrap()
    };
    let running = Running::start(Arc::new(account));
    until("it is connected", || stand_in.pings() > 0).await;
    stand_in.fall_silent();
    until("it connects again", || running.inbox.connections() == 2).await;
    stand_in.answer_no_pings(true);
    until("a connection without answers ends, too", || running.inbox.connections() == 3).await;
    stand_in.replace();
    until("it ends", || matches!(running.ends.lock().unwrap().last(), Some(End::Refused(why)) if why.contains("another connection"))).await;
}

#[tokio::test]
async fn wrong_credentials_are_refused() {
    let stand_in = StandIn::start();
    let mut setup = stand_in.setup();
    assert_eq!((KIND.make)(&setup, &Reach::Anywhere).unwrap().probe().await.unwrap(), "aib-bot");
    setup["secret"] = json!("planted-wrong");
    let wrong = (KIND.make)(&setup, &Reach::Anywhere).unwrap();
    let failure = wrong.probe().await.unwrap_err();
    let end = wrong.run(&Memory::default(), &CancellationToken::new()).await;
    assert!(matches!((&failure, &end), (Failure::Account(_), End::Refused(_))), "{failure:?} {end:?}");
    assert!(!format!("{failure:?}{end:?}").contains("planted"));
    for (key, value) in [("bot_id", ""), ("secret", " "), ("address", "http://x"), ("address", "x")] {
        let mut setup = stand_in.setup();
        setup[key] = json!(value);
        assert!((KIND.make)(&setup, &Reach::Anywhere).is_err(), "{key}={value}");
    }
    assert!((KIND.make)(&stand_in.setup(), &Reach::public(&[])).is_err(), "an address inside");
}

#[tokio::test]
async fn answers_are_replies_while_that_works_and_fail_honestly() {
    let stand_in = StandIn::start();
    let away = WeCom::new(&stand_in.setup(), &Reach::Anywhere).unwrap();
    let to = Conversation { id: "group:g1".to_owned(), is_group: true };
    let message = text(&away, "**b** <@all> <think>");
    assert!(matches!(away.send(&to, &message, &Value::Null, &key(1)).await, Err(Failure::Away(_))));
    let (account, running) = running(&stand_in).await;
    stand_in.say("u1", Some("g1"), "@Bot hello");
    until("it is there", || running.inbox.events().len() == 1).await;
    let reply = running.inbox.events().remove(0).reply;
    let keys = [key(1), key(2)];
    let (one, two) = tokio::join!(
        account.send(&to, &message, &reply, &keys[0]),
        account.send(&to, &message, &reply, &keys[1])
    );
    assert!(matches!(two, Err(Failure::TooFast { wait_ms: 500 })), "{two:?}");
    let two = account.send(&to, &message, &reply, &keys[1]).await;
    assert_ne!(one.unwrap().id, two.unwrap().id);
    stand_in.say("u2", None, "hello");
    until("the second is there", || running.inbox.events().len() == 2).await;
    let (other, private) =
        (running.inbox.events().remove(1).reply, Conversation { id: "user:u2".to_owned(), is_group: false });
    stand_in.fail_next(Fault::TakeAndHang);
    let unanswered = account.send(&to, &message, &reply, &keys[0]);
    let answered = account.send(&private, &message, &other, &keys[1]);
    tokio::select! {
        biased;
        done = unanswered => panic!("{done:?}"),
        done = answered => assert!(done.is_ok(), "replies to other requests do not wait: {done:?}"),
    }
    stand_in.forget_requests();
    account.send(&to, &message, &reply, &key(3)).await.unwrap();
    account.send(&to, &message, &Value::Null, &key(4)).await.unwrap();
    let said = stand_in.said();
    let kinds: Vec<&str> = said.iter().map(|said| said.body["msgtype"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["stream", "stream", "stream", "stream", "markdown", "markdown"]);
    assert_eq!((said[5].to.as_str(), &said[0].body["stream"]["finish"]), ("chat:g1", &json!(true)));
    assert!(!said[0].body["stream"]["content"].as_str().unwrap().contains("<@"));
    stand_in.fail_next(Fault::TooFast(None));
    let failure = account.send(&to, &message, &Value::Null, &key(5)).await.unwrap_err();
    assert!(matches!(failure, Failure::TooFast { wait_ms: 5000 }), "{failure:?}");
    stand_in.fail_next(Fault::Status(0));
    let failure = account.send(&to, &message, &Value::Null, &key(5)).await.unwrap_err();
    assert!(matches!(failure, Failure::Away(_)), "{failure:?}");
    for fault in [Fault::TakeAndCut, Fault::Cut] {
        stand_in.fail_next(fault);
        let before = running.inbox.connections();
        let failure = account.send(&to, &message, &Value::Null, &key(5)).await.unwrap_err();
        assert!(matches!(failure, Failure::Unknown(_)), "{failure:?}");
        until("it is connected again", || running.inbox.connections() > before).await;
    }
}

#[tokio::test]
async fn a_press_comes_with_its_token_and_the_card_shows_the_outcome() {
    let stand_in = StandIn::start();
    let (account, running) = running(&stand_in).await;
    let to = Conversation { id: "group:g1".to_owned(), is_group: true };
    let buttons =
        ["Allow", "Deny"].map(|label| Button { label: label.to_owned(), token: format!("tok-{label}") });
    let asked = account.render(&Styled::markdown("It wants to run `ls`.\n\nMay I?"), &buttons);
    assert_eq!(asked.len(), 2);
    let mut sent = Vec::new();
    for (number, message) in asked.iter().enumerate() {
        sent.push(account.send(&to, message, &Value::Null, &key(number as u64)).await.unwrap());
    }
    let card = stand_in.said().pop().unwrap().body["template_card"].clone();
    assert_eq!(card["main_title"]["title"], "May I?");
    stand_in.press("u2", Some("g1"), &card, "Deny");
    until("the press is there", || running.inbox.presses().len() == 1).await;
    let press = running.inbox.presses().remove(0);
    assert_eq!((press.token.as_str(), &press.message), ("tok-Deny", &sent[1].id));
    assert_eq!(running.inbox.events()[0].sender.id, "u2");
    account.answer_press(&press.handle, "Denied by u2").await.unwrap();
    assert_eq!(stand_in.updates()[0]["main_title"]["title"], "Denied by u2");
    assert_eq!(stand_in.updated_for(), [json!(["u2"])], "the others keep their buttons");
    account.answer_press(&Value::Null, "nobody's").await.unwrap();
    stand_in.press("u2", None, &card, "Deny");
    until("the second press is there", || running.inbox.presses().len() == 2).await;
    account.answer_press(&running.inbox.presses()[1].handle, "Denied").await.unwrap();
    assert_eq!(stand_in.updated_for()[1], Value::Null, "a direct conversation has only one person");
}

#[tokio::test]
async fn files_go_both_ways_and_lies_are_noticed() {
    let stand_in = StandIn::start();
    let (account, running) = running(&stand_in).await;
    let urls = [
        stand_in.add_file("good", &ENCRYPTED, None),
        stand_in.add_file("lie", &ENCRYPTED, Some(Trick::Lie(1000))),
        stand_in.add_file("flood", b"", Some(Trick::Flood(100_000))),
        stand_in.add_file("inward", b"", Some(Trick::Redirect("http://169.254.169.254/latest".to_owned()))),
        stand_in.add_file("garbled", &ENCRYPTED[..16], None),
        "http://169.254.169.254/latest".to_owned(),
    ];
    let mut event = stand_in.event("u1", None, "");
    event["msgtype"] = json!("mixed");
    let mut items: Vec<_> = urls
        .iter()
        .map(|url| json!({"msgtype": "image", "image": {"url": url, "aeskey": AES_KEY}}))
        .collect();
    items.insert(1, json!({"msgtype": "text", "text": {"content": "see this"}}));
    event["mixed"] = json!({"msg_item": items});
    stand_in.deliver(&event);
    until("it is there", || running.inbox.events().len() == 1).await;
    let message = running.inbox.messages().remove(0);
    assert_eq!((message.text.as_str(), message.media.len()), ("see this", 6));
    let guarded = WeCom::new(&stand_in.setup(), &Reach::public(&["127.0.0.1".to_owned()])).unwrap();
    assert_eq!(&guarded.fetch(&message.media[0], 100).await.unwrap()[..], PLAIN);
    assert!(guarded.fetch(&message.media[0], 10).await.is_err());
    for media in &message.media[1..] {
        let failure = guarded.fetch(media, 5000).await.unwrap_err();
        assert!(matches!(failure, Failure::Message(_) | Failure::Away(_)), "{failure:?}");
    }
    let to = Conversation { id: "user:u1".to_owned(), is_group: false };
    let large = Bytes::from(vec![7; CHUNK_BYTES * 2 + 1]);
    for (bytes, is_image, kind) in [(Bytes::from_static(b"png"), true, "image"), (large, false, "file")] {
        let file = FileOut { name: "../a.png".to_owned(), bytes: bytes.clone(), is_image };
        account.send_file(&to, &file, &Value::Null, &key(1)).await.unwrap();
        let said = stand_in.said().pop().unwrap();
        let (announced, contents) = stand_in.upload(said.body[kind]["media_id"].as_str().unwrap()).unwrap();
        assert_eq!((announced["filename"].as_str().unwrap(), contents == bytes), ("a.png", true));
    }
    assert_eq!(stand_in.refusals(), [] as [&str; 0]);
}

fn check(markdown: &str) {
    let account = WeCom::new(&json!({"bot_id": "b", "secret": "s"}), &Reach::Anywhere).unwrap();
    let styled = Styled::markdown(markdown);
    let label: String = markdown.chars().take(500).collect();
    let buttons = [Button { label, token: "t".repeat(64) }];
    let mut kept = String::new();
    for message in account.render(&styled, &buttons) {
        if message.payload["card"].is_object() {
            let mut card = message.payload["card"].clone();
            card["task_id"] = json!(task_of(&key(1)));
            assert_eq!(fault_of_card(&card), None);
            continue;
        }
        let text = message.payload["text"].as_str().unwrap();
        assert!(text.len() <= 20_480 && !text.trim().is_empty());
        assert!(!text.contains("<@") && !text.contains("<think") && is_fenced(text), "{text}");
        kept.push_str(&letters_of_markdown(text));
    }
    assert_kept(&kept, &styled);
}

#[test]
fn large_texts_of_every_kind_are_taken() {
    large().for_each(|text| check(&text));
}

proptest! {
    #[test]
    fn any_markdown_is_short_enough_and_keeps_its_letters(text in "([a-c名😀*_`#>|<\\[\\]()&, \n-]|<@all>|<think>|```){0,60}", times in 1..200_usize) {
        check(&text.repeat(times));
    }
}
