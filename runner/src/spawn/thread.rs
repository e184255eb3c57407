//! The spawner's thread: confines itself, then starts the commands that it is ordered to.

use std::sync::mpsc::SyncSender;

use tokio::sync::{mpsc, oneshot};

use super::place::Place;
use super::{Child, Ends, Facts, SpawnError, SpawnRequest};
use crate::confine::ConfinePolicy;
use crate::kill;
use crate::layers::Profile;

/// One request with the command's ends of its pipes.
pub(super) struct Order {
    pub(super) request: SpawnRequest,
    pub(super) ends: Ends,
    pub(super) reply: oneshot::Sender<Result<Child, SpawnError>>,
}

/// The thread's body: reports once on `ready`, then serves `orders` until every sender is dropped.
pub(super) fn run(
    profile: Profile,
    policy: &ConfinePolicy,
    ready: &SyncSender<Result<Facts, SpawnError>>,
    mut orders: mpsc::Receiver<Order>,
) {
    let (place, facts) = match Place::new(profile, policy) {
        Ok(made) => made,
        Err(error) => {
            // The starter waits for exactly one message, so it still listens.
            let _ = ready.send(Err(error));
            return;
        }
    };
    if ready.send(Ok(facts)).is_err() {
        return;
    }
    while let Some(Order { request, ends, reply }) = orders.blocking_recv() {
        let outcome = place.start(&request, &ends);
        // Dropped before the caller can wait for the end of the command's output.
        drop(ends);
        if let Err(Ok(child)) = reply.send(outcome) {
            // The caller gave up while the command was starting: nothing would ever stop it.
            kill::kill_tree(child.mark());
        }
    }
}
