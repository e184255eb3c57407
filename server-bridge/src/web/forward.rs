//! Forwarding: a request that reaches another node than its user's home is sent on to the home, once and unread.
//!
//! ```text
//!  guard ─► whose is it? ─ no user's ───────────────────────────────────────────► here
//!                 │
//!                 └─ a user's ─► where is the home? ─ here, or nowhere yet ─────► here
//!                                       ▲   └─ another node ─► the request, unchanged ─► its answer, as a stream
//!                                       └────────── "not here" ──┘ (some times, then 503)
//! ```
//! The home authenticates the request again, by the same token: of this node's findings, it accepts only the client's address.
//! A body of up to [`FORWARDED_BODY_KEPT_BYTES`] is kept until the home has answered. Before a larger body, or one of unknown length, is
//! sent, the node is asked whether it is the user's home.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use accounts::UserId;
use axum::BoxError;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode, Uri, Version, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use hyper::body::{Body as _, Frame, Incoming, SizeHint};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use peers::{Directory, PeerNode, forwarded, pipe};
use tokio::time::timeout;

use crate::limits::{FORWARDED_BODY_KEPT_BYTES, JSON_BODY_TIMEOUT};
use crate::web::accept::Connection;
use crate::web::auth::{bearer_token, cookies};
use crate::web::cluster::{Cluster, FromPeer, Place, unavailable};
use crate::web::error::ApiError;
use crate::web::metrics::Pipe;
use crate::web::peer_accept::PROBE;
use crate::web::socket::offered_token;
use crate::web::state::AppState;
use crate::web::tickets;

/// Paths about this process alone, and paths whose handler determines the user itself.
const LOCAL: [&str; 4] = ["/healthz", "/readyz", "/metrics", "/runner"];
/// The beginning of the paths of sockets for runners that speak another dialect.
const LOCAL_START: &str = "/ws/";

/// The beginning of the paths of sockets that carry one exec.
const EXECS: &str = "/api/v1/exec";
/// The beginning of the addresses of triggers, before their secrets.
const DELIVERIES: &str = "/api/v1/deliveries/";
/// The beginning of the addresses of accounts on messengers, before their ids.
const CHANNEL_DELIVERIES: &str = "/api/v1/channel-deliveries/";

/// The user whose request it is, if any.
enum Asker {
    Nobody,
    User(UserId),
}

/// The middleware; only for a node that forwards.
pub async fn forward(State(state): State<AppState>, mut request: Request, next: Next) -> Response {
    let Some(cluster) = &state.cluster else { return next.run(request).await };
    let from_peer = request.extensions().get::<FromPeer>().cloned();
    if from_peer.is_none() {
        forwarded::remove_claims(request.headers_mut());
    }
    let path = request.uri().path();
    if LOCAL.contains(&path) || path.starts_with(LOCAL_START) {
        return match from_peer.and_then(|from_peer| from_peer.user) {
            Some(user) if !cluster.is_home(user).await => not_here(),
            _ => next.run(request).await,
        };
    }
    let connection = request.extensions().get::<Connection>();
    let asker = match asker(&state, request.method(), request.headers(), request.uri(), connection).await {
        Ok(asker) => asker,
        Err(error) => return error.into_response(),
    };
    if from_peer.is_some() {
        // A forwarded request is never forwarded again.
        return match asker {
            Asker::User(user) if !cluster.is_home(user).await => not_here(),
            Asker::User(_) | Asker::Nobody => next.run(request).await,
        };
    }
    let Asker::User(user) = asker else { return next.run(request).await };
    match to_home(&state, cluster, user, request).await {
        Ok(Routed::Here(request)) => next.run(request).await,
        Ok(Routed::Answer(response)) => response,
        Err(error) => error.into_response(),
    }
}

/// The response of a node that is not the user's home.
pub(super) fn not_here() -> Response {
    let mut response = StatusCode::MISDIRECTED_REQUEST.into_response();
    response.headers_mut().insert(forwarded::NOT_HERE, header::HeaderValue::from_static("1"));
    response
}

async fn asker(
    state: &AppState,
    method: &Method,
    headers: &HeaderMap,
    uri: &Uri,
    connection: Option<&Connection>,
) -> Result<Asker, ApiError> {
    let mut token = bearer_token(headers).or_else(|| offered_token(headers)).map(str::to_owned);
    if token.is_none() {
        token = tickets::shown(state, method, headers, uri).await?;
    }
    let Some(token) = token else { return of_delivery(state, uri.path(), connection).await };
    let cookies: Vec<&str> = cookies(headers, &state.cookie_name).collect();
    let Some(signed_in) = state.accounts.signed_in(&token, &cookies).await? else { return Ok(Asker::Nobody) };
    if let Some(connection) = connection {
        connection.prove();
    }
    Ok(Asker::User(signed_in.user.id))
}

