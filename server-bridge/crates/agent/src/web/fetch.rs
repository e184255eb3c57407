//! Fetching one page. What it is about comes from a model, and so from whatever that has read: it is hostile.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::BytesMut;
use llm::address::is_public;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE, LOCATION};
use reqwest::{Response, StatusCode, Url};
use tokio::time::timeout;

use super::body::{self, Format};
use super::cause;
use crate::limits::{FETCH_BYTES, FETCH_CONNECT_PATIENCE, FETCH_PATIENCE, FETCH_REDIRECTS, FETCH_URL_BYTES};

/// Fetches pages from public addresses and from the hosts that it was told of. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Fetcher {
    /// Made at first use: it reads this machine's certificates.
    client: Arc<OnceLock<reqwest::Client>>,
    allowed: Arc<[String]>,
    patience: Duration,
}

/// A page as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Where it came from in the end.
    pub url: Url,
    /// Its text.
    pub text: String,
    /// Whether there was more than 2 MiB of it, of which this is the beginning.
    pub is_cut: bool,
}

/// Why a page was not fetched. Each text says what to do.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// It is no address of a page.
    #[error("{0}")]
    Url(&'static str),
    /// It leads into the server's own network.
    #[error(
        "{0} is an address of the server's own network, which is not fetched from; a machine's own services are reached with \
         a command in Shell"
    )]
    Private(String),
    /// It leads to another host, port or scheme.
    #[error("it redirects to {0}, which is another host, port or scheme; fetch that if it is what you want")]
    Elsewhere(Url),
    /// It leads on and on.
    #[error("it redirects more than {FETCH_REDIRECTS} times")]
    Redirects,
    /// It leads to where nothing is encrypted.
    #[error("it redirects to where nothing is encrypted")]
    Downgrade,
    /// The other side does not give it.
    #[error("the server answered {0}")]
    Status(StatusCode),
    /// It is nothing to read.
    #[error("it is {0} and no text; DownloadFile puts it on the machine")]
    Binary(String),
    /// It did not come in time.
    #[error("it did not come within {} s", FETCH_PATIENCE.as_secs())]
    Timeout,
    /// It could not be reached.
    #[error("it cannot be reached: {0}")]
    Network(String),
}

/// A name leads into the server's own network.
#[derive(Debug, thiserror::Error)]
#[error("{0} leads into the server's own network")]
struct LeadsInside(String);

/// Looks names up, and refuses those that lead inside: what is connected to is what was looked at.
struct Outside(Arc<[String]>);

