//! The clients of proxies: the addresses in `X-Forwarded-For` and `Forwarded`, trusted from configured proxies only.
//!
//! Each proxy appends the address that connected to it. So the list is read from its end, past the configured proxies;
//! the first other address is the client's. Anything before that address was sent by the client and is ignored.

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};

use axum::http::HeaderMap;
use axum::http::header::{FORWARDED, HeaderName};
use ipnet::{IpNet, Ipv4Net};

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The rule for networks of proxies.
pub const NETWORK_RULE: &str = "use addresses or networks of proxies, such as 10.0.0.7 or 10.0.0.0/8, with commas between them, \
    and not a network that contains every address";

/// The trusted proxies.
#[derive(Debug, Clone, Default)]
pub struct TrustedProxies {
    networks: Vec<IpNet>,
    speak_proxy_protocol: bool,
}

/// The error for a text that is not a network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotANetwork(pub String);

impl TrustedProxies {
    /// Trusts the proxies of these networks; `speak_proxy_protocol` if each of their connections begins with a PROXY header.
    ///
    /// # Errors
    /// [`NotANetwork`] with the first text that is not a network.
    pub fn new(networks: &[String], speak_proxy_protocol: bool) -> Result<Self, NotANetwork> {
        let parse = |text: &String| network(text).ok_or_else(|| NotANetwork(text.clone()));
        Ok(Self { networks: networks.iter().map(parse).collect::<Result<_, _>>()?, speak_proxy_protocol })
    }

    /// True if this is the address of a trusted proxy.
    pub fn trusts(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.networks.iter().any(|network| network.contains(&address))
    }

    /// True if connections from this address begin with a PROXY header.
    pub fn expects_proxy_header(&self, address: IpAddr) -> bool {
        self.speak_proxy_protocol && self.trusts(address)
    }

    /// The sender of a request from `peer`: the peer itself, unless it is a proxy that names another sender. If a proxy's two headers
    /// differ, its client forged one of them, so neither is trusted.
    pub fn client(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let peer = peer.to_canonical();
        if !self.trusts(peer) {
            self.note_unnamed_proxy(peer, headers);
            return peer;
        }
        let of_list = values(headers, &X_FORWARDED_FOR)
            .map(|list| self.last_stranger(peer, list.rsplit(',').map(|hop| hop_address(hop.trim()))));
        let of_elements = values(headers, &FORWARDED)
            .map(|list| self.last_stranger(peer, split_quoted(&list, ',').rev().map(forwarded_for)));
        match (of_list, of_elements) {
            (Some(one), Some(other)) if one != other => peer,
            (Some(client), _) | (None, Some(client)) => client,
            (None, None) => peer,
        }
    }

    /// Goes from hop to hop, the nearest first, to the first address that is not a trusted proxy's. An unreadable hop ends the path,
    /// because everything before it passed through that hop.
    fn last_stranger(&self, peer: IpAddr, hops: impl Iterator<Item = Option<IpAddr>>) -> IpAddr {
        let mut nearest = peer;
        for hop in hops {
            match hop {
                Some(address) if self.trusts(address) => nearest = address,
                Some(address) => return address,
                None => break,
            }
        }
        nearest
    }

    /// Logs, once, that an unconfigured proxy seems to be in front of the server.
    fn note_unnamed_proxy(&self, peer: IpAddr, headers: &HeaderMap) {
        static IS_SAID: AtomicBool = AtomicBool::new(false);
        let may_be_ours = match peer {
            IpAddr::V4(v4) => v4.is_loopback() || v4.is_private(),
            IpAddr::V6(v6) => v6.is_loopback() || v6.is_unique_local(),
        };
        let forwards = headers.contains_key(&X_FORWARDED_FOR) || headers.contains_key(FORWARDED);
        if self.networks.is_empty() && may_be_ours && forwards && !IS_SAID.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                "requests come from {peer} on behalf of others; if that is your proxy, start the server with --trusted-proxy \
                 {peer}, so that \
                 wrong passwords of one client do not count against all of them"
            );
        }
    }
}

