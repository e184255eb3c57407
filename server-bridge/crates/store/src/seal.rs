//! Secrets that have to be read again, as they lie in the database: sealed where the server has an encryption key.

use aes_gcm::aead::{Aead, KeyInit, Payload};
use aes_gcm::{Aes256Gcm, Key, Nonce};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use crate::error::{Error, Result};
use crate::limits::NONCE_BYTES;

const PLAIN: &str = "plain:";
const SEALED: &str = "aes-256-gcm:";

/// What seals secrets: AES-256-GCM. `Debug` shows nothing of it.
#[derive(Clone)]
pub struct EncryptionKey(Aes256Gcm);

impl std::fmt::Debug for EncryptionKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("EncryptionKey(…)")
    }
}

impl EncryptionKey {
    /// The key that a long random text stands for: its SHA-256.
    pub fn from_text(text: &str) -> Self {
        Self(Aes256Gcm::new(&Key::<Aes256Gcm>::from(<[u8; 32]>::from(Sha256::digest(text.trim())))))
    }
}

/// A secret as it is stored. `place` says whose it is: what was moved elsewhere does not open.
pub(crate) fn seal(key: Option<&EncryptionKey>, place: &str, secret: &str) -> Result<String> {
    let Some(EncryptionKey(cipher)) = key else { return Ok(format!("{PLAIN}{secret}")) };
    let nonce: [u8; NONCE_BYTES] = rand::random();
    let payload = Payload { msg: secret.as_bytes(), aad: place.as_bytes() };
    let sealed = cipher.encrypt(&Nonce::from(nonce), payload).map_err(|_| Error::Sealed)?;
    Ok(format!("{SEALED}{}", STANDARD.encode([&nonce[..], &sealed].concat())))
}

/// The secret itself; one that was stored before there was an encryption key opens with any.
pub(crate) fn open(key: Option<&EncryptionKey>, place: &str, stored: &str) -> Result<String> {
    if let Some(secret) = stored.strip_prefix(PLAIN) {
        return Ok(secret.to_owned());
    }
    let opened = || {
        let sealed = STANDARD.decode(stored.strip_prefix(SEALED)?).ok()?;
        let (nonce, sealed) = sealed.split_first_chunk::<NONCE_BYTES>()?;
        let payload = Payload { msg: sealed, aad: place.as_bytes() };
        String::from_utf8(key?.0.decrypt(&Nonce::from(*nonce), payload).ok()?).ok()
    };
    opened().ok_or(Error::Sealed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sealed_opens_with_its_key_and_in_its_place_only() {
        let key = EncryptionKey::from_text("a long random text\n");
        let stored = seal(Some(&key), "1/mine", "sk-secret").unwrap();
        assert!(stored.starts_with(SEALED) && !stored.contains("sk-secret"), "{stored}");
        assert_ne!(stored, seal(Some(&key), "1/mine", "sk-secret").unwrap());
        let again = EncryptionKey::from_text("a long random text");
        assert_eq!(open(Some(&again), "1/mine", &stored).unwrap(), "sk-secret");
        for (key, place) in
            [(None, "1/mine"), (Some(&EncryptionKey::from_text("another")), "1/mine"), (Some(&key), "2/mine")]
        {
            assert!(matches!(open(key, place, &stored), Err(Error::Sealed)));
        }
        for broken in ["", "aes-256-gcm:", "aes-256-gcm:AAAA", "aes-256-gcm:?", &stored[..stored.len() - 4]] {
            assert!(matches!(open(Some(&key), "1/mine", broken), Err(Error::Sealed)), "{broken}");
        }
        assert_eq!(format!("{key:?}"), "EncryptionKey(…)");
    }

    #[test]
    fn without_an_encryption_key_a_secret_is_as_private_as_its_file() {
        let stored = seal(None, "1/mine", "sk-secret").unwrap();
        assert_eq!(open(None, "1/mine", &stored).unwrap(), "sk-secret");
        assert_eq!(open(Some(&EncryptionKey::from_text("new")), "1/mine", &stored).unwrap(), "sk-secret");
    }
}
