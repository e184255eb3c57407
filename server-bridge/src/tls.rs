//! TLS built in: the certificate and key given by `--tls-cert` and `--tls-key`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

/// Why TLS could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The file is missing, unreadable or not PEM.
    #[error("cannot read the {what} {}: {reason}; it must be a PEM file", path.display())]
    File {
        /// `certificate` or `private key`.
        what: &'static str,
        /// The path of the file.
        path: PathBuf,
        /// The reason why it cannot be used.
        reason: String,
    },
    /// Certificate and key do not belong together, or rustls does not support them.
    #[error("the certificate and the private key cannot be used: {0}")]
    Unusable(#[from] rustls::Error),
}

/// Installs ring as the cryptography provider of every TLS client and server of this process. Calling it again changes
/// nothing.
pub fn install_provider() {
    // An error means that a provider is installed already, which is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// An acceptor of TLS connections with this certificate chain and key, both PEM files.
///
/// # Errors
/// [`TlsError`].
pub fn acceptor(certificate: &Path, key: &Path) -> Result<TlsAcceptor, TlsError> {
    install_provider();
    let unreadable =
        |what, path: &Path, reason: String| TlsError::File { what, path: path.to_owned(), reason };
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| unreadable("certificate", certificate, error.to_string()))?;
    if chain.is_empty() {
        return Err(unreadable("certificate", certificate, "it contains no certificate".to_owned()));
    }
    let key = PrivateKeyDer::from_pem_file(key)
        .map_err(|error| unreadable("private key", key, error.to_string()))?;
    let mut config = rustls::ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
