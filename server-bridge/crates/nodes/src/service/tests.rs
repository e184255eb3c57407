//! Tests of nodes with a paused clock on SQLite, and on PostgreSQL.

use std::sync::atomic::AtomicUsize;
use std::sync::mpsc;
use std::time::Duration;

use store::{
    AgentDraft, ChannelDraft, ChannelLane, Clock, MessageRole, Name, NewCall, NewGate, NewOutgoing,
    NewRunOfChain, PostgresUrl, ShownLog,
};

use super::*;

/// The step of the paused clock, and the real time that a step takes, which is enough for a statement.
const STEP: (Duration, Duration) = (Duration::from_millis(50), Duration::from_millis(5));

/// Creates a store that uses the runtime's clock, which advances ten times as fast as real time until the returned sender is dropped. By itself, a
/// paused clock would jump to the timeout of the connection pool whenever only SQLite's thread is working.
async fn store_on_the_clock() -> (Store, mpsc::Sender<()>) {
    let (held, holds) = mpsc::channel();
    // A paused clock does not jump while a blocking task is running.
    tokio::task::spawn_blocking(move || holds.recv().unwrap_or_default());
    tokio::spawn(async {
        loop {
            tokio::task::spawn_blocking(|| std::thread::sleep(STEP.1)).await.unwrap();
            tokio::time::advance(STEP.0).await;
        }
    });
    let begun = Instant::now();
    let now = move || i64::try_from(begun.elapsed().as_millis()).unwrap();
    (Store::open_in_memory().await.unwrap().with_clock(Clock::from_fn(now)), held)
}

async fn join(store: &Store, url: &str) -> Result<(Nodes, Store), Error> {
    Nodes::join(store.clone(), url, "0.1.0", None).await
}

#[tokio::test(start_paused = true)]
async fn a_node_that_starts_waits_for_the_lease_of_a_killed_one() {
    let (store, _clock) = store_on_the_clock().await;
    let killed = join(&store, "http://a:1").await.unwrap();
    let begun = Instant::now();
    let (next, _) = join(&store, "http://a:1").await.unwrap();
    assert!((NODE_LEASE..JOIN_PATIENCE).contains(&begun.elapsed()), "{:?}", begun.elapsed());
    // The killed process was only frozen: it has to stop.
    let lost = killed.0.run(&CancellationToken::new()).await.unwrap_err();
    assert!(matches!(lost, Error::NodeUrlInUse { .. }), "{lost}");
    next.leave().await;
    let begun = Instant::now();
    join(&store, "http://b:1").await.unwrap();
    assert!(begun.elapsed() < NODE_RENEWAL, "a node that stopped in an orderly way causes no wait");
}

#[tokio::test(start_paused = true)]
async fn a_second_node_is_refused_while_the_first_one_renews() {
    let (store, _clock) = store_on_the_clock().await;
    let (first, _) = join(&store, "http://a:1").await.unwrap();
    let stop = CancellationToken::new();
    let (first, stopping) = (first.clone(), stop.clone());
    // On SQLite there is nothing to sweep.
    let running = tokio::spawn(async move {
        tokio::select! {
            lost = first.0.keep_lease() => panic!("{lost}"),
            () = stopping.cancelled() => {}
        }
    });
    let begun = Instant::now();
    let refused = join(&store, "http://b:1").await.err().unwrap();
    assert!(begun.elapsed() >= JOIN_PATIENCE);
    let text = "another server uses the database (node http://a:1); stop it, or name another database";
    assert_eq!(refused.to_string(), text);
    assert!(matches!(join(&store, "http://a:1").await, Err(Error::NodeUrlInUse { .. })));
    stop.cancel();
    running.await.unwrap();
}

