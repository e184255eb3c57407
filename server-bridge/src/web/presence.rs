//! Runners that connect and disconnect, reported to their owners and to the audit trail; and runners without an owner.

use accounts::AccountEvent;
use api::event::Event;
use api::words::Level;
use execs::user_key;
use sandbox::{Disconnect, RunnerEvent};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{MissedTickBehavior, interval};

use crate::limits::RUNNER_CHECK_INTERVAL;
use crate::web::runners::publish;
use crate::web::state::{AppState, user_of_key};

/// Passes the router's events on until the server stops.
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
                    "runners connect and disconnect faster than the server can report; open pages may be out of date"
                );
            }
            Err(RecvError::Closed) => return,
        }
    }
}

/// Passes the changes to accounts on until the server stops, and closes the connections of revoked runners.
pub async fn relay_accounts(state: AppState, mut events: UnboundedReceiver<AccountEvent>) {
    while let Some(Some(event)) = state.shutdown.run_until_cancelled(events.recv()).await {
        match event {
            AccountEvent::Runner { user, name } => publish(&state, user, &name).await,
            AccountEvent::RunnerRevoked { user, name } => {
                state.router.disconnect(&user_key(user), &name, Disconnect::Revoked);
                state.hub.publish(user, &Event::RunnerRemoved { name });
            }
            AccountEvent::ActiveRunner { user, choice } => {
                state.hub.publish(user, &Event::Settings { active_runner: choice });
            }
        }
    }
}

/// Ends the server's own runners of users whom another process, `sandbridge user remove`, has removed from the store. Runs until the
/// server stops.
pub async fn end_runners_of_removed_users(state: AppState) {
    let mut check = interval(RUNNER_CHECK_INTERVAL);
    check.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = check.tick() => {}
            () = state.shutdown.cancelled() => return,
        }
        for key in state.router.users_of_own_runners() {
            let Some(user) = user_of_key(&key) else { continue };
            match state.accounts.user(user).await {
                Ok(Some(_)) => {}
                Ok(None) => {
                    tracing::info!(key, "the user was removed; their runner on this server ends");
                    state.router.end_own_runners(&key).await;
                }
                Err(error) => tracing::error!(%error, "cannot check whether a user still exists"),
            }
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
            let owner = state.accounts.user(user).await.ok().flatten().map(|owner| owner.name);
            let change = format!("{old_hostname} -> {new_hostname}");
            state.audit(owner.as_deref(), "runner.taken_over", Some(&name), &change, "ok").await;
            let text = format!(
                "A second runner with the token of {name} connected from {new_hostname} and took over from \
                 {old_hostname}. If that was not you, rotate or revoke {name}."
            );
            state.hub.publish(user, &Event::Notice { level: Level::Warning, text });
        }
    }
}
