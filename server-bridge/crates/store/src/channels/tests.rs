mod gates;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use super::*;
use crate::{ChatId, Clock, EntryKind, MessageRole, Name, NewEntry, Store, UserId, testing};

async fn user(store: &Store, name: &str, is_admin: bool) -> UserId {
    store.add_user(&Name::parse(name).unwrap(), "correct horse", is_admin).await.unwrap().id
}

fn draft(name: &str) -> ChannelDraft<'_> {
    ChannelDraft {
        name,
        kind: "telegram",
        document_json: "{}",
        secrets_json: Some(r#"{"token":"s3cret"}"#),
        is_enabled: true,
        is_shared: false,
    }
}

fn event(id: &str) -> NewEvent {
    let text = |text: &str| text.to_owned();
    NewEvent { platform_id: text(id), conversation: text("c"), person: text("p"), event_json: text("{}") }
}

fn lane(account: &ChannelAccount) -> ChannelLane {
    ChannelLane { account_id: account.id, conversation: "c".to_owned(), person: "p".to_owned() }
}

fn outgoing(part: i64) -> NewOutgoing {
    NewOutgoing {
        conversation: "c".to_owned(),
        reply_json: "null".to_owned(),
        source: "a".to_owned(),
        part,
        send_key: "k".to_owned(),
        payload_json: "{}".to_owned(),
        ..NewOutgoing::default()
    }
}

