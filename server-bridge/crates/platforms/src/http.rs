//! The HTTP client of all platforms: it connects only within the server's reach, limits size and time, and keeps addresses and secrets out of errors.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use guard::Reach;
use rand::RngExt as _;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION, RETRY_AFTER};
use reqwest::{Client, Method, Response, Url};
use serde_json::Value;
use tokio::time::timeout;

use crate::limits::{
    CONNECT_TIMEOUT, FRAME_MAX_BYTES, REASON_MAX_CHARS, REDIRECTS_MAX, REQUEST_TIMEOUT, TOO_FAST_WAIT,
    TOO_FAST_WAIT_MAX, TRANSFER_TIMEOUT,
};
use crate::platform::Failure;
use crate::tls;

/// How many of the newest tokens from a platform are remembered; while a token is renewed, two are valid at once.
const DERIVED_MAX: usize = 4;

/// The client of one account. Cheap to clone; its [`Debug`](fmt::Debug) output and its errors contain no secret of the account.
#[derive(Clone)]
pub struct Http {
    client: Client,
    reach: Reach,
    /// The account's secrets, which no text may contain.
    secrets: Arc<[String]>,
    /// The newest tokens from the platform, which no text may contain either.
    derived: Arc<Mutex<VecDeque<String>>>,
    /// The largest response that is read, in bytes.
    answer_max: usize,
}

/// The body of a request.
#[derive(Clone, Debug, Default)]
pub enum Body {
    /// No body.
    #[default]
    Empty,
    /// A JSON document.
    Json(Value),
    /// A form's fields, percent-encoded.
    Form(Vec<(String, String)>),
    /// A form with files.
    Multipart(Multipart),
    /// Bytes of a media type.
    Bytes(String, Bytes),
}

/// A response, whatever its status.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The response's headers.
    pub headers: HeaderMap,
    /// The response's body, of at most [`FRAME_MAX_BYTES`] bytes unless the client has another limit.
    pub body: Bytes,
}

impl Answer {
    /// The body as JSON; null if it is not JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// True for the statuses 200 to 299.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The failure with the time to wait before the next request, taken from the header `Retry-After` (in seconds); see [`too_fast`].
    pub fn too_fast(&self) -> Failure {
        let seconds = self.headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok());
        too_fast(seconds.and_then(|seconds| seconds.trim().parse().ok()))
    }
}

/// Creates [`Failure::TooFast`] with the wait that a platform states in seconds, or [`TOO_FAST_WAIT`] if it states none; at most
/// [`TOO_FAST_WAIT_MAX`].
pub fn too_fast(seconds: Option<f64>) -> Failure {
    let wait =
        seconds.filter(|seconds| seconds.is_finite() && *seconds >= 0.0).map_or(TOO_FAST_WAIT, |seconds| {
            Duration::try_from_secs_f64(seconds).unwrap_or(TOO_FAST_WAIT_MAX).min(TOO_FAST_WAIT_MAX)
        });
    Failure::TooFast { wait_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).max(1) }
}

impl Http {
    /// Creates a client with this reach, for an account with these secrets.
    ///
    /// # Errors
    /// A text, if TLS cannot be used on this machine.
    pub fn new(reach: &Reach, secrets: &[&str]) -> Result<Self, String> {
        let client = reach
            .client()
            .tls_backend_preconfigured((*tls::config()?).clone())
            .connect_timeout(CONNECT_TIMEOUT)
            .build()
            .map_err(|error| guard::cause(&error.without_url()))?;
        let secrets = secrets.iter().filter(|secret| !secret.is_empty()).map(|&secret| secret.to_owned());
        Ok(Self {
            client,
            reach: reach.clone(),
            secrets: secrets.collect(),
            derived: Arc::default(),
            answer_max: FRAME_MAX_BYTES,
        })
    }

    /// The same client with another limit on a response's size, in bytes.
    #[must_use]
    pub fn with_answer_max(self, answer_max: usize) -> Self {
        Self { answer_max, ..self }
    }

    /// Remembers a token from the platform, so that no text contains it from now on.
    pub(crate) fn learn(&self, token: &str) {
        let mut derived = self.derived.lock().unwrap_or_else(PoisonError::into_inner);
        if token.is_empty() || derived.iter().any(|known| known == token) {
            return;
        }
        if derived.len() >= DERIVED_MAX {
            derived.pop_front();
        }
        derived.push_back(token.to_owned());
    }

