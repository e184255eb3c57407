//! Floods of connections that never log in: the server's memory stays small, and other clients are answered.

use std::io::{ErrorKind, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tests::http::Client;
use tests::random::count;
use tests::{Server, process};

/// The limit on the memory that the server may allocate during the floods, in KiB; 38 MiB of it are for two password checks. The server's code, 23
/// MiB in a release build, is not included.
const ALLOCATED_KIB: u64 = 72 * 1024;
/// The number of logins that each announce 4 MiB, and send as much as the server accepts.
const LARGE_LOGINS: usize = 500;
/// The number of connections that keep sending requests and never read.
const READERS: usize = 300;
/// The interval of checks of the server.
const LOOK: Duration = Duration::from_millis(200);

fn allow_many_files() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).unwrap();
}

/// Opens a connection that has sent the head, and as much of `rest` as is accepted at once.
fn stranger(address: &str, head: &str, rest: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_nonblocking(true).unwrap();
    // The server may already have closed the connection.
    let _ = stream.write_all(head.as_bytes());
    fill(&mut stream, rest);
    stream
}

fn fill(stream: &mut TcpStream, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        match stream.write(bytes) {
            Ok(written) if written > 0 => bytes = &bytes[written..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            _ => return,
        }
    }
}

#[test]
fn floods_of_strangers_use_little_memory_and_delay_nobody() {
    allow_many_files();
    let server = Server::start();
    let alice = server.person("alice");
    let client = Client::login(&server, &alice.name);
    let address = server.url().trim_start_matches("http://").to_owned();
    let login = format!(
        "POST /api/v1/login HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: 4194304\r\n\r\n"
    );
    let chunked = login.replace("Content-Length: 4194304", "Transfer-Encoding: chunked");
    let chunks = format!("4000\r\n{}\r\n", " ".repeat(0x4000)).repeat(16).into_bytes();
    let large_head = format!("GET / HTTP/1.1\r\nHost: {address}\r\nX: {}", "x".repeat(12_000));
    let after_another = format!("GET /healthz HTTP/1.1\r\nHost: {address}\r\n\r\nGET / HTTP/1.1\r\nHost: ");
    let slow_login = format!("{}{}", login.replace("4194304", "16384"), " ".repeat(7_000));
    let page = format!("GET / HTTP/1.1\r\nHost: {address}\r\n\r\n").repeat(4_000).into_bytes();
    let body = vec![b' '; 256 * 1024];
    let mut strangers = Vec::new();
    let look = || {
        let allocated_kib = process::anonymous_kib(server.pid());
        assert!(allocated_kib < ALLOCATED_KIB, "{allocated_kib} KiB");
        assert_eq!(client.call("GET", "/me").status, 200);
        allocated_kib
    };
    let mut most_kib = look();
    for _ in 0..LARGE_LOGINS {
        strangers.push(stranger(&address, &login, &body));
        strangers.push(stranger(&address, &chunked, &chunks));
    }
    most_kib = most_kib.max(look());
    for _ in 0..READERS {
        strangers.push(stranger(&address, "", &page));
    }
    most_kib = most_kib.max(look());
    for number in 0..count("SANDBRIDGE_STRANGERS", 2_500) {
        let head = match number % 4 {
            0 => "GET / HTTP/1.1\r\nHost: ",
            1 => &large_head,
            2 => &after_another,
            _ => &slow_login,
        };
        strangers.push(stranger(&address, head, b""));
        if number % 500 == 0 {
            most_kib = most_kib.max(look());
        }
    }
    let end = Instant::now() + Duration::from_secs(count("SANDBRIDGE_STRANGERS_S", 3));
    let mut slowest = Duration::ZERO;
    while Instant::now() < end {
        let began = Instant::now();
        Client::login(&server, &alice.name);
        slowest = slowest.max(began.elapsed());
        most_kib = most_kib.max(look());
        for stream in strangers.iter_mut().take(LARGE_LOGINS) {
            fill(stream, &body);
        }
        thread::sleep(LOOK);
    }
    println!("{most_kib} KiB at most; the slowest login took {slowest:?}");
}
