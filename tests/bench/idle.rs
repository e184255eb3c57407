//! The server's cost of a connected runner that has never transferred anything.

use std::time::Duration;

use bytes::Bytes;
use futures_util::{SinkExt as _, StreamExt as _};
use proto::frame::{Header, Kind, decode};
use proto::handshake::{Facts, Handshake, Ready, Register, VersionRange};
use proto::ids::{BootId, StreamId};
use serde_json::json;
use tests::http::Client;
use tests::{Server, process};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;

use crate::samples::Row;

const RUNNERS: usize = 2_000;

/// The number of runners that connect before the first measurement, so that everything that is created only once exists by then.
const EARLIER: usize = 50;

/// The number of simultaneous registrations.
const AT_ONCE: usize = 32;

/// How long to wait: long enough for every link to send a ping and get the pong.
const SETTLED: Duration = Duration::from_secs(15);

/// The size of the stand-ins' socket buffers, in bytes.
const BUFFER_BYTES: usize = 1024;

pub(crate) fn rows() -> Vec<Row> {
    let server = Server::start();
    let person = server.person("many");
    let client = Client::login(&server, &person.name);
    let tokens: Vec<String> = (0..EARLIER + RUNNERS)
        .map(|number| {
            let answer =
                client.send("POST", "/runners", json!({"name": format!("r{number}")}).to_string().as_bytes());
            answer.json()["token"].as_str().unwrap().to_owned()
        })
        .collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (earlier, tokens) = tokens.split_at(EARLIER);
    let mut connected = JoinSet::new();
    connect(&runtime, &server, earlier, 0, &mut connected);
    let before = process::resident_kib(server.pid());
    connect(&runtime, &server, tokens, EARLIER, &mut connected);
    let after = process::resident_kib(server.pid());
    assert_eq!(online(&client), EARLIER + RUNNERS);
    let each = (after - before) as f64 / RUNNERS as f64;
    let empty = String::new;
    vec![Row {
        what: "server, for each of 2,000 idle runners".to_owned(),
        min: empty(),
        p50: format!("{each:.1} KiB"),
        p99: empty(),
        against: empty(),
        ratio: empty(),
        target: "≤ 40 KiB".to_owned(),
    }]
}

fn online(client: &Client) -> usize {
    let list = client.call("GET", "/runners").json();
    let list = list.as_array().cloned().unwrap_or_else(|| list["runners"].as_array().unwrap().clone());
    list.iter().filter(|runner| runner["online"] == true).count()
}

/// Connects a stand-in for each token, and waits until no more messages arrive.
fn connect(runtime: &Runtime, server: &Server, tokens: &[String], first: usize, connected: &mut JoinSet<()>) {
    runtime.block_on(async {
        let address = server.url().trim_start_matches("http://").to_owned();
        for (index, tokens) in tokens.chunks(AT_ONCE).enumerate() {
            let registering: Vec<_> = tokens
                .iter()
                .enumerate()
                .map(|(at, token)| {
                    tokio::spawn(register(address.clone(), token.clone(), first + index * AT_ONCE + at))
                })
                .collect();
            for socket in registering {
                connected.spawn(stay(socket.await.unwrap()));
            }
        }
        // The stand-ins run on this thread, so they answer while it waits.
        tokio::time::sleep(SETTLED).await;
    });
}

async fn register(address: String, token: String, number: usize) -> WebSocketStream<TcpStream> {
    let mut config = WebSocketConfig::default();
    config.read_buffer_size = BUFFER_BYTES;
    config.write_buffer_size = BUFFER_BYTES;
    let stream = TcpStream::connect(&address).await.unwrap();
    let url = format!("ws://{address}/runner");
    let (mut socket, _) =
        tokio_tungstenite::client_async_with_config(url, stream, Some(config)).await.unwrap();
    let register = Handshake::Register { user_id: String::new(), body: Box::new(facts(token, number)) };
    socket.send(Message::text(register.to_text())).await.unwrap();
    let answer = socket.next().await.unwrap().unwrap();
    let Ok(Handshake::RegisterOk { body }) = Handshake::from_text(answer.to_text().unwrap()) else {
        panic!("{answer}");
    };
    let accepted = body.sandbridge.unwrap();
    let ready = Handshake::Ready { body: Ready { epoch: accepted.epoch, nonce: accepted.nonce } };
    socket.send(Message::text(ready.to_text())).await.unwrap();
    socket
}

fn facts(token: String, number: usize) -> Register {
    let facts = Facts {
        protocol: VersionRange::OURS,
        runner_id: String::new(),
        boot_id: BootId((number as u128).to_le_bytes()),
        os: "linux".into(),
        arch: std::env::consts::ARCH.into(),
        hostname: format!("host{number}"),
        version: env!("CARGO_PKG_VERSION").into(),
        profile: "workspace".into(),
        capabilities: Vec::new(),
        landlock_abi: 0,
        kill_tier: "subreaper".into(),
        layers: Vec::new(),
        run_as: None,
        update_error: None,
    };
    Register {
        user_id: String::new(),
        auth_token: token,
        workspace: "/work".into(),
        shell: "/bin/sh".into(),
        llm_provider: String::new(),
        llm_model: String::new(),
        sandbridge: Some(facts),
    }
}

/// Answers the server's pings.
async fn stay(mut socket: WebSocketStream<TcpStream>) {
    while let Some(Ok(message)) = socket.next().await {
        let Message::Binary(frame) = message else { continue };
        let (header, _) = decode(&frame).unwrap();
        if header.kind == Kind::Ping {
            let pong = Header { sequence: header.sequence, ..Header::new(Kind::Pong, StreamId::SESSION) };
            let pong: Bytes = pong.frame(&[]);
            socket.send(Message::Binary(pong)).await.unwrap();
        }
    }
}