    /// The hosts that the account may connect to.
    pub fn reach(&self) -> &Reach {
        &self.reach
    }

    /// Checks an address that an administrator enters, and returns it without a `/` at its end.
    ///
    /// # Errors
    /// A text for the administrator.
    pub fn base(&self, url: &str) -> Result<String, String> {
        let parsed = guard::check_text(url.trim()).map_err(|error| error.to_string())?;
        self.reach.check_host(parsed.host_str().unwrap_or_default()).map_err(|error| error.to_string())?;
        if parsed.query().is_some() || parsed.fragment().is_some() {
            return Err("the address must not have a query".to_owned());
        }
        Ok(parsed.as_str().trim_end_matches('/').to_owned())
    }

    /// Converts a text from the platform to the form that an error may contain: one short line, without the account's secrets.
    pub fn reason(&self, text: &str) -> String {
        let mut text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let derived = self.derived.lock().unwrap_or_else(PoisonError::into_inner);
        for secret in self.secrets.iter().chain(&*derived) {
            text = text.replace(secret, "…");
        }
        text.chars().take(REASON_MAX_CHARS).collect()
    }

    /// Sends one request, and reads its response. No redirect is followed.
    ///
    /// # Errors
    /// [`Failure::Away`] if the request certainly did not reach the platform, [`Failure::Unknown`] if it may have, [`Failure::Message`] if
    /// the address or a header is invalid, or if the address leads into the server's own network.
    pub async fn call(
        &self,
        method: Method,
        url: &str,
        headers: &[(&str, &str)],
        body: Body,
    ) -> Result<Answer, Failure> {
        self.call_within(method, url, headers, body, REQUEST_TIMEOUT).await
    }

    /// As [`Http::call`], with another time limit, for requests that wait until something happens.
    ///
    /// # Errors
    /// As [`Http::call`].
    pub async fn call_within(
        &self,
        method: Method,
        url: &str,
        headers: &[(&str, &str)],
        body: Body,
        patience: Duration,
    ) -> Result<Answer, Failure> {
        let answer = self.call_sized(method, url, headers, body, patience).await?;
        answer
            .ok_or_else(|| Failure::Unknown(format!("the response is larger than {} bytes", self.answer_max)))
    }

    /// As [`Http::call_within`], but returns `None` if the response is larger than the client's limit, for callers that can request less.
    ///
    /// # Errors
    /// As [`Http::call`].
    pub async fn call_sized(
        &self,
        method: Method,
        url: &str,
        headers: &[(&str, &str)],
        body: Body,
        patience: Duration,
    ) -> Result<Option<Answer>, Failure> {
        let url = self.checked(url)?;
        let request = self.client.request(method, url).headers(header_map(headers)?);
        let request = match body {
            Body::Empty => request,
            Body::Json(value) => {
                request.header(CONTENT_TYPE, "application/json; charset=utf-8").body(value.to_string())
            }
            Body::Form(fields) => {
                let mut url = Url::parse("x:")
                    .map_err(|_| Failure::Message("the form cannot be encoded".to_owned()))?;
                url.query_pairs_mut().extend_pairs(fields);
                request
                    .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
                    .body(url.query().unwrap_or_default().to_owned())
            }
            Body::Multipart(form) => request.header(CONTENT_TYPE, form.media_type()).body(form.into_body()),
            Body::Bytes(media_type, bytes) => request.header(CONTENT_TYPE, media_type).body(bytes),
        };
        let work = async {
            let response = request.send().await.map_err(|error| self.failed(error))?;
            let (status, headers) = (response.status().as_u16(), response.headers().clone());
            let body = self.read(response, self.answer_max as u64).await.map_err(|error| match error {
                // The request reached the platform, but its response could not be read.
                Failure::Message(why) | Failure::Away(why) => Failure::Unknown(why),
                other => other,
            })?;
            Ok(body.map(|body| Answer { status, headers, body }))
        };
        timeout(patience, work).await.map_err(|_| Failure::Unknown("the request took too long".to_owned()))?
    }

