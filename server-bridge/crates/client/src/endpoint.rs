//! A server's address, and a connection to it: TCP, with TLS on top for `https` only.

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hyper::Uri;
use rustls::CertificateError;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::failure::Failure;
use super::limits::CONNECT_TIMEOUT;

/// A stream of bytes in both directions, encrypted or not.
pub(super) trait Socket: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Socket for T {}

/// A connection to a server.
pub(super) type BoxedSocket = Box<dyn Socket>;

/// A server's address.
pub(super) struct Endpoint {
    url: String,
    ca_cert: Option<PathBuf>,
    is_secure: bool,
    host: String,
    port: u16,
    /// The value of the header `Host`.
    pub(super) authority: String,
    /// The prefix of every path, without a trailing slash.
    pub(super) base_path: String,
}

impl Endpoint {
    /// Parses an address such as `http://127.0.0.1:8080`; over TLS the certificates in `ca_cert` are trusted as well.
    pub(super) fn parse(url: &str, ca_cert: Option<PathBuf>) -> Result<Self, Failure> {
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
            ca_cert,
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
        let error = match connected {
            Ok(Ok(socket)) => return Ok(socket),
            Ok(Err(error)) => error,
            Err(_) => io::ErrorKind::TimedOut.into(),
        };
        match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
            Some(refused) => Err(self.failed(refused, self.tls_hint(refused))),
            None => Err(self.unreachable(&error)),
        }
    }

    /// The failure of a connection that could not be made or broke.
    pub(super) fn unreachable(&self, why: &dyn Display) -> Failure {
        self.failed(why, "is it running, and is --server (or SANDBRIDGE_SERVER) right?")
    }

    /// The failure of a connection whose peer does not speak HTTP.
    pub(super) fn no_http(&self, why: &dyn Display) -> Failure {
        if self.is_secure {
            return self.unreachable(why);
        }
        self.failed(
            why,
            "the server does not speak HTTP there; should the URL begin with https:// instead of http://?",
        )
    }

    fn failed(&self, why: &dyn Display, hint: &str) -> Failure {
        Failure::other("unreachable", format!("cannot reach the server at {}: {why}; {hint}", self.url))
    }

    /// The hint about a TLS handshake that failed.
    fn tls_hint(&self, error: &rustls::Error) -> &'static str {
        match error {
            rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            ) => "its certificate is for another host; use the name in it with --server",
            rustls::Error::InvalidCertificate(
                CertificateError::Expired | CertificateError::ExpiredContext { .. },
            ) => "its certificate has expired; renew it, or set this machine's clock",
            rustls::Error::InvalidCertificate(_) if self.ca_cert.is_some() => {
                "its certificate is not trusted here; does the file in --ca-cert (or SANDBRIDGE_CA_CERT) hold the certificate of its authority?"
            }
            rustls::Error::InvalidCertificate(_) => {
                "its certificate is not trusted here; give the certificate of its authority with --ca-cert FILE (or SANDBRIDGE_CA_CERT)"
            }
            rustls::Error::InvalidMessage(_) => {
                "the server does not speak TLS there; should the URL begin with http:// instead of https://?"
            }
            _ => "are --server (or SANDBRIDGE_SERVER) and the server's certificate right?",
        }
    }

    async fn dial(&self) -> io::Result<BoxedSocket> {
        let stream = TcpStream::connect((self.host.as_str(), self.port)).await?;
        stream.set_nodelay(true)?;
        if !self.is_secure {
            return Ok(Box::new(stream));
        }
        let name = ServerName::try_from(self.host.clone()).map_err(io::Error::other)?;
        Ok(Box::new(tls_connector(self.ca_cert.as_deref())?.connect(name, stream).await?))
    }
}

/// TLS that trusts this machine's certificates, and those in `ca_cert`.
fn tls_connector(ca_cert: Option<&Path>) -> io::Result<TlsConnector> {
    // An error means that a provider is installed already, which is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut roots = rustls::RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(found.certs);
    if let Some(file) = ca_cert {
        let unusable = |reason: &dyn Display| {
            io::Error::other(format!("{} holds no usable certificates: {reason}", file.display()))
        };
        let certificates = CertificateDer::pem_file_iter(file)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|error| unusable(&error))?;
        if certificates.is_empty() {
            return Err(unusable(&"it is not a PEM file with a CERTIFICATE in it"));
        }
        for certificate in certificates {
            roots.add(certificate).map_err(|error| unusable(&error))?;
        }
    }
    if roots.is_empty() {
        let hint = "install ca-certificates, or name some with --ca-cert FILE";
        return Err(io::Error::other(format!("this machine has no root certificates; {hint}")));
    }
    let config = rustls::ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> Result<Endpoint, Failure> {
        Endpoint::parse(url, None)
    }

    #[test]
    fn addresses_are_read() {
        let plain = parse("http://127.0.0.1:8080").unwrap();
        assert_eq!((plain.host.as_str(), plain.port, plain.base_path.as_str()), ("127.0.0.1", 8080, ""));
        assert_eq!(plain.authority, "127.0.0.1:8080");
        let secure = parse("https://box.example/bridge").unwrap();
        assert_eq!((secure.port, secure.authority.as_str()), (443, "box.example"));
        assert_eq!((secure.is_secure, secure.base_path.as_str()), (true, "/bridge"));
        assert_eq!(parse("http://[::1]:9").unwrap().host, "::1");
        for bad in ["", "localhost", "ftp://x", "http://", "http://a@b", "http://x?y"] {
            assert_eq!(parse(bad).err().unwrap().code, 2, "{bad}");
        }
    }

    #[test]
    fn a_certificate_that_is_refused_is_told_with_the_option_for_it() {
        let refused = |why| rustls::Error::InvalidCertificate(why);
        let plain = parse("https://box.example").unwrap();
        let with_file = Endpoint::parse("https://box.example", Some("ca.pem".into())).unwrap();
        for (endpoint, error, hint) in [
            (&plain, refused(CertificateError::UnknownIssuer), "of its authority with --ca-cert FILE"),
            (&with_file, refused(CertificateError::UnknownIssuer), "does the file in --ca-cert"),
            (&plain, refused(CertificateError::Expired), "expired"),
            (&plain, refused(CertificateError::NotValidForName), "for another host"),
            (
                &plain,
                rustls::Error::InvalidMessage(rustls::InvalidMessage::InvalidContentType),
                "begin with http://",
            ),
        ] {
            assert!(endpoint.tls_hint(&error).contains(hint), "{error}");
        }
    }

    #[test]
    fn a_file_without_certificates_is_named() {
        let error = tls_connector(Some(Path::new("/dev/null"))).err().unwrap().to_string();
        assert!(error.contains("/dev/null holds no usable certificates"), "{error}");
        let error = tls_connector(Some(Path::new("/nowhere/ca.pem"))).err().unwrap().to_string();
        assert!(error.contains("/nowhere/ca.pem"), "{error}");
    }
}
