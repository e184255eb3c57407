//! The envelope that carries frames over a byte stream (standard input and output of a runner).
//!
//! ```text
//!  0              4      5              9              13
//!  +--------------+------+--------------+--------------+---------
//!  | F5 53 42 31  | kind | length (u32) | CRC-32 (u32) | payload       kind: 0 text, 1 binary
//!  +--------------+------+--------------+--------------+---------
//! ```
//! A new attacher may meet the middle of a frame, so the reader searches for the marker and accepts only what the checksum
//! confirms. Once it has read one whole envelope, anything else between envelopes is an error.

use bytes::{Buf, Bytes, BytesMut};

use crate::limits::MAX_FRAME_BYTES;

/// Size of the envelope's head, in bytes.
pub const ENVELOPE_BYTES: usize = 13;

/// First byte outside ASCII and UTF-8 (0xF5 starts no character), then `SB1`.
const MARKER: [u8; 4] = [0xf5, b'S', b'B', b'1'];

/// How much may be skipped in search of the first marker, in bytes: half a frame may remain from an old attacher.
const MAX_SKIPPED_BYTES: usize = 2 * MAX_FRAME_BYTES;

/// How much may be checksummed in search of the first envelope, in bytes: overlapping false heads are expensive.
const MAX_CHECKED_BYTES: usize = 32 * MAX_FRAME_BYTES;

/// The content of an envelope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Payload {
    /// A handshake's JSON.
    Text(String),
    /// A binary frame.
    Binary(Bytes),
}

/// The error for a byte stream that does not consist of envelopes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum StdioError {
    /// Something else is where an envelope must begin, or its checksum is wrong.
    #[error("the byte stream contains data that is not an envelope; check that nothing else writes to it")]
    OutOfSync,
    /// An envelope announces more than a frame may hold.
    #[error("an envelope of {0} bytes is larger than a frame may be")]
    TooLarge(usize),
}

/// The head in front of `payload`.
pub fn envelope(payload: &[u8], is_text: bool) -> [u8; ENVELOPE_BYTES] {
    let length = u32::try_from(payload.len()).expect("frames are at most 1 MiB");
    let mut head = [0; ENVELOPE_BYTES];
    head[..4].copy_from_slice(&MARKER);
    head[4] = u8::from(!is_text);
    head[5..9].copy_from_slice(&length.to_le_bytes());
    head[9..].copy_from_slice(&crc32fast::hash(payload).to_le_bytes());
    head
}

/// Finds envelopes in bytes that arrive in any pieces.
///
/// ```text
/// Searching --(first envelope whose checksum holds)--> InSync --(anything else)--> error
/// ```
#[derive(Debug, Default)]
pub struct Reader {
    buffer: BytesMut,
    in_sync: bool,
    skipped_bytes: usize,
    checked_bytes: usize,
}

impl Reader {
    /// The buffer to read into; [`Reader::next_payload`] examines its content.
    pub fn buffer(&mut self) -> &mut BytesMut {
        &mut self.buffer
    }

    /// The next whole payload, or `None` when more bytes are needed.
    pub fn next_payload(&mut self) -> Result<Option<Payload>, StdioError> {
        loop {
            match self.examine(0) {
                Examined::NeedMore if self.in_sync => return Ok(None),
                Examined::NeedMore => match self.later_envelope() {
                    Some(start) => self.skip(start)?,
                    None => return self.within_bounds().map(|()| None),
                },
                Examined::Envelope { length, is_text } => {
                    self.buffer.advance(ENVELOPE_BYTES);
                    let payload = self.buffer.split_to(length).freeze();
                    self.in_sync = true;
                    return Self::payload(payload, is_text).map(Some);
                }
                Examined::Wrong(error) if self.in_sync => return Err(error),
                Examined::Wrong(_) => self.skip(self.next_marker(1).unwrap_or(self.buffer.len()))?,
            }
        }
    }

    fn examine(&mut self, start: usize) -> Examined {
        let bytes = &self.buffer[start..];
        let known = bytes.len().min(MARKER.len());
        if bytes[..known] != MARKER[..known] {
            return Examined::Wrong(StdioError::OutOfSync);
        }
        let Some(head) = bytes.first_chunk::<ENVELOPE_BYTES>() else { return Examined::NeedMore };
        let length = u32::from_le_bytes([head[5], head[6], head[7], head[8]]) as usize;
        if length > MAX_FRAME_BYTES || head[4] > 1 {
            return Examined::Wrong(StdioError::TooLarge(length));
        }
        let Some(payload) = bytes[ENVELOPE_BYTES..].get(..length) else { return Examined::NeedMore };
        if !self.in_sync {
            self.checked_bytes += length;
            if self.checked_bytes > MAX_CHECKED_BYTES {
                return Examined::Wrong(StdioError::OutOfSync);
            }
        }
        if crc32fast::hash(payload) != u32::from_le_bytes([head[9], head[10], head[11], head[12]]) {
            return Examined::Wrong(StdioError::OutOfSync);
        }
        Examined::Envelope { length, is_text: head[4] == 0 }
    }

    /// The next possible position of a marker at or after `start`.
    fn next_marker(&self, start: usize) -> Option<usize> {
        self.buffer.iter().skip(start).position(|&byte| byte == MARKER[0]).map(|at| at + start)
    }

