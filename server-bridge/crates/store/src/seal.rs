//! Secrets that have to be read again: stored in the database sealed with AES-256-GCM.
//!
//! Each stored secret has a prefix that names how it was sealed. The prefixes of earlier versions, `plain:` and `aes-256-gcm:` (whose key was the
//! SHA-256 of a text), are still read, but no longer written; `sealing` seals those secrets again when the server starts.

use std::fmt;

use aes_gcm::aead::{Aead, KeyInit, Payload};
use aes_gcm::{Aes256Gcm, Key, Nonce};
use argon2::{Algorithm, Argon2, Params, Version};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hkdf::Hkdf;
use sha2::{Digest, Sha256};

use crate::error::{Error, Result};
use crate::limits::{
    ENCRYPTION_KEY_BYTES, NONCE_BYTES, PASSPHRASE_MEMORY_KIB, PASSPHRASE_PASSES, PASSPHRASE_THREADS,
};

const PLAIN: &str = "plain:";
const SEALED_BY_TEXT: &str = "aes-256-gcm:";
const SEALED: &str = "aes-256-gcm-2:";

/// The purpose of the key, for HKDF: another purpose gets another key from the same file.
const PURPOSE: &[u8] = b"sandbridge: secrets in the database";
/// The purpose of a key that is derived from a one-time secret.
const PURPOSE_ONE_TIME: &[u8] = b"sandbridge: the document of a one-time secret";

/// The server's key for sealing secrets. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub enum EncryptionKey {
    /// A text that a person chose.
    Passphrase(String),
    /// Random bytes from the server's own key file.
    File([u8; ENCRYPTION_KEY_BYTES]),
}

impl fmt::Debug for EncryptionKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Passphrase(_) => "Passphrase(…)",
            Self::File(_) => "File(…)",
        })
    }
}

impl EncryptionKey {
    /// The name of this kind of key in the database.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Passphrase(_) => "passphrase",
            Self::File(_) => "file",
        }
    }

    /// The cipher of this key with this salt, derived by argon2id from a passphrase, which takes some time and memory, or by HKDF-SHA256 from
    /// random bytes.
    pub(crate) fn cipher(&self, salt: &[u8]) -> Result<Sealer> {
        let mut derived = [0; ENCRYPTION_KEY_BYTES];
        match self {
            Self::Passphrase(text) => {
                let mut derive = || {
                    let params = Params::new(
                        PASSPHRASE_MEMORY_KIB,
                        PASSPHRASE_PASSES,
                        PASSPHRASE_THREADS,
                        Some(ENCRYPTION_KEY_BYTES),
                    )?;
                    let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
                    argon2.hash_password_into(text.trim().as_bytes(), salt, &mut derived)
                };
                derive().map_err(|error| Error::PasswordHash(error.to_string()))?;
            }
            Self::File(bytes) => Hkdf::<Sha256>::new(Some(salt), bytes)
                .expand(PURPOSE, &mut derived)
                .expect("HKDF can give far more than 32 bytes"),
        }
        Ok(Sealer(Aes256Gcm::new(&Key::<Aes256Gcm>::from(derived))))
    }

    /// The cipher that earlier versions derived from a text; `None` for random bytes.
    pub(crate) fn cipher_of_text(&self) -> Option<Sealer> {
        let Self::Passphrase(text) = self else { return None };
        let digest = <[u8; 32]>::from(Sha256::digest(text.trim()));
        Some(Sealer(Aes256Gcm::new(&Key::<Aes256Gcm>::from(digest))))
    }
}

/// Seals and opens secrets. `Debug` does not show its key.
#[derive(Clone)]
pub(crate) struct Sealer(Aes256Gcm);

impl fmt::Debug for Sealer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Sealer(…)")
    }
}

impl Sealer {
    /// A sealer with a random key, for a store that is deleted with its process.
    pub(crate) fn random() -> Self {
        Self(Aes256Gcm::new(&Key::<Aes256Gcm>::from(rand::random::<[u8; 32]>())))
    }

    /// A sealer whose key is derived from a random secret that is stored nowhere.
    pub(crate) fn of_secret(secret: &str) -> Self {
        let mut derived = [0; ENCRYPTION_KEY_BYTES];
        Hkdf::<Sha256>::new(None, secret.as_bytes())
            .expand(PURPOSE_ONE_TIME, &mut derived)
            .expect("HKDF can give far more than 32 bytes");
        Self(Aes256Gcm::new(&Key::<Aes256Gcm>::from(derived)))
    }

