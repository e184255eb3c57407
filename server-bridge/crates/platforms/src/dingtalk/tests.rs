use std::sync::atomic::Ordering;

use ::tests::platforms::dingtalk::DingTalk as StandIn;
use ::tests::platforms::lines::{Fault, Trick};
use proptest::prelude::*;

use super::*;
use crate::testing::{Memory, Running, assert_kept, is_fenced, key, large, letters_of_markdown, many, until};

async fn running(stand_in: &StandIn) -> (Arc<DingTalk>, Running) {
    let account = Arc::new(DingTalk::new(&stand_in.setup(), &Reach::Anywhere).unwrap());
    let running = Running::start(account.clone());
    until("it is connected", || stand_in.connections() == 1).await;
    (account, running)
}

fn text(account: &DingTalk, markdown: &str) -> Outgoing {
    account.render(&Styled::markdown(markdown), &[]).remove(0)
}

#[tokio::test]
async fn messages_are_acknowledged_after_they_are_committed_and_arrive_once() {
    let stand_in = StandIn::start();
    let (_, running) = running(&stand_in).await;
    stand_in.say("staff1", None, "hello");
    stand_in.say("staff2", Some("cid1"), " run it ");
    let mut own = stand_in.event("staff3", Some("cid1"), "echo");
    own["senderId"] = own["chatbotUserId"].clone();
    stand_in.deliver(&own);
    let mut nobody = stand_in.event("", None, "nobody");
    nobody["senderId"] = Value::Null;
    stand_in.deliver(&nobody);
    stand_in.deliver(&json!("garbage"));
    until("all are acknowledged", || stand_in.acknowledged() == 5).await;
    let events = running.inbox.events();
    assert_eq!(events[0].conversation, Conversation { id: "user:staff1".to_owned(), is_group: false });
    assert_eq!(events[1].conversation, Conversation { id: "group:cid1".to_owned(), is_group: true });
    assert_eq!((events[0].sender.name.as_str(), events[0].at_ms), ("Nick staff1", 1_700_000_000_123));
    assert!(events[2].sender.is_bot && !events[1].sender.is_bot);
    let messages = running.inbox.messages();
    assert_eq!(
        (messages[1].text.as_str(), messages[1].mentions_us, messages[0].mentions_us),
        ("run it", true, false)
    );
    running.inbox.is_broken.store(true, Ordering::SeqCst);
    stand_in.say("staff1", None, "while broken");
    stand_in.system("ping");
    until("the ping is answered", || stand_in.pongs() == 1).await;
    assert_eq!(stand_in.acknowledged(), 5);
    running.inbox.is_broken.store(false, Ordering::SeqCst);
    for _ in 0..2 {
        stand_in.cut();
        until("it is connected again", || stand_in.connections() == 1).await;
    }
    stand_in.redeliver(true);
    until("all are acknowledged", || stand_in.acknowledged() == 6).await;
    assert_eq!(running.inbox.events().len(), 4);
    stand_in.system("disconnect");
    until("it connects again", || running.inbox.connections() == 4).await;
    assert_eq!(running.inbox.gaps.lock().unwrap().len(), 0);
    assert!(matches!(running.stop().await, End::Stopped));
}

#[tokio::test]
async fn a_deaf_connection_is_noticed_and_a_long_absence_is_told() {
    let stand_in = StandIn::start();
    let account = DingTalk {
        silence: Duration::from_millis(400),
        ..DingTalk::new(&stand_in.setup(), &Reach::Anywhere).unwrap()
    };
    let inbox = Arc::new(Memory::default());
    inbox.take(Vec::new(), Some("1".to_owned())).await.unwrap();
    let running = Running::with(Arc::new(account), inbox);
    until("it is connected", || stand_in.connections() == 1).await;
    until("the gap before the connection is reported", || running.inbox.gaps.lock().unwrap().len() == 1)
        .await;
    stand_in.fall_silent();
    until("it connects again", || stand_in.connections() == 1).await;
    assert!(format!("{:?}", running.ends.lock().unwrap()).contains("nothing was received"));
}

