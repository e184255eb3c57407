//! Draining: what a server finishes before it stops.

use std::collections::HashSet;
use std::future::pending;
use std::time::Duration;

use nodes::Nodes;
use store::UserId;
use tokio::time::{Instant, sleep};

use crate::limits::{DRAIN_CHECK, DRAIN_SPREAD};
use crate::web::state::AppState;

/// Lets the answers in progress go on for this long at most. The server counts as not ready meanwhile, and a node claims no more homes. One
/// that works beside others gives up the homes of users without an answer in progress, spread over [`DRAIN_SPREAD`], so that their runners
/// do not all dial again at once.
pub(super) async fn drain(state: &AppState, node: Option<&Nodes>, most: Duration) {
    state.ready.set_draining(true);
    if let Some(node) = node {
        node.drain().await;
    }
    give_up(state, node, Some(Instant::now() + most)).await;
    let chats = state.chats.chats_at_work();
    if chats > 0 {
        tracing::info!(chats, "answers are still in progress; they go on at the next start");
    }
}

/// Drains a node while an administrator wants that: it gives up the homes of users whose answers have ended, counts as not ready, and goes on
/// running. Never ends.
pub(super) async fn while_wanted(state: &AppState, node: Option<&Nodes>) {
    let Some(node) = node else { return pending().await };
    let mut wanted = node.drain_wanted();
    loop {
        if wanted.wait_for(|wanted| *wanted).await.is_err() {
            return pending().await;
        }
        tracing::info!("an administrator drains this node: it gives up its users");
        state.ready.set_draining(true);
        node.set_draining(true);
        let giving_up = async {
            loop {
                give_up(state, Some(node), None).await;
                sleep(DRAIN_CHECK).await;
            }
        };
        tokio::select! {
            () = giving_up => {}
            ended = wanted.wait_for(|wanted| !*wanted) => drop(ended),
        }
        node.set_draining(false);
        state.ready.set_draining(false);
        tracing::info!("an administrator has this node take on users again");
    }
}

/// Waits for the answers in progress, and gives up the homes that a node had when it began, until the deadline.
async fn give_up(state: &AppState, node: Option<&Nodes>, deadline: Option<Instant>) {
    let beside_others = node.filter(|_| state.cluster.is_some());
    let mut homes: Vec<UserId> = beside_others.map(Nodes::users).unwrap_or_default();
    let steps = DRAIN_SPREAD.as_millis() / DRAIN_CHECK.as_millis();
    let at_once = homes.len().div_ceil(usize::try_from(steps).unwrap_or(1));
    let is_over = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
    while (state.chats.chats_at_work() > 0 || !homes.is_empty()) && !is_over() {
        if let Some(node) = beside_others {
            let free = free_homes(state, node, &homes, at_once).await;
            for user in &free {
                if let Err(error) = node.release(*user).await {
                    tracing::warn!(%error, %user, "cannot give up a user's home; it is given up at the end");
                }
            }
            homes.retain(|user| !free.contains(user));
        }
        sleep(DRAIN_CHECK).await;
    }
}

/// Homes that can be given up now: nobody who shares one of them is at work here. Another node could not claim it before that.
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
