//! Testing a model provider, and listing its models, before its subscription is saved.

use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use crate::support::{TestClient, TestServer};

/// A provider that answers every request with these bytes and then closes the connection; with `None` it never answers. It records the requests.
struct Provider {
    url: String,
    asked: mpsc::UnboundedReceiver<String>,
}

impl Provider {
    async fn start(answer: Option<Vec<u8>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (tell, asked) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            loop {
                let (mut socket, _) = listener.accept().await.unwrap();
                let (answer, tell) = (answer.clone(), tell.clone());
                tokio::spawn(async move {
                    let mut request = Vec::new();
                    // A GET ends with its headers; the beginning of a POST is enough.
                    while !request.windows(4).any(|window| window == b"\r\n\r\n") {
                        if socket.read_buf(&mut request).await.unwrap_or(0) == 0 {
                            return;
                        }
                    }
                    let _ = tell.send(String::from_utf8_lossy(&request).into_owned());
                    let Some(answer) = answer else { return std::future::pending().await };
                    // The server stops reading a response that is too long.
                    let _ = socket.write_all(&answer).await;
                    let _ = socket.shutdown().await;
                    let _ = tokio::io::copy(&mut socket, &mut tokio::io::sink()).await;
                });
            }
        });
        Self { url, asked }
    }

    async fn answering(status: &str, content_type: &str, body: &str) -> Self {
        let head = format!("HTTP/1.1 {status}\r\ncontent-type: {content_type}\r\n");
        let more = "location: http://127.0.0.1:1/v1/models\r\nconnection: close\r\n\r\n";
        Self::start(Some(format!("{head}{more}{body}").into_bytes())).await
    }

    async fn json(body: &Value) -> Self {
        Self::answering("200 OK", "application/json", &body.to_string()).await
    }
}

async fn list(client: &TestClient, provider: &str, url: &str, key: &str) -> (u16, Value) {
    let body = json!({"provider": provider, "base_url": url, "api_key": key});
    client.send(Method::POST, "/providers/models", body).await
}

#[tokio::test]
async fn the_models_of_a_provider_are_listed_in_both_dialects() {
    let server = TestServer::start().await;
    let ada = server.admin("ada").await;
    let listed =
        json!({"object": "list", "data": [{"id": "b", "object": "model"}, {"id": "a"}], "has_more": false});
    let mut provider = Provider::json(&listed).await;
    for (dialect, path, key) in [
        ("openai", "GET /v1/models HTTP/1.1", "authorization: Bearer sk-x"),
        ("anthropic", "GET /v1/models?limit=1000 HTTP/1.1", "x-api-key: sk-x"),
    ] {
        let (status, answer) = list(&ada, dialect, &provider.url, "sk-x").await;
        assert_eq!((status, answer), (200, json!({"models": ["b", "a"], "complete": true})));
        let asked = provider.asked.recv().await.unwrap();
        assert!(asked.starts_with(path) && asked.contains(key), "{asked}");
        assert_eq!(asked.contains("anthropic-version: 2023-06-01"), dialect == "anthropic", "{asked}");
    }
    assert_eq!(ada.get("/models").await["models"], json!([]), "nothing is remembered");
    server.stop().await;
}

