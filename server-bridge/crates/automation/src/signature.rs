//! The signatures of webhooks, which prove who sent a delivery.
//!
//! | source | data signed with HMAC-SHA256, and its header | accepted time |
//! |---|---|---|
//! | `github` | the body; `X-Hub-Signature-256: sha256=HEX` | – |
//! | `standard` | `ID.TIME.BODY`; `webhook-signature: v1,BASE64 …`, by the bytes of `whsec_BASE64` | ± 5 min |
//! | `slack` | `v0:TIME:BODY`; `X-Slack-Signature: v0=HEX` | ± 5 min |
//! | `gitlab`, `bearer` | nothing: the secret itself is sent | – |
//!
//! A delivery is run once. It is recognised by the signed data, because an attacker who repeats an intercepted delivery can change all
//! other headers.

use api::words::TriggerSource;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};
use store::{hex, unhex};
use subtle::ConstantTimeEq as _;

use crate::limits::SIGNED_WITHIN_MS;

/// The prefix of secrets of Standard Webhooks.
const STANDARD_PREFIX: &str = "whsec_";

/// The headers of a delivery, by lower-case name.
pub type Headers<'a> = &'a (dyn Fn(&str) -> Option<String> + Send + Sync);

/// A delivery whose signature is correct.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Signed {
    /// Identifies the delivery if it is sent again; `None` if the sender gives it no id.
    pub(crate) key: Option<String>,
    /// The event that a header of the delivery names.
    pub(crate) event: Option<String>,
}

/// Checks who sent a delivery.
///
/// # Errors
/// The reason why the delivery is refused, for the user who added the trigger; it reveals nothing about the secret.
pub(crate) fn check(
    source: &TriggerSource,
    secret: &str,
    headers: Headers<'_>,
    body: &[u8],
    now_ms: i64,
) -> Result<Signed, &'static str> {
    let required = |name: &str, missing: &'static str| headers(name).ok_or(missing);
    let of_body = || Some(format!("body/{}", hex(&Sha256::digest(body))));
    match source {
        TriggerSource::Github => {
            let signature =
                required("x-hub-signature-256", "the delivery has no header X-Hub-Signature-256")?;
            let signature = signature.strip_prefix("sha256=").unwrap_or_default();
            verify(secret.as_bytes(), &[body], &unhex(signature).unwrap_or_default())?;
            let event = headers("x-github-event").or_else(|| headers("x-gitea-event"));
            Ok(Signed { key: of_body(), event })
        }
        TriggerSource::Standard => {
            let id = required("webhook-id", "the delivery has no header webhook-id")?;
            let time = required("webhook-timestamp", "the delivery has no header webhook-timestamp")?;
            let signatures = required("webhook-signature", "the delivery has no header webhook-signature")?;
            let encoded = secret.strip_prefix(STANDARD_PREFIX).unwrap_or(secret);
            let key = STANDARD.decode(encoded).unwrap_or_else(|_| secret.as_bytes().to_vec());
            let parts: [&[u8]; 5] = [id.as_bytes(), b".", time.as_bytes(), b".", body];
            // There are several signatures while the sender is switching to a new secret.
            let mut given = signatures.split_ascii_whitespace().filter_map(|one| one.strip_prefix("v1,"));
            let is_signed = given.any(|one| {
                let signature = STANDARD.decode(one).unwrap_or_default();
                verify(&key, &parts, &signature).is_ok()
            });
            if !is_signed {
                return Err(WRONG);
            }
            check_time(&time, now_ms)?;
            Ok(Signed { key: Some(format!("id/{}", hex(&Sha256::digest(id.as_bytes())))), event: None })
        }
        TriggerSource::Slack => {
            let time = required(
                "x-slack-request-timestamp",
                "the delivery has no header X-Slack-Request-Timestamp",
            )?;
            let signature = required("x-slack-signature", "the delivery has no header X-Slack-Signature")?;
            let signature = signature.strip_prefix("v0=").unwrap_or_default();
            verify(
                secret.as_bytes(),
                &[b"v0:", time.as_bytes(), b":", body],
                &unhex(signature).unwrap_or_default(),
            )?;
            check_time(&time, now_ms)?;
            Ok(Signed { key: of_body(), event: None })
        }
        TriggerSource::Gitlab => {
            let token = required("x-gitlab-token", "the delivery has no header X-Gitlab-Token")?;
            same(secret, &token)?;
            let id = headers("idempotency-key").or_else(|| headers("x-gitlab-event-uuid"));
            let key = id.map(|id| format!("id/{}", hex(&Sha256::digest(id.as_bytes())))).or_else(of_body);
            Ok(Signed { key, event: headers("x-gitlab-event") })
        }
        TriggerSource::Bearer => {
            let value = required("authorization", "the delivery has no header Authorization")?;
            let (scheme, token) = value.split_once(' ').unwrap_or_default();
            if !scheme.eq_ignore_ascii_case("bearer") {
                return Err("the delivery's header Authorization contains no Bearer token");
            }
            same(secret, token.trim())?;
            // Without an id, two deliveries with equal bodies, such as `{"status": "failed"}`, count as two events.
            let id = headers("idempotency-key");
            let key = id.map(|id| format!("id/{}", hex(&Sha256::digest(id.as_bytes()))));
            Ok(Signed { key, event: headers("x-event") })
        }
        TriggerSource::Unknown(_) => {
            Err("this version of the server does not know the trigger's kind of signature")
        }
    }
}

/// Creates a secret in the form that the source uses.
pub(crate) fn new_secret(source: &TriggerSource) -> String {
    let bytes: [u8; 32] = rand::random();
    match source {
        TriggerSource::Standard => format!("{STANDARD_PREFIX}{}", STANDARD.encode(bytes)),
        _ => hex(&bytes),
    }
}

