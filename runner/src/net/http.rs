//! The common part of the runner's own requests over HTTP/1.1: reaching a host, directly or through a proxy.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::header::{HOST, PROXY_AUTHORIZATION};
use hyper::http::request;
use hyper::{Request, StatusCode, Uri};
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;

use super::proxy::Proxy;
use super::{dial, tls};
use crate::blocking::blocking;
use crate::limits::CONNECT_TIMEOUT_MS;

/// The `User-Agent` of the runner's own requests.
pub(crate) const USER_AGENT: &str = concat!("sandbridge-runner/", env!("CARGO_PKG_VERSION"));

/// A connection, encrypted or not.
pub(crate) trait Socket: AsyncRead + AsyncWrite + Unpin {}

impl<T: AsyncRead + AsyncWrite + Unpin> Socket for T {}

/// The error for a host with an address that must not be used.
#[derive(Debug, thiserror::Error)]
#[error("the name leads to an address that must not be used")]
pub(crate) struct NotReached;

/// True for an address that may be connected to.
pub(crate) type Admits = Arc<dyn Fn(IpAddr) -> bool + Send + Sync>;

/// The route to the host of a URL.
pub(crate) enum Way {
    /// Directly, at the host's permitted addresses; others are not dialled.
    Direct(Admits),
    /// Through a proxy, which looks up the host's name.
    Through(Proxy),
}

impl Way {
    /// The route that the environment names to a host that may have any address.
    ///
    /// # Errors
    /// The proxy is of an unsupported kind.
    pub(crate) fn to(uri: &Uri) -> io::Result<Self> {
        let proxy = Proxy::on_the_way_to(uri.host().unwrap_or_default(), is_encrypted(uri));
        Ok(proxy.map_err(io::Error::other)?.map_or_else(|| Self::Direct(Arc::new(|_| true)), Self::Through))
    }

    /// Begins a request for a URL: an unencrypted one through a proxy names the whole URL, any other the path.
    pub(crate) fn get(&self, uri: &Uri) -> request::Builder {
        let authority = uri.authority().map_or("", |authority| authority.as_str());
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        let builder = match self {
            Self::Through(proxy) if !is_encrypted(uri) => {
                let builder = Request::get(format!("http://{authority}{path}"));
                proxy
                    .credentials()
                    .into_iter()
                    .fold(builder, |it, value| it.header(PROXY_AUTHORIZATION, value))
            }
            Self::Direct(_) | Self::Through(_) => Request::get(path),
        };
        builder.header(HOST, authority).header(hyper::header::USER_AGENT, USER_AGENT)
    }

    /// Explains a status that the proxy sent, not the host.
    pub(crate) fn refusal(&self, status: StatusCode) -> Option<String> {
        match self {
            Self::Through(proxy) if status == StatusCode::PROXY_AUTHENTICATION_REQUIRED => {
                Some(proxy.wants_credentials())
            }
            Self::Direct(_) | Self::Through(_) => None,
        }
    }
}

fn is_encrypted(uri: &Uri) -> bool {
    uri.scheme_str() == Some("https")
}

/// Connects to the host of a URL with `http` or `https`, or to the proxy on the way to it, within [`CONNECT_TIMEOUT_MS`].
///
/// # Errors
/// The host cannot be reached in time, has no permitted address, or cannot be trusted.
pub(crate) async fn connect(uri: &Uri, way: &Way) -> io::Result<Box<dyn Socket>> {
    let timeout = Duration::from_millis(CONNECT_TIMEOUT_MS);
    let late = |_| io::Error::other(format!("no connection within {} s", timeout.as_secs()));
    tokio::time::timeout(timeout, reach(uri, way)).await.map_err(late)?
}

async fn reach(uri: &Uri, way: &Way) -> io::Result<Box<dyn Socket>> {
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
    let port = uri.port_u16().unwrap_or(if is_encrypted(uri) { 443 } else { 80 });
    let socket = match way {
        Way::Direct(may_reach) => {
            let (found, may_reach) = (dial::look_up(&host, port).await?, Arc::clone(may_reach));
            // Done by a thread that sees which addresses belong to this machine. Only permitted ones are dialled.
            let let_through = blocking(move || {
                let addresses: Vec<_> = found.into_iter().filter(|address| may_reach(address.ip())).collect();
                if addresses.is_empty() { Err(io::Error::other(NotReached)) } else { Ok(addresses) }
            });
            dial::connect(let_through.await.map_err(io::Error::other)??).await?
        }
        Way::Through(proxy) if is_encrypted(uri) => proxy.connect(&host, port).await?,
        Way::Through(proxy) => proxy.dial().await?,
    };
    if !is_encrypted(uri) {
        return Ok(Box::new(socket));
    }
    let config = blocking(|| tls::config(None)).await.map_err(io::Error::other)?.map_err(io::Error::other)?;
    let name = ServerName::try_from(host).map_err(io::Error::other)?;
    Ok(Box::new(TlsConnector::from(Arc::new(config)).connect(name, socket).await?))
}

/// The innermost cause, which is the most specific.
pub(crate) fn innermost(error: &dyn std::error::Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}
