//! WebSockets of stand-ins on which other threads send, and the faults of stand-ins.

use std::io::ErrorKind;
use std::net::Shutdown;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde_json::Value;
use tungstenite::protocol::CloseFrame;
use tungstenite::protocol::frame::coding::CloseCode;
use tungstenite::{Error, Message};

use super::serve::{Reply, Socket};

/// The interval at which a WebSocket checks for messages to send.
const LOOKS_EVERY: Duration = Duration::from_millis(5);

/// The longest time that a silent connection is kept.
const SILENT_FOR: Duration = Duration::from_secs(120);

/// A command for a WebSocket.
#[derive(Clone, Debug)]
pub enum Order {
    /// Send this message.
    Send(Message),
    /// Close it, with a code and a reason.
    Close(u16, String),
    /// End the connection without a close frame.
    Cut,
    /// Read and send nothing from now on, and keep the connection.
    FallSilent,
}

/// The sending side of a WebSocket; what is sent after its end is lost.
pub type Line = mpsc::Sender<Order>;

/// A stand-in's handling of its WebSockets, which are numbered in the order in which they were opened.
pub trait Talk {
    /// A WebSocket was opened.
    fn opened(&self, number: u64, line: &Line);

    /// The WebSocket received a text or a binary message.
    fn received(&self, number: u64, line: &Line, message: Message);

    /// The WebSocket received the answer to a ping.
    fn ponged(&self, payload: &[u8]) {
        let _ = payload;
    }

    /// The WebSocket ended.
    fn ended(&self, number: u64);
}

/// Runs a WebSocket until it ends.
pub fn talk(mut socket: Socket, with: &dyn Talk) {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    socket.get_ref().set_read_timeout(Some(LOOKS_EVERY)).unwrap();
    let (line, orders) = mpsc::channel();
    with.opened(number, &line);
    'socket: loop {
        for order in orders.try_iter() {
            let done = match order {
                Order::Send(message) => socket.send(message),
                Order::Close(code, reason) => {
                    socket.close(Some(CloseFrame { code: CloseCode::from(code), reason: reason.into() }))
                }
                Order::Cut => break 'socket,
                Order::FallSilent => {
                    stay_silent(&orders);
                    break 'socket;
                }
            };
            if done.is_err() {
                break 'socket;
            }
        }
        match socket.read() {
            Ok(message @ (Message::Text(_) | Message::Binary(_))) => with.received(number, &line, message),
            Ok(Message::Pong(payload)) => with.ponged(&payload),
            Ok(_) => {}
            Err(Error::Io(error)) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(_) => break,
        }
    }
    // The server has another handle of it.
    let _ = socket.get_ref().shutdown(Shutdown::Both);
    with.ended(number);
}

/// Waits until the connection is to be cut.
fn stay_silent(orders: &mpsc::Receiver<Order>) {
    let start = Instant::now();
    while start.elapsed() < SILENT_FOR && !matches!(orders.recv_timeout(LOOKS_EVERY), Ok(Order::Cut)) {}
}

/// Numbered pings, which show how far the other side has read: it answers one once it has handled all that it received before.
#[derive(Debug, Default)]
pub struct Pings {
    sent: u64,
    answered: u64,
}

impl Pings {
    /// The next ping, and its number.
    pub fn begin(&mut self) -> (u64, Message) {
        self.sent += 1;
        (self.sent, Message::Ping(self.sent.to_be_bytes().to_vec().into()))
    }

    /// Records the answer to a ping.
    pub fn answered(&mut self, payload: &[u8]) {
        let number = payload.try_into().map_or(0, u64::from_be_bytes);
        self.answered = self.answered.max(number);
    }

    /// True if this ping, or a later one, was answered.
    pub fn is_answered(&self, number: u64) -> bool {
        self.answered >= number
    }
}

/// A JSON document in a message; null if it is not JSON.
pub fn json(message: &Message) -> Value {
    message.to_text().ok().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

/// A messenger's fault in one request to send or to change something.
#[derive(Clone, Copy, Debug)]
pub enum Fault {
    /// The messenger takes the message, and never answers.
    TakeAndHang,
    /// The messenger takes the message, and the connection ends before the answer.
    TakeAndCut,
    /// The messenger takes nothing, and the connection ends.
    Cut,
    /// The messenger takes nothing, and answers with this status and an empty document.
    Status(u16),
    /// The messenger asks to wait for this many seconds; with `None` it names no time.
    TooFast(Option<u32>),
}

/// The response at a file's address, instead of the file.
#[derive(Clone, Debug)]
pub enum Trick {
    /// The file, with a wrong length in the header.
    Lie(u64),
    /// A redirect to another address.
    Redirect(String),
    /// A body of this many bytes.
    Flood(u64),
}

/// Counts what happened within the last second.
#[derive(Debug, Default)]
pub struct Pace(Vec<Instant>);

impl Pace {
    /// Counts one more event, unless there were `max` within the last second; returns true if it was counted.
    pub fn is_kept(&mut self, max: usize) -> bool {
        self.0.retain(|at| at.elapsed() < Duration::from_secs(1));
        let is_kept = self.0.len() < max;
        if is_kept {
            self.0.push(Instant::now());
        }
        is_kept
    }
}

/// The response with a file's bytes, or with a trick instead.
pub fn file(bytes: &[u8], trick: Option<&Trick>) -> Reply {
    match trick {
        None => Reply::Is(
            200,
            vec![("content-type".to_owned(), "application/octet-stream".to_owned())],
            bytes.to_vec(),
        ),
        Some(Trick::Lie(length)) => Reply::Lying(*length, bytes.to_vec()),
        Some(Trick::Redirect(to)) => Reply::moved(to),
        Some(Trick::Flood(length)) => Reply::Lying(*length, vec![0; usize::try_from(*length).unwrap()]),
    }
}
