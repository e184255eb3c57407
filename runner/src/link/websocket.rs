//! The link a runner opens itself: a WebSocket to the server's `/runner`.

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Sink, SinkExt, Stream, StreamExt};
use hyper::Uri;
use proto::limits::MAX_FRAME_BYTES;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_websockets::{
    ClientBuilder, Config, Connector, Error as SocketError, Limits, MaybeTlsStream, Message, WebSocketStream,
};
use wsclient::{Ask, Resumed};

use super::LinkError;
use super::register::TextLink;
use crate::error::Error;
use crate::limits::{CONNECT_TIMEOUT_MS, SOCKET_WRITE_BUFFER_BYTES};
use crate::net::names::is_loopback;
use crate::net::proxy::Proxy;
use crate::net::{dial, tls};

/// A server's address and how it is verified.
#[derive(Clone)]
pub struct Endpoint {
    url: String,
    address: Uri,
    /// Without this the connection is not encrypted.
    tls: Option<TlsConnector>,
    /// The proxy named by the environment, if any.
    proxy: Option<Arc<Proxy>>,
}

impl std::fmt::Debug for Endpoint {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Endpoint").field("url", &self.url).finish_non_exhaustive()
    }
}

impl Endpoint {
    /// True if the traffic leaves this machine unencrypted.
    pub(crate) fn is_open_to_others(&self) -> bool {
        self.tls.is_none() && !self.address.authority().is_some_and(|at| is_loopback(at.as_str()))
    }

    /// Makes an endpoint of a server's URL: `ws`, `wss`, `http` and `https` are understood.
    ///
    /// # Errors
    /// The URL is invalid, or unencrypted beyond this machine without `insecure`; the certificates cannot be loaded.
    pub fn new(server: &str, insecure: bool, ca_cert: Option<&PathBuf>) -> Result<Self, Error> {
        let url = runner_url(server, insecure)?;
        let tls = match url.starts_with("wss:") {
            true => Some(TlsConnector::from(Arc::new(tls::config(ca_cert)?))),
            false => None,
        };
        let address: Uri =
            url.parse().map_err(|error| Error::Usage(format!("--server {server}: {error}")))?;
        let proxy = Proxy::on_the_way_to(address.host().unwrap_or_default(), tls.is_some())?;
        Ok(Self { url, address, tls, proxy: proxy.map(Arc::new) })
    }

    fn port(&self) -> u16 {
        self.address.port_u16().unwrap_or(if self.tls.is_some() { 443 } else { 80 })
    }

    /// The URL that is dialled.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Opens a connection; what follows is the registration.
    ///
    /// # Errors
    /// The server cannot be reached within [`CONNECT_TIMEOUT_MS`], or does not accept a WebSocket there.
    pub async fn connect(&self) -> Result<WebSocketLink, LinkError> {
        let timeout = Duration::from_millis(CONNECT_TIMEOUT_MS);
        let ask =
            Ask { authority: self.authority(), path: self.address.path(), bearer: None, patience: timeout };
        let builder = ClientBuilder::new()
            .config(Config::default().flush_threshold(SOCKET_WRITE_BUFFER_BYTES).frame_size(MAX_FRAME_BYTES))
            .limits(Limits::default().max_payload_len(Some(MAX_FRAME_BYTES)));
        let connecting = async {
            let (stream, is_beside) = self.open().await.map_err(link_error)?;
            let stream = wsclient::open(stream, ask).await.map_err(refused)?;
            Ok(WebSocketLink { socket: builder.take_over(stream), is_beside })
        };
        // Boxed: connecting needs space once, and every later step would carry it along.
        match tokio::time::timeout(timeout, Box::pin(connecting)).await {
            Ok(connected) => connected,
            Err(_) => Err(LinkError::WebSocket(format!("no connection within {} s", timeout.as_secs()))),
        }
    }

    /// Opens a connection to the server, encrypted if the link is; also returns true if the other end is on this machine. Has no
    /// timeout.
    pub(crate) async fn open(&self) -> Result<(MaybeTlsStream<TcpStream>, bool), SocketError> {
        let (host, port) = (host(&self.address), self.port());
        let stream = match &self.proxy {
            Some(proxy) => proxy.connect(host, port).await?,
            None => dial::connect_by_name(host, port).await?,
        };
        stream.set_nodelay(true)?;
        let is_beside = stream.peer_addr()?.ip() == stream.local_addr()?.ip();
        let connector = self.tls.clone().map_or(Connector::Plain, Connector::Rustls);
        Ok((connector.wrap(host, stream).await?, is_beside))
    }

    /// The host, with its port where one was given.
    pub(crate) fn authority(&self) -> &str {
        self.address.authority().map_or("", |authority| authority.as_str())
    }

    /// The path of a file that the server hands out, such as `/download/NAME`.
    pub(crate) fn download_path(&self, name: &str) -> String {
        format!("{}/download/{name}", self.address.path().trim_end_matches("/runner"))
    }
}

fn host(address: &Uri) -> &str {
    address.host().unwrap_or_default().trim_matches(['[', ']'])
}

/// The runners' endpoint of a server.
fn runner_url(server: &str, insecure: bool) -> Result<String, Error> {
    let (scheme, rest) = server.split_once("://").unwrap_or(("", server));
    let scheme = match scheme {
        "ws" | "http" => "ws",
        "wss" | "https" => "wss",
        _ => {
            let text = format!("--server {server}: give a URL such as wss://sandbridge.example.com");
            return Err(Error::Usage(text));
        }
    };
    let rest = rest.trim_end_matches('/');
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    if authority.is_empty() || authority.contains('@') || rest.contains(['?', '#', ' ']) {
        let text =
            format!("--server: {scheme}://HOST[:PORT] is all it needs; the token goes into --token-file");
        return Err(Error::Usage(text));
    }
    if scheme == "ws" && !insecure && !is_loopback(authority) {
        let text = format!(
            "{server} is not encrypted: anyone on the way could read the token. Use wss://{authority}, or --insecure if the \
             network in between is yours alone"
        );
        return Err(Error::Usage(text));
    }
    Ok(match path {
        "" | "runner" => format!("{scheme}://{authority}/runner"),
        prefix => format!("{scheme}://{authority}/{}/runner", prefix.trim_end_matches("/runner")),
    })
}