fn network(text: &str) -> Option<IpNet> {
    let network = match text.parse::<IpAddr>() {
        Ok(address) => IpNet::from(address.to_canonical()),
        Err(_) => text.parse::<IpNet>().ok()?,
    };
    // An IPv4 network in IPv6 form: peers are compared in IPv4 form.
    let network = match network {
        IpNet::V6(v6) => match (v6.addr().to_ipv4_mapped(), v6.prefix_len().checked_sub(96)) {
            (Some(v4), Some(prefix)) => IpNet::V4(Ipv4Net::new(v4, prefix).ok()?),
            _ => network,
        },
        IpNet::V4(_) => network,
    };
    (network.prefix_len() > 0).then(|| network.trunc())
}

/// All values of a header in one list; `None` if there are none. A value that is not text becomes an unreadable item.
fn values(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    let values: Vec<&str> =
        headers.get_all(name).iter().map(|value| value.to_str().unwrap_or("unreadable")).collect();
    (!values.is_empty()).then(|| values.join(","))
}

/// An address, with or without a port.
fn hop_address(hop: &str) -> Option<IpAddr> {
    let bracketed = hop.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let address = bracketed.unwrap_or(hop).parse::<IpAddr>().ok();
    let address = address.or_else(|| hop.parse::<SocketAddr>().ok().map(|socket| socket.ip()));
    address.map(|address| address.to_canonical())
}

/// The address of an element's `for`, in the syntax of RFC 7239.
fn forwarded_for(element: &str) -> Option<IpAddr> {
    let value = split_quoted(element, ';').find_map(|pair| {
        let (name, value) = pair.trim().split_once('=')?;
        name.eq_ignore_ascii_case("for").then_some(value)
    })?;
    let unquoted = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(value);
    hop_address(unquoted)
}

