//! One page as text. The address comes from a model, and so from everything that the model has read: it is hostile.

use guard::{Getter, Reach};
use reqwest::Url;

use super::body::{self, Format};

/// Fetches pages from public addresses and from the configured hosts. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Fetcher(Getter);

/// A page as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Its final URL, after redirects.
    pub url: Url,
    /// Its text.
    pub text: String,
    /// True if the document is larger than 2 MiB and this is its beginning.
    pub is_cut: bool,
}

/// Why a page was not fetched. Each text has advice on what to do.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// It leads into the server's own network.
    #[error("{0}; a machine's own services are reached with a command in Shell")]
    Private(guard::Error),
    /// It could not be fetched.
    #[error(transparent)]
    Failed(guard::Error),
    /// It is not text.
    #[error("it is {0}, not text; DownloadFile puts it on the machine")]
    Binary(String),
}

impl From<guard::Error> for FetchError {
    fn from(error: guard::Error) -> Self {
        match error {
            guard::Error::Private(_) => Self::Private(error),
            // No compression was requested, and none is unpacked.
            guard::Error::Packed(encoding) => Self::Binary(format!("compressed as {encoding:?}")),
            error => Self::Failed(error),
        }
    }
}

impl Fetcher {
    /// A fetcher that may reach these hosts, in the form of a URL's host, at any address. A process needs an installed TLS
    /// provider.
    pub fn new(allowed: &[String]) -> Self {
        Self(Getter::new(Reach::public(allowed)))
    }

    /// Fetches a page and converts it to text; redirects are followed within its host.
    ///
    /// # Errors
    /// [`FetchError`].
    pub async fn page(&self, url: Url, format: Format) -> Result<Page, FetchError> {
        let guard::Answer { url, media_type, content, is_cut } = self.0.get(url).await?;
        let base = url.clone();
        // CPU-bound work, not to be done on a shared thread.
        let text =
            tokio::task::spawn_blocking(move || body::text(&content, &media_type, &base, format)).await;
        let text = text.expect("making text of bytes does not panic").map_err(FetchError::Binary)?;
        Ok(Page { url, text, is_cut })
    }
}
