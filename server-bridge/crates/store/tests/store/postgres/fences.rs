//! Fences on PostgreSQL: a change by a node that is no longer the user's home fails, whenever it was begun.

use std::sync::Arc;

use store::limits::NODE_LEASE;
use store::{
    Claim, Error, ExecId, ExecKind, ExecRequest, Membership, MessageRole, NewNode, PostgresUrl, Renewal,
    RunnerName, Store, UserId,
};

use super::races::both;
use crate::nodes::{OVER, node};
use crate::support::{add_user, postgres_url};

/// The number of pairs in each race.
const PAIRS: usize = 200;

/// A node with its store, which does not claim homes automatically.
pub(super) struct Peer {
    pub(super) store: Store,
    member: Arc<Membership>,
    new: NewNode,
}

pub(super) async fn peer(url: &str, at: &str) -> Peer {
    let new = node(at, NODE_LEASE);
    let member = Arc::new(Membership::new(new.id.clone()));
    let store = Store::at_as_node(&PostgresUrl::parse(url).unwrap()).await.unwrap();
    store.join_node(&new).await.unwrap();
    Peer { store: store.of_node(Arc::clone(&member)), member, new }
}

impl Peer {
    async fn claim(&self, user: UserId) -> Claim {
        let claim = self.store.claim_home(user, &self.new.id).await.unwrap();
        if let Claim::Home(fence) = claim {
            self.member.settled(user, fence);
        }
        claim
    }
}

/// Two nodes of one database, and a user without a home.
async fn two_peers() -> ([Peer; 2], UserId) {
    let url = postgres_url();
    let ann = add_user(&Store::connect(&url).await.unwrap(), "ann").await.id;
    ([peer(&url, "http://a:1").await, peer(&url, "http://b:1").await], ann)
}