/// The parts between separators that are not in quotes.
fn split_quoted(text: &str, separator: char) -> std::vec::IntoIter<&str> {
    let (mut parts, mut start, mut is_quoted, mut is_escaped) = (Vec::new(), 0, false, false);
    for (at, character) in text.char_indices() {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' if is_quoted => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            _ if character == separator && !is_quoted => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts.into_iter()
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn proxies(networks: &[&str]) -> TrustedProxies {
        let networks: Vec<String> = networks.iter().map(|network| (*network).to_owned()).collect();
        TrustedProxies::new(&networks, false).unwrap()
    }

    fn client(peer: &str, headers: &[(&str, &str)]) -> String {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let name = HeaderName::try_from(*name).unwrap();
            map.append(name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        proxies(&["10.0.0.0/8", "::1"]).client(peer.parse().unwrap(), &map).to_string()
    }

    fn listed(value: &str) -> String {
        client("10.0.0.1", &[("x-forwarded-for", value)])
    }

    #[test]
    fn the_last_address_that_is_no_proxys_is_the_clients() {
        assert_eq!(listed("192.0.2.1"), "192.0.2.1");
        assert_eq!(
            listed("203.0.113.9, 192.0.2.1"),
            "192.0.2.1",
            "what the client wrote itself counts for nothing"
        );
        assert_eq!(listed("192.0.2.1, 10.1.1.1, 10.2.2.2"), "192.0.2.1");
        assert_eq!(listed("10.1.1.1,10.2.2.2"), "10.1.1.1");
        let two_lines = [("x-forwarded-for", "203.0.113.9"), ("X-Forwarded-For", "192.0.2.1, 10.1.1.1")];
        assert_eq!(client("10.0.0.1", &two_lines), "192.0.2.1");
        assert_eq!(client("10.0.0.1", &[]), "10.0.0.1");
    }

    #[test]
    fn nobody_but_a_named_proxy_is_believed() {
        let spoofed = [("x-forwarded-for", "127.0.0.1"), ("forwarded", "for=127.0.0.1")];
        assert_eq!(client("192.0.2.66", &spoofed), "192.0.2.66");
        assert_eq!(client("::2", &spoofed), "::2");
        let none = TrustedProxies::default();
        assert!(!none.trusts([127, 0, 0, 1].into()) && !none.expects_proxy_header([127, 0, 0, 1].into()));
    }

    #[test]
    fn addresses_come_with_ports_brackets_and_as_mapped_ones() {
        for (value, expected) in [
            ("192.0.2.1:4711", "192.0.2.1"),
            ("[2001:db8::1]:443", "2001:db8::1"),
            ("[2001:db8::1]", "2001:db8::1"),
            ("2001:db8::1", "2001:db8::1"),
            ("::ffff:192.0.2.1", "192.0.2.1"),
            ("192.0.2.1, ::ffff:10.1.1.1", "192.0.2.1"),
        ] {
            assert_eq!(listed(value), expected, "{value}");
        }
        assert_eq!(client("::ffff:10.0.0.1", &[("x-forwarded-for", "192.0.2.1")]), "192.0.2.1");
    }

    #[test]
    fn what_cannot_be_read_is_as_if_the_proxy_had_asked_itself() {
        for value in [
            "",
            " ",
            ",",
            "unknown",
            "localhost",
            "192.0.2.1:",
            "999.1.1.1",
            "[::1",
            "192.0.2.1 192.0.2.2",
            "\u{fc}",
        ] {
            assert_eq!(listed(value), "10.0.0.1", "{value:?}");
        }
        assert_eq!(listed("192.0.2.1, garbage, 10.7.7.7"), "10.7.7.7");
        for value in [
            "",
            "for",
            "for=",
            "for=_hidden",
            "for=\"unknown\"",
            "by=192.0.2.1",
            "for=\"192.0.2.1",
            "xfor=192.0.2.1",
        ] {
            assert_eq!(client("10.0.0.1", &[("forwarded", value)]), "10.0.0.1", "{value:?}");
        }
    }

    #[test]
    fn the_standard_header_is_understood() {
        for value in [
            "for=192.0.2.1",
            "For=\"192.0.2.1:4711\";proto=https;by=10.0.0.1",
            "for=203.0.113.9, for=192.0.2.1;host=\"a,b;for=203.0.113.9\"",
            "proto=https; for=192.0.2.1, for=\"[::1]\"",
        ] {
            assert_eq!(client("10.0.0.1", &[("forwarded", value)]), "192.0.2.1", "{value}");
        }
        let v6 = [("forwarded", "for=\"[2001:db8:cafe::17]:4711\"")];
        assert_eq!(client("10.0.0.1", &v6), "2001:db8:cafe::17");
    }

    #[test]
    fn headers_that_contradict_each_other_are_not_believed() {
        let spoofed = [("x-forwarded-for", "192.0.2.1"), ("forwarded", "for=203.0.113.9")];
        assert_eq!(client("10.0.0.1", &spoofed), "10.0.0.1");
        let agreeing = [("x-forwarded-for", "192.0.2.1"), ("forwarded", "for=203.0.113.9, for=192.0.2.1")];
        assert_eq!(client("10.0.0.1", &agreeing), "192.0.2.1");
    }

    #[test]
    fn networks_of_everybody_and_no_networks_are_refused() {
        for bad in [
            "",
            "0.0.0.0/0",
            "::/0",
            "::ffff:0.0.0.0/96",
            "10.0.0.0/33",
            "proxy.example",
            "10.0.0",
            "10.0.0.1-9",
            "*",
        ] {
            assert_eq!(
                TrustedProxies::new(&[bad.to_owned()], false).unwrap_err(),
                NotANetwork(bad.to_owned())
            );
        }
        assert!(proxies(&["::ffff:10.0.0.0/104"]).trusts([10, 9, 9, 9].into()));
        assert!(proxies(&["10.0.0.7/8"]).trusts([10, 9, 9, 9].into()));
        assert!(!proxies(&["10.0.0.7"]).trusts([10, 0, 0, 8].into()));
    }
}
