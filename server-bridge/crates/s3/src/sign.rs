//! Signatures of requests: AWS Signature Version 4, with the hash of the body signed.

use hmac::{Hmac, KeyInit as _, Mac as _};
use jiff::Timestamp;
use reqwest::Url;
use sha2::{Digest, Sha256};

use crate::place::Place;

/// The hash of an empty body.
pub(crate) const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// The headers that sign a request: lower-case names, and values.
pub(crate) fn headers(
    place: &Place,
    (method, url): (&str, &Url),
    body_sha256: &str,
    now: Timestamp,
) -> Vec<(&'static str, String)> {
    let at = now.strftime("%Y%m%dT%H%M%SZ").to_string();
    let day = &at[..8];
    // Sorted by name.
    let mut signed = vec![
        ("host", host(url)),
        ("x-amz-content-sha256", body_sha256.to_owned()),
        ("x-amz-date", at.clone()),
    ];
    if let Some(token) = &place.session_token {
        signed.push(("x-amz-security-token", token.clone()));
    }
    let names = signed.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(";");
    let values: String = signed.iter().map(|(name, value)| format!("{name}:{value}\n")).collect();
    // Paths and queries are already escaped as the signature requires, and queries are sorted.
    let (path, asked) = (url.path(), url.query().unwrap_or_default());
    let request = format!("{method}\n{path}\n{asked}\n{values}\n{names}\n{body_sha256}");
    let scope = format!("{day}/{}/s3/aws4_request", place.region);
    let to_sign = format!("AWS4-HMAC-SHA256\n{at}\n{scope}\n{}", hex(&Sha256::digest(request)));
    let mut key = format!("AWS4{}", place.secret_key).into_bytes();
    for part in [day, &place.region, "s3", "aws4_request"] {
        key = authenticated(&key, part);
    }
    let signature = hex(&authenticated(&key, &to_sign));
    let authorization = format!(
        "AWS4-HMAC-SHA256 Credential={}/{scope},SignedHeaders={names},Signature={signature}",
        place.access_key
    );
    signed.remove(0);
    signed.push(("authorization", authorization));
    signed
}

/// The hexadecimal SHA-256 of a body.
pub(crate) fn sha256(body: &[u8]) -> String {
    hex(&Sha256::digest(body))
}

/// The `Host` header that the client sends: without the scheme's default port.
fn host(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

fn authenticated(key: &[u8], text: &str) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key may have any length");
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of Amazon's documentation, "Signature Calculations for the Authorization Header: Transferring Payload in a Single Chunk".
    #[test]
    fn signatures_are_those_of_the_documentation() {
        let place = Place::parse("s3://examplebucket", |name| {
            let value = match name {
                "AWS_ACCESS_KEY_ID" => "AKIAIOSFODNN7EXAMPLE",
                "AWS_SECRET_ACCESS_KEY" => "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
                "AWS_REGION" => "us-east-1",
                _ => return None,
            };
            Some(value.to_owned())
        });
        let place = place.unwrap();
        let url = Url::parse("https://examplebucket.s3.amazonaws.com/?max-keys=2&prefix=J").unwrap();
        let now = "2013-05-24T00:00:00Z".parse().unwrap();
        let headers = headers(&place, ("GET", &url), EMPTY, now);
        let (name, authorization) = headers.last().unwrap();
        assert_eq!(*name, "authorization");
        assert_eq!(
            authorization,
            "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,\
             SignedHeaders=host;x-amz-content-sha256;x-amz-date,\
             Signature=34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"
        );
        assert_eq!(sha256(b""), EMPTY);
    }
}
