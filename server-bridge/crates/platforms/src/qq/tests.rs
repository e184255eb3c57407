use std::sync::atomic::Ordering;
use std::time::{SystemTime, UNIX_EPOCH};

use ::tests::platforms::lines::{Fault, Trick};
use ::tests::platforms::qq::{Qq as StandIn, SECRET};
use proptest::prelude::*;

use super::*;
use crate::event::What;
use crate::testing::{
    Memory, Running, assert_kept, is_fenced, key, large, letters, letters_of_markdown, many, until,
};

fn account_with(stand_in: &StandIn, more: &[(&str, &str)]) -> Arc<Qq> {
    let mut setup = stand_in.setup();
    for (key, value) in more {
        setup[*key] = json!(value);
    }
    Arc::new(Qq::new(&setup, &Reach::Anywhere).unwrap())
}

async fn running(stand_in: &StandIn, more: &[(&str, &str)]) -> (Arc<Qq>, Running) {
    let account = account_with(stand_in, more);
    let running = Running::start(account.clone());
    until("it is connected", || stand_in.connections() == 1).await;
    (account, running)
}

fn text(account: &Qq, markdown: &str) -> Outgoing {
    account.render(&Styled::markdown(markdown), &[]).remove(0)
}

#[tokio::test]
async fn messages_arrive_once_and_a_session_is_resumed_after_what_was_committed() {
    let stand_in = StandIn::start();
    let (_, running) = running(&stand_in, &[]).await;
    stand_in.say("U1", None, "hello");
    let (kind, group) = stand_in.event("M1", Some("G1"), " run it ");
    stand_in.dispatch(&kind, group.clone());
    stand_in.dispatch(&kind, group.clone());
    let mut nobody = group.clone();
    nobody["author"] = json!({});
    stand_in.dispatch(&kind, nobody);
    let mut bot = group;
    bot["id"] = json!("another");
    bot["author"]["bot"] = json!(true);
    stand_in.dispatch(&kind, bot);
    until("three are there", || running.inbox.events().len() == 3).await;
    let events = running.inbox.events();
    assert_eq!(events[0].conversation, Conversation { id: "user:U1".to_owned(), is_group: false });
    assert_eq!(events[1].conversation, Conversation { id: "group:G1".to_owned(), is_group: true });
    assert_eq!(events[0].at_ms, 1_699_249_038_000);
    assert!(events[2].sender.is_bot && !events[1].sender.is_bot);
    assert_eq!(
        (running.inbox.messages()[1].text.as_str(), running.inbox.repeated.load(Ordering::SeqCst)),
        ("run it", 1)
    );
    // The message is not committed: the connection ends, and the message arrives again on the next one.
    running.inbox.is_broken.store(true, Ordering::SeqCst);
    stand_in.say("U1", None, "while broken");
    until("the connection ends", || running.ends.lock().unwrap().len() > 1).await;
    running.inbox.is_broken.store(false, Ordering::SeqCst);
    until("it came again", || running.inbox.events().len() == 4).await;
    stand_in.close(None);
    stand_in.say("U1", None, "while away");
    until("it came later", || running.inbox.events().len() == 5).await;
    stand_in.ask_to_reconnect();
    until("the session goes on", || stand_in.sessions().1.last() == Some(&8)).await;
    assert_eq!(stand_in.sessions().0.len(), 1, "one session");
    assert_eq!(running.inbox.gaps.lock().unwrap().len(), 0);
    stand_in.forget_session();
    stand_in.close(Some(4009));
    until("a new session begins, and the gap is reported", || stand_in.sessions().0.len() == 2).await;
    assert_eq!(running.inbox.gaps.lock().unwrap().len(), 1);
    until("it is connected", || stand_in.connections() == 1).await;
    assert!(matches!(running.stop().await, End::Stopped));
}

