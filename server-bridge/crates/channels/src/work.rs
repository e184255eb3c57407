//! The work task, which starts a separate task for each line of work: arrived events, complete answers, and messages to send.
//!
//! The work task finds all work in the database, so a lost wake-up delays work by 20 s at most.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use store::ChannelLane;
use tokio::time::sleep;

use crate::error::Result;
use crate::house::Inner;
use crate::limits::{BATCH, KEPT_MS, LANES, LONGEST_SLEEP, PURGE_EVERY_MS, RETRY_PAUSE};

impl Inner {
    /// Connects the accounts and starts the work task, until the server stops.
    pub(crate) fn begin_work(self: &Arc<Self>) {
        let inner = Arc::clone(self);
        self.tasks.spawn(async move {
            let (mut is_begun, mut purged_ms) = (false, 0);
            loop {
                let pause = match inner.beat(&mut is_begun, &mut purged_ms).await {
                    Ok(()) => LONGEST_SLEEP,
                    Err(error) => {
                        tracing::error!(%error, "the channels could not be processed; the server will try again");
                        RETRY_PAUSE
                    }
                };
                tokio::select! {
                    () = inner.stop.cancelled() => return,
                    () = inner.wake.notified() => {}
                    () = sleep(pause) => {}
                }
            }
        });
    }

    /// Starts tasks for all work that is due.
    async fn beat(self: &Arc<Self>, is_begun: &mut bool, purged_ms: &mut i64) -> Result<()> {
        // Synchronised each time, because an owner may have been removed or may no longer be an administrator.
        self.sync().await?;
        if !*is_begun {
            self.look_at_all().await?;
            self.end_orphans().await?;
            *is_begun = true;
        }
        if !self.has_any.load(Ordering::Relaxed) {
            return Ok(());
        }
        if self.has_removed.swap(false, Ordering::Relaxed) {
            self.end_orphans().await?;
        }
        self.look_at_changes().await;
        self.send_complete_answers().await?;
        self.show_logs().await?;
        for lane in self.store.inbox_lanes(LANES).await? {
            self.receive(&lane);
        }
        for lane in self.store.outbox_lanes(LANES).await? {
            self.send(&lane);
        }
        let now_ms = self.store.now_ms();
        if now_ms.abs_diff(*purged_ms) > PURGE_EVERY_MS.unsigned_abs() {
            self.store.purge_channels(now_ms - KEPT_MS).await?;
            *purged_ms = now_ms;
        }
        Ok(())
    }

    /// Handles the waiting events of one person in one conversation, unless a task is already doing so.
    fn receive(self: &Arc<Self>, lane: &ChannelLane) {
        let Some(live) = self.live(lane.account_id) else { return };
        let seats = self.seats_of(live.account.user);
        let Some(working) = self.inbox_lanes.begin(lane) else { return };
        let (inner, lane) = (Arc::clone(self), lane.clone());
        self.tasks.spawn(async move {
            let _working = working;
            // The owner's permit is taken first, so that a task that waits for it holds no permit of other owners.
            let Ok(_own) = seats.acquire_owned().await else { return };
            let Ok(_seat) = Arc::clone(&inner.at_once).acquire_owned().await else { return };
            tokio::select! {
                worked = inner.work_on(&lane) => {
                    if let Err(error) = worked {
                        tracing::error!(%error, "messages of a channel could not be processed; the server will try again");
                        inner.pause(RETRY_PAUSE).await;
                    }
                }
                () = inner.stop.cancelled() => {}
            }
        });
    }

    /// Sends the waiting messages of one conversation, unless a task is already doing so.
    fn send(self: &Arc<Self>, lane: &ChannelLane) {
        if self.usable(lane.account_id).is_none() {
            return;
        }
        let Some(working) = self.outbox_lanes.begin(lane) else { return };
        let (inner, lane) = (Arc::clone(self), lane.clone());
        self.tasks.spawn(async move {
            let _working = working;
            // A try that has begun is finished even when the server stops; otherwise the message would be sent again.
            if let Err(error) = inner.send_all(&lane).await {
                tracing::error!(%error, "messages of a channel could not be sent; the server will try again");
                inner.pause(RETRY_PAUSE).await;
            }
        });
    }

    /// Waits for this duration, or until the server stops.
    pub(crate) async fn pause(&self, duration: Duration) {
        tokio::select! {
            () = sleep(duration) => {}
            () = self.stop.cancelled() => {}
        }
    }

    /// Puts complete answers into the outbox.
    async fn send_complete_answers(self: &Arc<Self>) -> Result<()> {
        let mut after = 0;
        loop {
            let answers = self.store.complete_answers(after, BATCH).await?;
            for answer in &answers {
                after = answer.id;
                if let Some(live) = self.usable(answer.account_id) {
                    // An answer that fails does not hold up the others.
                    if let Err(error) = self.complete(&live, answer).await {
                        tracing::error!(%error, answer = answer.id, "an answer could not be put into the outbox; the server will try again");
                    }
                }
            }
            if answers.len() < usize::try_from(BATCH).unwrap_or(usize::MAX) {
                return Ok(());
            }
        }
    }
}
