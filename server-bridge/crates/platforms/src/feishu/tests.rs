use std::sync::atomic::Ordering;

use ::tests::platforms::feishu::{APP_ID, Card, Feishu as StandIn};
use ::tests::platforms::lines::{Fault, Trick};

use super::*;
use crate::testing::{Memory, Running, key, many, until};

const SILENCE: Duration = Duration::from_millis(600);

fn account(stand_in: &StandIn) -> Arc<Feishu> {
    account_with(stand_in, &Reach::Anywhere, SILENCE_TIMEOUT)
}

fn account_with(stand_in: &StandIn, reach: &Reach, silence: Duration) -> Arc<Feishu> {
    let setup = stand_in.setup();
    let text = |key: &str| setup[key].as_str().unwrap().to_owned();
    let http = Http::new(reach, &[&text("app_secret")]).unwrap();
    let api = Api::new(http, text("domain"), text("app_id"), text("app_secret"));
    Arc::new(Feishu { silence, ..Feishu::new(api) })
}

async fn running(stand_in: &StandIn) -> (Arc<Feishu>, Running) {
    let account = account(stand_in);
    let running = Running::start(account.clone());
    until("it is connected", || stand_in.connections().0 == 1).await;
    (account, running)
}

fn group(id: &str) -> Conversation {
    Conversation { id: id.to_owned(), is_group: true }
}

#[tokio::test]
async fn messages_arrive_once_with_their_sender_and_their_mentions() {
    let stand_in = StandIn::start();
    let (_, running) = running(&stand_in).await;
    stand_in.say("ou_a", "oc_1", false, "hello\u{202e}");
    stand_in.say("ou_b", "oc_2", true, "@_user_1 run it for @_user_2");
    stand_in.say("ou_b", "oc_2", true, "@Sandbridge @_all no mention of ours");
    until("all are acknowledged", || stand_in.acknowledged() == 3).await;
    stand_in.redeliver(true);
    until("all came again", || running.inbox.repeated.load(Ordering::SeqCst) == 3).await;
    let events = running.inbox.events();
    assert_eq!(events[0].sender.id, "ou_a");
    assert_eq!(events[0].conversation, Conversation { id: "oc_1".to_owned(), is_group: false });
    assert_eq!(events[0].at_ms, 1_700_000_000_123);
    assert!(events[1].conversation.is_group && !events[1].sender.is_bot);
    let messages = running.inbox.messages();
    assert_eq!(messages[1].text, "run it for @Other");
    assert_eq!([false, true, false], [0, 1, 2].map(|index| messages[index].mentions_us));
    assert!(matches!(running.stop().await, End::Stopped));
}

#[tokio::test]
async fn an_event_in_fragments_is_one_and_garbage_harms_nothing() {
    let stand_in = StandIn::start();
    let (_, running) = running(&stand_in).await;
    stand_in.send_raw(b"\xff\xff\xff");
    stand_in.send_raw(&[]);
    let long = "名".repeat(20_000);
    stand_in.deliver_in_fragments(stand_in.text_event("ou_a", "oc_1", false, &long), 7);
    stand_in.deliver_in_fragments(stand_in.text_event("ou_a", "oc_1", false, "never"), 300);
    let mut anonymous = stand_in.text_event("ou_a", "oc_1", false, "nobody");
    anonymous["event"]["sender"] = json!({"sender_type": "user"});
    stand_in.deliver(anonymous);
    let mut bot = stand_in.text_event("ou_c", "oc_1", false, "beep");
    bot["event"]["sender"]["sender_type"] = json!("app");
    stand_in.deliver(bot);
    stand_in.deliver(stand_in.text_event("ou_bot", "oc_1", false, "echo"));
    until("all but one are acknowledged", || stand_in.acknowledged() == 4).await;
    let events = running.inbox.events();
    assert_eq!(running.inbox.messages()[0].text, long);
    assert_eq!(events.iter().map(|event| event.sender.is_bot).collect::<Vec<_>>(), [false, true, true]);
    assert_eq!(running.inbox.connections(), 1);
}

#[tokio::test]
async fn what_is_not_committed_is_not_acknowledged_and_comes_again() {
    let stand_in = StandIn::start();
    let (_, running) = running(&stand_in).await;
    running.inbox.is_broken.store(true, Ordering::SeqCst);
    stand_in.say("ou_a", "oc_1", false, "first");
    stand_in.say("ou_a", "oc_1", false, "second");
    stand_in.cut();
    until("it is connected again", || stand_in.connections().0 == 1).await;
    assert_eq!(stand_in.acknowledged(), 0);
    running.inbox.is_broken.store(false, Ordering::SeqCst);
    stand_in.redeliver(false);
    until("both are acknowledged", || stand_in.acknowledged() == 2).await;
    assert_eq!(running.inbox.messages().len(), 2);
}

