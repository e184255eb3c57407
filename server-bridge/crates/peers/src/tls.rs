//! The handshake between two nodes: TLS 1.3, raw public keys both ways, no resumption.

use std::fmt;
use std::io;
use std::sync::Arc;

use rustls::client::AlwaysResolvesClientRawPublicKeys;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls13_signature_with_raw_key};
use rustls::pki_types::{CertificateDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::server::AlwaysResolvesServerRawPublicKeys;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    AlertDescription, CertificateError, ClientConfig, DigitallySignedStruct, DistinguishedName, Error,
    OtherError, ServerConfig, SignatureScheme,
};

use crate::directory::Directory;
use crate::key::NodeKey;
use crate::limits::PROTOCOL;

/// The server name in a handshake; nothing depends on it.
pub(crate) const NAME: &str = "peer.invalid";

/// The owner of the key that was presented at a called address, if that is not the node that was called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mistaken {
    /// The caller itself.
    Itself,
    /// Another program.
    Stranger,
}

impl fmt::Display for Mistaken {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Itself => "the address leads to the caller itself",
            Self::Stranger => "the address leads to another program",
        })
    }
}

impl std::error::Error for Mistaken {}

/// Returns the configuration for calling the node with this key.
pub(crate) fn client(own: &NodeKey, expected: Vec<u8>) -> Result<ClientConfig, Error> {
    let provider = Arc::new(ring::default_provider());
    let verifier = Called { provider: Arc::clone(&provider), expected, own: own.public().to_vec() };
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_client_cert_resolver(Arc::new(AlwaysResolvesClientRawPublicKeys::new(own.certified())));
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    config.enable_sni = false;
    config.resumption = rustls::client::Resumption::disabled();
    Ok(config)
}

/// Returns the configuration of the listener, which accepts the keys in the directory.
pub(crate) fn server(own: &NodeKey, directory: Directory) -> Result<ServerConfig, Error> {
    let provider = Arc::new(ring::default_provider());
    let verifier = Callers { provider: Arc::clone(&provider), directory };
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_client_cert_verifier(Arc::new(verifier))
        .with_cert_resolver(Arc::new(AlwaysResolvesServerRawPublicKeys::new(own.certified())));
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    config.send_tls13_tickets = 0;
    config.session_storage = Arc::new(rustls::server::NoServerSessionStorage {});
    Ok(config)
}

/// Returns the TLS alert that the other side sent, if that is the cause of a failed handshake.
pub(crate) fn alert_of(error: &io::Error) -> Option<AlertDescription> {
    match error.get_ref()?.downcast_ref::<Error>()? {
        Error::AlertReceived(alert) => Some(*alert),
        _ => None,
    }
}

/// Returns which program answered in place of the node that was called.
pub(crate) fn mistaken_in(error: &io::Error) -> Option<Mistaken> {
    match error.get_ref()?.downcast_ref::<Error>()? {
        Error::Other(OtherError(inner)) => inner.downcast_ref::<Mistaken>().copied(),
        _ => None,
    }
}

fn check_signature(
    provider: &CryptoProvider,
    message: &[u8],
    key: &CertificateDer<'_>,
    signed: &DigitallySignedStruct,
) -> Result<HandshakeSignatureValid, Error> {
    let key = SubjectPublicKeyInfoDer::from(key.as_ref());
    verify_tls13_signature_with_raw_key(message, &key, signed, &provider.signature_verification_algorithms)
}

fn not_tls13() -> Error {
    Error::General("nodes must use TLS 1.3 with each other".to_owned())
}

/// Verifies keys at a caller: accepts only the key of the node that is called.
#[derive(Debug)]
struct Called {
    provider: Arc<CryptoProvider>,
    expected: Vec<u8>,
    own: Vec<u8>,
}

impl ServerCertVerifier for Called {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let presented = end_entity.as_ref();
        if presented == self.expected {
            return Ok(ServerCertVerified::assertion());
        }
        let mistaken = if presented == self.own { Mistaken::Itself } else { Mistaken::Stranger };
        Err(Error::Other(OtherError(Arc::new(mistaken))))
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _key: &CertificateDer<'_>,
        _signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(not_tls13())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        key: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        check_signature(&self.provider, message, key, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

/// Verifies keys at the listener: accepts only the keys of live nodes.
#[derive(Debug)]
struct Callers {
    provider: Arc<CryptoProvider>,
    directory: Directory,
}

impl ClientCertVerifier for Callers {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        if self.directory.with_key(end_entity.as_ref()).is_some() {
            return Ok(ClientCertVerified::assertion());
        }
        // A node that has just started may not be in the list yet.
        self.directory.refresh();
        Err(Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure))
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _key: &CertificateDer<'_>,
        _signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(not_tls13())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        key: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        check_signature(&self.provider, message, key, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}
