//! Requests from the network of one of the user's machines instead of from the server's own.
//!
//! The machine's runner decides which hosts it reaches, and checks the addresses; this side checks the form of the address, and each redirect. Every
//! request is audited: the machine that sent it, its method, scheme, host and port, and the status of the response.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use execs::Ledger;
use futures_util::StreamExt;
use futures_util::stream::{BoxStream, unfold};
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, LOCATION};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use reqwest::Url;
use sandbox::{HttpAnswer, HttpRequest, SandboxError};
use store::{AuditEntry, Store, User};
use tokio::time::timeout;

/// The action of a request in the audit trail.
const ACTION: &str = "http.request";

/// The reason why there is no response, as text. It reveals nothing of an address except its host.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum Failed {
    /// The request failed on the machine or in its runner.
    #[error("{0}")]
    Machine(String),
    /// The address or a redirect was refused, or the request to it failed.
    #[error(transparent)]
    Guard(#[from] std::sync::Arc<guard::Error>),
}

impl From<guard::Error> for Failed {
    fn from(error: guard::Error) -> Self {
        Self::Guard(error.into())
    }
}

/// One of the user's machines, and the way in which requests get there. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Via {
    ledger: Ledger,
    store: Store,
    user: User,
    place: String,
}

/// A request to be sent from the machine.
pub(crate) struct Request {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// The time limit for the status and the headers of the response.
    pub(crate) patience: Duration,
}

/// A response whose body has not been read.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    body: HttpAnswer,
}

impl Via {
    pub(crate) fn new(ledger: &Ledger, store: &Store, user: &User, place: &str) -> Self {
        Self { ledger: ledger.clone(), store: store.clone(), user: user.clone(), place: place.to_owned() }
    }

    /// Sends a request from the machine, and waits for the status and the headers. Redirects are returned, not followed. Audited.
    ///
    /// Fails with the reason as text.
    pub(crate) async fn send(&self, request: Request) -> Result<Answer, Failed> {
        guard::check(&request.url)?;
        let target = format!("{} {}", request.method, request.url.origin().ascii_serialization());
        let answer = self.sent(request).await;
        let outcome = match &answer {
            Ok(answer) => answer.status.to_string(),
            Err((kind, _)) => (*kind).to_owned(),
        };
        self.note(target, outcome).await;
        answer.map_err(|(_, why)| Failed::Machine(why))
    }