    /// Fetches a file of at most `max_bytes`, whatever length the response states. Redirects are followed within reach; the headers are not sent to
    /// another host.
    ///
    /// # Errors
    /// [`Failure::Message`] if the file is larger or refused, or its address leads into the server's own network; [`Failure::Away`] if it
    /// can be tried again.
    pub async fn fetch(&self, url: &str, headers: &[(&str, &str)], max_bytes: u64) -> Result<Bytes, Failure> {
        let work = async {
            let mut url = self.checked(url)?;
            let mut headers = header_map(headers)?;
            for _ in 0..=REDIRECTS_MAX {
                let request = self.client.get(url.clone()).headers(headers.clone());
                let response = request.send().await.map_err(|error| match self.failed(error) {
                    Failure::Unknown(why) => Failure::Away(why),
                    other => other,
                })?;
                let status = response.status();
                if status.is_redirection() {
                    let to =
                        response.headers().get(LOCATION).and_then(|to| to.to_str().ok()).unwrap_or_default();
                    let next = url.join(to).map_err(|_| {
                        Failure::Message("the address redirects to an invalid address".to_owned())
                    })?;
                    if url.scheme() == "https" && next.scheme() != "https" {
                        return Err(Failure::Message(
                            "the address redirects to an unencrypted address".to_owned(),
                        ));
                    }
                    if url.origin() != next.origin() {
                        headers.clear();
                    }
                    url = self.checked(next.as_str())?;
                    continue;
                }
                return match status.as_u16() {
                    200 => self.read(response, max_bytes).await?.ok_or_else(|| {
                        Failure::Message(format!("the file is larger than {max_bytes} bytes"))
                    }),
                    429 | 500.. => Err(Failure::Away(format!("status {}", status.as_u16()))),
                    status => Err(Failure::Message(format!("the file cannot be fetched: status {status}"))),
                };
            }
            Err(Failure::Message("the address redirects too many times".to_owned()))
        };
        timeout(TRANSFER_TIMEOUT, work)
            .await
            .map_err(|_| Failure::Away("the request took too long".to_owned()))?
    }

    fn checked(&self, url: &str) -> Result<Url, Failure> {
        let url = guard::check_text(url).map_err(|error| Failure::Message(error.to_string()))?;
        let checked = self.reach.check_host(url.host_str().unwrap_or_default());
        checked.map_err(|error| Failure::Message(error.to_string()))?;
        Ok(url)
    }

    /// Reads a response's body; `None` if it is larger than `max_bytes`.
    async fn read(&self, mut response: Response, max_bytes: u64) -> Result<Option<Bytes>, Failure> {
        if response.content_length().is_some_and(|stated| stated > max_bytes) {
            return Ok(None);
        }
        let mut body = BytesMut::new();
        loop {
            let piece = response.chunk().await.map_err(|error| match self.failed(error) {
                Failure::Unknown(why) => Failure::Away(why),
                other => other,
            })?;
            let Some(piece) = piece else { return Ok(Some(body.freeze())) };
            if (body.len() + piece.len()) as u64 > max_bytes {
                return Ok(None);
            }
            body.extend_from_slice(&piece);
        }
    }

    /// The failure of a request. An error's text contains the address, which may contain a token, so only the error's cause is kept.
    fn failed(&self, error: reqwest::Error) -> Failure {
        let is_away = error.is_connect();
        let error = error.without_url();
        if let Some(inside) = guard::leads_inside(&error) {
            return Failure::Message(inside.to_string());
        }
        let why = self.reason(&guard::cause(&error));
        if is_away { Failure::Away(why) } else { Failure::Unknown(why) }
    }
}

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http").field("reach", &self.reach).finish_non_exhaustive()
    }
}

fn header_map(headers: &[(&str, &str)]) -> Result<HeaderMap, Failure> {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        let invalid = || Failure::Message(format!("the header {name} cannot be sent"));
        let name = HeaderName::try_from(*name).map_err(|_| invalid())?;
        let mut value = HeaderValue::try_from(*value).map_err(|_| invalid())?;
        value.set_sensitive(true);
        map.append(name, value);
    }
    Ok(map)
}

/// A form with files, in the encoding that browsers use.
#[derive(Clone, Debug)]
pub struct Multipart {
    boundary: String,
    body: BytesMut,
}

