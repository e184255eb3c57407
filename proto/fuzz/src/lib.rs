//! The bodies of the fuzz targets: arbitrary bytes for the protocol's decoders and its session.
//!
//! | target | input |
//! |---|---|
//! | [`handshake`] | a text frame |
//! | [`frame`] | frames of a hostile peer, for both sides of a session |
//! | [`session`] | the actions of two honest sides, and the delivery of each frame |
//! | [`stdio`] | bytes of a byte-stream link, in pieces |
//!
//! `tests/fuzz.rs` of the crate replays the corpus through the same functions, and mutates it for a while, on stable Rust.

mod honest;

use std::time::Instant;

use bytes::Bytes;
use proto::handshake::Handshake;
use proto::limits::MAX_FRAME_BYTES;
use proto::message::Done;
use proto::request::{Exec, ReadFile, Stat, WriteFile};
use proto::stdio::{Payload, Reader, envelope};
use proto::{Channel, DataBuf, Event, ExecId, Request, Session, Side, StreamId, WirePath, frame as frames};

pub use honest::session;

/// A target's body: it panics if the protocol is violated.
pub type Target = fn(&[u8]);

/// Every target by its name, which is also that of its corpus directory.
pub const TARGETS: [(&str, Target); 4] =
    [("handshake", handshake), ("frame", frame), ("session", session), ("stdio", stdio)];

/// A message that decodes is encoded to the same bytes again.
pub fn handshake(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(understood) = Handshake::from_text(text) else { return };
    let again = Handshake::from_text(&understood.to_text());
    assert_eq!(again.ok().as_ref(), Some(&understood));
}

/// Frames of any content: each is a little-endian u16 length followed by that many bytes. The input's first byte selects the
/// open requests.
pub fn frame(data: &[u8]) {
    let now = Instant::now();
    let Some((&opened, mut rest)) = data.split_first() else { return };
    let mut ends = [Some(originator(opened)), Some(Session::new(Side::Executor, now))];
    while let Some((length, behind)) = rest.split_first_chunk::<2>() {
        let length = usize::from(u16::from_le_bytes(*length)).min(behind.len());
        let (piece, behind) = behind.split_at(length);
        rest = behind;
        let piece = Bytes::copy_from_slice(piece);
        if let Ok((header, body)) = frames::decode(&piece) {
            assert_eq!(header.frame(&body), piece, "a frame that was understood is encoded as it came");
        }
        for end in &mut ends {
            let lives = end.as_mut().is_none_or(|session| receive(session, &piece, now));
            if !lives {
                *end = None;
            }
        }
    }
    for session in ends.iter_mut().flatten() {
        session.drain();
    }
}

/// A server with up to seven open requests.
fn originator(opened: u8) -> Session {
    let now = Instant::now();
    let mut session = Session::new(Side::Originator, now);
    for number in 0..opened % 8 {
        session.open(&request(number, 0)).expect("seven requests are within the limits");
    }
    while session.poll_transmit(now).is_some() {}
    session
}

/// Processes one frame and answers like a peer; `false` when the link is to be closed.
fn receive(session: &mut Session, piece: &Bytes, now: Instant) -> bool {
    match session.receive(piece, now) {
        Ok(Some(Event::Opened(id, request))) => answer(session, id, &request),
        Ok(Some(Event::Data(id, _, bytes))) => session.consumed(id, bytes.len()),
        Ok(Some(Event::Cancelled(id))) => session.message(id, &Done {}.into(), true).expect("it is small"),
        Ok(_) => {}
        Err(close) => {
            frames::decode(&close.to_frame()).expect("a reason to close is sent");
            return false;
        }
    }
    while let Some(sent) = session.poll_transmit(now) {
        frames::decode(&sent).expect("what is sent can be read");
    }
    true
}

fn answer(session: &mut Session, id: StreamId, request: &Request) {
    // Data at an offset chosen by the peer is refused by the runner before any is sent.
    if request.carries_data() && request.first_offset() == 0 {
        let room = session.writable(id).min(1000);
        session.data(id, Channel::Stdout, DataBuf::zeroed(room));
        session.end(id, Channel::Stdout);
    }
    if id.0.is_multiple_of(2) {
        session.message(id, &Done {}.into(), true).expect("it is small");
    }
}

/// One of the requests, by number; an attach uses `offset`.
fn request(number: u8, offset: u64) -> Request {
    let (id, path) = (ExecId([number; 16]), WirePath::from("a"));
    match number % 5 {
        0 => Exec::new(id, proto::request::Command::Shell(b"true".to_vec())).into(),
        1 => ReadFile { path, offset: 0, length: None }.into(),
        2 => WriteFile { id, path, mode: None, parents: false, size_bytes: None, if_match: None }.into(),
        3 => proto::request::Attach { id, offset, output: true }.into(),
        _ => Stat { path }.into(),
    }
}

/// Regardless of the bytes before, a reader that found its first envelope reads the next ones completely; the first byte
/// sets the size of the pieces.
pub fn stdio(data: &[u8]) {
    let Some((&size, rest)) = data.split_first() else { return };
    let mut reader = Reader::default();
    for piece in rest.chunks(usize::from(size) + 1) {
        reader.buffer().extend_from_slice(piece);
        if !drain(&mut reader) {
            return;
        }
    }
    let mut reader = Reader::default();
    for payload in [&b"first"[..], rest] {
        reader.buffer().extend_from_slice(&envelope(payload, false));
        for piece in payload.chunks(usize::from(size) + 1) {
            assert_eq!(reader.next_payload(), Ok(None), "an envelope that is not whole");
            reader.buffer().extend_from_slice(piece);
        }
        if payload.len() <= MAX_FRAME_BYTES {
            let whole = Payload::Binary(Bytes::copy_from_slice(payload));
            assert_eq!(reader.next_payload(), Ok(Some(whole)));
        }
    }
}

/// Reads complete payloads; `false` when the link is to be closed.
fn drain(reader: &mut Reader) -> bool {
    loop {
        match reader.next_payload() {
            Ok(Some(Payload::Binary(bytes))) => assert!(bytes.len() <= MAX_FRAME_BYTES),
            Ok(Some(Payload::Text(text))) => assert!(text.len() <= MAX_FRAME_BYTES),
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
}
