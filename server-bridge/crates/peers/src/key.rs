//! The key of a node: made when its process starts, and stored only in its memory. Its public half is in the node's row.

use std::sync::Arc;

use ring::rand::SystemRandom;
use ring::signature::Ed25519KeyPair;
use rustls::crypto::ring::sign::any_eddsa_type;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use rustls::sign::CertifiedKey;

/// An Ed25519 key. Cheap to clone.
#[derive(Clone, Debug)]
pub struct NodeKey {
    certified: Arc<CertifiedKey>,
    public: Vec<u8>,
}

/// The system gave no randomness for a key.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("cannot make a key for this node: the system gave no random numbers")]
pub struct NoKey;

impl NodeKey {
    /// A new key.
    ///
    /// # Errors
    /// [`NoKey`].
    pub fn generate() -> Result<Self, NoKey> {
        let pkcs8 = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).map_err(|_| NoKey)?;
        let key = any_eddsa_type(&PrivatePkcs8KeyDer::from(pkcs8.as_ref())).map_err(|_| NoKey)?;
        let public = key.public_key().ok_or(NoKey)?.as_ref().to_vec();
        // With raw public keys the key itself takes the place of a certificate.
        let certified = Arc::new(CertifiedKey::new(vec![CertificateDer::from(public.clone())], key));
        Ok(Self { certified, public })
    }

    /// The public half, as a SubjectPublicKeyInfo in DER.
    pub fn public(&self) -> &[u8] {
        &self.public
    }

    pub(crate) fn certified(&self) -> Arc<CertifiedKey> {
        Arc::clone(&self.certified)
    }
}
