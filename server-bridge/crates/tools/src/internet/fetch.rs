//! One page as text. What it is about comes from a model, and so from all that the model has read: it is hostile.

use guard::{Getter, Reach};
use reqwest::Url;

use super::body::{self, Format};

/// Fetches pages from public addresses and from the hosts that it was given. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Fetcher(Getter);

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
    /// It leads into the server's own network.
    #[error("{0}; a machine's own services are reached with a command in Shell")]
    Private(guard::Error),
    /// It did not come.
    #[error(transparent)]
    Failed(guard::Error),
    /// It is nothing to read.
    #[error("it is {0}, not text; DownloadFile puts it on the machine")]
    Binary(String),
}

impl From<guard::Error> for FetchError {
    fn from(error: guard::Error) -> Self {
        match error {
            guard::Error::Private(_) => Self::Private(error),
            // None was asked for, and none is unpacked.
            guard::Error::Packed(encoding) => Self::Binary(format!("compressed as {encoding:?}")),
            error => Self::Failed(error),
        }
    }
}

impl Fetcher {
    /// One that reaches these hosts, as they stand in a URL, wherever they are. A process needs one TLS provider installed.
    pub fn new(allowed: &[String]) -> Self {
        Self(Getter::new(Reach::public(allowed)))
    }

    /// Fetches a page and makes it text; redirects are followed within its host.
    ///
    /// # Errors
    /// [`FetchError`].
    pub async fn page(&self, url: Url, format: Format) -> Result<Page, FetchError> {
        let guard::Answer { url, media_type, content, is_cut } = self.0.get(url).await?;
        let base = url.clone();
        // Work for a processor, not to be done where others wait.
        let text =
            tokio::task::spawn_blocking(move || body::text(&content, &media_type, &base, format)).await;
        let text = text.expect("making text of bytes does not panic").map_err(FetchError::Binary)?;
        Ok(Page { url, text, is_cut })
    }
}