/// Finds the user that a delivery is for: the owner of the trigger, or of the account on a messenger.
async fn of_delivery(
    state: &AppState,
    path: &str,
    connection: Option<&Connection>,
) -> Result<Asker, ApiError> {
    let owner = if let Some(token) = path.strip_prefix(DELIVERIES) {
        let owner = state.automations.owner(token).await?;
        // A sender that knows the secret address counts as authenticated, so that its delivery may be large.
        if let (Some(_), Some(connection)) = (owner, connection) {
            connection.prove();
        }
        owner
    } else if let Some(Ok(account)) = path.strip_prefix(CHANNEL_DELIVERIES).map(str::parse) {
        state.channels.owner(account).await?
    } else {
        None
    };
    Ok(owner.map_or(Asker::Nobody, Asker::User))
}

enum Routed {
    /// This node handles the request.
    Here(Request),
    /// Another node responded.
    Answer(Response),
}

/// The request's body, and how many times it can be sent.
enum Load {
    /// A body in memory, which can be sent as often as needed.
    Kept(Bytes),
    /// A stream, which can be sent once; `None` after that.
    Stream(Option<Body>),
}

async fn to_home(
    state: &AppState,
    cluster: &Cluster,
    user: UserId,
    request: Request,
) -> Result<Routed, ApiError> {
    let mut looks = cluster.looks(user);
    let mut place = looks.place().await?;
    if matches!(place, Place::Here) {
        return Ok(Routed::Here(request));
    }
    let (parts, body) = request.into_parts();
    let mut load = load(body).await?;
    loop {
        let Place::At(peer) = place else {
            let body = match load {
                Load::Kept(bytes) => Body::from(bytes),
                Load::Stream(body) => body.ok_or_else(unavailable)?,
            };
            return Ok(Routed::Here(Request::from_parts(parts, body)));
        };
        if let Some(answer) = attempt(state, cluster, &peer, &parts, user, &mut load).await? {
            return Ok(Routed::Answer(answer));
        }
        looks.was_wrong().await?;
        place = looks.place().await?;
    }
}

/// Sends a request to a node; returns `None` if the request is to be sent to another node.
async fn attempt(
    state: &AppState,
    cluster: &Cluster,
    peer: &PeerNode,
    parts: &Parts,
    user: UserId,
    load: &mut Load,
) -> Result<Option<Response>, ApiError> {
    let body = match load {
        Load::Kept(bytes) => Body::from(bytes.clone()),
        Load::Stream(body) => {
            if !is_home(cluster, peer, user).await {
                return Ok(None);
            }
            body.take().ok_or_else(unavailable)?
        }
    };
    match pass(state, cluster, peer, parts, body).await {
        Ok(Some(response)) => Ok(Some(response)),
        Ok(None) => Ok(None),
        // The request did not arrive, or it changes nothing, so it can be sent again.
        Err(failed) if failed.unsent.is_some() || parts.method.is_safe() => {
            tracing::warn!("{}", failed.error);
            if let (Load::Stream(empty), Some(unsent)) = (load, failed.unsent) {
                *empty = Some(unsent.into_body());
            }
            Ok(None)
        }
        Err(failed) => {
            tracing::warn!("{}", failed.error);
            let message = "the server that works for you did not answer; check whether the change was made before you repeat it";
            Err(ApiError::new("unavailable", message))
        }
    }
}

async fn load(body: Body) -> Result<Load, ApiError> {
    let size = body.size_hint();
    if size.upper().is_none_or(|most| most > FORWARDED_BODY_KEPT_BYTES) {
        return Ok(Load::Stream(Some(body)));
    }
    let most = usize::try_from(FORWARDED_BODY_KEPT_BYTES).unwrap_or(usize::MAX);
    let kept = timeout(JSON_BODY_TIMEOUT, to_bytes(body, most)).await;
    let kept = kept.map_err(|_| ApiError::invalid("the request's body did not arrive in time"))?;
    Ok(Load::Kept(kept.map_err(|_| ApiError::invalid("the request's body did not arrive completely"))?))
}

