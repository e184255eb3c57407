//! Bad input gets a clear error at a bounded cost, and the server keeps running.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

use tests::http::Client;
use tests::{Machine, Server, binaries, eventually};

/// Runs the runner until it writes a line with `word` to standard error, then stops it.
fn runner_says(server: &Server, token: &str, word: &str) {
    let (workspace, state) = (tempfile::TempDir::new().unwrap(), tempfile::TempDir::new().unwrap());
    let log = state.path().join("log");
    let mut runner = Command::new(binaries::runner())
        .args(["--server", server.url(), "--token", token, "--workspace"])
        .arg(workspace.path())
        .arg("--state-dir")
        .arg(state.path())
        .stderr(std::fs::File::create(&log).unwrap())
        .spawn()
        .unwrap();
    eventually(&format!("the runner says {word}"), Duration::from_secs(60), || {
        std::fs::read_to_string(&log).unwrap().contains(word).then_some(())
    });
    tests::process::terminate(&mut runner);
}

#[test]
fn wrong_and_revoked_tokens_get_an_error_that_says_what_to_do() {
    let server = Server::start();
    let alice = server.person("alice");
    runner_says(&server, "sbr_not-a-token", "runner add");
    let token = alice.add_runner("laptop");
    assert_eq!(alice.run(&["runner", "revoke", "laptop"]).code, 0);
    runner_says(&server, &token, "revoked");
}

#[test]
fn revoking_closes_the_live_socket() {
    let server = Server::start();
    let alice = server.person("alice");
    let mut machine = Machine::start(&server, &alice, "laptop");
    alice.run(&["runner", "revoke", "laptop"]);
    assert_ne!(machine.wait(), Some(0), "the runner stops and says why");
    assert_eq!(alice.run(&["exec", "--on", "laptop", "--", "true"]).code, 125);
}

#[test]
fn second_runner_with_the_same_token_takes_over() {
    let server = Server::start();
    let alice = server.person("alice");
    let token = alice.add_runner("laptop");
    let mut first = Machine::start_with_token(&server, "laptop", &token, &[]);
    first.wait_online(&alice, "laptop");
    let second = Machine::start_with_token(&server, "laptop", &token, &[]);
    let code = first.wait();
    assert!(code.is_some_and(|code| code != 0), "the first runner gets an error and stops: {code:?}");
    let output = alice.run(&["exec", "--", "pwd"]);
    assert_eq!(output.stdout.trim_end(), second.workspace().to_str().unwrap());
}

#[test]
fn rotated_token_works_and_the_old_one_overlaps() {
    let server = Server::start();
    let alice = server.person("alice");
    let old = alice.add_runner("laptop");
    let mut machine = Machine::start_with_token(&server, "laptop", &old, &[]);
    machine.wait_online(&alice, "laptop");
    let new = alice.json(&["runner", "rotate", "laptop", "--json"])["token"].as_str().unwrap().to_owned();
    assert_ne!(old, new);
    assert_eq!(alice.run(&["exec", "--", "true"]).code, 0, "the live link is not dropped");
    for token in [&old, &new] {
        machine.restart(&server, "laptop", token, &[]);
        machine.wait_online(&alice, "laptop");
    }
}

#[test]
fn hostile_handshakes_are_closed() {
    let server = Server::start();
    let address = server.url().trim_start_matches("http://").to_owned();
    let upgrade = |path: &str| {
        let mut socket = TcpStream::connect(&address).unwrap();
        write!(
            socket,
            "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        )
        .unwrap();
        let mut head = [0; 12];
        socket.read_exact(&mut head).unwrap();
        assert_eq!(&head, b"HTTP/1.1 101");
        socket
    };
    let closed_within = |mut socket: TcpStream, limit: Duration| {
        let start = Instant::now();
        socket.set_read_timeout(Some(limit)).unwrap();
        let mut rest = Vec::new();
        let outcome = socket.read_to_end(&mut rest);
        let timed_out = outcome.as_ref().err().is_some_and(|error| {
            matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut)
        });
        assert!(!timed_out, "still open after {:?}", start.elapsed());
    };
    let silent = upgrade("/runner");
    let mut oversized = upgrade("/runner");
    // Sends a text frame that announces 1 TiB.
    oversized.write_all(&[0x81, 0xff, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]).unwrap();
    let mut half = TcpStream::connect(&address).unwrap();
    half.write_all(b"GET / HTTP/1.1\r\nHost: ").unwrap();
    // The connection is closed long before the handshake's time limit.
    closed_within(oversized, Duration::from_secs(8));
    let mut endless = upgrade("/runner");
    endless.write_all(&[0x81, 0xfe, 0xff, 0xff, 0, 0, 0, 0]).unwrap();
    let _ = endless.write_all(&vec![b' '; 70_000]);
    let mut garbage = upgrade("/runner");
    garbage.write_all(&[0x81, 0x83, 0, 0, 0, 0, b'{', b'}', b'x']).unwrap();
    closed_within(garbage, Duration::from_secs(8));
    closed_within(silent, Duration::from_secs(60));
    closed_within(half, Duration::from_secs(60));
    let alice = server.person("alice");
    let _machine = Machine::start(&server, &alice, "laptop");
    assert_eq!(alice.run(&["exec", "--", "true"]).code, 0);
}

