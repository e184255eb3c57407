//! TLS of the runner's own connections.

use std::path::PathBuf;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use crate::error::Error;

/// TLS against the system's certificates and one more file.
pub(crate) fn config(ca_cert: Option<&PathBuf>) -> Result<rustls::ClientConfig, Error> {
    let mut roots = rustls::RootCertStore::empty();
    // Some of a system's certificates may be unreadable; it matters that the server's is among the others.
    let native = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(native.certs);
    if let Some(file) = ca_cert {
        let tls = |reason: &dyn std::fmt::Display| Error::Tls(format!("{}: {reason}", file.display()));
        let certificates =
            CertificateDer::pem_file_iter(file).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        // A bundle may contain certificates that cannot be used here.
        if roots.add_parsable_certificates(certificates.map_err(|error| tls(&error))?).0 == 0 {
            return Err(tls(&"it holds no certificate of an authority; give one in PEM"));
        }
    }
    if roots.is_empty() {
        return Err(Error::Tls("this machine has no certificates; name some with --ca-cert FILE".to_owned()));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::Tls(error.to_string()))?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}
