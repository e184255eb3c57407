//! A chat at rest: no answer is in progress in it, and messages posted meanwhile wait until the rest is over.

use std::sync::Arc;
use std::time::Duration;

use store::{ChatId, User};
use tokio::time::{Instant, sleep};

use crate::house::House;
use crate::limits::{REST_LOOK_MS, REST_PATIENCE_MS};
use crate::queue::{Hold, Worker};

/// A chat at rest. Dropping this continues with the messages that arrived meanwhile.
pub(crate) struct Rest {
    service: Arc<House>,
    user: User,
    chat: ChatId,
    worker: Option<Worker>,
}

/// Puts a chat at rest if nothing is in progress in it. Waits a moment for an answer that was stopped, or whose end is on record. `None`
/// if something stays in progress.
pub(crate) async fn rest(service: &Arc<House>, user: &User, chat: &ChatId) -> Option<Rest> {
    let deadline = Instant::now() + Duration::from_millis(REST_PATIENCE_MS);
    loop {
        let ends = match service.queue.hold(user.id, chat) {
            Hold::Held(worker) => {
                let (service, user, chat) = (Arc::clone(service), user.clone(), chat.clone());
                return Some(Rest { service, user, chat, worker: Some(worker) });
            }
            Hold::Ends => true,
            // People see the end of an answer before its worker ends, so the record is checked too.
            Hold::GoesOn => has_ended(service, user, chat).await,
        };
        if !ends || Instant::now() >= deadline {
            return None;
        }
        sleep(Duration::from_millis(REST_LOOK_MS)).await;
    }
}

/// True if no turn of a chat is open on record.
async fn has_ended(service: &House, user: &User, chat: &ChatId) -> bool {
    service.store.open_turns(Some(user.id)).await.is_ok_and(|open| open.iter().all(|turn| turn.chat != *chat))
}

impl Drop for Rest {
    fn drop(&mut self) {
        if let Some(worker) = self.worker.take() {
            super::serve(&self.service, &self.user, &self.chat, worker);
        }
    }
}
