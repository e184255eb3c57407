//! Draining: what a server finishes before it stops.

use std::time::Duration;

use nodes::Nodes;
use tokio::time::{Instant, sleep};

use crate::limits::DRAIN_CHECK;
use crate::web::state::AppState;

/// Lets the answers in progress go on for this long at most. The server counts as not ready meanwhile, and a node claims no more homes.
pub(super) async fn drain(state: &AppState, node: Option<&Nodes>, most: Duration) {
    state.ready.set_draining();
    if let Some(node) = node {
        node.drain().await;
    }
    let deadline = Instant::now() + most;
    while state.chats.chats_at_work() > 0 && Instant::now() < deadline {
        sleep(DRAIN_CHECK).await;
    }
    let chats = state.chats.chats_at_work();
    if chats > 0 {
        tracing::info!(chats, "answers are still in progress; they go on at the next start");
    }
}
