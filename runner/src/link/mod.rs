//! Links: they carry whole frames between this runner and a server.
//!
//! | module | carries frames over |
//! |---|---|
//! | [`websocket`] | a WebSocket the runner opens |
//! | [`stdio`] | the standard streams, for a runner that a server started itself |
//! | [`memory`] | channels, for tests |
//! | [`register`] | (the text frames that come before binary ones, the same on all) |

pub mod memory;
pub mod register;
pub mod stdio;
pub mod websocket;

use bytes::Bytes;
use futures_util::{Sink, Stream};

/// A registered link: a stream and a sink of whole binary frames.
pub trait Link: Stream<Item = Result<Bytes, LinkError>> + Sink<Bytes, Error = LinkError> + Unpin {}

impl<T: Stream<Item = Result<Bytes, LinkError>> + Sink<Bytes, Error = LinkError> + Unpin> Link for T {}

/// The reason why a link can carry no more frames.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// The other end closed it.
    #[error("the server closed the connection")]
    Ended,
    /// The operating system reports an error.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// The WebSocket library reports an error.
    #[error("{0}")]
    WebSocket(String),
    /// Something other than a frame arrived.
    #[error("the server sent something that is not a frame")]
    NotAFrame,
    /// A new peer attached to the standard streams and wants a registration.
    #[error("a new server attached")]
    Reattached,
    /// The envelopes of the standard streams are out of step.
    #[error(transparent)]
    Envelope(#[from] proto::stdio::StdioError),
}
