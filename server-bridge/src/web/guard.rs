//! The checks of every request: that it is meant for this server, and that its origin is allowed.
//!
//! A page of another site can make a browser send requests here, with the user's cookie. The Host check refuses other names that resolve to
//! this address (DNS rebinding), the Origin check refuses other sites' pages.

use std::net::IpAddr;

use axum::extract::{Request, State};
use axum::http::header::{self, HeaderName};
use axum::http::{HeaderMap, HeaderValue, Method, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::web::cluster::FromPeer;
use crate::web::error::ApiError;
use crate::web::framing::AmbiguousLength;
use crate::web::state::AppState;

/// Headers of every response.
const SECURITY_HEADERS: [(HeaderName, &str); 7] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'self'; connect-src 'self'; img-src 'self' data:; style-src 'self'; \
         base-uri 'none'; form-action 'self'; object-src 'none'; frame-ancestors 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("permissions-policy"), "camera=(), microphone=(), geolocation=()"),
];

/// The document that draws diagrams, in a frame of the page: it may set styles, and can load nothing but its own script.
const DIAGRAM_PATH: &str = "/diagram.html";
const DIAGRAM_HEADERS: [(HeaderName, &str); 2] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src data:; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'self'",
    ),
    (header::X_FRAME_OPTIONS, "SAMEORIGIN"),
];

/// The names of this server in Host headers.
#[derive(Debug, Clone)]
pub struct HostPolicy {
    names: Vec<String>,
    address: IpAddr,
}

impl HostPolicy {
    /// Allows the loopback names, the address listened on, and `names` (lower case, without port). A server that listens on every
    /// address accepts any address: DNS rebinding needs a name.
    pub fn new(address: IpAddr, names: Vec<String>) -> Self {
        Self { names, address }
    }

    /// True if this value of a Host header, with or without a port, names this server.
    pub fn allows(&self, host: &str) -> bool {
        let name = without_port(host).to_ascii_lowercase();
        if name == "localhost" || self.names.contains(&name) {
            return true;
        }
        let literal = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(&name);
        literal.parse::<IpAddr>().is_ok_and(|address| {
            address.is_loopback() || address == self.address || self.address.is_unspecified()
        })
    }
}

/// The host of `HOST:PORT` or `[V6]:PORT`, with or without the port.
pub fn without_port(host: &str) -> &str {
    match host.rfind(':') {
        Some(colon) if !host[colon..].contains(']') => &host[..colon],
        _ => host,
    }
}

/// True if this host, with or without a port, is a name by which a machine reaches only itself.
pub fn is_loopback(host: &str) -> bool {
    let name = without_port(host);
    let literal = name.trim_matches(['[', ']']).parse::<IpAddr>();
    name == "localhost" || literal.is_ok_and(|address| address.is_loopback())
}

