//! Pairs of concurrent changes to the same data, as by two processes: one succeeds, and the other gets an error.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use store::limits::{MEMORY_PROPOSALS_PER_USER, SUBSCRIPTIONS_PER_USER};
use store::{
    AgentDraft, Enrolment, Error, KeyScope, MemoryHolder, MessageId, MessageRole, Name, NewMemory,
    RunnerName, Said, Store, UserId,
};

use crate::support::{MEMORY, PASSWORD, add_user, postgres_url};

/// The number of pairs in each race.
const PAIRS: usize = 200;

/// Two stores of one database, as in two processes, with a user in it.
async fn two_stores() -> ([Store; 2], UserId) {
    let url = postgres_url();
    let stores = [Store::connect(&url).await.unwrap(), Store::connect(&url).await.unwrap()];
    let ann = add_user(&stores[0], "ann").await.id;
    (stores, ann)
}

/// The results of two calls that begin at once.
pub(super) async fn both<T: Send + 'static, F: Future<Output = T> + Send + 'static>(
    stores: &[Store; 2],
    run: impl Fn(Store) -> F,
) -> [T; 2] {
    let [one, other] = stores.each_ref().map(|store| tokio::spawn(run(store.clone())));
    [one.await.unwrap(), other.await.unwrap()]
}

