//! How links to runners are made. A link carries whole messages; which bytes they become is its own affair.

pub(crate) mod docker;
pub(crate) mod local;
pub(crate) mod memory;
pub(crate) mod remote;
pub(crate) mod stdio;

use std::io;

use bytes::Bytes;
use futures_util::{Sink, Stream};

/// One message of a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkMessage {
    /// A handshake's JSON.
    Text(String),
    /// A binary frame.
    Binary(Bytes),
}

impl LinkMessage {
    /// Size of the text or frame, in bytes.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Binary(bytes) => bytes.len(),
        }
    }
}

/// A pair of message streams to and from one runner.
///
/// Whoever makes one bounds a message at [`proto::limits::MAX_FRAME_BYTES`] before it is buffered.
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
