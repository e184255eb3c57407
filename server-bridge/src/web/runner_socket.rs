//! The endpoints for runners: `/runner`, and `/ws/{user}` for those that support no other path.
//!
//! The token identifies a runner. A runner that speaks xbot's dialect also names its user, in the path and in its registration,
//! and must name the token's user; for others, a user in the path is ignored. Until its runner is registered, a socket may send
//! 64 KiB and stay open for 10 s, which is enforced below HTTP ([`crate::web::accept`]) and in `sandbox`. After that, messages under
//! `/ws/` may be as large as that dialect allows, and their arriving bytes are counted against a shared budget.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};

use accounts::RunnerId;
use axum::Extension;
use axum::extract::{Path, State};
use axum::http::Uri;
use axum::response::Response;
use axum::routing::MethodFilter;
use axum_tws::Message;
use bytes::Bytes;
use futures_util::{Sink, Stream};
use sandbox::{Admission, Disconnect, LinkMessage, XBOT_MESSAGE_BYTES};
use tokio::time::{MissedTickBehavior, interval_at};

use crate::limits::{
    HANDSHAKE_FRAMING_BYTES, HANDSHAKE_MAX_BYTES, RUNNER_CHECK_INTERVAL, RUNNER_FIRST_CHECK,
    RUNNER_MESSAGE_BYTES,
};
use crate::web::accept::{Connection, ReadBudget};
use crate::web::cluster::{Cluster, FromPeer};
use crate::web::metrics::ConnectedRunner;
use crate::web::rate::address_key;
use crate::web::routes::Routes;
use crate::web::runner_admission::admit;
use crate::web::runner_pipe::{self, Dialled};
use crate::web::scope::Access;
use crate::web::socket::{Socket, Upgrade};
use crate::web::state::AppState;

/// The routes of runners' sockets, on which the runner presents its token.
pub(in crate::web) fn routes() -> Routes {
    Routes::new().undescribed(Access::Anybody, MethodFilter::GET, "/runner", connect).undescribed(
        Access::Anybody,
        MethodFilter::GET,
        "/ws/{user}",
        connect,
    )
}

/// Accepts a runner's socket.
pub async fn connect(
    State(state): State<AppState>,
    Extension(connection): Extension<Connection>,
    from_peer: Option<Extension<FromPeer>>,
    uri: Uri,
    user: Option<Path<String>>,
    upgrade: Upgrade,
) -> Response {
    let tracked = state.tasks.token();
    let path_user = user.map(|Path(user)| user);
    let max_bytes = if path_user.is_some() { XBOT_MESSAGE_BYTES } else { RUNNER_MESSAGE_BYTES };
    upgrade.with_max_message_bytes(max_bytes).on_upgrade(move |socket| async move {
        let _tracked = tracked;
        let link =
            SocketLink { first: None, socket, budget: Arc::clone(&connection.budget), is_pinging: false };
        connection.budget.limit((HANDSHAKE_MAX_BYTES + HANDSHAKE_FRAMING_BYTES) as u64);
        // Boxed, because the future of each step of serving the link would otherwise have its own space for it.
        let mut link = Box::new(link);
        if let (Some(cluster), None) = (&state.cluster, from_peer) {
            let dialled = Dialled { path: uri.path().to_owned(), max_bytes, is_shared: path_user.is_some() };
            match Box::pin(begin(&state, cluster, &connection, &dialled, &mut link)).await {
                Some(first) => link.first = Some(first),
                None => return,
            }
        }
        Box::pin(serve(state, connection, path_user, link)).await;
    })
}

/// A runner whose token was accepted.
struct Admitted {
    runner: RunnerId,
    user_key: String,
    name: String,
    _counted: ConnectedRunner,
}

/// Returns the runner's first message if this node is the user's home; else pipes the link to the home until it ends, and returns
/// `None`.
async fn begin(
    state: &AppState,
    cluster: &Cluster,
    connection: &Connection,
    dialled: &Dialled,
    link: &mut SocketLink,
) -> Option<LinkMessage> {
    match runner_pipe::elsewhere(state, cluster, connection, dialled, link).await {
        Ok(first) => first,
        Err(error) => {
            tracing::info!(peer = %connection.peer, %error, "a runner's link ended");
            None
        }
    }
}

