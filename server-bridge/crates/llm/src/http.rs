//! The transport that reaches a provider directly over HTTP.

use std::convert::Infallible;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt, TryStreamExt, stream};
use guard::{LeadsInside, Mixed, cause, leads_inside};
use reqwest::Url;
use reqwest::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER};

use crate::error::Error;
use crate::limits::CONNECT_TIMEOUT;
use crate::transport::{Answer, Call, Transport};

/// The header in which a key is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyHeader {
    /// `authorization: Bearer KEY`.
    Bearer,
    /// `x-api-key: KEY`.
    ApiKey,
}

/// The addresses that a provider may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Any address that this machine can reach; for providers that the server's operators configure.
    Anywhere,
    /// Addresses on the open internet, over TLS, so that no user can reach this machine's own network by naming it as their provider.
    Public,
}

/// The connections to providers, shared by all transports; they are kept open. Created at first use.
#[derive(Debug, Default)]
pub struct Connections {
    anywhere: OnceLock<reqwest::Client>,
    public: OnceLock<reqwest::Client>,
}

/// A provider that the server asks directly. Holds the key, and sends it to no one else.
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

impl Connections {
    /// A client for these addresses. The process must have installed a TLS provider.
    fn client(&self, reach: Reach) -> Result<reqwest::Client, Error> {
        let made = match reach {
            Reach::Anywhere => &self.anywhere,
            Reach::Public => &self.public,
        };
        if let Some(client) = made.get() {
            return Ok(client.clone());
        }
        // The guard's client follows no redirect, which could send the key elsewhere.
        let client = reach.guarded().client().connect_timeout(CONNECT_TIMEOUT);
        let client = client.build().map_err(|error| Error::Network(cause(&error)))?;
        Ok(made.get_or_init(|| client).clone())
    }
}

impl Reach {
    fn guarded(self) -> guard::Reach {
        match self {
            Self::Anywhere => guard::Reach::Anywhere,
            // The user names the address, and a name may also have internal addresses for people on that network.
            Self::Public => guard::Reach::Public { allowed: Arc::new([]), mixed: Mixed::PublicOnly },
        }
    }
}

fn private(LeadsInside(host): &LeadsInside) -> Error {
    Error::Address(format!(
        "{host} is an address of the server's own network, where users' models are not allowed; ask the server's administrator"
    ))
}

/// A provider's address: `https` or `http`, a host, optionally the beginning of a path; the request's path is appended.
///
/// Within [`Reach::Public`] names are checked again at each connection.
///
/// # Errors
/// [`Error::Address`]: it is not such an address, or not within reach.
pub fn check_address(base_url: &str, reach: Reach) -> Result<(), Error> {
    let refused = |why: &str| Err(Error::Address(format!("{base_url:?} {why}")));
    let url = match Url::parse(base_url) {
        Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => url,
        _ => return refused("is not a provider's address; it must begin with https:// or http://"),
    };
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Error::Address(
            "an address must not contain a user or a password; give the key separately".into(),
        ));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return refused("has a query or a fragment; leave it out");
    }
    reach.guarded().check_host(url.host_str().unwrap_or_default()).map_err(|inside| private(&inside))?;
    if reach == Reach::Public && url.scheme() == "http" {
        return refused("would send your key unencrypted; use https://");
    }
    Ok(())
}

impl Http {
    /// The provider at `base_url`, such as `https://api.openai.com` or `https://a.example/api/v1`; local ones need no key.
    ///
    /// # Errors
    /// [`Error::Address`] for an invalid address or one out of reach, [`Error::Key`] for a key that a header cannot contain,
    /// [`Error::Network`] if this machine's certificates cannot be read.
    pub fn new(
        connections: &Connections,
        reach: Reach,
        base_url: &str,
        key: Option<(KeyHeader, &str)>,
    ) -> Result<Self, Error> {
        check_address(base_url, reach)?;
        let client = connections.client(reach)?;
        let key = key.map(|(header, key)| header_of(header, key)).transpose()?;
        Ok(Self { client, base_url: base_url.to_owned(), key })
    }
}

