//! The key of a node, which is created when the node's process starts and is stored only in memory. Its public half is in the node's row.

use std::sync::Arc;

use ring::rand::SystemRandom;
use ring::signature::Ed25519KeyPair;
use rustls::crypto::ring::sign::any_eddsa_type;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use rustls::sign::CertifiedKey;

/// An Ed25519 key pair. Cheap to clone.
#[derive(Clone, Debug)]
pub struct NodeKey {
    certified: Arc<CertifiedKey>,
    public: Vec<u8>,
}

/// The system returned no random numbers for a key.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("cannot create a key for this node: the system returned no random numbers")]
pub struct NoKey;

impl NodeKey {
    /// Creates a key.
    ///
    /// # Errors
    /// [`NoKey`].
    pub fn generate() -> Result<Self, NoKey> {
        let pkcs8 = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).map_err(|_| NoKey)?;
        let key = any_eddsa_type(&PrivatePkcs8KeyDer::from(pkcs8.as_ref())).map_err(|_| NoKey)?;
        let public = key.public_key().ok_or(NoKey)?.as_ref().to_vec();
        // With raw public keys, the key itself takes the place of a certificate.
        let certified = Arc::new(CertifiedKey::new(vec![CertificateDer::from(public.clone())], key));
        Ok(Self { certified, public })
    }

    /// Returns the public half, as a SubjectPublicKeyInfo in DER.
    pub fn public(&self) -> &[u8] {
        &self.public
    }

    pub(crate) fn certified(&self) -> Arc<CertifiedKey> {
        Arc::clone(&self.certified)
    }
}