/// Creates a node on PostgreSQL, and a user.
async fn on_postgres() -> (Nodes, Store, UserId) {
    let url = PostgresUrl::parse(&testkit::postgres::database()).unwrap();
    let (node, store) = join(&Store::at_as_node(&url).await.unwrap(), "http://a:1").await.unwrap();
    let ann = store.add_user(&Name::parse("ann").unwrap(), "correct horse", false).await.unwrap();
    (node, store, ann.id)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_home_is_claimed_by_the_first_change_and_settled_once_before_any_other() {
    let (node, store, ann) = on_postgres().await;
    let settled = Arc::new(AtomicUsize::new(0));
    let (count, of_settle) = (Arc::clone(&settled), store.clone());
    node.set_settle(Box::new(move |user| {
        let (count, store) = (Arc::clone(&count), of_settle.clone());
        Box::pin(async move {
            // Other nodes wait, but changes of this one do not.
            sleep(NODE_RENEWAL / 10).await;
            store.create_chat(user).await.map_err(|error| error.to_string())?;
            count.fetch_add(1, Ordering::SeqCst);
            Ok(())
        })
    }));
    assert_eq!(node.homes(), 0);
    let writers: Vec<_> = (0..8)
        .map(|_| {
            let (store, settled) = (store.clone(), Arc::clone(&settled));
            tokio::spawn(async move {
                let chat = store.create_chat(ann).await.unwrap();
                assert_eq!(settled.load(Ordering::SeqCst), 1);
                store.append_message(ann, &chat.id, MessageRole::User, "hello", None).await.unwrap();
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    assert_eq!((node.homes(), settled.load(Ordering::SeqCst)), (1, 1));
    node.drain().await;
    let bob = store.add_user(&Name::parse("bob").unwrap(), "correct horse", false).await.unwrap().id;
    assert!(matches!(store.create_chat(bob).await, Err(Error::Fenced)), "no more homes");
    store.create_chat(ann).await.unwrap();
    node.leave().await;
    assert!(matches!(store.create_chat(ann).await, Err(Error::Fenced)));
}

/// Creates two nodes that work alongside each other.
async fn two_nodes() -> ([(Nodes, Store); 2], [UserId; 2]) {
    let url = PostgresUrl::parse(&testkit::postgres::database()).unwrap();
    let join = async |node_url: &str| {
        let store = Store::at_as_node(&url).await.unwrap();
        Nodes::join(store, node_url, "0.1.0", Some(node_url.as_bytes().to_vec())).await.unwrap()
    };
    let nodes = [join("http://a:1").await, join("http://b:1").await];
    let add = async |name: &str| {
        nodes[0].1.add_user(&Name::parse(name).unwrap(), "correct horse", false).await.unwrap().id
    };
    let users = [add("ann").await, add("bob").await];
    (nodes, users)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_home_is_the_node_that_was_asked_first_until_it_gives_the_home_up() {
    let ([(one, one_store), (other, other_store)], [ann, _]) = two_nodes().await;
    let ended = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&ended);
    one.set_end_work(Box::new(move |_| {
        let count = Arc::clone(&count);
        Box::pin(async move {
            count.fetch_add(1, Ordering::SeqCst);
        })
    }));
    assert_eq!(one.home(ann).await.unwrap(), Home::Here);
    let at_one = Home::At("http://a:1".to_owned());
    assert_eq!(other.home(ann).await.unwrap(), at_one);
    assert!(matches!(other_store.create_chat(ann).await, Err(Error::Fenced)));
    one.release(ann).await.unwrap();
    assert_eq!(ended.load(Ordering::SeqCst), 1);
    assert_eq!(other.home(ann).await.unwrap(), at_one, "no node reported otherwise");
    other.forget_home(ann);
    assert_eq!(other.home(ann).await.unwrap(), Home::Here);
    assert_eq!(one.home(ann).await.unwrap(), Home::At("http://b:1".to_owned()));
    other_store.create_chat(ann).await.unwrap();
    assert!(matches!(one_store.create_chat(ann).await, Err(Error::Fenced)));
    other.drain().await;
    assert_eq!(other.home(ann).await.unwrap(), Home::Here);
    other.release(ann).await.unwrap();
    assert_eq!(other.home(ann).await.unwrap(), Home::Nowhere);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn work_that_wants_a_home_back_which_is_being_given_up_ends_with_it() {
    let ([(node, store), _], [ann, _]) = two_nodes().await;
    assert_eq!(node.home(ann).await.unwrap(), Home::Here);
    let (work_ended, has_ended) = watch::channel(false);
    node.set_end_work(Box::new(move |_| {
        let mut has_ended = has_ended.clone();
        Box::pin(async move {
            has_ended.wait_for(|has_ended| *has_ended).await.unwrap();
        })
    }));
    let turn = node.0.turn_of(ann);
    let giving_up = turn.lock().await;
    store.release_home(ann, &node.0.new.id).await.unwrap();
    let work = tokio::spawn(async move {
        let changed = store.create_chat(ann).await;
        work_ended.send_replace(true);
        changed
    });
    // The change is refused, and the task waits for the lock to claim the home; the task holds the third reference to that lock.
    while Arc::strong_count(&turn) < 3 {
        tokio::task::yield_now().await;
    }
    timeout(Duration::from_secs(20), node.0.lose(ann))
        .await
        .expect("ending the work does not wait for a task that waits for it");
    drop(giving_up);
    assert!(matches!(work.await.unwrap(), Err(Error::Fenced)));
    assert_eq!(node.home(ann).await.unwrap(), Home::Here, "it may be claimed again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_home_that_was_lost_unnoticed_and_is_swept_up_again_begins_after_the_end_of_the_earlier_work() {
    let ([(node, store), (other, _)], [ann, _]) = two_nodes().await;
    assert_eq!(node.home(ann).await.unwrap(), Home::Here);
    let request = store::ExecRequest {
        exec_id: store::ExecId::random(),
        kind: store::ExecKind::Client,
        user: ann,
        chat: None,
        message: None,
        request_hash: "hash".to_owned(),
        runner: None,
        command: "true".to_owned(),
        audited: None,
        detached: true,
        linger_ms: None,
    };
    store.start_exec(&request).await.unwrap();
    let (told, mut steps) = tokio::sync::mpsc::unbounded_channel();
    let begun = told.clone();
    node.set_settle(Box::new(move |_| {
        begun.send("settle").unwrap();
        Box::pin(async { Ok(()) })
    }));
    node.set_end_work(Box::new(move |_| {
        told.send("end").unwrap();
        Box::pin(async {})
    }));
    // The node froze; in the meantime another node was the home and gave it up again.
    store.renew_node(&node.0.new.id, Duration::ZERO).await.unwrap();
    assert_eq!(other.home(ann).await.unwrap(), Home::Here);
    other.release(ann).await.unwrap();
    store.join_node(&node.0.new).await.unwrap();
    node.0.sweep().await.unwrap();
    let mut next = async || timeout(Duration::from_secs(20), steps.recv()).await.unwrap();
    assert_eq!((next().await, next().await), (Some("end"), Some("settle")));
    // The late discovery of the lost home does not end the new one.
    node.0.lose_soon(ann, 1);
    assert_eq!(node.home(ann).await.unwrap(), Home::Here);
    node.0.tasks.close();
    node.0.tasks.wait().await;
    assert_eq!(node.users(), [ann]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn users_who_share_a_group_get_one_home() {
    let ([(one, one_store), (other, other_store)], [ann, bob]) = two_nodes().await;
    assert_eq!((one.home(ann).await.unwrap(), other.home(bob).await.unwrap()), (Home::Here, Home::Here));
    assert!(
        one.0.give_up_torn().await.unwrap().is_empty() && other.0.give_up_torn().await.unwrap().is_empty()
    );
    assert_eq!(other.home(bob).await.unwrap(), Home::Here, "they share nothing");
    let group = one_store.create_group(ann, "planning").await.unwrap();
    one_store.put_group_person(group, bob, store::Access::Member).await.unwrap();
    for node in [&one, &other] {
        for task in node.0.give_up_torn().await.unwrap() {
            task.await.unwrap();
        }
    }
    assert_eq!(other.home(bob).await.unwrap(), Home::At("http://a:1".to_owned()));
    assert_eq!((one.home(ann).await.unwrap(), one.home(bob).await.unwrap()), (Home::Here, Home::Here));
    // Bob's agent is asked in a run that waits for ann: both are work of their home, wherever that is.
    let agent = AgentDraft {
        handle: "coder",
        runner: "laptop",
        approval: "ask",
        model: None,
        persona: "",
        tools_json: None,
        folder: None,
    };
    one_store.put_group_agent(group, bob, agent).await.unwrap();
    let agent = one_store.group_agents(group).await.unwrap()[0].id;
    let (run, gate) = asking_run(&one_store, group, ann).await;
    let call = NewCall {
        group,
        agent,
        user: ann,
        user_name: "ann",
        request: "rain",
        step: Some((run, 0, 1)),
        limit_ms: None,
    };
    one_store.call_for_step(&one_store.group_run(group, run).await.unwrap(), call).await.unwrap();
    let at_work = async |store: &Store| {
        let calls = store.calls_at_work().await.unwrap().len();
        (calls, store.open_runs().await.unwrap().len())
    };
    assert_eq!((at_work(&one_store).await, at_work(&other_store).await), ((1, 1), (0, 0)));
    one.release(ann).await.unwrap();
    one.release(bob).await.unwrap();
    other.forget_home(bob);
    assert_eq!(other.home(bob).await.unwrap(), Home::Here);
    assert_eq!(one.home(ann).await.unwrap(), Home::At("http://b:1".to_owned()));
    assert_eq!((at_work(&one_store).await, at_work(&other_store).await), ((0, 0), (1, 1)));
    // The chat in which the agent answers is made at the new home, and no longer at the old one.
    let agent = other_store.group_agents(group).await.unwrap().remove(0);
    assert!(matches!(one_store.agent_chat(&agent, "@coder", "ask").await, Err(Error::Fenced)));
    other_store.agent_chat(&agent, "@coder", "ask").await.unwrap();
    assert!(other_store.answer_gate(group, gate, "approve", "", "ann").await.unwrap());
    assert!(!one_store.answer_gate(group, gate, "stop", "", "bob").await.unwrap(), "it is answered once");
}

/// Begins a run of a group that asks a person first; returns it and its gate.
async fn asking_run(store: &Store, group: i64, user: UserId) -> (i64, i64) {
    let run = NewRunOfChain {
        group,
        chain: "story",
        document_json: "{}",
        request: "rain",
        user,
        user_name: "ann",
        send_id: None,
        gate: Some(NewGate { step: 0, attempt: 1, kind: "review", question: "Does it go on?" }),
    };
    let run = store.begin_run(run).await.unwrap();
    (run, store.gates(run).await.unwrap()[0].id)
}

/// An account on a messenger.
fn telegram(is_shared: bool) -> ChannelDraft<'static> {
    ChannelDraft {
        name: "tg",
        kind: "telegram",
        document_json: "{}",
        secrets_json: None,
        is_enabled: true,
        is_shared,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_conversation_is_taken_from_a_group_at_any_node() {
    let ([(one, one_store), (other, other_store)], [ann, bob]) = two_nodes().await;
    assert_eq!((one.home(ann).await.unwrap(), other.home(bob).await.unwrap()), (Home::Here, Home::Here));
    let account = one_store.put_channel(ann, telegram(false)).await.unwrap();
    let group = other_store.create_group(bob, "planning").await.unwrap();
    one_store.bind_conversation(&account, "room", group, "0000000000000001").await.unwrap();
    asking_run(&other_store, group, bob).await;
    let behind = async |store: &Store| store.bindings_behind(9, 9).await.unwrap();
    assert!(behind(&other_store).await.is_empty(), "the channel works at its owner's home");
    let shows = behind(&one_store).await.remove(0);
    // The owner of the group ends it at the other node, between a look of the channel's node and what that does.
    let farewell = NewOutgoing {
        conversation: "room".to_owned(),
        reply_json: "null".to_owned(),
        source: "unbound".to_owned(),
        send_key: "key".to_owned(),
        payload_json: "{}".to_owned(),
        ..NewOutgoing::default()
    };
    assert!(other_store.unbind_conversation(&shows, &[farewell]).await.unwrap());
    let question = ShownLog { entry: shows.shown_entry, gate: i64::MAX, ..ShownLog::default() };
    assert!(!one_store.show_log(&account, &shows, question).await.unwrap(), "nothing more is shown");
    assert!(!one_store.unbind_conversation(&shows, &[]).await.unwrap(), "it has ended");
    assert!(behind(&one_store).await.is_empty());
    let lane = ChannelLane { account_id: account.id, conversation: "room".to_owned(), person: String::new() };
    let next = one_store.next_outgoing(&lane).await.unwrap().unwrap();
    assert_eq!(next.payload_json, "{}", "the conversation is told by the channel's node");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_for_a_linked_user_is_queued_at_the_users_home_and_read_at_the_accounts() {
    let ([(one, one_store), (other, other_store)], [ann, bob]) = two_nodes().await;
    assert_eq!((one.home(ann).await.unwrap(), other.home(bob).await.unwrap()), (Home::Here, Home::Here));
    let account = one_store.put_channel(ann, telegram(true)).await.unwrap();
    let row = NewOutgoing {
        conversation: "c".to_owned(),
        reply_json: "null".to_owned(),
        user: Some(bob),
        source: "tool/1".to_owned(),
        send_key: "key".to_owned(),
        payload_json: "{}".to_owned(),
        ..NewOutgoing::default()
    };
    let at_owner = other_store.add_outgoing(account.id, ann, std::slice::from_ref(&row)).await;
    assert!(matches!(at_owner, Err(store::Error::Fenced)), "ann's home is the other node: {at_owner:?}");
    other_store.add_outgoing(account.id, bob, &[row]).await.unwrap();
    let lanes = one_store.outbox_lanes(9).await.unwrap();
    let lane = ChannelLane { account_id: account.id, conversation: "c".to_owned(), person: String::new() };
    assert_eq!(lanes, std::slice::from_ref(&lane));
    assert_eq!(one_store.next_outgoing(&lane).await.unwrap().unwrap().user, Some(bob));
}
