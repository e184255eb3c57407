//! Files of a sandbox over the HTTP API.

use reqwest::Method;
use reqwest::header::{CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_RANGE, IF_MATCH, RANGE};
use serde_json::json;
use sha2::{Digest, Sha256};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::support::{TestClient, TestServer, eventually, json};

async fn upload(client: &TestClient, path: &str, content: Vec<u8>) -> u16 {
    client.request(Method::PUT, path).body(content).send().await.unwrap().status().as_u16()
}

#[tokio::test]
async fn a_downloaded_file_equals_the_uploaded_one() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let _runner = alice.connect_runner("laptop").await;
    let every_byte: Vec<u8> = (0..=255u8).cycle().take(3 * 1024 * 1024 + 17).collect();
    for content in [Vec::new(), b"x".to_vec(), every_byte] {
        let written =
            alice.request(Method::PUT, "/files?path=a/b&parents=true").body(content.clone()).send().await;
        assert_eq!(json(written.unwrap()).await, json!({"size": content.len()}));
        let read = alice.request(Method::GET, "/files?path=a/b").send().await.unwrap();
        assert_eq!(read.headers()[CONTENT_LENGTH], content.len().to_string());
        assert_eq!(read.headers()[CONTENT_DISPOSITION], "attachment; filename*=UTF-8''b");
        assert_eq!(read.bytes().await.unwrap(), content);
    }
    let entry = server.audited("file.write", "ok").await;
    assert_eq!((entry.location.as_deref(), entry.target.as_str()), (Some("laptop"), "a/b"));
    server.stop().await;
}

#[tokio::test]
async fn a_range_of_a_file_is_a_partial_answer() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let _runner = alice.connect_runner("laptop").await;
    upload(&alice, "/files?path=a", b"0123456789".to_vec()).await;
    for (range, status, told, content) in [
        ("bytes=2-4", 206, Some("bytes 2-4/10"), "234"),
        ("bytes=8-", 206, Some("bytes 8-9/10"), "89"),
        ("bytes=-3", 206, Some("bytes 7-9/10"), "789"),
        ("bytes=-99", 206, Some("bytes 0-9/10"), "0123456789"),
        ("bytes=0-999", 206, Some("bytes 0-9/10"), "0123456789"),
        ("bytes=1-2,4-5", 200, None, "0123456789"),
        ("lines=1-2", 200, None, "0123456789"),
    ] {
        let answer = alice.request(Method::GET, "/files?path=a").header(RANGE, range).send().await.unwrap();
        assert_eq!(answer.status(), status, "{range}");
        let header = answer.headers().get(CONTENT_RANGE).map(|value| value.to_str().unwrap().to_owned());
        assert_eq!(header.as_deref(), told, "{range}");
        assert_eq!(answer.headers()[CONTENT_LENGTH], content.len().to_string(), "{range}");
        assert_eq!(answer.bytes().await.unwrap(), content, "{range}");
    }
    for range in ["bytes=10-", "bytes=99-100", "bytes=-0"] {
        let answer = alice.request(Method::GET, "/files?path=a").header(RANGE, range).send().await.unwrap();
        assert_eq!(
            (answer.status().as_u16(), &answer.headers()[CONTENT_RANGE]),
            (416, &"bytes */10".parse().unwrap())
        );
        assert_eq!(json(answer).await["error"]["kind"], "range_not_satisfiable");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_write_may_depend_on_the_existing_file() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let _runner = alice.connect_runner("laptop").await;
    upload(&alice, "/files?path=a", b"old".to_vec()).await;
    let hash = |text: &str| Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let put = |value: String| alice.request(Method::PUT, "/files?path=a").header(IF_MATCH, value).body("new");
    let refused = put(format!("\"{}\"", hash("other"))).send().await.unwrap();
    assert_eq!(refused.status(), 412);
    assert_eq!(json(refused).await["error"]["kind"], "precondition_failed");
    server.audited("file.write", "precondition_failed").await;
    assert_eq!(put("\"weak\"".into()).send().await.unwrap().status(), 400);
    assert_eq!(put(format!("\"{}\"", hash("old"))).send().await.unwrap().status(), 200);
    let path = |text: &str| format!("/files?path=a&if_match={}", hash(text));
    assert_eq!(upload(&alice, &path("old"), b"x".to_vec()).await, 412);
    assert_eq!(upload(&alice, &path("new"), b"x".to_vec()).await, 200);
    server.stop().await;
}

#[tokio::test]
async fn an_upload_that_breaks_off_changes_nothing() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let _runner = alice.connect_runner("laptop").await;
    upload(&alice, "/files?path=a", b"old".to_vec()).await;
    let mut connection = TcpStream::connect(server.address).await.unwrap();
    let head = format!(
        "PUT /api/v1/files?path=a HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Length: 1000000\r\n\r\nnew",
        server.address, alice.token
    );
    connection.write_all(head.as_bytes()).await.unwrap();
    drop(connection);
    server.audited("file.write", "invalid").await;
    let read = alice.request(Method::GET, "/files?path=a").send().await.unwrap();
    assert_eq!(read.bytes().await.unwrap(), "old");
    server.stop().await;
}

