//! Staying connected, with a simulated server.
#![allow(clippy::unwrap_used)]

use futures_util::{SinkExt, StreamExt};
use proto::handshake::{Accepted, Handshake, Ready, Refusal, RefusalReason, RegisterOk};
use proto::ids::{Epoch, Nonce};
use proto::session::{Close, CloseCode};
use runner::connect::{Patience, Token, run};
use runner::executor::{Executor, ExecutorConfig};
use runner::exit_code::{EXIT_REPLACED, EXIT_REVOKED, EXIT_STOPPED};
use runner::identity::Identity;
use runner::kill::KillTier;
use runner::layers::Profile;
use runner::link::websocket::Endpoint;
use runner::llm::{LlmConfig, Provider, base_url};
use testkit::proxied::many_header_lines;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::LocalSet;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_util::sync::CancellationToken;

type Socket = WebSocketStream<TcpStream>;

/// Runs a runner on its own thread, which is confined, against `server` and returns its exit code.
fn exit_code(server: impl AsyncFnOnce(&TcpListener, &CancellationToken)) -> i32 {
    exit_code_with(Token::Given("the-token".to_owned()), None, server)
}

/// Like [`exit_code`], with a given token, or an LLM endpoint.
fn exit_code_with(
    token: Token,
    llm: Option<LlmConfig>,
    server: impl AsyncFnOnce(&TcpListener, &CancellationToken),
) -> i32 {
    let (workspace, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (workspace, state) = (workspace.path().to_owned(), state.path().to_owned());
    let config = ExecutorConfig { llm, ..ExecutorConfig::new(workspace, state, Profile::Workspace) };
    let shutdown = CancellationToken::new();
    let (send_url, url) = std::sync::mpsc::channel::<String>();
    let runner = std::thread::spawn({
        let shutdown = shutdown.clone();
        move || local(runner(&config, &url.recv().unwrap(), &token, &shutdown))
    });
    local(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        send_url.send(format!("ws://{}", listener.local_addr().unwrap())).unwrap();
        server(&listener, &shutdown).await;
    });
    runner.join().unwrap()
}

fn local<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    LocalSet::new().block_on(&runtime, work)
}

async fn runner(config: &ExecutorConfig, url: &str, token: &Token, shutdown: &CancellationToken) -> i32 {
    let executor = Executor::start(config).unwrap();
    let identity = Identity::of(&executor, Some("laptop"), KillTier::Unguarded);
    let endpoint = Endpoint::new(url, false, None).unwrap();
    let code = run(&endpoint, token, PATIENCE, &identity, &executor, shutdown).await;
    executor.shutdown().await;
    code
}

/// Accepts a connection and reads its registration.
async fn accept(listener: &TcpListener) -> Socket {
    let (socket, token) = accept_any(listener).await;
    assert_eq!(token, "the-token");
    socket
}

/// Accepts a connection and reads its registration; returns the token shown.
async fn accept_any(listener: &TcpListener) -> (Socket, String) {
    let (stream, _) = listener.accept().await.unwrap();
    let mut socket = tokio_tungstenite::accept_async(stream).await.unwrap();
    let Handshake::Register { body, .. } = next_handshake(&mut socket).await else {
        panic!("no registration")
    };
    assert_eq!(body.sandbridge.unwrap().runner_id, "laptop");
    (socket, body.auth_token)
}

async fn next_handshake(socket: &mut Socket) -> Handshake {
    let text = socket.next().await.unwrap().unwrap().into_text().unwrap();
    Handshake::from_text(text.as_str()).unwrap()
}

/// Accepts a connection and registers the runner.
async fn register(listener: &TcpListener) -> Socket {
    let mut socket = accept(listener).await;
    answer(&mut socket, None).await;
    ready(&mut socket).await;
    socket
}

const PATIENCE: Patience =
    Patience { longest_pause: std::time::Duration::from_secs(60), exits_if_refused: false };
const EPOCH: Epoch = Epoch(5);
const NONCE: Nonce = Nonce([9; 16]);

/// Accepts the registration, perhaps with a token in exchange.
async fn answer(socket: &mut Socket, token: Option<&str>) {
    let (runner, token) = ("laptop".to_owned(), token.map(str::to_owned));
    let accepted = Accepted { protocol: 1, runner, epoch: EPOCH, nonce: NONCE, token, version: None };
    let body = RegisterOk { status: "ok".to_owned(), sandbridge: Some(accepted) };
    socket.send(Message::text(Handshake::RegisterOk { body }.to_text())).await.unwrap();
}

async fn ready(socket: &mut Socket) {
    let ready = Handshake::Ready { body: Ready { epoch: EPOCH, nonce: NONCE } };
    assert_eq!(next_handshake(socket).await, ready);
}

async fn close(mut socket: Socket, code: CloseCode) {
    socket.send(Message::binary(Close::new(code, "test").to_frame())).await.unwrap();
    // Until the runner has read it and disconnected.
    while let Some(Ok(_)) = socket.next().await {}
}

#[test]
fn a_replaced_runner_ends_and_says_so_by_its_code() {
    let code = exit_code(async |listener, _| close(register(listener).await, CloseCode::Replaced).await);
    assert_eq!(code, EXIT_REPLACED);
}

