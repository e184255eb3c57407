//! The reasons why no WebSocket was opened.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use hyper::StatusCode;
use serde::Deserialize;

/// The longest reason of a refusal that is shown, in characters.
const REASON_CHARS: usize = 300;

/// The reason why no WebSocket was opened.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The request cannot be written: the host, the path or a header has invalid characters.
    #[error("the WebSocket request cannot be written: {0}")]
    Request(String),
    /// The connection broke.
    #[error(transparent)]
    Io(io::Error),
    /// The other end's response is not HTTP, or its head is longer than [`crate::HEAD_BYTES`].
    #[error("the response cannot be read: {0}")]
    Http(String),
    /// The other end switched protocols, but not to the requested WebSocket.
    #[error("the response does not open a WebSocket: {0}")]
    NotAWebSocket(&'static str),
    /// The other end answered with another status.
    #[error("{0}")]
    Refused(Refusal),
    /// There was no complete response within this time.
    #[error("no response within {} s", .0.as_secs())]
    Late(Duration),
}

impl Error {
    /// Converts an error of hyper, with its innermost cause, which is the most specific.
    pub(crate) fn from_hyper(error: hyper::Error) -> Self {
        if error.is_incomplete_message() {
            let closed = "the connection was closed before a response arrived";
            return Self::Io(io::Error::new(io::ErrorKind::UnexpectedEof, closed));
        }
        let is_http = error.is_parse();
        let mut innermost: &dyn std::error::Error = &error;
        while let Some(source) = innermost.source() {
            innermost = source;
        }
        match innermost.downcast_ref::<io::Error>() {
            Some(broken) if !is_http => Self::Io(io::Error::new(broken.kind(), innermost.to_string())),
            _ => Self::Http(innermost.to_string()),
        }
    }
}

/// A response that opens no WebSocket.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// The HTTP status of the response.
    pub status: StatusCode,
    /// The value of `Retry-After`, if it has one.
    pub retry_after: Option<String>,
    /// The part of the body that was read: all of it, unless it is long or late.
    pub body: Bytes,
}

/// The error document of the server.
#[derive(Deserialize)]
struct ErrorDocument {
    error: ErrorBody,
}

#[derive(Deserialize)]
struct ErrorBody {
    message: String,
}

impl Refusal {
    /// The reason in the server's own words, from its error document: one line of at most 300 characters.
    pub fn reason(&self) -> Option<String> {
        let document: ErrorDocument = serde_json::from_slice(&self.body).ok()?;
        let words = document.error.message.chars().map(|it| if it.is_control() { ' ' } else { it });
        let reason: String = words.take(REASON_CHARS).collect();
        Some(reason.trim().to_owned()).filter(|reason| !reason.is_empty())
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "the server answered {} instead of opening a WebSocket", self.status)?;
        self.reason().map_or(Ok(()), |reason| write!(formatter, ": {reason}"))
    }
}
