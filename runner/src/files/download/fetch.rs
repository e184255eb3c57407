//! One GET over HTTP/1.1; redirects are followed within its origin (scheme, host and port). A person who allowed an origin allowed no other: the
//! error names a target elsewhere, so that it can be requested separately.
//!
//! Only public addresses are reached: this machine, its network and the metadata services of clouds are reached only if the machine's user named the
//! host with `--download-allow`, and refused otherwise, at every redirect and after the name lookup. (A proxy looks names up itself.) Nothing is
//! fetched for commands from hosts that they must not reach either: a URL can carry data out. The same applies to a proxy on the way.

use std::future::{Future, poll_fn};
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use address::is_public;
use bytes::Bytes;
use hyper::body::{Body, Incoming};
use hyper::client::conn::http1;
use hyper::header::{ACCEPT_ENCODING, CONTENT_LENGTH, LOCATION};
use hyper::{Response, Uri};
use hyper_util::rt::TokioIo;
use proto::{ErrorKind, WireError};

use crate::blocking::blocking;
use crate::bounds::{Bounds, Network};
use crate::limits::{DOWNLOAD_IDLE_MS, DOWNLOAD_REDIRECTS, DOWNLOAD_URL_BYTES};
use crate::net::connection::Connection;
use crate::net::http::{NotReached, Way, connect, innermost};

/// A response whose content is still to come.
pub(super) struct Answer {
    connection: Connection,
    response: Response<Incoming>,
    from: Uri,
}

/// Parses a URL that can be fetched.
pub(super) fn parse(url: &str) -> Result<Uri, WireError> {
    let invalid = |text: &str| Err(WireError::new(ErrorKind::InvalidBody, text));
    if url.len() > DOWNLOAD_URL_BYTES {
        return invalid("the URL is too long");
    }
    let Ok(uri) = url.split('#').next().unwrap_or_default().parse::<Uri>() else {
        return invalid("the URL cannot be parsed; write it like https://example.com/file");
    };
    match (uri.scheme_str(), uri.host()) {
        (Some("http" | "https"), Some(host)) if !host.is_empty() => {}
        _ => return invalid("the URL has to begin with http:// or https:// and a host"),
    }
    if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
        return invalid("a URL with a user name or password is not fetched");
    }
    Ok(uri)
}

impl Answer {
    /// Sends the request, and follows redirects within the origin; returns only a success status.
    pub(super) async fn to(mut uri: Uri, bounds: &Bounds) -> Result<Self, WireError> {
        for _ in 0..=DOWNLOAD_REDIRECTS {
            allowed(&uri, &bounds.network)?;
            let answer = Self::ask(&uri, bounds).await?;
            let status = answer.response.status();
            if status.is_success() {
                return Ok(answer);
            }
            let location = answer.response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
            let Some(location) = location.filter(|_| status.is_redirection()) else {
                return Err(failed(&uri, &format!("the server answered {status}")));
            };
            let next = parse(&resolve(&uri, location))?;
            allowed(&next, &bounds.network)?;
            if uri.scheme_str() == Some("https") && next.scheme_str() != Some("https") {
                return Err(failed(&uri, &"it redirects to an unencrypted address"));
            }
            if !is_same_origin(&uri, &next) {
                return Err(failed(
                    &uri,
                    &format!(
                        "it redirects to another host, port or scheme; ask for this if it is what you want: {next}"
                    ),
                ));
            }
            uri = next;
        }
        Err(failed(&uri, &format!("more than {DOWNLOAD_REDIRECTS} redirects")))
    }

    /// The content's size, as the server announced it.
    pub(super) fn size_bytes(&self) -> Option<u64> {
        self.response.headers().get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
    }

    /// The next piece; `None` at the end.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, WireError> {
        let Self { connection, response, from } = self;
        loop {
            let frame = poll_fn(|cx| Pin::new(response.body_mut()).poll_frame(cx));
            match in_time(from, connection.beside(frame)).await? {
                None => return Ok(None),
                Some(Ok(frame)) => {
                    if let Ok(bytes) = frame.into_data() {
                        return Ok(Some(bytes));
                    }
                }
                Some(Err(error)) => return Err(failed(from, &innermost(&error))),
            }
        }
    }

    async fn ask(uri: &Uri, bounds: &Bounds) -> Result<Self, WireError> {
        let way = way(uri, bounds).await?;
        let socket = connect(uri, &way).await.map_err(|error| unreached(uri, &error))?;
        let refused = |error: hyper::Error| failed(uri, &innermost(&error));
        let (mut sender, connection) =
            http1::handshake::<_, String>(TokioIo::new(socket)).await.map_err(refused)?;
        let mut connection = Connection::new(connection);
        let request = way
            .get(uri)
            .header(ACCEPT_ENCODING, "identity")
            .body(String::new())
            .map_err(|error| failed(uri, &error))?;
        let asked = connection.beside(sender.send_request(request));
        let response = in_time(uri, asked).await?.map_err(refused)?;
        if let Some(refusal) = way.refusal(response.status()) {
            return Err(failed(uri, &refusal));
        }
        Ok(Self { connection, response, from: uri.clone() })
    }
}

