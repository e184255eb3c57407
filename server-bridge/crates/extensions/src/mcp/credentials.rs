//! A server's own client credentials: tokens are obtained without a login (OAuth's `client_credentials`), for a secret or
//! for an assertion that is signed with a private key (RFC 7523).

use std::fmt;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use api::mcp::McpOAuth;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rustls::SignatureScheme;
use rustls::crypto::ring;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;
use rustls::sign::SigningKey;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::limits::{MCP_ASSERTION_LIFE, MCP_WORD_BYTES, MCP_WORDS};

/// The grant that needs no login, as definitions name it.
const GRANT: &str = "client_credentials";

/// The algorithms of assertions; if a signature is a pair of numbers, with the width of each in bytes. The first algorithm that a key
/// can use is chosen.
const ALGORITHMS: [(&str, SignatureScheme, Option<usize>); 6] = [
    ("RS256", SignatureScheme::RSA_PKCS1_SHA256, None),
    ("ES256", SignatureScheme::ECDSA_NISTP256_SHA256, Some(32)),
    ("ES384", SignatureScheme::ECDSA_NISTP384_SHA384, Some(48)),
    ("EdDSA", SignatureScheme::ED25519, None),
    ("RS384", SignatureScheme::RSA_PKCS1_SHA384, None),
    ("RS512", SignatureScheme::RSA_PKCS1_SHA512, None),
];

/// The client of a server, and how it proves its identity. `Debug` shows no secrets.
#[derive(Clone)]
pub(super) struct ClientCredentials {
    entry: McpOAuth,
    pub(super) client_id: String,
    /// The permissions to request; if there are none, those that the server names.
    pub(super) scopes: Vec<String>,
    pub(super) proof: Proof,
}

/// The proof of a client.
#[derive(Clone)]
pub(super) enum Proof {
    /// A secret that the provider knows.
    Secret(String),
    /// A key whose public half the provider knows.
    Key { key: Arc<dyn SigningKey>, algorithm: &'static str, scheme: SignatureScheme, width: Option<usize> },
}

impl fmt::Debug for ClientCredentials {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ClientCredentials({}, …)", self.client_id)
    }
}

impl PartialEq for ClientCredentials {
    fn eq(&self, other: &Self) -> bool {
        self.entry == other.entry
    }
}

impl ClientCredentials {
    /// Reads a definition; `None` if it is for another grant type.
    ///
    /// The error names the problem of the definition; it contains no part of a secret.
    pub(super) fn of(entry: &McpOAuth) -> Result<Option<Self>, String> {
        if entry.grant_type.as_deref() != Some(GRANT) {
            return Ok(None);
        }
        let Some(client_id) = entry.client_id.clone().filter(|id| !id.is_empty()) else {
            return Err("its \"oauth\" has no \"clientId\"".to_owned());
        };
        let words = [&entry.client_id, &entry.client_secret, &entry.private_key];
        if words.into_iter().flatten().chain(&entry.scopes).any(|word| word.len() > MCP_WORD_BYTES)
            || entry.scopes.len() > MCP_WORDS
        {
            return Err(format!(
                "its \"oauth\" has a text of more than {MCP_WORD_BYTES} bytes, or more than {MCP_WORDS} scopes"
            ));
        }
        if words.into_iter().flatten().any(|word| word.contains("${")) {
            return Err(
                "variables (${…}) are not replaced in \"oauth\", since the requests come from the server and not from your machine: write \
                 the value itself"
                    .to_owned(),
            );
        }
        let proof = match (&entry.client_secret, &entry.private_key) {
            (Some(secret), None) if !secret.is_empty() => Proof::Secret(secret.clone()),
            (None, Some(pem)) => key(pem, entry.signing_algorithm.as_deref())?,
            _ => {
                return Err("its \"oauth\" needs either a \"clientSecret\" or a \"privateKey\"".to_owned());
            }
        };
        Ok(Some(Self { entry: entry.clone(), client_id, scopes: entry.scopes.clone(), proof }))
    }

    /// The whole entry, to be sealed.
    pub(super) fn entry(&self) -> &McpOAuth {
        &self.entry
    }

    /// The credentials without their secret, for hashes and people.
    pub(super) fn identity(&self) -> Value {
        json!({"client_id": self.client_id, "scopes": self.scopes, "proof": self.secret_name()})
    }

    /// The name of its secret.
    pub(super) fn secret_name(&self) -> &'static str {
        match self.proof {
            Proof::Secret(_) => "oauth.clientSecret",
            Proof::Key { .. } => "oauth.privateKey",
        }
    }

    /// A digest of its secret, which distinguishes secrets and is never shown.
    pub(super) fn sealed(&self) -> [u8; 32] {
        let secret = self.entry.client_secret.as_ref().or(self.entry.private_key.as_ref());
        Sha256::digest(secret.map(String::as_str).unwrap_or_default()).into()
    }
}

impl Proof {
    /// The assertion for a provider, named by its issuer; `None` if the proof is a secret.
    ///
    /// Fails with the reason as text.
    pub(super) fn assertion(&self, client_id: &str, issuer: &str) -> Option<Result<String, String>> {
        let Self::Key { key, algorithm, scheme, width } = self else { return None };
        let signed = || {
            let mut id = [0; 16];
            let random = ring::default_provider().secure_random;
            random.fill(&mut id).map_err(|_| "no random numbers are available")?;
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
            let header = json!({"alg": algorithm, "typ": "client-authentication+jwt"});
            let claims = json!({
                "iss": client_id, "sub": client_id, "aud": issuer, "jti": store::hex(&id),
                "iat": now, "exp": now + MCP_ASSERTION_LIFE.as_secs(),
            });
            let part = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
            let text = format!("{}.{}", part(header), part(claims));
            let signer = key.choose_scheme(&[*scheme]).ok_or("the key cannot be used")?;
            let mut signature = signer.sign(text.as_bytes()).map_err(|_| "the key could not sign")?;
            if let Some(width) = width {
                signature = halves(&signature, *width).ok_or("the signature has an unexpected form")?;
            }
            Ok(format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature)))
        };
        Some(signed().map_err(|why: &str| format!("the proof of its client's identity failed: {why}")))
    }
}

