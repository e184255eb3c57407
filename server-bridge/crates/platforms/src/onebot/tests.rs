use std::sync::atomic::Ordering;

use ::tests::platforms::lines::{Fault, Trick};
use ::tests::platforms::onebot::{OneBot as StandIn, TOKEN};
use proptest::prelude::*;

use super::*;
use crate::event::What;
use crate::testing::{Memory, Running, assert_kept, key, large, letters, until};

fn account(stand_in: &StandIn) -> Arc<OneBot> {
    account_of(Way::Forward(stand_in.url()), &Reach::Anywhere, TOKEN)
}

fn account_of(way: Way, reach: &Reach, token: &str) -> Arc<OneBot> {
    Arc::new(OneBot::new(Http::new(reach, &[token]).unwrap(), way, token.to_owned()))
}

async fn running(stand_in: &StandIn) -> (Arc<OneBot>, Running) {
    let account = account(stand_in);
    let running = Running::start(account.clone());
    until("it is connected", || running.inbox.connections() == 1).await;
    (account, running)
}

fn text(account: &OneBot, markdown: &str) -> Outgoing {
    account.render(&Styled::markdown(markdown), &[]).remove(0)
}

#[tokio::test]
async fn messages_arrive_once_and_a_gap_is_told() {
    let stand_in = StandIn::start();
    let (_, running) = running(&stand_in).await;
    let first = stand_in.say(7, None, "hello");
    let at = json!([{"type": "at", "data": {"qq": "10001"}}, {"type": "text", "data": {"text": " run it"}}]);
    stand_in.deliver(&stand_in.event(8, Some(99), at));
    stand_in.deliver(&first);
    stand_in.deliver(&stand_in.event(10_001, Some(99), json!("echo")));
    let mut anonymous = stand_in.event(80_000_000, Some(99), json!("boo"));
    anonymous["sub_type"] = json!("anonymous");
    stand_in.deliver(&anonymous);
    stand_in
        .deliver(&json!({"post_type": "request", "self_id": 10_001, "user_id": 1, "comment": "let me in"}));
    stand_in.deliver(&json!("garbage"));
    until("three are there", || running.inbox.events().len() == 3).await;
    let events = running.inbox.events();
    assert_eq!(events[0].conversation, Conversation { id: "private:7".to_owned(), is_group: false });
    assert_eq!(events[1].conversation, Conversation { id: "group:99".to_owned(), is_group: true });
    assert_eq!(events[0].sender.name, "nick7");
    assert!(events[2].sender.is_bot && !events[1].sender.is_bot);
    let messages = running.inbox.messages();
    assert_eq!((messages[1].text.as_str(), messages[1].mentions_us), ("run it", true));
    assert_eq!(running.inbox.repeated.load(Ordering::SeqCst), 1);
    assert_eq!(running.inbox.gaps.lock().unwrap().len(), 0);
    stand_in.cut();
    stand_in.say(7, None, "lost");
    until("it is connected again, and reports that messages were lost", || {
        running.inbox.gaps.lock().unwrap().len() == 1
    })
    .await;
    for (kind, group) in [("friend_recall", Value::Null), ("group_recall", json!(99))] {
        stand_in.deliver(&json!({"post_type": "notice", "notice_type": kind, "time": 1, "self_id": 10_001, "user_id": 7, "operator_id": 7, "group_id": group, "message_id": 1}));
    }
    stand_in.deliver(&json!({"post_type": "notice", "notice_type": "group_decrease", "sub_type": "kick_me", "time": 1, "self_id": 10_001, "user_id": 10_001, "operator_id": 8, "group_id": 99}));
    until("the removal is there", || running.inbox.events().len() == 4).await;
    assert_eq!(running.inbox.events()[3].what, What::Removed);
    assert!(matches!(running.stop().await, End::Stopped));
}

#[tokio::test]
async fn what_is_not_committed_is_kept_until_it_is() {
    let stand_in = StandIn::start();
    let (_, running) = running(&stand_in).await;
    running.inbox.is_broken.store(true, Ordering::SeqCst);
    stand_in.say(7, None, "hello");
    stand_in.say(7, None, "again");
    tokio::time::sleep(Duration::from_millis(100)).await;
    running.inbox.is_broken.store(false, Ordering::SeqCst);
    until("both are there", || running.inbox.messages().len() == 2).await;
}

#[tokio::test]
async fn a_deaf_connection_and_a_logged_out_account_are_noticed() {
    let stand_in = StandIn::start();
    let account = Arc::new(OneBot {
        silence: Duration::from_millis(400),
        ..OneBot::new(
            Http::new(&Reach::Anywhere, &[]).unwrap(),
            Way::Forward(stand_in.url()),
            TOKEN.to_owned(),
        )
    });
    let running = Running::start(account);
    until("it is connected", || running.inbox.connections() == 1).await;
    stand_in.fall_silent();
    until("it connects again", || running.inbox.connections() == 2).await;
    stand_in.beat(true);
    stand_in.beat(false);
    until("it ends when QQ is away", || running.inbox.connections() == 3).await;
    let ends = format!("{:?}", running.ends.lock().unwrap());
    assert!(ends.contains("nothing was received") && ends.contains("not logged in to QQ"), "{ends}");
}