#[tokio::test]
async fn a_deaf_connection_is_noticed() {
    let stand_in = StandIn::start();
    let account = account_with(&stand_in, &Reach::Anywhere, SILENCE);
    let running = Running::start(account.clone());
    until("it is connected", || stand_in.connections().1 > 0).await;
    stand_in.fall_silent();
    until("it connects again", || stand_in.connections().0 == 1).await;
    stand_in.answer_no_pings(true);
    until("a connection without pongs ends, too", || running.inbox.connections() > 2).await;
    assert!(format!("{:?}", running.ends.lock().unwrap()).contains("nothing was received"));
}

#[tokio::test]
async fn wrong_credentials_end_it_and_a_busy_platform_does_not() {
    let stand_in = StandIn::start();
    let reach = Reach::Anywhere;
    let setup = json!({"app_id": APP_ID, "app_secret": "planted-wrong", "domain": stand_in.url()});
    let wrong = (KIND.make)(&setup, &reach).unwrap();
    let failure = wrong.probe().await.unwrap_err();
    assert!(matches!(failure, Failure::Account(_)), "{failure:?}");
    let end = wrong.run(&Memory::default(), &CancellationToken::new()).await;
    assert!(matches!(end, End::Refused(_)), "{end:?}");
    assert!(!format!("{failure:?}{end:?}").contains("planted"));
    let right = account(&stand_in);
    assert_eq!(right.probe().await.unwrap(), "Sandbridge");
    for (code, is_refused) in
        [(403, true), (514, true), (1_000_040_350, true), (1, false), (1_000_040_343, false)]
    {
        stand_in.refuse_connections(Some(code));
        let end = Platform::run(&*right, &Memory::default(), &CancellationToken::new()).await;
        assert_eq!(matches!(end, End::Refused(_)), is_refused, "{code}: {end:?}");
    }
    for (key, value) in [("app_id", ""), ("app_secret", " "), ("domain", "ftp://x"), ("domain", "nothing")] {
        let mut setup = stand_in.setup();
        setup[key] = json!(value);
        assert!((KIND.make)(&setup, &reach).is_err(), "{key}={value}");
    }
    assert!((KIND.make)(&stand_in.setup(), &Reach::public(&[])).is_err(), "an address inside");
}

fn ask(account: &Feishu) -> Outgoing {
    let buttons =
        ["Allow", "Deny"].map(|label| Button { label: label.to_owned(), token: format!("tok-{label}") });
    account.render(&Styled::markdown("**May I?**"), &buttons).remove(0)
}

