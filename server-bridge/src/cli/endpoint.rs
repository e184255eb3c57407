//! A server's address, and a connection to it: TCP, with TLS on top for `https` only.

use std::io;
use std::sync::Arc;

use hyper::Uri;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::failure::Failure;
use super::limits::CONNECT_TIMEOUT;

/// Bytes both ways, encrypted or not.
pub(super) trait Socket: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Socket for T {}

/// A connection.
pub(super) type BoxedSocket = Box<dyn Socket>;

/// Where a server is.
pub(super) struct Endpoint {
    url: String,
    is_secure: bool,
    host: String,
    port: u16,
    /// `Host` as HTTP wants it.
    pub(super) authority: String,
    /// What stands before every path, without a slash at its end.
    pub(super) base_path: String,
}

impl Endpoint {
    /// Reads an address such as `http://127.0.0.1:8080`.
    pub(super) fn parse(url: &str) -> Result<Self, Failure> {
        let invalid = || {
            let hint = "it must look like http://HOST:PORT or https://HOST";
            Failure::usage(format!("{url:?} is not a server's address: {hint}"))
        };
        let uri: Uri = url.parse().map_err(|_| invalid())?;
        let is_secure = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(invalid()),
        };
        let authority = uri.authority().ok_or_else(invalid)?;
        if authority.as_str().contains('@') || uri.query().is_some() {
            return Err(invalid());
        }
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        let port = authority.port_u16().unwrap_or(if is_secure { 443 } else { 80 });
        Ok(Self {
            url: url.to_owned(),
            is_secure,
            host,
            port,
            authority: authority.to_string(),
            base_path: uri.path().trim_end_matches('/').to_owned(),
        })
    }

    /// Makes a connection.
    pub(super) async fn connect(&self) -> Result<BoxedSocket, Failure> {
        let connected = tokio::time::timeout(CONNECT_TIMEOUT, self.dial()).await;
        connected
            .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
            .map_err(|error| self.unreachable(&error))
    }

    /// The failure of a connection that could not be made or broke.
    pub(super) fn unreachable(&self, why: &dyn std::fmt::Display) -> Failure {
        let hint = "is it running, and is --server (or SANDBRIDGE_SERVER) right?";
        Failure::other("unreachable", format!("cannot reach the server at {}: {why}; {hint}", self.url))
    }

    /// The address of a WebSocket.
    pub(super) fn websocket_url(&self, path: &str) -> String {
        let scheme = if self.is_secure { "wss" } else { "ws" };
        format!("{scheme}://{}{}{path}", self.authority, self.base_path)
    }

    async fn dial(&self) -> io::Result<BoxedSocket> {
        let stream = TcpStream::connect((self.host.as_str(), self.port)).await?;
        stream.set_nodelay(true)?;
        if !self.is_secure {
            return Ok(Box::new(stream));
        }
        let name = ServerName::try_from(self.host.clone()).map_err(io::Error::other)?;
        Ok(Box::new(tls_connector()?.connect(name, stream).await?))
    }
}

/// TLS that trusts what this machine trusts.
fn tls_connector() -> io::Result<TlsConnector> {
    crate::tls::install_provider();
    let mut roots = rustls::RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    let (added, _) = roots.add_parsable_certificates(found.certs);
    if added == 0 {
        return Err(io::Error::other("this machine has no root certificates; install ca-certificates"));
    }
    let config = rustls::ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        let plain = Endpoint::parse("http://127.0.0.1:8080").unwrap();
        assert_eq!((plain.host.as_str(), plain.port, plain.base_path.as_str()), ("127.0.0.1", 8080, ""));
        assert_eq!(plain.websocket_url("/api/v1/exec"), "ws://127.0.0.1:8080/api/v1/exec");
        let secure = Endpoint::parse("https://box.example/bridge").unwrap();
        assert_eq!((secure.port, secure.websocket_url("/x")), (443, "wss://box.example/bridge/x".to_owned()));
        assert_eq!(Endpoint::parse("http://[::1]:9").unwrap().host, "::1");
        for bad in ["", "localhost", "ftp://x", "http://", "http://a@b", "http://x?y"] {
            assert_eq!(Endpoint::parse(bad).err().unwrap().code, 2, "{bad}");
        }
    }
}
