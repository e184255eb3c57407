//! The task that carries out calls and runs of chains.
//!
//! The task finds all work in the database, so a lost wake-up delays work by at most 5 s.

use std::collections::BTreeSet;

use sandbox::RunnerEvent;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::sleep;

use crate::calls::Progress;
use crate::error::Result;
use crate::house::Inner;
use crate::limits::{LONGEST_SLEEP, RETRY_PAUSE};
use crate::service::Groups;

impl Groups {
    /// Starts working on calls and runs, until [`Groups::shutdown`].
    pub fn start(&self) {
        let this = self.clone();
        self.0.tasks.spawn(async move { this.watch_runners().await });
        let this = self.clone();
        self.0.tasks.spawn(async move {
            let inner = &this.0;
            loop {
                let pause = match inner.beat().await {
                    Ok(()) => LONGEST_SLEEP,
                    Err(error) => {
                        tracing::error!(%error, "the groups could not be processed; the server will try again");
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

    /// Looks for work at once, because this node has become, or is no longer, the home of a user.
    pub fn look(&self) {
        self.0.wake.notify_one();
    }

    /// Wakes the worker when a runner connects, because a call may be waiting for it; informs the members of groups when a runner connects or
    /// disconnects.
    async fn watch_runners(&self) {
        let mut events = self.0.router.subscribe();
        loop {
            let event = tokio::select! {
                () = self.0.stop.cancelled() => return,
                event = events.recv() => event,
            };
            match event {
                Ok(RunnerEvent::Online { .. }) | Err(RecvError::Lagged(_)) => self.0.wake.notify_one(),
                Ok(_) => {}
                Err(RecvError::Closed) => return,
            }
        }
    }
}

impl Inner {
    /// Carries out all work that can be done now.
    async fn beat(&self) -> Result<()> {
        loop {
            let (mut changed, mut goes_on) = (BTreeSet::new(), false);
            for (group, call) in self.store.orphaned_calls().await? {
                self.store.unwant_call(group, call).await?;
            }
            for call in self.store.calls_at_work().await? {
                if self.stop.is_cancelled() {
                    return Ok(());
                }
                // An error in one call must not hold up the others.
                match self.work_on_call(&call).await {
                    Ok(Progress::None) => {}
                    Ok(progress) => {
                        changed.insert(call.group_id);
                        // Another call of the same agent, or the call's run, can continue now.
                        goes_on |= progress == Progress::Ended;
                    }
                    Err(error) => {
                        tracing::error!(%error, call = call.id, "a call could not be processed; the server will try again")
                    }
                }
            }
            for run in self.store.open_runs().await? {
                if self.stop.is_cancelled() {
                    return Ok(());
                }
                match self.advance(&run).await {
                    Ok(false) => {}
                    Ok(true) => {
                        changed.insert(run.group_id);
                        goes_on = true;
                    }
                    Err(error) => {
                        tracing::error!(%error, run = run.id, "a run of a chain could not continue; the server will try again")
                    }
                }
            }
            if !changed.is_empty() {
                self.moved.send_replace(());
            }
            for group in changed {
                self.tell_all(group).await;
            }
            if !goes_on {
                return Ok(());
            }
        }
    }
}
