//! The headers of forwarded requests.

use std::net::IpAddr;

use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::http::uri::Uri;

/// The client's address, as determined by the node that the client reached. This header counts only on a connection from another node.
pub const CLIENT: HeaderName = HeaderName::from_static("sandbridge-client");
/// The user for whom a node opens a runner's link. This header counts only on a connection from another node.
pub const USER: HeaderName = HeaderName::from_static("sandbridge-user");
/// In a response from another node, states that this other node is not the user's home and has done nothing.
pub const NOT_HERE: HeaderName = HeaderName::from_static("sandbridge-not-here");

/// Headers that apply to one connection only (RFC 9110, 7.6.1), and are not forwarded. Headers about the body's length are kept.
const OF_ONE_CONNECTION: [HeaderName; 7] = [
    header::CONNECTION,
    header::EXPECT,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
];

/// Removes the headers that only another node may set. Call this for every request that did not come from a node.
pub fn remove_claims(headers: &mut HeaderMap) {
    headers.remove(CLIENT);
    headers.remove(USER);
    headers.remove(NOT_HERE);
}

/// Prepares a request's head for another node. Returns true if the request asks for a protocol upgrade.
pub fn prepare(uri: &mut Uri, headers: &mut HeaderMap, client: IpAddr) -> bool {
    let protocol = headers.remove(header::UPGRADE).filter(|_| asks_for_upgrade(headers));
    for name in &OF_ONE_CONNECTION {
        headers.remove(name);
    }
    remove_claims(headers);
    let client = HeaderValue::try_from(client.to_string()).expect("an address is ASCII");
    headers.insert(CLIENT, client);
    *uri = uri.path_and_query().map_or_else(|| Uri::from_static("/"), |path| Uri::from(path.clone()));
    let is_upgrade = protocol.is_some();
    if let Some(protocol) = protocol {
        headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(header::UPGRADE, protocol);
    }
    is_upgrade
}

/// Removes from a response the headers that apply to the connection between the nodes.
pub fn clean_answer(headers: &mut HeaderMap, is_upgrade: bool) {
    if !is_upgrade {
        headers.remove(header::CONNECTION);
    }
    headers.remove("keep-alive");
    headers.remove(header::TRANSFER_ENCODING);
}

/// Takes the client's address from a request that another node forwarded.
pub fn take_client(headers: &mut HeaderMap) -> Option<IpAddr> {
    headers.remove(CLIENT)?.to_str().ok()?.parse().ok()
}

fn asks_for_upgrade(headers: &HeaderMap) -> bool {
    let lines = headers.get_all(header::CONNECTION).iter().filter_map(|value| value.to_str().ok());
    lines.flat_map(|line| line.split(',')).any(|word| word.trim().eq_ignore_ascii_case("upgrade"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(list: &[(&'static str, &'static str)]) -> HeaderMap {
        let list =
            list.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        list.collect()
    }

    #[test]
    fn a_head_keeps_the_request_and_loses_the_connection() {
        let mut uri: Uri = "http://bridge.example/api/v1/me?x=1".parse().unwrap();
        let mut head = headers(&[
            ("host", "bridge.example"),
            ("connection", "keep-alive, te"),
            ("te", "trailers"),
            ("transfer-encoding", "chunked"),
            ("sandbridge-client", "6.6.6.6"),
            ("sandbridge-user", "1"),
            ("authorization", "Bearer x"),
        ]);
        assert!(!prepare(&mut uri, &mut head, [192, 0, 2, 1].into()));
        assert_eq!(uri, "/api/v1/me?x=1");
        let expected = headers(&[
            ("host", "bridge.example"),
            ("authorization", "Bearer x"),
            ("sandbridge-client", "192.0.2.1"),
        ]);
        assert_eq!(head, expected);
        assert_eq!(take_client(&mut head), Some([192, 0, 2, 1].into()));
        assert_eq!(take_client(&mut head), None);
    }

    #[test]
    fn another_protocol_is_asked_for_again() {
        let mut uri = Uri::from_static("/api/v1/events");
        let mut head =
            headers(&[("connection", "Upgrade"), ("upgrade", "websocket"), ("sec-websocket-key", "k")]);
        assert!(prepare(&mut uri, &mut head, [192, 0, 2, 1].into()));
        assert_eq!(
            (&head["connection"], &head["upgrade"]),
            (&HeaderValue::from_static("upgrade"), &HeaderValue::from_static("websocket"))
        );
        let mut unasked = headers(&[("upgrade", "websocket")]);
        assert!(!prepare(&mut uri, &mut unasked, [192, 0, 2, 1].into()) && !unasked.contains_key("upgrade"));
    }
}