fn successes<T>(given: &[store::Result<T>; 2]) -> usize {
    given.iter().filter(|given| given.is_ok()).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_that_say_or_enrol_or_name_the_same_at_once_one_wins_and_the_other_is_told() {
    let (stores, ann) = two_stores().await;
    let chat = stores[0].create_chat(ann).await.unwrap().id;
    for number in 0..PAIRS {
        let said = both(&stores, |store| {
            let (chat, id) = (chat.clone(), format!("send {number}"));
            async move { store.say_once(ann, &chat, &id, "hello", store::Author::Owner).await.unwrap() }
        });
        let said = said.await;
        assert_eq!(said.iter().filter(|said| matches!(said, Said::New(_))).count(), 1, "{said:?}");

        let name = RunnerName::parse(&format!("runner-{number}")).unwrap();
        let added = both(&stores, |store| {
            let name = name.clone();
            async move { store.add_runner_to_enrol(ann, &name, 60_000).await }
        });
        let added = added.await;
        assert_eq!(successes(&added), 1);
        let (mut token, mut refused) = (None, 0);
        for added in added {
            match added {
                Ok(added) => token = Some(added.token),
                Err(Error::Taken { .. }) => refused += 1,
                Err(error) => panic!("{error}"),
            }
        }
        let (token, boots) = (token.unwrap(), AtomicUsize::new(0));
        let enrolled = both(&stores, |store| {
            let boot = format!("boot {}", boots.fetch_add(1, Ordering::Relaxed));
            let token = token.expose().to_owned();
            async move { store.enrol(&token, &boot).await.unwrap() }
        });
        let enrolled = enrolled.await;
        assert_eq!(refused, 1);
        assert_eq!(enrolled.iter().filter(|given| matches!(given, Enrolment::Enrolled(_))).count(), 1);
        assert_eq!(enrolled.iter().filter(|given| matches!(given, Enrolment::Used)).count(), 1);
    }
    assert_eq!(stores[0].messages(ann, &chat, None, 1000).await.unwrap().0.len(), PAIRS);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_that_take_the_last_place_at_once_one_gets_it() {
    let (stores, ann) = two_stores().await;
    let proposal = NewMemory { is_proposed: true, ..MEMORY };
    for _ in 1..MEMORY_PROPOSALS_PER_USER {
        stores[0].add_memory(ann, &proposal).await.unwrap();
    }
    for number in 0..99 {
        let name = Name::parse(&format!("key-{number}")).unwrap();
        stores[0].add_key(ann, &name, KeyScope::Read, None).await.unwrap();
    }
    for _ in 0..PAIRS {
        let names = AtomicUsize::new(0);
        let remembered = both(&stores, |store| {
            let proposal = proposal.clone();
            async move { store.add_memory(ann, &proposal).await.map(|item| item.id) }
        });
        let remembered = remembered.await;
        assert_eq!(successes(&remembered), 1);
        let added = both(&stores, |store| {
            let name = Name::parse(&format!("last-{}", names.fetch_add(1, Ordering::Relaxed))).unwrap();
            async move { store.add_key(ann, &name, KeyScope::Read, None).await.map(|(key, _)| key.name) }
        });
        let added = added.await;
        assert_eq!(successes(&added), 1);
        stores[0].remove_key(ann, added.iter().flatten().next().unwrap()).await.unwrap();
        stores[0].forget_memories(ann, &[*remembered.iter().flatten().next().unwrap()]).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_administrator_is_left_however_two_step_down_at_once() {
    let (stores, _) = two_stores().await;
    add_user(&stores[0], "bob").await;
    for _ in 0..PAIRS {
        stores[0].change_user("ann", Some(true), None).await.unwrap();
        stores[0].change_user("bob", Some(true), None).await.unwrap();
        let names = AtomicUsize::new(0);
        let changed = both(&stores, |store| {
            let name = ["ann", "bob"][names.fetch_add(1, Ordering::Relaxed)];
            async move { store.change_user(name, Some(false), None).await.unwrap() }
        });
        assert_eq!(changed.await.iter().filter(|changed| changed.is_some()).count(), 1);
        let users = stores[1].users().await.unwrap();
        assert_eq!(users.iter().filter(|user| user.admin).count(), 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ids_of_messages_become_visible_in_their_order() {
    let (stores, ann) = two_stores().await;
    let chat = stores[0].create_chat(ann).await.unwrap().id;
    let writers: Vec<_> = (0..8)
        .map(|number| {
            let (store, chat) = (stores[number % 2].clone(), chat.clone());
            tokio::spawn(async move {
                for _ in 0..PAIRS / 4 {
                    store.append_message(ann, &chat, MessageRole::Notice, "text", None).await.unwrap();
                }
            })
        })
        .collect();
    let mut seen = Vec::new();
    while seen.len() < 2 * PAIRS {
        let after = seen.last().copied().unwrap_or(MessageId(0));
        let (new, _) = stores[1].messages_after(ann, &chat, after, 1000).await.unwrap();
        seen.extend(new.into_iter().map(|message| message.id));
    }
    for writer in writers {
        writer.await.unwrap();
    }
    let all: Vec<_> = stores[0]
        .messages(ann, &chat, None, 1000)
        .await
        .unwrap()
        .0
        .into_iter()
        .map(|message| message.id)
        .collect();
    assert_eq!(seen, all, "a reader that continues from the last id that it saw misses none");
}

/// Two stores of one database without accounts, as in two processes.
async fn two_empty_stores() -> [Store; 2] {
    let url = postgres_url();
    [Store::connect(&url).await.unwrap(), Store::connect(&url).await.unwrap()]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_first_accounts_and_of_two_of_one_name_at_once_one_is_made() {
    let stores = two_empty_stores().await;
    // Each pair costs four argon2 hashes, each 45 ms of one core, so only a soak test runs as many pairs as the other tests.
    let pairs = std::env::var("SANDBRIDGE_ACCOUNT_PAIRS").map_or(40, |count| count.parse().unwrap());
    for number in 0..pairs {
        let names = AtomicUsize::new(0);
        let first = both(&stores, |store| {
            let name = Name::parse(["ann", "bob"][names.fetch_add(1, Ordering::Relaxed)]).unwrap();
            async move { store.add_first_user(&name, PASSWORD).await.unwrap() }
        });
        let first: Vec<_> = first.await.into_iter().flatten().collect();
        assert_eq!(first.len(), 1, "{first:?}");
        assert!(first[0].admin);
        stores[0].remove_user(&first[0].name).await.unwrap();

        // The same name twice and two different names, alternately.
        let names = ["ann", if number % 2 == 0 { "ann" } else { "bob" }];
        let next = AtomicUsize::new(0);
        let added = both(&stores, |store| {
            let name = Name::parse(names[next.fetch_add(1, Ordering::Relaxed)]).unwrap();
            async move { store.add_user(&name, PASSWORD, false).await }
        });
        let added = added.await;
        if number % 2 == 0 {
            assert_eq!(successes(&added), 1);
            assert!(added.iter().any(|added| matches!(added, Err(Error::Taken { .. }))), "{added:?}");
        } else {
            assert_eq!(successes(&added), 2);
        }
        let users = stores[1].users().await.unwrap();
        assert_eq!(
            users.iter().filter(|user| user.admin).count(),
            1,
            "only the first user is an administrator: {users:?}"
        );
        for user in users {
            stores[0].remove_user(&user.name).await.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_that_add_the_last_subscription_at_once_one_gets_it() {
    let (stores, ann) = two_stores().await;
    for number in 1..SUBSCRIPTIONS_PER_USER {
        let name = Name::parse(&format!("kept-{number}")).unwrap();
        stores[0].add_subscription(ann, &name, "{}", None).await.unwrap();
    }
    for _ in 0..PAIRS {
        let names = AtomicUsize::new(0);
        let added = both(&stores, |store| {
            let name = Name::parse(&format!("last-{}", names.fetch_add(1, Ordering::Relaxed))).unwrap();
            async move { store.add_subscription(ann, &name, "{}", None).await }
        });
        let added = added.await;
        assert_eq!(successes(&added), 1);
        let refused = added.iter().find_map(|added| added.as_ref().err()).unwrap();
        assert!(matches!(refused, Error::Invalid { .. }), "{refused}");
        let kept = added.iter().flatten().next().unwrap();
        stores[0].remove_subscription(ann, &kept.name).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_memories_that_replace_the_same_one_at_once_one_wins_and_the_other_is_told() {
    let (stores, ann) = two_stores().await;
    for _ in 0..PAIRS {
        let old = stores[0].add_memory(ann, &MEMORY).await.unwrap().id;
        let written = both(&stores, |store| async move {
            store.add_memory(ann, &NewMemory { supersedes: &[old], ..MEMORY }).await.map(|item| item.id)
        });
        let written = written.await;
        let winner = *written.iter().flatten().next().unwrap();
        let refused = written.iter().filter_map(|written| written.as_ref().err()).next().unwrap().to_string();
        assert!(refused.contains(&format!("{old} was already replaced by memory {winner}")), "{refused}");
        let items = stores[0].memory_items(ann).await.unwrap();
        assert_eq!(items.len(), 2, "the memory that lost is not stored");
        assert_eq!(items[0].superseded_by, Some(winner));
        stores[0].forget_memories(ann, &[old, winner]).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_is_removed_while_it_remembers_leaves_no_memory() {
    let (stores, ann) = two_stores().await;
    let group = stores[0].create_group(ann, "Work").await.unwrap();
    let draft = AgentDraft {
        handle: "coder",
        runner: "none",
        approval: "ask",
        model: None,
        persona: "",
        tools_json: None,
        folder: None,
    };
    for _ in 0..PAIRS {
        let agent = stores[0].put_group_agent(group, ann, draft).await.unwrap();
        let (holder, is_first) = (MemoryHolder::agent(ann, agent), AtomicBool::new(true));
        let done = both(&stores, |store| {
            let removes = is_first.swap(false, Ordering::Relaxed);
            async move {
                match removes {
                    true => store.remove_group_agent(group, agent).await,
                    false => store.add_memory(holder, &MEMORY).await.map(drop),
                }
            }
        });
        match done.await {
            [Ok(()), Ok(()) | Err(Error::NotFound { .. })] => {}
            other => panic!("{other:?}"),
        }
        assert!(stores[0].memory_items(holder).await.unwrap().is_empty());
    }
}