/// The URL of a call; many base URLs already contain a version of the interface.
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
        .map_err(|_| Error::Key("it contains characters that no key has; paste it again".to_owned()))?;
    value.set_sensitive(true);
    Ok((name, value))
}

impl Transport for Http {
    fn send(&self, call: Call) -> BoxFuture<'_, Result<Answer, Error>> {
        let length: usize = call.body.iter().map(Bytes::len).sum();
        let address = address(&self.base_url, call.path);
        let mut request = if length == 0 { self.client.get(address) } else { self.client.post(address) };
        for (name, value) in &call.headers {
            request = request.header(*name, value);
        }
        if let Some((name, value)) = &self.key {
            request = request.header(name, value);
        }
        if length > 0 {
            // Its length is sent, since not every provider accepts a body of unknown length.
            let body =
                reqwest::Body::wrap_stream(stream::iter(call.body.into_iter().map(Ok::<_, Infallible>)));
            request =
                request.header(CONTENT_TYPE, "application/json").header(CONTENT_LENGTH, length).body(body);
        }
        async move {
            let response = request.send().await.map_err(|error| failed(&error))?;
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

/// The reason why there is no answer; an address out of reach is a permanent error.
fn failed(error: &reqwest::Error) -> Error {
    match leads_inside(error) {
        Some(inside) => private(inside),
        None => Error::Network(cause(error)),
    }
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
    fn a_provider_on_the_servers_own_network_is_out_of_public_reach() {
        for url in [
            "http://127.0.0.1:1",
            "https://127.0.0.1",
            "https://127.1/",
            "https://0x7f000001/",
            "https://2130706433/",
            "https://[::1]:8443/v1",
            "https://[::ffff:10.0.0.1]",
            "https://169.254.169.254/latest",
            "https://192.168.0.1",
            "https://localhost",
            "https://a.LOCALHOST./",
            "https://metadata.google.internal",
            "http://8.8.8.8",
            "http://api.example.com",
        ] {
            let refused = check_address(url, Reach::Public);
            assert!(matches!(refused, Err(Error::Address(_))), "{url}: {refused:?}");
            assert_eq!(check_address(url, Reach::Anywhere), Ok(()), "{url}");
        }
        assert_eq!(check_address("https://api.example.com/v1", Reach::Public), Ok(()));
        for none in
            ["", "/v1", "a.example", "ftp://a", "https://k:s@a.example", "https://a/?k=1", "https://a/#k"]
        {
            let error = check_address(none, Reach::Anywhere).unwrap_err().to_string();
            assert!(!error.contains("k:s"), "{error}");
        }
    }

    #[tokio::test]
    async fn a_name_that_leads_into_the_servers_own_network_is_not_connected_to() {
        // In spite of earlier checks: such a name may change its address from one moment to the next.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Connections::default().client(Reach::Public).unwrap();
        let http = Http { client, base_url: "https://localhost:9".to_owned(), key: None };
        let call = Call { path: "/v1/messages", headers: Vec::new(), body: vec!["{}".into()] };
        let refused = http.send(call).await.map(|answer| answer.status);
        assert!(matches!(&refused, Err(Error::Address(why)) if why.contains("own network")), "{refused:?}");
    }

    #[test]
    fn a_key_that_cannot_be_one_is_told_without_being_shown() {
        let error = header_of(KeyHeader::Bearer, "sk-\u{7f}secret").unwrap_err();
        assert!(matches!(error, Error::Key(_)) && !error.to_string().contains("secret"));
        let (_, value) = header_of(KeyHeader::ApiKey, " sk-secret\n").unwrap();
        assert_eq!((value.as_bytes(), value.is_sensitive()), (&b"sk-secret"[..], true));
    }
}