    /// Fails with the error's kind and the reason as text.
    async fn sent(&self, request: Request) -> Result<Answer, (&'static str, String)> {
        let place = &self.place;
        let sandbox = self.ledger.sandbox(&self.user, Some(place)).await;
        let sandbox = sandbox.map_err(|error| (error.kind(), error.message()))?;
        let Request { method, url, headers, body, patience } = request;
        let headers =
            headers.iter().map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_vec()));
        let request = HttpRequest {
            method: method.as_str().to_owned(),
            url: without_fragment(url),
            headers: headers.collect(),
            body,
            timeout: patience,
            idle: None,
        };
        let body = sandbox.http(request).await.map_err(|error| (error.kind(), error.to_string()))?;
        let mut headers = HeaderMap::new();
        for (name, value) in body.headers() {
            // The runner is not trusted, so invalid headers are left out.
            let header = (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_bytes(value));
            if let (Ok(name), Ok(value)) = header {
                headers.append(name, value);
            }
        }
        Ok(Answer { status: body.status(), headers, body })
    }

    async fn note(&self, target: String, outcome: String) {
        let entry = AuditEntry {
            user: Some(self.user.name.clone()),
            action: ACTION.to_owned(),
            location: Some(self.place.clone()),
            target,
            outcome,
        };
        if let Err(error) = self.store.append_audit(&entry).await {
            tracing::error!(%error, "cannot write the audit trail");
        }
    }

    /// Sends a request of a tool, and follows redirects within its scheme, host and port, as crate `guard` does for the server's own
    /// requests.
    ///
    /// Fails with the reason as text.
    pub(crate) async fn request(
        &self,
        request: http_tools::Request,
        bounds: guard::request::Bounds,
    ) -> Result<guard::Answered, Failed> {
        let late = |_| Failed::from(guard::Error::Timeout);
        timeout(bounds.patience, self.followed(request, bounds)).await.map_err(late)?
    }

    async fn followed(
        &self,
        request: http_tools::Request,
        bounds: guard::request::Bounds,
    ) -> Result<guard::Answered, Failed> {
        let mut url = guard::check_text(&request.url)?;
        let invalid = |_| guard::Error::Url("the method is invalid");
        let mut method = Method::from_bytes(request.method.as_bytes()).map_err(invalid)?;
        let mut headers = HeaderMap::new();
        for (name, value) in &request.headers {
            let (name, value) = guard::header(name, value)?;
            headers.append(name, value);
        }
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        let mut body = Bytes::from(request.body.unwrap_or_default());
        for _ in 0..=guard::limits::REDIRECTS {
            let (method_now, url_now) = (method.clone(), url.clone());
            let (headers_now, body_now) = (headers.clone(), body.clone());
            let request = Request {
                method: method_now,
                url: url_now,
                headers: headers_now,
                body: body_now,
                patience: bounds.patience,
            };
            let answer = self.send(request).await?;
            let location = answer.headers.get(LOCATION).and_then(|value| value.to_str().ok());
            let Some(next) = guard::hop(&url, answer.status, location)? else {
                return answer.beginning(bounds.most_bytes).await;
            };
            url = next;
            // Browsers do the same: after such a redirect the target is only read, and the change is not repeated.
            if !matches!(answer.status, 307 | 308) && !matches!(method, Method::GET | Method::HEAD) {
                (method, body) = (Method::GET, Bytes::new());
                headers.remove(CONTENT_TYPE);
            }
        }
        Err(guard::Error::Redirects.into())
    }
}

impl Answer {
    /// A header's value, if it is a text.
    pub(crate) fn header(&self, name: impl http::header::AsHeaderName) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// The length that its server announced.
    pub(crate) fn length(&self) -> Option<u64> {
        self.header(CONTENT_LENGTH)?.parse().ok()
    }

    /// The body as it arrives; dropping it closes the machine's connection.
    pub(crate) fn stream(self) -> BoxStream<'static, Result<Bytes, Failed>> {
        let pieces = unfold(self.body, async |mut body| {
            let piece = body.next().await?;
            Some((piece.map_err(|error: SandboxError| Failed::Machine(error.to_string())), body))
        });
        pieces.boxed()
    }

    /// The first bytes of the body, and true if there is more.
    ///
    /// Fails with the reason as text.
    pub(crate) async fn first(self, most_bytes: usize) -> Result<(Bytes, bool), Failed> {
        let mut body = self.stream();
        let mut content = BytesMut::new();
        while let Some(piece) = body.next().await {
            let piece = piece?;
            let room = most_bytes - content.len();
            content.extend_from_slice(&piece[..piece.len().min(room)]);
            if piece.len() > room {
                return Ok((content.into(), true));
            }
        }
        Ok((content.into(), false))
    }

    async fn beginning(self, most_bytes: usize) -> Result<guard::Answered, Failed> {
        let encoding = self.headers.get(CONTENT_ENCODING).map(|value| value.to_str().unwrap_or("?"));
        if let Some(encoding) = encoding.filter(|encoding| *encoding != "identity") {
            return Err(guard::Error::Packed(encoding.to_owned()).into());
        }
        let media_type = self.header(CONTENT_TYPE).unwrap_or_default().to_owned();
        let status = self.status;
        let (content, is_cut) = self.first(most_bytes).await?;
        Ok(guard::Answered { status, media_type, content, is_cut })
    }
}

fn without_fragment(mut url: Url) -> String {
    url.set_fragment(None);
    url.into()
}
