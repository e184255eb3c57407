//! The events WebSocket: what happens to a user's chats, runners and settings, as it happens.

use std::pin::pin;

use axum::extract::State;
use axum::extract::ws::{Message, Utf8Bytes, WebSocket};
use axum::response::Response;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};

use crate::limits::{EVENT_MESSAGE_BYTES, EVENT_PING_INTERVAL, SOCKET_CLOSE_TIMEOUT};
use crate::state::AppState;
use crate::web::auth::Caller;
use crate::web::extract::Upgrade;
use crate::web::hub::EventText;

/// Listen to events: a WebSocket of text frames, each a JSON object with `type` and a growing `seq`.
#[utoipa::path(get, path = "/api/v1/events", tag = "chats", responses((status = 101), (status = 401)))]
pub async fn connect(State(state): State<AppState>, caller: Caller, upgrade: Upgrade) -> Response {
    let tracked = state.tasks.token();
    upgrade.with_max_message_bytes(EVENT_MESSAGE_BYTES).on_upgrade(move |mut socket| async move {
        let _tracked = tracked;
        // Subscribed before the greeting: what happens after a client's `hello` is never missed.
        let events = state.hub.subscribe(caller.user.id);
        // An error says that the client is gone, which ends it just as well.
        let _ = relay(&state, &caller, &mut socket, events).await;
        let _ = timeout(SOCKET_CLOSE_TIMEOUT, socket.send(Message::Close(None))).await;
    })
}

async fn relay(
    state: &AppState,
    caller: &Caller,
    socket: &mut WebSocket,
    mut events: Receiver<EventText>,
) -> Result<(), axum::Error> {
    let hello = serde_json::json!({"type": "hello", "user": caller.user.name});
    let mut sequence = 0;
    socket.send(numbered(&hello.to_string(), &mut sequence)).await?;
    let mut ping = interval_at(Instant::now() + EVENT_PING_INTERVAL, EVENT_PING_INTERVAL);
    ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut session_ended = pin!(caller.session_ended(state));
    loop {
        tokio::select! {
            event = events.recv() => match event {
                Ok(event) => socket.send(numbered(&event, &mut sequence)).await?,
                Err(RecvError::Lagged(_)) => {
                    socket.send(numbered(r#"{"type":"lagged"}"#, &mut sequence)).await?;
                }
                Err(RecvError::Closed) => return Ok(()),
            },
            incoming = socket.recv() => match incoming {
                // A listener has nothing to say; pings are answered beneath.
                Some(Ok(Message::Close(_))) | None => return Ok(()),
                Some(incoming) => drop(incoming?),
            },
            _ = ping.tick() => socket.send(Message::Ping(Default::default())).await?,
            () = &mut session_ended => return Ok(()),
            () = state.shutdown.cancelled() => return Ok(()),
        }
    }
}

/// Puts the next number in front of an event's own fields.
fn numbered(event: &str, sequence: &mut u64) -> Message {
    *sequence += 1;
    let fields = event.strip_prefix('{').unwrap_or(event);
    Message::Text(Utf8Bytes::from(format!("{{\"seq\":{sequence},{fields}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_numbered_and_stays_json() {
        let mut sequence = 0;
        for expected in 1..3 {
            let Message::Text(text) = numbered(r#"{"type":"lagged"}"#, &mut sequence) else {
                panic!("no text")
            };
            let value: serde_json::Value = serde_json::from_str(&text).unwrap();
            assert_eq!((&value["seq"], &value["type"]), (&expected.into(), &"lagged".into()));
        }
    }
}
