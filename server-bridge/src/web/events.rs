//! The events WebSocket: changes to a user's chats, runners and settings, as they happen.

use std::io;
use std::pin::pin;

use api::event::{Event, ServerEvent};
use axum::extract::State;
use axum::response::Response;
use axum_tws::Message;
use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use serde::Deserialize;
use tokio::time::{Instant, MissedTickBehavior, interval, interval_at, timeout};
use utoipa::IntoParams;

use crate::limits::{
    EVENT_BATCH, EVENT_MESSAGE_BYTES, EVENT_PING_INTERVAL, EVENTS_FORGET_INTERVAL, SOCKET_CLOSE_TIMEOUT,
};
use crate::web::auth::Caller;
use crate::web::error::ApiError;
use crate::web::extract::Query;
use crate::web::hub::{Heard, Listener, Stood};
use crate::web::routes::{Routes, route};
use crate::web::scope::Access;
use crate::web::socket::{Socket, Upgrade};
use crate::web::state::AppState;

/// The routes of events.
pub(in crate::web) fn routes() -> Routes {
    Routes::new().add(Access::Listen, route!(connect))
}

/// The position of a client that reconnects; give both, or neither.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ResumeQuery {
    /// The `seq` of the last frame that the client has.
    after: Option<u64>,
    /// The `epoch` from its `hello`.
    epoch: Option<String>,
}

/// Receive events: a WebSocket of text frames, each a JSON object (`ServerEvent`) with `type` and a growing `seq`.
///
/// The first event is `hello`. A client that reconnects with `after` and `epoch` gets the events that it missed, each once.
/// Events are kept for some minutes, and only while the server runs; if some are no longer available, a `reset` after `hello`
/// means that everything has to be loaded again. A later `lagged` means the same to a client that reads too slowly.
#[utoipa::path(get, path = "/api/v1/events", tag = "chats", params(ResumeQuery), responses(
    (status = 101, description = "the socket is open; this is what its frames are", body = ServerEvent),
    (status = 400), (status = 401)))]
pub async fn connect(
    State(state): State<AppState>,
    caller: Caller,
    Query(query): Query<ResumeQuery>,
    upgrade: Upgrade,
) -> Result<Response, ApiError> {
    if query.after.is_some() != query.epoch.is_some() {
        return Err(ApiError::invalid("after and epoch belong together; give both, or neither"));
    }
    let tracked = state.tasks.token();
    Ok(upgrade.with_max_message_bytes(EVENT_MESSAGE_BYTES).on_upgrade(move |mut socket| async move {
        let _tracked = tracked;
        // An error means that the client has disconnected, which ends the socket as well.
        let _ = relay(&state, &caller, &query, &mut socket).await;
        let _ = timeout(SOCKET_CLOSE_TIMEOUT, socket.send(Message::close(None, ""))).await;
    }))
}

/// Drops the events of clients that did not reconnect in time, until the server stops.
pub async fn forget_gone(state: AppState) {
    let mut due = interval(EVENTS_FORGET_INTERVAL);
    due.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = due.tick() => state.hub.forget_gone(std::time::Instant::now()),
            () = state.shutdown.cancelled() => return,
        }
    }
}

async fn relay(
    state: &AppState,
    caller: &Caller,
    query: &ResumeQuery,
    socket: &mut Socket,
) -> io::Result<()> {
    let stood = query.epoch.as_deref().zip(query.after).map(|(epoch, after)| Stood { epoch, after });
    // The subscription begins before the greeting, so that no event after a client's `hello` is ever missed.
    let (mut listener, resumed) = state.hub.subscribe(caller.user.id, stood);
    let (user, epoch) = (caller.user.name.clone(), state.hub.epoch().to_owned());
    socket.feed(told(listener.seen(), Event::Hello { user, epoch, resumed })).await?;
    if stood.is_some() && !resumed {
        socket.feed(told(listener.seen(), Event::Reset)).await?;
    }
    socket.flush().await?;
    let mut ping = interval_at(Instant::now() + EVENT_PING_INTERVAL, EVENT_PING_INTERVAL);
    ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let stopped = state.stopped(caller.user.id);
    let mut session_ended = pin!(caller.session_ended(state));
    loop {
        tokio::select! {
            heard = listener.next() => send(socket, heard, &mut listener).await?,
            // A listener has nothing to send except pings, which are answered below.
            incoming = socket.next() => match incoming.transpose()? {
                Some(message) if !message.is_close() => {}
                _ => return Ok(()),
            },
            _ = ping.tick() => socket.send(Message::ping(Bytes::new())).await?,
            () = &mut session_ended => return Ok(()),
            () = stopped.cancelled() => return Ok(()),
        }
    }
}

/// Sends the received event together with all others that are ready.
async fn send(socket: &mut Socket, first: Heard, listener: &mut Listener) -> io::Result<()> {
    let more = std::iter::from_fn(|| listener.ready()).take(EVENT_BATCH);
    for heard in std::iter::once(first).chain(more) {
        let frame = match heard {
            Heard::Event(text) => Message::text(text),
            Heard::Lagged(seq) => told(seq, Event::Lagged),
        };
        socket.feed(frame).await?;
    }
    socket.flush().await
}

/// A frame with an event of the socket itself, such as `hello`.
fn told(seq: u64, event: Event) -> Message {
    let frame = serde_json::to_string(&ServerEvent { seq, event });
    Message::text(frame.expect("an event that a server makes is texts and numbers, which are always JSON"))
}