#[tokio::test]
async fn a_wrong_token_is_refused_both_ways() {
    let stand_in = StandIn::start();
    assert_eq!(account(&stand_in).probe().await.unwrap(), "Sandbridge (10001)");
    let wrong = account_of(Way::Forward(stand_in.url()), &Reach::Anywhere, "planted-wrong");
    let failure = wrong.probe().await.unwrap_err();
    assert!(matches!(failure, Failure::Account(_)), "{failure:?}");
    let end = wrong.run(&Memory::default(), &CancellationToken::new()).await;
    assert!(matches!(end, End::Refused(_)), "{end:?}");
    assert!(!format!("{failure:?}{end:?}").contains("planted"));
    for setup in [
        json!({"url": "ws://127.0.0.1:1"}),
        json!({"token": "t"}),
        json!({"url": "http://127.0.0.1:1", "token": "t"}),
        json!({"url": "ws://127.0.0.1:1", "listen": "127.0.0.1:1", "token": "t"}),
        json!({"listen": "6199", "token": "a token of 16 ch"}),
        json!({"listen": "127.0.0.1:1", "token": "fifteen letters"}),
    ] {
        assert!((KIND.make)(&setup, &Reach::Anywhere).is_err(), "{setup}");
    }
    assert!((KIND.make)(&stand_in.setup(), &Reach::public(&[])).is_err(), "an address inside");
    (KIND.make)(&stand_in.setup(), &Reach::Anywhere).unwrap();
    (KIND.make)(&json!({"listen": "127.0.0.1:1", "token": "a token of 16 ch"}), &Reach::Anywhere).unwrap();
}

#[tokio::test]
async fn napcat_may_connect_to_us_with_its_token() {
    let stand_in = StandIn::start();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let wrong = account_of(Way::Reverse(port), &Reach::Anywhere, "another token");
    let stop = CancellationToken::new();
    let early = StandIn::start();
    early.dial(Some(&format!("ws://{port}/onebot")));
    let (memory, stopped) = (Memory::default(), stop.clone());
    let waited = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        stopped.cancel();
    };
    let (end, ()) = tokio::join!(Platform::run(&*wrong, &memory, &stop), waited);
    assert!(matches!(end, End::Stopped) && memory.connections() == 0, "{end:?}");
    let right = account_of(Way::Reverse(port), &Reach::Anywhere, TOKEN);
    assert!(matches!(right.probe().await, Err(Failure::Away(_))));
    early.dial(None);
    let running = Running::start(right.clone());
    // Connections that stay silent do not block others.
    let mut silent = Vec::new();
    until("silent connections are open", || {
        silent.extend(std::net::TcpStream::connect(port));
        silent.len() == HANDSHAKES_MAX - 1
    })
    .await;
    stand_in.dial(Some(&format!("ws://{port}/onebot")));
    let begun = Instant::now();
    until("it is connected", || running.inbox.connections() == 1).await;
    assert!(begun.elapsed() < HANDSHAKE_TIMEOUT);
    drop(silent);
    assert_eq!(right.probe().await.unwrap(), "Sandbridge (10001)");
    stand_in.say(7, None, "hello");
    until("it is there", || running.inbox.messages().len() == 1).await;
    stand_in.cut();
    until("it is connected again", || running.inbox.connections() == 2).await;
    stand_in.dial(None);
}

