//! Logging in and out, and the required headers of a request.

use reqwest::header::{COOKIE, HOST, ORIGIN, RETRY_AFTER, SET_COOKIE};
use reqwest::{Client, Method, StatusCode};
use serde_json::json;

use crate::support::{PASSWORD, Page, Socket, TestServer, json};

#[tokio::test]
async fn a_program_gets_a_token_and_a_page_also_gets_a_cookie() {
    let server = TestServer::start().await;
    server.user("alice").await;
    let log_in = |origin: Option<String>| {
        let body = json!({"user": "alice", "password": PASSWORD});
        let request = Client::new().post(server.url("/api/v1/login")).json(&body);
        origin.into_iter().fold(request, |request, origin| request.header(ORIGIN, origin)).send()
    };
    let program = log_in(None).await.unwrap();
    assert!(program.headers().get(SET_COOKIE).is_none());
    assert_eq!(json(program).await["user"], json!({"name": "alice", "admin": true}));
    let page = log_in(Some(server.url(""))).await.unwrap();
    let cookie = page.headers()[SET_COOKIE].to_str().unwrap().to_owned();
    assert!(cookie.starts_with(&format!("sandbridge_{}=sbc_", server.address.port())), "{cookie}");
    assert!(cookie.contains("; HttpOnly; SameSite=Strict") && !cookie.contains("Secure"), "{cookie}");
    let token = json(page).await["token"].as_str().unwrap().to_owned();
    assert!(token.starts_with("sbs_") && !cookie.contains(&token[4..]));
    assert_eq!(server.audited("login", "ok").await.user.as_deref(), Some("alice"));
    server.stop().await;
}

#[tokio::test]
async fn neither_half_of_a_pages_session_is_accepted_alone() {
    let server = TestServer::start().await;
    let alice = Page::new(&server, "alice", true).await;
    let other = Page::log_in(&server, "alice").await;
    let secret = alice.cookie.split_once('=').unwrap().1;
    assert_eq!(alice.status(Method::GET, "/me").await, 200);
    for (method, path) in [
        (Method::GET, "/me"),
        (Method::POST, "/keys"),
        (Method::POST, "/logout"),
        (Method::GET, "/files?path=x"),
    ] {
        let bare = || alice.bare(method.clone(), path).json(&json!({"name": "k"}));
        for (what, request) in [
            ("nothing", bare()),
            ("the cookie", bare().header(COOKIE, &alice.cookie)),
            ("the cookie as a token", bare().bearer_auth(secret)),
            ("the cookie as both", bare().bearer_auth(secret).header(COOKIE, &alice.cookie)),
            ("the token", bare().bearer_auth(&alice.token)),
            (
                "the token as a cookie",
                bare().header(COOKIE, format!("sandbridge_{}={}", server.address.port(), alice.token)),
            ),
            ("another session's cookie", bare().bearer_auth(&alice.token).header(COOKIE, &other.cookie)),
            (
                "the cookie under its old name",
                bare().bearer_auth(&alice.token).header(COOKIE, format!("sandbridge_session={secret}")),
            ),
            (
                "another port's cookie",
                bare().bearer_auth(&alice.token).header(COOKIE, format!("sandbridge_1={secret}")),
            ),
        ] {
            assert_eq!(
                request.send().await.unwrap().status(),
                StatusCode::UNAUTHORIZED,
                "{what}: {method} {path}"
            );
        }
    }
    // A cookie that was planted by a page on another port does not lock anybody out.
    let port = server.address.port();
    let cookies =
        format!("sandbridge_{port}=planted; sandbridge_{port}=sbc_{}; {}", "A".repeat(43), alice.cookie);
    let request = alice.bare(Method::GET, "/me").bearer_auth(&alice.token).header(COOKIE, cookies);
    assert_eq!(request.send().await.unwrap().status(), StatusCode::OK);
    server.stop().await;
}