impl Default for Multipart {
    fn default() -> Self {
        Self { boundary: format!("sandbridge-{:032x}", rand::rng().random::<u128>()), body: BytesMut::new() }
    }
}

impl Multipart {
    /// The form with one more field.
    #[must_use]
    pub fn field(mut self, name: &str, value: &str) -> Self {
        self.begin(&format!("name=\"{}\"", quoted(name)), None);
        self.body.extend_from_slice(value.as_bytes());
        self.body.extend_from_slice(b"\r\n");
        self
    }

    /// The form with one more file.
    #[must_use]
    pub fn file(mut self, name: &str, file_name: &str, media_type: &str, bytes: &[u8]) -> Self {
        let disposition = format!("name=\"{}\"; filename=\"{}\"", quoted(name), quoted(file_name));
        self.begin(&disposition, Some(media_type));
        self.body.extend_from_slice(bytes);
        self.body.extend_from_slice(b"\r\n");
        self
    }

    fn begin(&mut self, disposition: &str, media_type: Option<&str>) {
        let mut head = format!("--{}\r\nContent-Disposition: form-data; {disposition}\r\n", self.boundary);
        if let Some(media_type) = media_type {
            head.push_str(&format!("Content-Type: {media_type}\r\n"));
        }
        self.body.extend_from_slice(head.as_bytes());
        self.body.extend_from_slice(b"\r\n");
    }

    fn media_type(&self) -> String {
        format!("multipart/form-data; boundary={}", self.boundary)
    }

    fn into_body(mut self) -> Bytes {
        self.body.extend_from_slice(format!("--{}--\r\n", self.boundary).as_bytes());
        self.body.freeze()
    }
}

/// Encodes a text as one segment of a path, or as a value of a query: everything except letters, digits and `-._~` is percent-encoded.
pub fn segment(text: &str) -> String {
    let mut segment = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            segment.push(char::from(byte));
        } else {
            segment.push_str(&format!("%{byte:02X}"));
        }
    }
    segment
}

/// Quotes a name, escaped as the HTML standard requires.
fn quoted(name: &str) -> String {
    name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_that_a_platform_states_is_bounded() {
        let ms = |seconds| match too_fast(seconds) {
            Failure::TooFast { wait_ms } => wait_ms,
            other => panic!("{other:?}"),
        };
        assert_eq!(ms(Some(0.25)), 250);
        assert_eq!(ms(Some(0.0)), 1);
        for none in [None, Some(f64::NAN), Some(-1.0)] {
            assert_eq!(ms(none), 5000);
        }
        assert_eq!(ms(Some(1e300)), 3_600_000);
    }

    #[test]
    fn a_reason_is_one_line_without_secrets() {
        let http = Http::new(&Reach::Anywhere, &["12:secret", ""]).unwrap();
        assert_eq!(http.reason("bad\n/bot12:secret/x"), "bad /bot…/x");
        let clone = http.clone();
        for number in 0..=DERIVED_MAX {
            clone.learn(&format!("derived{number}"));
        }
        clone.learn("");
        assert_eq!(http.reason("derived4 and derived1 of 12:secret"), "… and … of …");
        assert!(!format!("{http:?}").contains("secret"));
    }

    #[test]
    fn a_files_name_cannot_leave_its_quotes() {
        let form = Multipart::default().file("f", "a\"\r\nX: y", "text/plain", b"z");
        let body = String::from_utf8(form.into_body().to_vec()).unwrap();
        assert!(body.contains("filename=\"a%22%0D%0AX: y\""), "{body}");
    }

    #[tokio::test]
    async fn errors_name_no_address() {
        let http = Http::new(&Reach::Anywhere, &[]).unwrap();
        // Nothing listens on this port.
        let failure =
            http.call(Method::GET, "http://127.0.0.1:1/bot12:secret/x", &[], Body::Empty).await.unwrap_err();
        assert!(matches!(failure, Failure::Away(_)), "{failure:?}");
        assert!(!format!("{failure} {failure:?}").contains("secret"));
        let http = Http::new(&Reach::public(&[]), &[]).unwrap();
        for url in ["http://169.254.169.254/x", "http://localhost/x", "ftp://a.example/"] {
            let failure = http.fetch(url, &[], 10).await.unwrap_err();
            assert!(matches!(failure, Failure::Message(_)), "{failure:?}");
        }
    }
}
