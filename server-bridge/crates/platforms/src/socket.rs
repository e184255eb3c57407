//! The WebSocket client of all platforms: it connects only within the server's reach, limits the size of frames, and notices dead connections.

use std::time::Duration;

use bytes::Bytes;
use futures_util::{SinkExt as _, StreamExt as _};
use guard::Reach;
use reqwest::Url;
use subtle::ConstantTimeEq as _;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tokio_tungstenite::tungstenite::http::{HeaderName, HeaderValue, StatusCode};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error as WireError, Message};
use tokio_tungstenite::{Connector, MaybeTlsStream, WebSocketStream, client_async_tls_with_config};

use crate::limits::{
    CONNECT_TIMEOUT, FRAME_MAX_BYTES, REQUEST_TIMEOUT, SILENCE_TIMEOUT, SOCKET_BUFFER_BYTES,
};
use crate::platform::Failure;
use crate::tls;

/// How long a closing handshake may take.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// A frame that arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// A text message.
    Text(String),
    /// A binary message.
    Binary(Bytes),
    /// A ping, which was answered, or a pong: the other side is alive.
    Beat,
    /// The other side closed the connection, with this code (1005 if there is none) and this reason.
    Closed(u16, String),
}

/// A connection. Its errors contain neither the address nor the data sent.
pub struct Socket {
    inner: WebSocketStream<MaybeTlsStream<TcpStream>>,
    /// When the last frame arrived.
    heard: Instant,
    silence: Duration,
}

impl Socket {
    /// Connects to a `ws` or `wss` address.
    ///
    /// # Errors
    /// [`Failure::Message`] if the address is invalid or leads into the server's own network, [`Failure::Account`] if the platform refuses with 401
    /// or 403, [`Failure::TooFast`] if it refuses with 429, else [`Failure::Away`].
    pub async fn connect(reach: &Reach, url: &str, headers: &[(&str, &str)]) -> Result<Self, Failure> {
        let connecting = Box::pin(connect(reach, url, headers));
        let inner = timeout(CONNECT_TIMEOUT, connecting)
            .await
            .map_err(|_| Failure::Away("the connection could not be established in time".to_owned()))??;
        Ok(Self { inner, heard: Instant::now(), silence: SILENCE_TIMEOUT })
    }

    /// Accepts a WebSocket that the other side opens on a plain connection, if it presents this token as `Authorization: Bearer` or as
    /// `access_token` in the query; `None` if it does not, or does not open a WebSocket.
    #[allow(clippy::result_large_err, reason = "the type of the library's callback")]
    pub async fn accept(stream: TcpStream, token: &str) -> Option<Self> {
        stream.set_nodelay(true).ok()?;
        let check = |request: &Request, response: Response| {
            let header = request.headers().get("authorization").and_then(|value| value.to_str().ok());
            let given =
                header.and_then(|value| value.strip_prefix("Bearer ").or(value.strip_prefix("Token ")));
            let query = || {
                let pairs = request.uri().query()?.split('&');
                pairs.into_iter().find_map(|pair| pair.strip_prefix("access_token="))
            };
            if given.or_else(query).is_some_and(|given| given.as_bytes().ct_eq(token.as_bytes()).into()) {
                return Ok(response);
            }
            let mut refused = ErrorResponse::new(None);
            *refused.status_mut() = StatusCode::UNAUTHORIZED;
            Err(refused)
        };
        let stream = MaybeTlsStream::Plain(stream);
        let accepted = tokio_tungstenite::accept_hdr_async_with_config(stream, check, Some(config())).await;
        Some(Self { inner: accepted.ok()?, heard: Instant::now(), silence: SILENCE_TIMEOUT })
    }

    /// Sets how long the connection may be without a frame before it counts as dead.
    #[must_use]
    pub fn with_silence(self, silence: Duration) -> Self {
        Self { silence, ..self }
    }

    /// When the last frame arrived.
    pub fn heard(&self) -> Instant {
        self.heard
    }