#[tokio::test]
async fn wrong_credentials_are_refused() {
    let stand_in = StandIn::start();
    let mut setup = stand_in.setup();
    assert_eq!((KIND.make)(&setup, &Reach::Anywhere).unwrap().probe().await.unwrap(), "dingabc");
    setup["client_secret"] = json!("planted-wrong");
    let wrong = (KIND.make)(&setup, &Reach::Anywhere).unwrap();
    let failure = wrong.probe().await.unwrap_err();
    let end = wrong.run(&Memory::default(), &CancellationToken::new()).await;
    assert!(matches!((&failure, &end), (Failure::Account(_), End::Refused(_))), "{failure:?} {end:?}");
    assert!(!format!("{failure:?}{end:?}").contains("planted"));
    for key in ["client_id", "client_secret"] {
        let mut setup = stand_in.setup();
        setup[key] = json!(" ");
        assert!((KIND.make)(&setup, &Reach::Anywhere).is_err(), "{key}");
    }
    assert!((KIND.make)(&stand_in.setup(), &Reach::public(&[])).is_err(), "an address inside");
}

#[tokio::test]
async fn answers_go_by_the_webhook_until_it_expires_and_then_by_the_api() {
    let stand_in = StandIn::start();
    let (account, running) = running(&stand_in).await;
    stand_in.say("staff1", Some("cid1"), "hello");
    stand_in.set_webhook_life(Duration::ZERO);
    stand_in.say("staff1", None, "late");
    until("both are there", || running.inbox.events().len() == 2).await;
    let events = running.inbox.events();
    let message = text(&account, "# Title\n\n**b** <font color=red>");
    account.send(&events[0].conversation, &message, &events[0].reply, &key(1)).await.unwrap();
    account.send(&events[1].conversation, &message, &events[1].reply, &key(2)).await.unwrap();
    // The platform may end the session's webhook sooner than announced.
    let mut ended = events[1].reply.clone();
    ended["until_ms"] = json!(now_ms() + 100_000);
    let sent = account.send(&events[0].conversation, &message, &ended, &key(3)).await.unwrap();
    assert!(sent.id.starts_with("query-"));
    stand_in.forget_tokens();
    account.send(&events[0].conversation, &message, &Value::Null, &key(4)).await.unwrap();
    let to: Vec<String> = stand_in.said().into_iter().map(|said| said.to).collect();
    assert!(to[0].starts_with("webhook:"));
    assert_eq!(to[1..], ["user:staff1", "group:cid1", "group:cid1"]);
    assert_eq!(stand_in.said()[1].content["title"], "Title");
    for reply in [&events[0].reply, &Value::Null] {
        stand_in.fail_next(Fault::TooFast(None));
        let failure = account.send(&events[0].conversation, &message, reply, &key(5)).await.unwrap_err();
        assert!(matches!(failure, Failure::TooFast { .. }), "{failure:?}");
        for fault in [Fault::TakeAndCut, Fault::Cut, Fault::Status(502)] {
            stand_in.fail_next(fault);
            let failure = account.send(&events[0].conversation, &message, reply, &key(5)).await.unwrap_err();
            assert!(matches!(failure, Failure::Unknown(_)), "{failure:?}");
            assert!(!failure.to_string().contains("session="), "{failure}");
        }
    }
    let mut inward = events[0].reply.clone();
    inward["webhook"] = json!("http://169.254.169.254/x");
    let guarded = DingTalk::new(&stand_in.setup(), &Reach::public(&["127.0.0.1".to_owned()])).unwrap();
    let failure = guarded.send(&events[0].conversation, &message, &inward, &key(6)).await.unwrap_err();
    assert!(matches!(failure, Failure::Message(_)), "{failure:?}");
}