#[tokio::test]
async fn a_name_that_is_not_utf8_is_sent_as_base64() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let _runner = alice.connect_runner("laptop").await;
    assert_eq!(upload(&alice, "/files?path_base64=_w", b"x".to_vec()).await, 200);
    let entries = alice.get("/files/list?path=.").await;
    let name = "\u{fffd}";
    assert_eq!(entries, json!({"entries": [{"name": name, "name_base64": "_w", "kind": "file", "size": 1}]}));
    assert_eq!(alice.get("/files/stat?path_base64=_w").await["size"], 1);
    assert_eq!(alice.status(Method::GET, "/files?path_base64=%21").await, 400);
    server.stop().await;
}

#[tokio::test]
async fn renaming_and_removing_leave_audit_entries() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let _runner = alice.connect_runner("laptop").await;
    upload(&alice, "/files?path=a", b"x".to_vec()).await;
    let (status, _) = alice.send(Method::POST, "/files/rename", json!({"from": "a", "to": "b"})).await;
    assert_eq!(status, 204);
    assert_eq!(server.audited("file.rename", "ok").await.target, "a -> b");
    assert_eq!(alice.status(Method::DELETE, "/files?path=b").await, 204);
    server.audited("file.remove", "ok").await;
    assert_eq!(alice.status(Method::GET, "/files?path=b").await, 404);
    assert_eq!(alice.status(Method::POST, "/files/mkdir?path=c/d").await, 204);
    server.audited("file.mkdir", "ok").await;
    server.stop().await;
}

#[tokio::test]
async fn a_removal_whose_client_disconnected_is_done_and_audited() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let _runner = alice.connect_runner("laptop").await;
    for at in 0..20 {
        upload(&alice, &format!("/files?path={at}"), b"x".to_vec()).await;
        let mut connection = TcpStream::connect(server.address).await.unwrap();
        let head = format!(
            "DELETE /api/v1/files?path={at} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\r\n",
            server.address, alice.token
        );
        connection.write_all(head.as_bytes()).await.unwrap();
        drop(connection);
        eventually(|| async {
            let entries = server.store.audit(1, None).await.unwrap();
            entries.into_iter().find(|entry| entry.action == "file.remove" && entry.target == at.to_string())
        })
        .await;
        assert_eq!(alice.status(Method::GET, &format!("/files/stat?path={at}")).await, 404);
    }
    server.stop().await;
}

#[tokio::test]
async fn a_path_that_leaves_the_workspace_is_refused_with_its_kind() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let _runner = alice.connect_runner("laptop").await;
    let answer = alice.request(Method::PUT, "/files?path=../x").body("x").send().await.unwrap();
    assert_eq!(answer.status(), 400);
    assert_eq!(json(answer).await["error"]["kind"], "escapes_workspace");
    server.audited("file.write", "escapes_workspace").await;
    server.stop().await;
}

#[tokio::test]
async fn changes_without_a_reachable_sandbox_are_audited_as_requested() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    for name in ["laptop", "desktop"] {
        alice.add_runner(name).await;
    }
    assert_eq!(upload(&alice, "/files?path=a", b"x".to_vec()).await, 409);
    let entry = server.audited("file.write", "no_route").await;
    assert_eq!((entry.location, entry.target.as_str()), (None, "a"));
    assert_eq!(upload(&alice, "/files?path=a&on=laptop", b"x".to_vec()).await, 503);
    assert_eq!(server.audited("file.write", "offline").await.location.as_deref(), Some("laptop"));
    alice.send(Method::PUT, "/settings", json!({"active_runner": "desktop"})).await;
    assert_eq!(alice.status(Method::DELETE, "/files?path=b").await, 503);
    assert_eq!(server.audited("file.remove", "offline").await.location.as_deref(), Some("desktop"));
    assert_eq!(alice.status(Method::POST, "/files/mkdir?path=c&on=__docker__").await, 403);
    let entry = server.audited("file.mkdir", "denied").await;
    assert_eq!((entry.location.as_deref(), entry.target.as_str()), (Some("__docker__"), "c"));
    let names = json!({"from": "a", "to": "b"});
    assert_eq!(alice.send(Method::POST, "/files/rename?on=nowhere", names).await.0, 409);
    assert_eq!(server.audited("file.rename", "no_route").await.location.as_deref(), Some("nowhere"));
    server.stop().await;
}

#[tokio::test]
async fn files_of_an_offline_runner_cannot_be_reached() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    alice.add_runner("laptop").await;
    let answer = alice.request(Method::GET, "/files?path=a").send().await.unwrap();
    assert_eq!(answer.status(), 503);
    assert_eq!(json(answer).await["error"]["kind"], "offline");
    server.stop().await;
}
