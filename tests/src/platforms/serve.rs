//! An HTTP/1.1 and WebSocket server, which stand-ins are built on: one thread per connection.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::Value;
use tungstenite::WebSocket;
use tungstenite::handshake::derive_accept_key;
use tungstenite::protocol::Role;

/// The largest body that a stand-in reads.
const BODY_MAX_BYTES: usize = 64 << 20;

/// An HTTP request.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// `GET`, `POST` and so on.
    pub method: String,
    /// The path, without its query, as it was sent.
    pub path: String,
    /// The query, without `?`.
    pub query: String,
    /// The headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The whole body.
    pub body: Vec<u8>,
}

/// One part of a form with files.
#[derive(Clone, Debug)]
pub struct Part {
    /// The name of the form's field.
    pub name: String,
    /// The file's name, if the part is a file.
    pub file: Option<String>,
    /// The content of the part.
    pub bytes: Vec<u8>,
}

impl Request {
    /// A header's value; empty if it was not sent.
    pub fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    /// The body as JSON; null if it is not JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// A value of the query.
    pub fn query(&self, name: &str) -> Option<String> {
        fields(&self.query).into_iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// The fields of a form in the body.
    pub fn form(&self) -> Vec<(String, String)> {
        fields(&String::from_utf8_lossy(&self.body))
    }

    /// The parts of a form with files in the body; none if it is not such a form.
    pub fn parts(&self) -> Vec<Part> {
        let kind = self.header("content-type");
        let Some(boundary) = kind.split("boundary=").nth(1) else { return Vec::new() };
        let boundary = format!("--{}", boundary.trim_matches('"'));
        let mut parts = Vec::new();
        let mut rest = &self.body[..];
        while let Some(at) = find(rest, boundary.as_bytes()) {
            rest = &rest[at + boundary.len()..];
            let Some(split) = find(rest, b"\r\n\r\n") else { break };
            let head = String::from_utf8_lossy(&rest[..split]).into_owned();
            let body = &rest[split + 4..];
            let Some(end) = find(body, format!("\r\n{boundary}").as_bytes()) else { break };
            let value = |key: &str| {
                let found = head.split(&format!(" {key}=")).nth(1)?;
                let value = found.split("\r\n").next()?.split(';').next()?;
                Some(value.trim_matches('"').to_owned())
            };
            let name = value("name").unwrap_or_default();
            parts.push(Part { name, file: value("filename"), bytes: body[..end].to_vec() });
            rest = &body[end..];
        }
        parts
    }
}

/// The response to a request.
#[derive(Clone, Debug)]
pub enum Reply {
    /// A status, headers and a body.
    Is(u16, Vec<(String, String)>, Vec<u8>),
    /// A body that claims another length than it has; the connection ends after it.
    Lying(u64, Vec<u8>),
    /// The connection's end without an answer.
    Cut,
    /// Nothing, until the other side closes.
    Silent,
}

impl Reply {
    /// A response with a JSON document.
    pub fn json(status: u16, body: &Value) -> Self {
        let kind = ("content-type".to_owned(), "application/json".to_owned());
        Self::Is(status, vec![kind], body.to_string().into_bytes())
    }

    /// A redirect to another place.
    pub fn moved(to: &str) -> Self {
        Self::Is(302, vec![("location".to_owned(), to.to_owned())], Vec::new())
    }

    /// This response with one more header.
    #[must_use]
    pub fn with(self, name: &str, value: &str) -> Self {
        match self {
            Self::Is(status, mut headers, body) => {
                headers.push((name.to_owned(), value.to_owned()));
                Self::Is(status, headers, body)
            }
            other => other,
        }
    }
}

/// A WebSocket of a stand-in.
pub type Socket = WebSocket<TcpStream>;

/// A stand-in's handling of requests and of WebSockets.
pub trait Service: Send + Sync + 'static {
    /// Answers a request. Called by a thread of the connection; it may wait.
    fn answer(&self, request: &Request) -> Reply;

    /// True if a WebSocket is accepted there; otherwise the request is answered.
    fn upgrades(&self, request: &Request) -> bool {
        let _ = request;
        false
    }

    /// Holds a WebSocket until it ends.
    fn hold(&self, request: &Request, socket: Socket) {
        let _ = (request, socket);
    }
}

/// A running server; it accepts nothing more when this is dropped, and its connections end.
pub struct Serving {
    address: SocketAddr,
    open: Arc<Mutex<Vec<TcpStream>>>,
    is_over: Arc<AtomicBool>,
}

impl Serving {
    /// Starts on a free port of this machine.
    pub fn start(service: Arc<dyn Service>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (open, is_over) = (Arc::<Mutex<Vec<TcpStream>>>::default(), Arc::<AtomicBool>::default());
        let (streams, over) = (open.clone(), is_over.clone());
        thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { continue };
                if over.load(Ordering::SeqCst) {
                    return;
                }
                let mut streams = streams.lock().unwrap_or_else(PoisonError::into_inner);
                streams.retain(|stream| stream.peer_addr().is_ok());
                streams.extend(stream.try_clone());
                let service = service.clone();
                // The client may disconnect on purpose.
                thread::spawn(move || drop(connection(stream, &*service)));
            }
        });
        Self { address, open, is_over }
    }

    /// The server's base URL, without `/` at the end.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The server's base URL for WebSockets.
    pub fn ws_url(&self) -> String {
        format!("ws://{}", self.address)
    }

    /// Ends every open connection, like a failing network.
    pub fn cut(&self) {
        for stream in self.open.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            // It may have ended by itself.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        // Wakes the thread that accepts.
        let _ = TcpStream::connect(self.address);
        self.cut();
    }
}

