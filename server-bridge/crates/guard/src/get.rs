//! Fetching one document from an untrusted address: it may be hostile, and so may a redirect's target.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use reqwest::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE, LOCATION};
use reqwest::{Client, Response, StatusCode, Url};
use tokio::time::timeout;

use crate::limits::{CONNECT_PATIENCE, DOCUMENT_BYTES, PATIENCE, REDIRECTS, URL_BYTES};
use crate::reach::{LeadsInside, Reach, leads_inside};

/// Gets documents. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Getter {
    /// Created at first use: it reads this machine's certificates.
    client: Arc<OnceLock<Client>>,
    reach: Reach,
    patience: Duration,
}

/// A document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Its final URL, after redirects.
    pub url: Url,
    /// Its media type by its server; empty if the server does not send one.
    pub media_type: String,
    /// The document, or its first 2 MiB.
    pub content: Bytes,
    /// True if there was more of it.
    pub is_cut: bool,
}

/// The reason why there is no document. Each text says what happened; none contains the requested address.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is not the address of a document.
    #[error("{0}")]
    Url(&'static str),
    /// It leads into the server's own network.
    #[error("{0} is an address of the server's own network, from which nothing is fetched")]
    Private(String),
    /// It leads to another host, port or scheme.
    #[error("it redirects to {0}, which is another host, port or scheme; fetch that if it is what you want")]
    Elsewhere(Url),
    /// There are too many redirects.
    #[error("it redirects more than {REDIRECTS} times")]
    Redirects,
    /// It leads to an unencrypted address.
    #[error("it redirects to an unencrypted address")]
    Downgrade,
    /// The other side refused.
    #[error("the server answered {0}")]
    Status(StatusCode),
    /// It came compressed, though that was not requested.
    #[error("it is compressed as {0:?}, which was not requested")]
    Packed(String),
    /// It did not come in time.
    #[error("it did not arrive within {} s", PATIENCE.as_secs())]
    Timeout,
    /// It could not be reached.
    #[error("it cannot be reached: {0}")]
    Network(String),
}

impl From<LeadsInside> for Error {
    fn from(LeadsInside(host): LeadsInside) -> Self {
        Self::Private(host)
    }
}

impl Getter {
    /// A getter with this reach.
    pub fn new(reach: Reach) -> Self {
        Self { client: Arc::default(), reach, patience: PATIENCE }
    }

    /// The same with another time limit for a document.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Fetches a document; redirects are followed within its scheme, host and port.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn get(&self, url: Url) -> Result<Answer, Error> {
        timeout(self.patience, self.whole(url)).await.map_err(|_| Error::Timeout)?
    }

    fn client(&self) -> Result<&Client, Error> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let client = self
            .reach
            .client()
            .connect_timeout(CONNECT_PATIENCE)
            // No request uses a connection that was made for another one.
            .pool_max_idle_per_host(0)
            .build()
            .map_err(|error| Error::Network(crate::cause(&error)))?;
        Ok(self.client.get_or_init(|| client))
    }

    async fn whole(&self, url: Url) -> Result<Answer, Error> {
        let (url, response) = self.answer(url).await?;
        let header = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
        let media_type = header(CONTENT_TYPE).unwrap_or_default().to_owned();
        if let Some(encoding) = header(CONTENT_ENCODING).filter(|encoding| *encoding != "identity") {
            return Err(Error::Packed(encoding.to_owned()));
        }
        let (content, is_cut) = content(response).await?;
        Ok(Answer { url, media_type, content, is_cut })
    }

    async fn answer(&self, mut url: Url) -> Result<(Url, Response), Error> {
        for _ in 0..=REDIRECTS {
            self.check(&url)?;
            let request =
                self.client()?.get(url.clone()).header(ACCEPT, "text/html, text/*;q=0.9, */*;q=0.5");
            let response = request.send().await.map_err(|error| failed(&error))?;
            let status = response.status();
            let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
            let Some(location) = location.filter(|_| status.is_redirection()) else {
                return if status.is_success() { Ok((url, response)) } else { Err(Error::Status(status)) };
            };
            let next = url.join(location).map_err(|_| Error::Url("it redirects to an invalid address"))?;
            self.check(&next)?;
            if url.scheme() == "https" && next.scheme() != "https" {
                return Err(Error::Downgrade);
            }
            if !is_same_origin(&url, &next) {
                return Err(Error::Elsewhere(next));
            }
            url = next;
        }
        Err(Error::Redirects)
    }

    fn check(&self, url: &Url) -> Result<(), Error> {
        check(url)?;
        Ok(self.reach.check_host(url.host_str().unwrap_or_default())?)
    }
}

/// True if a redirect stays with the allowed scheme, host and port; an upgrade to encryption on the usual ports counts as
/// staying.
fn is_same_origin(one: &Url, next: &Url) -> bool {
    let ports = |url: &Url| (url.scheme().to_owned(), url.port_or_known_default());
    let is_upgrade = one.scheme() == "http" && next.scheme() == "https";
    let is_usual = one.port().is_none() && next.port().is_none();
    one.host_str() == next.host_str() && (ports(one) == ports(next) || is_upgrade && is_usual)
}

/// Checks that a URL can be a document's at all: `http` or `https`, a host, no user and no password, 8 KiB at most.
///
/// # Errors
/// [`Error::Url`].
pub fn check(url: &Url) -> Result<(), Error> {
    let why = if url.as_str().len() > URL_BYTES {
        "the URL is too long"
    } else if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        "the URL has to begin with http:// or https:// and a host"
    } else if !url.username().is_empty() || url.password().is_some() {
        "a URL with a user name or password is not fetched"
    } else {
        return Ok(());
    };
    Err(Error::Url(why))
}

/// The beginning of the content, and true if there is more.
async fn content(mut response: Response) -> Result<(Bytes, bool), Error> {
    let mut content = BytesMut::new();
    while let Some(piece) = response.chunk().await.map_err(|error| failed(&error))? {
        content.extend_from_slice(&piece);
        if content.len() > DOCUMENT_BYTES {
            content.truncate(DOCUMENT_BYTES);
            return Ok((content.into(), true));
        }
    }
    Ok((content.into(), false))
}

/// The error of a request that failed.
pub(crate) fn failed(error: &reqwest::Error) -> Error {
    match leads_inside(error) {
        Some(inside) => inside.clone().into(),
        None => Error::Network(crate::cause(error)),
    }
}

#[cfg(test)]
mod tests;
