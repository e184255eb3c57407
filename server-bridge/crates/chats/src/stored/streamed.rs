//! The text of answers in progress, stored now and then: the stored part survives a killed server.
//!
//! ```text
//!   piece ─▶ (first one: a store is due) ─▶ … ─▶ stored, without an event ─▶ piece ─▶ …        the answer's end: forgotten
//! ```
//! The texts are stored next to the message, not in it: clients that connect meanwhile get the live text, complete and only once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agent::engine::Stream;
use store::{MessageId, Store, Streamed, TurnId};
use tokio::time::sleep;

use super::screen::cut;
use crate::house::House;
use crate::limits::SNAPSHOT_INTERVAL_MS;

/// A turn's answers in progress.
#[derive(Debug, Default)]
pub(super) struct Words(Mutex<HashMap<MessageId, Said>>);

/// The text of an answer's message.
#[derive(Debug, Default)]
struct Said {
    text: String,
    reasoning: String,
    /// True if a task will store the text within the interval.
    is_due: bool,
    /// True if the store already contains some of the text.
    is_stored: bool,
}

impl Words {
    /// Adds a piece, and arranges for it to be stored in time. Does not wait.
    pub(super) fn push(
        self: &Arc<Self>,
        house: &House,
        turn: TurnId,
        message: MessageId,
        what: Stream,
        piece: &str,
    ) {
        let is_due = {
            let mut all = self.lock();
            let said = all.entry(message).or_default();
            match what {
                Stream::Text => said.text.push_str(piece),
                Stream::Reasoning => said.reasoning.push_str(piece),
                Stream::Output => return,
            }
            std::mem::replace(&mut said.is_due, true)
        };
        if is_due {
            return;
        }
        let (words, store, stop) = (Arc::clone(self), house.store.clone(), house.stops.all().clone());
        house.tasks.spawn(async move {
            tokio::select! {
                () = sleep(Duration::from_millis(SNAPSHOT_INTERVAL_MS)) => {}
                // When the server stops in an orderly way, the whole text is stored.
                () = stop.cancelled() => return,
            }
            if let Err(error) = words.store(&store, turn, message).await {
                tracing::debug!(%error, %message, "the words of an answer so far could not be stored");
            }
        });
    }

    /// Discards the text of a message that now has a different text.
    pub(super) async fn forget(&self, store: &Store, message: MessageId) -> store::Result<()> {
        let said = self.lock().remove(&message);
        // A text that is being stored at this moment is removed by the task that stores it.
        if said.is_some_and(|said| said.is_stored) { store.remove_streamed(message).await } else { Ok(()) }
    }

    async fn store(&self, store: &Store, turn: TurnId, message: MessageId) -> store::Result<()> {
        let words = {
            let mut all = self.lock();
            let Some(said) = all.get_mut(&message) else { return Ok(()) };
            said.is_due = false;
            Streamed { message, text: cut(&said.text), reasoning: cut(&said.reasoning) }
        };
        store.put_streamed(turn, &words).await?;
        let is_over = self.lock().get_mut(&message).map(|said| said.is_stored = true).is_none();
        if is_over { store.remove_streamed(message).await } else { Ok(()) }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<MessageId, Said>> {
        // Each change is a single step, so the data stays consistent if another thread panics.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
