//! What the runner's own requests over HTTP/1.1 share: reaching a host, and moving the bytes.

use std::future::{Future, poll_fn};
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use hyper::Uri;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;

use crate::blocking::blocking;
use crate::dial;
use crate::limits::CONNECT_TIMEOUT_MS;
use crate::link::websocket::tls_config;

/// How the runner calls itself.
pub(crate) const USER_AGENT: &str = concat!("sandbridge-runner/", env!("CARGO_PKG_VERSION"));

/// A connection, encrypted or not.
pub(crate) trait Socket: AsyncRead + AsyncWrite + Unpin {}

impl<T: AsyncRead + AsyncWrite + Unpin> Socket for T {}

/// What moves the bytes; polled beside what waits for them, and `None` once it has ended.
pub(crate) struct Connection(Option<Pin<Box<dyn Future<Output = hyper::Result<()>>>>>);

impl Connection {
    pub(crate) fn new(connection: impl Future<Output = hyper::Result<()>> + 'static) -> Self {
        Self(Some(Box::pin(connection)))
    }

    /// Waits for something that the connection brings.
    pub(crate) async fn beside<T>(&mut self, wanted: impl Future<Output = T>) -> T {
        let mut wanted = std::pin::pin!(wanted);
        poll_fn(|cx| {
            // How it ended is told by what is waited for.
            if self.0.as_mut().is_some_and(|connection| connection.as_mut().poll(cx).is_ready()) {
                self.0 = None;
            }
            match wanted.as_mut().poll(cx) {
                Poll::Ready(value) => Poll::Ready(value),
                Poll::Pending => Poll::Pending,
            }
        })
        .await
    }
}

/// Connects to the host of a URL with `http` or `https`, within [`CONNECT_TIMEOUT_MS`]; only to those of its addresses that
/// `may_reach` lets through.
pub(crate) async fn connect(uri: &Uri, may_reach: fn(IpAddr) -> bool) -> io::Result<Box<dyn Socket>> {
    let timeout = Duration::from_millis(CONNECT_TIMEOUT_MS);
    let late = |_| io::Error::other(format!("no connection within {} s", timeout.as_secs()));
    tokio::time::timeout(timeout, reach(uri, may_reach)).await.map_err(late)?
}

async fn reach(uri: &Uri, may_reach: fn(IpAddr) -> bool) -> io::Result<Box<dyn Socket>> {
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
    let is_encrypted = uri.scheme_str() == Some("https");
    let port = uri.port_u16().unwrap_or(if is_encrypted { 443 } else { 80 });
    let mut addresses = dial::look_up(&host, port).await?;
    addresses.retain(|address| may_reach(address.ip()));
    if addresses.is_empty() {
        return Err(io::Error::other("the name leads to no address that may be used"));
    }
    let socket = dial::connect(addresses).await?;
    if !is_encrypted {
        return Ok(Box::new(socket));
    }
    let config = blocking(|| tls_config(None)).await.map_err(io::Error::other)?.map_err(io::Error::other)?;
    let name = ServerName::try_from(host).map_err(io::Error::other)?;
    Ok(Box::new(TlsConnector::from(Arc::new(config)).connect(name, socket).await?))
}

/// The innermost reason, which says most.
pub(crate) fn innermost(error: &dyn std::error::Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}
