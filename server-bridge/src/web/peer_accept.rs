//! The peer listener: connections of other nodes, which authenticate themselves in the handshake.

use std::convert::Infallible;
use std::io;
use std::pin::pin;
use std::sync::Arc;

use accounts::UserId;
use axum::Router;
use axum::http::{Request, StatusCode};
use axum::response::{IntoResponse, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use peers::{PeerNode, forwarded};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tower_service::Service;

use crate::limits::{HEAD_TIMEOUT, HTTP_BUFFER_BYTES, PEER_HEAD_BYTES};
use crate::web::accept::{Connection, accept_each};
use crate::web::cluster::{Cluster, FromPeer};
use crate::web::forward::not_here;
use crate::web::state::AppState;
use crate::web::stream::ClientStream;

/// The beginning of the path at which a node asks another one if it is the home of a user; the user's id follows.
pub(super) const PROBE: &str = "/peer/home/";

/// Serves the connections of other nodes until the server stops.
pub async fn serve(listener: TcpListener, router: Router, state: AppState) {
    accept_each(listener, &state.shutdown, |stream, connection| {
        let (address, router, handled) = (connection.peer, router.clone(), state.clone());
        state.tasks.spawn(async move {
            if let Err(error) = serve_one(stream, connection, router, handled).await {
                tracing::debug!(%address, %error, "a connection at the peer listener was refused or ended");
            }
        });
    })
    .await;
}

async fn serve_one(
    stream: ClientStream<TcpStream>,
    connection: Connection,
    router: Router,
    state: AppState,
) -> io::Result<()> {
    let Some(cluster) = &state.cluster else { return Ok(()) };
    let accepted = tokio::select! {
        accepted = timeout(HEAD_TIMEOUT, Box::pin(cluster.peers.accept(stream))) => accepted,
        () = state.shutdown.cancelled() => return Ok(()),
    };
    let (stream, node) = accepted.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
    connection.standing.prove();
    let address = connection.peer;
    let service = service_fn(|request: Request<Incoming>| {
        let (router, node, connection, state) =
            (router.clone(), Arc::clone(&node), connection.clone(), state.clone());
        async move { Ok::<_, Infallible>(answer(request, router, node, connection, &state).await) }
    });
    let mut served = pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(peers::limits::IDLE_TIMEOUT)
            .max_header_size(PEER_HEAD_BYTES)
            .max_buf_size(HTTP_BUFFER_BYTES)
            .serve_connection(TokioIo::new(stream), service)
            .with_upgrades()
    );
    let ended = tokio::select! {
        ended = served.as_mut() => ended,
        () = state.shutdown.cancelled() => {
            served.as_mut().graceful_shutdown();
            served.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%address, %error, "a connection of another node ended");
    }
    Ok(())
}

async fn answer(
    mut request: Request<Incoming>,
    mut router: Router,
    node: Arc<PeerNode>,
    connection: Connection,
    state: &AppState,
) -> Response {
    let Some(cluster) = &state.cluster else { return StatusCode::NOT_FOUND.into_response() };
    if !cluster.peers.directory().is_live(&node.id) {
        // The node's lease has expired, so another process or node may have taken its place.
        return not_here();
    }
    let client = forwarded::take_client(request.headers_mut());
    // A forwarded request of a client names the client, so a client cannot reach this path.
    if client.is_none()
        && let Some(user) = request.uri().path().strip_prefix(PROBE)
    {
        return match user.parse().map(UserId) {
            Ok(user) => probed(cluster, user).await,
            Err(_) => StatusCode::BAD_REQUEST.into_response(),
        };
    }
    let user = request
        .headers_mut()
        .remove(forwarded::USER)
        .and_then(|user| user.to_str().ok()?.parse().ok().map(UserId));
    let Some(client) = client else { return StatusCode::BAD_REQUEST.into_response() };
    let mut request = connection.of_request(client, request);
    request.extensions_mut().insert(FromPeer { node, user });
    match router.call(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}

async fn probed(cluster: &Cluster, user: UserId) -> Response {
    if cluster.is_home(user).await { StatusCode::NO_CONTENT.into_response() } else { not_here() }
}
