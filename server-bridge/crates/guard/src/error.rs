//! The errors of requests, and the check of an address as text.

use reqwest::header::{HeaderName, HeaderValue};
use reqwest::{StatusCode, Url};

use crate::limits::{PATIENCE, REDIRECTS, URL_BYTES};
use crate::reach::LeadsInside;

/// The reason why a document could not be fetched. Each text describes what happened; none contains the requested address.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The text is not an address that a document can have.
    #[error("{0}")]
    Url(&'static str),
    /// The address leads into the server's own network.
    #[error("{0} is an address of the server's own network, from which nothing is fetched")]
    Private(String),
    /// The document redirects to another host, port or scheme.
    #[error("it redirects to {0}, which is another host, port or scheme; fetch that if it is what you want")]
    Elsewhere(Url),
    /// The document redirects too often.
    #[error("it redirects more than {REDIRECTS} times")]
    Redirects,
    /// The document redirects to an unencrypted address.
    #[error("it redirects to an unencrypted address")]
    Downgrade,
    /// The server responded with a status other than success.
    #[error("the server answered {0}")]
    Status(StatusCode),
    /// The document arrived compressed, though that was not requested.
    #[error("it is compressed as {0:?}, which was not requested")]
    Packed(String),
    /// The document did not arrive in time.
    #[error("it did not arrive within {} s", PATIENCE.as_secs())]
    Timeout,
    /// The response is longer than this limit, in bytes.
    #[error("its response is longer than {0} bytes")]
    TooLong(usize),
    /// The server could not be reached, or the connection broke.
    #[error("it cannot be reached: {0}")]
    Network(String),
}

impl From<LeadsInside> for Error {
    fn from(LeadsInside(host): LeadsInside) -> Self {
        Self::Private(host)
    }
}

/// Checks a text that is to be an address, as [`check`] does.
///
/// # Errors
/// [`Error::Url`].
pub fn check_text(text: &str) -> Result<Url, Error> {
    let url = Url::parse(text).map_err(|_| Error::Url("it is not a valid address"))?;
    check(&url)?;
    Ok(url)
}

/// Headers that determine how a request is sent, and to whom: a client sets them itself.
const OF_THE_CONNECTION: [&str; 10] = [
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Reads a header's name and value.
///
/// # Errors
/// [`Error::Url`], which contains neither.
pub fn header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), Error> {
    let name = HeaderName::try_from(name).map_err(|_| Error::Url("a header's name is invalid"))?;
    if OF_THE_CONNECTION.contains(&name.as_str()) {
        return Err(Error::Url("one of the headers belongs to the connection and cannot be set; remove it"));
    }
    let mut value = HeaderValue::try_from(value).map_err(|_| Error::Url("a header's value is invalid"))?;
    value.set_sensitive(true);
    Ok((name, value))
}

/// Checks that a URL can be that of a document: `http` or `https`, with a host, without a user name or password, at most 8 KiB long.
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
