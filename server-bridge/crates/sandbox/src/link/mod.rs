//! Links to runners: each carries whole messages, and turns them into bytes in its own way.
//!
//! A link over a WebSocket is created by the web layer; the two kinds that are created here need no HTTP.

pub(crate) mod memory;
pub(crate) mod stdio;

use std::io;

use bytes::Bytes;
use futures_util::{Sink, Stream};

/// One message of a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkMessage {
    /// A handshake's JSON, or a message of xbot's dialect.
    Text(String),
    /// A binary frame of Sandbridge's own protocol.
    Binary(Bytes),
    /// Asks a WebSocket peer for a sign of life; only xbot's dialect needs it.
    Ping,
    /// A WebSocket peer gave a sign of life, requested or not. Only reported once a ping was sent on the link.
    Pong,
}

impl LinkMessage {
    /// Size of the text or frame, in bytes.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Binary(bytes) => bytes.len(),
            Self::Ping | Self::Pong => 0,
        }
    }
}

/// A pair of message streams to and from one runner.
///
/// The code that makes one bounds a message before it is buffered: at [`proto::limits::MAX_FRAME_BYTES`], or at
/// [`crate::XBOT_MESSAGE_BYTES`] if runners of xbot's dialect may register.
pub trait Link:
    Stream<Item = Result<LinkMessage, io::Error>> + Sink<LinkMessage, Error = io::Error> + Send + Unpin + 'static
{
}

impl<L> Link for L where
    L: Stream<Item = Result<LinkMessage, io::Error>>
        + Sink<LinkMessage, Error = io::Error>
        + Send
        + Unpin
        + 'static
{
}
