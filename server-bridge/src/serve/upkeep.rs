//! The server's periodic maintenance while it runs.

use store::Store;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use crate::limits::{
    BLOB_SWEEP_INTERVAL, INDEX_INTERVAL, INDEX_RETRY, MEMORISE_INTERVAL, PURGE_INTERVAL,
    SIGN_IN_PURGE_INTERVAL,
};
use crate::web::state::AppState;

/// Deletes sessions, tokens, keys and other rows that have expired, until the server stops.
pub(super) async fn purge(store: Store, shutdown: CancellationToken) {
    let mut due = interval(PURGE_INTERVAL);
    loop {
        tokio::select! {
            _ = due.tick() => {}
            () = shutdown.cancelled() => return,
        }
        if let Err(error) = store.purge_expired().await {
            tracing::error!(%error, "cannot delete expired sessions, tokens and keys");
        }
    }
}

/// Deletes tickets, codes and counts of failed logins soon after they expire, until the server stops.
pub(super) async fn purge_sign_in(store: Store, shutdown: CancellationToken) {
    let mut due = interval(SIGN_IN_PURGE_INTERVAL);
    due.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = due.tick() => {}
            () = shutdown.cancelled() => return,
        }
        if let Err(error) = store.purge_sign_in().await {
            tracing::warn!(%error, "cannot delete expired tickets and codes");
        }
    }
}

/// Deletes objects in the bucket that no row refers to, until the server stops.
pub(super) async fn sweep_blobs(store: Store, shutdown: CancellationToken) {
    let mut due = interval(BLOB_SWEEP_INTERVAL);
    due.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let sweeping = async {
        loop {
            due.tick().await;
            match store.sweep_blobs().await {
                Ok(0) => {}
                Ok(objects) => tracing::info!(objects, "deleted objects that no row refers to any longer"),
                Err(error) => {
                    tracing::warn!(%error, "cannot delete objects that nothing refers to; trying again later")
                }
            }
        }
    };
    // If a sweep is interrupted, the next one deletes the rest.
    tokio::select! {
        () = sweeping => {}
        () = shutdown.cancelled() => {}
    }
}

/// Proposes memories from idle chats, for users who turned that on, until the server stops.
pub(super) async fn memorise_idle_chats(state: AppState) {
    let mut due = interval(MEMORISE_INTERVAL);
    loop {
        tokio::select! {
            _ = due.tick() => {}
            () = state.shutdown.cancelled() => return,
        }
        if let Err(error) = state.chats.memorise_idle().await {
            tracing::warn!(%error, "cannot look for idle chats");
        }
    }
}

/// Indexes the messages that are older than the index, in steps, between which other changes can run.
pub(super) async fn index_older_messages(store: Store, shutdown: CancellationToken) {
    let mut due = interval(INDEX_INTERVAL);
    due.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut steps = 0_u64;
    loop {
        tokio::select! {
            _ = due.tick() => {}
            () = shutdown.cancelled() => return,
        }
        match store.index_older_messages().await {
            Ok(true) => steps += 1,
            // A node may become the home of users whose messages are not indexed yet.
            Ok(false) if store.is_node() => due.reset_after(INDEX_RETRY),
            Ok(false) if steps > 0 => return tracing::info!(steps, "older messages are indexed"),
            Ok(false) => return,
            Err(error) => {
                tracing::warn!(%error, "cannot index older messages; trying again");
                due.reset_after(INDEX_RETRY);
            }
        }
    }
}
