use std::thread;
use std::time::Duration;

use serde_json::Value;

use super::*;
use crate::limits::{EVENTS_KEPT, EVENTS_KEPT_BYTES, EVENTS_KEPT_FOR};

const ALICE: UserId = UserId(1);

fn notice(text: impl ToString) -> Event {
    Event::Notice { level: "info".into(), text: text.to_string() }
}

fn stood(hub: &Hub, after: u64) -> Option<Stood<'_>> {
    Some(Stood { epoch: hub.epoch(), after })
}

/// The number and the text of an event.
fn read(heard: Option<Heard>) -> Option<(u64, String)> {
    match heard? {
        Heard::Event(text) => {
            let value: Value = serde_json::from_slice(&text).unwrap();
            Some((value["seq"].as_u64().unwrap(), value["text"].as_str().unwrap().to_owned()))
        }
        Heard::Lagged(number) => panic!("lagged to {number}"),
    }
}

fn all(listener: &mut Listener) -> Vec<(u64, String)> {
    std::iter::from_fn(|| read(listener.ready())).collect()
}

#[test]
fn an_event_reaches_its_user_and_nobody_else() {
    let hub = Arc::new(Hub::new(Arc::default()));
    let (mut first, _) = hub.subscribe(ALICE, None);
    let (mut second, _) = hub.subscribe(UserId(2), None);
    hub.publish(ALICE, &Event::RunnerRemoved { name: "laptop".to_owned() });
    let text = r#"{"seq":1,"type":"runner_removed","name":"laptop"}"#;
    assert_eq!(first.ready(), Some(Heard::Event(text.into())));
    assert_eq!(second.ready(), None);
}

#[test]
fn the_texts_of_the_server_are_in_the_language_of_the_events_user() {
    let languages = Arc::new(Languages::default());
    languages.set(ALICE, api::language::Language::Chinese);
    let hub = Arc::new(Hub::new(languages));
    let (mut alice, _) = hub.subscribe(ALICE, None);
    let (mut other, _) = hub.subscribe(UserId(2), None);
    for user in [ALICE, UserId(2)] {
        hub.publish(user, &notice("it was cancelled"));
    }
    assert_eq!(read(alice.ready()), Some((1, "已取消".to_owned())));
    assert_eq!(read(other.ready()), Some((1, "it was cancelled".to_owned())));
}

#[test]
fn whoever_comes_back_has_what_was_missed_and_nothing_twice() {
    let hub = Arc::new(Hub::new(Arc::default()));
    let (mut listener, resumed) = hub.subscribe(ALICE, None);
    assert!(!resumed);
    for text in 1..=3 {
        hub.publish(ALICE, &notice(text));
    }
    assert_eq!(read(listener.ready()), Some((1, "1".to_owned())));
    drop(listener);
    hub.publish(ALICE, &notice(4));
    let (mut listener, resumed) = hub.subscribe(ALICE, stood(&hub, 1));
    assert!(resumed);
    assert_eq!(all(&mut listener), [2, 3, 4].map(|number| (number, number.to_string())));
    // A listener without a position receives only new events.
    let (mut other, _) = hub.subscribe(ALICE, None);
    assert_eq!((other.seen(), other.ready()), (4, None));
}

#[test]
fn another_life_and_numbers_that_never_were_are_no_place_to_go_on_from() {
    let hub = Arc::new(Hub::new(Arc::default()));
    let (_listener, _) = hub.subscribe(ALICE, None);
    hub.publish(ALICE, &notice("a"));
    let before = Hub::new(Arc::default());
    let (_, resumed) = hub.subscribe(ALICE, stood(&before, 1));
    assert!(!resumed, "another epoch");
    let (listener, resumed) = hub.subscribe(ALICE, stood(&hub, 2));
    assert!(!resumed && listener.seen() == 1, "more than there are");
    assert!(!hub.subscribe(ALICE, Some(Stood { epoch: "", after: u64::MAX })).1);
    assert!(hub.subscribe(ALICE, stood(&hub, 0)).1);
}

#[test]
fn a_slow_listener_is_told_once_and_goes_on_behind_what_it_missed() {
    let hub = Arc::new(Hub::new(Arc::default()));
    let (mut slow, _) = hub.subscribe(ALICE, None);
    let last = EVENTS_KEPT as u64 + 1;
    for text in 1..=last {
        hub.publish(ALICE, &notice(text));
    }
    assert_eq!(slow.ready(), Some(Heard::Lagged(last)));
    assert_eq!(slow.ready(), None);
    hub.publish(ALICE, &notice("next"));
    assert_eq!(all(&mut slow), [(last + 1, "next".to_owned())]);
    assert!(!hub.subscribe(ALICE, stood(&hub, 1)).1, "not all of it is kept");
    assert!(hub.subscribe(ALICE, stood(&hub, 2)).1);
}

#[test]
fn what_is_kept_is_bounded_in_bytes() {
    let hub = Arc::new(Hub::new(Arc::default()));
    let (_listener, _) = hub.subscribe(ALICE, None);
    let text = "x".repeat(EVENTS_KEPT_BYTES / 4);
    for _ in 0..10 {
        hub.publish(ALICE, &notice(&text));
    }
    let feeds = hub.lock();
    assert!(feeds.kept_bytes <= EVENTS_KEPT_BYTES, "{}", feeds.kept_bytes);
    assert_eq!(feeds.kept_bytes, feeds.by_user[&ALICE].kept_bytes());
}