#[tokio::test]
async fn a_deaf_gateway_is_noticed() {
    let stand_in = StandIn::start();
    let (_, running) = running(&stand_in, &[]).await;
    until("it beats", || stand_in.beats().len() > 1).await;
    stand_in.answer_no_beats(true);
    until("it ends", || format!("{:?}", running.ends.lock().unwrap()).contains("heartbeat")).await;
    stand_in.answer_no_beats(false);
    until("it is connected again", || !stand_in.sessions().1.is_empty()).await;
}

#[tokio::test]
async fn refusals_of_the_gateway_are_told_apart() {
    let stand_in = StandIn::start();
    let run = |account: Arc<Qq>| async move {
        Platform::run(&*account, &Memory::default(), &CancellationToken::new()).await
    };
    for code in [4914, 4915] {
        stand_in.close_new(Some(code));
        let end = run(account_with(&stand_in, &[])).await;
        assert!(matches!(end, End::Refused(_)), "{end:?}");
    }
    stand_in.close_new(None);
    stand_in.permit(1 << 25);
    let account = account_with(&stand_in, &[]);
    let running = Running::start(account);
    until("it requests fewer intents, twice", || stand_in.connections() == 1).await;
    assert_eq!(stand_in.sessions().0.last(), Some(&(1 << 25)));
    drop(running);
    stand_in.permit(0);
    let account = account_with(&stand_in, &[]);
    let mut ends = Vec::new();
    for _ in 0..3 {
        ends.push(run(account.clone()).await);
    }
    assert!(matches!(ends[2], End::Refused(_)), "{ends:?}");
    stand_in.set_remaining(0);
    let end = run(account_with(&stand_in, &[])).await;
    assert!(matches!(end, End::Wait { ms: 14_400_000, .. }), "{end:?}");
    let wrong = account_with(&stand_in, &[("secret", "planted-wrong")]);
    let failure = wrong.probe().await.unwrap_err();
    assert!(
        matches!(failure, Failure::Account(_)) && !format!("{failure:?}").contains("planted"),
        "{failure:?}"
    );
    assert!(matches!(run(wrong).await, End::Refused(_)));
    for (key, value) in
        [("app_id", ""), ("secret", ""), ("delivery", "pigeon"), ("markdown", "maybe"), ("address", "x")]
    {
        let mut setup = stand_in.setup();
        setup[key] = json!(value);
        assert!((KIND.make)(&setup, &Reach::Anywhere).is_err(), "{key}={value}");
    }
    assert!((KIND.make)(&stand_in.setup(), &Reach::public(&[])).is_err(), "an address inside");
}

#[tokio::test]
async fn replies_are_keyed_counted_and_expire() {
    let stand_in = StandIn::start();
    let (account, running) = running(&stand_in, &[]).await;
    stand_in.say("U1", None, "hello");
    until("it is there", || running.inbox.events().len() == 1).await;
    let event = running.inbox.events().remove(0);
    let (to, message) = (&event.conversation, text(&account, "<@everyone> [x](https://x.org)"));
    for (fault, number) in [(Fault::TakeAndCut, 1), (Fault::Cut, 2), (Fault::Status(500), 3)] {
        stand_in.fail_next(fault);
        let failure = account.send(to, &message, &event.reply, &key(number)).await.unwrap_err();
        assert!(matches!(failure, Failure::Unknown(_)), "{failure:?}");
        account.send(to, &message, &event.reply, &key(number)).await.unwrap();
        account.send(to, &message, &event.reply, &key(number)).await.unwrap();
    }
    assert_eq!(stand_in.said().len(), 3);
    assert_eq!(stand_in.said()[0].body["content"], "<\u{200b}@everyone> x (https://x.org)");
    stand_in.fail_next(Fault::TooFast(Some(3)));
    let failure = account.send(to, &message, &event.reply, &key(4)).await.unwrap_err();
    assert!(matches!(failure, Failure::TooFast { wait_ms: 3000 }), "{failure:?}");
    stand_in.forget_tokens();
    account.send(to, &message, &event.reply, &key(4)).await.unwrap();
    account.send(to, &message, &event.reply, &key(5)).await.unwrap();
    assert!(matches!(account.send(to, &message, &event.reply, &key(6)).await, Err(Failure::Expired)));
    assert!(matches!(account.send(to, &message, &Value::Null, &key(7)).await, Err(Failure::Expired)));
    stand_in.say("U1", None, "again");
    until("it is there", || running.inbox.events().len() == 2).await;
    let mut again = running.inbox.events().remove(1);
    stand_in.set_window(Duration::ZERO);
    assert!(matches!(account.send(to, &message, &again.reply, &key(8)).await, Err(Failure::Expired)));
    again.reply["until_ms"] = json!(1);
    assert!(matches!(account.send(to, &message, &again.reply, &key(8)).await, Err(Failure::Expired)));
}

