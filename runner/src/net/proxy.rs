//! The way out through an HTTP proxy, as the environment names one: `HTTPS_PROXY` for `wss://` and `https://`, `HTTP_PROXY` for
//! `ws://` and `http://`, `ALL_PROXY` for all, `NO_PROXY` for exceptions, all as curl reads them. The machine itself is always reached
//! directly.

use std::io;

use hyper::client::conn::http1;
use hyper::header::{HOST, HeaderValue, PROXY_AUTHORIZATION};
use hyper::{Method, Request, StatusCode, Uri};
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::connection::Connection;
use super::dial;
use super::names::is_loopback;
use crate::error::Error;
use crate::limits::PROXY_ANSWER_BYTES;

/// A proxy that opens tunnels.
#[derive(Clone)]
pub(crate) struct Proxy {
    host: String,
    port: u16,
    /// User and password, as they are sent.
    credentials: Option<HeaderValue>,
}

impl Proxy {
    /// The proxy on the way to a host (an IPv6 address in brackets), if the environment names one.
    ///
    /// # Errors
    /// The proxy is of an unsupported kind.
    pub(crate) fn on_the_way_to(host: &str, is_encrypted: bool) -> Result<Option<Self>, Error> {
        Self::among(&Matcher::from_env(), host, is_encrypted)
    }

    fn among(proxies: &Matcher, host: &str, is_encrypted: bool) -> Result<Option<Self>, Error> {
        let scheme = if is_encrypted { "https" } else { "http" };
        let Ok(server) = Uri::builder().scheme(scheme).authority(host).path_and_query("/").build() else {
            return Ok(None);
        };
        let Some(found) = proxies.intercept(&server).filter(|_| !is_loopback(host)) else { return Ok(None) };
        let (Some("http"), Some(proxy_host)) = (found.uri().scheme_str(), found.uri().host()) else {
            // Without user and password, which it may contain.
            let kind = found.uri().scheme_str().unwrap_or("an unknown one").to_owned();
            return Err(Error::Usage(format!(
                "the proxy that the environment names (HTTPS_PROXY, HTTP_PROXY or ALL_PROXY) is of the kind {kind}; only \
                 http:// is supported. Name another one, or bypass it with NO_PROXY={}",
                host.trim_matches(['[', ']'])
            )));
        };
        Ok(Some(Self {
            host: proxy_host.trim_matches(['[', ']']).to_owned(),
            port: found.uri().port_u16().unwrap_or(80),
            credentials: found.basic_auth().cloned(),
        }))
    }

    /// The port that it listens on.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// The user and password for it, if the environment names them.
    pub(crate) fn credentials(&self) -> Option<&HeaderValue> {
        self.credentials.as_ref()
    }

    /// The reason why it refused a request, and what to do.
    pub(crate) fn wants_credentials(&self) -> String {
        format!(
            "{self} needs a user and a password: HTTPS_PROXY=http://USER:PASSWORD@{}:{}",
            self.host, self.port
        )
    }

    /// Connects to the proxy itself.
    ///
    /// # Errors
    /// The proxy cannot be reached.
    pub(crate) async fn dial(&self) -> io::Result<TcpStream> {
        let stream = dial::connect_by_name(&self.host, self.port).await;
        stream.map_err(|error| io::Error::other(format!("{self} cannot be reached: {error}")))
    }

    /// Opens a connection to `host`, which the proxy looks up.
    ///
    /// # Errors
    /// The proxy cannot be reached, or does not open it.
    pub(crate) async fn connect(&self, host: &str, port: u16) -> io::Result<TcpStream> {
        let lost = |error: &dyn std::fmt::Display| io::Error::other(format!("{self} gave up: {error}"));
        let stream = self.dial().await?;
        let target = if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
        let mut request = Request::builder().method(Method::CONNECT).uri(&target).header(HOST, &target);
        if let Some(credentials) = &self.credentials {
            request = request.header(PROXY_AUTHORIZATION, credentials);
        }
        let request = request.body(String::new()).map_err(|error| lost(&error))?;
        // As many header lines as there is space for: the shortest has four bytes.
        let mut client = http1::Builder::new();
        let opened = client
            .max_buf_size(PROXY_ANSWER_BYTES)
            .max_headers(PROXY_ANSWER_BYTES / 4)
            .handshake(TokioIo::new(stream))
            .await;
        let (mut sender, connection) = opened.map_err(|error| lost(&error))?;
        let mut connection = Connection::new(connection.with_upgrades());
        let answer = connection.beside(sender.send_request(request)).await.map_err(|error| lost(&error))?;
        match answer.status() {
            status if status.is_success() => {}
            StatusCode::PROXY_AUTHENTICATION_REQUIRED => {
                return Err(io::Error::other(self.wants_credentials()));
            }
            status => {
                return Err(io::Error::other(format!("{self} refused to connect to {target}: {status}")));
            }
        }
        let upgraded = connection.beside(hyper::upgrade::on(answer)).await.map_err(|error| lost(&error))?;
        let parts = upgraded.downcast::<TokioIo<TcpStream>>().map_err(|_| lost(&"another connection"))?;
        match parts.read_buf.is_empty() {
            true => Ok(parts.io.into_inner()),
            false => Err(lost(&"it sent data after its response")),
        }
    }
}

impl std::fmt::Display for Proxy {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "the proxy {}:{}", self.host, self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(https: &str, no: &str, host: &str) -> Result<Option<Proxy>, Error> {
        Proxy::among(&Matcher::builder().https(https).no(no).build(), host, true)
    }

    #[test]
    fn the_environment_names_a_proxy_and_its_exceptions() {
        let proxy = found("http://me:secret@proxy.example:3128", "", "bridge.example").unwrap().unwrap();
        assert_eq!((proxy.host.as_str(), proxy.port), ("proxy.example", 3128));
        assert_eq!(proxy.credentials.unwrap(), "Basic bWU6c2VjcmV0");
        for (no, host) in [
            ("bridge.example", "bridge.example"),
            ("10.0.0.0/8", "10.1.2.3"),
            ("", "127.0.0.1"),
            ("", "localhost"),
            ("", "[::1]"),
            ("", "LOCALHOST"),
            ("", "localhost."),
            ("", "[::ffff:127.0.0.1]"),
        ] {
            assert!(found("http://proxy.example", no, host).unwrap().is_none(), "{host}");
        }
        assert!(found("", "", "bridge.example").unwrap().is_none());
        assert!(
            Proxy::among(&Matcher::builder().https("http://p").build(), "bridge.example", false)
                .unwrap()
                .is_none()
        );
    }

    #[test]
    fn a_kind_that_is_not_understood_is_told_without_its_password() {
        for kind in ["socks5", "https"] {
            let error = found(&format!("{kind}://me:secret@proxy.example"), "", "bridge.example")
                .err()
                .unwrap()
                .to_string();
            assert!(error.contains(kind) && !error.contains("secret"), "{error}");
        }
    }
}