#[tokio::test]
async fn a_change_needs_a_claim_and_fails_cleanly_after_it_is_lost() {
    let ([one, other], ann) = two_peers().await;
    let refused = one.store.create_chat(ann).await.unwrap_err();
    assert!(matches!(refused, Error::Fenced) && refused.kind() == "unavailable", "{refused}");
    assert_eq!(one.claim(ann).await, Claim::Home(1));
    let chat = one.store.create_chat(ann).await.unwrap().id;
    one.store.add_runner_to_enrol(ann, &RunnerName::parse("laptop").unwrap(), 60_000).await.unwrap();
    let runner = one.store.runners(ann).await.unwrap()[0].id;
    one.store.note_disconnected(runner).await.unwrap();
    one.store.renew_node(&one.new.id, OVER).await.unwrap();
    one.store.create_chat(ann).await.expect("no other node took over yet");
    assert_eq!(other.claim(ann).await, Claim::Home(2));
    // This is repeated more times than there are connections, to check that no connection is left in a failed transaction.
    for _ in 0..10 {
        let late = one.store.append_message(ann, &chat, MessageRole::User, "late", None).await.unwrap_err();
        assert!(matches!(late, Error::Fenced), "{late}");
        assert!(matches!(one.store.note_disconnected(runner).await, Err(Error::Fenced)));
    }
    // A change of rows that belong to no user needs a node that is not considered dead.
    assert!(matches!(one.store.set_server_settings(&[]).await, Err(Error::Fenced)));
    one.store.join_node(&one.new).await.unwrap();
    one.store.set_server_settings(&[]).await.unwrap();
    assert!(matches!(one.store.create_chat(ann).await, Err(Error::Fenced)), "its home stays lost");
    assert_eq!(other.store.messages(ann, &chat, None, 9).await.unwrap().0.len(), 0);
    let gone = one.store.create_chat(UserId(999)).await.unwrap_err();
    assert!(!matches!(gone, Error::Fenced), "a user who does not exist has no home: {gone}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_nodes_that_claim_one_home_at_once_exactly_one_wins() {
    let (peers, ann) = two_peers().await;
    let stores = peers.each_ref().map(|peer| peer.store.clone());
    for number in 0..PAIRS {
        let ids = [peers[0].new.id.clone(), peers[1].new.id.clone()];
        let next = std::sync::atomic::AtomicUsize::new(0);
        let claims = both(&stores, |store| {
            let id = ids[next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)].clone();
            async move { (store.claim_home(ann, &id).await.unwrap(), id) }
        });
        let claims = claims.await;
        let homes: Vec<_> = claims.iter().filter(|(claim, _)| matches!(claim, Claim::Home(_))).collect();
        assert_eq!(homes.len(), 1, "{claims:?}");
        assert_eq!(homes[0].0, Claim::Home(number as i64 + 1));
        assert!(stores[0].release_home(ann, &homes[0].1).await.unwrap());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_slept_over_its_lease_commits_nothing_after_another_one_claimed() {
    let ([frozen, awake], ann) = two_peers().await;
    let mut late = 0;
    for _ in 0..PAIRS {
        frozen.store.join_node(&frozen.new).await.unwrap();
        assert!(matches!(frozen.claim(ann).await, Claim::Home(_)));
        let chat = frozen.store.create_chat(ann).await.unwrap().id;
        frozen.store.renew_node(&frozen.new.id, OVER).await.unwrap();
        // The sleeping node's changes continue while another node claims.
        let writing = tokio::spawn({
            let (store, chat) = (frozen.store.clone(), chat.clone());
            async move {
                loop {
                    if store.append_message(ann, &chat, MessageRole::User, "frozen", None).await.is_err() {
                        return;
                    }
                }
            }
        });
        assert!(matches!(awake.claim(ann).await, Claim::Home(_)));
        let seen = awake.store.messages(ann, &chat, None, 1000).await.unwrap().0.len();
        writing.await.unwrap();
        late += awake.store.messages(ann, &chat, None, 1000).await.unwrap().0.len() - seen;
        awake.store.delete_chat(ann, &chat).await.unwrap();
        awake.store.release_home(ann, &awake.new.id).await.unwrap();
    }
    assert_eq!(late, 0, "of {PAIRS}");
}

#[tokio::test]
async fn a_sweep_takes_users_with_work_whose_node_is_dead_or_who_have_none() {
    let ([dead, awake], ann) = two_peers().await;
    let mut users = vec![ann];
    for name in ["bob", "cora", "dora"] {
        users.push(add_user(&awake.store, name).await.id);
    }
    for &user in &users[..2] {
        dead.claim(user).await;
    }
    let open = async |peer: &Peer, user| {
        peer.claim(user).await;
        let chat = peer.store.create_chat(user).await.unwrap().id;
        let request = ExecRequest {
            exec_id: ExecId::random(),
            kind: ExecKind::Client,
            user,
            chat: Some(chat),
            message: None,
            request_hash: "hash".to_owned(),
            runner: None,
            command: "true".to_owned(),
            audited: None,
            detached: true,
            linger_ms: None,
        };
        peer.store.start_exec(&request).await.unwrap();
    };
    open(&dead, users[0]).await;
    open(&awake, users[2]).await;
    assert!(awake.store.sweep_homes(&awake.new.id, 10).await.unwrap().is_empty(), "all have a live home");
    dead.store.renew_node(&dead.new.id, OVER).await.unwrap();
    let swept = awake.store.sweep_homes(&awake.new.id, 10).await.unwrap();
    assert_eq!(swept, [(users[0], 2)], "bob has no work");
    assert!(awake.store.sweep_homes(&awake.new.id, 10).await.unwrap().is_empty());
    // A late node does not claim its own users again: it renews its lease, and their work continues.
    let renew = async |lease| awake.store.renew_node(&awake.new.id, lease).await.unwrap();
    renew(OVER).await;
    assert_eq!(awake.store.sweep_homes(&awake.new.id, 10).await.unwrap(), []);
    assert_eq!(renew(NODE_LEASE).await, Renewal::Kept { is_draining: false });
}