    /// Waits for the next frame. Nothing is lost if the future is dropped.
    ///
    /// # Errors
    /// The reason why the connection is lost: it ended, it violated the protocol, or nothing arrived for too long.
    pub async fn next(&mut self) -> Result<Frame, String> {
        let until = self.heard + self.silence;
        let next = timeout_at(until, self.inner.next())
            .await
            .map_err(|_| format!("nothing was received for {} s", self.silence.as_secs()))?;
        let message = next.ok_or("the connection ended")?.map_err(|error| why(&error))?;
        self.heard = Instant::now();
        Ok(match message {
            Message::Text(text) => Frame::Text(text.as_str().to_owned()),
            Message::Binary(bytes) => Frame::Binary(bytes),
            Message::Ping(_) => {
                self.flush().await?;
                Frame::Beat
            }
            Message::Pong(_) | Message::Frame(_) => Frame::Beat,
            Message::Close(frame) => match frame {
                Some(frame) => Frame::Closed(frame.code.into(), frame.reason.as_str().to_owned()),
                None => Frame::Closed(1005, String::new()),
            },
        })
    }

    /// Sends a text.
    ///
    /// # Errors
    /// The reason why the connection is lost.
    pub async fn text(&mut self, text: String) -> Result<(), String> {
        self.send(Message::Text(text.into())).await
    }

    /// Sends bytes.
    ///
    /// # Errors
    /// The reason why the connection is lost.
    pub async fn binary(&mut self, bytes: Bytes) -> Result<(), String> {
        self.send(Message::Binary(bytes)).await
    }

    /// Sends a ping, which the other side answers with a [`Frame::Beat`].
    ///
    /// # Errors
    /// The reason why the connection is lost.
    pub async fn ping(&mut self) -> Result<(), String> {
        self.send(Message::Ping(Bytes::new())).await
    }

    /// Closes the connection; waits only a moment for the other side to do the same.
    pub async fn close(mut self) {
        // The connection is dropped afterwards, whether or not the other side has closed it too.
        let _ = timeout(CLOSE_TIMEOUT, self.inner.close(None)).await;
    }

    async fn send(&mut self, message: Message) -> Result<(), String> {
        let sent = timeout(REQUEST_TIMEOUT, self.inner.send(message)).await;
        sent.map_err(|_| "the message could not be sent in time".to_owned())?.map_err(|error| why(&error))
    }

    async fn flush(&mut self) -> Result<(), String> {
        let sent = timeout(REQUEST_TIMEOUT, self.inner.flush()).await;
        sent.map_err(|_| "the message could not be sent in time".to_owned())?.map_err(|error| why(&error))
    }
}

async fn connect(
    reach: &Reach,
    url: &str,
    headers: &[(&str, &str)],
) -> Result<WebSocketStream<MaybeTlsStream<TcpStream>>, Failure> {
    let invalid = || Failure::Message("the address of the WebSocket is invalid".to_owned());
    let parsed = Url::parse(url).map_err(|_| invalid())?;
    let port = match parsed.scheme() {
        "ws" => parsed.port().unwrap_or(80),
        "wss" => parsed.port().unwrap_or(443),
        _ => return Err(invalid()),
    };
    let host = parsed.host_str().ok_or_else(invalid)?;
    reach.check_host(host).map_err(|inside| Failure::Message(inside.to_string()))?;
    let away = |error: std::io::Error| match guard::leads_inside(&error) {
        Some(inside) => Failure::Message(inside.to_string()),
        None => Failure::Away(error.to_string()),
    };
    let addresses = reach.lookup(host, port).await.map_err(away)?;
    let stream = TcpStream::connect(&addresses[..]).await.map_err(away)?;
    stream.set_nodelay(true).map_err(away)?;
    let mut request = parsed.as_str().into_client_request().map_err(|_| invalid())?;
    for (name, value) in headers {
        let name = HeaderName::try_from(*name).map_err(|_| invalid())?;
        let mut value = HeaderValue::try_from(*value).map_err(|_| invalid())?;
        value.set_sensitive(true);
        request.headers_mut().insert(name, value);
    }
    let connector = Connector::Rustls(tls::config().map_err(Failure::Away)?);
    let connected = client_async_tls_with_config(request, stream, Some(config()), Some(connector)).await;
    connected.map(|(socket, _)| socket).map_err(|error| match error {
        WireError::Http(response) => match response.status().as_u16() {
            status @ (401 | 403) => Failure::Account(format!("status {status}")),
            429 => crate::http::too_fast(None),
            status => Failure::Away(format!("status {status}")),
        },
        error => Failure::Away(why(&error)),
    })
}