    /// Returns a secret in its stored form. `place` names its owner and purpose: a secret that was moved elsewhere cannot be opened.
    pub(crate) fn seal(&self, place: &str, secret: &str) -> Result<String> {
        let nonce: [u8; NONCE_BYTES] = rand::random();
        let payload = Payload { msg: secret.as_bytes(), aad: place.as_bytes() };
        let sealed = self.0.encrypt(&Nonce::from(nonce), payload).map_err(|_| Error::Sealed)?;
        Ok(format!("{SEALED}{}", STANDARD.encode([&nonce[..], &sealed].concat())))
    }

    /// Returns the plain text of a stored secret.
    pub(crate) fn open(&self, place: &str, stored: &str) -> Result<String> {
        stored.strip_prefix(SEALED).and_then(|sealed| self.decrypt(place, sealed)).ok_or(Error::Sealed)
    }

    fn decrypt(&self, place: &str, sealed: &str) -> Option<String> {
        let sealed = STANDARD.decode(sealed).ok()?;
        let (nonce, sealed) = sealed.split_first_chunk::<NONCE_BYTES>()?;
        let payload = Payload { msg: sealed, aad: place.as_bytes() };
        String::from_utf8(self.0.decrypt(&Nonce::from(*nonce), payload).ok()?).ok()
    }
}

/// A secret in its stored form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stored<'a> {
    /// Plain text, from an earlier version.
    Plain(&'a str),
    /// Sealed by an earlier version, with the SHA-256 of a text.
    SealedByText(&'a str),
    /// Sealed in the current form, or in no known form.
    Sealed,
}

impl<'a> Stored<'a> {
    pub(crate) fn of(stored: &'a str) -> Self {
        if let Some(secret) = stored.strip_prefix(PLAIN) {
            return Self::Plain(secret);
        }
        stored.strip_prefix(SEALED_BY_TEXT).map_or(Self::Sealed, Self::SealedByText)
    }
}

/// Opens a secret that an earlier version sealed with a text, if `key` is that text.
pub(crate) fn open_by_text(key: &EncryptionKey, place: &str, sealed: &str) -> Option<String> {
    key.cipher_of_text()?.decrypt(place, sealed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passphrase(text: &str, salt: &[u8; 16]) -> Sealer {
        EncryptionKey::Passphrase(text.to_owned()).cipher(salt).unwrap()
    }

    #[test]
    fn what_is_sealed_opens_with_its_key_its_salt_and_in_its_place_only() {
        let sealer = passphrase("a long random text\n", b"0123456789abcdef");
        let stored = sealer.seal("1/mine", "sk-secret").unwrap();
        assert!(stored.starts_with(SEALED) && !stored.contains("sk-secret"), "{stored}");
        assert_ne!(stored, sealer.seal("1/mine", "sk-secret").unwrap());
        let again = passphrase("a long random text", b"0123456789abcdef");
        assert_eq!(again.open("1/mine", &stored).unwrap(), "sk-secret");
        for (sealer, place) in [
            (Sealer::random(), "1/mine"),
            (passphrase("another", b"0123456789abcdef"), "1/mine"),
            (passphrase("a long random text", b"0123456789abcdeF"), "1/mine"),
            (sealer.clone(), "2/mine"),
        ] {
            assert!(matches!(sealer.open(place, &stored), Err(Error::Sealed)));
        }
        let plain = "plain:sk-secret";
        for broken in
            ["", SEALED, "aes-256-gcm-2:AAAA", "aes-256-gcm-2:?", &stored[..stored.len() - 4], plain]
        {
            assert!(matches!(sealer.open("1/mine", broken), Err(Error::Sealed)), "{broken}");
        }
        assert_eq!(format!("{sealer:?}"), "Sealer(…)");
    }

    #[test]
    fn random_bytes_and_a_passphrase_of_the_same_bytes_are_different_keys() {
        let (file, text) = (EncryptionKey::File([b'x'; 32]), EncryptionKey::Passphrase("x".repeat(32)));
        let stored = file.cipher(b"0123456789abcdef").unwrap().seal("1", "s").unwrap();
        assert!(text.cipher(b"0123456789abcdef").unwrap().open("1", &stored).is_err());
        assert_eq!(file.cipher(b"0123456789abcdef").unwrap().open("1", &stored).unwrap(), "s");
        assert_eq!(format!("{file:?} {text:?}"), "File(…) Passphrase(…)");
    }
}
