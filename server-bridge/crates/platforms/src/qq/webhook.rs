//! Deliveries by webhook, signed with Ed25519; the key pair is derived from the bot's secret.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use serde_json::{Value, json};

use crate::platform::Failure;

/// The length of the key's seed, in bytes; the secret is repeated up to this length.
const SEED_BYTES: usize = 32;

/// How far a delivery's time may be from this server's clock.
const CLOCK_TOLERANCE: Duration = Duration::from_secs(300);

fn keys(secret: &str) -> Result<Ed25519KeyPair, Failure> {
    let seed: Vec<u8> = secret.bytes().cycle().take(SEED_BYTES).collect();
    Ed25519KeyPair::from_seed_unchecked(&seed)
        .map_err(|_| Failure::Account("the secret cannot be used as a signing key".to_owned()))
}

/// Checks the signature of a delivery.
///
/// # Errors
/// [`Failure::Account`] if the signature is wrong, missing, or too old or too new.
pub(super) fn check(secret: &str, headers: &[(String, String)], body: &[u8]) -> Result<(), Failure> {
    let header = |wanted: &str| {
        let found = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted));
        found
            .map(|(_, value)| value.trim())
            .ok_or_else(|| Failure::Account("the delivery is not signed".to_owned()))
    };
    let wrong = || Failure::Account("the signature is wrong".to_owned());
    let (time, signature) = (header("x-signature-timestamp")?, header("x-signature-ed25519")?);
    let seconds: u64 = time.parse().map_err(|_| wrong())?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    if now.abs_diff(Duration::from_secs(seconds)) > CLOCK_TOLERANCE {
        return Err(Failure::Account(
            "the time of the delivery differs too much from this server's clock".to_owned(),
        ));
    }
    let signature = unhex(signature).ok_or_else(wrong)?;
    let signed = [time.as_bytes(), body].concat();
    let keys = keys(secret)?;
    UnparsedPublicKey::new(&ED25519, keys.public_key()).verify(&signed, &signature).map_err(|_| wrong())
}

/// Answers the platform's check that the address belongs to the bot.
///
/// # Errors
/// [`Failure::Message`] if a field of the check is missing.
pub(super) fn validated(secret: &str, asked: &Value) -> Result<Value, Failure> {
    let text = |key: &str| {
        asked[key]
            .as_str()
            .ok_or_else(|| Failure::Message("a field of the address check is missing".to_owned()))
    };
    let token = text("plain_token")?;
    Ok(
        json!({"plain_token": token, "signature": sign(secret, &[text("event_ts")?.as_bytes(), token.as_bytes()].concat())?}),
    )
}

pub(super) fn sign(secret: &str, message: &[u8]) -> Result<String, Failure> {
    Ok(keys(secret)?.sign(message).as_ref().iter().map(|byte| format!("{byte:02x}")).collect())
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> =
        text.chars().map(|c| c.to_digit(16).and_then(|digit| digit.try_into().ok())).collect();
    let digits = digits.filter(|digits| digits.len() % 2 == 0)?;
    Some(digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example from the platform's documentation.
    #[test]
    fn the_documents_example_is_answered_as_they_say() {
        let asked = json!({"plain_token": "Arq0D5A61EgUu4OxUvOp", "event_ts": "1725442341"});
        let answer = validated("DG5g3B4j9X2KOErG", &asked).unwrap();
        assert_eq!(
            answer["signature"],
            "87befc99c42c651b3aac0278e71ada338433ae26fcb24307bdc5ad38c1adc2d01bcfcadc0842edac85e85205028a1132afe09280305f13aa6909ffc2d652c706"
        );
    }

    #[test]
    fn a_forged_or_old_delivery_is_refused() {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let headers = |time: u64, body: &str| {
            let signature = sign("secret", format!("{time}{body}").as_bytes()).unwrap();
            vec![
                ("X-Signature-Timestamp".to_owned(), time.to_string()),
                ("x-signature-ed25519".to_owned(), signature),
            ]
        };
        check("secret", &headers(now, "body"), b"body").unwrap();
        for (secret, headers, body) in [
            ("secret", headers(now, "body"), "other"),
            ("terces", headers(now, "body"), "body"),
            ("secret", headers(now - 3600, "body"), "body"),
            ("secret", headers(now + 3600, "body"), "body"),
            ("secret", Vec::new(), "body"),
        ] {
            assert!(matches!(check(secret, &headers, body.as_bytes()), Err(Failure::Account(_))));
        }
    }
}