/// A WebSocket that carries one frame per message.
#[derive(Debug)]
pub struct WebSocketLink {
    socket: WebSocketStream<Resumed<MaybeTlsStream<TcpStream>>>,
    is_beside: bool,
}

impl WebSocketLink {
    /// True if the other end is on this machine, judging by its address, which may be a tunnel's.
    pub fn is_beside(&self) -> bool {
        self.is_beside
    }
}

impl TextLink for WebSocketLink {
    async fn send_text(&mut self, text: String) -> Result<(), LinkError> {
        self.socket.send(Message::text(text)).await.map_err(link_error)
    }

    async fn next_text(&mut self) -> Result<String, LinkError> {
        loop {
            let message = self.socket.next().await.ok_or(LinkError::Ended)?.map_err(link_error)?;
            if message.is_text() {
                let text = String::from_utf8(Bytes::from(message.into_payload()).into());
                return text.map_err(|_| LinkError::NotAFrame);
            } else if message.is_close() {
                return Err(LinkError::Ended);
            } else if message.is_binary() {
                return Err(LinkError::NotAFrame);
            }
        }
    }
}

impl Stream for WebSocketLink {
    type Item = Result<Bytes, LinkError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            let Some(message) = ready!(self.socket.poll_next_unpin(cx)) else { return Poll::Ready(None) };
            let message = message.map_err(link_error)?;
            if message.is_binary() {
                return Poll::Ready(Some(Ok(message.into_payload().into())));
            } else if message.is_close() {
                return Poll::Ready(None);
            } else if message.is_text() {
                return Poll::Ready(Some(Err(LinkError::NotAFrame)));
            }
        }
    }
}

impl Sink<Bytes> for WebSocketLink {
    type Error = LinkError;

    fn poll_ready(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), LinkError>> {
        self.socket.poll_ready_unpin(cx).map_err(link_error)
    }

    fn start_send(mut self: Pin<&mut Self>, frame: Bytes) -> Result<(), LinkError> {
        self.socket.start_send_unpin(Message::binary(frame)).map_err(link_error)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), LinkError>> {
        self.socket.poll_flush_unpin(cx).map_err(link_error)
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), LinkError>> {
        self.socket.poll_close_unpin(cx).map_err(link_error)
    }
}

fn link_error(error: SocketError) -> LinkError {
    match error {
        SocketError::AlreadyClosed => LinkError::Ended,
        SocketError::Io(error) => broken(error),
        other => LinkError::WebSocket(other.to_string()),
    }
}

fn refused(error: wsclient::Error) -> LinkError {
    match error {
        wsclient::Error::Io(error) => broken(error),
        other => LinkError::WebSocket(other.to_string()),
    }
}

fn broken(error: std::io::Error) -> LinkError {
    distrust(&error).map_or(LinkError::Io(error), LinkError::WebSocket)
}

/// Explains why a certificate was refused, and what to do.
fn distrust(error: &std::io::Error) -> Option<String> {
    let refused = error.get_ref()?.downcast_ref::<rustls::Error>()?;
    matches!(refused, rustls::Error::InvalidCertificate(_)).then(|| {
        format!(
            "the server's certificate is not trusted ({refused}): if your network has a certificate authority \
             of its own, pass it with --ca-cert FILE; if not, something on the way may be impersonating the server"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_urls_lead_to_the_runner_socket() {
        for (given, expected) in [
            ("ws://127.0.0.1:8080", "ws://127.0.0.1:8080/runner"),
            ("http://localhost:8080/", "ws://localhost:8080/runner"),
            ("ws://[::1]:8080", "ws://[::1]:8080/runner"),
            ("https://example.com", "wss://example.com/runner"),
            ("wss://example.com/runner", "wss://example.com/runner"),
            ("wss://example.com/sandbridge/", "wss://example.com/sandbridge/runner"),
        ] {
            assert_eq!(runner_url(given, false).unwrap(), expected, "{given}");
        }
    }

    #[test]
    fn unencrypted_beyond_this_machine_needs_to_be_asked_for() {
        for given in
            ["ws://example.com", "http://10.0.0.1:80", "ws://localhost.example.com", "ws://127.0.0.1.nip.io"]
        {
            let error = runner_url(given, false).unwrap_err().to_string();
            assert!(error.contains("--insecure"), "{given}: {error}");
            assert!(runner_url(given, true).is_ok(), "{given}");
        }
    }

    #[test]
    fn urls_that_are_none_or_carry_secrets_are_refused() {
        for given in [
            "example.com",
            "ftp://example.com",
            "wss://",
            "wss://token@example.com",
            "wss://example.com/?token=1",
        ] {
            assert!(matches!(runner_url(given, true), Err(Error::Usage(_))), "{given}");
        }
    }

    #[test]
    fn certificates_that_cannot_be_read_are_named() {
        let empty = tempfile::NamedTempFile::new().unwrap();
        for file in [PathBuf::from("/nonexistent/ca.pem"), empty.path().to_owned()] {
            let error = Endpoint::new("wss://example.com", false, Some(&file)).unwrap_err().to_string();
            assert!(error.contains(file.to_str().unwrap()), "{error}");
        }
    }
}