#[tokio::test]
async fn a_pages_changes_need_its_origin() {
    let server = TestServer::start().await;
    let alice = Page::new(&server, "alice", false).await;
    let create = |origin: Option<String>| {
        let request = alice.http.post(server.url("/api/v1/chats"));
        let request = request.bearer_auth(&alice.token).header(COOKIE, &alice.cookie);
        origin.into_iter().fold(request, |request, origin| request.header(ORIGIN, origin)).send()
    };
    for origin in [None, Some("http://evil.example".to_owned()), Some("null".to_owned())] {
        assert_eq!(create(origin).await.unwrap().status(), StatusCode::FORBIDDEN);
    }
    assert_eq!(create(Some(server.url(""))).await.unwrap().status(), StatusCode::CREATED);
    server.stop().await;
}

#[tokio::test]
async fn a_pages_websocket_needs_both_halves_and_the_servers_origin() {
    let server = TestServer::start().await;
    let alice = Page::new(&server, "alice", false).await;
    let url = server.url("/api/v1/events").replacen("http", "ws", 1);
    let ours = server.url("");
    let connect = async |headers: &[(&str, &str)]| Socket::connect(&url, headers).await.map(|_| ()).err();
    let (cookie, origin) = (("cookie", &*alice.cookie), ("origin", &*ours));
    let protocols = format!("sandbridge, bearer.{}", alice.token);
    let token = ("sec-websocket-protocol", &*protocols);
    let stolen = format!("sandbridge, bearer.{}", alice.cookie.split_once('=').unwrap().1);
    assert_eq!(connect(&[]).await, Some(401));
    assert_eq!(connect(&[cookie, origin]).await, Some(401));
    assert_eq!(connect(&[token, origin]).await, Some(401));
    assert_eq!(connect(&[cookie, origin, ("sec-websocket-protocol", &stolen)]).await, Some(401));
    assert_eq!(connect(&[cookie, token]).await, Some(403));
    assert_eq!(connect(&[cookie, token, ("origin", "https://evil.example")]).await, Some(403));
    assert_eq!(connect(&[cookie, token, origin]).await, None);
    // A token in the WebSocket protocols is accepted only for a WebSocket.
    let request = alice.bare(Method::GET, "/me").header(COOKIE, &alice.cookie);
    let request = request.header("sec-websocket-protocol", &protocols);
    assert_eq!(request.send().await.unwrap().status(), StatusCode::UNAUTHORIZED);
    server.stop().await;
}

#[tokio::test]
async fn a_ticket_opens_one_download_once_for_the_page_that_asked_for_it() {
    let server = TestServer::start().await;
    let alice = Page::new(&server, "alice", false).await;
    let (_, chat) = alice.send(Method::POST, "/chats", json!({})).await;
    let path = format!("/chats/{}/export?format=json", chat["id"].as_str().unwrap());
    let ticket = async || {
        let (status, made) =
            alice.send(Method::POST, "/tickets", json!({"path": format!("/api/v1{path}")})).await;
        assert_eq!(status, 201, "{made}");
        made["ticket"].as_str().unwrap().to_owned()
    };
    let fetch = async |path: &str, ticket: &str, cookie: &str| {
        let request = alice.http.get(server.url(&format!("/api/v1{path}&ticket={ticket}")));
        request.header(COOKIE, cookie).send().await.unwrap().status().as_u16()
    };
    let good = ticket().await;
    assert_eq!(fetch(&path, &good, &alice.cookie).await, 200);
    assert_eq!(fetch(&path, &good, &alice.cookie).await, 401, "once");
    assert_eq!(fetch(&path, &ticket().await, "a=b").await, 401, "without the cookie");
    let bob = Page::new(&server, "bob", false).await;
    assert_eq!(fetch(&path, &ticket().await, &bob.cookie).await, 401, "with another's");
    assert_eq!(fetch("/files?path=x", &ticket().await, &alice.cookie).await, 401, "elsewhere");
    for guess in ["", "AAAA", &"A".repeat(32)] {
        assert_eq!(fetch(&path, guess, &alice.cookie).await, 401);
    }
    let (status, refused) = alice.send(Method::POST, "/tickets", json!({"path": "/api/v1/keys"})).await;
    assert_eq!((status, &refused["error"]["kind"]), (400, &json!("invalid")));
    let ended = ticket().await;
    assert_eq!(alice.status(Method::POST, "/logout").await, 204);
    assert_eq!(fetch(&path, &ended, &alice.cookie).await, 401, "the session has ended");
    server.stop().await;
}