#[tokio::test]
async fn a_press_is_committed_and_shows_what_became_of_it() {
    let stand_in = StandIn::start();
    let (account, running) = running(&stand_in).await;
    let sent = account.send(&group("oc_1"), &ask(&account), &Value::Null, &key(1)).await.unwrap();
    let card: Card = stand_in.cards().remove(0);
    assert_eq!(card.id, sent.id);
    stand_in.press("ou_a", &card, "Allow");
    until("the press is committed", || running.inbox.presses().len() == 1).await;
    let press = running.inbox.presses().remove(0);
    assert_eq!((press.token.as_str(), &press.message), ("tok-Allow", &sent.id));
    assert_eq!(running.inbox.events()[0].conversation, group("oc_1"));
    account.answer_press(&press.handle, "Allowed").await.unwrap();
    until("it is acknowledged", || stand_in.acknowledged() == 1).await;
    let (code, data) = stand_in.deliveries()[0].answer.clone().unwrap();
    assert_eq!((code, &data["toast"]["content"]), (200, &json!("Allowed")));
    // This press gets no answer, but it is still acknowledged in time.
    stand_in.press("ou_a", &card, "Deny");
    until("it is acknowledged without a text", || stand_in.acknowledged() == 2).await;
    account.answer_press(&press.handle, "too late").await.unwrap();
    account.answer_press(&Value::Null, "nobody's").await.unwrap();
    let done = account.render(&Styled::markdown("Allowed by A"), &[]).remove(0);
    account.edit(&group("oc_1"), &sent.id, &done).await.unwrap();
    assert_eq!(stand_in.cards()[0].content["body"]["elements"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_message_that_was_taken_without_an_answer_is_not_doubled() {
    let stand_in = StandIn::start();
    let account = account(&stand_in);
    let message = ask(&account);
    for (fault, is_taken) in [(Fault::TakeAndCut, true), (Fault::Cut, false), (Fault::Status(502), false)] {
        let before = stand_in.cards().len();
        let (key, to) = (key(before as u64 + 7), group(&format!("oc_{before}")));
        stand_in.fail_next(fault);
        let failure = account.send(&to, &message, &Value::Null, &key).await.unwrap_err();
        assert!(matches!(failure, Failure::Unknown(_)), "{failure:?}");
        assert_eq!(stand_in.cards().len(), before + usize::from(is_taken));
        account.send(&to, &message, &Value::Null, &key).await.unwrap();
        account.send(&to, &message, &Value::Null, &key).await.unwrap();
        assert_eq!(stand_in.cards().len(), before + 1);
    }
    assert_eq!(stand_in.refusals(), []);
}

#[tokio::test]
async fn rates_tokens_and_closed_chats_are_told_apart() {
    let stand_in = StandIn::start();
    let account = account(&stand_in);
    let (to, message) = (group("oc_1"), ask(&account));
    for (fault, wait) in [(Some(7), 7000), (None, 5000)] {
        stand_in.fail_next(Fault::TooFast(fault));
        let failure = account.send(&to, &message, &Value::Null, &key(1)).await.unwrap_err();
        assert!(matches!(failure, Failure::TooFast { wait_ms } if wait_ms == wait), "{failure:?}");
    }
    for number in 0..10 {
        let sent = account.send(&group("oc_2"), &message, &Value::Null, &key(number)).await;
        assert_eq!(sent.is_ok(), number < 5, "{number}: {sent:?}");
        assert!(!matches!(sent, Err(ref failure) if !matches!(failure, Failure::TooFast { wait_ms: 1000 })));
    }
    stand_in.forget_tokens();
    account.send(&to, &message, &Value::Null, &key(20)).await.unwrap();
    stand_in.remove_bot("oc_3", "ou_a");
    let failure = account.send(&group("oc_3"), &message, &Value::Null, &key(21)).await.unwrap_err();
    assert!(matches!(failure, Failure::Closed(_)), "{failure:?}");
    let failure = account.edit(&to, "om_unknown", &message).await.unwrap_err();
    assert!(matches!(failure, Failure::Message(_)), "{failure:?}");
    let large = Outgoing { payload: json!({"schema": "2.0", "text": "x".repeat(40_000)}) };
    let failure = account.send(&to, &large, &Value::Null, &key(22)).await.unwrap_err();
    assert!(matches!(failure, Failure::Message(_)), "{failure:?}");
}

#[tokio::test]
async fn an_application_keeps_its_limits_for_messages_and_for_edits() {
    let stand_in = StandIn::start();
    let account = account(&stand_in);
    let message = ask(&account);
    let too_fast = |failure: Failure| assert!(matches!(failure, Failure::TooFast { .. }), "{failure:?}");
    let full = |pace: &Pace| (0..).take_while(|_| paced(pace).is_ok()).count();
    assert_eq!(full(&account.sends), PER_SECOND.count);
    too_fast(account.send(&group("oc_1"), &message, &Value::Null, &key(1)).await.unwrap_err());
    assert_eq!(full(&account.edits), PER_SECOND.count, "they are counted apart");
    too_fast(account.edit(&group("oc_1"), "om_1", &message).await.unwrap_err());
    assert!(stand_in.refusals().is_empty(), "nothing was sent");
}

#[tokio::test(start_paused = true)]
async fn a_minute_has_fewer_requests_than_its_seconds_allow() {
    let (pace, mut count) = (Pace::default(), 0);
    for _ in 0..PER_MINUTE.window.as_secs() {
        count += (0..).take_while(|_| paced(&pace).is_ok()).count();
        tokio::time::advance(PER_SECOND.window).await;
    }
    assert_eq!(count, PER_MINUTE.count);
}

#[tokio::test]
async fn groups_and_threads_are_answered_where_they_are() {
    let stand_in = StandIn::start();
    let (account, running) = running(&stand_in).await;
    let mut in_thread = stand_in.text_event("ou_a", "oc_1", true, "@_user_1 hi");
    in_thread["event"]["message"]["thread_id"] = json!("omt_9");
    in_thread["event"]["message"]["parent_id"] = json!("om_parent");
    stand_in.deliver(in_thread);
    stand_in.say("ou_a", "oc_2", false, "direct");
    until("both are there", || running.inbox.events().len() == 2).await;
    for (number, event) in running.inbox.events().into_iter().enumerate() {
        account.send(&event.conversation, &ask(&account), &event.reply, &key(number as u64)).await.unwrap();
    }
    let events = running.inbox.events();
    let cards = stand_in.cards();
    assert_eq!(events[0].conversation.id, "oc_1/omt_9");
    assert_eq!(running.inbox.messages()[0].quoted.as_ref().unwrap().id, "om_parent");
    assert_eq!((&cards[0].chat, &cards[0].reply), (&"oc_1".to_owned(), &Some((events[0].id.clone(), true))));
    assert_eq!((&cards[1].chat, &cards[1].reply), (&"oc_2".to_owned(), &None));
    stand_in.remove_bot("oc_1", "ou_a");
    until("the removal is there", || running.inbox.events().len() == 3).await;
    assert_eq!(running.inbox.events()[2].what, What::Removed);
}

#[tokio::test]
async fn an_answer_to_a_recalled_message_can_be_sent_without_a_reference_to_it() {
    let stand_in = StandIn::start();
    let (account, running) = running(&stand_in).await;
    let id = stand_in.say("ou_a", "oc_1", true, "@_user_1 hi");
    stand_in.recall(&id, "oc_1");
    until("both are acknowledged", || stand_in.acknowledged() == 2).await;
    let event = running.inbox.events().remove(0);
    let refused = account.send(&event.conversation, &ask(&account), &event.reply, &key(1)).await;
    assert!(matches!(refused, Err(Failure::Expired)), "{refused:?}");
    account.send(&event.conversation, &ask(&account), &Value::Null, &key(1)).await.unwrap();
    let cards = stand_in.cards();
    assert_eq!((cards.len(), &cards[0].chat, &cards[0].reply), (1, &"oc_1".to_owned(), &None));
    assert_eq!(running.inbox.events().len(), 1, "a recall is no message");
}

#[tokio::test]
async fn files_go_both_ways_and_lies_are_noticed() {
    let stand_in = StandIn::start();
    let (account, running) = running(&stand_in).await;
    stand_in.add_file("img_1", b"picture", None);
    let post = json!({"title": "t", "content": [[{"tag": "text", "text": "see "}, {"tag": "at", "user_id": "@_user_1"}], [{"tag": "img", "image_key": "img_1"}]]});
    stand_in.deliver(stand_in.event("ou_a", "oc_1", true, "post", &post));
    for (name, trick) in [
        ("lie", Trick::Lie(1000)),
        ("flood", Trick::Flood(100_000)),
        ("inward", Trick::Redirect("http://169.254.169.254/latest".to_owned())),
    ] {
        stand_in.add_file(name, b"abc", Some(trick));
        let content = json!({"file_key": name, "file_name": "../../x.txt"});
        stand_in.deliver(stand_in.event("ou_a", "oc_1", false, "file", &content));
    }
    stand_in.deliver(stand_in.event("ou_a", "oc_1", false, "file", &json!({"file_key": "../../../secret"})));
    until("all are there", || running.inbox.messages().len() == 5).await;
    let messages = running.inbox.messages();
    assert_eq!((messages[0].text.trim(), messages[0].mentions_us), ("t\nsee @Sandbridge", true));
    assert_eq!(&account.fetch(&messages[0].media[0], 100).await.unwrap()[..], b"picture");
    assert_eq!(messages[1].media[0].name, "x.txt");
    let guarded = account_with(&stand_in, &Reach::public(&["127.0.0.1".to_owned()]), SILENCE);
    for message in &messages[1..4] {
        let failure = guarded.fetch(&message.media[0], 5000).await.unwrap_err();
        assert!(matches!(failure, Failure::Message(_) | Failure::Away(_)), "{failure:?}");
    }
    assert_eq!(messages[4].media, []);
    for (is_image, kind) in [(true, "image"), (false, "file")] {
        let file =
            FileOut { name: "a \"b\".png".to_owned(), bytes: Bytes::from_static(b"\0\r\n--x"), is_image };
        account.send_file(&group("oc_1"), &file, &Value::Null, &key(u64::from(is_image))).await.unwrap();
        let card = stand_in.cards().pop().unwrap();
        let sent = stand_in.file(card.content[format!("{kind}_key")].as_str().unwrap()).unwrap();
        assert_eq!((card.kind.as_str(), &sent.1[..]), (kind, &b"\0\r\n--x"[..]));
    }
    let empty = FileOut { name: "x".to_owned(), bytes: Bytes::new(), is_image: false };
    let failure = account.send_file(&group("oc_1"), &empty, &Value::Null, &key(9)).await.unwrap_err();
    assert!(matches!(failure, Failure::Message(_)), "{failure:?}");
}

#[tokio::test]
async fn many_messages_through_disconnects_arrive_exactly_once() {
    let stand_in = StandIn::start();
    let (_, running) = running(&stand_in).await;
    let many = many();
    for number in 0..many {
        stand_in.say("ou_a", "oc_1", false, &number.to_string());
        if number % (many / 20) == 0 {
            stand_in.cut();
            until("it is connected again", || stand_in.connections().0 == 1).await;
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
