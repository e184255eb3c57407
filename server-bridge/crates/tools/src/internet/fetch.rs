//! Fetches one page as text. The address comes from a model, and so from everything that the model has read: it is not to be trusted.

use guard::{Getter, Reach};
use reqwest::Url;

use super::body::{self, Format};

/// Fetches pages from public addresses and from the configured hosts. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Fetcher(Getter);

/// A page as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The final URL, after redirects.
    pub url: Url,
    /// The page's text.
    pub text: String,
    /// True if the document is larger than 2 MiB and this is its beginning.
    pub is_cut: bool,
}

/// The reason why a page was not fetched. Each text advises what to do.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The address leads into the server's own network.
    #[error("{0}; a machine's own services are reached with a command in Shell")]
    Private(guard::Error),
    /// The page could not be fetched.
    #[error(transparent)]
    Failed(guard::Error),
    /// The page is not text.
    #[error("the page is {0}, not text; DownloadFile can put it on the machine")]
    Binary(String),
}

impl From<guard::Error> for FetchError {
    fn from(error: guard::Error) -> Self {
        match error {
            guard::Error::Private(_) => Self::Private(error),
            // No compression was requested, and a compressed body is not unpacked.
            guard::Error::Packed(encoding) => Self::Binary(format!("compressed as {encoding:?}")),
            error => Self::Failed(error),
        }
    }
}

impl Fetcher {
    /// A fetcher that may reach the hosts in `allowed`, written as in a URL, at any address. A TLS provider must be installed in the process.
    pub fn new(allowed: &[String]) -> Self {
        Self(Getter::new(Reach::public(allowed)))
    }

    /// Fetches a page and converts it to text; redirects are followed within the page's host.
    ///
    /// # Errors
    /// [`FetchError`], if the page cannot be fetched or is not text.
    pub async fn page(&self, url: Url, format: Format) -> Result<Page, FetchError> {
        let guard::Answer { url, media_type, content, is_cut } = self.0.get(url).await?;
        let base = url.clone();
        // This is CPU-bound work, so it does not run on a shared thread.
        let text =
            tokio::task::spawn_blocking(move || body::text(&content, &media_type, &base, format)).await;
        let text = text.expect("converting a body to text does not panic").map_err(FetchError::Binary)?;
        Ok(Page { url, text, is_cut })
    }
}
