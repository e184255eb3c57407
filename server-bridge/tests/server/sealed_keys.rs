//! The keys of users' models are sealed in the database of a server without any key option.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use home::key_file;
use reqwest::Method;
use serde_json::json;
use server_bridge::config::{Config, ModelArgs, ServeArgs};
use server_bridge::serve::Server;
use tempfile::TempDir;

use crate::support::{TestClient, TestServer};

const KEY: &str = "sk-a-key-that-must-not-lie-about";

async fn add_model(client: &TestClient) {
    let model =
        json!({"name": "mine", "provider": "openai", "models": {"balance": {"name": "m"}}, "api_key": KEY});
    let (status, answer) = client.send(Method::POST, "/models", model).await;
    assert_eq!(status, 201, "{answer}");
}

/// The files below a home directory that contain the key as plain text.
fn files_with_key(home: &Path) -> Vec<String> {
    let holds = |path: &Path| {
        let bytes = fs::read(path).unwrap_or_default();
        bytes.windows(KEY.len()).any(|window| window == KEY.as_bytes())
    };
    let entries = fs::read_dir(home).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| holds(path)).map(|path| path.display().to_string()).collect()
}

/// A home directory whose server sealed a model's API key with the server's sealing key.
async fn home_with_model() -> TempDir {
    let server = TestServer::start().await;
    add_model(&server.user("alice").await).await;
    let (store, home) = server.stop_and_reopen().await;
    store.close().await;
    home
}

async fn refusal(home: &Path, model: ModelArgs) -> String {
    let listen = Some("127.0.0.1:0".to_owned());
    let args = ServeArgs { listen, docker: Some("off".to_owned()), model, ..ServeArgs::default() };
    let config = Config::load(args, Some(home)).unwrap();
    Server::bind(config).await.err().expect("the server does not start").to_string()
}

/// A file with a passphrase, and the options that name the file.
fn passphrase(home: &Path, text: &str) -> ModelArgs {
    let file = home.join("passphrase");
    fs::write(&file, text).unwrap();
    ModelArgs { encryption_key_file: Some(file), ..ModelArgs::default() }
}

#[tokio::test]
async fn a_models_key_is_sealed_by_default_and_usable_after_a_restart() {
    let home = home_with_model().await;
    assert_eq!(files_with_key(home.path()), Vec::<String>::new());
    assert_eq!(fs::metadata(key_file(home.path())).unwrap().mode() & 0o777, 0o600);
    let server = TestServer::start_in(home, ServeArgs::default()).await;
    let user = server.store.user_by_name("alice").await.unwrap().unwrap().id;
    assert_eq!(server.store.subscription_key(user, "mine").await.unwrap().as_deref(), Some(KEY));
    server.stop().await;
}

#[tokio::test]
async fn a_key_file_that_others_can_read_keeps_the_server_from_starting() {
    let home = home_with_model().await;
    fs::set_permissions(key_file(home.path()), fs::Permissions::from_mode(0o644)).unwrap();
    let error = refusal(home.path(), ModelArgs::default()).await;
    assert!(error.contains("chmod 600"), "{error}");
}

#[tokio::test]
async fn a_lost_key_file_is_reported_and_its_keys_are_removed_only_on_request() {
    let home = home_with_model().await;
    fs::remove_file(key_file(home.path())).unwrap();
    let error = refusal(home.path(), ModelArgs::default()).await;
    assert!(error.contains("sandbridge.key") && error.contains("backup"), "{error}");
    let forget = ModelArgs { forget_sealed_keys: true, ..ModelArgs::default() };
    let server = TestServer::start_in(home, ServeArgs { model: forget, ..ServeArgs::default() }).await;
    let alice = server.log_in("alice").await;
    assert!(alice.get("/models").await["models"][0]["api_key_end"].is_null());
    server.stop().await;
}

#[tokio::test]
async fn a_passphrase_replaces_the_servers_own_key_and_another_one_is_refused() {
    let home = home_with_model().await;
    let model = passphrase(home.path(), "a passphrase of enough letters");
    let server = TestServer::start_in(home, ServeArgs { model, ..ServeArgs::default() }).await;
    let user = server.store.user_by_name("alice").await.unwrap().unwrap().id;
    assert_eq!(server.store.subscription_key(user, "mine").await.unwrap().as_deref(), Some(KEY));
    let (store, home) = server.stop_and_reopen().await;
    store.close().await;
    let error = refusal(home.path(), passphrase(home.path(), "another passphrase of letters")).await;
    assert!(
        error.contains("a different encryption key") && error.contains("--forget-sealed-keys"),
        "{error}"
    );
    let error = refusal(home.path(), ModelArgs::default()).await;
    assert!(error.contains("SANDBRIDGE_ENCRYPTION_KEY"), "{error}");
}
