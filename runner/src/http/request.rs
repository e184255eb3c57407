//! Checks the parts of a request, and selects the headers of a response that are passed on.

use hyper::header::{
    ACCEPT_ENCODING, CONTENT_LENGTH, Entry, HOST, HeaderMap, HeaderName, HeaderValue, USER_AGENT,
};
use hyper::{Method, Request, Uri};
use proto::{ErrorKind, WireError};

use crate::limits::{HTTP_HEADERS, HTTP_HEADERS_BYTES, HTTP_URL_BYTES};
use crate::net::http;

/// Headers that decide how and where a request is sent; only the runner sets them.
const OF_THE_CONNECTION: [&str; 12] = [
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Headers of a response that concern one connection.
const KEPT_BACK: [&str; 8] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

fn invalid(text: impl Into<String>) -> WireError {
    WireError::new(ErrorKind::InvalidBody, text.into())
}

/// Parses the URL of a request.
pub(super) fn target(url: &str) -> Result<Uri, WireError> {
    if url.len() > HTTP_URL_BYTES {
        return Err(invalid(format!("the URL is too long; use at most {HTTP_URL_BYTES} bytes")));
    }
    let Ok(uri) = url.parse::<Uri>() else { return Err(invalid("the URL is invalid")) };
    match (uri.scheme_str(), uri.host()) {
        (Some("http" | "https"), Some(host)) if !host.is_empty() => {}
        _ => return Err(invalid("the URL has to begin with http:// or https:// and a host")),
    }
    if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
        return Err(invalid("the URL must not contain a user name or a password; use a header"));
    }
    if url.contains('#') {
        return Err(invalid("the URL must not contain a fragment; leave out the # and what follows it"));
    }
    // An invalid port is refused, and not replaced with the default one.
    let authority = uri.authority().map_or("", |authority| authority.as_str());
    let after_host = authority.strip_prefix(uri.host().unwrap_or_default()).unwrap_or(authority);
    if !after_host.is_empty() && uri.port_u16().is_none_or(|port| port == 0) {
        return Err(invalid("the URL's port is invalid; use 1 to 65535"));
    }
    Ok(uri)
}

/// The port of a URL.
pub(super) fn port(target: &Uri) -> u16 {
    target.port_u16().unwrap_or(if target.scheme_str() == Some("https") { 443 } else { 80 })
}

/// Makes a request without its body.
pub(super) fn head(
    method: &str,
    target: &Uri,
    headers: &[(String, Vec<u8>)],
) -> Result<Request<()>, WireError> {
    let method = Method::from_bytes(method.as_bytes()).map_err(|_| invalid("the method is invalid"))?;
    if matches!(method, Method::CONNECT | Method::TRACE) {
        return Err(invalid(format!("the method {method} is not allowed")));
    }
    let mut map = checked(headers)?;
    let authority = target.authority().map_or("", |authority| authority.as_str());
    let host = HeaderValue::from_str(authority).map_err(|_| invalid("the URL's host is invalid"))?;
    map.insert(HOST, host);
    if let Entry::Vacant(place) = map.entry(USER_AGENT) {
        place.insert(HeaderValue::from_static(http::USER_AGENT));
    }
    // A compressed body could not be read before more of it arrives.
    if let Entry::Vacant(place) = map.entry(ACCEPT_ENCODING) {
        place.insert(HeaderValue::from_static("identity"));
    }
    let mut request = Request::new(());
    *request.method_mut() = method;
    let path = target.path_and_query().map_or("/", |path| path.as_str());
    *request.uri_mut() = path.parse().map_err(|_| invalid("the URL's path is invalid"))?;
    *request.headers_mut() = map;
    Ok(request)
}

/// Announces an empty body where a server may wait for one.
pub(super) fn set_length(request: &mut Request<()>, body_bytes: usize) {
    if body_bytes == 0 && matches!(*request.method(), Method::POST | Method::PUT | Method::PATCH) {
        request.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from_static("0"));
    }
}