fn config() -> WebSocketConfig {
    WebSocketConfig::default()
        .read_buffer_size(SOCKET_BUFFER_BYTES)
        .write_buffer_size(0)
        .max_message_size(Some(FRAME_MAX_BYTES))
        .max_frame_size(Some(FRAME_MAX_BYTES))
}

/// Describes an error in a text that does not contain the data sent.
fn why(error: &WireError) -> String {
    match error {
        WireError::ConnectionClosed | WireError::AlreadyClosed => "the connection ended".to_owned(),
        WireError::Io(error) => error.to_string(),
        WireError::Capacity(_) => "a frame is too large".to_owned(),
        WireError::Protocol(error) => error.to_string(),
        WireError::Utf8(_) => "a text is not UTF-8".to_owned(),
        WireError::Http(response) => format!("status {}", response.status().as_u16()),
        WireError::Tls(_) => "TLS failed".to_owned(),
        _ => "the WebSocket failed".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn failure(reach: &Reach, url: &str) -> Failure {
        match Socket::connect(reach, url, &[("authorization", "secret")]).await {
            Ok(_) => panic!("connected to {url}"),
            Err(failure) => {
                assert!(!format!("{failure} {failure:?}").contains("secret"));
                failure
            }
        }
    }

    #[tokio::test]
    async fn addresses_inside_and_of_other_schemes_are_refused() {
        let reach = Reach::public(&[]);
        for url in [
            "ws://127.0.0.1/secret",
            "wss://169.254.169.254/",
            "ws://localhost/",
            "ws://[::1]/",
            "http://a.example/",
            "nonsense",
        ] {
            assert!(matches!(failure(&reach, url).await, Failure::Message(_)), "{url}");
        }
        // Nothing listens on this port.
        assert!(matches!(
            failure(&Reach::Anywhere, "ws://127.0.0.1:1/?ticket=secret").await,
            Failure::Away(_)
        ));
    }

    /// Starts a server that accepts a WebSocket and then runs this function.
    async fn server<F: Future<Output = ()> + Send>(
        then: impl FnOnce(WebSocketStream<TcpStream>) -> F + Send + 'static,
    ) -> Socket {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("ws://{}", listener.local_addr().unwrap());
        tokio::spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            then(tokio_tungstenite::accept_async(stream).await.unwrap()).await;
        });
        Socket::connect(&Reach::Anywhere, &url, &[]).await.unwrap()
    }

    #[tokio::test]
    async fn frames_come_and_a_too_large_one_ends_the_connection() {
        let mut socket = server(|mut server| async move {
            server.send(Message::Ping(Bytes::new())).await.unwrap();
            server.send(Message::Text("hello".into())).await.unwrap();
            assert!(matches!(server.next().await, Some(Ok(Message::Pong(_)))));
            // The other side may have disconnected before everything is written.
            let _ = server.send(Message::Text("x".repeat(FRAME_MAX_BYTES + 1).into())).await;
        })
        .await;
        assert_eq!(socket.next().await, Ok(Frame::Beat));
        assert_eq!(socket.next().await, Ok(Frame::Text("hello".to_owned())));
        assert_eq!(socket.next().await, Err("a frame is too large".to_owned()));
    }

    #[tokio::test]
    async fn silence_ends_a_connection() {
        let socket = server(|server| async move {
            let _server = server;
            std::future::pending::<()>().await;
        })
        .await;
        let mut socket = socket.with_silence(Duration::from_millis(50));
        assert_eq!(socket.next().await, Err("nothing was received for 0 s".to_owned()));
    }
}
