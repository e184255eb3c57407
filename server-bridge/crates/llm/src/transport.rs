//! The transport of a request's bytes to a provider, and of the response's bytes back.

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;

use crate::error::Error;

/// A request to a provider: a POST of JSON, or a GET if the body is empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Appended to the provider's base URL, such as `/v1/messages`.
    pub path: &'static str,
    /// Names in lower case, and values; the transport adds the key.
    pub headers: Vec<(&'static str, String)>,
    /// JSON, in pieces.
    pub body: Vec<Bytes>,
}

/// A provider's response as it arrives. Dropping this ends the connection.
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The pause that the provider requests, in seconds, if any.
    pub retry_after_s: Option<u64>,
    /// The body, in pieces as they arrive.
    pub body: BoxStream<'static, Result<Bytes, Error>>,
}

impl std::fmt::Debug for Answer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Answer").field("status", &self.status).finish_non_exhaustive()
    }
}

/// A way to a provider: directly over HTTP ([`crate::http`]), or through a runner that has the key.
pub trait Transport: Send + Sync {
    /// Sends a call and waits for the response to begin.
    ///
    /// Fails if no response begins, for example with [`Error::Network`] or [`Error::Relay`]; a provider's refusal is a response.
    fn send(&self, call: Call) -> BoxFuture<'_, Result<Answer, Error>>;
}
