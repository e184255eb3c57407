//! Nodes and homes on both databases: leases, claims, and what nodes know of each other.

use std::time::Duration;

use store::limits::NODE_LEASE;
use store::{Claim, Error, NewNode, NodeId, NodeState, Renewal, Store};

use crate::support::{add_user, store};

/// A lease that expires at once.
pub(crate) const OVER: Duration = Duration::ZERO;

/// The renewal of a node that is not drained.
const KEPT: Renewal = Renewal::Kept { is_draining: false };

/// A node at this URL.
pub(crate) fn node(url: &str, lease: Duration) -> NewNode {
    let (id, version) = (NodeId::random(), "0.1.0".to_owned());
    NewNode { id, url: url.to_owned(), version, lease, public_key: Some(b"a key".to_vec()) }
}

async fn joined(store: &Store, url: &str, lease: Duration) -> NewNode {
    let new = node(url, lease);
    store.join_node(&new).await.unwrap();
    new
}

#[tokio::test]
async fn a_url_has_one_live_node_and_a_dead_one_is_replaced() {
    let (store, _) = store().await;
    let first = joined(&store, "http://a:1", NODE_LEASE).await;
    let error = store.join_node(&node("http://a:1", NODE_LEASE)).await.unwrap_err();
    assert!(matches!(&error, Error::NodeUrlInUse { url } if url == "http://a:1"), "{error}");
    assert_eq!(store.renew_node(&first.id, OVER).await.unwrap(), KEPT);
    assert_eq!(store.renew_node(&first.id, OVER).await.unwrap(), KEPT, "no other node took over");
    let next = joined(&store, "http://a:1", NODE_LEASE).await;
    assert_eq!(store.renew_node(&first.id, NODE_LEASE).await.unwrap(), Renewal::Gone);
    assert!(matches!(store.join_node(&first).await, Err(Error::NodeUrlInUse { .. })));
    let nodes = store.nodes().await.unwrap();
    assert_eq!(nodes.len(), 1);
    assert_eq!((nodes[0].id.as_str(), nodes[0].is_live), (next.id.as_str(), true));
}

#[tokio::test]
async fn a_node_that_must_be_alone_does_not_join_a_live_one() {
    let (store, _) = store().await;
    let first = joined(&store, "http://a:1", NODE_LEASE).await;
    let alone = NewNode { public_key: None, ..node("http://b:1", NODE_LEASE) };
    let error = store.join_node(&alone).await.unwrap_err().to_string();
    assert_eq!(
        error,
        "another server uses the database (node http://a:1); stop it, or name another database"
    );
    store.leave_node(&first.id).await.unwrap();
    store.join_node(&alone).await.unwrap();
    let long = NewNode { url: "http://".to_owned() + &"x".repeat(600), ..node("", NODE_LEASE) };
    assert!(matches!(store.join_node(&long).await, Err(Error::Invalid { .. })));
}

#[tokio::test]
async fn a_home_is_claimed_once_and_again_when_its_node_is_dead_or_released_it() {
    let (store, _) = store().await;
    let ann = add_user(&store, "ann").await.id;
    let (one, other) =
        (joined(&store, "http://a:1", NODE_LEASE).await, joined(&store, "http://b:1", NODE_LEASE).await);
    assert_eq!(store.claim_home(ann, &one.id).await.unwrap(), Claim::Home(1));
    assert_eq!(store.claim_home(ann, &one.id).await.unwrap(), Claim::Home(1), "it is the home already");
    let elsewhere = Claim::Elsewhere("http://a:1".to_owned());
    assert_eq!(store.claim_home(ann, &other.id).await.unwrap(), elsewhere);
    store.renew_node(&one.id, OVER).await.unwrap();
    assert_eq!(store.claim_home(ann, &other.id).await.unwrap(), Claim::Home(2));
    assert_eq!(store.renew_node(&one.id, NODE_LEASE).await.unwrap(), Renewal::Gone, "it lost its lease");
    assert!(matches!(store.claim_home(ann, &one.id).await, Err(Error::Fenced)));
    store.join_node(&one).await.unwrap();
    assert!(!store.release_home(ann, &one.id).await.unwrap());
    assert!(store.release_home(ann, &other.id).await.unwrap());
    assert_eq!(store.claim_home(ann, &one.id).await.unwrap(), Claim::Home(3));
    assert_eq!(store.move_home(ann, &one.id, &other.id).await.unwrap(), Some(4));
    assert_eq!(store.move_home(ann, &one.id, &other.id).await.unwrap(), None);
    store.drain_node(&one.id).await.unwrap();
    assert_eq!(
        store.move_home(ann, &other.id, &one.id).await.unwrap(),
        None,
        "it accepts no users while it drains"
    );
    let states: Vec<_> =
        store.nodes().await.unwrap().into_iter().map(|node| (node.state, node.homes)).collect();
    assert_eq!(states, [(NodeState::Draining, 0), (NodeState::Up, 1)]);
    let nobody = store.claim_home(store::UserId(999), &other.id).await.unwrap_err();
    assert!(matches!(nobody, Error::NotFound { what: "user", .. }), "{nobody}");
}

#[tokio::test]
async fn a_dead_node_is_forgotten_and_a_live_one_is_not() {
    let (store, _) = store().await;
    let ann = add_user(&store, "ann").await.id;
    let one = joined(&store, "http://a:1", NODE_LEASE).await;
    store.claim_home(ann, &one.id).await.unwrap();
    let live = store.forget_node("http://a:1").await.unwrap_err();
    assert!(live.is_callers() && live.to_string().contains("still running"), "{live}");
    assert!(matches!(store.forget_node("http://b:1").await, Err(Error::NotFound { .. })));
    store.renew_node(&one.id, OVER).await.unwrap();
    store.forget_node("http://a:1").await.unwrap();
    assert!(store.nodes().await.unwrap().is_empty());
    let next = joined(&store, "http://b:1", NODE_LEASE).await;
    assert_eq!(store.claim_home(ann, &next.id).await.unwrap(), Claim::Home(2));
}

#[tokio::test]
async fn a_node_is_drained_while_another_one_takes_on_users() {
    let (store, _) = store().await;
    let one = joined(&store, "http://a:1", NODE_LEASE).await;
    let refused = async |url: &str| store.set_draining(url, true).await.unwrap_err().to_string();
    assert!(refused("http://a:1").await.contains("the only one that accepts users"));
    let other = joined(&store, "http://b:1", NODE_LEASE).await;
    store.set_draining("http://a:1", true).await.unwrap();
    store.set_draining("http://a:1", true).await.unwrap();
    let draining = Renewal::Kept { is_draining: true };
    assert_eq!(store.renew_node(&one.id, NODE_LEASE).await.unwrap(), draining);
    assert_eq!(store.renew_node(&other.id, NODE_LEASE).await.unwrap(), KEPT);
    assert!(refused("http://b:1").await.contains("the only one that accepts users"));
    store.set_draining("http://a:1", false).await.unwrap();
    assert_eq!(store.renew_node(&one.id, NODE_LEASE).await.unwrap(), KEPT);
    store.set_draining("http://b:1", true).await.unwrap();
    assert!(matches!(store.set_draining("http://c:1", true).await, Err(Error::NotFound { .. })));
    store.leave_node(&other.id).await.unwrap();
    assert!(refused("http://b:1").await.contains("is not running"));
    assert!(store.set_draining("http://b:1", false).await.is_err());
}
