//! The rights to read the audit trail, and its pages.

use reqwest::Method;
use serde_json::{Value, json};
use store::AuditEntry;

use crate::support::TestServer;

#[tokio::test]
async fn administrators_read_the_whole_trail_and_others_their_own_entries() {
    let server = TestServer::start().await;
    let (alice, bob) = (server.user("alice").await, server.user("bob").await);
    alice.add_runner("laptop").await;
    bob.add_runner("desk").await;
    let targets = |page: &Value| -> Vec<String> {
        let entries = page["entries"].as_array().unwrap().iter();
        entries.map(|entry| entry["target"].as_str().unwrap().to_owned()).collect()
    };
    let runners = "/audit?action=runner.";
    assert_eq!(targets(&alice.get(runners).await), ["desk", "laptop"]);
    assert_eq!(targets(&bob.get(runners).await), ["desk"]);
    assert_eq!(
        targets(&bob.get("/audit?action=runner.&user=alice").await),
        ["desk"],
        "a route_request gives no access"
    );
    assert_eq!(targets(&alice.get("/audit?action=runner.&user=alice").await), ["laptop"]);
    assert_eq!(bob.get("/audit?action=nothing").await, json!({"entries": [], "more": false}));
    server.stop().await;
}

#[tokio::test]
async fn a_new_account_with_a_deleted_accounts_name_does_not_read_its_entries() {
    let server = TestServer::start().await;
    let (alice, bob) = (server.user("alice").await, server.user("bob").await);
    bob.add_runner("secret-desk").await;
    assert_eq!(alice.status(Method::DELETE, "/users/bob").await, 204);
    let bob = server.user("bob").await;
    bob.add_runner("desk").await;
    let runners = "/audit?action=runner.add";
    let entries = bob.get(runners).await["entries"].as_array().unwrap().clone();
    assert_eq!((entries.len(), &entries[0]["target"]), (1, &json!("desk")));
    assert_eq!(alice.get(&format!("{runners}&user=bob")).await["entries"].as_array().unwrap().len(), 2);
    server.stop().await;
}

#[tokio::test]
async fn the_trail_is_read_page_by_page() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    for number in 0..5 {
        let (user, action) = (Some("alice".to_owned()), "test".to_owned());
        let entry = AuditEntry { user, action, target: number.to_string(), ..AuditEntry::default() };
        server.store.append_audit(&entry).await.unwrap();
    }
    let (mut seen, mut path) = (Vec::new(), "/audit?action=test&limit=2".to_owned());
    loop {
        let page = alice.get(&path).await;
        let entries = page["entries"].as_array().unwrap();
        seen.extend(entries.iter().map(|entry| entry["target"].as_str().unwrap().to_owned()));
        if page["more"] == false {
            break;
        }
        path = format!("/audit?action=test&limit=2&before={}", entries.last().unwrap()["id"]);
    }
    assert_eq!(seen, ["4", "3", "2", "1", "0"]);
    server.stop().await;
}
