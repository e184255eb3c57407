//! Draining: a server finishes its answers in progress before it stops.

use std::collections::HashSet;
use std::time::Duration;

use nodes::Nodes;
use store::UserId;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::limits::{DRAIN_CHECK, DRAIN_STEPS, DRAINED_CHECK};
use crate::web::state::AppState;

/// Lets the answers in progress go on for at most `most`. Meanwhile the server counts as not ready, and a node claims no more homes.
/// If several nodes work at once, the node gives up the homes of users without an answer in progress, in [`DRAIN_STEPS`] steps, so
/// that their runners do not all reconnect at the same moment.
pub(super) async fn drain(state: &AppState, node: Option<&Nodes>, most: Duration) {
    state.ready.set_draining(true);
    if let Some(node) = node {
        node.drain().await;
    }
    let beside_others = node.filter(|_| state.cluster.is_some());
    let deadline = Instant::now() + most;
    let mut homes: Vec<UserId> = beside_others.map(Nodes::users).unwrap_or_default();
    let at_once = homes.len().div_ceil(DRAIN_STEPS);
    while (state.chats.chats_at_work() > 0 || !homes.is_empty()) && Instant::now() < deadline {
        if let Some(node) = beside_others {
            let free = free_homes(state, node, &homes, at_once).await;
            give_up(node, &free).await;
            homes.retain(|user| !free.contains(user));
        }
        sleep(DRAIN_CHECK).await;
    }
    let chats = state.chats.chats_at_work();
    if chats > 0 {
        tracing::info!(chats, "answers are still in progress; they go on at the next start");
    }
}

/// Drains the node while an administrator has requested that, until the server stops: the node gives up the homes of users without an answer
/// in progress, counts as not ready, and keeps running.
pub(super) async fn while_wanted(state: &AppState, node: Option<&Nodes>, stop: &CancellationToken) {
    let Some(node) = node.filter(|_| state.cluster.is_some()) else { return };
    let mut wanted = node.drain_wanted();
    loop {
        tokio::select! {
            begun = wanted.wait_for(|wanted| *wanted) => if begun.is_err() { return },
            () = stop.cancelled() => return,
        }
        tracing::info!("an administrator is draining this node: it gives up its users' homes");
        state.ready.set_draining(true);
        node.set_draining(true);
        let at_once = node.users().len().div_ceil(DRAIN_STEPS);
        // Giving up a home is never interrupted. A claim that has already begun may still add a home.
        while *wanted.borrow() && !stop.is_cancelled() {
            let homes = node.users();
            give_up(node, &free_homes(state, node, &homes, at_once.max(1)).await).await;
            sleep(if homes.is_empty() { DRAINED_CHECK } else { DRAIN_CHECK }).await;
        }
        if stop.is_cancelled() {
            return;
        }
        node.set_draining(false);
        state.ready.set_draining(false);
        tracing::info!("an administrator cancelled the drain; this node accepts users' homes again");
    }
}

async fn give_up(node: &Nodes, users: &[UserId]) {
    for user in users {
        if let Err(error) = node.release(*user).await {
            tracing::warn!(%error, %user, "cannot give up a user's home now; it will be given up when the server stops");
        }
    }
}

/// The homes that can be given up now, because no user who shares one has an answer in progress here. Before that, another node could not
/// claim the home.
async fn free_homes(state: &AppState, node: &Nodes, homes: &[UserId], most: usize) -> Vec<UserId> {
    let (busy, idle): (Vec<UserId>, Vec<UserId>) =
        homes.iter().partition(|user| state.chats.is_at_work_for(**user));
    let mut held = HashSet::new();
    for user in busy {
        held.extend(node.leader(user).await);
    }
    let mut free = Vec::new();
    for user in idle {
        if free.len() < most && node.leader(user).await.is_ok_and(|leader| !held.contains(&leader)) {
            free.push(user);
        }
    }
    free
}
