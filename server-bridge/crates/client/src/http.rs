//! Requests to a server, over one connection that is kept for the next request.

use std::future::poll_fn;
use std::pin::Pin;
use std::time::Duration;

use api::error::ErrorBody;
use api::language::Language;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use hyper::body::{Body, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{ACCEPT_LANGUAGE, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HOST, RETRY_AFTER};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::body::RequestBody;
use super::endpoint::Endpoint;
use super::failure::Failure;
use super::limits::{ANSWER_MAX_BYTES, ANSWER_TIMEOUT};
use super::session::Session;

/// A client of one server for one user.
pub struct Client {
    endpoint: Endpoint,
    token: Option<String>,
    language: Option<Language>,
    sender: Option<SendRequest<RequestBody>>,
}

impl Client {
    /// A client with the session's login.
    pub fn new(session: &Session) -> Result<Self, Failure> {
        let endpoint = session.endpoint()?;
        let token = Some(session.token()?.to_owned());
        Ok(Self { endpoint, token, language: session.language(), sender: None })
    }

    /// A client without a login.
    pub(super) fn anonymous(session: &Session) -> Result<Self, Failure> {
        Ok(Self { endpoint: session.endpoint()?, token: None, language: session.language(), sender: None })
    }

    /// Requests texts in this language from now on, if one is given.
    pub(crate) fn speak(&mut self, language: Option<Language>) {
        self.language = language.or(self.language);
    }

    /// Makes the next request over a new connection: after minutes without a request, the kept one may have broken unnoticed.
    pub(crate) fn hang_up(&mut self) {
        self.sender = None;
    }

    /// Requests a document.
    pub(crate) async fn get<T: DeserializeOwned>(&mut self, path: &str) -> Result<T, Failure> {
        read(&self.small(Method::GET, path, None, ANSWER_TIMEOUT).await?)
    }

    /// Sends a document; if the response has a body, [`read`] parses it.
    pub(crate) async fn send_document(
        &mut self,
        method: Method,
        path: &str,
        document: &impl Serialize,
        patience: Duration,
    ) -> Result<Vec<u8>, Failure> {
        let body = serde_json::to_vec(document).map_err(|error| {
            Failure::other("internal", format!("a document cannot be written as JSON: {error}"))
        })?;
        self.small(method, path, Some(body), patience).await
    }

    /// Sends a request without a body; if the response has a body, [`read`] parses it.
    pub(crate) async fn ask(&mut self, method: Method, path: &str) -> Result<Vec<u8>, Failure> {
        self.small(method, path, None, ANSWER_TIMEOUT).await
    }

    /// Sends a request and returns its response, whose body is still to be read. A status other than success becomes the failure that the
    /// server reported.
    pub(super) async fn send(
        &mut self,
        method: Method,
        path: &str,
        content_type: &str,
        body: RequestBody,
    ) -> Result<Response<Incoming>, Failure> {
        let headers: &[_] = match content_type {
            "" => &[],
            content_type => &[(CONTENT_TYPE.as_str(), content_type.to_owned())],
        };
        let response = self.send_with(method, path, headers, body).await?;
        if response.status().is_success() { Ok(response) } else { Err(refusal(response).await) }
    }

    /// Sends a request with these headers and returns its response, with any status.
    pub(super) async fn send_with(
        &mut self,
        method: Method,
        path: &str,
        headers: &[(&'static str, String)],
        body: RequestBody,
    ) -> Result<Response<Incoming>, Failure> {
        // Some proxies refuse a request without a length (411).
        let is_length_due = method != Method::GET && matches!(body, RequestBody::Empty);
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.endpoint.base_path))
            .header(HOST, &self.endpoint.authority);
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        if is_length_due {
            request = request.header(CONTENT_LENGTH, "0");
        }
        if let Some(token) = &self.token {
            request = request.header(AUTHORIZATION, format!("Bearer {token}"));
        }
        if let Some(language) = self.language {
            request = request.header(ACCEPT_LANGUAGE, language.tag());
        }
        let request = request.body(body).map_err(|error| Failure::other("invalid", error.to_string()))?;
        let mut kept = self.sender.take();
        let is_usable = match &mut kept {
            Some(sender) => sender.ready().await.is_ok(),
            None => false,
        };
        let sender = match kept {
            Some(sender) if is_usable => sender,
            Some(_) | None => self.connect().await?,
        };
        let sender = self.sender.insert(sender);
        sender.send_request(request).await.map_err(|error| {
            if error.is_parse() || error.is_incomplete_message() {
                self.endpoint.no_http(&cause(&error))
            } else {
                self.endpoint.unreachable(&cause(&error))
            }
        })
    }

    async fn small(
        &mut self,
        method: Method,
        path: &str,
        body: Option<Vec<u8>>,
        patience: Duration,
    ) -> Result<Vec<u8>, Failure> {
        let (content_type, body) = match body {
            Some(body) => ("application/json", RequestBody::Bytes(body.into())),
            None => ("", RequestBody::Empty),
        };
        let answer = async {
            let response = self.send(method, path, content_type, body).await?;
            read_small(response).await
        };
        tokio::time::timeout(patience, answer).await.unwrap_or_else(|_| {
            let message = format!("the server did not respond within {} s; try again", patience.as_secs());
            Err(Failure::other("unreachable", message))
        })
    }

    async fn connect(&self) -> Result<SendRequest<RequestBody>, Failure> {
        let socket = self.endpoint.connect().await?;
        let (sender, connection) = http1::Builder::new()
            .handshake(TokioIo::new(socket))
            .await
            .map_err(|error| self.endpoint.unreachable(&cause(&error)))?;
        // The task ends when its sender is dropped; a failed connection is reported by the request that uses it.
        drop(tokio::spawn(connection));
        Ok(sender)
    }
}

/// The next piece of a response.
pub(super) async fn next_chunk(body: &mut Incoming) -> Option<Result<Bytes, Failure>> {
    loop {
        let frame = poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).await?;
        match frame.map(hyper::body::Frame::into_data) {
            Ok(Ok(bytes)) => return Some(Ok(bytes)),
            Ok(Err(_trailers)) => {}
            Err(error) => {
                let message = format!("the connection to the server broke: {}", cause(&error));
                return Some(Err(Failure::other("unreachable", message)));
            }
        }
    }
}