#[tokio::test]
async fn a_press_comes_with_its_token_and_is_acknowledged() {
    let stand_in = StandIn::start();
    let (account, running) = running(&stand_in, &[("markdown", "yes")]).await;
    stand_in.say("M1", Some("G1"), "hello");
    until("it is there", || running.inbox.events().len() == 1).await;
    let event = running.inbox.events().remove(0);
    let buttons =
        ["Allow", "Deny"].map(|label| Button { label: label.to_owned(), token: format!("tok-{label}") });
    let asked = account.render(&Styled::markdown("**May I?**"), &buttons).remove(0);
    let sent = account.send(&event.conversation, &asked, &event.reply, &key(1)).await.unwrap();
    let press = stand_in.press("M2", Some("G1"), &stand_in.said()[0], "Deny");
    until("the press is there", || running.inbox.presses().len() == 1).await;
    let came = running.inbox.events().remove(1);
    assert_eq!((came.sender.id.as_str(), &came.conversation), ("M2", &event.conversation));
    let What::Press(pressed) = came.what else { panic!("{came:?}") };
    assert_eq!((pressed.token.as_str(), &pressed.message), ("tok-Deny", &sent.id));
    account.answer_press(&pressed.handle, "Denied").await.unwrap();
    assert_eq!(stand_in.answered(), [press]);
    account.send(&came.conversation, &text(&account, "Denied by M2"), &came.reply, &key(2)).await.unwrap();
    assert_eq!(stand_in.refusals(), [] as [&str; 0]);
}

#[tokio::test]
async fn deliveries_by_webhook_are_checked_committed_and_answered() {
    let stand_in = StandIn::start();
    let account = account_with(&stand_in, &[("delivery", "webhook")]);
    assert!(account.takes_deliveries() && !account_with(&stand_in, &[]).takes_deliveries());
    let inbox = Memory::default();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let signed = |body: &[u8]| {
        let message = [now.to_string().as_bytes(), body].concat();
        vec![
            ("x-signature-timestamp".to_owned(), now.to_string()),
            ("x-signature-ed25519".to_owned(), webhook::sign(SECRET, &message).unwrap()),
        ]
    };
    let body = stand_in.delivery("U1", "hello").to_string();
    let answer = account.delivered(&signed(body.as_bytes()), body.as_bytes(), &inbox).await.unwrap();
    assert_eq!((answer, inbox.messages().len()), (json!({"op": 12, "d": 0}), 1));
    account.delivered(&signed(body.as_bytes()), body.as_bytes(), &inbox).await.unwrap();
    assert_eq!(inbox.repeated.load(Ordering::SeqCst), 1);
    let failure = account.delivered(&signed(b"{}"), body.as_bytes(), &inbox).await.unwrap_err();
    assert!(matches!(failure, Failure::Account(_)), "{failure:?}");
    let failure = account.delivered(&signed(b"no JSON"), b"no JSON", &inbox).await.unwrap_err();
    assert!(matches!(failure, Failure::Message(_)), "{failure:?}");
    inbox.is_broken.store(true, Ordering::SeqCst);
    let failure = account.delivered(&signed(body.as_bytes()), body.as_bytes(), &inbox).await.unwrap_err();
    assert!(matches!(failure, Failure::Away(_)), "{failure:?}");
    let running = Running::start(account);
    until("it is connected", || running.inbox.connections() == 1).await;
    assert!(matches!(running.stop().await, End::Stopped));
}

