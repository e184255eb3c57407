//! One request to the endpoint, over its own connection.

use std::convert::Infallible;
use std::fmt::Display;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::client::conn::http1;
use hyper::header::{ACCEPT_ENCODING, HOST, HeaderMap, HeaderValue, USER_AGENT};
use hyper::{Method, Request, Response, Uri};
use hyper_util::rt::TokioIo;
use proto::message::LlmHeaders;
use proto::{ErrorKind, WireError};

use super::config::LlmConfig;
use super::request::answered;
use crate::blocking::blocking;
use crate::limits::{LLM_ANSWER_HEADERS, LLM_ANSWER_HEADERS_BYTES};
use crate::net::connection::Connection;
use crate::net::http::{self, connect, innermost};

/// An answer whose body is still to come. Dropping this closes the connection.
pub(super) struct Answer<'a> {
    connection: Connection,
    response: Response<Incoming>,
    config: &'a LlmConfig,
}

/// A body that is complete already.
struct Whole(Bytes);

impl Body for Whole {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let bytes = std::mem::take(&mut self.0);
        Poll::Ready((!bytes.is_empty()).then_some(Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.len() as u64)
    }
}

impl<'a> Answer<'a> {
    /// Sends the request, with the key, and waits for the headers; redirects are answers like others.
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
        let (mut sender, connection) = http1::Builder::new()
            .max_buf_size(LLM_ANSWER_HEADERS_BYTES)
            .max_headers(LLM_ANSWER_HEADERS)
            .handshake::<_, Whole>(TokioIo::new(socket))
            .await
            .map_err(refused)?;
        let mut connection = Connection::new(connection);
        let asked = connection.beside(sender.send_request(request));
        let response = in_time(config, asked).await?.map_err(refused)?;
        let headers = answered(response.headers(), key.as_deref());
        let head = LlmHeaders { status: response.status().as_u16(), headers };
        Ok((Self { connection, response, config }, head))
    }

    /// The next piece, as it came; `None` at the end.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, WireError> {
        let Self { connection, response, config } = self;
        loop {
            let frame = poll_fn(|cx| Pin::new(response.body_mut()).poll_frame(cx));
            match in_time(config, connection.beside(frame)).await? {
                None => return Ok(None),
                Some(Ok(frame)) => {
                    if let Ok(bytes) = frame.into_data() {
                        return Ok(Some(bytes));
                    }
                }
                Some(Err(error)) => return Err(failed(config, &innermost(&error))),
            }
        }
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
        let (name, value) =
            config.provider.authorization(key).map_err(|_| no_key(&"no header can hold it"))?;
        request.headers_mut().insert(name, value);
    }
    Ok(request)
}

/// The current key.
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
    WireError::new(ErrorKind::Io, format!("the LLM endpoint {host} gave no complete answer: {reason}"))
}
