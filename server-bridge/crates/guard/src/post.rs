//! A request with a body to an untrusted address, and the response, which is bounded in size and time. Redirects are not followed.

use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use tokio::time::timeout;

use crate::error::{Error, check_text, header};
use crate::outgoing::{Outgoing, beginning, failed};
use crate::reach::Reach;

/// Posts JSON to addresses within reach. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Poster(Outgoing);

/// The response to a posted text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Posted {
    /// The HTTP status.
    pub status: u16,
    /// The body, up to the requested size.
    pub body: Vec<u8>,
    /// True if the body is longer than that.
    pub is_cut: bool,
}

impl Poster {
    /// A poster that is limited to this reach.
    pub fn new(reach: Reach) -> Self {
        Self(Outgoing::new(reach))
    }

    /// Posts a JSON text, and reads at most `most_bytes` of the response. A redirect is returned like any other response: headers may contain
    /// secrets, so they are sent to no other address.
    ///
    /// # Errors
    /// [`Error`]; none of them names more of the address than its host.
    pub async fn post(
        &self,
        url: &str,
        headers: &[(String, String)],
        json: String,
        patience: Duration,
        most_bytes: usize,
    ) -> Result<Posted, Error> {
        let url = check_text(url)?;
        self.0.check(&url)?;
        let mut sent = HeaderMap::new();
        sent.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        for (name, value) in headers {
            let (name, value) = header(name, value)?;
            sent.insert(name, value);
        }
        let work = async {
            let request = self.0.client()?.post(url).headers(sent).body(json);
            let response = request.send().await.map_err(|error| failed(&error))?;
            let status = response.status().as_u16();
            let (body, is_cut) = beginning(response, most_bytes).await?;
            Ok(Posted { status, body: body.into(), is_cut })
        };
        timeout(patience, work).await.map_err(|_| Error::Timeout)?
    }
}

#[cfg(test)]
mod tests;