/// The middleware that checks Host and Origin before a request and adds security headers to its response.
pub async fn guard(State(state): State<AppState>, request: Request, next: Next) -> Response {
    let is_diagram = request.uri().path() == DIAGRAM_PATH;
    // The node that forwarded this request has checked it.
    let is_checked = state.cluster.is_some() && request.extensions().get::<FromPeer>().is_some();
    let checked = if is_checked { Ok(()) } else { check(&state, &request) };
    let mut response = match checked {
        Ok(()) => next.run(request).await,
        Err(error) => error.into_response(),
    };
    let headers = response.headers_mut();
    let own = if is_diagram { &DIAGRAM_HEADERS[..] } else { &[] };
    for (name, value) in SECURITY_HEADERS.iter().chain(own).cloned() {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

fn check(state: &AppState, request: &Request) -> Result<(), ApiError> {
    check_message(request)?;
    // A health check may use any name: its response reveals nothing.
    if ["/healthz", "/readyz"].contains(&request.uri().path()) {
        return Ok(());
    }
    let host = named_host(request)?;
    if !state.hosts.allows(host) {
        let name = without_port(host);
        return Err(ApiError::new(
            "misdirected",
            format!(
                "this server does not answer to the name {name:?}; to allow it, start it with --allow-host {name}"
            ),
        ));
    }
    match request.headers().get(header::ORIGIN) {
        Some(origin)
            if changes_state(request.method(), request.headers()) && !same_origin(state, origin, host) =>
        {
            Err(ApiError::new(
                "forbidden",
                "the request comes from a page of another site; open Sandbridge itself and try again",
            ))
        }
        _ => Ok(()),
    }
}

/// Refuses requests that another reader of the same bytes, such as a proxy, may understand differently.
fn check_message(request: &Request) -> Result<(), ApiError> {
    if request.extensions().get::<AmbiguousLength>().is_some() {
        return Err(ApiError::invalid(
            "the request's length is ambiguous; send one Content-Length, or Transfer-Encoding: chunked alone",
        ));
    }
    if request.headers().get_all(header::HOST).iter().nth(1).is_some() {
        return Err(ApiError::invalid("the request has several Host headers; send one"));
    }
    Ok(())
}

/// The host in the Host header; an error if the request's target is a whole URL that names another host.
fn named_host(request: &Request) -> Result<&str, ApiError> {
    let named = request.headers().get(header::HOST).and_then(|value| value.to_str().ok());
    let named = named.filter(|name| !name.is_empty());
    let named = named.ok_or_else(|| ApiError::invalid("the Host header is missing, empty or not ASCII"))?;
    match request.uri().authority() {
        Some(authority) if !authority.as_str().eq_ignore_ascii_case(named) => {
            Err(ApiError::invalid(format!(
                "the request's address is for {:?} and its Host header for {named:?}; send the same name in both",
                authority.as_str()
            )))
        }
        _ => Ok(named),
    }
}

/// The host that a request was meant for: the one in its URL if there is one, else the one in its Host header.
pub fn host<'a>(uri: &'a Uri, headers: &'a HeaderMap) -> Option<&'a str> {
    let from_uri = uri.authority().map(|authority| authority.as_str());
    from_uri.or_else(|| headers.get(header::HOST)?.to_str().ok())
}

/// True if a request may change state, judging by its method, or because it opens a WebSocket.
pub fn changes_state(method: &Method, headers: &HeaderMap) -> bool {
    !method.is_safe() || headers.contains_key(header::UPGRADE)
}

/// True if an Origin header names this server.
pub fn same_origin(state: &AppState, origin: &HeaderValue, host: &str) -> bool {
    let Ok(origin) = origin.to_str() else { return false };
    let authority = origin.split_once("://").map_or("", |(_, authority)| authority);
    authority.eq_ignore_ascii_case(host)
        || state.public_url.as_deref().is_some_and(|public_url| public_url.eq_ignore_ascii_case(origin))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(address: &str) -> HostPolicy {
        HostPolicy::new(address.parse().unwrap(), vec!["bridge.example".to_owned()])
    }

    #[test]
    fn our_names_are_ours_with_and_without_port() {
        let policy = policy("127.0.0.1");
        for host in
            ["localhost", "LOCALHOST:8080", "127.0.0.1:1", "[::1]:8080", "[::1]", "Bridge.Example:443"]
        {
            assert!(policy.allows(host), "{host}");
        }
    }

    #[test]
    fn other_names_are_not_ours() {
        let policy = policy("192.0.2.1");
        for host in
            ["evil.example", "localhost.evil.example", "bridge.example.evil", "192.0.2.2", "", ":80", "[::2]"]
        {
            assert!(!policy.allows(host), "{host}");
        }
        assert!(policy.allows("192.0.2.1:80"));
    }

    #[test]
    fn listening_everywhere_allows_addresses_but_no_names() {
        let policy = policy("0.0.0.0");
        assert!(policy.allows("192.0.2.77:8080"));
        assert!(!policy.allows("evil.example:8080"));
    }
}
