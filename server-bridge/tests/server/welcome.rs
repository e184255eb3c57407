//! The welcome for new users.

use reqwest::Method;
use serde_json::json;

use crate::support::{TestClient, TestServer};

async fn is_due(client: &TestClient) -> bool {
    client.get("/me").await["welcome_due"].as_bool().unwrap()
}

#[tokio::test]
async fn each_user_is_welcomed_until_they_have_something_or_dismiss_it() {
    let server = TestServer::start().await;
    let (ada, bob) = (server.admin("ada").await, server.user("bob").await);
    assert!(is_due(&ada).await && is_due(&bob).await);
    assert_eq!(ada.status(Method::POST, "/me/welcomed").await, 204);
    assert_eq!(ada.status(Method::POST, "/me/welcomed").await, 204, "repeating it changes nothing");
    assert!(!is_due(&ada).await && is_due(&bob).await, "each user has a separate state");
    assert!(!is_due(&server.log_in("ada").await).await, "in other browsers too");
    bob.add_runner("laptop").await;
    assert!(!is_due(&bob).await);
    let cleo = server.user("cleo").await;
    let model = json!({"name": "mine", "provider": "openai", "models": {"balance": {"name": "m"}}});
    assert_eq!(cleo.send(Method::POST, "/models", model).await.0, 201);
    assert!(!is_due(&cleo).await);
    let dora = server.user("dora").await;
    assert_eq!(dora.status(Method::POST, "/chats").await, 201);
    assert!(!is_due(&dora).await);
    server.stop().await;
}
