//! The parts of a request that reach the endpoint: nothing that could lead elsewhere, or impersonate the runner.

use hyper::Uri;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use proto::{ErrorKind, WireError};

use crate::limits::{LLM_HEADER_BYTES, LLM_PATH_BYTES};

/// Headers that a request may have.
const ALLOWED: &[&str] =
    &["accept", "anthropic-beta", "anthropic-version", "content-type", "idempotency-key", "openai-beta"];

/// Headers of a response that concern one connection or hold secrets.
const KEPT_BACK: &[&str] = &[
    "api-key",
    "authorization",
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "set-cookie",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "www-authenticate",
    "x-api-key",
];

/// The target: the base's path, then the request's.
pub(super) fn target(base: &Uri, path: &str) -> Result<Uri, WireError> {
    let invalid =
        |text: &str| WireError::new(ErrorKind::InvalidBody, format!("the path of the LLM request {text}"));
    if path.len() > LLM_PATH_BYTES {
        return Err(invalid("is too long"));
    }
    if !path.starts_with('/') || path.contains("//") {
        return Err(invalid("has to begin with one slash, and no host: like /v1/chat/completions"));
    }
    let (steps, query) = path.split_once('?').map_or((path, ""), |(steps, query)| (steps, query));
    if steps.split('/').any(|step| step == "." || step == "..") {
        return Err(invalid("must not contain . or .."));
    }
    let is_plain = |text: &str, more: &str| {
        text.chars().all(|character| {
            character.is_ascii_alphanumeric() || "-._~/:@,+=".contains(character) || more.contains(character)
        })
    };
    if !is_plain(steps, "") || !is_plain(query, "%&?") {
        return Err(invalid("has characters that are not forwarded"));
    }
    let path = format!("{}{path}", base.path().trim_end_matches('/'));
    path.parse().map_err(|_| invalid("cannot be parsed"))
}

/// The headers that are sent on.
pub(super) fn headers(headers: &[(String, String)]) -> Result<HeaderMap, WireError> {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        let invalid = |text: &str| {
            let shown: String = name.chars().filter(char::is_ascii_graphic).take(64).collect();
            WireError::new(ErrorKind::InvalidBody, format!("the header {shown} {text}"))
        };
        let known = ALLOWED.iter().find(|allowed| name.eq_ignore_ascii_case(allowed));
        let Some(known) = known else {
            return Err(invalid(&format!(
                "is not forwarded to the LLM endpoint; these headers are: {}",
                ALLOWED.join(", ")
            )));
        };
        if value.len() > LLM_HEADER_BYTES {
            return Err(invalid("is too long"));
        }
        let value = HeaderValue::from_str(value)
            .map_err(|_| invalid("has characters that are not allowed in a header"))?;
        if map.insert(HeaderName::from_static(known), value).is_some() {
            return Err(invalid("occurs twice"));
        }
    }
    Ok(map)
}

/// The headers of a response that are passed on. None contains the key, whatever its name.
pub(super) fn answered(headers: &HeaderMap, key: Option<&str>) -> Vec<(String, String)> {
    let is_told = |name: &HeaderName| !KEPT_BACK.contains(&name.as_str());
    let told = headers.iter().filter(|(name, _)| is_told(name));
    let told =
        told.filter_map(|(name, value)| Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned())));
    told.filter(|(_, value)| !key.is_some_and(|key| value.contains(key))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_stays_on_the_host_and_beneath_the_base() {
        let of =
            |base: &'static str, path: &str| target(&Uri::from_static(base), path).map(|uri| uri.to_string());
        assert_eq!(of("https://a", "/v1/messages").unwrap(), "/v1/messages");
        assert_eq!(of("https://a/prefix/", "/v1/x:y?z=%20&w").unwrap(), "/prefix/v1/x:y?z=%20&w");
        let long = format!("/{}", "x".repeat(LLM_PATH_BYTES));
        for path in [
            "",
            "v1",
            "//evil.example/v1",
            "http://evil.example/v1",
            "@evil.example/",
            "/a//b",
            "/../admin",
            "/v1/..",
            "/v1/./x",
            "/v1/%2e%2e/x",
            "/v1\\..\\x",
            "/v1 HTTP/1.1",
            "/v1\r\nHost: evil",
            "/v1#x",
            "/v1?x=\u{0}",
            "/v1/ä",
            &long,
        ] {
            assert_eq!(of("https://a", path).unwrap_err().kind, ErrorKind::InvalidBody, "{path:?}");
        }
    }

    #[test]
    fn only_known_headers_are_sent_on_and_none_twice() {
        let of = |list: &[(&str, &str)]| {
            headers(
                &list
                    .iter()
                    .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                    .collect::<Vec<_>>(),
            )
        };
        let sent = of(&[("Content-Type", "application/json"), ("anthropic-beta", "a,b")]).unwrap();
        assert_eq!((sent.len(), &sent["content-type"]), (2, &HeaderValue::from_static("application/json")));
        let long = "x".repeat(LLM_HEADER_BYTES + 1);
        for list in [
            &[("Host", "evil")][..],
            &[("authorization", "Bearer x")],
            &[("X-Api-Key", "x")],
            &[("transfer-encoding", "chunked")],
            &[("accept\r\nhost", "x")],
            &[("accept", "x\r\nHost: evil")],
            &[("accept", "x\0")],
            &[("accept", &long)],
            &[("accept", "a"), ("Accept", "b")],
        ] {
            let error = of(list).unwrap_err();
            assert!(error.kind == ErrorKind::InvalidBody && !error.description.contains('\r'), "{error}");
        }
    }

    #[test]
    fn an_answer_tells_no_secret() {
        let mut all = HeaderMap::new();
        for (name, value) in
            [("content-type", "a"), ("set-cookie", "b"), ("x-api-key", "c"), ("x-echo", "Bearer key1")]
        {
            all.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        assert_eq!(answered(&all, Some("key1")), [("content-type".to_owned(), "a".to_owned())]);
    }
}
