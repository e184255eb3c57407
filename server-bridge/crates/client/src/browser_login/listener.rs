//! The address on this machine to which a browser is sent back.
//!
//! ```text
//!   GET /callback?… ─► the answer to this login? ─► Browser ─► the login ends ─► its page
//!                              └─ no, or anything else: refused, and the wait continues
//! ```

use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::sync::Arc;

use hyper::body::Incoming;
use hyper::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue, REFERRER_POLICY};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::answer::{Answer, Expected};
use crate::body::RequestBody;
use crate::failure::Failure;
use crate::limits::{
    MCP_LOGIN_ACCEPT_PAUSE, MCP_LOGIN_CONNECTIONS, MCP_LOGIN_HEAD_BYTES, MCP_LOGIN_HEAD_TIMEOUT,
    MCP_LOGIN_PAGE_TIMEOUT, MCP_LOGIN_TEXT_BYTES,
};

const PATH: &str = "/callback";

/// A port of this machine that only this machine can reach.
pub(crate) struct Listener {
    socket: TcpListener,
    port: u16,
}

impl Listener {
    /// Listens on a port, or on any free one.
    ///
    /// # Errors
    /// `io` if the port is in use, or this program may not use it.
    pub(crate) async fn bind(port: Option<u16>) -> Result<Self, Failure> {
        let bound = TcpListener::bind((Ipv4Addr::LOCALHOST, port.unwrap_or(0))).await;
        let bound = bound.and_then(|socket| Ok((socket.local_addr()?.port(), socket)));
        let (port, socket) = bound.map_err(|error| {
            let message = match port {
                Some(port) => {
                    format!(
                        "cannot listen on port {port} of this machine: {error}; choose another with --port"
                    )
                }
                None => format!("cannot listen on a port of this machine: {error}"),
            };
            Failure::other("io", message)
        })?;
        Ok(Self { socket, port })
    }

    /// The address to which the browser is sent back.
    pub(crate) fn address(&self) -> String {
        format!("http://127.0.0.1:{}{PATH}", self.port)
    }

    /// Waits for the browser. Anything else that arrives is refused.
    pub(crate) async fn returned(&self, expected: &Arc<Expected>) -> (Answer, Browser) {
        let mut connections = JoinSet::new();
        let (found, mut returns) = mpsc::channel(1);
        loop {
            tokio::select! {
                accepted = self.socket.accept(), if connections.len() < MCP_LOGIN_CONNECTIONS => match accepted {
                    Ok((stream, _)) => drop(connections.spawn(serve(stream, Arc::clone(expected), found.clone()))),
                    Err(_) => tokio::time::sleep(MCP_LOGIN_ACCEPT_PAUSE).await,
                },
                Some(_) = connections.join_next() => {}
                Some(Found { answer, page, served }) = returns.recv() => {
                    return (answer, Browser { page, served, _connections: connections });
                }
            }
        }
    }
}

/// A browser that was sent back, and waits for its page.
pub(crate) struct Browser {
    page: oneshot::Sender<Page>,
    served: CancellationToken,
    /// The connections, which end when this is dropped.
    _connections: JoinSet<()>,
}

impl Browser {
    /// Shows a page, and waits until the browser has received it.
    pub(crate) async fn show(self, page: Page) {
        // The browser may have disconnected.
        let _ = self.page.send(page);
        let _ = tokio::time::timeout(MCP_LOGIN_PAGE_TIMEOUT, self.served.cancelled()).await;
    }
}

/// A page that a browser is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Page {
    LoggedIn,
    Failed,
    NotFound,
    TooLong,
    NoAnswer,
    TooLate,
}

impl Page {
    /// The page contains no text from outside.
    fn words(self) -> (StatusCode, &'static str) {
        match self {
            Self::LoggedIn => (StatusCode::OK, "You are logged in. You can close this page."),
            Self::Failed => (
                StatusCode::BAD_REQUEST,
                "The login failed; the terminal shows the reason. You can close this page.",
            ),
            Self::NotFound => (StatusCode::NOT_FOUND, "There is nothing here."),
            Self::TooLong => (StatusCode::URI_TOO_LONG, "This address is too long."),
            Self::NoAnswer => (
                StatusCode::BAD_REQUEST,
                "This is not the answer to the login that the terminal waits for. You can close this page.",
            ),
            Self::TooLate => (StatusCode::GONE, "This login has ended already. You can close this page."),
        }
    }

    fn response(self) -> Response<RequestBody> {
        let (status, words) = self.words();
        let html = format!(
            "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>Sandbridge</title><p>{words}</p></html>\n"
        );
        let mut response = Response::new(RequestBody::Bytes(html.into()));
        *response.status_mut() = status;
        for (name, value) in [
            (CONTENT_TYPE, "text/html; charset=utf-8"),
            (CACHE_CONTROL, "no-store"),
            (CONTENT_SECURITY_POLICY, "default-src 'none'"),
            (REFERRER_POLICY, "no-referrer"),
        ] {
            response.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        response
    }
}

/// An answer, the channel for its page, and the token that is cancelled once the page was sent.
struct Found {
    answer: Answer,
    page: oneshot::Sender<Page>,
    served: CancellationToken,
}

/// Serves one request.
async fn serve(stream: TcpStream, expected: Arc<Expected>, found: mpsc::Sender<Found>) {
    let served = CancellationToken::new();
    let _at_the_end = served.clone().drop_guard();
    let service = service_fn(|request: Request<Incoming>| {
        let (expected, found, served) = (Arc::clone(&expected), found.clone(), served.clone());
        async move { Ok::<_, Infallible>(page(&request, &expected, &found, served).await.response()) }
    });
    let connection = http1::Builder::new()
        .keep_alive(false)
        .timer(TokioTimer::new())
        .header_read_timeout(MCP_LOGIN_HEAD_TIMEOUT)
        .max_buf_size(MCP_LOGIN_HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    // A browser that disconnects, or does not speak HTTP, is ignored.
    let _ = connection.await;
}

/// The page for a request. For an answer to the login, it is known only once the login has ended.
async fn page(
    request: &Request<Incoming>,
    expected: &Expected,
    found: &mpsc::Sender<Found>,
    served: CancellationToken,
) -> Page {
    let (uri, query) = (request.uri(), request.uri().query().unwrap_or_default());
    if request.method() != Method::GET || uri.path() != PATH {
        return Page::NotFound;
    }
    let address = format!("{}?{query}", expected.address());
    if address.len() > MCP_LOGIN_TEXT_BYTES {
        return Page::TooLong;
    }
    let Some(answer) = expected.read(&address) else { return Page::NoAnswer };
    let (page, decided) = oneshot::channel();
    if found.send(Found { answer, page, served }).await.is_err() {
        return Page::TooLate;
    }
    decided.await.unwrap_or(Page::TooLate)
}

#[cfg(test)]
mod tests;