fn key(pem: &str, wanted: Option<&str>) -> Result<Proof, String> {
    let unread =
        "its \"privateKey\" is not a private key in PEM (RSA, P-256, P-384 or Ed25519, without a passphrase)";
    let der = PrivateKeyDer::from_pem_slice(pem.as_bytes()).map_err(|_| unread)?;
    let key = ring::sign::any_supported_type(&der).map_err(|_| unread)?;
    let fits = |(name, scheme, _): &&(&str, SignatureScheme, Option<usize>)| {
        wanted.is_none_or(|wanted| wanted == *name) && key.choose_scheme(&[*scheme]).is_some()
    };
    let Some((algorithm, scheme, width)) = ALGORITHMS.iter().find(fits) else {
        let names = ALGORITHMS.map(|(name, ..)| name).join(", ");
        return Err(format!(
            "its \"signingAlgorithm\" does not fit its \"privateKey\"; the known ones are {names}"
        ));
    };
    Ok(Proof::Key { key, algorithm, scheme: *scheme, width: *width })
}

/// The two numbers of a signature in DER, each in `width` bytes.
fn halves(der: &[u8], width: usize) -> Option<Vec<u8>> {
    let [0x30, _, numbers @ ..] = der else { return None };
    let (first, rest) = number(numbers, width)?;
    let (second, rest) = number(rest, width)?;
    rest.is_empty().then(|| [first, second].concat())
}

fn number(der: &[u8], width: usize) -> Option<(Vec<u8>, &[u8])> {
    let [0x02, length, rest @ ..] = der else { return None };
    let (digits, rest) = rest.split_at_checked(usize::from(*length))?;
    let digits = digits.iter().position(|digit| *digit != 0).map_or(&[][..], |from| &digits[from..]);
    let mut padded = vec![0; width.checked_sub(digits.len())?];
    padded.extend_from_slice(digits);
    Some((padded, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(entry: Value) -> Result<Option<ClientCredentials>, String> {
        ClientCredentials::of(&serde_json::from_value(entry).unwrap())
    }

    #[test]
    fn a_definition_names_a_client_and_one_proof_and_no_error_repeats_it() {
        let fine = json!({"grantType": "client_credentials", "clientId": "me", "clientSecret": "s3cret", "scopes": "a b"});
        let read = of(fine).unwrap().unwrap();
        assert_eq!((read.client_id.as_str(), read.scopes.len()), ("me", 2));
        assert!(!format!("{read:?}{}", read.identity()).contains("s3cret"));
        assert_eq!(
            of(json!({"clientId": "me", "callbackPort": 1})).unwrap(),
            None,
            "another program's login"
        );
        for (wrong, why) in [
            (json!({"clientSecret": "s3cret"}), "clientId"),
            (json!({"clientId": "me"}), "clientSecret"),
            (json!({"clientId": "me", "clientSecret": "s3cret", "privateKey": "s3cret"}), "either"),
            (json!({"clientId": "me", "privateKey": "s3cret"}), "PEM"),
            (json!({"clientId": "me", "clientSecret": "${s3cret}"}), "not replaced"),
        ] {
            let mut wrong = wrong;
            wrong["grantType"] = json!("client_credentials");
            let text = of(wrong).unwrap_err();
            assert!(text.contains(why) && !text.contains("s3cret"), "{text}");
        }
    }

    #[test]
    fn an_assertion_is_signed_by_the_algorithm_that_fits_the_key() {
        // The private key that RFC 8410 publishes as an example.
        let pem = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n-----END PRIVATE KEY-----\n";
        let entry = |algorithm: Option<&str>| json!({"grantType": "client_credentials", "clientId": "me", "privateKey": pem, "signingAlgorithm": algorithm});
        let read = of(entry(None)).unwrap().unwrap();
        let assertion = read.proof.assertion("me", "https://a.example").unwrap().unwrap();
        let parts: Vec<Vec<u8>> =
            assertion.split('.').map(|part| URL_SAFE_NO_PAD.decode(part).unwrap()).collect();
        let claims: Value = serde_json::from_slice(&parts[1]).unwrap();
        assert!(String::from_utf8_lossy(&parts[0]).contains("EdDSA") && parts[2].len() == 64);
        assert_eq!((&claims["sub"], &claims["aud"]), (&json!("me"), &json!("https://a.example")));
        assert!(of(entry(Some("RS256"))).unwrap_err().contains("signingAlgorithm"));
    }

    #[test]
    fn a_signature_is_two_numbers_of_one_width() {
        assert_eq!(halves(&[0x30, 7, 2, 2, 0, 0x81, 2, 1, 5], 2), Some(vec![0, 0x81, 0, 5]));
        for wrong in [
            &[][..],
            &[0x30, 3, 2, 9, 1],
            &[0x30, 8, 2, 3, 1, 2, 3, 2, 1, 1],
            &[0x30, 6, 2, 1, 1, 2, 1, 1, 0],
        ] {
            assert_eq!(halves(wrong, 2), None, "{wrong:?}");
        }
    }
}