async fn serve(state: AppState, connection: Connection, path_user: Option<String>, link: Box<SocketLink>) {
    let (peer, client, budget) = (connection.peer, connection.client, Arc::clone(&connection.budget));
    let admitted = OnceLock::new();
    let served = {
        let (state, admitted, path_user) = (&state, &admitted, path_user.as_deref());
        let admit = move |registration| async move {
            let accepted = admit(state, address_key(client), path_user, registration).await?;
            connection.prove();
            let admission = Admission {
                user_key: accepted.user_key.clone(),
                runner: accepted.name.clone(),
                epoch: accepted.epoch,
                token: accepted.token.map(accounts::Secret::into_exposed),
                version: state.hand_out.version().map(str::to_owned),
            };
            match path_user {
                Some(_) => budget.share(state.router.message_budget()),
                None => budget.lift(),
            }
            let _ = admitted.set(Admitted {
                _counted: ConnectedRunner::count(accepted.epoch),
                runner: accepted.runner,
                user_key: accepted.user_key,
                name: accepted.name,
            });
            Ok(admission)
        };
        tokio::select! {
            served = state.router.serve_remote(link, admit) => served,
            never = watch(state, admitted) => match never {},
        }
    };
    if let Err(error) = served {
        let name = admitted.get().map(|admitted: &Admitted| admitted.name.as_str());
        tracing::info!(%peer, name, %error, "a runner's link ended");
    }
    if let Some(admitted) = admitted.get() {
        Box::pin(touch(&state, admitted)).await;
        Box::pin(note_end(&state, admitted)).await;
    }
}

/// Records that a runner has disconnected, unless it is expected back: because it has another link, has announced that it will
/// reconnect, or was asked to do so by a stopping server.
async fn note_end(state: &AppState, admitted: &Admitted) {
    if state.shutdown.is_cancelled() || state.router.is_there_soon(&admitted.user_key, &admitted.name) {
        return;
    }
    if let Err(error) = state.accounts.note_disconnected(admitted.runner).await {
        tracing::error!(%error, "cannot record that a runner has disconnected");
    }
}

/// Records periodically that the runner is connected, and closes its link once it may no longer be connected: another process, such
/// as `sandbridge user remove`, may have changed the store.
async fn watch(state: &AppState, admitted: &OnceLock<Admitted>) -> std::convert::Infallible {
    // The first check is early: a runner that was revoked while it registered must not stay connected.
    let soon = tokio::time::Instant::now() + RUNNER_FIRST_CHECK;
    let mut check = interval_at(soon, RUNNER_CHECK_INTERVAL);
    check.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        check.tick().await;
        if let Some(admitted) = admitted.get()
            // Boxed, because the future is needed only briefly at long intervals; otherwise every connection would reserve space for it.
            && !Box::pin(touch(state, admitted)).await
        {
            state.router.disconnect(&admitted.user_key, &admitted.name, Disconnect::Revoked);
        }
    }
}

/// True if the runner may still be connected.
async fn touch(state: &AppState, admitted: &Admitted) -> bool {
    state.accounts.touch_runner(admitted.runner).await.unwrap_or_else(|error| {
        tracing::error!(%error, "cannot record that a runner is connected");
        true
    })
}

/// A WebSocket as a link for `sandbox`.
pub(super) struct SocketLink {
    /// A message that was read before the link was served.
    first: Option<LinkMessage>,
    pub(super) socket: Socket,
    budget: Arc<ReadBudget>,
    /// True if the link pings the runner and reports the responses as signs of life.
    is_pinging: bool,
}

impl Stream for SocketLink {
    type Item = io::Result<LinkMessage>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(Ok(first)));
        }
        loop {
            let Some(message) = ready!(Pin::new(&mut self.socket).poll_next(context)).transpose()? else {
                return Poll::Ready(None);
            };
            if message.is_binary() {
                self.budget.arrived();
                return Poll::Ready(Some(Ok(LinkMessage::Binary(message.into_payload().into()))));
            }
            if message.is_text() {
                self.budget.arrived();
                return Poll::Ready(Some(text_of(message.into_payload().into()).map(LinkMessage::Text)));
            }
            if message.is_close() {
                return Poll::Ready(None);
            }
            // The socket answers pings itself.
            if self.is_pinging {
                return Poll::Ready(Some(Ok(LinkMessage::Pong)));
            }
        }
    }
}

/// The text of a message, which may be large; copied only if it arrived in fragments.
fn text_of(text: Bytes) -> io::Result<String> {
    String::from_utf8(text.into())
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.utf8_error()))
}

impl Sink<LinkMessage> for SocketLink {
    type Error = io::Error;

    fn poll_ready(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_ready(context)
    }

    fn start_send(mut self: Pin<&mut Self>, message: LinkMessage) -> io::Result<()> {
        let message = match message {
            LinkMessage::Text(text) => Message::text(text),
            LinkMessage::Binary(bytes) => Message::binary(bytes),
            LinkMessage::Ping => {
                self.is_pinging = true;
                Message::ping(Bytes::new())
            }
            LinkMessage::Pong => return Ok(()),
        };
        Pin::new(&mut self.socket).start_send(message)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(context)
    }

    fn poll_close(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_close(context)
    }
}
