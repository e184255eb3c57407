//! The relay to an LLM endpoint, which is a scripted server on this machine.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use proto::message::{LlmDone, LlmHeaders};
use proto::request::Llm;
use proto::{Channel, ErrorKind, Event, Message, StreamId, WireError};
use runner::llm::{KeyFile, LlmConfig, Provider, base_url};

use crate::world::{PATIENCE, Peer, World, shell};

const KEY: &str = "sk-very-secret-0123456789";

/// Longer than the endpoint may be silent in the tests of that limit, in milliseconds.
const SHORT_IDLE_MS: u64 = 300;

pub(crate) struct Endpoint {
    pub(crate) address: SocketAddr,
    /// Each request, head and body.
    pub(crate) asked: Receiver<String>,
    /// Lets a slow answer continue.
    pub(crate) go: Sender<()>,
    /// A client disconnected before its answer was complete.
    pub(crate) gone: Receiver<()>,
}

impl Endpoint {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let ((ask, asked), (go, may_go), (leave, gone)) = (channel(), channel(), channel());
        let may_go = Arc::new(Mutex::new(may_go));
        std::thread::spawn(move || {
            for socket in listener.incoming() {
                let (ask, may_go, leave) = (ask.clone(), Arc::clone(&may_go), leave.clone());
                std::thread::spawn(move || {
                    let mut socket = socket.unwrap();
                    let request = read_request(&mut socket);
                    let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
                    // The test may have ended.
                    let _ = ask.send(request);
                    if answer(&mut socket, &path, address, &may_go).is_err() {
                        let _ = leave.send(());
                    }
                });
            }
        });
        Self { address, asked, go, gone }
    }

    /// A runner's configuration to reach it.
    fn config(&self, provider: Provider) -> impl FnOnce(&runner::executor::ExecutorConfig) -> LlmConfig {
        let base = base_url(&format!("http://{}/base", self.address)).unwrap();
        move |executor| {
            let file = executor.state_dir.join("llm-key");
            std::fs::write(&file, format!("{KEY}\n")).unwrap();
            let key = Some(KeyFile::new(&file, executor.seen_by_commands()).unwrap());
            LlmConfig { base, provider, model: "m".into(), key, idle_ms: PATIENCE.as_millis() as u64 }
        }
    }

    pub(crate) fn asked(&self) -> String {
        self.asked.recv_timeout(PATIENCE).unwrap()
    }
}

fn read_request(socket: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let head = loop {
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break at + 4;
        }
        let mut piece = [0; 4096];
        let Ok(read @ 1..) = socket.read(&mut piece) else { return String::new() };
        bytes.extend_from_slice(&piece[..read]);
        // The client speaks TLS.
        if bytes[0] == 0x16 {
            return String::new();
        }
    };
    let text = String::from_utf8_lossy(&bytes[..head]).to_lowercase();
    let length = text.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    let mut rest = vec![0; (head + length.unwrap_or(0)) - bytes.len()];
    socket.read_exact(&mut rest).unwrap();
    bytes.extend(rest);
    String::from_utf8(bytes).unwrap()
}

/// Fails once the client has disconnected.
fn answer(
    socket: &mut TcpStream,
    path: &str,
    address: SocketAddr,
    may_go: &Mutex<Receiver<()>>,
) -> std::io::Result<()> {
    const SSE: &[u8] =
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
    let until_gone = |mut socket: &TcpStream| match socket.read(&mut [0]) {
        Ok(0) | Err(_) => Err(std::io::ErrorKind::BrokenPipe.into()),
        Ok(_) => Ok(()),
    };
    match path.strip_prefix("/base").unwrap_or_default() {
        "/v1/sse" => {
            socket.write_all(SSE)?;
            for event in 1..=3 {
                socket.write_all(format!("9\r\ndata: {event}\n\n\r\n").as_bytes())?;
                may_go.lock().unwrap().recv().map_err(std::io::Error::other)?;
            }
            socket.write_all(b"0\r\n\r\n")
        }
        "/v1/endless" => {
            socket.write_all(b"HTTP/1.1 200 OK\r\n\r\n")?;
            loop {
                socket.write_all(&[b'x'; 64 * 1024])?;
            }
        }
        "/v1/hang" => {
            socket.write_all(SSE)?;
            until_gone(socket)
        }
        "/v1/silent" => until_gone(socket),
        "/v1/redirect" => socket.write_all(
            format!(
                "HTTP/1.1 307 X\r\nLocation: http://{address}/base/v1/stolen\r\nContent-Length: 0\r\n\r\n"
            )
            .as_bytes(),
        ),
        "/v1/huge" => socket.write_all(
            format!("HTTP/1.1 200 OK\r\nX: {}\r\nContent-Length: 0\r\n\r\n", "x".repeat(1 << 20)).as_bytes(),
        ),
        "/v1/many" => socket.write_all(
            format!("HTTP/1.1 200 OK\r\n{}Content-Length: 0\r\n\r\n", "a: b\r\n".repeat(1000)).as_bytes(),
        ),
        "/v1/short" => socket.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npart"),
        "/v1/nonsense" => socket.write_all(b"this is no HTTP\r\n\r\n"),
        "/v1/refused" => socket.write_all(
            format!(
                "HTTP/1.1 401 Unauthorized\r\nX-Echo: Bearer {KEY}\r\nSet-Cookie: a=b\r\nRequest-Id: r\r\n\
                 Content-Length: 2\r\n\r\nno"
            )
            .as_bytes(),
        ),
        _ => socket.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
    }
}