/// Asks a node if it is a user's home; the node becomes the home if the user has none.
async fn is_home(cluster: &Cluster, peer: &PeerNode, user: UserId) -> bool {
    let probe = Request::get(format!("{PROBE}{user}")).header(header::HOST, "peer").body(Body::empty());
    let Ok(probe) = probe else { return false };
    match until_gone(cluster.peers.directory(), peer, cluster.peers.send(peer, probe)).await {
        Some(Ok(answer)) => answer.status() == StatusCode::NO_CONTENT,
        Some(Err(failed)) => {
            tracing::warn!("{}", failed.error);
            false
        }
        None => false,
    }
}

/// Sends a request unchanged; returns the response as a stream, or `None` if the node is not the home. Fails if the node's lease ends before
/// it responds.
async fn pass(
    state: &AppState,
    cluster: &Cluster,
    peer: &PeerNode,
    parts: &Parts,
    body: Body,
) -> Result<Option<Response>, peers::Failed> {
    let connection = parts.extensions.get::<Connection>();
    let (mut uri, mut headers) = (parts.uri.clone(), parts.headers.clone());
    let client = connection.map_or([0, 0, 0, 0].into(), |connection| connection.client);
    let is_upgrade = forwarded::prepare(&mut uri, &mut headers, client);
    let mut sent = Request::new(body);
    (*sent.method_mut(), *sent.uri_mut(), *sent.headers_mut()) = (parts.method.clone(), uri, headers);
    let directory = cluster.peers.directory();
    let answered = until_gone(directory, peer, cluster.peers.send(peer, sent)).await;
    let Some(answer) = answered.transpose()? else {
        let reason = "its lease ended".to_owned();
        let error = peers::Error::Broken { url: peer.url.clone(), reason };
        return Err(peers::Failed { error, unsent: None });
    };
    if answer.headers().contains_key(forwarded::NOT_HERE) {
        return Ok(None);
    }
    if is_upgrade && answer.status() == StatusCode::SWITCHING_PROTOCOLS {
        if let Some(connection) = connection.filter(|_| parts.uri.path().starts_with(EXECS)) {
            // The home allows this too: the client of an exec may stop reading for a long time.
            connection.standing.allow_pauses();
        }
        return Ok(Some(switch(state, cluster, peer, parts, answer)));
    }
    let (mut head, body) = answer.into_parts();
    forwarded::clean_answer(&mut head.headers, false);
    head.version = Version::HTTP_11;
    let gone = directory.clone();
    let id = peer.id.clone();
    let body = Cut { body, gone: Box::pin(async move { gone.gone(&id).await }) };
    Ok(Some(Response::from_parts(head, Body::new(body))))
}

/// Joins the client's connection and the home's once both have switched to another protocol.
fn switch(
    state: &AppState,
    cluster: &Cluster,
    peer: &PeerNode,
    parts: &Parts,
    mut answer: hyper::Response<Incoming>,
) -> Response {
    let of_home = hyper::upgrade::on(&mut answer);
    let of_client = parts.extensions.get::<OnUpgrade>().cloned();
    let (directory, id) = (cluster.peers.directory().clone(), peer.id.clone());
    let shutdown = state.shutdown.clone();
    state.tasks.spawn(async move {
        let Some(of_client) = of_client else { return };
        let joined = async {
            let (client, home) = tokio::try_join!(of_client, of_home).map_err(std::io::Error::other)?;
            let _counted = Pipe::of_client();
            pipe::both_ways(TokioIo::new(client), TokioIo::new(home)).await
        };
        tokio::select! {
            ended = joined => if let Err(error) = ended {
                tracing::debug!(%error, "a forwarded socket ended");
            },
            // The client reconnects, and reaches the user's next home.
            () = directory.gone(&id) => {}
            () = shutdown.cancelled() => {}
        }
    });
    let (mut head, _) = answer.into_parts();
    forwarded::clean_answer(&mut head.headers, true);
    head.version = Version::HTTP_11;
    Response::from_parts(head, Body::empty())
}

async fn until_gone<T>(directory: &Directory, peer: &PeerNode, work: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        done = work => Some(done),
        () = directory.gone(&peer.id) => None,
    }
}

/// A response's body, which ends with an error when the lease of the node that sends it ends.
struct Cut {
    body: Incoming,
    gone: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl hyper::body::Body for Cut {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) {
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        ready!(self.gone.as_mut().poll(context));
        Poll::Ready(Some(Err("the node that sent this response has stopped".into())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
