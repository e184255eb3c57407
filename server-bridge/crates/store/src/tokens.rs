//! Tokens: how they are made, hashed and compared.
//!
//! A token is 256 random bits in URL-safe base64 after a prefix that names its kind (and lets a secret scanner find a leaked
//! one). Only its SHA-256 is stored. A plain hash is enough, since 256 random bits cannot be guessed. A lookup uses that
//! hash, so timing could only reveal something about the hash; the row that was found is then compared once more in constant
//! time.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::limits::TOKEN_BYTES;
use records::hex;

/// The beginning of a runner's token.
pub const RUNNER_TOKEN_PREFIX: &str = "sbr_";
/// The beginning of a token that a new runner shows once.
pub const ENROLMENT_TOKEN_PREFIX: &str = "sbe_";
/// The beginning of a program's key.
pub const API_KEY_PREFIX: &str = "sbk_";
/// The beginning of a session's token.
pub const SESSION_TOKEN_PREFIX: &str = "sbs_";
/// The beginning of the cookie that belongs to a page's session.
pub const SESSION_COOKIE_PREFIX: &str = "sbc_";

/// A secret on its way to its owner. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// The secret itself, to be shown to its owner once and never logged.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// The secret itself, by value.
    pub fn into_exposed(self) -> String {
        self.0
    }

    pub(crate) fn random(prefix: &'static str) -> Self {
        let bytes: [u8; TOKEN_BYTES] = rand::random();
        Self(format!("{prefix}{}", URL_SAFE_NO_PAD.encode(bytes)))
    }

    pub(crate) fn hash(&self) -> TokenHash {
        TokenHash(hex(&Sha256::digest(self.0.as_bytes())))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret(…)")
    }
}

/// The SHA-256 of a token in hex, as it is stored.
pub(crate) struct TokenHash(String);

impl TokenHash {
    /// Hashes a presented token; `None` if its form or its length rules out a token of this kind.
    pub(crate) fn of_presented(prefix: &'static str, token: &str) -> Option<Self> {
        let encoded_len = (TOKEN_BYTES * 8).div_ceil(6);
        let plausible = token.len() == prefix.len() + encoded_len && token.starts_with(prefix);
        plausible.then(|| Self(hex(&Sha256::digest(token.as_bytes()))))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Compares with a stored hash in constant time.
    pub(crate) fn matches(&self, stored: &str) -> bool {
        self.0.as_bytes().ct_eq(stored.as_bytes()).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_has_256_bits_and_its_prefix() {
        let token = Secret::random(RUNNER_TOKEN_PREFIX);
        let encoded = token.expose().strip_prefix("sbr_").unwrap();
        assert_eq!(URL_SAFE_NO_PAD.decode(encoded).unwrap().len(), 32);
        assert_ne!(token, Secret::random(RUNNER_TOKEN_PREFIX));
    }

    #[test]
    fn the_presented_token_hashes_to_the_issued_one() {
        let token = Secret::random(SESSION_TOKEN_PREFIX);
        let presented = TokenHash::of_presented(SESSION_TOKEN_PREFIX, token.expose()).unwrap();
        assert!(presented.matches(token.hash().as_str()));
        assert!(!presented.matches(Secret::random(SESSION_TOKEN_PREFIX).hash().as_str()));
    }

    #[test]
    fn what_cannot_be_a_token_is_not_hashed() {
        let token = Secret::random(SESSION_TOKEN_PREFIX);
        for presented in
            ["", "sbs_", &token.expose()[1..], &format!("{}x", token.expose()), &"x".repeat(1 << 20)]
        {
            assert!(TokenHash::of_presented(SESSION_TOKEN_PREFIX, presented).is_none());
        }
        assert!(TokenHash::of_presented(RUNNER_TOKEN_PREFIX, token.expose()).is_none());
    }

    #[test]
    fn debug_output_hides_the_secret() {
        let token = Secret::random(RUNNER_TOKEN_PREFIX);
        assert_eq!(format!("{token:?}"), "Secret(…)");
    }
}