fn request(path: &str, headers: &[(&str, &str)]) -> Llm {
    let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Llm { path: path.to_owned(), headers }
}

async fn head(peer: &mut Peer, stream: StreamId) -> Result<LlmHeaders, WireError> {
    loop {
        match peer.event(stream).await {
            Event::Message { message: Message::LlmHeaders(head), .. } => return Ok(head),
            Event::Failed(_, error) => return Err(error),
            Event::Writable(..) => {}
            other => panic!("{other:?}"),
        }
    }
}

async fn ask(peer: &mut Peer, request: Llm, body: &[u8]) -> Result<(LlmHeaders, Vec<u8>), WireError> {
    let stream = peer.sends(request, body).await;
    let head = head(peer, stream).await?;
    let mut content = Vec::new();
    loop {
        match peer.event(stream).await {
            Event::Data(_, Channel::Main, bytes) => content.extend_from_slice(&bytes),
            Event::Message { message: Message::LlmDone(LlmDone { bytes }), fin: true, .. } => {
                assert_eq!(bytes, content.len() as u64);
                return Ok((head, content));
            }
            Event::Failed(_, error) => return Err(error),
            Event::End(..) | Event::Writable(..) => {}
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn each_event_arrives_before_the_endpoint_goes_on() {
    let endpoint = Endpoint::start();
    World::run_with_llm(endpoint.config(Provider::Openai), async |world| {
        let sent =
            request("/v1/sse", &[("Content-Type", "application/json"), ("accept", "text/event-stream")]);
        let stream = world.peer.sends(sent, br#"{"stream":true}"#).await;
        let head = head(&mut world.peer, stream).await.unwrap();
        assert_eq!(head.status, 200);
        assert_eq!(head.headers, [("content-type".to_owned(), "text/event-stream".to_owned())]);
        for event in 1..=3 {
            let Event::Data(_, Channel::Main, bytes) = world.peer.event(stream).await else { panic!() };
            assert_eq!(bytes, format!("data: {event}\n\n"));
            endpoint.go.send(()).unwrap();
        }
        assert!(matches!(world.peer.event(stream).await, Event::End(_, Channel::Main)));
        let last = world.peer.event(stream).await;
        let done = Message::LlmDone(LlmDone { bytes: 27 });
        assert!(matches!(last, Event::Message { message, fin: true, .. } if message == done));
        let asked = endpoint.asked();
        let text = asked.to_lowercase();
        assert!(asked.starts_with("POST /base/v1/sse HTTP/1.1\r\n"), "{asked}");
        assert!(asked.ends_with("\r\n\r\n{\"stream\":true}"), "{asked}");
        for line in [
            format!("authorization: bearer {KEY}"),
            format!("host: {}", endpoint.address),
            "content-length: 15".into(),
            "accept-encoding: identity".into(),
        ] {
            assert!(text.contains(&format!("\r\n{line}\r\n")), "{line}: {text}");
        }
    });
}

#[test]
fn anthropic_is_shown_the_key_its_way_and_no_body_is_a_get() {
    let endpoint = Endpoint::start();
    World::run_with_llm(endpoint.config(Provider::Anthropic), async |world| {
        let sent = request("/v1/models?limit=3", &[("anthropic-version", "2023-06-01")]);
        let (head, body) = ask(&mut world.peer, sent, b"").await.unwrap();
        assert_eq!((head.status, body.len()), (200, 0));
        let asked = endpoint.asked();
        assert!(asked.starts_with("GET /base/v1/models?limit=3 HTTP/1.1\r\n"), "{asked}");
        assert!(asked.contains(&format!("\r\nx-api-key: {KEY}\r\n")), "{asked}");
        assert!(asked.contains("\r\nanthropic-version: 2023-06-01\r\n"), "{asked}");
        assert!(!asked.to_lowercase().contains("authorization"), "{asked}");
    });
}

#[test]
fn redirects_are_not_followed_and_no_answer_shows_the_key() {
    let endpoint = Endpoint::start();
    World::run_with_llm(endpoint.config(Provider::Openai), async |world| {
        let (head, _) = ask(&mut world.peer, request("/v1/redirect", &[]), b"{}").await.unwrap();
        assert_eq!(head.status, 307);
        let (head, body) = ask(&mut world.peer, request("/v1/refused", &[]), b"{}").await.unwrap();
        assert_eq!((head.status, body.as_slice()), (401, &b"no"[..]));
        let names: Vec<_> = head.headers.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["request-id", "content-length"]);
        assert!(endpoint.asked().contains("/v1/redirect") && endpoint.asked().contains("/v1/refused"));
        assert!(endpoint.asked.try_recv().is_err(), "the redirect was followed");
    });
}

#[test]
fn a_hostile_request_never_reaches_the_endpoint() {
    let endpoint = Endpoint::start();
    World::run_with_llm(endpoint.config(Provider::Openai), async |world| {
        for bad in [
            request("http://evil.example/v1", &[]),
            request("//evil.example/v1", &[]),
            request("@evil.example/", &[]),
            request("/../admin", &[]),
            request("/v1\r\nHost: evil.example", &[]),
            request("/v1", &[("Host", "evil.example")]),
            request("/v1", &[("Authorization", "Bearer mine")]),
            request("/v1", &[("accept", "a\r\nX-Injected: b")]),
            request("/v1", &[("accept\r\nX-Injected", "b")]),
        ] {
            let error = ask(&mut world.peer, bad.clone(), b"{}").await.unwrap_err();
            assert_eq!(error.kind, ErrorKind::InvalidBody, "{bad:?}: {error}");
        }
        let large = vec![b'x'; 16 * 1024 * 1024 + 1];
        let error = ask(&mut world.peer, request("/v1", &[]), &large).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::TooLarge, "{error}");
        assert!(endpoint.asked.try_recv().is_err());
        // A body of the largest allowed size is sent completely.
        ask(&mut world.peer, request("/v1", &[]), &large[1..]).await.unwrap();
        assert!(endpoint.asked().len() > large.len());
    });
}

#[test]
fn a_hostile_answer_is_an_error_in_words_without_the_key() {
    let endpoint = Endpoint::start();
    World::run_with_llm(endpoint.config(Provider::Openai), async |world| {
        for path in ["/v1/huge", "/v1/many", "/v1/short", "/v1/nonsense"] {
            let error = ask(&mut world.peer, request(path, &[]), b"{}").await.unwrap_err();
            assert_eq!(error.kind, ErrorKind::Io, "{path}: {error}");
            assert!(
                !error.description.contains(KEY) && error.description.contains("LLM endpoint"),
                "{error}"
            );
        }
    });
}

#[test]
fn a_cancel_and_a_lost_link_close_the_connection_to_the_endpoint() {
    let endpoint = Endpoint::start();
    World::run_with_llm(endpoint.config(Provider::Openai), async |world| {
        for path in ["/v1/hang", "/v1/silent", "/v1/endless"] {
            let stream = world.peer.sends(request(path, &[]), b"{}").await;
            endpoint.asked();
            world.peer.cancel(stream).await;
            let error = loop {
                match world.peer.event(stream).await {
                    Event::Failed(_, error) => break error,
                    Event::Message { fin: false, .. } | Event::Data(..) | Event::Writable(..) => {}
                    other => panic!("{other:?}"),
                }
            };
            assert_eq!(error.kind, ErrorKind::Cancelled, "{path}: {error}");
            endpoint.gone.recv_timeout(PATIENCE).expect(path);
        }
        for path in ["/v1/hang", "/v1/endless"] {
            world.peer.consumes = false;
            let stream = world.peer.sends(request(path, &[]), b"{}").await;
            head(&mut world.peer, stream).await.unwrap();
            world.cut().await;
            endpoint.gone.recv_timeout(PATIENCE).expect(path);
        }
    });
}

#[test]
fn an_endpoint_that_is_silent_or_not_there_is_an_error() {
    let endpoint = Endpoint::start();
    let config = endpoint.config(Provider::Openai);
    let impatient = |executor: &_| LlmConfig { idle_ms: SHORT_IDLE_MS, ..config(executor) };
    World::run_with_llm(impatient, async |world| {
        for path in ["/v1/silent", "/v1/hang"] {
            let error = ask(&mut world.peer, request(path, &[]), b"{}").await.unwrap_err();
            assert!(error.kind == ErrorKind::Io && error.description.contains("silent"), "{error}");
            endpoint.gone.recv_timeout(PATIENCE).expect(path);
        }
        let stream = world.peer.open(request("/v1/x", &[]));
        let error = head(&mut world.peer, stream).await.unwrap_err();
        assert!(error.description.contains("the rest of the request did not arrive"), "{error}");
    });
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for url in [format!("http://{free}"), format!("https://{}", endpoint.address)] {
        let config = endpoint.config(Provider::Openai);
        let wrong = |executor: &_| LlmConfig { base: base_url(&url).unwrap(), ..config(executor) };
        World::run_with_llm(wrong, async |world| {
            let error = ask(&mut world.peer, request("/v1/x", &[]), b"{}").await.unwrap_err();
            assert!(error.kind == ErrorKind::Io && !error.description.contains(KEY), "{url}: {error}");
        });
    }
}

#[test]
fn a_new_key_is_taken_up_a_missing_one_is_told_and_commands_see_neither() {
    let endpoint = Endpoint::start();
    let config = endpoint.config(Provider::Openai);
    let (send_file, files) = channel();
    let config = |executor: &runner::executor::ExecutorConfig| {
        send_file.send(executor.state_dir.join("llm-key")).unwrap();
        config(executor)
    };
    World::run_with_llm(config, async |world| {
        let file = files.recv().unwrap();
        let seen =
            world.shell(&format!("cat {}; env; cat /proc/*/environ /proc/*/cmdline", file.display())).await;
        assert!(!String::from_utf8_lossy(&seen.stdout).contains(KEY), "{seen:?}");
        std::fs::write(&file, "another\n").unwrap();
        ask(&mut world.peer, request("/v1/x", &[]), b"{}").await.unwrap();
        assert!(endpoint.asked().contains("Bearer another\r\n"));
        std::fs::remove_file(&file).unwrap();
        let error = ask(&mut world.peer, request("/v1/x", &[]), b"{}").await.unwrap_err();
        assert!(error.kind == ErrorKind::Io && error.description.contains("its log"), "{error}");
        assert!(!error.description.contains(file.to_str().unwrap()), "{error}");
        // A link to a file that commands can change.
        std::fs::write(world.path("mine"), "chosen\n").unwrap();
        std::os::unix::fs::symlink(world.path("mine"), &file).unwrap();
        ask(&mut world.peer, request("/v1/x", &[]), b"{}").await.unwrap_err();
        assert!(endpoint.asked.try_recv().is_err());
    });
}

#[test]
fn without_an_endpoint_it_says_how_to_get_one_and_too_many_at_once_are_busy() {
    World::run(async |world| {
        let error = ask(&mut world.peer, request("/v1/x", &[]), b"{}").await.unwrap_err();
        assert!(error.kind == ErrorKind::Unsupported && error.description.contains("--llm-url"), "{error}");
        assert_eq!(world.peer.exec(shell("echo fine")).await.text(), "fine\n");
    });
    let endpoint = Endpoint::start();
    World::run_with_llm(endpoint.config(Provider::Openai), async |world| {
        for _ in 0..runner::limits::LLM_REQUESTS {
            let stream = world.peer.sends(request("/v1/hang", &[]), b"{}").await;
            head(&mut world.peer, stream).await.unwrap();
        }
        let error = ask(&mut world.peer, request("/v1/x", &[]), b"{}").await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Busy, "{error}");
    });
}
