//! A small part of the internet: an HTTP server that gives the configured answer for each path.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// The answer for a path.
#[derive(Clone, Debug)]
pub enum Page {
    /// A media type and a body.
    Is(&'static str, Vec<u8>),
    /// The request itself, as JSON: `{"request": …}`.
    Echo,
    /// A body that claims to be compressed in this way.
    Packed(&'static str, Vec<u8>),
    /// A redirect to another place.
    Moved(String),
    /// A redirect to another place, with this status.
    MovedBy(u16, String),
    /// A status without a body.
    Status(u16),
    /// A body that never ends.
    Endless,
}

/// The server; it ends with the process.
pub struct Pages {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Pages {
    /// Answers each path, with its query, with the result of `answer`.
    pub fn start(answer: impl Fn(&str) -> Page + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (answer, asked) = (Arc::new(answer), Arc::<Mutex<Vec<String>>>::default());
        let log = asked.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (answer, log) = (answer.clone(), log.clone());
                // The client may disconnect on purpose.
                thread::spawn(move || drop(serve(stream.unwrap(), &*answer, &log)));
            }
        });
        Self { address, asked }
    }

    /// The port that it listens on.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// All requests so far: each head, with its body.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn serve(
    mut stream: TcpStream,
    answer: &dyn Fn(&str) -> Page,
    log: &Mutex<Vec<String>>,
) -> std::io::Result<()> {
    let mut head = String::new();
    let mut reader = BufReader::new(stream.try_clone()?);
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head)? == 0 {
            return Ok(());
        }
    }
    let path = head.split(' ').nth(1).unwrap_or("/").to_owned();
    let length = head.lines().filter_map(|line| line.split_once(':'));
    let length = length.filter(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    let mut body = vec![0; length.filter_map(|(_, value)| value.trim().parse().ok()).next().unwrap_or(0)];
    reader.read_exact(&mut body)?;
    let asked = head + &String::from_utf8_lossy(&body);
    log.lock().unwrap_or_else(PoisonError::into_inner).push(asked.clone());
    let echo = || serde_json::json!({"request": asked}).to_string().into_bytes();
    let answered = match answer(&path) {
        Page::Echo => Page::Is("application/json", echo()),
        Page::Moved(to) => Page::MovedBy(302, to),
        other => other,
    };
    match answered {
        Page::Packed(encoding, body) => {
            let length = body.len();
            write!(
                stream,
                "HTTP/1.1 200 OK\r\ncontent-encoding: {encoding}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
            )?;
            stream.write_all(&body)
        }
        Page::Is(media_type, body) => {
            let length = body.len();
            write!(
                stream,
                "HTTP/1.1 200 OK\r\ncontent-type: {media_type}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
            )?;
            stream.write_all(&body)
        }
        Page::MovedBy(status, to) => write!(
            stream,
            "HTTP/1.1 {status} Found\r\nlocation: {to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        ),
        Page::Status(status) => {
            write!(stream, "HTTP/1.1 {status} No\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        }
        Page::Echo | Page::Moved(_) => unreachable!("they were replaced above"),
        Page::Endless => {
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\n")?;
            loop {
                stream.write_all(&[b'x'; 64 * 1024])?;
            }
        }
    }
}
