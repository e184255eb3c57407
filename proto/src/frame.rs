//! Binary frames: a fixed 16-byte header, then a body.
//!
//! ```text
//!  0      1      2             4                    8                                      16
//!  +------+------+-------------+--------------------+--------------------------------------+------
//!  | kind | flags| type (u16)  | stream (u32)       | sequence (u64)                       | body
//!  +------+------+-------------+--------------------+--------------------------------------+------
//! ```
//! Little endian. The meaning of `type` and `sequence` depends on the kind; see [`Kind`].

use bytes::{BufMut, Bytes, BytesMut};

use crate::ids::StreamId;
use crate::limits::{MAX_CONTROL_BYTES, MAX_DATA_BYTES, MAX_FRAME_BYTES};

/// Size of the header, in bytes.
pub const HEADER_BYTES: usize = 16;

/// Flag of a MESSAGE: the last frame its sender puts on the stream.
pub const FLAG_FIN: u8 = 0x80;

/// Bits of the flags that name the channel of a DATA, END or GAP frame.
const CHANNEL_MASK: u8 = 0x03;

/// The byte stream that a DATA, END or GAP frame belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Channel {
    /// The only flow of its direction: a file's bytes, a listing, an exec's stdin.
    Main = 0,
    /// An exec's standard output (and standard error where they are merged).
    Stdout = 1,
    /// An exec's standard error.
    Stderr = 2,
}

impl Channel {
    fn from_flags(flags: u8) -> Option<Self> {
        match flags & CHANNEL_MASK {
            0 => Some(Channel::Main),
            1 => Some(Channel::Stdout),
            2 => Some(Channel::Stderr),
            _ => None,
        }
    }
}

/// The kinds of frames. The number is the first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A request opens a stream. `type`: request type. `sequence`: credit granted to the answering side, in bytes.
    Open = 1,
    /// A response or event. `type`: message type. Flag FIN ends the stream.
    Message = 2,
    /// Raw bytes. `sequence`: the number of earlier data bytes on this stream and direction.
    Data = 3,
    /// No more data on this channel. `sequence` as in DATA.
    End = 4,
    /// Bytes were dropped here. `sequence` as in DATA, body: their number (u64). They count as sent.
    Gap = 5,
    /// The request failed; ends the stream. Body: the wire error.
    Fail = 6,
    /// More may be sent. `sequence`: additional bytes. May overtake other frames.
    Credit = 16,
    /// The requester wants the stream's work stopped (`type` 0), or only the stream ended (1). May overtake other frames.
    Cancel = 17,
    /// A result arrived, and the runner may forget it. Body: the exec_id. May overtake other frames.
    Ack = 18,
    /// Asks for a sign of life. `sequence`: any number, echoed by the pong. May overtake other frames.
    Ping = 19,
    /// Answers a ping. May overtake other frames.
    Pong = 20,
    /// The last frame of a link. `type`: close code. `sequence`: with a server's goodbye, after how many milliseconds to come
    /// back. Body: UTF-8 reason.
    Close = 21,
}

impl Kind {
    /// Every kind, for tests and the specification.
    pub const ALL: &[Kind] = &[
        Kind::Open,
        Kind::Message,
        Kind::Data,
        Kind::End,
        Kind::Gap,
        Kind::Fail,
        Kind::Credit,
        Kind::Cancel,
        Kind::Ack,
        Kind::Ping,
        Kind::Pong,
        Kind::Close,
    ];

    fn from_byte(byte: u8) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| *kind as u8 == byte)
    }

    fn max_body_bytes(self) -> usize {
        match self {
            Kind::Data => MAX_DATA_BYTES,
            Kind::Open | Kind::Message | Kind::Fail => MAX_CONTROL_BYTES,
            Kind::Close => 1024,
            Kind::Ack => 16,
            Kind::Gap => 8,
            Kind::End | Kind::Credit | Kind::Cancel | Kind::Ping | Kind::Pong => 0,
        }
    }
}

/// The decoded header of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The kind of frame.
    pub kind: Kind,
    /// [`FLAG_FIN`] and the channel bits.
    pub flags: u8,
    /// Request type, message type or close code.
    pub type_number: u16,
    /// The stream, 0 for the session.
    pub stream: StreamId,
    /// Offset, credit or nonce, by kind.
    pub sequence: u64,
}

impl Header {
    /// A header without flags, type and sequence.
    pub fn new(kind: Kind, stream: StreamId) -> Self {
        Self { kind, flags: 0, type_number: 0, stream, sequence: 0 }
    }

    /// The channel bits; `None` for the value no channel has.
    pub fn channel(&self) -> Option<Channel> {
        Channel::from_flags(self.flags)
    }

    /// True if this is the sender's last frame on the stream.
    pub fn is_fin(&self) -> bool {
        self.flags & FLAG_FIN != 0
    }

    fn to_bytes(self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[0] = self.kind as u8;
        bytes[1] = self.flags;
        bytes[2..4].copy_from_slice(&self.type_number.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.stream.0.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.sequence.to_le_bytes());
        bytes
    }

    /// A whole frame of this header and `body`.
    pub fn frame(self, body: &[u8]) -> Bytes {
        let mut frame = BytesMut::with_capacity(HEADER_BYTES + body.len());
        frame.put_slice(&self.to_bytes());
        frame.put_slice(body);
        frame.freeze()
    }
}

