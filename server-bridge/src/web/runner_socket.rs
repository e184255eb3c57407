//! Where runners dial in: `/runner`, and `/ws/{user}` for those who know no other path.
//!
//! The token decides who a runner is; a user in the path is not looked at. Until it is registered a socket may send
//! 64 KiB and live 10 s, which is counted beneath HTTP ([`crate::web::accept`]) and in `sandbox`.

use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::OnceLock;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use agent::sandbox_user;
use axum::Extension;
use axum::extract::State;
use axum::extract::ws::{Message, Utf8Bytes, WebSocket};
use axum::response::{IntoResponse, Response};
use futures_util::{Sink, Stream};
use sandbox::{Admission, Disconnect, LinkMessage, Refusal, RefusalReason, Registration};
use store::{RunnerAuth, RunnerId};
use tokio::time::{MissedTickBehavior, interval_at};

use crate::limits::{
    HANDSHAKE_FRAMING_BYTES, HANDSHAKE_MAX_BYTES, RUNNER_CHECK_INTERVAL, RUNNER_FIRST_CHECK,
    RUNNER_MESSAGE_BYTES,
};
use crate::state::AppState;
use crate::web::accept::Connection;
use crate::web::error::ApiError;
use crate::web::extract::Upgrade;
use crate::web::metrics::ConnectedRunner;
use crate::web::pending::PendingHandshake;
use crate::web::rate::address_key;

/// Accepts a runner's socket.
pub async fn connect(
    State(state): State<AppState>,
    Extension(connection): Extension<Connection>,
    upgrade: Upgrade,
) -> Response {
    let Some(room) = state.pending_handshakes.enter(address_key(connection.peer.ip())) else {
        return ApiError::new("unavailable", "too many runners are connecting; try again in a moment")
            .into_response();
    };
    let tracked = state.tasks.token();
    upgrade.with_max_message_bytes(RUNNER_MESSAGE_BYTES).on_upgrade(move |socket| async move {
        let _tracked = tracked;
        serve(state, connection, socket, room).await;
    })
}

/// A runner whose token was accepted.
struct Admitted {
    runner: RunnerId,
    user_key: String,
    name: String,
    _counted: ConnectedRunner,
}

async fn serve(state: AppState, connection: Connection, socket: WebSocket, room: PendingHandshake) {
    let Connection { peer, budget } = connection;
    budget.limit((HANDSHAKE_MAX_BYTES + HANDSHAKE_FRAMING_BYTES) as u64);
    let admitted = OnceLock::new();
    let served = {
        let (state, admitted) = (&state, &admitted);
        let admit = move |registration| async move {
            let accepted = admit(state, address_key(peer.ip()), registration).await?;
            let admission = Admission {
                user_key: accepted.user_key.clone(),
                runner: accepted.name.clone(),
                epoch: accepted.epoch,
            };
            budget.lift();
            drop(room);
            let _ = admitted.set(Admitted {
                runner: accepted.runner,
                user_key: accepted.user_key,
                name: accepted.name,
                _counted: ConnectedRunner::count(),
            });
            Ok(admission)
        };
        tokio::select! {
            served = state.router.serve_remote(SocketLink(socket), admit) => served,
            never = watch(state, admitted) => match never {},
        }
    };
    if let Err(error) = served {
        let name = admitted.get().map(|admitted: &Admitted| admitted.name.as_str());
        tracing::info!(%peer, name, %error, "a runner's link ended");
    }
    if let Some(admitted) = admitted.get() {
        touch(&state, admitted).await;
    }
}

/// Notes now and then that the runner is connected, and closes its link once it must not be: another process, such as
/// `sandbridge user remove`, may have changed the store.
async fn watch(state: &AppState, admitted: &OnceLock<Admitted>) -> std::convert::Infallible {
    // The first check comes soon: a runner revoked while it registered must not stay.
    let soon = tokio::time::Instant::now() + RUNNER_FIRST_CHECK;
    let mut check = interval_at(soon, RUNNER_CHECK_INTERVAL);
    check.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        check.tick().await;
        if let Some(admitted) = admitted.get()
            && !touch(state, admitted).await
        {
            state.router.disconnect(&admitted.user_key, &admitted.name, Disconnect::Revoked);
        }
    }
}

/// Whether the runner may still be connected.
async fn touch(state: &AppState, admitted: &Admitted) -> bool {
    state.store.touch_last_seen(admitted.runner).await.unwrap_or_else(|error| {
        tracing::error!(%error, "cannot note that a runner is connected");
        true
    })
}

struct Accepted {
    runner: RunnerId,
    user_key: String,
    name: String,
    epoch: u64,
}

