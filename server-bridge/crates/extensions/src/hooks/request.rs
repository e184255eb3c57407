//! A handler that is an HTTP request with the payload as its body, from this server or from one of the user's machines.

use std::collections::BTreeMap;
use std::time::Duration;

use guard::Error;
use hooks::Raw;
use hooks::interpolate;
use hooks::limits::OUTPUT_BYTES;
use hooks::payload::Payload;
use http::header::{ACCEPT_ENCODING, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method};
use store::User;
use tokio::time::timeout;

use super::Inner;
use crate::via::{Failed, Request, Via};

impl Inner {
    pub(super) async fn request(
        &self,
        (user, via): (&User, Option<&str>),
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
        if let Some(via) = via {
            let via = Via::new(&self.ledger, &self.store, user, via);
            let posted = timeout(patience, post(&via, &url, &headers, payload.text.clone(), patience)).await;
            return match posted {
                Ok(Ok(raw)) => raw,
                Ok(Err(failed)) => Raw::Failed(failed.to_string()),
                Err(_) => Raw::TimedOut(patience),
            };
        }
        match self.poster.post(&url, &headers, payload.text.clone(), patience, OUTPUT_BYTES).await {
            Ok(posted) => Raw::Http { status: posted.status, body: posted.body, is_cut: posted.is_cut },
            Err(Error::Timeout) => Raw::TimedOut(patience),
            Err(error) => Raw::Failed(error.to_string()),
        }
    }
}

/// Posts a JSON text from the network of a machine. As for the server's own requests, a redirect is an answer and not followed: the headers may contain
/// secrets.
async fn post(
    via: &Via,
    url: &str,
    headers: &[(String, String)],
    json: String,
    patience: Duration,
) -> Result<Raw, Failed> {
    let mut sent = HeaderMap::new();
    sent.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    for (name, value) in headers {
        let (name, value) = guard::header(name, value)?;
        sent.insert(name, value);
    }
    sent.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    let url = guard::check_text(url)?;
    let request = Request { method: Method::POST, url, headers: sent, body: json.into(), patience };
    let answer = via.send(request).await?;
    let status = answer.status;
    let (body, is_cut) = answer.first(OUTPUT_BYTES).await?;
    Ok(Raw::Http { status, body: body.into(), is_cut })
}