/// True if a redirect stays with the allowed scheme, host and port; an upgrade to encryption on the default ports counts as staying.
fn is_same_origin(one: &Uri, other: &Uri) -> bool {
    let is_same_host =
        matches!((one.host(), other.host()), (Some(one), Some(other)) if one.eq_ignore_ascii_case(other));
    let origins = ((one.scheme_str(), port(one)), (other.scheme_str(), port(other)));
    is_same_host && (origins.0 == origins.1 || origins == ((Some("http"), 80), (Some("https"), 443)))
}

fn port(uri: &Uri) -> u16 {
    uri.port_u16().unwrap_or(if uri.scheme_str() == Some("https") { 443 } else { 80 })
}

/// The route to a host, only at public addresses unless its user allowed the host.
async fn way(uri: &Uri, bounds: &Bounds) -> Result<Way, WireError> {
    let host = uri.host().unwrap_or_default();
    let is_allowed = bounds.downloads_within(host);
    match Way::to(uri).map_err(|error| failed(uri, &error))? {
        Way::Direct(_) if !is_allowed => Ok(Way::Direct(Arc::new(is_public))),
        way @ Way::Direct(_) => Ok(way),
        Way::Through(proxy) if !bounds.network.lets_out(proxy.port()) => Err(denied()),
        way @ Way::Through(_) => {
            let is_refused = match literal(host).filter(|_| !is_allowed) {
                Some(Literal::Address(address)) => !blocking(move || is_public(address)).await?,
                Some(Literal::Unusual) => true,
                None => false,
            };
            if is_refused { Err(private(host)) } else { Ok(way) }
        }
    }
}

/// A host given as an address and not as a name.
#[derive(Debug, PartialEq, Eq)]
enum Literal {
    Address(IpAddr),
    /// An IPv4 address in another notation, such as `0x7f.1` or `2130706433`, which some resolvers read.
    Unusual,
}

fn literal(host: &str) -> Option<Literal> {
    let bare = host.trim_matches(['[', ']']).trim_end_matches('.');
    if let Ok(address) = bare.parse() {
        return Some(Literal::Address(address));
    }
    let last = bare.rsplit('.').next().unwrap_or_default();
    let is_number = !last.is_empty() && last.bytes().all(|digit| digit.is_ascii_digit());
    (is_number || last.get(..2).is_some_and(|start| start.eq_ignore_ascii_case("0x")))
        .then_some(Literal::Unusual)
}

fn unreached(uri: &Uri, error: &io::Error) -> WireError {
    match error.get_ref().is_some_and(|inner| inner.is::<NotReached>()) {
        true => private(uri.host().unwrap_or_default()),
        false => failed(uri, error),
    }
}

fn private(host: &str) -> WireError {
    let text = format!(
        "nothing was written: {host} is this machine, or in its network, and downloads reach public addresses only. If you do \
         mean this host, fetch it with a command, or let the machine's user start the runner with --download-allow {host}"
    );
    WireError::new(ErrorKind::SandboxDenied, text)
}

/// Refuses hosts that commands must not reach.
fn allowed(uri: &Uri, network: &Network) -> Result<(), WireError> {
    if network.lets_out(port(uri)) { Ok(()) } else { Err(denied()) }
}

fn denied() -> WireError {
    let text = "this runner's network policy (--network, --allow-net) lets neither commands nor downloads reach that";
    WireError::new(ErrorKind::SandboxDenied, text)
}

/// Fails if nothing happens for too long.
async fn in_time<T>(uri: &Uri, wanted: impl Future<Output = T>) -> Result<T, WireError> {
    let timeout = Duration::from_millis(DOWNLOAD_IDLE_MS);
    let silent = |_| failed(uri, &format!("the server was silent for {} s", timeout.as_secs()));
    tokio::time::timeout(timeout, wanted).await.map_err(silent)
}

/// The target of a `Location` that was given at `uri`.
fn resolve(uri: &Uri, location: &str) -> String {
    let (scheme, authority) =
        (uri.scheme_str().unwrap_or("http"), uri.authority().map_or("", |authority| authority.as_str()));
    if location.starts_with("//") {
        return format!("{scheme}:{location}");
    }
    if location.starts_with('/') {
        return format!("{scheme}://{authority}{location}");
    }
    let has_scheme = location.split(['/', '?', '#']).next().is_some_and(|first| first.contains(':'));
    if has_scheme {
        return location.to_owned();
    }
    if location.starts_with('?') {
        return format!("{scheme}://{authority}{}{location}", uri.path());
    }
    let directory = uri.path().rsplit_once('/').map_or("", |(directory, _)| directory);
    format!("{scheme}://{authority}{directory}/{location}")
}

