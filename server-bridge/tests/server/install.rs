//! The runner program that the server offers for download.

use reqwest::header::{CONTENT_LENGTH, RANGE};
use reqwest::{Client, Method};
use serde_json::json;
use server_bridge::config::ServeArgs;
use sha2::{Digest, Sha256};

use crate::support::{TestServer, json};

const PROGRAM: &str = "/download/sandbridge-runner-linux-x86_64";

async fn server_with(content: &str) -> (TestServer, tempfile::NamedTempFile) {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(&file, content).unwrap();
    let args = ServeArgs { runner_static: Some(file.path().to_owned()), ..ServeArgs::default() };
    (TestServer::start_with(args).await, file)
}

#[tokio::test]
#[cfg(target_arch = "x86_64")]
async fn anybody_gets_the_runner_its_hash_and_a_script_that_contains_both() {
    let (server, file) = server_with("the runner").await;
    let get = |path: &str| Client::new().get(server.url(path)).send();
    let hash =
        |content: &str| Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let answer = get(PROGRAM).await.unwrap();
    assert_eq!(answer.headers()["x-sandbridge-version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(answer.text().await.unwrap(), "the runner");
    let sums = get(&format!("{PROGRAM}.sha256")).await.unwrap().text().await.unwrap();
    assert_eq!(sums, format!("{}  sandbridge-runner-linux-x86_64\n", hash("the runner")));
    let script = get("/install").await.unwrap().text().await.unwrap();
    for line in [
        format!("server=http://{}", server.address),
        format!("sha256={}", hash("the runner")),
        "size_kib=1".to_owned(),
    ] {
        assert!(script.contains(&format!("\n{line}\n")), "{line}: {script}");
    }
    let head = Client::new().head(server.url(PROGRAM)).send().await.unwrap();
    assert_eq!(head.headers()[CONTENT_LENGTH], "10");
    let part = Client::new().get(server.url(PROGRAM)).header(RANGE, "bytes=4-9").send().await.unwrap();
    assert_eq!((part.status().as_u16(), part.text().await.unwrap().as_str()), (206, "runner"));
    std::fs::write(&file, "another one").unwrap();
    assert!(
        get("/install").await.unwrap().text().await.unwrap().contains(&hash("another one")),
        "it was replaced"
    );
    assert_eq!(Client::new().post(server.url("/install")).send().await.unwrap().status(), 405);
    server.stop().await;
}

#[tokio::test]
async fn a_platform_without_a_runner_program_is_not_found_with_advice() {
    let (server, _file) = server_with("the runner").await;
    for (path, words) in [
        ("/download/sandbridge-runner-linux-sparc", "scripts/build"),
        ("/download/sandbridge-runner-linux-sparc.sha256", "scripts/build"),
        ("/download/sandbridge-runner-linux-", "scripts/build"),
        ("/download/..%2F..%2Fetc%2Fpasswd", "no such download"),
        ("/download/sandbridge.db", "no such download"),
    ] {
        let answer = Client::new().get(server.url(path)).send().await.unwrap();
        assert_eq!(answer.status(), 404, "{path}");
        let error = json(answer).await;
        assert_eq!(error["error"]["kind"], "not_found");
        assert!(error["error"]["message"].as_str().unwrap().contains(words), "{path}: {error}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_server_without_a_runner_to_hand_out_says_so_and_shows_the_line_of_an_installed_one() {
    let args = ServeArgs { runner_static: Some("/nowhere/runner".into()), ..ServeArgs::default() };
    let server = TestServer::start_with(args).await;
    let answer = Client::new().get(server.url("/install")).send().await.unwrap();
    assert_eq!(answer.status(), 404);
    assert!(json(answer).await["error"]["message"].as_str().unwrap().contains("--runner-static"));
    let alice = server.user("alice").await;
    let (_, added) = alice.send(Method::POST, "/runners", json!({"name": "laptop", "enrol": true})).await;
    assert!(added["command"].as_str().unwrap().starts_with("printf "), "{added}");
    server.stop().await;
}

#[tokio::test]
async fn a_new_runners_command_line_installs_it_and_a_new_tokens_does_not() {
    let (server, _file) = server_with("the runner").await;
    let alice = server.user("alice").await;
    let (_, added) = alice.send(Method::POST, "/runners", json!({"name": "laptop", "enrol": true})).await;
    let script = server.url("/install");
    let line = format!(
        "(command -v curl >/dev/null && exec curl -fsSL {script}; wget -qO- {script}) | SANDBRIDGE_TOKEN={} sh -s -- --name laptop",
        added["token"].as_str().unwrap()
    );
    assert_eq!(added["command"], line.as_str());
    let (_, rotated) = alice.send(Method::POST, "/runners/laptop/rotate", json!({})).await;
    assert!(rotated["command"].as_str().unwrap().starts_with("printf "), "{rotated}");
    server.stop().await;
}