#[test]
fn an_llm_endpoint_is_announced_without_its_address() {
    let llm = LlmConfig {
        base: base_url("http://127.0.0.1:1/base").unwrap(),
        provider: Provider::Anthropic,
        model: "large".to_owned(),
        key: None,
        idle_ms: 1,
    };
    for (llm, announced) in [(Some(llm), ("anthropic", "large")), (None, ("", ""))] {
        let has_llm = llm.is_some();
        exit_code_with(Token::Given("the-token".to_owned()), llm, async |listener, shutdown| {
            let (stream, _) = listener.accept().await.unwrap();
            let mut socket = tokio_tungstenite::accept_async(stream).await.unwrap();
            let handshake = next_handshake(&mut socket).await;
            assert!(!handshake.to_text().contains("127.0.0.1:1/base"));
            let Handshake::Register { body, .. } = handshake else { panic!("no registration") };
            assert_eq!((body.llm_provider.as_str(), body.llm_model.as_str()), announced);
            let capabilities = body.sandbridge.unwrap().capabilities;
            assert_eq!(capabilities.iter().any(|name| name == "llm"), has_llm, "{capabilities:?}");
            shutdown.cancel();
        });
    }
}

#[test]
fn a_lost_connection_is_made_again() {
    let code = exit_code(async |listener, _| {
        drop(register(listener).await);
        close(register(listener).await, CloseCode::GoingAway).await;
        close(register(listener).await, CloseCode::Revoked).await;
    });
    assert_eq!(code, EXIT_REVOKED);
}

#[test]
fn a_refused_runner_waits_and_stops_when_asked() {
    let code = exit_code(async |listener, shutdown| {
        let mut socket = accept(listener).await;
        let body = Refusal { reason: RefusalReason::TokenUnknown, message: "no such token".to_owned() };
        socket.send(Message::text(Handshake::Error { body }.to_text())).await.unwrap();
        while let Some(Ok(_)) = socket.next().await {}
        shutdown.cancel();
    });
    assert_eq!(code, EXIT_STOPPED);
}

#[test]
fn a_stopped_runner_says_goodbye() {
    let code = exit_code(async |listener, shutdown| {
        let mut socket = register(listener).await;
        shutdown.cancel();
        let last = socket.next().await.unwrap().unwrap().into_data();
        assert_eq!(last, Close::new(CloseCode::GoingAway, "the runner is stopping").to_frame());
    });
    assert_eq!(code, EXIT_STOPPED);
}

#[test]
fn a_token_file_is_read_at_each_attempt() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("token");
    std::fs::write(&file, "old").unwrap();
    let code = exit_code_with(Token::File(file.clone()), None, async |listener, _| {
        let (mut socket, token) = accept_any(listener).await;
        assert_eq!(token, "old");
        answer(&mut socket, None).await;
        ready(&mut socket).await;
        std::fs::write(&file, "new").unwrap();
        drop(socket);
        let (mut socket, token) = accept_any(listener).await;
        assert_eq!(token, "new");
        answer(&mut socket, None).await;
        ready(&mut socket).await;
        close(socket, CloseCode::Revoked).await;
    });
    assert_eq!(code, EXIT_REVOKED);
}

#[test]
fn a_token_in_exchange_is_on_disk_before_the_runner_is_ready() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("token");
    std::fs::write(&file, "sbe_once").unwrap();
    let code = exit_code_with(Token::File(file.clone()), None, async |listener, _| {
        let (mut socket, token) = accept_any(listener).await;
        assert_eq!(token, "sbe_once");
        // The answer is lost on the way: the token still works.
        drop(socket);
        (socket, _) = accept_any(listener).await;
        answer(&mut socket, Some("sbr_own")).await;
        ready(&mut socket).await;
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "sbr_own\n");
        drop(socket);
        let (mut socket, token) = accept_any(listener).await;
        assert_eq!(token, "sbr_own");
        answer(&mut socket, None).await;
        ready(&mut socket).await;
        close(socket, CloseCode::Revoked).await;
    });
    assert_eq!(code, EXIT_REVOKED);
}

#[test]
fn a_given_token_in_exchange_is_shown_from_then_on() {
    let code = exit_code_with(Token::Given("sbe_once".to_owned()), None, async |listener, _| {
        let (mut socket, token) = accept_any(listener).await;
        assert_eq!(token, "sbe_once");
        answer(&mut socket, Some("sbr_own")).await;
        ready(&mut socket).await;
        drop(socket);
        let (mut socket, token) = accept_any(listener).await;
        assert_eq!(token, "sbr_own");
        answer(&mut socket, None).await;
        ready(&mut socket).await;
        close(socket, CloseCode::Revoked).await;
    });
    assert_eq!(code, EXIT_REVOKED);
}

#[test]
fn a_server_behind_a_proxy_that_adds_a_hundred_header_lines_is_reached() {
    let code = exit_code(async |listener, _| {
        let (stream, _) = listener.accept().await.unwrap();
        let mut socket = tokio_tungstenite::accept_hdr_async(stream, many_header_lines).await.unwrap();
        assert!(matches!(next_handshake(&mut socket).await, Handshake::Register { .. }));
        answer(&mut socket, None).await;
        ready(&mut socket).await;
        close(socket, CloseCode::Revoked).await;
    });
    assert_eq!(code, EXIT_REVOKED);
}

#[test]
fn an_answer_that_opens_no_websocket_ends_the_attempt_and_not_the_runner() {
    let code = exit_code(async |listener, _| {
        let long = format!(
            "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {}\r\n",
            "A".repeat(4_000)
        );
        for lines in ["", long.as_str()] {
            let (mut stream, _) = listener.accept().await.unwrap();
            assert!(stream.read(&mut [0; 4_096]).await.unwrap() > 0);
            let head = format!("HTTP/1.1 101 Switching Protocols\r\n{lines}\r\n");
            stream.write_all(head.as_bytes()).await.unwrap();
        }
        close(register(listener).await, CloseCode::Revoked).await;
    });
    assert_eq!(code, EXIT_REVOKED);
}
