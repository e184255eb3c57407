//! A handler that is an HTTP request with the payload as its body.

use std::collections::BTreeMap;
use std::time::Duration;

use guard::Error;
use hooks::Raw;
use hooks::interpolate;
use hooks::limits::OUTPUT_BYTES;
use hooks::payload::Payload;

use super::Inner;

impl Inner {
    pub(super) async fn request(
        &self,
        url: &str,
        headers: &BTreeMap<String, String>,
        allowed_variables: &[String],
        payload: &Payload,
        patience: Duration,
    ) -> Raw {
        let url = match interpolate::url(url, &payload.value) {
            Ok(url) => url,
            Err(error) => return Raw::Failed(format!("its address cannot be built: {error}")),
        };
        // Hooks must not see the server's own environment: headers are filled from the payload alone.
        let headers = match interpolate::headers(headers, allowed_variables, &payload.value, &|_| None) {
            Ok(headers) => headers,
            Err(error) => return Raw::Failed(format!("its headers cannot be built: {error}")),
        };
        let headers: Vec<(String, String)> = headers.into_iter().collect();
        match self.poster.post(&url, &headers, payload.text.clone(), patience, OUTPUT_BYTES).await {
            Ok(posted) => Raw::Http { status: posted.status, body: posted.body, is_cut: posted.is_cut },
            Err(Error::Timeout) => Raw::TimedOut(patience),
            Err(error) => Raw::Failed(error.to_string()),
        }
    }
}