fn checked(headers: &[(String, Vec<u8>)]) -> Result<HeaderMap, WireError> {
    let bytes: usize = headers.iter().map(|(name, value)| name.len() + value.len()).sum();
    if headers.len() > HTTP_HEADERS || bytes > HTTP_HEADERS_BYTES {
        return Err(invalid(format!(
            "a request can have at most {HTTP_HEADERS} headers, with {HTTP_HEADERS_BYTES} bytes in total"
        )));
    }
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        let wrong = |text: &str| {
            let shown: String = name.chars().filter(char::is_ascii_graphic).take(64).collect();
            invalid(format!("the header {shown} {text}"))
        };
        let parsed = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong("has an invalid name"))?;
        if OF_THE_CONNECTION.contains(&parsed.as_str()) {
            return Err(wrong("belongs to the connection and cannot be set"));
        }
        let mut value = HeaderValue::from_bytes(value)
            .map_err(|_| wrong("has characters that are not allowed in a header"))?;
        value.set_sensitive(true);
        map.append(parsed, value);
    }
    Ok(map)
}

/// The headers of a response that are passed on.
pub(super) fn answered(headers: &HeaderMap) -> Vec<(String, Vec<u8>)> {
    let is_told = |name: &HeaderName| !KEPT_BACK.contains(&name.as_str());
    let told = headers.iter().filter(|(name, _)| is_told(name));
    told.map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_vec())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(method: &str, headers: &[(&str, &str)]) -> Result<Request<()>, WireError> {
        let headers: Vec<_> =
            headers.iter().map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec())).collect();
        head(method, &target("http://a.internal:8080/x?y=z").unwrap(), &headers)
    }

    #[test]
    fn only_urls_of_http_without_a_login_are_requested() {
        for url in ["http://a", "https://a:1/b?c", "http://[::1]:80/", "http://127.0.0.1/x"] {
            assert!(target(url).is_ok(), "{url}");
        }
        let long = format!("http://a/{}", "x".repeat(HTTP_URL_BYTES));
        for url in [
            "",
            "a",
            "/a",
            "file:///etc/passwd",
            "ftp://a/b",
            "http://",
            "http://u:p@a/",
            "http://10.0.0.5@evil/",
            "http://a b/",
            "http://a/x#y",
            "http://a:0/",
            "http://a:99999/",
            "http://a/\r\nHost: b",
            &long,
        ] {
            assert_eq!(target(url).unwrap_err().kind, ErrorKind::InvalidBody, "{url}");
        }
    }

    #[test]
    fn a_request_has_its_own_path_host_and_headers() {
        let sent = of("POST", &[("X-Key", "a"), ("x-key", "b"), ("User-Agent", "mine")]).unwrap();
        assert_eq!((sent.method(), sent.uri().to_string()), (&Method::POST, "/x?y=z".to_owned()));
        assert_eq!(sent.headers()["host"], "a.internal:8080");
        assert_eq!(sent.headers()["user-agent"], "mine");
        assert_eq!(sent.headers()["accept-encoding"], "identity");
        assert_eq!(sent.headers().get_all("x-key").iter().count(), 2);
        let mut empty = of("POST", &[]).unwrap();
        set_length(&mut empty, 0);
        assert_eq!(empty.headers()["content-length"], "0");
    }

    #[test]
    fn nothing_that_could_split_a_request_or_lead_elsewhere_is_sent() {
        let long = "x".repeat(HTTP_HEADERS_BYTES);
        for headers in [
            &[("Host", "evil")][..],
            &[("content-length", "5")],
            &[("Transfer-Encoding", "chunked")],
            &[("Connection", "upgrade")],
            &[("upgrade", "websocket")],
            &[("proxy-authorization", "x")],
            &[("a\r\nhost", "x")],
            &[("a b", "x")],
            &[("", "x")],
            &[("a", "x\r\nHost: evil")],
            &[("a", "x\ny")],
            &[("a", "x\0")],
            &[("a", &long)],
            &[("a", "b"); HTTP_HEADERS + 1],
        ] {
            let error = of("GET", headers).unwrap_err();
            assert!(error.kind == ErrorKind::InvalidBody && !error.description.contains('\r'), "{error}");
        }
        for method in ["", "GET /", "GET\r\n", "CONNECT", "TRACE"] {
            assert_eq!(of(method, &[]).unwrap_err().kind, ErrorKind::InvalidBody, "{method:?}");
        }
    }
}