const WRONG: &str =
    "the signature is wrong: the sender uses another secret, or somebody else sent the delivery";

/// Checks an HMAC-SHA256 in constant time.
fn verify(key: &[u8], parts: &[&[u8]], signature: &[u8]) -> Result<(), &'static str> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).map_err(|_| WRONG)?;
    for part in parts {
        mac.update(part);
    }
    mac.verify_slice(signature).map_err(|_| WRONG)
}

/// Compares, in constant time, a secret that was sent in clear text.
fn same(secret: &str, given: &str) -> Result<(), &'static str> {
    // Both are hashed, so that the time does not depend on the length of the secret either.
    let (secret, given) = (Sha256::digest(secret.as_bytes()), Sha256::digest(given.as_bytes()));
    if bool::from(secret.ct_eq(&given)) { Ok(()) } else { Err(WRONG) }
}

fn check_time(seconds: &str, now_ms: i64) -> Result<(), &'static str> {
    let time_ms = seconds.parse::<i64>().ok().and_then(|seconds| seconds.checked_mul(1000));
    match time_ms {
        Some(time_ms) if time_ms.abs_diff(now_ms) <= SIGNED_WITHIN_MS.unsigned_abs() => Ok(()),
        _ => Err(
            "the delivery's time differs from the server's by more than 5 minutes: it was sent again, or a clock is wrong",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_MS: i64 = 1_614_265_330_000;

    fn checked(
        source: TriggerSource,
        secret: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Result<Signed, &'static str> {
        let header = |name: &str| {
            headers.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        check(&source, secret, &header, body.as_bytes(), NOW_MS)
    }

    #[test]
    fn the_examples_of_the_senders_documents_are_let_in() {
        // docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries
        let hello = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
        let github = |signature, body| {
            checked(
                TriggerSource::Github,
                "It's a Secret to Everybody",
                &[("x-hub-signature-256", signature), ("x-github-event", "push")],
                body,
            )
        };
        assert_eq!(github(hello, "Hello, World!").unwrap().event.as_deref(), Some("push"));
        assert_eq!(github(hello, "Hello, World?"), Err(WRONG));
        assert_eq!(github("sha256=", "Hello, World!"), Err(WRONG));
        assert_eq!(github("sha1=757107ea", "Hello, World!"), Err(WRONG));
        // github.com/standard-webhooks/standard-webhooks/blob/main/libraries/python/tests/test_webhooks.py
        let standard = |id: &str, time: &str, signature: &str| {
            checked(
                TriggerSource::Standard,
                "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
                &[("webhook-id", id), ("webhook-timestamp", time), ("webhook-signature", signature)],
                "{\"test\": 2432232314}",
            )
        };
        let signature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
        let id = "msg_p5jXN8AQM9LWM0D4loKWxJek";
        let several = format!("v2,abc v1,AAAA {signature}");
        let signed = standard(id, "1614265330", &several).unwrap();
        assert!(signed.key.unwrap().starts_with("id/"));
        assert_eq!(standard("msg_other", "1614265330", signature), Err(WRONG));
        assert_eq!(standard(id, "1614265331", signature), Err(WRONG));
    }

    #[test]
    fn a_delivery_that_was_overheard_is_not_let_in_later_and_never_under_another_name() {
        let secret = "8f742231b10e8888abcd99yyyzzz85a5";
        let sign = |time: i64, body: &str| {
            let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
            mac.update(format!("v0:{time}:{body}").as_bytes());
            (time.to_string(), format!("v0={}", hex(&mac.finalize().into_bytes())))
        };
        let slack = |(time, signature): (String, String)| {
            let headers = [("x-slack-request-timestamp", &*time), ("x-slack-signature", &*signature)];
            checked(TriggerSource::Slack, secret, &headers, "{}")
        };
        let now = NOW_MS / 1000;
        let fresh = slack(sign(now, "{}")).unwrap();
        assert_eq!(slack(sign(now - 300, "{}")).unwrap(), fresh);
        for time in [now - 301, now + 301, 0, i64::MAX] {
            assert!(slack(sign(time, "{}")).unwrap_err().contains("5 minutes"), "{time}");
        }
        assert_eq!(slack(sign(now, "{ }")), Err(WRONG));
        assert!(slack((String::new(), String::new())).is_err());
    }

    #[test]
    fn a_secret_that_is_sent_in_clear_text_has_to_be_the_same() {
        let gitlab = |token| checked(TriggerSource::Gitlab, "correct", &[("x-gitlab-token", token)], "{}");
        assert!(gitlab("correct").unwrap().key.unwrap().starts_with("body/"));
        for token in ["", "correc", "correct ", "Correct", "correctcorrect"] {
            assert_eq!(gitlab(token), Err(WRONG), "{token}");
        }
        let bearer = |value| checked(TriggerSource::Bearer, "correct", &[("authorization", value)], "{}");
        assert_eq!(bearer("bearer correct").unwrap(), Signed { key: None, event: None });
        for value in ["correct", "Basic correct", "Bearer", "Bearer ", "Bearer wrong"] {
            assert!(bearer(value).is_err(), "{value}");
        }
        let none = |source| checked(source, "correct", &[], "{}").unwrap_err();
        for source in TriggerSource::known() {
            assert!(none(source.clone()).contains("header"), "{source}");
            assert!(new_secret(&source).len() >= 44);
        }
        assert!(none(TriggerSource::Unknown("later".to_owned())).contains("does not know"));
    }
}
