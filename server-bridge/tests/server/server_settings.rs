//! The settings of the whole server.

use reqwest::Method;
use serde_json::{Value, json};
use server_bridge::config::{ModelArgs, ServeArgs};

use crate::support::{TestServer, program};

const PATH: &str = "/server-settings";

fn args() -> ServeArgs {
    ServeArgs { model: ModelArgs { turns_at_once: Some(5), ..ModelArgs::default() }, ..ServeArgs::default() }
}

#[tokio::test]
async fn an_administrators_change_is_an_event_is_audited_and_survives_a_restart() {
    let server = TestServer::start_with(args()).await;
    let (alice, bob) = (server.user("alice").await, server.user("bob").await);
    let as_started = json!({"turns_at_once": 5, "turns_at_once_default": 5, "context_mode": "full",
        "base_prompt": null, "base_prompt_problem": null, "embedder": "none", "embedder_problem": null});
    let (status, set) = alice.send(Method::PUT, PATH, json!({"embedder": "none"})).await;
    assert_eq!((status, &set), (200, &as_started));
    let mut events = alice.socket("/events").await;
    let mut others = bob.socket("/events").await;
    std::fs::write(server.home().join("prompt.md"), "Be a pirate.").unwrap();
    let change = json!({"turns_at_once": 2, "context_mode": "no-compression", "base_prompt": "prompt.md"});
    let (status, changed) = alice.send(Method::PUT, PATH, change).await;
    let expected = json!({"turns_at_once": 2, "turns_at_once_default": 5, "context_mode": "no-compression",
        "base_prompt": "prompt.md", "base_prompt_problem": null, "embedder": "none", "embedder_problem": null});
    assert_eq!((status, &changed), (200, &expected));
    let told = events.until(|event| event["type"] == "server_settings").await;
    assert_eq!(told["settings"], expected);
    assert_eq!(server.audited("server.settings", "no-compression").await.target, "context_mode");
    assert_eq!(server.audited("server.settings", "2").await.user.as_deref(), Some("alice"));
    // Other users get no event about the change; the next event that they get is about something else.
    bob.add_runner("laptop").await;
    let next = others.until(|event| event["type"] != "hello").await;
    assert_eq!(next["type"], "runner");
    drop((events, others));
    let (_, home) = server.stop_and_reopen().await;
    std::fs::remove_file(home.path().join("prompt.md")).unwrap();
    let server = TestServer::start_in(home, args()).await;
    let alice = server.log_in("alice").await;
    let known = alice.get(PATH).await;
    assert_eq!((&known["turns_at_once"], &known["context_mode"]), (&json!(2), &json!("no-compression")));
    assert!(known["base_prompt_problem"].as_str().unwrap().contains("there is no file prompt.md"), "{known}");
    let back = json!({"turns_at_once": null, "context_mode": null, "base_prompt": null});
    assert_eq!(alice.send(Method::PUT, PATH, back).await, (200, as_started));
    assert_eq!(server.audited("server.settings", "default").await.user.as_deref(), Some("alice"));
    server.stop().await;
}

#[tokio::test]
async fn an_invalid_value_changes_no_setting() {
    let server = TestServer::start_with(args()).await;
    let alice = server.user("alice").await;
    std::fs::write(server.home().join("latin.md"), b"caf\xe9").unwrap();
    let before = alice.get(PATH).await;
    for (change, reason) in [
        (json!({"turns_at_once": 0}), "between 1 and 1000"),
        (json!({"turns_at_once": 1001}), "between 1 and 1000"),
        (json!({"turns_at_once": "many"}), ""),
        (json!({"context_mode": "dreamy", "turns_at_once": 3}), "full, no-compression or none"),
        (json!({"base_prompt": "sandbridge.key", "turns_at_once": 3}), "ends in .md"),
        (json!({"base_prompt": "../prompt.md"}), "ends in .md"),
        (json!({"base_prompt": "gone.md"}), "there is no file"),
        (json!({"base_prompt": "latin.md"}), "not UTF-8"),
        (json!({"embedder": "crystal", "turns_at_once": 3}), "is not an embedder"),
        (json!({"embedder": "built-in"}), "is not installed"),
    ] {
        let (status, refused) = alice.send(Method::PUT, PATH, change.clone()).await;
        assert_eq!(status, 400, "{change}");
        assert!(refused["error"]["message"].as_str().unwrap().contains(reason), "{refused}");
    }
    assert_eq!(alice.get(PATH).await, before);
    server.stop().await;
}