#[test]
fn who_is_away_longest_gives_way_where_all_keep_too_much() {
    let hub = Arc::new(Hub::new(Arc::default()));
    let text = "x".repeat(EVENTS_KEPT_BYTES - 1024);
    let users = EVENTS_KEPT_OF_ALL_BYTES / EVENTS_KEPT_BYTES + 2;
    for user in 0..users {
        let listener = hub.subscribe(UserId(user as i64), None).0;
        hub.publish(UserId(user as i64), &notice(&text));
        drop(listener);
    }
    let first = hub.subscribe(UserId(0), stood(&hub, 0)).1;
    let last = hub.subscribe(UserId(users as i64 - 1), stood(&hub, 0)).1;
    assert!(!first && last);
    assert!(hub.lock().kept_bytes <= EVENTS_KEPT_OF_ALL_BYTES);
}

#[test]
fn who_comes_last_is_served_where_others_keep_much() {
    let hub = Arc::new(Hub::new(Arc::default()));
    let text = "x".repeat(EVENTS_KEPT_BYTES / 8);
    let users = (EVENTS_KEPT_OF_ALL_BYTES / EVENTS_KEPT_BYTES) as i64;
    let _listeners: Vec<Listener> = (0..users).map(|user| hub.subscribe(UserId(user), None).0).collect();
    (0..8 * users).for_each(|at| hub.publish(UserId(at % users), &notice(&text)));
    let (mut listener, _) = hub.subscribe(UserId(users), None);
    (0..4).for_each(|_| hub.publish(UserId(users), &notice(&text)));
    for _ in 0..4 {
        assert!(matches!(listener.ready(), Some(Heard::Event(_))));
    }
    assert!(hub.lock().kept_bytes <= EVENTS_KEPT_OF_ALL_BYTES);
}

#[test]
fn what_is_kept_for_who_does_not_come_back_is_dropped_and_its_numbers_are_not_used_again() {
    let hub = Arc::new(Hub::new(Arc::default()));
    let (listener, _) = hub.subscribe(ALICE, None);
    hub.publish(ALICE, &notice("a"));
    drop(listener);
    let later = Instant::now() + EVENTS_KEPT_FOR + Duration::from_secs(1);
    hub.forget_gone(Instant::now());
    assert!(hub.lock().kept_bytes > 0);
    hub.forget_gone(later);
    assert_eq!(hub.lock().kept_bytes, 0);
    assert!(!hub.lock().counts(ALICE, later), "nobody is there to read it");
    let (listener, resumed) = hub.subscribe(ALICE, stood(&hub, 1));
    assert!(!resumed, "the second event was missed");
    assert_eq!(listener.seen(), 2);
}

#[test]
fn who_never_listened_costs_nothing() {
    let hub = Hub::new(Arc::default());
    hub.publish(ALICE, &notice("a"));
    assert!(hub.lock().by_user.is_empty());
}

#[tokio::test]
async fn a_listener_waits_for_what_comes() {
    let hub = Arc::new(Hub::new(Arc::default()));
    let (mut listener, _) = hub.subscribe(ALICE, None);
    let waiting = tokio::spawn(async move { listener.next().await });
    tokio::task::yield_now().await;
    hub.publish(ALICE, &notice("a"));
    assert_eq!(read(Some(waiting.await.unwrap())), Some((1, "a".to_owned())));
}

/// Simultaneous publishers, and listeners that disconnect and reconnect: each gets every event once, in one order, which
/// preserves that of each publisher.
#[test]
fn nothing_is_lost_doubled_or_out_of_order_over_reconnects_and_concurrent_publishers() {
    const PUBLISHERS: u64 = 4;
    const EACH: u64 = 500;
    let hub = Arc::new(Hub::new(Arc::default()));
    // Events are numbered only while there is a listener, so one listens from the beginning.
    let (first, _) = hub.subscribe(ALICE, None);
    let heard: Vec<Vec<(u64, String)>> = thread::scope(|scope| {
        let listeners: Vec<_> = (0..3)
            .map(|slowness: u32| {
                let hub = Arc::clone(&hub);
                scope.spawn(move || {
                    let (mut heard, mut turns) = (Vec::new(), 0_u32);
                    let (mut listener, _) = hub.subscribe(ALICE, stood(&hub, 0));
                    while heard.len() < (PUBLISHERS * EACH) as usize {
                        heard.extend(read(listener.ready()));
                        turns += 1;
                        if turns.is_multiple_of(7 + slowness) {
                            let seen = listener.seen();
                            drop(listener);
                            let (next, resumed) = hub.subscribe(ALICE, stood(&hub, seen));
                            assert!(resumed);
                            listener = next;
                        }
                    }
                    heard
                })
            })
            .collect();
        for publisher in 0..PUBLISHERS {
            let hub = &hub;
            scope.spawn(move || {
                (0..EACH).for_each(|at| hub.publish(ALICE, &notice(format!("{publisher} {at}"))));
            });
        }
        listeners.into_iter().map(|listener| listener.join().unwrap()).collect()
    });
    drop(first);
    assert!(heard[0].iter().map(|(number, _)| *number).eq(1..=PUBLISHERS * EACH));
    assert!(heard.iter().all(|other| *other == heard[0]));
    for publisher in 0..PUBLISHERS {
        let prefix = format!("{publisher} ");
        let own = heard[0].iter().filter_map(|(_, text)| text.strip_prefix(&prefix)).map(str::to_owned);
        assert!(own.eq((0..EACH).map(|at| at.to_string())));
    }
}
