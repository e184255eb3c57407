//! The page's terminal: a real shell opened by a page's session. It outlives the page and the server, and several pages
//! may watch it.

use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tests::http::Client;
use tests::{Machine, Server, eventually};
use tungstenite::client::IntoClientRequest;
use tungstenite::{Message, WebSocket};

const ID: &str = "000102030405060708090a0b0c0d0e0f";

const PATIENCE: Duration = Duration::from_secs(60);

/// A terminal in a page, with the page's connection.
struct Page {
    socket: WebSocket<TcpStream>,
    /// All output that the page received.
    shown: Vec<u8>,
    /// The number of bytes that are no longer available.
    gap_bytes: u64,
}

impl Page {
    /// Connects with the cookie, the token and the Origin that a page sends.
    fn open(server: &Server, client: &Client, path: &str) -> Self {
        let address = server.url().trim_start_matches("http://");
        let mut request = format!("ws://{address}/api/v1{path}").into_client_request().unwrap();
        let headers = request.headers_mut();
        headers.insert("cookie", client.cookie().parse().unwrap());
        let protocols = format!("sandbridge, bearer.{}", client.token());
        headers.insert("sec-websocket-protocol", protocols.parse().unwrap());
        headers.insert("origin", server.url().parse().unwrap());
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let (socket, _) = tungstenite::client(request, stream).unwrap();
        Self { socket, shown: Vec::new(), gap_bytes: 0 }
    }

    fn say(&mut self, value: &Value) {
        self.socket.send(Message::text(value.to_string())).unwrap();
    }

    fn type_in(&mut self, text: &str) {
        self.socket.send(Message::binary([&[0], text.as_bytes()].concat())).unwrap();
    }

    /// The next text frame that is not a gap; output that precedes it is kept.
    fn frame(&mut self) -> Value {
        loop {
            match self.socket.read().unwrap() {
                Message::Binary(bytes) => self.shown.extend_from_slice(&bytes[1..]),
                Message::Text(text) => {
                    let frame: Value = serde_json::from_str(&text).unwrap();
                    match frame["type"].as_str() {
                        Some("gap") => self.gap_bytes += frame["bytes"].as_u64().unwrap(),
                        Some("interrupted" | "resumed" | "input") => {}
                        _ => return frame,
                    }
                }
                Message::Close(_) => panic!("closed"),
                _ => {}
            }
        }
    }

    /// Reads until `shown` has this text.
    fn sees(&mut self, text: &str) {
        let until = Instant::now() + PATIENCE;
        while !String::from_utf8_lossy(&self.shown).contains(text) {
            let shown = String::from_utf8_lossy(&self.shown);
            assert!(Instant::now() < until, "{text:?} does not follow {shown:?}");
            match self.socket.read().unwrap() {
                Message::Binary(bytes) => self.shown.extend_from_slice(&bytes[1..]),
                Message::Text(frame) => {
                    assert!(!frame.contains("\"exit\"") && !frame.contains("\"error\""), "{frame}")
                }
                _ => {}
            }
        }
    }

    /// True if the server closes the connection without sending anything.
    fn is_turned_away(&mut self) -> bool {
        matches!(self.socket.read(), Ok(Message::Close(_)) | Err(_))
    }

    fn offset(&self) -> u64 {
        self.shown.len() as u64 + self.gap_bytes
    }
}

fn start(server: &Server, client: &Client, linger_s: u32) -> Page {
    let mut page = Page::open(server, client, "/exec");
    let size = json!({"rows": 24, "columns": 80});
    page.say(
        &json!({"exec_id": ID, "pty": size, "linger_s": linger_s, "argv": ["sh"], "env": {"PS1": "$ "}}),
    );
    assert_eq!(page.frame()["type"], "started");
    page
}

fn again(server: &Server, client: &Client, offset: u64) -> Page {
    let mut page = Page::open(server, client, &format!("/execs/{ID}?offset={offset}"));
    let started = page.frame();
    assert_eq!(started["type"], "started", "{started}");
    page
}

#[test]
fn a_terminal_outlives_its_page_and_the_server_and_shows_its_output_again() {
    let mut server = Server::start();
    let alice = server.person("alice");
    let _machine = Machine::start(&server, &alice, "laptop");
    let client = Client::log_in_as_page(&server, "alice");
    let mut page = start(&server, &client, 60);
    page.type_in("echo a$((40+2))b; kept=here\n");
    page.sees("a42b");
    let offset = page.offset();
    // The page is reloaded, or the lid closed: the connection ends without a closing frame.
    drop(page);
    let mut all = again(&server, &client, 0);
    all.sees("a42b");
    let mut rest = again(&server, &client, offset);
    rest.type_in("echo still-$kept\n");
    rest.sees("still-here");
    assert!(!String::from_utf8_lossy(&rest.shown).contains("a42b"), "continued from the last offset");
    // Both pages watch the terminal; the page that connected last may type.
    all.sees("still-here");
    let mut all = again(&server, &client, all.offset());
    all.type_in("echo both-$((1+1))\n");
    rest.sees("both-2");
    all.say(&json!({"type": "resize", "rows": 33, "columns": 101}));
    all.type_in("stty size\n");
    rest.sees("33 101");
    drop((all, rest));
    server.restart(&["--docker", "off"]);
    let mut page = eventually("the runner is back", PATIENCE, || {
        alice.is_online("laptop").then(|| again(&server, &client, 0))
    });
    page.sees("33 101");
    page.type_in("exit 7\n");
    let end = page.frame();
    assert_eq!((&end["type"], &end["code"]), (&json!("exit"), &json!(7)), "{end}");
}

#[test]
fn an_abandoned_terminal_ends_and_a_watched_one_does_not() {
    let server = Server::start();
    let alice = server.person("alice");
    let _machine = Machine::start(&server, &alice, "laptop");
    let client = Client::log_in_as_page(&server, "alice");
    drop(start(&server, &client, 2));
    let mut page = again(&server, &client, 0);
    page.type_in("sleep 4; echo wo$((0))ke\n");
    page.sees("wo0ke");
    drop(page);
    let ended = || {
        let exec = client.call("GET", &format!("/execs/{ID}")).json();
        (exec["status"] != "running").then_some(exec)
    };
    let exec = eventually("it ends", PATIENCE, ended);
    assert_eq!((&exec["status"], &exec["terminal"]), (&json!("cancelled"), &json!(true)), "{exec}");
}

#[test]
fn a_late_connection_that_its_page_has_replaced_takes_nothing_over() {
    let server = Server::start();
    let alice = server.person("alice");
    let _machine = Machine::start(&server, &alice, "laptop");
    let client = Client::log_in_as_page(&server, "alice");
    let _first = start(&server, &client, 60);
    let of = |name: &str, connection: u32| {
        let path = format!("/execs/{ID}?offset=0&client={name}&connection={connection}");
        Page::open(&server, &client, &path)
    };
    let mut page = of("window", 2);
    assert_eq!(page.frame()["type"], "started");
    assert!(of("window", 1).is_turned_away());
    page.type_in("echo mine-$((1+1))\n");
    page.sees("mine-2");
    // Another window does not count as a late connection, whatever its number is.
    let mut other = of("other", 0);
    assert_eq!(other.frame()["type"], "started");
    other.type_in("echo other-$((1+1))\n");
    page.sees("other-2");
}
