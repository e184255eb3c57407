//! The link of a runner whose user's home is another node: the link is piped to the home, frame by frame and unread.
//!
//! ```text
//!  runner ─► this node: the first message, whose token names the user ─► the home: admission, driver, credit
//! ```
//! The home checks the token. When the home moves, the link ends and the runner reconnects.

use std::io;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};

use accounts::UserId;
use axum::body::Body;
use axum::http::{Request, StatusCode, header};
use axum_tws::{Config, Limits, Message, WebSocket};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures_util::{FutureExt, Sink, SinkExt, Stream, StreamExt};
use hyper_util::rt::TokioIo;
use peers::{PeerNode, forwarded};
use sandbox::{LinkMessage, is_acceptance, token_of};
use tokio::time::timeout;
use tokio_websockets::ClientBuilder;

use crate::limits::{HEAD_TIMEOUT, HOME_ANSWER_TIMEOUT, SOCKET_CLOSE_TIMEOUT, SOCKET_WRITE_BUFFER_BYTES};
use crate::web::accept::Connection;
use crate::web::cluster::{Cluster, Place};
use crate::web::metrics::Pipe;
use crate::web::runner_socket::SocketLink;
use crate::web::socket::Socket;
use crate::web::state::AppState;

/// A runner's request for a link, as it is sent to the home.
pub(super) struct Dialled {
    /// The path that the runner requested.
    pub(super) path: String,
    /// The largest message, in bytes.
    pub(super) max_bytes: usize,
    /// True if messages may be so large that all connections share one budget for them.
    pub(super) is_shared: bool,
}

/// Reads a runner's first message. If its user's home is another node, pipes the link there until it ends, and returns `None`; else
/// returns the message.
pub(super) async fn elsewhere(
    state: &AppState,
    cluster: &Cluster,
    connection: &Connection,
    dialled: &Dialled,
    link: &mut SocketLink,
) -> io::Result<Option<LinkMessage>> {
    let first =
        timeout(HEAD_TIMEOUT, link.next()).await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?;
    let first = first.ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))??;
    let Some(token) = token_of(&first) else { return Ok(Some(first)) };
    let Some(user) = state.accounts.runner_token_user(&token).await.map_err(io::Error::other)? else {
        return Ok(Some(first));
    };
    let mut looks = cluster.looks(user);
    let again = |error: crate::web::error::ApiError| io::Error::other(error.message);
    loop {
        let Place::At(peer) = looks.place().await.map_err(again)? else { return Ok(Some(first)) };
        match open(cluster, connection, dialled, &peer, user).await {
            Ok(Some(home)) => {
                let piped = pipe(state, connection, dialled, first, link, home);
                let directory = cluster.peers.directory();
                tokio::select! {
                    piped = piped => piped?,
                    () = directory.gone(&peer.id) => {}
                    () = state.shutdown.cancelled() => {}
                }
                // An error means that the runner has disconnected, which also ends the link.
                let _ = timeout(SOCKET_CLOSE_TIMEOUT, link.socket.close()).await;
                return Ok(None);
            }
            Ok(None) => {}
            Err(failed) => tracing::warn!("{}", failed.error),
        }
        looks.was_wrong().await.map_err(again)?;
    }
}