fn connection(stream: TcpStream, service: &dyn Service) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut writer = stream;
    while let Some(request) = read(&mut reader, &mut writer)? {
        if request.header("upgrade").eq_ignore_ascii_case("websocket") && service.upgrades(&request) {
            let key = derive_accept_key(request.header("sec-websocket-key").as_bytes());
            write!(
                writer,
                "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-accept: {key}\r\n\r\n"
            )?;
            let early = reader.buffer().to_vec();
            // The list of open connections has the stream, too, and would keep it open.
            let stream = writer.try_clone()?;
            service.hold(&request, WebSocket::from_partially_read(writer, early, Role::Server, None));
            return stream.shutdown(Shutdown::Both);
        }
        let is_head = request.method == "HEAD";
        match service.answer(&request) {
            Reply::Is(status, headers, body) => {
                let mut head = format!("HTTP/1.1 {status} Answer\r\ncontent-length: {}\r\n", body.len());
                for (name, value) in headers {
                    head.push_str(&format!("{name}: {value}\r\n"));
                }
                writer.write_all(format!("{head}\r\n").as_bytes())?;
                if !is_head {
                    writer.write_all(&body)?;
                }
            }
            Reply::Lying(length, body) => {
                write!(writer, "HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n")?;
                writer.write_all(&body)?;
                return writer.shutdown(Shutdown::Both);
            }
            Reply::Cut => return writer.shutdown(Shutdown::Both),
            Reply::Silent => {
                let _ = reader.read(&mut [0; 1])?;
                return writer.shutdown(Shutdown::Both);
            }
        }
    }
    writer.shutdown(Shutdown::Both)
}

fn read(reader: &mut impl BufRead, writer: &mut TcpStream) -> std::io::Result<Option<Request>> {
    let mut first = String::new();
    if reader.read_line(&mut first)? == 0 {
        return Ok(None);
    }
    let mut words = first.split_whitespace();
    let method = words.next().unwrap_or_default().to_owned();
    let target = words.next().unwrap_or("/");
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut request =
        Request { method, path: path.to_owned(), query: query.to_owned(), ..Request::default() };
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line.trim_end().is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':') {
            request.headers.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
        }
    }
    if request.header("expect").eq_ignore_ascii_case("100-continue") {
        writer.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
    }
    if request.header("transfer-encoding").eq_ignore_ascii_case("chunked") {
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            let length = usize::from_str_radix(line.trim(), 16).unwrap_or(0);
            let mut chunk = vec![0; length.min(BODY_MAX_BYTES)];
            reader.read_exact(&mut chunk)?;
            request.body.extend(chunk);
            reader.read_line(&mut String::new())?;
            if length == 0 || request.body.len() > BODY_MAX_BYTES {
                break;
            }
        }
    } else {
        let length: usize = request.header("content-length").parse().unwrap_or(0);
        request.body = vec![0; length.min(BODY_MAX_BYTES)];
        reader.read_exact(&mut request.body)?;
    }
    Ok(Some(request))
}

/// The fields of a query or a form.
pub fn fields(text: &str) -> Vec<(String, String)> {
    let pairs = text.split('&').filter(|pair| !pair.is_empty());
    let pairs = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    pairs.map(|(name, value)| (decoded(name), decoded(value))).collect()
}

/// A text without its percent-encoding; `+` is a space.
pub fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let hex = (first == b'%').then(|| tail.get(..2)).flatten();
        let hex = hex.and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        match hex {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            None => {
                bytes.push(if first == b'+' { b' ' } else { first });
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|window| window == part)
}

/// The result of polling a WebSocket of a stand-in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Polled {
    /// A text message.
    Text(String),
    /// Nothing yet.
    Nothing,
    /// The connection ended.
    Ended,
}

/// How long a poll of a WebSocket waits.
const POLL: Duration = Duration::from_millis(10);

/// Reads from a WebSocket, for a moment. Pings are answered.
pub fn poll(socket: &mut Socket) -> Polled {
    if socket.get_ref().set_read_timeout(Some(POLL)).is_err() {
        return Polled::Ended;
    }
    match socket.read() {
        Ok(tungstenite::Message::Text(text)) => Polled::Text(text.as_str().to_owned()),
        Ok(tungstenite::Message::Close(_)) => {
            // Sends the answer to it.
            let _ = socket.flush();
            Polled::Ended
        }
        Ok(_) => Polled::Nothing,
        Err(tungstenite::Error::Io(error))
            if matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut) =>
        {
            Polled::Nothing
        }
        Err(_) => Polled::Ended,
    }
}