/// Invalid framing; the link is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The frame has fewer than 16 bytes.
    #[error("a frame of {0} bytes is shorter than its header")]
    Short(usize),
    /// The first byte is not the number of any kind.
    #[error("unknown frame kind {0}")]
    UnknownKind(u8),
    /// The frame is larger than its kind allows.
    #[error("a frame of {0} bytes is too large for its kind")]
    TooLarge(usize),
}

/// Splits a frame into its header and body; the body shares the frame's memory.
pub fn decode(frame: &Bytes) -> Result<(Header, Bytes), FrameError> {
    let Some(head) = frame.first_chunk::<HEADER_BYTES>() else {
        return Err(FrameError::Short(frame.len()));
    };
    let kind = Kind::from_byte(head[0]).ok_or(FrameError::UnknownKind(head[0]))?;
    if frame.len() > MAX_FRAME_BYTES || frame.len() - HEADER_BYTES > kind.max_body_bytes() {
        return Err(FrameError::TooLarge(frame.len()));
    }
    let header = Header {
        kind,
        flags: head[1],
        type_number: u16::from_le_bytes([head[2], head[3]]),
        stream: StreamId(u32::from_le_bytes([head[4], head[5], head[6], head[7]])),
        sequence: u64::from_le_bytes([
            head[8], head[9], head[10], head[11], head[12], head[13], head[14], head[15],
        ]),
    };
    Ok((header, frame.slice(HEADER_BYTES..)))
}

/// Bytes to be sent as DATA, with space for the header in front, so that they are never copied to be framed.
#[derive(Debug)]
pub struct DataBuf(BytesMut);

impl DataBuf {
    /// An empty buffer with room for `capacity` bytes.
    pub fn with_capacity(capacity: usize) -> Self {
        let mut buffer = BytesMut::with_capacity(HEADER_BYTES + capacity);
        buffer.put_bytes(0, HEADER_BYTES);
        Self(buffer)
    }

    /// A buffer of `length` zero bytes, to be read into.
    pub fn zeroed(length: usize) -> Self {
        Self(BytesMut::zeroed(HEADER_BYTES + length))
    }

    /// Space where at most `limit` more bytes can be put without zeroing it first.
    pub fn unfilled(&mut self, limit: usize) -> impl BufMut + '_ {
        (&mut self.0).limit(limit)
    }

    /// A copy of `bytes`.
    pub fn copy_from(bytes: &[u8]) -> Self {
        let mut buffer = Self::with_capacity(bytes.len());
        buffer.0.put_slice(bytes);
        buffer
    }

    /// How many data bytes it holds.
    pub fn len(&self) -> usize {
        self.0.len() - HEADER_BYTES
    }

    /// True if there are no data bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The data bytes.
    pub fn as_slice(&self) -> &[u8] {
        &self.0[HEADER_BYTES..]
    }

    /// The data bytes, to be read into.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        &mut self.0[HEADER_BYTES..]
    }

    /// Appends a copy of `bytes`.
    pub fn extend_from_slice(&mut self, bytes: &[u8]) {
        self.0.put_slice(bytes);
    }

    /// Keeps the first `length` data bytes.
    pub fn truncate(&mut self, length: usize) {
        self.0.truncate(HEADER_BYTES + length);
    }

    /// Cuts off and returns what follows the first `length` data bytes (copying that rest).
    pub fn split_off(&mut self, length: usize) -> DataBuf {
        let rest = DataBuf::copy_from(&self.as_slice()[length..]);
        self.truncate(length);
        rest
    }

    /// The data bytes, unframed.
    pub fn into_bytes(self) -> Bytes {
        self.0.freeze().slice(HEADER_BYTES..)
    }

    pub(crate) fn into_frame(mut self, header: Header) -> Bytes {
        self.0[..HEADER_BYTES].copy_from_slice(&header.to_bytes());
        self.0.freeze()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_round_trips_for_every_kind() {
        for &kind in Kind::ALL {
            let header =
                Header { kind, flags: 0x81, type_number: 513, stream: StreamId(7), sequence: u64::MAX - 1 };
            let (decoded, body) = decode(&header.frame(&[])).unwrap();
            assert_eq!((decoded, body.len()), (header, 0));
            assert_eq!((decoded.channel(), decoded.is_fin()), (Some(Channel::Stdout), true));
        }
    }

    #[test]
    fn data_buffer_becomes_a_frame_without_moving_its_bytes() {
        let mut buffer = DataBuf::with_capacity(64);
        buffer.extend_from_slice(b"hello");
        let address = buffer.as_slice().as_ptr();
        let frame = buffer.into_frame(Header::new(Kind::Data, StreamId(1)));
        let (_, body) = decode(&frame).unwrap();
        assert_eq!((&body[..], body.as_ptr()), (&b"hello"[..], address));
    }

    #[test]
    fn broken_frames_are_refused() {
        assert_eq!(decode(&Bytes::from_static(&[3; 15])), Err(FrameError::Short(15)));
        assert_eq!(decode(&Bytes::from_static(&[99; 16])), Err(FrameError::UnknownKind(99)));
        let large = Header::new(Kind::Data, StreamId(1)).frame(&vec![0; MAX_DATA_BYTES + 1]);
        assert_eq!(decode(&large), Err(FrameError::TooLarge(large.len())));
        let ping = Header::new(Kind::Ping, StreamId(0)).frame(&[1]);
        assert_eq!(decode(&ping), Err(FrameError::TooLarge(17)));
    }
}