#[tokio::test]
async fn a_token_from_another_page_is_refused_even_with_a_bearer() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let request = alice.request(Method::POST, "/chats").header(ORIGIN, "http://evil.example");
    assert_eq!(request.send().await.unwrap().status(), StatusCode::FORBIDDEN);
    server.stop().await;
}

#[tokio::test]
async fn a_foreign_host_name_is_refused_and_the_error_says_how_to_allow_it() {
    let server = TestServer::start().await;
    let ask = |host: &'static str, path: &str| Client::new().get(server.url(path)).header(HOST, host).send();
    let refused = ask("evil.example", "/api/v1/me").await.unwrap();
    assert_eq!(refused.status(), StatusCode::MISDIRECTED_REQUEST);
    let error = json(refused).await;
    assert!(error["error"]["message"].as_str().unwrap().contains("--allow-host evil.example"), "{error}");
    assert_eq!(ask("localhost:1", "/api/v1/me").await.unwrap().status(), StatusCode::UNAUTHORIZED);
    assert_eq!(ask("10.1.2.3", "/healthz").await.unwrap().text().await.unwrap(), "ok");
    server.stop().await;
}

#[tokio::test]
async fn a_logout_ends_the_session() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    assert_eq!(alice.status(Method::POST, "/logout").await, 204);
    assert_eq!(alice.status(Method::GET, "/me").await, 401);
    server.stop().await;
}

#[tokio::test]
async fn guessing_a_password_is_rate_limited_for_that_name() {
    let server = TestServer::start().await;
    server.user("alice").await;
    server.user("bob").await;
    let log_in = |user: &str, password: &str| {
        let body = json!({"user": user, "password": password});
        Client::new().post(server.url("/api/v1/login")).json(&body).send()
    };
    for _ in 0..10 {
        assert_eq!(log_in("alice", "wrong").await.unwrap().status(), StatusCode::UNAUTHORIZED);
    }
    let limited = log_in("alice", PASSWORD).await.unwrap();
    assert_eq!(limited.status(), StatusCode::TOO_MANY_REQUESTS);
    assert!(limited.headers()[RETRY_AFTER].to_str().unwrap().parse::<u64>().unwrap() <= 7);
    assert_eq!(json(limited).await["error"]["kind"], "rate_limited");
    assert_eq!(log_in("bob", PASSWORD).await.unwrap().status(), StatusCode::OK);
    assert_eq!(server.audited("login", "unauthorized").await.user.as_deref(), Some("alice"));
    server.stop().await;
}

#[tokio::test]
async fn frequent_logins_do_not_count_as_guessing() {
    let server = TestServer::start().await;
    server.user("alice").await;
    for _ in 0..12 {
        server.log_in("alice").await;
    }
    server.stop().await;
}

#[tokio::test]
async fn a_malformed_request_is_answered_with_a_documented_error() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    for (method, path, status, kind) in [
        (Method::POST, "/runners", 400, "invalid"),
        (Method::GET, "/nothing", 404, "not_found"),
        (Method::DELETE, "/me", 405, "method_not_allowed"),
        (Method::GET, "/chats/xyz/messages", 404, "not_found"),
        (Method::GET, "/files", 400, "invalid"),
        (Method::GET, "/exec", 400, "invalid"),
    ] {
        let response = alice.request(method, path).send().await.unwrap();
        assert_eq!(response.status(), status, "{path}");
        assert_eq!(json(response).await["error"]["kind"], kind, "{path}");
    }
    server.stop().await;
}