#[tokio::test]
async fn files_go_both_ways_and_lies_are_noticed() {
    let stand_in = StandIn::start();
    let (account, running) = running(&stand_in).await;
    stand_in.add_file("good", b"picture", None);
    stand_in.add_file("lie", b"abc", Some(Trick::Lie(1000)));
    stand_in.add_file("flood", b"", Some(Trick::Flood(100_000)));
    stand_in.add_file("inward", b"", Some(Trick::Redirect("http://169.254.169.254/latest".to_owned())));
    let mut event = stand_in.event("staff1", None, "");
    event["msgtype"] = json!("richText");
    let codes = ["good", "lie", "flood", "inward", "unknown"];
    let mut items: Vec<_> =
        codes.iter().map(|code| json!({"type": "picture", "downloadCode": code})).collect();
    items.insert(1, json!({"text": "see this"}));
    event["content"] = json!({"richText": items});
    stand_in.deliver(&event);
    until("it is there", || running.inbox.events().len() == 1).await;
    let message = running.inbox.messages().remove(0);
    assert_eq!((message.text.as_str(), message.media.len()), ("see this", 5));
    let guarded = DingTalk::new(&stand_in.setup(), &Reach::public(&["127.0.0.1".to_owned()])).unwrap();
    assert_eq!(&guarded.fetch(&message.media[0], 100).await.unwrap()[..], b"picture");
    for media in &message.media[1..] {
        let failure = guarded.fetch(media, 5000).await.unwrap_err();
        assert!(matches!(failure, Failure::Message(_) | Failure::Away(_)), "{failure:?}");
    }
    let to = Conversation { id: "group:cid1".to_owned(), is_group: true };
    for (is_image, field) in [(false, "mediaId"), (true, "photoURL")] {
        let file = FileOut { name: "../a.pdf".to_owned(), bytes: Bytes::from_static(b"contents"), is_image };
        account.send_file(&to, &file, &Value::Null, &key(1)).await.unwrap();
        let said = stand_in.said().pop().unwrap();
        assert_eq!(stand_in.file(said.content[field].as_str().unwrap()).unwrap(), b"contents");
    }
    assert_eq!(stand_in.said()[0].content["fileType"], "pdf");
}

fn check(markdown: &str) {
    let setup = json!({"client_id": "c", "client_secret": "s"});
    let account = DingTalk::new(&setup, &Reach::Anywhere).unwrap();
    let styled = Styled::markdown(markdown);
    let mut kept = String::new();
    for message in account.render(&styled, &[]) {
        let text = message.payload["text"].as_str().unwrap();
        assert!(text.len() <= 20_000 && !text.trim().is_empty() && !text.contains("<font"));
        assert!(!message.payload["title"].as_str().unwrap().is_empty());
        assert!(is_fenced(text), "{text}");
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
    fn any_markdown_is_short_enough_and_keeps_its_letters(text in "([a-c名😀*_`#>|<\\[\\]()&, \n-]|<font>|```){0,60}", times in 1..200_usize) {
        check(&text.repeat(times));
    }
}

#[tokio::test]
async fn many_messages_through_disconnects_arrive_exactly_once() {
    let stand_in = StandIn::start();
    let (_, running) = running(&stand_in).await;
    let many = many();
    for number in 0..many {
        stand_in.say("staff1", None, &number.to_string());
        if number % (many / 20) == 0 {
            stand_in.cut();
            until("it is connected again", || stand_in.connections() == 1).await;
            stand_in.redeliver(number % 4 == 0);
            until("all so far are acknowledged", || stand_in.acknowledged() == number + 1).await;
        }
    }
    until("all are acknowledged", || stand_in.acknowledged() == many).await;
    let mut texts: Vec<usize> =
        running.inbox.messages().iter().map(|message| message.text.parse().unwrap()).collect();
    texts.sort_unstable();
    assert_eq!(texts, (0..many).collect::<Vec<_>>());
}
