//! One request to the endpoint, over its own connection.

use std::fmt::Display;
use std::time::Duration;

use bytes::Bytes;
use hyper::body::Body;
use hyper::header::{ACCEPT_ENCODING, HOST, HeaderMap, HeaderValue, USER_AGENT};
use hyper::{Method, Request, Uri};
use proto::message::LlmHeaders;
use proto::{ErrorKind, WireError};

use super::config::LlmConfig;
use super::request::answered;
use crate::blocking::blocking;
use crate::limits::{LLM_ANSWER_HEADERS, LLM_ANSWER_HEADERS_BYTES};
use crate::net::exchange::{Exchange, HeadBounds, Whole};
use crate::net::http::{self, connect, innermost};

/// A response whose body has not been read. Dropping this closes the connection.
pub(super) struct Answer<'a> {
    exchange: Exchange,
    config: &'a LlmConfig,
}

impl<'a> Answer<'a> {
    /// Sends the request, with the key, and waits for the headers; redirects are returned like any other response.
    pub(super) async fn to(
        config: &'a LlmConfig,
        target: Uri,
        headers: HeaderMap,
        body: Vec<u8>,
    ) -> Result<(Self, LlmHeaders), WireError> {
        let key = key(config).await?;
        let request = request(config, target, headers, body, key.as_deref())?;
        let way = config.way().map_err(|error| failed(config, &error))?;
        let socket = connect(&config.base, &way).await.map_err(|error| failed(config, &error))?;
        let refused = |error: hyper::Error| failed(config, &innermost(&error));
        let bounds = HeadBounds { bytes: LLM_ANSWER_HEADERS_BYTES, headers: LLM_ANSWER_HEADERS };
        let asked = Exchange::begin(socket, request, bounds);
        let exchange = in_time(config, asked).await?.map_err(refused)?;
        let response = exchange.head();
        let headers = answered(response.headers(), key.as_deref());
        let head = LlmHeaders { status: response.status().as_u16(), headers };
        Ok((Self { exchange, config }, head))
    }

    /// The next piece, as it arrived; `None` at the end.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, WireError> {
        let next = in_time(self.config, self.exchange.next()).await?;
        next.map_err(|error| failed(self.config, &innermost(&error)))
    }
}

fn request(
    config: &LlmConfig,
    target: Uri,
    headers: HeaderMap,
    body: Vec<u8>,
    key: Option<&str>,
) -> Result<Request<Whole>, WireError> {
    let authority = config.base.authority().map_or("", |authority| authority.as_str());
    let host = HeaderValue::from_str(authority).map_err(|error| failed(config, &error))?;
    let mut request = Request::new(Whole(body.into()));
    if request.body().is_end_stream() {
        *request.method_mut() = Method::GET;
    } else {
        *request.method_mut() = Method::POST;
    }
    *request.uri_mut() = target;
    *request.headers_mut() = headers;
    request.headers_mut().insert(HOST, host);
    request.headers_mut().insert(USER_AGENT, HeaderValue::from_static(http::USER_AGENT));
    // A compressed body could not be read before more of it arrives.
    request.headers_mut().insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    if let Some(key) = key {
        let (name, value) = config
            .provider
            .authorization(key)
            .map_err(|_| no_key(&"it has characters that are not allowed in a header"))?;
        request.headers_mut().insert(name, value);
    }
    Ok(request)
}

/// Reads the current key; `None` for an endpoint without one.
async fn key(config: &LlmConfig) -> Result<Option<String>, WireError> {
    let Some(file) = config.key.clone() else { return Ok(None) };
    blocking(move || file.read()).await?.map(Some).map_err(|error| no_key(&error))
}

/// The place of the key and the problem with it are only for the runner's operator.
fn no_key(reason: &dyn Display) -> WireError {
    tracing::warn!("the key of the LLM endpoint cannot be used: {reason}");
    WireError::new(ErrorKind::Io, "the runner cannot use its key for the LLM endpoint; its log says why")
}

/// Fails if nothing happens for too long.
async fn in_time<T>(config: &LlmConfig, wanted: impl Future<Output = T>) -> Result<T, WireError> {
    let timeout = Duration::from_millis(config.idle_ms);
    let silent = |_| failed(config, &format!("it was silent for {} s", timeout.as_secs_f32()));
    tokio::time::timeout(timeout, wanted).await.map_err(silent)
}

fn failed(config: &LlmConfig, reason: &dyn Display) -> WireError {
    let host = config.base.authority().map_or("", |authority| authority.as_str());
    WireError::new(ErrorKind::Io, format!("the LLM endpoint {host} sent no complete response: {reason}"))
}
