//! A request of any method to an untrusted address, and the response, which is bounded in size and time.
//!
//! A redirect is followed within the scheme, host and port only, since headers and bodies may contain secrets.

use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{ACCEPT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Method, StatusCode};
use tokio::time::timeout;

use crate::error::{Error, check_text, header};
use crate::limits::REDIRECTS;
use crate::outgoing::{Outgoing, beginning, failed, redirect};
use crate::reach::Reach;

/// Sends requests to addresses within reach. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Requester(Outgoing);

/// A response, whatever its status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    /// The HTTP status.
    pub status: u16,
    /// The response's media type, as the server states it; empty if the server sends none.
    pub media_type: String,
    /// The body, or its beginning.
    pub content: Bytes,
    /// True if the body is longer than that.
    pub is_cut: bool,
}

/// The limits of a request.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// How long it may take, from the lookup to the last byte of the response.
    pub patience: Duration,
    /// How much of the response's body is read, in bytes.
    pub most_bytes: usize,
}

impl Requester {
    /// A requester that is limited to this reach.
    pub fn new(reach: Reach) -> Self {
        Self(Outgoing::new(reach))
    }

    /// Checks an address without a request; its name is checked again when it is looked up.
    ///
    /// # Errors
    /// [`Error::Url`]; [`Error::Private`].
    pub fn check(&self, url: &str) -> Result<(), Error> {
        self.0.check(&check_text(url)?)
    }

    /// Sends a request.
    ///
    /// # Errors
    /// [`Error`]. [`Error::Elsewhere`] contains the address that the service named, which may repeat a secret.
    pub async fn send(
        &self,
        method: &str,
        url: &str,
        headers: &[(String, String)],
        body: Option<String>,
        bounds: Bounds,
    ) -> Result<Answered, Error> {
        let url = check_text(url)?;
        let method =
            Method::from_bytes(method.as_bytes()).map_err(|_| Error::Url("the method is invalid"))?;
        let mut sent = HeaderMap::new();
        for (name, value) in headers {
            let (name, value) = header(name, value)?;
            sent.append(name, value);
        }
        // Responses are read as they arrive; nothing decompresses them.
        sent.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        let work = async {
            let (mut method, mut url, mut body) = (method, url, body.map(Bytes::from));
            for _ in 0..=REDIRECTS {
                self.0.check(&url)?;
                let mut request = self.0.client()?.request(method.clone(), url.clone()).headers(sent.clone());
                if let Some(body) = &body {
                    request = request.body(body.clone());
                } else if !matches!(method, Method::GET | Method::HEAD) {
                    request = request.header(CONTENT_LENGTH, "0");
                }
                let response = request.send().await.map_err(|error| failed(&error))?;
                let status = response.status();
                let Some(next) = redirect(&self.0, &url, &response)? else {
                    let media_type =
                        response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
                    let media_type = media_type.unwrap_or_default().to_owned();
                    let (content, is_cut) = beginning(response, bounds.most_bytes).await?;
                    return Ok(Answered { status: status.as_u16(), media_type, content, is_cut });
                };
                url = next;
                // As in browsers, such a redirect is followed with a GET, so that the change is not made twice.
                let is_kept =
                    matches!(status, StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT);
                if !is_kept && !matches!(method, Method::GET | Method::HEAD) {
                    (method, body) = (Method::GET, None);
                    sent.remove(CONTENT_TYPE);
                }
            }
            Err(Error::Redirects)
        };
        timeout(bounds.patience, work).await.map_err(|_| Error::Timeout)?
    }
}
