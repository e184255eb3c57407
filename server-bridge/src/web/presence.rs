//! Runners that come and go, told to their owners and to the audit trail.

use sandbox::RunnerEvent;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use crate::state::{AppState, user_of_key};
use crate::web::hub::Event;
use crate::web::runners::publish;

/// Passes events on until the server stops.
pub async fn relay(state: AppState, mut events: Receiver<RunnerEvent>) {
    loop {
        let event = tokio::select! {
            event = events.recv() => event,
            () = state.shutdown.cancelled() => return,
        };
        match event {
            Ok(event) => tell(&state, event).await,
            Err(RecvError::Lagged(missed)) => {
                tracing::warn!(
                    missed,
                    "runners come and go faster than it can be told; open pages may be behind"
                );
            }
            Err(RecvError::Closed) => return,
        }
    }
}

async fn tell(state: &AppState, event: RunnerEvent) {
    match event {
        RunnerEvent::Online { user_key, name, .. } | RunnerEvent::Offline { user_key, name } => {
            if let Some(user) = user_of_key(&user_key) {
                publish(state, user, &name).await;
            }
        }
        RunnerEvent::TakenOver { user_key, name, old_hostname, new_hostname } => {
            let Some(user) = user_of_key(&user_key) else { return };
            let owner = state.store.user_by_id(user).await.ok().flatten().map(|owner| owner.name);
            let change = format!("{old_hostname} -> {new_hostname}");
            state.audit(owner.as_deref(), "runner.taken_over", Some(&name), &change, "ok").await;
            let text = format!(
                "A second runner with the token of {name} connected from {new_hostname} and took over from \
                 {old_hostname}. If that was not you, rotate or revoke {name}."
            );
            state.hub.publish(user, &Event::Notice { level: "warning", text });
        }
    }
}
