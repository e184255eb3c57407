//! HTTP responses for browsers and monitoring.

use reqwest::Client;
use reqwest::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS};

use crate::support::{TestServer, json};

#[tokio::test]
async fn every_answer_has_the_security_headers() {
    let server = TestServer::start().await;
    for path in ["/", "/api/v1/me", "/healthz", "/deep/link"] {
        let response = Client::new().get(server.url(path)).send().await.unwrap();
        let headers = response.headers();
        let policy = headers[CONTENT_SECURITY_POLICY].to_str().unwrap();
        for rule in ["default-src 'self';", "connect-src 'self';", "frame-ancestors 'none'"] {
            assert!(policy.contains(rule), "{path}: {policy}");
        }
        assert!(!policy.contains("ws:") && !policy.contains("wss:"), "other servers' sockets: {policy}");
        assert_eq!(headers[X_CONTENT_TYPE_OPTIONS], "nosniff");
        assert_eq!(headers[X_FRAME_OPTIONS], "DENY");
        assert!(headers.contains_key(CACHE_CONTROL));
    }
    server.stop().await;
}

#[tokio::test]
async fn only_the_document_for_diagrams_may_be_framed_and_style_itself_and_it_connects_nowhere() {
    let server = TestServer::start().await;
    let response = Client::new().get(server.url("/diagram.html")).send().await.unwrap();
    let headers = response.headers();
    let policies: Vec<_> = headers.get_all(CONTENT_SECURITY_POLICY).iter().collect();
    assert_eq!(policies.len(), 1, "{policies:?}");
    let policy = policies[0].to_str().unwrap();
    for rule in ["default-src 'none';", "script-src 'self';", "frame-ancestors 'self'"] {
        assert!(policy.contains(rule), "{policy}");
    }
    assert!(!policy.contains("connect-src") && !policy.contains("unsafe-eval"), "{policy}");
    assert_eq!(headers[X_FRAME_OPTIONS], "SAMEORIGIN");
    for path in ["/diagram.html/", "/x/diagram.html", "/diagram.htm"] {
        let response = Client::new().get(server.url(path)).send().await.unwrap();
        assert_eq!(response.headers()[X_FRAME_OPTIONS], "DENY", "{path}");
    }
    server.stop().await;
}

#[tokio::test]
async fn any_path_serves_the_page_and_a_missing_asset_is_not_found() {
    let server = TestServer::start().await;
    let get = |path: &str| Client::new().get(server.url(path)).send();
    let page = get("/").await.unwrap().text().await.unwrap();
    assert_eq!(get("/chats/1").await.unwrap().text().await.unwrap(), page);
    assert_eq!(get("/assets/none-0000.js").await.unwrap().status(), 404);
    server.stop().await;
}

#[tokio::test]
async fn the_api_describes_itself() {
    let server = TestServer::start().await;
    let description = json(Client::new().get(server.url("/api/v1/openapi.json")).send().await.unwrap()).await;
    assert!(description["openapi"].as_str().unwrap().starts_with("3."));
    assert!(description["paths"]["/api/v1/runners"]["post"].is_object());
    server.stop().await;
}
