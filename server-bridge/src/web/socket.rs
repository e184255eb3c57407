//! WebSockets: upgrading a request, with bounds on the memory that the other end can use.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use axum_tws::{Config, Limits, Message, WebSocket, WebSocketUpgrade};
use futures_util::{Sink, Stream};

use crate::limits::{SOCKET_BULK_BUFFER_BYTES, SOCKET_PINGS, SOCKET_WRITE_BUFFER_BYTES};
use crate::web::accept::Connection;
use crate::web::error::ApiError;
use crate::web::standing::Standing;

/// The protocol name that a page sends; a program sends none.
const PROTOCOL: &str = "sandbridge";
/// The prefix of a token among the protocols that a page offers: a page cannot send the token in another way.
const OFFERED_TOKEN: &str = "bearer.";

/// The token among the protocols that a request to become a WebSocket offers.
pub fn offered_token(headers: &HeaderMap) -> Option<&str> {
    headers.get(header::UPGRADE)?;
    offered(headers).find_map(|protocol| protocol.strip_prefix(OFFERED_TOKEN))
}

fn offered(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let lines =
        headers.get_all(header::SEC_WEBSOCKET_PROTOCOL).iter().filter_map(|value| value.to_str().ok());
    lines.flat_map(|line| line.split(',')).map(str::trim)
}

/// A request for a WebSocket.
pub struct Upgrade {
    upgrade: WebSocketUpgrade,
    standing: Option<Arc<Standing>>,
    names_protocol: bool,
}

/// An [`Upgrade`] with its limits set.
pub struct LimitedUpgrade {
    upgrade: WebSocketUpgrade,
    names_protocol: bool,
}

impl Upgrade {
    /// Limits the size of a client's messages, in bytes.
    pub fn with_max_message_bytes(self, bytes: usize) -> LimitedUpgrade {
        self.limited(bytes, SOCKET_WRITE_BUFFER_BYTES)
    }

    /// As [`Self::with_max_message_bytes`], for the socket of one command: it may carry a lot of output, and its client may stop
    /// reading for a long time.
    pub fn for_bulk(self, bytes: usize) -> LimitedUpgrade {
        if let Some(standing) = &self.standing {
            standing.allow_pauses();
        }
        self.limited(bytes, SOCKET_BULK_BUFFER_BYTES)
    }

    fn limited(self, message_bytes: usize, buffer_bytes: usize) -> LimitedUpgrade {
        // Messages are sent unfragmented, because the reader may not support fragments.
        let config = Config::default().flush_threshold(buffer_bytes).frame_size(usize::MAX);
        let limits = Limits::default().max_payload_len(Some(message_bytes));
        let upgrade = self.upgrade.config(config).limits(limits);
        LimitedUpgrade { upgrade, names_protocol: self.names_protocol }
    }
}

impl LimitedUpgrade {
    /// Responds to the request; `serve` gets the socket, in a separate task.
    pub fn on_upgrade<F, Served>(self, serve: F) -> Response
    where
        F: FnOnce(Socket) -> Served + Send + 'static,
        Served: Future<Output = ()> + Send + 'static,
    {
        let serve = |socket| serve(Socket::of(socket));
        let mut response = self.upgrade.on_upgrade(serve);
        if self.names_protocol {
            // The chosen protocol is never the one with the token, because the response may be shown and logged.
            let name = HeaderValue::from_static(PROTOCOL);
            response.headers_mut().insert(header::SEC_WEBSOCKET_PROTOCOL, name);
        }
        response
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Upgrade {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        match WebSocketUpgrade::from_request_parts(parts, state).await {
            Ok(upgrade) => {
                let standing = parts.extensions.get::<Connection>().map(|known| Arc::clone(&known.standing));
                let names_protocol = offered(&parts.headers).any(|protocol| protocol == PROTOCOL);
                Ok(Self { upgrade, standing, names_protocol })
            }
            Err(error) => Err(ApiError::invalid(format!("{error}; connect with a WebSocket client"))),
        }
    }
}

/// A WebSocket that answers pings by itself and also passes them to its reader.
#[derive(Debug)]
pub struct Socket {
    socket: WebSocket,
    /// Pings whose pongs could not be sent yet.
    pings: usize,
    is_closing: bool,
}

impl Socket {
    /// Wraps a socket that this server opened.
    pub fn of(socket: WebSocket) -> Self {
        Self { socket, pings: 0, is_closing: false }
    }
}

impl Stream for Socket {
    type Item = io::Result<Message>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(message) = ready!(Pin::new(&mut self.socket).poll_next(context)) else {
            return Poll::Ready(None);
        };
        let message = message.map_err(io::Error::other)?;
        // While the other end does not read, the pong stays in memory, and may keep the ping's buffer alive.
        if message.is_ping() && self.as_mut().poll_flush(context)?.is_pending() {
            self.pings += 1;
            if self.pings > SOCKET_PINGS {
                let reason = "too many pings arrived whose answers the other end did not read";
                return Poll::Ready(Some(Err(io::Error::new(io::ErrorKind::QuotaExceeded, reason))));
            }
        }
        Poll::Ready(Some(Ok(message)))
    }
}

impl Sink<Message> for Socket {
    type Error = io::Error;

    fn poll_ready(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_ready(context).map_err(io::Error::other)
    }

    fn start_send(mut self: Pin<&mut Self>, message: Message) -> io::Result<()> {
        Pin::new(&mut self.socket).start_send(message).map_err(io::Error::other)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.socket).poll_flush(context)).map_err(io::Error::other)?;
        self.pings = 0;
        Poll::Ready(Ok(()))
    }

    /// Sends a close frame, without waiting for the other end's.
    fn poll_close(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !std::mem::replace(&mut self.is_closing, true) {
            // An error means that the other end has sent its close frame, or has disconnected.
            let _ = Pin::new(&mut self.socket).start_send(Message::close(None, ""));
        }
        self.poll_flush(context)
    }
}