#[test]
fn foreign_host_and_origin_are_refused() {
    let server = Server::start();
    let alice = server.person("alice");
    let client = Client::log_in_as_page(&server, &alice.name);
    let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
    let login = |header: &str, value: &str| {
        agent
            .post(format!("{}/api/v1/login", server.url()))
            .header(header, value)
            .header("content-type", "application/json")
            .send(r#"{"user":"alice","password":"wrong"}"#)
            .unwrap()
            .status()
            .as_u16()
    };
    assert_eq!(login("host", "evil.example"), 421, "a name that reaches this server only by DNS rebinding");
    assert_eq!(login("origin", "http://evil.example"), 403);
    let change = |origin: &str, token: &str| {
        agent
            .put(format!("{}/api/v1/settings", server.url()))
            .header("cookie", client.cookie())
            .header("authorization", format!("Bearer {token}"))
            .header("origin", origin)
            .header("content-type", "application/json")
            .send(r#"{"active_runner":null}"#)
            .unwrap()
            .status()
            .as_u16()
    };
    assert_eq!(change("http://evil.example", client.token()), 403);
    assert_eq!(change(server.url(), client.token()), 200);
    assert_eq!(
        change(server.url(), ""),
        401,
        "the cookie alone: the browser sends it to every port of this host"
    );
}

#[test]
fn guessing_passwords_is_rate_limited() {
    let server = Server::start();
    server.person("alice");
    let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
    let guess = || {
        let body = r#"{"user":"alice","password":"wrong wrong"}"#;
        let request =
            agent.post(format!("{}/api/v1/login", server.url())).header("content-type", "application/json");
        request.send(body).unwrap().status().as_u16()
    };
    let statuses: Vec<u16> = (0..40).map(|_| guess()).collect();
    assert!(statuses.contains(&401) && statuses.ends_with(&[429]), "{statuses:?}");
}

#[test]
fn a_server_that_cannot_start_reports_why_in_one_line() {
    let server = Server::start();
    let address = server.url().trim_start_matches("http://");
    let start = |home: &str, listen: &str| {
        let output = Command::new(binaries::sandbridge())
            .args(["--home", home, "serve", "--listen", listen, "--docker", "off"])
            .output()
            .unwrap();
        assert!(!output.status.success());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let home = tempfile::TempDir::new().unwrap();
    let busy = start(home.path().to_str().unwrap(), address);
    assert!(busy.contains(address) && busy.lines().count() == 1, "{busy}");
    let missing = start("/proc/no/such/home", "127.0.0.1:0");
    assert!(missing.contains("/proc/no/such/home") && missing.lines().count() == 1, "{missing}");
}

#[test]
fn an_unreachable_server_and_invalid_names_are_clear_errors() {
    let server = Server::start();
    let alice = server.person("alice");
    let unreachable = alice.run(&["--server", "http://127.0.0.1:9", "exec", "--", "true"]);
    assert_eq!(unreachable.code, 125, "{}", unreachable.stderr);
    assert!(unreachable.stderr.contains("127.0.0.1:9"), "{}", unreachable.stderr);
    for name in ["none", "auto", "__docker__", "Laptop", "a b", "", "-x", "../x"] {
        let output = alice.run(&["runner", "add", "--", name]);
        assert_ne!(output.code, 0, "{name:?} was accepted");
    }
    let twice = |name: &str| alice.run(&["runner", "add", name]).code;
    assert_eq!((twice("laptop"), twice("laptop") != 0), (0, true));
}
