//! The hosts to which the server may have the runner send HTTP requests.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use serde::Deserialize;

use super::{InvalidBound, is_host};

/// A host, with one port or with all: `files.internal`, `10.0.0.5:8080`, `[fd00::5]:443`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct HttpHost {
    host: Host,
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Host {
    /// The name in lower case, without a dot at its end.
    Name(String),
    Address(IpAddr),
}

impl Host {
    /// A host as a URL has it, with or without brackets.
    fn of(text: &str) -> Self {
        let bare = text.trim_matches(['[', ']']);
        match bare.parse::<IpAddr>() {
            Ok(address) => Self::Address(address.to_canonical()),
            Err(_) => Self::Name(bare.trim_end_matches('.').to_ascii_lowercase()),
        }
    }
}

impl HttpHost {
    /// True if it names the host of a URL and its port.
    pub(crate) fn is(&self, host: &str, port: u16) -> bool {
        self.host == Host::of(host) && self.port.is_none_or(|only| only == port)
    }

    /// The address, if it is given as one.
    pub(crate) fn address(&self) -> Option<IpAddr> {
        match self.host {
            Host::Address(address) => Some(address),
            Host::Name(_) => None,
        }
    }
}

impl FromStr for HttpHost {
    type Err = InvalidBound;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let invalid = || {
            InvalidBound(format!(
                "--http-allow {text:?} is not a host; give a name or an address, with or without a port, such as files.internal, 10.0.0.5:8080 or [fd00::5]:443"
            ))
        };
        // An address of version 6 without brackets has no port.
        let (host, port) = match text.rsplit_once(':') {
            _ if text.parse::<IpAddr>().is_ok() => (text, None),
            Some((host, port)) if !text.ends_with(']') => (host, Some(port)),
            _ => (text, None),
        };
        let is_bracketed = host.starts_with('[') && host.ends_with(']');
        if !is_host(host) || (port.is_some() && host.contains(':') && !is_bracketed) {
            return Err(invalid());
        }
        let port = port.map(|port| port.parse().ok().filter(|port| *port != 0).ok_or_else(invalid));
        Ok(Self { host: Host::of(host), port: port.transpose()? })
    }
}

impl TryFrom<String> for HttpHost {
    type Error = InvalidBound;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl fmt::Display for HttpHost {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.host, self.port) {
            (Host::Name(name), _) => formatter.write_str(name)?,
            (Host::Address(IpAddr::V6(address)), Some(_)) => write!(formatter, "[{address}]")?,
            (Host::Address(address), _) => write!(formatter, "{address}")?,
        }
        self.port.map_or(Ok(()), |port| write!(formatter, ":{port}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> HttpHost {
        text.parse().unwrap()
    }

    #[test]
    fn a_host_is_named_with_a_port_or_without() {
        for (text, host, port, shown) in [
            ("Files.internal", "files.INTERNAL.", 80, "files.internal"),
            ("10.0.0.5", "10.0.0.5", 1, "10.0.0.5"),
            ("10.0.0.5:8080", "10.0.0.5", 8080, "10.0.0.5:8080"),
            ("::1", "[::1]", 3, "::1"),
            ("[fd00::5]", "[fd00::5]", 3, "fd00::5"),
            ("[fd00::5]:443", "[fd00:0::5]", 443, "[fd00::5]:443"),
            ("10.0.0.5", "[::ffff:10.0.0.5]", 80, "10.0.0.5"),
            ("build_1", "build_1", 80, "build_1"),
        ] {
            let allowed = of(text);
            assert!(allowed.is(host, port), "{text}");
            assert_eq!(allowed.to_string(), shown);
            assert_eq!(of(&allowed.to_string()), allowed);
        }
        for (text, host, port) in [
            ("10.0.0.5:8080", "10.0.0.5", 80),
            ("a.internal", "b.a.internal", 80),
            ("a.internal", "a.internal.evil", 80),
            ("localhost", "127.0.0.1", 80),
        ] {
            assert!(!of(text).is(host, port), "{text} {host}");
        }
    }

    #[test]
    fn anything_else_is_refused_with_what_to_write() {
        for text in [
            "",
            ":80",
            "a:",
            "a:0",
            "a:65536",
            "a:b",
            "http://a",
            "a/b",
            "*.internal",
            "*",
            "10.0.0.0/8",
            "u@a",
            "fd00::5:x",
            "[fd00::5",
            "[fd00::5]x",
            "a b",
        ] {
            let error = text.parse::<HttpHost>().unwrap_err().to_string();
            assert!(error.contains("--http-allow"), "{text}: {error}");
        }
    }
}