async fn admit(state: &AppState, address: IpAddr, registration: Registration) -> Result<Accepted, Refusal> {
    if let Err(seconds) = state.registrations.take(&address, Instant::now()) {
        let message = format!("too many refused registrations from this address; try again in {seconds} s");
        return Err(Refusal { reason: RefusalReason::RateLimited, message });
    }
    let hostname = registration.facts.hostname.clone();
    let decided = decide(state, registration).await;
    let (user, name, outcome) = match &decided {
        Ok((user, accepted)) => (Some(user.as_str()), Some(accepted.name.as_str()), "ok"),
        Err(refusal) => (None, None, reason_word(refusal.reason)),
    };
    if decided.is_ok() {
        state.registrations.refund(&address);
    }
    state.audit(user, "runner.register", name, &format!("{hostname} at {address}"), outcome).await;
    decided.map(|(_, accepted)| accepted)
}

async fn decide(state: &AppState, registration: Registration) -> Result<(String, Accepted), Refusal> {
    let refused = |reason, message: &str| Refusal { reason, message: message.to_owned() };
    let unavailable = |error: &dyn std::fmt::Display| {
        tracing::error!(%error, "a registration could not be decided");
        refused(RefusalReason::Unavailable, "the server cannot look up the token now; it will be tried again")
    };
    let auth =
        state.store.authenticate_runner(&registration.token).await.map_err(|error| unavailable(&error))?;
    let (user, runner) = match auth {
        RunnerAuth::Accepted { user, runner } => (user, runner),
        RunnerAuth::Unknown => {
            let message = "the token is not known here; make one with `sandbridge runner add NAME`";
            return Err(refused(RefusalReason::TokenUnknown, message));
        }
        RunnerAuth::Expired => {
            let message = "the token has expired; make another with `sandbridge runner rotate NAME`";
            return Err(refused(RefusalReason::TokenExpired, message));
        }
        RunnerAuth::Revoked => {
            let message = "this runner was revoked; to use it again, `sandbridge runner add NAME`";
            return Err(refused(RefusalReason::TokenRevoked, message));
        }
    };
    let facts = serde_json::to_string(&registration.facts).map_err(|error| unavailable(&error))?;
    match state.store.record_registration(runner.id, &facts).await {
        Ok(epoch) => {
            let user_key = sandbox_user(&user).key;
            Ok((user.name, Accepted { runner: runner.id, user_key, name: runner.name, epoch }))
        }
        Err(store::Error::NotFound { .. }) => {
            Err(refused(RefusalReason::TokenRevoked, "this runner was revoked a moment ago"))
        }
        Err(error) if error.is_callers() => Err(refused(RefusalReason::Malformed, &error.to_string())),
        Err(error) => Err(unavailable(&error)),
    }
}

fn reason_word(reason: RefusalReason) -> &'static str {
    match reason {
        RefusalReason::TokenUnknown => "token_unknown",
        RefusalReason::TokenExpired => "token_expired",
        RefusalReason::TokenRevoked => "token_revoked",
        RefusalReason::ProtocolVersion => "protocol_version",
        RefusalReason::Malformed => "malformed",
        RefusalReason::RateLimited => "rate_limited",
        RefusalReason::Unavailable => "unavailable",
        RefusalReason::Other => "other",
    }
}

/// axum's socket as the link that `sandbox` knows.
struct SocketLink(WebSocket);

impl Stream for SocketLink {
    type Item = io::Result<LinkMessage>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            return Poll::Ready(match ready!(Pin::new(&mut self.0).poll_next(context)) {
                Some(Ok(Message::Binary(bytes))) => Some(Ok(LinkMessage::Binary(bytes))),
                Some(Ok(Message::Text(text))) => Some(Ok(LinkMessage::Text(text.as_str().to_owned()))),
                // Answered beneath.
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => continue,
                Some(Ok(Message::Close(_))) | None => None,
                Some(Err(error)) => Some(Err(io::Error::other(error))),
            });
        }
    }
}

impl Sink<LinkMessage> for SocketLink {
    type Error = io::Error;

    fn poll_ready(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_ready(context).map_err(io::Error::other)
    }

    fn start_send(mut self: Pin<&mut Self>, message: LinkMessage) -> io::Result<()> {
        let message = match message {
            LinkMessage::Text(text) => Message::Text(Utf8Bytes::from(text)),
            LinkMessage::Binary(bytes) => Message::Binary(bytes),
        };
        Pin::new(&mut self.0).start_send(message).map_err(io::Error::other)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context).map_err(io::Error::other)
    }

    fn poll_close(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_close(context).map_err(io::Error::other)
    }
}
