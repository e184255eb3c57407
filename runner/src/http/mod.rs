//! HTTP requests that the server sends through this runner, to hosts in this machine's network.
//!
//! ```text
//!   Http ─▶ request: method, URL, headers ─▶ policy: is the host named by --http-allow? ─▶ look its name up
//!                                                                                            │ no link-local or metadata address
//!            HttpHeaders, DATA as it comes, HttpDone ◀── answer; no redirect is followed ◀── connect to a checked address
//! ```
//! The machine's user names the hosts; there are none by default. The options for the network of commands (`--network`, `--allow-net`) do
//! not apply, since commands take no part in such requests. A proxy of the environment is not used, since the runner could not check the
//! proxy's connections.

mod policy;
mod request;

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use hyper::{Request, Uri};
use proto::message::{HttpDone, HttpHeaders};
use proto::request::Http;
use proto::{Channel, ErrorKind, WireError};
use tokio::sync::Semaphore;

use crate::bounds::HttpHost;
use crate::limits::{
    HTTP_ANSWER_HEADERS, HTTP_ANSWER_HEADERS_BYTES, HTTP_ANSWER_MS, HTTP_BODY_BYTES, HTTP_BODY_IDLE_MS,
    HTTP_LEAVING_LOOK_MS, HTTP_REQUESTS,
};
use crate::net::exchange::{Exchange, HeadBounds, Whole};
use crate::net::http::{Way, connect, innermost};
use crate::relay::{self, BodyBounds};
use crate::stream::StreamHandle;

/// The hosts that may be reached, and how many more requests may be in progress.
#[derive(Debug)]
pub(crate) struct Outgoing {
    allowed: Vec<HttpHost>,
    slots: Semaphore,
    /// True if a newer program waits to replace this one, which then ends responses that are silent.
    is_leaving: Cell<bool>,
}

impl Outgoing {
    pub(crate) fn new(allowed: Vec<HttpHost>) -> Self {
        Self { allowed, slots: Semaphore::new(HTTP_REQUESTS), is_leaving: Cell::new(false) }
    }

    /// Records if a newer program waits to replace this one.
    pub(crate) fn set_leaving(&self, is_leaving: bool) {
        self.is_leaving.set(is_leaving);
    }
}

/// Carries out an `Http`.
pub(crate) async fn run(outgoing: Rc<Outgoing>, stream: StreamHandle, request: Http) {
    let done = Box::pin(carry(&outgoing, &stream, request)).await;
    stream.finish(done);
}

async fn carry(outgoing: &Outgoing, stream: &StreamHandle, request: Http) -> Result<HttpDone, WireError> {
    let Ok(_slot) = outgoing.slots.try_acquire() else {
        let text = format!(
            "this runner already has {HTTP_REQUESTS} HTTP requests in progress; try again when one has ended"
        );
        return Err(WireError::new(ErrorKind::Busy, text));
    };
    let Http { method, url, headers, timeout_ms, idle_ms } = request;
    let target = request::target(&url)?;
    let admits = policy::admits(&outgoing.allowed, &target)?;
    let mut head = request::head(&method, &target, &headers)?;
    let bounds = BodyBounds { whom: "a host", most_bytes: HTTP_BODY_BYTES, idle_ms: HTTP_BODY_IDLE_MS };
    let body = relay::body(stream, bounds).await?;
    request::set_length(&mut head, body.len());
    let request = head.map(|()| Whole(Bytes::from(body)));
    let patience = Duration::from_millis(timeout_ms.unwrap_or(HTTP_ANSWER_MS).min(HTTP_ANSWER_MS));
    let asked = in_time(&target, Some(patience), begin(&target, Way::Direct(admits), request));
    let mut exchange = relay::unless_stopped(stream, asked).await?;
    let response = exchange.head();
    let headers = request::answered(response.headers());
    stream.send(HttpHeaders { status: response.status().as_u16(), headers });
    let idle = idle_ms.map(Duration::from_millis);
    let mut bytes = 0;
    loop {
        let next = in_time(&target, idle, next(outgoing, &mut exchange, &target));
        let Some(piece) = relay::unless_stopped(stream, next).await? else { break };
        bytes += piece.len() as u64;
        relay::pass_on(stream, &piece).await?;
    }
    stream.end(Channel::Main);
    Ok(HttpDone { bytes })
}

/// The next piece. Fails if none arrives for some time while a newer program waits to replace this one, since a stream of
/// events may never end.
async fn next(
    outgoing: &Outgoing,
    exchange: &mut Exchange,
    target: &Uri,
) -> Result<Option<Bytes>, WireError> {
    let look = Duration::from_millis(HTTP_LEAVING_LOOK_MS);
    loop {
        match tokio::time::timeout(look, exchange.next()).await {
            Ok(next) => return next.map_err(|error| failed(target, &innermost(&error))),
            Err(_) if outgoing.is_leaving.get() => {
                let text = "the runner is being updated; try again in a minute";
                return Err(WireError::new(ErrorKind::ShuttingDown, text));
            }
            Err(_) => {}
        }
    }
}

async fn begin(target: &Uri, way: Way, request: Request<Whole>) -> Result<Exchange, WireError> {
    let socket = connect(target, &way).await.map_err(|error| policy::unreached(target, &error))?;
    let bounds = HeadBounds { bytes: HTTP_ANSWER_HEADERS_BYTES, headers: HTTP_ANSWER_HEADERS };
    let begun = Exchange::begin(socket, request, bounds).await;
    begun.map_err(|error| failed(target, &innermost(&error)))
}

/// Fails if nothing happens for too long.
async fn in_time<T>(
    target: &Uri,
    patience: Option<Duration>,
    wanted: impl Future<Output = Result<T, WireError>>,
) -> Result<T, WireError> {
    let Some(patience) = patience else { return wanted.await };
    let silent = |_| failed(target, &format!("it was silent for {} s", patience.as_secs_f32()));
    tokio::time::timeout(patience, wanted).await.map_err(silent)?
}

/// Names only the host: the rest of a URL may be a secret.
fn failed(target: &Uri, reason: &dyn std::fmt::Display) -> WireError {
    let host = target.authority().map_or("", |authority| authority.as_str());
    WireError::new(ErrorKind::Io, format!("{host} sent no complete response: {reason}"))
}