#[tokio::test]
async fn an_account_is_its_owners_unless_an_administrator_shares_it() {
    let store = testing::empty().await;
    let (root, ada, eve) = (
        user(&store, "root", true).await,
        user(&store, "ada", false).await,
        user(&store, "eve", false).await,
    );
    let mine = store.put_channel(ada, ChannelDraft { is_shared: true, ..draft("tg") }).await.unwrap();
    assert!(!mine.is_shared, "she is not an administrator");
    assert!(store.channel(eve, "tg").await.is_err() && store.channels(eve).await.unwrap().is_empty());
    let shared = store.put_channel(root, ChannelDraft { is_shared: true, ..draft("tg") }).await.unwrap();
    assert!(shared.is_shared);
    assert_eq!(store.channel(eve, "tg").await.unwrap().id, shared.id);
    assert_eq!(store.channel(ada, "tg").await.unwrap().id, mine.id, "her own account takes precedence");
    let secrets = store.channel_secrets(&mine).await.unwrap();
    assert_eq!(secrets.as_deref(), Some(r#"{"token":"s3cret"}"#));
    let kept = store.put_channel(ada, ChannelDraft { secrets_json: None, ..draft("tg") }).await.unwrap();
    assert!(kept.revision > mine.revision && store.channel_secrets(&kept).await.unwrap().is_some());
    let other = ChannelDraft { kind: "matrix", ..draft("tg") };
    assert!(store.put_channel(ada, other).await.unwrap_err().is_callers());
    assert_eq!(store.remove_channel(eve, "tg").await.unwrap(), None);
    assert_eq!(store.remove_channel(ada, "tg").await.unwrap(), Some(mine.id));
}

#[tokio::test]
async fn a_code_links_once_and_ends_by_time_by_tries_and_by_a_new_one() {
    let now = Arc::new(AtomicI64::new(10_000_000));
    let read = Arc::clone(&now);
    let store = testing::empty().await.with_clock(Clock::from_fn(move || read.load(Ordering::SeqCst)));
    let (root, ada) = (user(&store, "root", true).await, user(&store, "ada", false).await);
    let account = store.put_channel(root, ChannelDraft { is_shared: true, ..draft("tg") }).await.unwrap();
    let person = |id: &'static str| Person { id, name: "Ada", conversation: "c" };
    let put =
        |hash: &'static str| store.put_link_code(account.id, ada, ("AB", hash), store.now_ms() + 600_000);
    put("h1").await.unwrap();
    put("h2").await.unwrap();
    let redeem = |id, hash: &'static str| store.redeem_code(&account, person(id), ("AB", hash));
    assert_eq!(redeem("p", "h1").await.unwrap(), Redeemed::Wrong, "a new code ends the earlier one");
    assert_eq!(redeem("p", "h2").await.unwrap(), Redeemed::Linked(ada));
    assert_eq!(redeem("q", "h2").await.unwrap(), Redeemed::Wrong, "it was used");
    assert_eq!(store.linked_user(&account, "p").await.unwrap(), Some(ada));
    assert_eq!(store.linked_user(&account, "q").await.unwrap(), None);
    put("h3").await.unwrap();
    for guesser in ["g1", "g2", "g3", "g4", "g5"] {
        assert_eq!(redeem(guesser, "no").await.unwrap(), Redeemed::Wrong);
    }
    assert_eq!(redeem("r", "h3").await.unwrap(), Redeemed::Wrong, "too many wrong codes were tried");
    put("h4").await.unwrap();
    for _ in 0..5 {
        redeem("h", "no").await.unwrap();
    }
    put("h4").await.unwrap();
    assert_eq!(redeem("h", "h4").await.unwrap(), Redeemed::TooMany);
    now.fetch_add(600_001, Ordering::SeqCst);
    assert_eq!(redeem("s", "h4").await.unwrap(), Redeemed::Wrong, "it has expired");
    let links = store.channel_links(ada, false).await.unwrap();
    assert_eq!((links.len(), links[0].person.as_str(), links[0].account.as_str()), (1, "p", "tg"));
    assert!(store.channel_links(root, false).await.unwrap().is_empty());
    assert_eq!(store.channel_links(root, true).await.unwrap().len(), 1, "the owner sees who is linked");
    let unshared = store.put_channel(root, draft("tg")).await.unwrap();
    assert_eq!(store.linked_user(&unshared, "p").await.unwrap(), None, "it is no longer shared");
    assert!(store.remove_channel_link(ada, links[0].id).await.unwrap());
    assert!(store.tells_stranger(&account, "p").await.unwrap());
    assert!(!store.tells_stranger(&account, "p").await.unwrap());
    now.fetch_add(3_600_001, Ordering::SeqCst);
    assert!(store.tells_stranger(&account, "p").await.unwrap());
}

#[tokio::test]
async fn an_event_is_on_record_once_and_goes_on_where_it_was() {
    let store = testing::empty().await;
    let ada = user(&store, "ada", false).await;
    let account = store.put_channel(ada, draft("tg")).await.unwrap();
    assert_eq!(store.take_events(&account, &[event("1"), event("2")], Some("7")).await.unwrap().added, 2);
    assert_eq!(
        store.take_events(&account, &[event("2"), event("3"), event("3")], None).await.unwrap().added,
        1
    );
    assert_eq!(store.channel_cursor(account.id).await.unwrap().as_deref(), Some("7"));
    let long = NewEvent { person: "x".repeat(257), ..event("4") };
    assert!(store.take_events(&account, &[event("5"), long], Some("9")).await.unwrap_err().is_callers());
    assert_eq!(store.channel_cursor(account.id).await.unwrap().as_deref(), Some("7"), "nothing was taken");
    assert_eq!(store.inbox_lanes(10).await.unwrap(), [lane(&account)]);
    let first = store.next_event(&lane(&account), 0).await.unwrap().unwrap();
    assert_eq!((first.platform_id.as_str(), first.state), ("1", InboxState::New));
    let chat = store.channel_chat(account.id, "c", ada).await.unwrap();
    assert_eq!(store.channel_chat(account.id, "c", ada).await.unwrap(), chat, "one chat");
    assert!(store.is_channel_chat(&chat).await.unwrap());
    store.begin_event(first.id, ada, &chat, "{\"text\":\"hi\"}").await.unwrap();
    let begun = store.next_event(&lane(&account), 0).await.unwrap().unwrap();
    assert_eq!((begun.state, begun.chat.as_ref()), (InboxState::Begun, Some(&chat)));
    let shown = store.append_message(ada, &chat, MessageRole::Assistant, "", None).await.unwrap();
    let answer = NewAnswer {
        conversation: "c".to_owned(),
        is_group: false,
        reply_json: "null".to_owned(),
        user: ada,
        message: shown.id,
    };
    for _ in 0..2 {
        store.finish_event(&account, first.id, std::slice::from_ref(&answer), &[outgoing(0)]).await.unwrap();
    }
    assert_eq!(store.next_event(&lane(&account), 0).await.unwrap().unwrap().platform_id, "2");
    let answers = store.complete_answers(0, 10).await.unwrap();
    assert_eq!((answers.len(), answers[0].message), (1, shown.id));
    assert!(store.is_awaited(shown.id).await.unwrap());
    let draft = NewOutgoing { source: draft_source(answers[0].inbox_id), ..outgoing(0) };
    store.add_outgoing(account.id, ada, &[draft]).await.unwrap();
    assert_eq!(store.end_draft(&answers[0]).await.unwrap(), None);
    let counts = store.outbox_counts(account.id).await.unwrap();
    assert_eq!(
        counts,
        OutboxCounts { waiting: 1, failed: 0, unsure: 0 },
        "a draft that was added too late does not count as failed"
    );
    for _ in 0..2 {
        store.complete_answer(&answers[0], &[outgoing(1), outgoing(0)]).await.unwrap();
    }
    let out = ChannelLane { person: String::new(), ..lane(&account) };
    assert_eq!(store.outbox_lanes(10).await.unwrap(), std::slice::from_ref(&out));
    for sent in ["s0", "s1"] {
        let next = store.next_outgoing(&out).await.unwrap().unwrap();
        store.begin_send(next.id, false).await.unwrap();
        assert_eq!(store.next_outgoing(&out).await.unwrap().unwrap().state, OutState::Sending);
        store.mark_sent(next.id, sent).await.unwrap();
    }
    assert!(store.next_outgoing(&out).await.unwrap().is_none(), "each position is sent once");
    let new: ChatId = store.create_chat(ada).await.unwrap().id;
    store.set_channel_chat(account.id, "c", ada, &new).await.unwrap();
    assert_eq!(store.channel_chat(account.id, "c", ada).await.unwrap(), new);
    store.delete_chat(ada, &new).await.unwrap();
    assert_ne!(store.channel_chat(account.id, "c", ada).await.unwrap(), new, "a deleted chat is replaced");
    store.purge_channels(store.now_ms() + 1).await.unwrap();
    assert_eq!(
        store.take_events(&account, &[event("1"), event("2")], None).await.unwrap().added,
        1,
        "2 still waits"
    );
}

#[tokio::test]
async fn of_the_answers_below_a_question_one_is_taken() {
    let store = testing::empty().await;
    let ada = user(&store, "ada", false).await;
    let account = store.put_channel(ada, draft("tg")).await.unwrap();
    let chat = store.create_chat(ada).await.unwrap().id;
    let asking = store.append_message(ada, &chat, MessageRole::Assistant, "", None).await.unwrap();
    let press = |place: i64| NewPress {
        token_sha256: format!("h{place}"),
        place,
        label: "Allow".to_owned(),
        reply_json: "{}".to_owned(),
        expires_at_ms: i64::MAX,
    };
    let ask = NewOutgoing {
        user: Some(ada),
        ask: Some(asking.id),
        presses: vec![press(1), press(2)],
        ..outgoing(0)
    };
    store.add_outgoing(account.id, ada, std::slice::from_ref(&ask)).await.unwrap();
    store.add_outgoing(account.id, ada, &[ask]).await.unwrap();
    assert!(store.open_ask(account.id, "c", ada).await.unwrap().is_none(), "it was not sent in full");
    assert!(store.channel_press("h1").await.unwrap().is_none());
    let row = store.next_outgoing(&ChannelLane { person: String::new(), ..lane(&account) }).await.unwrap();
    store.mark_sent(row.unwrap().id, "s").await.unwrap();
    let open = store.open_ask(account.id, "c", ada).await.unwrap().unwrap();
    assert_eq!(store.asks_of(asking.id).await.unwrap(), std::slice::from_ref(&open));
    assert_eq!(store.open_asks(10).await.unwrap().len(), 1);
    let found = store.channel_press("h2").await.unwrap().unwrap();
    assert_eq!((found.outbox_id, found.ask, found.used_at_ms), (open.outbox_id, Some(asking.id), None));
    assert_eq!(store.numbered_press(account.id, "c", ada, 2).await.unwrap(), Some(found));
    assert_eq!(store.last_press_place(account.id, "c", ada).await.unwrap(), 2);
    assert!(store.use_presses(open.outbox_id).await.unwrap());
    assert!(!store.use_presses(open.outbox_id).await.unwrap());
    assert!(store.open_ask(account.id, "c", ada).await.unwrap().is_none());
    assert!(store.channel_press("h1").await.unwrap().unwrap().used_at_ms.is_some());
    assert!(store.numbered_press(account.id, "c", ada, 2).await.unwrap().is_none());
    assert!(store.is_press_place(account.id, "c", ada, 2).await.unwrap());
}

/// Two parts of a question, with the answer `token` below the second one.
async fn ask_in_parts(store: &Store, account: &ChannelAccount, source: &str, token: &str, place: i64) {
    let press = NewPress {
        token_sha256: token.to_owned(),
        place,
        label: "Allow".to_owned(),
        reply_json: "{}".to_owned(),
        expires_at_ms: store.now_ms() + 1_000_000,
    };
    let part = |part: i64, presses: Vec<NewPress>| NewOutgoing {
        user: Some(account.user),
        source: source.to_owned(),
        presses,
        ..outgoing(part)
    };
    let parts = [part(0, Vec::new()), part(1, vec![press])];
    store.add_outgoing(account.id, account.user, &parts).await.unwrap();
}

#[tokio::test]
async fn a_question_that_was_not_sent_in_full_cannot_be_answered() {
    let store = testing::empty().await;
    let ada = user(&store, "ada", false).await;
    let account = store.put_channel(ada, draft("tg")).await.unwrap();
    let out = ChannelLane { person: String::new(), ..lane(&account) };
    let next = async || store.next_outgoing(&out).await.unwrap().unwrap().id;
    ask_in_parts(&store, &account, "first", "a", 1).await;
    let first = next().await;
    store.mark_failed(first, "refused").await.unwrap();
    let second = next().await;
    store.begin_send(second, false).await.unwrap();
    assert!(store.channel_press("a").await.unwrap().is_none(), "its first part did not arrive");
    store.mark_sent(second, "s").await.unwrap();
    assert!(store.channel_press("a").await.unwrap().is_none());
    assert!(store.open_ask(account.id, "c", ada).await.unwrap().is_none());
    assert!(store.numbered_press(account.id, "c", ada, 1).await.unwrap().is_none());
    ask_in_parts(&store, &account, "second", "b", 2).await;
    store.mark_sent(next().await, "s").await.unwrap();
    let last = next().await;
    store.begin_send(last, false).await.unwrap();
    assert!(store.channel_press("b").await.unwrap().is_some(), "its outcome is unknown, and it was pressed");
    assert!(store.numbered_press(account.id, "c", ada, 2).await.unwrap().is_none());
    store.mark_failed(last, "refused").await.unwrap();
    assert!(!store.use_presses(last).await.unwrap(), "it failed, so it accepts no answers");
    assert!(!store.begin_send(last, false).await.unwrap(), "it has failed");
    for (source, token) in [("third", "c"), ("fourth", "d")] {
        ask_in_parts(&store, &account, source, token, 7).await;
        for _ in 0..2 {
            store.mark_sent(next().await, "s").await.unwrap();
        }
        let found = store.numbered_press(account.id, "c", ada, 7).await.unwrap();
        assert_eq!(found.is_some(), source == "third", "two questions have the number, so neither is chosen");
    }
}

#[tokio::test]
async fn a_link_that_is_removed_stops_what_is_on_its_way_and_no_code_takes_it_over() {
    let store = testing::empty().await;
    let (root, ada) = (user(&store, "root", true).await, user(&store, "ada", false).await);
    let account = store.put_channel(root, ChannelDraft { is_shared: true, ..draft("tg") }).await.unwrap();
    let person = Person { id: "p", name: "Ada", conversation: "c" };
    let link = async |user, hash| {
        store.put_link_code(account.id, user, ("AB", hash), store.now_ms() + 600_000).await.unwrap();
        store.redeem_code(&account, person, ("AB", hash)).await.unwrap()
    };
    assert_eq!(link(ada, "h1").await, Redeemed::Linked(ada));
    assert_eq!(link(root, "h2").await, Redeemed::Taken);
    assert_eq!(store.linked_user(&account, "p").await.unwrap(), Some(ada));
    assert!(store.may_reach(&account, ada, "c", false).await.unwrap());
    assert!(!store.may_reach(&account, root, "c", false).await.unwrap());
    assert!(!store.may_reach(&account, ada, "g", true).await.unwrap(), "the group is off");
    store.set_channel_group(&account, "g", true).await.unwrap();
    assert!(store.may_reach(&account, ada, "g", true).await.unwrap());
    let alone = store.put_channel(root, draft("tg")).await.unwrap();
    assert!(!store.may_reach(&alone, ada, "c", false).await.unwrap(), "it is no longer shared");
    let hers = ChannelAccount { user: ada, ..account.clone() };
    ask_in_parts(&store, &hers, "ask", "t", 1).await;
    store.take_events(&account, &[event("1")], None).await.unwrap();
    let asked = store.next_event(&lane(&account), 0).await.unwrap().unwrap();
    let chat = store.channel_chat(account.id, "c", ada).await.unwrap();
    let shown = store.append_message(ada, &chat, MessageRole::Assistant, "", None).await.unwrap();
    let answer = NewAnswer {
        conversation: "c".to_owned(),
        is_group: false,
        reply_json: "null".to_owned(),
        user: ada,
        message: shown.id,
    };
    store.finish_event(&account, asked.id, &[answer], &[]).await.unwrap();
    let links = store.channel_links(root, true).await.unwrap();
    assert!(store.remove_channel_link(root, links[0].id).await.unwrap());
    assert!(!store.is_awaited(shown.id).await.unwrap());
    assert!(store.outbox_lanes(10).await.unwrap().is_empty());
    assert_eq!(store.outbox_counts(account.id).await.unwrap().failed, 2);
    assert!(store.open_asks(10).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_conversation_that_moves_takes_everything_along_and_a_closed_one_gets_nothing_more() {
    let store = testing::empty().await;
    let ada = user(&store, "ada", false).await;
    let account = store.put_channel(ada, draft("tg")).await.unwrap();
    store.set_channel_group(&account, "c", true).await.unwrap();
    let chat = store.channel_chat(account.id, "c", ada).await.unwrap();
    store.add_outgoing(account.id, ada, &[outgoing(0)]).await.unwrap();
    store.move_conversation(&account, "c", "d").await.unwrap();
    assert!(store.is_channel_group(account.id, "d").await.unwrap());
    assert_eq!(store.channel_chat(account.id, "d", ada).await.unwrap(), chat);
    assert_eq!(store.outbox_lanes(1).await.unwrap()[0].conversation, "d");
    store.close_conversation(&account, "d").await.unwrap();
    assert!(!store.is_channel_group(account.id, "d").await.unwrap());
    assert!(store.outbox_lanes(1).await.unwrap().is_empty());
    assert_eq!(store.outbox_counts(account.id).await.unwrap().failed, 1);
}

#[tokio::test]
async fn accounts_take_turns_and_a_person_who_floods_a_conversation_is_cut_off() {
    let store = testing::empty().await;
    let (ada, eve) = (user(&store, "ada", false).await, user(&store, "eve", false).await);
    let loud = store.put_channel(eve, draft("tg")).await.unwrap();
    let quiet = store.put_channel(ada, draft("tg")).await.unwrap();
    let from = |person: &str, number: i64| NewEvent {
        person: person.to_owned(),
        conversation: person.to_owned(),
        ..event(&format!("{person}{number}"))
    };
    let crowd: Vec<NewEvent> = (0..20).map(|number| from(&format!("p{number}"), 0)).collect();
    store.take_events(&loud, &crowd, None).await.unwrap();
    store.take_events(&quiet, &[event("1")], None).await.unwrap();
    let lanes = store.inbox_lanes(2).await.unwrap();
    assert_eq!(lanes.iter().map(|lane| lane.account_id).collect::<Vec<_>>(), [loud.id, quiet.id]);
    for number in 0..20 {
        let to =
            NewOutgoing { conversation: format!("c{number}"), source: format!("s{number}"), ..outgoing(0) };
        store.add_outgoing(loud.id, eve, &[to]).await.unwrap();
    }
    store.add_outgoing(quiet.id, ada, &[NewOutgoing { user: Some(ada), ..outgoing(0) }]).await.unwrap();
    let lanes = store.outbox_lanes(2).await.unwrap();
    assert_eq!(lanes.iter().map(|lane| lane.account_id).collect::<Vec<_>>(), [loud.id, quiet.id]);
    assert_eq!(store.outbox_waiting(quiet.id, ada).await.unwrap(), 1);
    assert_eq!(store.outbox_waiting(quiet.id, eve).await.unwrap(), 0);
    let flood: Vec<NewEvent> = (0..205).map(|number| from("f", number)).collect();
    let taken = store.take_events(&loud, &flood, Some("9")).await.unwrap();
    assert_eq!((taken.added, taken.full.len(), taken.full[0].person.as_str()), (200, 1, "f"));
    let again = store.take_events(&loud, &flood[..200], None).await.unwrap();
    assert_eq!(again, TakenEvents::default(), "they are already recorded");
    assert_eq!(store.take_events(&loud, &[from("g", 0)], None).await.unwrap().added, 1);
}

#[tokio::test]
async fn an_administrators_chat_is_one_link_that_ends_with_the_role_and_tells_each_thing_once() {
    let store = testing::empty().await;
    let (root, ada) = (user(&store, "root", true).await, user(&store, "ada", false).await);
    let account = store.put_channel(root, ChannelDraft { is_shared: true, ..draft("tg") }).await.unwrap();
    let link = async |user, person: &str| {
        store.put_link_code(account.id, user, ("ABC", person), i64::MAX).await.unwrap();
        let person_there = Person { id: person, name: "", conversation: person };
        store.redeem_code(&account, person_there, ("ABC", person)).await.unwrap();
        store.link_of_person(&account, person).await.unwrap().unwrap()
    };
    let (boss, phone, hers) = (link(root, "b").await, link(root, "p").await, link(ada, "a").await);
    assert!(!store.set_notices(ada, hers, true).await.unwrap(), "she is not an administrator");
    assert!(!store.set_notices(root, hers, true).await.unwrap(), "the link is not his");
    assert!(store.set_notices(root, boss, true).await.unwrap());
    assert!(store.set_notices(root, phone, true).await.unwrap());
    let there = store.notice_links().await.unwrap();
    assert_eq!(there.iter().map(|link| link.id).collect::<Vec<_>>(), [phone]);
    assert!(store.takes_notices(account.id, "p", root).await.unwrap());
    assert!(!store.takes_notices(account.id, "b", root).await.unwrap());
    let tell = async |subjects: &[&str]| {
        let subjects: Vec<String> = subjects.iter().map(|subject| (*subject).to_owned()).collect();
        let mut new = Vec::new();
        let made = |places: &[usize]| {
            new.extend_from_slice(places);
            NewOutgoing { source: format!("notice/{}", subjects[places[0]]), ..outgoing(0) }
        };
        let is_told = store.add_notice(&there[0], &subjects, made).await.unwrap();
        assert_eq!(is_told, !new.is_empty());
        new
    };
    assert_eq!(tell(&["x", "y", "x"]).await, [0, 1]);
    assert_eq!(tell(&["y", "z"]).await, [1]);
    assert!(tell(&["z", "x"]).await.is_empty());
    assert_eq!(store.told_notices(phone).await.unwrap().len(), 3);
    store.change_user("ada", Some(true), None).await.unwrap();
    store.change_user("root", Some(false), None).await.unwrap();
    assert!(store.notice_links().await.unwrap().is_empty());
    assert!(!store.takes_notices(account.id, "p", root).await.unwrap());
    assert!(store.set_notices(root, phone, false).await.unwrap(), "anyone can turn their notices off");
    assert!(tell(&["w"]).await.is_empty(), "no more notices are sent");
    store.remove_channel_link(root, phone).await.unwrap();
    assert!(store.told_notices(phone).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_binding_shows_each_entry_once_in_each_conversation_and_is_no_group_that_is_on() {
    let store = testing::empty().await;
    let ada = user(&store, "ada", false).await;
    let account = store.put_channel(ada, draft("tg")).await.unwrap();
    let group = store.create_group(ada, "Work").await.unwrap();
    store.post_notice(group, "earlier").await.unwrap();
    store.set_channel_group(&account, "c", true).await.unwrap();
    for (conversation, mark) in [("c", "00000000000000c1"), ("d", "00000000000000d1")] {
        store.bind_conversation(&account, conversation, group, mark).await.unwrap();
    }
    assert!(!store.is_channel_group(account.id, "c").await.unwrap());
    assert!(store.bindings_behind(1, 9).await.unwrap().is_empty(), "only newer entries are shown");
    let own = NewEntry {
        group,
        kind: EntryKind::Person,
        author: "ada",
        user: Some(ada),
        text: "said in c",
        asks_json: "[]",
        send_id: Some("00000000000000c1ffff"),
    };
    store.post_entry(own, &[]).await.unwrap();
    store.post_notice(group, "later").await.unwrap();
    let behind = store.bindings_behind(1, 9).await.unwrap();
    assert_eq!(behind.iter().map(|one| one.conversation.as_str()).collect::<Vec<_>>(), ["c", "d"]);
    for (binding, is_own) in behind.iter().zip([true, false]) {
        let entries = store.entries_to_show(binding, 9, 4).await.unwrap();
        let shown: Vec<_> = entries.iter().map(|one| (one.text.as_str(), one.is_cut, one.is_own)).collect();
        assert_eq!(shown, [("said", true, is_own), ("late", true, false)]);
        let row = NewOutgoing { source: format!("log/{}/entry", binding.mark), ..outgoing(0) };
        let rows = [row.clone(), NewOutgoing { part: 1, ..row }];
        let shown = ShownLog { entry: entries[1].id, outgoing: &rows[..1], ..ShownLog::default() };
        assert!(store.show_log(&account, binding, shown).await.unwrap());
        let again = ShownLog { outgoing: &rows[1..], ..shown };
        assert!(!store.show_log(&account, binding, again).await.unwrap());
    }
    assert_eq!(store.outbox_counts(account.id).await.unwrap().waiting, 2);
    store.post_notice(group, "while two wait").await.unwrap();
    assert!(store.bindings_behind(1, 9).await.unwrap().is_empty(), "messages already wait");
    assert_eq!(store.bindings_behind(2, 9).await.unwrap().len(), 2);
    store.move_conversation(&account, "c", "e").await.unwrap();
    let moved = store.channel_binding(account.id, "e").await.unwrap().unwrap();
    // A binding that was read before the move adds its messages to the new conversation.
    let row = NewOutgoing { source: "log/moved".to_owned(), ..outgoing(0) };
    let before = ChannelBinding { conversation: "c".to_owned(), ..moved.clone() };
    let shown = ShownLog { entry: moved.shown_entry + 9, outgoing: &[row], ..ShownLog::default() };
    assert!(store.show_log(&account, &before, shown).await.unwrap());
    let lanes = store.outbox_lanes(9).await.unwrap();
    assert_eq!(lanes.iter().map(|lane| lane.conversation.as_str()).collect::<Vec<_>>(), ["e", "d"]);
    store.set_channel_group(&account, "e", true).await.unwrap();
    assert_eq!(store.channel_binding(account.id, "e").await.unwrap(), None);
    assert!(!store.show_log(&account, &moved, ShownLog::default()).await.unwrap(), "it has ended");
    store.delete_group(group).await.unwrap();
    assert_eq!(store.channel_binding(account.id, "d").await.unwrap(), None);
}

#[tokio::test]
async fn the_bindings_of_a_group_are_listed_and_each_ends_once_with_its_farewell() {
    let store = testing::empty().await;
    let ada = user(&store, "ada", false).await;
    let account = store.put_channel(ada, draft("tg")).await.unwrap();
    let (work, other) =
        (store.create_group(ada, "Work").await.unwrap(), store.create_group(ada, "Other").await.unwrap());
    let rooms =
        [("c", work, "00000000000000c1"), ("d", other, "00000000000000d1"), ("e", work, "00000000000000e1")];
    for (conversation, group, mark) in rooms {
        store.bind_conversation(&account, conversation, group, mark).await.unwrap();
    }
    let listed = async |group| {
        let found = store.bindings_of_group(group).await.unwrap();
        assert!(found.iter().all(|one| one.account_id == account.id && one.created_at_ms > 0), "{found:?}");
        found.into_iter().map(|one| one.conversation).collect::<Vec<_>>()
    };
    assert_eq!(
        (listed(work).await, listed(other).await),
        (vec!["c".to_owned(), "e".to_owned()], vec!["d".to_owned()])
    );
    let bound = store.channel_binding(account.id, "c").await.unwrap().unwrap();
    // The conversation moves after the binding was read: the farewell is sent to its new id.
    store.move_conversation(&account, "c", "f").await.unwrap();
    assert!(store.unbind_conversation(&bound, &[outgoing(0)]).await.unwrap());
    assert!(!store.unbind_conversation(&bound, &[outgoing(1)]).await.unwrap(), "it has ended");
    let lanes = store.outbox_lanes(9).await.unwrap();
    assert_eq!(lanes.iter().map(|lane| lane.conversation.as_str()).collect::<Vec<_>>(), ["f"]);
    assert_eq!(store.outbox_counts(account.id).await.unwrap().waiting, 1);
    assert_eq!(listed(work).await, ["e"]);
    store.remove_channel(ada, "tg").await.unwrap();
    assert!(listed(work).await.is_empty() && listed(other).await.is_empty(), "they are removed too");
}