    /// The position of a complete envelope after a false marker that announces bytes which may never come.
    fn later_envelope(&mut self) -> Option<usize> {
        let mut start = 1;
        while let Some(at) = self.next_marker(start) {
            if let Examined::Envelope { .. } = self.examine(at) {
                return Some(at);
            }
            start = at + 1;
        }
        None
    }

    /// Drops bytes that belong to no valid envelope.
    fn skip(&mut self, count: usize) -> Result<(), StdioError> {
        self.buffer.advance(count);
        self.skipped_bytes += count;
        self.within_bounds()
    }

    /// Fails if the search for the first envelope has examined too much.
    fn within_bounds(&self) -> Result<(), StdioError> {
        let gives_up = self.skipped_bytes > MAX_SKIPPED_BYTES || self.checked_bytes > MAX_CHECKED_BYTES;
        if gives_up { Err(StdioError::OutOfSync) } else { Ok(()) }
    }

    fn payload(bytes: Bytes, is_text: bool) -> Result<Payload, StdioError> {
        if !is_text {
            return Ok(Payload::Binary(bytes));
        }
        String::from_utf8(bytes.into()).map(Payload::Text).map_err(|_| StdioError::OutOfSync)
    }
}

enum Examined {
    NeedMore,
    Envelope { length: usize, is_text: bool },
    Wrong(StdioError),
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn enveloped(payload: &[u8]) -> Vec<u8> {
        [&envelope(payload, false)[..], payload].concat()
    }

    fn read_all(reader: &mut Reader) -> Vec<Bytes> {
        std::iter::from_fn(|| reader.next_payload().unwrap())
            .map(|payload| match payload {
                Payload::Binary(bytes) => bytes,
                Payload::Text(text) => panic!("text {text}"),
            })
            .collect()
    }

    proptest! {
        #[test]
        fn frames_survive_any_cut(payloads in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 1..8), piece in 1usize..64) {
            let stream: Vec<u8> = payloads.iter().flat_map(|payload| enveloped(payload)).collect();
            let mut reader = Reader::default();
            let mut read = Vec::new();
            for part in stream.chunks(piece) {
                reader.buffer().extend_from_slice(part);
                read.extend(read_all(&mut reader));
            }
            prop_assert_eq!(read.iter().map(|bytes| bytes.to_vec()).collect::<Vec<_>>(), payloads);
        }

        #[test]
        fn new_attacher_finds_the_frame_after_half_a_frame(cut in 1usize..100, junk in prop::collection::vec(any::<u8>(), 100)) {
            let mut reader = Reader::default();
            reader.buffer().extend_from_slice(&enveloped(&junk)[cut..]);
            reader.buffer().extend_from_slice(&enveloped(b"first whole"));
            let read = read_all(&mut reader);
            prop_assert_eq!(read.last().map(|bytes| &bytes[..]), Some(&b"first whole"[..]));
        }

        #[test]
        fn no_input_panics(bytes in prop::collection::vec(any::<u8>(), 0..500)) {
            let mut reader = Reader::default();
            reader.buffer().extend_from_slice(&bytes);
            while let Ok(Some(_)) = reader.next_payload() {}
        }
    }

    #[test]
    fn damage_between_frames_is_an_error_once_in_sync() {
        let mut reader = Reader::default();
        reader.buffer().extend_from_slice(&enveloped(b"one"));
        reader.buffer().extend_from_slice(b"noise from a library that prints");
        assert_eq!(reader.next_payload(), Ok(Some(Payload::Binary(Bytes::from_static(b"one")))));
        assert_eq!(reader.next_payload(), Err(StdioError::OutOfSync));
    }

    #[test]
    fn false_marker_does_not_hide_the_frame_behind_it() {
        let mut reader = Reader::default();
        let mut false_head = envelope(b"", false);
        false_head[5..9].copy_from_slice(&1_000_000u32.to_le_bytes());
        reader.buffer().extend_from_slice(&false_head);
        reader.buffer().extend_from_slice(&enveloped(b"whole"));
        assert_eq!(read_all(&mut reader), [&b"whole"[..]]);
    }

    #[test]
    fn endless_noise_is_given_up() {
        let mut reader = Reader::default();
        reader.buffer().extend_from_slice(&vec![b'x'; MAX_SKIPPED_BYTES + 1]);
        assert_eq!(reader.next_payload(), Err(StdioError::OutOfSync));
    }

    #[test]
    fn false_envelopes_cost_no_more_than_they_hold() {
        let mut reader = Reader::default();
        let mut false_head = envelope(b"", false);
        false_head[5..9].copy_from_slice(&1_000_000u32.to_le_bytes());
        let mut given_up = false;
        for _ in 0..MAX_SKIPPED_BYTES / 8192 {
            reader.buffer().extend_from_slice(&false_head.repeat(8192 / ENVELOPE_BYTES));
            given_up |= reader.next_payload() == Err(StdioError::OutOfSync);
        }
        assert!(given_up, "each head asks for a checksum of a megabyte");
    }

    #[test]
    fn oversized_envelope_is_refused_before_its_bytes_arrive() {
        let mut reader = Reader::default();
        reader.buffer().extend_from_slice(&enveloped(b"ok"));
        let mut head = envelope(b"", false);
        head[5..9].copy_from_slice(&u32::MAX.to_le_bytes());
        reader.buffer().extend_from_slice(&head);
        assert!(matches!(reader.next_payload(), Ok(Some(_))));
        assert_eq!(reader.next_payload(), Err(StdioError::TooLarge(u32::MAX as usize)));
    }
}