#[tokio::test]
async fn files_go_both_ways_and_lies_are_noticed() {
    let stand_in = StandIn::start();
    let (account, running) = running(&stand_in, &[]).await;
    let urls = [
        stand_in.add_file("good", b"picture", None),
        stand_in.add_file("lie", b"abc", Some(Trick::Lie(1000))),
        stand_in.add_file("flood", b"", Some(Trick::Flood(100_000))),
        stand_in.add_file("inward", b"", Some(Trick::Redirect("http://169.254.169.254/latest".to_owned()))),
        "http://169.254.169.254/latest".to_owned(),
    ];
    let (kind, mut body) = stand_in.event("U1", None, "");
    let file =
        |url: &String| json!({"content_type": "image/png", "filename": "../a.png", "size": 7, "url": url});
    body["attachments"] = json!(urls.iter().map(file).collect::<Vec<_>>());
    stand_in.dispatch(&kind, body);
    until("it is there", || running.inbox.events().len() == 1).await;
    let media = running.inbox.messages().remove(0).media;
    assert_eq!((media[0].name.as_str(), media[0].bytes), ("a.png", Some(7)));
    let guarded = Qq::new(&stand_in.setup(), &Reach::public(&["127.0.0.1".to_owned()])).unwrap();
    assert_eq!(&guarded.fetch(&media[0], 100).await.unwrap()[..], b"picture");
    for media in &media[1..] {
        let failure = guarded.fetch(media, 5000).await.unwrap_err();
        assert!(matches!(failure, Failure::Message(_) | Failure::Away(_)), "{failure:?}");
    }
    let event = running.inbox.events().remove(0);
    let file = FileOut { name: "a.png".to_owned(), bytes: Bytes::from_static(b"png"), is_image: true };
    account.send_file(&event.conversation, &file, &event.reply, &key(1)).await.unwrap();
    let info = stand_in.said()[0].body["media"]["file_info"].clone();
    assert_eq!(stand_in.upload(info.as_str().unwrap()).unwrap(), b"png");
}

fn check(markdown: &str) {
    let styled = Styled::markdown(markdown);
    for has_markdown in [true, false] {
        let setup =
            json!({"app_id": "1", "secret": "s", "markdown": if has_markdown { "yes" } else { "no" }});
        let account = Qq::new(&setup, &Reach::Anywhere).unwrap();
        let mut kept = String::new();
        for message in account.render(&styled, &[]) {
            let payload = &message.payload;
            let text = payload["content"].as_str().or(payload["markdown"]["content"].as_str()).unwrap();
            assert!(text.chars().count() <= 4000 && !text.trim().is_empty());
            assert!(!text.contains("<@") && !text.contains("<qqbot-at"), "{text}");
            assert!(!has_markdown || is_fenced(text), "{text}");
            kept.push_str(&if has_markdown { letters_of_markdown(text) } else { letters(text) });
        }
        assert_kept(&kept, &styled);
    }
}

#[test]
fn large_texts_of_every_kind_are_taken() {
    large().for_each(|text| check(&text));
}

proptest! {
    #[test]
    fn any_markdown_is_short_enough_and_keeps_its_letters(text in "([a-c名😀*_`#>|<\\[\\]()&, \n-]|<@everyone>|<qqbot-at-everyone />|```){0,200}") {
        check(&text);
    }
}

#[tokio::test]
async fn many_messages_through_disconnects_arrive_exactly_once_and_in_order() {
    let stand_in = StandIn::start();
    let (_, running) = running(&stand_in, &[]).await;
    let many = many();
    for number in 0..many {
        stand_in.say("U1", None, &number.to_string());
        if number % (many / 20) == 0 {
            stand_in.close(None);
        }
    }
    until("all are there", || running.inbox.events().len() >= many).await;
    let texts: Vec<usize> =
        running.inbox.messages().iter().map(|message| message.text.parse().unwrap()).collect();
    assert_eq!(texts, (0..many).collect::<Vec<_>>());
    assert_eq!((stand_in.sessions().0.len(), running.inbox.gaps.lock().unwrap().len()), (1, 0));
}