/// Names only the server: the rest of a URL may be a secret.
fn failed(uri: &Uri, reason: &dyn std::fmt::Display) -> WireError {
    let host = uri.authority().map_or("", |authority| authority.as_str());
    WireError::new(
        ErrorKind::Io,
        format!("the download from {host} failed, so nothing was written: {reason}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_in_any_notation_is_no_name() {
        for (host, address) in
            [("127.0.0.1", "127.0.0.1"), ("169.254.169.254.", "169.254.169.254"), ("[::1]", "::1")]
        {
            assert_eq!(literal(host), Some(Literal::Address(address.parse().unwrap())), "{host}");
        }
        for host in ["2130706433", "0x7f000001", "127.1", "0X7F.1", "10.0.0.0x1"] {
            assert_eq!(literal(host), Some(Literal::Unusual), "{host}");
        }
        for host in ["example.org", "example.org.", "1.example.org", "0x.example.org", "7zip.org", ""] {
            assert_eq!(literal(host), None, "{host}");
        }
    }

    #[test]
    fn only_urls_of_http_without_a_login_are_fetched() {
        for url in ["http://a", "https://a:1/b?c#d", "http://[::1]:80/", "http://127.0.0.1/x"] {
            assert!(parse(url).is_ok(), "{url}");
        }
        let long = format!("http://a/{}", "x".repeat(9_000));
        for url in [
            "",
            "a",
            "/a",
            "file:///etc/passwd",
            "ftp://a/b",
            "http://",
            "http://u:p@a/",
            "http://a b/",
            &long,
        ] {
            assert_eq!(parse(url).unwrap_err().kind, ErrorKind::InvalidBody, "{url}");
        }
    }

    #[test]
    fn an_origin_is_scheme_host_and_port_however_they_are_written() {
        let uri = |text: &str| text.parse::<Uri>().unwrap();
        let one = uri("http://a.example/x");
        for same in
            ["http://A.Example/y", "http://a.example:80/", "https://a.example/", "https://a.example:443"]
        {
            assert!(is_same_origin(&one, &uri(same)), "{same}");
        }
        for other in [
            "http://b.example/x",
            "http://a.example.b/",
            "http://x.a.example/",
            "http://127.0.0.1/",
            "http://a.example:8080/",
            "https://a.example:8443/",
        ] {
            assert!(!is_same_origin(&one, &uri(other)), "{other}");
        }
        assert!(
            !is_same_origin(&uri("https://a.example/"), &one),
            "never back to where nothing is encrypted"
        );
        assert!(!is_same_origin(&uri("http://a.example:8080/"), &uri("https://a.example/")));
    }

    #[tokio::test]
    async fn each_step_is_held_to_what_commands_may_reach() {
        use std::io::{Read, Write};
        crate::blocking::start().unwrap();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let answering = std::thread::spawn(move || {
            let moved = "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n";
            let mut socket = listener.accept().unwrap().0;
            assert!(socket.read(&mut [0; 4096]).unwrap() > 0);
            socket.write_all(moved.as_bytes()).unwrap();
        });
        let network = Network { ports: vec![port], ..Network::default() };
        let bounds = Bounds { network, download_allow: vec!["127.0.0.1".to_owned()], ..Bounds::default() };
        let url = parse(&format!("http://127.0.0.1:{port}/")).unwrap();
        let refused = Answer::to(url, &bounds).await.map(drop).unwrap_err();
        assert_eq!(refused.kind, ErrorKind::SandboxDenied, "{refused}");
        answering.join().unwrap();
    }

    #[tokio::test]
    async fn private_addresses_are_reached_where_their_host_was_allowed_alone() {
        crate::blocking::start().unwrap();
        // Nothing answers there, and nothing is requested.
        let closed = Bounds::default();
        for host in [
            "127.0.0.1",
            "localhost",
            "[::1]",
            "[::ffff:127.0.0.1]",
            "0.0.0.0",
            "169.254.169.254",
            "10.0.0.1",
            "192.168.1.1",
            "100.64.0.1",
            "[fd00::1]",
            "[fe80::1]",
        ] {
            let url = parse(&format!("http://{host}:1/secret")).unwrap();
            let refused = Answer::to(url, &closed).await.map(drop).unwrap_err();
            assert_eq!(refused.kind, ErrorKind::SandboxDenied, "{host}: {refused}");
            let way_out = format!("--download-allow {host}");
            assert!(refused.description.contains(&way_out), "{refused}");
            assert!(!refused.description.contains("secret"), "{refused}");
        }
        let open = Bounds { download_allow: vec!["127.0.0.1".to_owned()], ..Bounds::default() };
        let kind = async |url: &str| Answer::to(parse(url).unwrap(), &open).await.map(drop).unwrap_err().kind;
        assert_eq!(kind("http://127.0.0.1:1/").await, ErrorKind::Io, "nothing listens there");
        assert_eq!(kind("http://localhost:1/").await, ErrorKind::SandboxDenied, "another name of it");
    }

    #[test]
    fn redirects_lead_where_they_say() {
        let uri: Uri = "https://a.example:8/b/c?d".parse().unwrap();
        for (location, expected) in [
            ("http://x/y", "http://x/y"),
            ("//x/y", "https://x/y"),
            ("/y?z", "https://a.example:8/y?z"),
            ("y:z/..", "y:z/.."),
            ("y", "https://a.example:8/b/y"),
            ("?z", "https://a.example:8/b/c?z"),
        ] {
            assert_eq!(resolve(&uri, location), expected, "{location}");
        }
    }
}