/// The query parameter `path=` or, if the path is not UTF-8, `path_base64=`.
pub(super) fn path_query(path: &[u8]) -> String {
    match std::str::from_utf8(path) {
        Ok(text) => format!("path={}", percent_encoded(text)),
        Err(_) => format!("path_base64={}", URL_SAFE_NO_PAD.encode(path)),
    }
}

/// A text, escaped as a part of a URL.
pub(super) fn percent_encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

/// The failure that an error response with this body reports.
pub(super) fn failure_from(status: StatusCode, body: &[u8], retry_after: Option<&str>) -> Failure {
    let Ok(ErrorBody { error }) = serde_json::from_slice(body) else {
        let known = [StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN, StatusCode::TOO_MANY_REQUESTS];
        if known.contains(&status) {
            return Failure::other("denied", format!("the server refused: {status}"));
        }
        return not_sandbridge();
    };
    let mut message = error.message;
    // The server's own texts contain the time already.
    if let Some(seconds) = retry_after
        && !message.contains(seconds)
    {
        message.push_str(&format!(" (in {seconds} s)"));
    }
    Failure::other(error.kind, message)
}

/// Parses the document in a response.
///
/// # Errors
/// `protocol` if it lacks something that this version needs, `unreachable` if it is not JSON at all.
pub(super) fn read<T: DeserializeOwned>(answer: &[u8]) -> Result<T, Failure> {
    serde_json::from_slice(answer).map_err(
        |error| {
            if error.is_data() { nonsense() } else { not_sandbridge() }
        },
    )
}

/// The failure if the server sent something that this version does not understand.
pub(super) fn nonsense() -> Failure {
    Failure::other(
        "protocol",
        "the server's response cannot be parsed; are client and server the same version?",
    )
}

/// The innermost cause, which is the most specific.
fn cause(error: &dyn std::error::Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

fn not_sandbridge() -> Failure {
    let message = "this server is not a Sandbridge server; is --server (or SANDBRIDGE_SERVER) right?";
    Failure::other("unreachable", message)
}

/// The failure that an error response of the server reports.
pub(super) async fn refusal(response: Response<Incoming>) -> Failure {
    let status = response.status();
    let retry_after =
        response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()).map(str::to_owned);
    match read_small(response).await {
        Ok(body) => failure_from(status, &body, retry_after.as_deref()),
        Err(failure) => failure,
    }
}

/// The whole body of a small response.
pub(super) async fn read_small(response: Response<Incoming>) -> Result<Vec<u8>, Failure> {
    let mut body = response.into_body();
    let mut bytes = Vec::new();
    while let Some(chunk) = next_chunk(&mut body).await {
        bytes.extend_from_slice(&chunk?);
        if bytes.len() > ANSWER_MAX_BYTES {
            return Err(Failure::other("too_large", "the server's response is too large"));
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_travel_whole_whatever_their_bytes() {
        assert_eq!(path_query("a b/ä&?.txt".as_bytes()), "path=a%20b/%C3%A4%26%3F.txt");
        assert_eq!(path_query(b"a\xff"), "path_base64=Yf8");
    }

    #[test]
    fn refusals_are_told_in_the_servers_words() {
        let failure = failure_from(
            StatusCode::CONFLICT,
            br#"{"error":{"kind":"offline","message":"runner laptop is offline"}}"#,
            None,
        );
        assert_eq!(
            (failure.kind.as_str(), failure.message.as_str()),
            ("offline", "runner laptop is offline")
        );
        assert_eq!(failure_from(StatusCode::NOT_FOUND, b"<html>", None).kind, "unreachable");
        let limited = |message: &str| {
            let body = format!(r#"{{"error":{{"kind":"rate_limited","message":"{message}"}}}}"#);
            failure_from(StatusCode::TOO_MANY_REQUESTS, body.as_bytes(), Some("7")).message
        };
        assert_eq!(limited("too many attempts; try again in 7 s"), "too many attempts; try again in 7 s");
        assert_eq!(limited("try again later"), "try again later (in 7 s)");
    }
}
