//! The hosts and addresses that a request may reach.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use address::is_metadata;
use hyper::Uri;
use proto::{ErrorKind, WireError};

use super::failed;
use super::request::port;
use crate::bounds::HttpHost;
use crate::net::http::{Admits, NotReached};

/// The check of addresses for the host of a URL. A named host is permitted at every address except those of cloud metadata services and
/// those that belong to no service, such as link-local ones; such an address has to be named itself.
///
/// Fails with `sandbox_denied` if the machine's user did not name the host.
pub(super) fn admits(allowed: &[HttpHost], target: &Uri) -> Result<Admits, WireError> {
    let (host, port) = (target.host().unwrap_or_default(), port(target));
    if !allowed.iter().any(|known| known.is(host, port)) {
        let text = format!(
            "nothing was sent: this runner sends HTTP requests only to the hosts that its machine's user named, and {host}:{port} is not one of them. To permit it, start the runner with --http-allow {host}:{port}"
        );
        return Err(WireError::new(ErrorKind::SandboxDenied, text));
    }
    let of_port =
        allowed.iter().filter(move |known| known.address().is_some_and(|it| known.is(&it.to_string(), port)));
    let named: Vec<IpAddr> = of_port.filter_map(HttpHost::address).collect();
    Ok(Arc::new(move |address| !is_metadata(address) || named.contains(&address.to_canonical())))
}

/// The reason why a host was not connected to.
pub(super) fn unreached(target: &Uri, error: &io::Error) -> WireError {
    if !error.get_ref().is_some_and(|inner| inner.is::<NotReached>()) {
        return failed(target, error);
    }
    let host = target.host().unwrap_or_default();
    let text = format!(
        "nothing was sent: {host} is, or leads to, an address where clouds hand out credentials, or one that belongs to no service. To permit such an address, name the address itself with --http-allow"
    );
    WireError::new(ErrorKind::SandboxDenied, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admitted(allowed: &[&str], url: &str, address: &str) -> Option<bool> {
        let allowed: Vec<HttpHost> = allowed.iter().map(|text| text.parse().unwrap()).collect();
        let admits = admits(&allowed, &url.parse().unwrap()).ok()?;
        Some(admits(address.parse().unwrap()))
    }

    #[test]
    fn only_named_hosts_are_reached_and_at_no_metadata_service() {
        let allowed = ["mcp.internal", "10.0.0.5:8080", "127.0.0.1"];
        for (url, address) in [
            ("http://mcp.internal/", "10.1.2.3"),
            ("https://MCP.internal.:8443/", "fd00::1"),
            ("http://10.0.0.5:8080/", "10.0.0.5"),
            ("http://127.0.0.1:1/", "127.0.0.1"),
            ("http://[::ffff:127.0.0.1]/", "127.0.0.1"),
        ] {
            assert_eq!(admitted(&allowed, url, address), Some(true), "{url}");
        }
        for url in [
            "http://10.0.0.5/",
            "http://10.0.0.6:8080/",
            "http://localhost/",
            "http://8.8.8.8/",
            "http://169.254.169.254/",
            "http://[::ffff:169.254.169.254]/",
            "http://a.mcp.internal/",
        ] {
            assert_eq!(admitted(&allowed, url, "10.0.0.5"), None, "{url}");
        }
        for address in ["169.254.169.254", "::ffff:169.254.169.254", "fd00:ec2::254", "0.0.0.0", "fe80::1"] {
            assert_eq!(admitted(&allowed, "http://mcp.internal/", address), Some(false), "{address}");
        }
        let listed = ["mcp.internal", "169.254.169.254:80"];
        assert_eq!(admitted(&listed, "http://169.254.169.254/latest", "169.254.169.254"), Some(true));
        assert_eq!(admitted(&listed, "http://169.254.169.254:8080/", "169.254.169.254"), None);
        assert_eq!(admitted(&listed, "http://mcp.internal:8080/", "169.254.169.254"), Some(false));
    }

    #[test]
    fn the_refusal_says_how_to_permit_it_and_repeats_no_path() {
        let error = admits(&[], &"http://a.internal/secret?k=v".parse().unwrap()).err().unwrap();
        assert_eq!(error.kind, ErrorKind::SandboxDenied);
        assert!(error.description.contains("--http-allow a.internal:80"), "{error}");
        assert!(!error.description.contains("secret"), "{error}");
    }
}
