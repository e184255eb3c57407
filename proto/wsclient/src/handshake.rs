//! The request for a WebSocket and the response to it, as RFC 6455 defines them (section 4.1).

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::{Bytes, BytesMut};
use hyper::body::{Body, Incoming};
use hyper::client::conn::http1;
use hyper::header::{
    AUTHORIZATION, CONNECTION, HOST, HeaderMap, RETRY_AFTER, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY,
    SEC_WEBSOCKET_VERSION, UPGRADE,
};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::error::{Error, Refusal};
use crate::resumed::Resumed;

/// The longest head of a response: its status line and all header lines, in bytes.
pub const HEAD_BYTES: usize = 64 * 1024;

/// More header lines than fit into [`HEAD_BYTES`]: the shortest has four bytes.
pub const HEAD_LINES: usize = HEAD_BYTES / 4;

/// How much of a refusal's body is read, in bytes.
const BODY_BYTES: usize = 16 * 1024;

/// How long to wait for a refusal's body once its status is known.
const BODY_PATIENCE: Duration = Duration::from_secs(2);

/// The suffix that RFC 6455 adds to the key before it is hashed.
const KEY_SUFFIX: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// The parts of the request.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// The host, with its port if the URL has one.
    pub authority: &'a str,
    /// The path, with its query.
    pub path: &'a str,
    /// A token that is sent as `Authorization: Bearer`.
    pub bearer: Option<&'a str>,
    /// How long the response may take, including its last header line.
    pub patience: Duration,
}

/// Requests a WebSocket on a new connection, and returns the connection once it is one.
///
/// # Errors
/// Every [`Error`]; the connection is closed then.
pub async fn open<S>(stream: S, ask: Ask<'_>) -> Result<Resumed<S>, Error>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let late = |_| Error::Late(ask.patience);
    let mut connection = Connection::new(stream).await?;
    let key = STANDARD.encode(rand::random::<[u8; 16]>());
    let asked = connection.send(request(&ask, &key)?);
    let answer = tokio::time::timeout(ask.patience, asked).await.map_err(late)??;
    if answer.status() != StatusCode::SWITCHING_PROTOCOLS {
        return Err(Error::Refused(connection.refusal(answer).await));
    }
    check(answer.headers(), &key)?;
    let upgraded = connection.beside(hyper::upgrade::on(answer)).await.map_err(Error::from_hyper)?;
    let parts = upgraded.downcast::<TokioIo<S>>();
    let parts =
        parts.map_err(|_| Error::NotAWebSocket("the upgraded connection is not the one that was opened"))?;
    Ok(Resumed::new(parts.read_buf, parts.io.into_inner()))
}

fn request(ask: &Ask<'_>, key: &str) -> Result<Request<String>, Error> {
    let mut request = Request::get(ask.path)
        .header(HOST, ask.authority)
        .header(CONNECTION, "Upgrade")
        .header(UPGRADE, "websocket")
        .header(SEC_WEBSOCKET_VERSION, "13")
        .header(SEC_WEBSOCKET_KEY, key);
    if let Some(token) = ask.bearer {
        request = request.header(AUTHORIZATION, format!("Bearer {token}"));
    }
    request.body(String::new()).map_err(|error| Error::Request(error.to_string()))
}

/// Checks that a response with status 101 opens the WebSocket requested with this key.
fn check(headers: &HeaderMap, key: &str) -> Result<(), Error> {
    let names = |header, wanted: &str| {
        let values = headers.get_all(header).iter().filter_map(|value| value.to_str().ok());
        values.flat_map(|value| value.split(',')).any(|part| part.trim().eq_ignore_ascii_case(wanted))
    };
    if !names(UPGRADE, "websocket") {
        return Err(Error::NotAWebSocket("it has no \"Upgrade: websocket\""));
    }
    if !names(CONNECTION, "upgrade") {
        return Err(Error::NotAWebSocket("it has no \"Connection: Upgrade\""));
    }
    let accepted = headers.get(SEC_WEBSOCKET_ACCEPT).map(|value| value.as_bytes().trim_ascii());
    if accepted != Some(accept_for(key).as_bytes()) {
        return Err(Error::NotAWebSocket("its Sec-WebSocket-Accept does not belong to this request"));
    }
    Ok(())
}

/// The `Sec-WebSocket-Accept` that belongs to a key.
fn accept_for(key: &str) -> String {
    STANDARD.encode(sha1_smol::Sha1::from(format!("{key}{KEY_SUFFIX}")).digest().bytes())
}

/// A connection that speaks HTTP until it is taken over.
struct Connection {
    sender: http1::SendRequest<String>,
    /// Moves the bytes; `None` once it has ended.
    moving: Option<Pin<Box<dyn Future<Output = hyper::Result<()>> + Send>>>,
}

impl Connection {
    async fn new<S>(stream: S) -> Result<Self, Error>
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let mut client = http1::Builder::new();
        client.max_buf_size(HEAD_BYTES).max_headers(HEAD_LINES);
        let (sender, connection) = client.handshake(TokioIo::new(stream)).await.map_err(Error::from_hyper)?;
        Ok(Self { sender, moving: Some(Box::pin(connection.with_upgrades())) })
    }

    async fn send(&mut self, request: Request<String>) -> Result<Response<Incoming>, Error> {
        let answer = self.sender.send_request(request);
        beside(&mut self.moving, answer).await.map_err(Error::from_hyper)
    }

    async fn beside<T>(&mut self, wanted: impl Future<Output = T>) -> T {
        beside(&mut self.moving, wanted).await
    }

    /// Reads the reason of a refusal, if it is short and arrives soon.
    async fn refusal(&mut self, answer: Response<Incoming>) -> Refusal {
        let (head, mut body) = answer.into_parts();
        let retry_after = head.headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok());
        let mut read = BytesMut::new();
        let reading = self.beside(async {
            while read.len() < BODY_BYTES
                && let Some(Ok(frame)) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await
            {
                let piece = frame.into_data().unwrap_or_else(|_trailers| Bytes::new());
                read.extend_from_slice(&piece[..piece.len().min(BODY_BYTES - read.len())]);
            }
        });
        // The status is known; any part of the reason is enough.
        let _ = tokio::time::timeout(BODY_PATIENCE, reading).await;
        Refusal { status: head.status, retry_after: retry_after.map(str::to_owned), body: read.freeze() }
    }
}

/// Waits for an event of the connection while moving its bytes.
async fn beside<T>(
    moving: &mut Option<Pin<Box<dyn Future<Output = hyper::Result<()>> + Send>>>,
    wanted: impl Future<Output = T>,
) -> T {
    let mut wanted = std::pin::pin!(wanted);
    poll_fn(|cx| {
        // The awaited result shows how it ended.
        if moving.as_mut().is_some_and(|moving| moving.as_mut().poll(cx).is_ready()) {
            *moving = None;
        }
        match wanted.as_mut().poll(cx) {
            Poll::Ready(value) => Poll::Ready(value),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_accept_of_a_key_is_that_of_the_rfc() {
        assert_eq!(accept_for("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }

    #[test]
    fn a_request_that_cannot_be_written_is_told() {
        let ask =
            Ask { authority: "host", path: "/", bearer: Some("to\nken"), patience: Duration::from_secs(1) };
        assert!(matches!(request(&ask, "key"), Err(Error::Request(_))));
    }
}