#[tokio::test]
async fn messages_go_out_as_text_at_a_pace_and_fail_honestly() {
    let stand_in = StandIn::start();
    let to = Conversation { id: "group:99".to_owned(), is_group: true };
    let account_away = account(&stand_in);
    let failure = account_away.send(&to, &text(&account_away, "x"), &Value::Null, &key(1)).await.unwrap_err();
    assert!(matches!(failure, Failure::Away(_)), "{failure:?}");
    let (account, running) = running(&stand_in).await;
    let reply = json!({"message": "-5"});
    let hostile = text(&account, "[CQ:at,qq=all] **b** & [x](https://x.org)");
    let person = Conversation { id: "private:7".to_owned(), is_group: false };
    let (through, keys) = (json!({"message": "-6", "group": 44}), [key(1), key(2)]);
    let (one, two) = tokio::join!(
        account.send(&to, &hostile, &reply, &keys[0]),
        account.send(&person, &hostile, &through, &keys[1])
    );
    assert!(matches!(two, Err(Failure::TooFast { wait_ms: 500 })), "{two:?}");
    let two = account.send(&person, &hostile, &through, &keys[1]).await;
    assert_ne!(one.unwrap().id, two.unwrap().id);
    let said = stand_in.said();
    let mut groups = said.iter().filter(|said| said.action == "send_group_msg");
    let group = groups.next().unwrap();
    assert_eq!((group.to, group.text.as_str()), (99, "[CQ:at,qq=all] b & x (https://x.org)"));
    assert_eq!(group.params["message"][0], json!({"type": "reply", "data": {"id": "-5"}}));
    assert!(said.iter().any(|said| said.params["group_id"] == 44 && said.params["user_id"] == 7));
    stand_in.fail_next(Fault::Status(0));
    let failure = account.send(&to, &hostile, &reply, &key(3)).await.unwrap_err();
    assert!(matches!(failure, Failure::Message(_)), "{failure:?}");
    for fault in [Fault::TakeAndCut, Fault::Cut] {
        stand_in.fail_next(fault);
        let failure = account.send(&to, &hostile, &reply, &key(4)).await.unwrap_err();
        assert!(matches!(failure, Failure::Unknown(_)), "{failure:?}");
        let before = running.inbox.connections();
        until("it is connected again", || running.inbox.connections() > before || account.calls.is_begun())
            .await;
    }
    assert_eq!(stand_in.refusals(), [] as [&str; 0]);
    let buttons = ["Allow", "Deny"].map(|label| Button { label: label.to_owned(), token: "t".to_owned() });
    let asked = account.render(&Styled::markdown("May I?"), &buttons);
    assert_eq!(asked[0].payload["text"], "May I?\n1. Allow\n2. Deny");
}

#[tokio::test]
async fn files_go_both_ways_and_lies_are_noticed() {
    let stand_in = StandIn::start();
    let (account, running) = running(&stand_in).await;
    let urls = [
        stand_in.add_file("good", b"picture", None),
        stand_in.add_file("lie", b"abc", Some(Trick::Lie(1000))),
        stand_in.add_file("flood", b"", Some(Trick::Flood(100_000))),
        stand_in.add_file("inward", b"", Some(Trick::Redirect("http://169.254.169.254/latest".to_owned()))),
        "http://169.254.169.254/latest".to_owned(),
    ];
    for url in &urls {
        stand_in.deliver(&stand_in.event(
            7,
            None,
            json!([{"type": "image", "data": {"file": "../a.png", "url": url}}]),
        ));
    }
    stand_in.deliver(&stand_in.event(
        7,
        None,
        json!([{"type": "file", "data": {"file": "/etc/passwd", "url": "file:///etc/passwd"}}]),
    ));
    until("all are there", || running.inbox.messages().len() == 6).await;
    let media: Vec<Media> = running.inbox.messages().iter().map(|message| message.media[0].clone()).collect();
    assert_eq!(media[0].name, "a.png");
    let guarded = account_of(Way::Forward(stand_in.url()), &Reach::public(&["127.0.0.1".to_owned()]), TOKEN);
    assert_eq!(&guarded.fetch(&media[0], 100).await.unwrap()[..], b"picture");
    for media in &media[1..5] {
        let failure = guarded.fetch(media, 5000).await.unwrap_err();
        assert!(matches!(failure, Failure::Message(_) | Failure::Away(_)), "{failure:?}");
    }
    assert!(account.fetch(&media[5], 5000).await.is_err());
    let to = Conversation { id: "private:7".to_owned(), is_group: false };
    for (is_image, action) in [(true, "send_private_msg"), (false, "upload_private_file")] {
        let file = FileOut { name: "../a.txt".to_owned(), bytes: Bytes::from_static(b"contents"), is_image };
        account.send_file(&to, &file, &Value::Null, &key(1)).await.unwrap();
        assert_eq!(stand_in.said().pop().unwrap().action, action);
    }
    let said = stand_in.said().pop().unwrap();
    assert_eq!((said.text.as_str(), &said.params["name"]), ("contents", &json!("a.txt")));
}

fn check(markdown: &str) {
    let account = account_of(Way::Forward(String::new()), &Reach::Anywhere, TOKEN);
    let styled = Styled::markdown(markdown);
    let mut kept = String::new();
    for message in account.render(&styled, &[]) {
        let text = message.payload["text"].as_str().unwrap();
        assert!(text.chars().count() <= TEXT_MAX_CHARS && !text.is_empty());
        kept.push_str(&letters(text));
    }
    assert_kept(&kept, &styled);
}

#[test]
fn large_texts_of_every_kind_are_taken() {
    large().for_each(|text| check(&text));
}

proptest! {
    #[test]
    fn any_markdown_is_short_enough_and_keeps_its_letters(text in "([a-c名😀*_`#>|<\\[\\]()&, \n-]|\\[CQ:at,qq=all\\]|```){0,200}") {
        check(&text);
    }
}