#[tokio::test]
async fn non_administrators_and_programs_change_no_server_setting() {
    let server = TestServer::start().await;
    let (alice, bob) = (server.user("alice").await, server.user("bob").await);
    let change = || json!({"turns_at_once": 2});
    assert_eq!(bob.status(Method::GET, PATH).await, 403);
    assert_eq!(bob.send(Method::PUT, PATH, change()).await.0, 403);
    let key = program(&alice, "ci", "full").await;
    assert_eq!(key.send(Method::PUT, PATH, change()).await.0, 403);
    assert_eq!(key.get(PATH).await["turns_at_once"], Value::from(16));
    server.stop().await;
}

/// A provider with the embedding APIs of OpenAI and Ollama: the path of the request determines the number of dimensions of each vector.
async fn embeddings() -> String {
    use axum::Json;
    use axum::routing::post;
    let texts = |asked: &Value| asked["input"].as_array().unwrap().len();
    let openai = move |Json(asked): Json<Value>| async move {
        let data: Vec<Value> =
            (0..texts(&asked)).map(|at| json!({"index": at, "embedding": [1, 2, 3]})).collect();
        Json(json!({"object": "list", "data": data, "model": asked["model"]}))
    };
    let ollama = move |Json(asked): Json<Value>| async move {
        Json(json!({"model": asked["model"], "embeddings": vec![[0, 0]; texts(&asked)]}))
    };
    let routes = axum::Router::new().route("/v1/embeddings", post(openai)).route("/api/embed", post(ollama));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, routes).await });
    address
}

#[tokio::test]
async fn an_embedder_is_tried_when_chosen_and_reported_when_its_subscription_is_deleted() {
    let server = TestServer::start_with(args()).await;
    let alice = server.user("alice").await;
    let problem = alice.get(PATH).await["embedder_problem"].as_str().unwrap().to_owned();
    assert!(
        problem.contains("e5-small-q4.bin is not installed") && problem.contains("uses words only"),
        "{problem}"
    );
    assert_eq!(alice.send(Method::PUT, PATH, json!({"embedder": "mine/m", "turns_at_once": 3})).await.0, 404);
    let mine = json!({"name": "mine", "provider": "openai", "base_url": embeddings().await,
        "models": {"swift": {"name": "m"}}});
    assert_eq!(alice.send(Method::POST, "/models", mine).await.0, 201);
    let (status, set) =
        alice.send(Method::PUT, PATH, json!({"embedder": "mine/text-embedding-3-small"})).await;
    assert_eq!(
        (status, &set["embedder"], &set["embedder_problem"]),
        (200, &json!("mine/text-embedding-3-small"), &Value::Null)
    );
    assert_eq!(
        server.audited("server.settings", "mine/text-embedding-3-small of user 1").await.target,
        "embedder"
    );
    // The vectors of the Ollama API are all zeros here.
    let (status, refused) =
        alice.send(Method::PUT, PATH, json!({"embedder": "ollama:mine/nomic-embed-text"})).await;
    assert_eq!(status, 400);
    assert!(
        refused["error"]["message"].as_str().unwrap().contains("unusable vector (the vector is zero)"),
        "{refused}"
    );
    assert_eq!(alice.status(Method::DELETE, "/models/mine").await, 204);
    let known = alice.get(PATH).await;
    assert!(known["embedder_problem"].as_str().unwrap().contains("mine"), "{known}");
    let (_, back) = alice.send(Method::PUT, PATH, json!({"embedder": null})).await;
    assert_eq!(back["embedder"], "built-in");
    server.stop().await;
}