impl Resolve for Outside {
    fn resolve(&self, name: Name) -> Resolving {
        let is_allowed = self.0.iter().any(|host| host == name.as_str());
        Box::pin(async move {
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            // One of several is enough: who answers for a name may give another one next time.
            if !is_allowed && found.iter().any(|address| !is_public(address.ip())) {
                return Err(LeadsInside(name.as_str().to_owned()).into());
            }
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

impl Fetcher {
    /// One that reaches these hosts, as they stand in a URL, wherever they are. A process needs one TLS provider installed.
    pub fn new(allowed: &[String]) -> Self {
        let allowed = allowed.iter().map(|host| host.to_ascii_lowercase()).collect();
        Self { client: Arc::default(), allowed, patience: FETCH_PATIENCE }
    }

    fn client(&self) -> Result<&reqwest::Client, FetchError> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let client = reqwest::Client::builder()
            .connect_timeout(FETCH_CONNECT_PATIENCE)
            // Each one is looked at.
            .redirect(reqwest::redirect::Policy::none())
            // What a proxy connects to could not be looked at.
            .no_proxy()
            .dns_resolver(Arc::new(Outside(Arc::clone(&self.allowed))))
            // Nobody's next request goes over somebody else's connection.
            .pool_max_idle_per_host(0)
            .user_agent(concat!("sandbridge/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| FetchError::Network(cause(&error)))?;
        Ok(self.client.get_or_init(|| client))
    }

    /// Fetches a page and makes it text; redirects are followed within its host.
    ///
    /// # Errors
    /// [`FetchError`].
    pub async fn page(&self, url: Url, format: Format) -> Result<Page, FetchError> {
        timeout(self.patience, self.whole(url, format)).await.map_err(|_| FetchError::Timeout)?
    }

    async fn whole(&self, url: Url, format: Format) -> Result<Page, FetchError> {
        let (url, response) = self.answer(url).await?;
        let header = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
        let media_type = header(CONTENT_TYPE).unwrap_or_default().to_owned();
        if let Some(encoding) = header(CONTENT_ENCODING).filter(|encoding| *encoding != "identity") {
            // None was asked for.
            return Err(FetchError::Binary(format!("packed as {encoding:?}")));
        }
        let (content, is_cut) = content(response).await?;
        let base = url.clone();
        // Work for a processor, not to be done where others wait.
        let text =
            tokio::task::spawn_blocking(move || body::text(&content, &media_type, &base, format)).await;
        let text = text.map_err(|error| FetchError::Network(error.to_string()))?;
        Ok(Page { url, text: text.map_err(FetchError::Binary)?, is_cut })
    }

    async fn answer(&self, mut url: Url) -> Result<(Url, Response), FetchError> {
        for _ in 0..=FETCH_REDIRECTS {
            self.check(&url)?;
            let request =
                self.client()?.get(url.clone()).header(ACCEPT, "text/html, text/*;q=0.9, */*;q=0.5");
            let response = request.send().await.map_err(|error| told(&error))?;
            let status = response.status();
            let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
            let Some(location) = location.filter(|_| status.is_redirection()) else {
                return if status.is_success() {
                    Ok((url, response))
                } else {
                    Err(FetchError::Status(status))
                };
            };
            let next = url.join(location).map_err(|_| FetchError::Url("it redirects to nowhere"))?;
            self.check(&next)?;
            if url.scheme() == "https" && next.scheme() != "https" {
                return Err(FetchError::Downgrade);
            }
            if !is_same_origin(&url, &next) {
                return Err(FetchError::Elsewhere(next));
            }
            url = next;
        }
        Err(FetchError::Redirects)
    }

    /// Refuses what is no page's address, and addresses that are the server's own network's. Names are looked at where they
    /// are looked up.
    fn check(&self, url: &Url) -> Result<(), FetchError> {
        check(url)?;
        let host = url.host_str().unwrap_or_default();
        let literal = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        if literal.is_ok_and(|address| !is_public(address)) && !self.allowed.iter().any(|known| known == host)
        {
            return Err(FetchError::Private(host.to_owned()));
        }
        Ok(())
    }
}

/// Whether a redirect stays with the scheme, host and port that were allowed; encrypting it, on the usual ports, does.
fn is_same_origin(one: &Url, next: &Url) -> bool {
    let ports = |url: &Url| (url.scheme().to_owned(), url.port_or_known_default());
    let is_upgrade = one.scheme() == "http" && next.scheme() == "https";
    let is_usual = one.port().is_none() && next.port().is_none();
    one.host_str() == next.host_str() && (ports(one) == ports(next) || is_upgrade && is_usual)
}

/// Whether a URL can be a page's at all.
///
/// # Errors
/// [`FetchError::Url`].
pub fn check(url: &Url) -> Result<(), FetchError> {
    let why = if url.as_str().len() > FETCH_URL_BYTES {
        "the URL is too long"
    } else if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        "the URL has to begin with http:// or https:// and a host"
    } else if !url.username().is_empty() || url.password().is_some() {
        "a URL with a user name or password is not fetched"
    } else {
        return Ok(());
    };
    Err(FetchError::Url(why))
}

/// The beginning of what comes, and whether there is more.
async fn content(mut response: Response) -> Result<(Vec<u8>, bool), FetchError> {
    let mut content = BytesMut::new();
    while let Some(piece) = response.chunk().await.map_err(|error| told(&error))? {
        content.extend_from_slice(&piece);
        if content.len() > FETCH_BYTES {
            content.truncate(FETCH_BYTES);
            return Ok((content.into(), true));
        }
    }
    Ok((content.into(), false))
}

fn told(error: &reqwest::Error) -> FetchError {
    let mut source: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(cause) = source {
        if let Some(LeadsInside(name)) = cause.downcast_ref::<LeadsInside>() {
            return FetchError::Private(name.clone());
        }
        source = cause.source();
    }
    FetchError::Network(cause(error))
}

#[cfg(test)]
mod tests;
