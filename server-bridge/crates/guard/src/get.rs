//! Fetches one document from an untrusted address. The document may be hostile, and so may the target of a redirect.

use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use reqwest::{Response, Url};
use tokio::time::timeout;

use crate::error::Error;
use crate::limits::{DOCUMENT_BYTES, PATIENCE, REDIRECTS};
use crate::outgoing::{Outgoing, beginning, failed, redirect};
use crate::reach::Reach;

/// Fetches documents. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Getter {
    outgoing: Outgoing,
    patience: Duration,
    most_bytes: usize,
}

/// A fetched document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The document's final URL, after redirects.
    pub url: Url,
    /// The document's media type, as the server states it; empty if the server sends none.
    pub media_type: String,
    /// The document, or its beginning: at most 2 MiB, unless the getter has another limit.
    pub content: Bytes,
    /// True if the document is longer than that.
    pub is_cut: bool,
}

impl Getter {
    /// A getter that is limited to this reach.
    pub fn new(reach: Reach) -> Self {
        Self { outgoing: Outgoing::new(reach), patience: PATIENCE, most_bytes: DOCUMENT_BYTES }
    }

    /// This getter with another time limit for a document.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// This getter with another size at which a document is cut, in bytes.
    #[must_use]
    pub fn with_most_bytes(self, most_bytes: usize) -> Self {
        Self { most_bytes, ..self }
    }

    /// Fetches a document; redirects are followed within its scheme, host and port.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn get(&self, url: Url) -> Result<Answer, Error> {
        timeout(self.patience, self.whole(url)).await.map_err(|_| Error::Timeout)?
    }

    async fn whole(&self, url: Url) -> Result<Answer, Error> {
        let (url, response) = self.answer(url).await?;
        let header = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
        let media_type = header(CONTENT_TYPE).unwrap_or_default().to_owned();
        let (content, is_cut) = beginning(response, self.most_bytes).await?;
        Ok(Answer { url, media_type, content, is_cut })
    }

    async fn answer(&self, mut url: Url) -> Result<(Url, Response), Error> {
        for _ in 0..=REDIRECTS {
            self.outgoing.check(&url)?;
            let request =
                self.outgoing.client()?.get(url.clone()).header(ACCEPT, "text/html, text/*;q=0.9, */*;q=0.5");
            let response = request.send().await.map_err(|error| failed(&error))?;
            let Some(next) = redirect(&self.outgoing, &url, &response)? else {
                let status = response.status();
                return if status.is_success() { Ok((url, response)) } else { Err(Error::Status(status)) };
            };
            url = next;
        }
        Err(Error::Redirects)
    }
}

#[cfg(test)]
mod tests;