#[tokio::test]
async fn invalid_lists_are_reported_or_cut_and_a_missing_one_is_no_error() {
    let server = TestServer::start().await;
    let ada = server.admin("ada").await;
    let none = Provider::answering("404 Not Found", "text/plain", "no such page").await;
    assert_eq!(list(&ada, "openai", &none.url, "k").await, (200, json!({"models": null, "complete": false})));
    let many: Vec<Value> = (0..10_000).map(|number| json!({"id": format!("model-{number}")})).collect();
    let many = Provider::json(&json!({"data": many})).await;
    let (status, answer) = list(&ada, "openai", &many.url, "k").await;
    let names = answer["models"].as_array().unwrap();
    assert_eq!((status, names.len(), &answer["complete"]), (200, 2_000, &json!(false)));
    let odd = json!({"data": [{"id": "a\u{1b}[31m"}, {"id": ""}, {"id": "x".repeat(1_000)}, {"id": "fine"}]});
    let odd = Provider::json(&odd).await;
    assert_eq!(list(&ada, "openai", &odd.url, "k").await.1["models"], json!(["fine"]));

    let no_key = json!({"error": {"message": "Incorrect API key provided: k"}}).to_string();
    let html = "<!doctype html><title>Welcome</title>";
    let endless = "[".repeat(9 * 1024 * 1024);
    for (status, content_type, body, kind, word) in [
        ("401 Unauthorized", "application/json", no_key.as_str(), "key", "Incorrect API key"),
        ("200 OK", "text/html", html, "nonsense", "right kind of provider"),
        ("302 Found", "text/html", "", "refused", "302"),
        ("503 Busy", "text/plain", "busy", "provider", "busy"),
        ("200 OK", "application/json", &endless, "nonsense", "8 MiB"),
    ] {
        let mut provider = Provider::answering(status, content_type, body).await;
        let (answered, error) = list(&ada, "openai", &provider.url, "k").await;
        assert_eq!((answered, &error["error"]["kind"]), (422, &json!(kind)), "{error}");
        assert!(error["error"]["message"].as_str().unwrap().contains(word), "{error}");
        provider.asked.recv().await.unwrap();
        assert!(provider.asked.try_recv().is_err(), "a redirect is not followed, and nothing is asked twice");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_request_to_a_provider_that_never_answers_times_out() {
    let server = TestServer::start().await;
    let ada = server.admin("ada").await;
    let silent = Provider::start(None).await;
    let began = Instant::now();
    let (status, error) = list(&ada, "openai", &silent.url, "k").await;
    assert_eq!((status, &error["error"]["kind"]), (422, &json!("timeout")), "{error}");
    assert!(began.elapsed() < Duration::from_secs(30), "the longest time that a page waits");
    server.stop().await;
}

#[tokio::test]
async fn users_cannot_reach_a_private_address_as_their_provider() {
    let server = TestServer::start().await;
    // The first user is an administrator, and administrators may use private addresses.
    let (_, bob) = (server.admin("ada").await, server.user("bob").await);
    let mut provider = Provider::json(&json!({"data": [{"id": "m"}]})).await;
    let port = provider.url.rsplit(':').next().unwrap().to_owned();
    for url in [
        provider.url.clone(),
        format!("https://127.0.0.1:{port}"),
        format!("https://localhost:{port}"),
        format!("https://[::ffff:127.0.0.1]:{port}"),
        "https://169.254.169.254/latest".to_owned(),
        "http://api.openai.com".to_owned(),
        "file:///etc/passwd".to_owned(),
    ] {
        let (status, error) = list(&bob, "openai", &url, "k").await;
        assert_eq!((status, &error["error"]["kind"]), (422, &json!("address")), "{url}: {error}");
        let tried = json!({"provider": "openai", "base_url": url, "models": {"balance": {"name": "m"}}});
        let (status, error) = bob.send(Method::POST, "/providers/trial", tried).await;
        assert_eq!((status, &error["error"]["kind"]), (422, &json!("address")), "{url}: {error}");
    }
    assert!(provider.asked.try_recv().is_err());
    for odd in [
        json!({"provider": "google"}),
        json!({"provider": "openai", "name": "Bad Name"}),
        json!({"provider": "openai", "name": "server"}),
        json!({"provider": "openai", "runner": "none-of-mine"}),
        json!({"provider": "openai", "api_key": "s\nk"}),
        json!({"provider": "openai", "base_url": 1}),
        json!({}),
    ] {
        let (status, error) = bob.send(Method::POST, "/providers/models", odd.clone()).await;
        assert_eq!(status, 400, "{odd}: {error}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_model_is_tried_before_it_is_saved() {
    let server = TestServer::start().await;
    let ada = server.admin("ada").await;
    let refused = json!({"error": {"message": "Incorrect API key provided: sk-w"}}).to_string();
    let provider = Provider::answering("401 Unauthorized", "application/json", &refused).await;
    let document = |url: &str, key: &str| json!({"name": "mine", "provider": "openai", "base_url": url, "api_key": key, "models": {"balance": {"name": "m"}}});
    let (status, error) = ada.send(Method::POST, "/providers/trial", document(&provider.url, "sk-w")).await;
    assert_eq!((status, &error["error"]["kind"]), (422, &json!("key")));
    assert!(error["error"]["message"].as_str().unwrap().contains("Incorrect API key"), "{error}");
    assert_eq!(ada.get("/models").await["models"], json!([]));

    let words = "data: {\"choices\":[{\"delta\":{\"content\":\"ready\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let mut provider = Provider::answering("200 OK", "text/event-stream", words).await;
    let (status, answer) =
        ada.send(Method::POST, "/providers/trial", document(&provider.url, "sk-right")).await;
    assert_eq!(
        (status, &answer["answer"], &answer["model"]),
        (200, &json!("ready"), &json!("m")),
        "{answer}"
    );
    assert!(provider.asked.recv().await.unwrap().contains("Bearer sk-right"));
    assert_eq!(ada.get("/models").await["models"], json!([]));

    // A stored key is used again, but only at its own address.
    assert_eq!(ada.send(Method::POST, "/models", document(&provider.url, "sk-kept")).await.0, 201);
    let mut changed = document(&provider.url, "");
    changed.as_object_mut().unwrap().remove("api_key");
    assert_eq!(ada.send(Method::POST, "/providers/trial", changed.clone()).await.0, 200);
    assert!(provider.asked.recv().await.unwrap().contains("Bearer sk-kept"));
    let mut other = Provider::answering("200 OK", "text/event-stream", words).await;
    changed["base_url"] = json!(other.url);
    for path in ["/providers/trial", "/providers/models"] {
        let mut asked = changed.clone();
        if path.ends_with("models") {
            asked.as_object_mut().unwrap().remove("models");
        }
        let (status, error) = ada.send(Method::POST, path, asked).await;
        assert_eq!(status, 400, "{error}");
        assert!(error["error"]["message"].as_str().unwrap().contains("give the key again"), "{error}");
    }
    assert!(other.asked.try_recv().is_err(), "the stored key is not sent to another address");
    server.stop().await;
}
