//! Straight to a provider over HTTP.

use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt, TryStreamExt};
use reqwest::header::{HeaderName, HeaderValue, RETRY_AFTER};

use crate::error::Error;
use crate::limits::CONNECT_TIMEOUT;
use crate::transport::{Answer, Call, Transport};

/// How a key is shown to a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyHeader {
    /// `authorization: Bearer KEY`.
    Bearer,
    /// `x-api-key: KEY`.
    ApiKey,
}

/// A provider that is asked from here. Holds the key, and shows it to nobody else.
pub struct Http {
    client: reqwest::Client,
    base_url: String,
    key: Option<(HeaderName, HeaderValue)>,
}

impl std::fmt::Debug for Http {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Http").field("base_url", &self.base_url).finish_non_exhaustive()
    }
}

impl Http {
    /// A client that many transports share; it keeps connections open. A process needs one TLS provider installed.
    ///
    /// # Errors
    /// [`Error::Network`]: this machine's certificates cannot be read.
    pub fn client() -> Result<reqwest::Client, Error> {
        reqwest::Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            // A redirect would take the key elsewhere.
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("sandbridge/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| Error::Network(cause(&error)))
    }

    /// The provider at `base_url`, such as `https://api.openai.com` or `https://a.example/api/v1`; local ones want no key.
    ///
    /// # Errors
    /// [`Error::Refused`] for an address that is none, and [`Error::Key`] for a key that cannot stand in a header.
    pub fn new(
        client: reqwest::Client,
        base_url: &str,
        key: Option<(KeyHeader, &str)>,
    ) -> Result<Self, Error> {
        let url = reqwest::Url::parse(base_url).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        if url.is_none() {
            return Err(Error::Refused(format!(
                "{base_url:?} is no address; it begins with https:// or http://"
            )));
        }
        let base_url = base_url.to_owned();
        let key = key.map(|(header, key)| header_of(header, key)).transpose()?;
        Ok(Self { client, base_url, key })
    }
}

/// Where a call goes; many base URLs name a version of the interface already.
fn address(base_url: &str, path: &str) -> String {
    let base_url = base_url.trim_end_matches('/');
    let is_version = |part: &str| {
        part.strip_prefix('v').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    let has_version = base_url.split('/').skip(3).any(is_version);
    let path = if has_version { path.trim_start_matches("/v1") } else { path };
    format!("{base_url}{path}")
}

fn header_of(header: KeyHeader, key: &str) -> Result<(HeaderName, HeaderValue), Error> {
    let key = key.trim();
    let (name, value) = match header {
        KeyHeader::Bearer => (reqwest::header::AUTHORIZATION, format!("Bearer {key}")),
        KeyHeader::ApiKey => (HeaderName::from_static("x-api-key"), key.to_owned()),
    };
    let mut value = HeaderValue::from_str(&value)
        .map_err(|_| Error::Key("it holds characters that no key has; paste it again".to_owned()))?;
    value.set_sensitive(true);
    Ok((name, value))
}

impl Transport for Http {
    fn send(&self, call: Call) -> BoxFuture<'_, Result<Answer, Error>> {
        let mut request = self.client.post(address(&self.base_url, call.path));
        for (name, value) in &call.headers {
            request = request.header(*name, value);
        }
        if let Some((name, value)) = &self.key {
            request = request.header(name, value);
        }
        let request = request.header("content-type", "application/json").body(call.body);
        async move {
            let response = request.send().await.map_err(|error| Error::Network(cause(&error)))?;
            let retry_after_s = response
                .headers()
                .get(RETRY_AFTER)
                .and_then(|value| value.to_str().ok()?.trim().parse().ok());
            Ok(Answer {
                status: response.status().as_u16(),
                retry_after_s,
                body: response.bytes_stream().map_err(|error| Error::Network(cause(&error))).boxed(),
            })
        }
        .boxed()
    }
}

/// The innermost cause, which says most; the address is known.
fn cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_url_may_name_its_version_or_not() {
        let cases = [
            ("https://api.openai.com", "/v1/chat/completions", "https://api.openai.com/v1/chat/completions"),
            (
                "https://api.openai.com/v1/",
                "/v1/chat/completions",
                "https://api.openai.com/v1/chat/completions",
            ),
            (
                "https://a.example/v1beta/openai",
                "/v1/chat/completions",
                "https://a.example/v1beta/openai/chat/completions",
            ),
            (
                "https://a.example/paas/v4",
                "/v1/chat/completions",
                "https://a.example/paas/v4/chat/completions",
            ),
            ("https://a.example/anthropic", "/v1/messages", "https://a.example/anthropic/v1/messages"),
            ("http://127.0.0.1:1234/vllm", "/v1/messages", "http://127.0.0.1:1234/vllm/v1/messages"),
        ];
        for (base, path, expected) in cases {
            assert_eq!(address(base, path), expected);
        }
    }

    #[test]
    fn a_key_that_cannot_be_one_is_told_without_being_shown() {
        let error = header_of(KeyHeader::Bearer, "sk-\u{7f}secret").unwrap_err();
        assert!(matches!(error, Error::Key(_)) && !error.to_string().contains("secret"));
        let (_, value) = header_of(KeyHeader::ApiKey, " sk-secret\n").unwrap();
        assert_eq!((value.as_bytes(), value.is_sensitive()), (&b"sk-secret"[..], true));
    }
}