/// Opens a socket to the home; `None` if that node is not the home.
async fn open(
    cluster: &Cluster,
    connection: &Connection,
    dialled: &Dialled,
    peer: &PeerNode,
    user: UserId,
) -> Result<Option<Socket>, peers::Failed> {
    let request = Request::get(&dialled.path)
        .header(header::HOST, "peer")
        .header(header::CONNECTION, "upgrade")
        .header(header::UPGRADE, "websocket")
        .header(header::SEC_WEBSOCKET_VERSION, "13")
        .header(header::SEC_WEBSOCKET_KEY, STANDARD.encode(rand::random::<[u8; 16]>()))
        .header(forwarded::CLIENT, connection.client.to_string())
        .header(forwarded::USER, user.to_string())
        .body(Body::empty());
    let broken = |error: &dyn std::fmt::Display| peers::Failed {
        error: peers::Error::Broken { url: peer.url.clone(), reason: error.to_string() },
        unsent: None,
    };
    let request = request.map_err(|error| broken(&error))?;
    let opening = async {
        let mut answer = cluster.peers.send(peer, request).await?;
        if answer.status() != StatusCode::SWITCHING_PROTOCOLS {
            return Ok(None);
        }
        hyper::upgrade::on(&mut answer).await.map(Some).map_err(|error| broken(&error))
    };
    let opened = timeout(HEAD_TIMEOUT, opening).await.map_err(|_| broken(&"it took too long"))??;
    Ok(opened.map(|stream| {
        let config = Config::default().flush_threshold(SOCKET_WRITE_BUFFER_BYTES).frame_size(usize::MAX);
        let limits = Limits::default().max_payload_len(Some(dialled.max_bytes));
        let socket = ClientBuilder::new().config(config).limits(limits).take_over(TokioIo::new(stream));
        Socket::of(WebSocket::new(socket, None))
    }))
}

async fn pipe(
    state: &AppState,
    connection: &Connection,
    dialled: &Dialled,
    first: LinkMessage,
    link: &mut SocketLink,
    home: Socket,
) -> io::Result<()> {
    let budget = &connection.budget;
    let (mut to_runner, from_runner) = (&mut link.socket).split();
    let (mut to_home, mut from_home) = home.split();
    if let LinkMessage::Text(text) = first {
        to_home.send(Message::text(text)).await?;
    }
    // Waits for the response to the registration. Until it arrives, the runner's bytes count as unauthenticated.
    let answer = timeout(HOME_ANSWER_TIMEOUT, from_home.next()).await;
    let answer =
        answer.map_err(|_| io::Error::new(io::ErrorKind::TimedOut, "the runner's home did not answer"))?;
    let Some(answer) = answer.transpose()? else { return Ok(()) };
    let is_accepted = answer.is_text() && std::str::from_utf8(answer.as_payload()).is_ok_and(is_acceptance);
    to_runner.send(answer).await?;
    if !is_accepted {
        return to_runner.close().await;
    }
    connection.prove();
    let _counted = Pipe::of_runner();
    if dialled.is_shared {
        budget.share(state.router.message_budget())
    } else {
        budget.lift()
    }
    // A ping of the home asks whether the runner is alive, but this node answers it; so the link ends if the runner has sent nothing since
    // the previous ping.
    let is_heard = AtomicBool::new(true);
    let from_runner = from_runner.inspect(|message| {
        // A ping may arrive between the fragments of a message, whose bytes stay counted.
        if message.as_ref().is_ok_and(|message| message.is_text() || message.is_binary()) {
            budget.arrived();
        }
        is_heard.store(true, Ordering::Relaxed);
    });
    let from_home = from_home.map(|message| match message {
        Ok(ping) if ping.is_ping() && !is_heard.swap(false, Ordering::Relaxed) => {
            Err(io::Error::new(io::ErrorKind::TimedOut, "the runner stopped responding"))
        }
        message => message,
    });
    tokio::select! {
        ended = relay(from_runner, to_home, false) => ended,
        ended = relay(from_home, to_runner, true) => ended,
    }
}

/// Passes messages on until a close frame arrives, and flushes those that are ready together; then closes the other end.
async fn relay(
    from: impl Stream<Item = io::Result<Message>>,
    mut to: impl Sink<Message, Error = io::Error> + Unpin,
    passes_pings: bool,
) -> io::Result<()> {
    let mut from = pin!(from);
    while let Some(message) = from.next().await.transpose()? {
        let mut next = Some(message);
        while let Some(message) = next {
            if message.is_close() {
                return to.close().await;
            }
            if message.is_ping() && passes_pings {
                to.feed(Message::ping(Bytes::new())).await?;
            } else if message.is_text() || message.is_binary() {
                to.feed(message).await?;
            }
            next = match from.next().now_or_never() {
                Some(None) => return to.close().await,
                Some(Some(message)) => Some(message?),
                None => None,
            };
        }
        to.flush().await?;
    }
    to.close().await
}
