//! The clock's task, which records the slots that have become due, posts the messages of due runs, and sleeps until the next slot.
//!
//! The task uses the machine's clock: when the clock is set forward, the slots in between count as missed; when it is set back, no slot is
//! repeated, because a schedule only moves forward.

use std::time::Duration;

use store::{Job, NewRun, RunState};
use tokio::time::sleep;

use crate::document::Document;
use crate::error::{Error, Result};
use crate::limits::{BATCH, LONGEST_SLEEP, RETRY_PAUSE, RUNS_KEPT_MS};
use crate::service::{Automations, Inner};
use crate::when::Come;

/// The interval at which old runs are removed, in milliseconds.
const PURGE_EVERY_MS: i64 = 3_600_000;

impl Automations {
    /// Looks for work at once, because this node has become, or is no longer, the home of a user.
    pub fn look(&self) {
        self.0.wake.notify_one();
    }

    /// Starts running automations, until [`Automations::shutdown`].
    pub fn start(&self) {
        let this = self.clone();
        self.0.tasks.spawn(async move {
            let inner = &this.0;
            let mut purged_ms = 0;
            loop {
                let pause = match inner.beat(&mut purged_ms).await {
                    Ok(pause) => pause,
                    Err(error) => {
                        tracing::error!(%error, "automations could not be run; the server will try again");
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
}

impl Inner {
    /// Does everything that is due now; returns the time until the next slot, 20 s at most.
    async fn beat(&self, purged_ms: &mut i64) -> Result<Duration> {
        let now_ms = self.store.now_ms();
        loop {
            let due = self.store.due_jobs(now_ms, BATCH).await?;
            for job in &due {
                self.record_slots(job, now_ms).await?;
            }
            if due.is_empty() {
                break;
            }
        }
        self.post_due().await?;
        if now_ms.abs_diff(*purged_ms) > PURGE_EVERY_MS.unsigned_abs() {
            self.store.purge_runs(now_ms - RUNS_KEPT_MS).await?;
            *purged_ms = now_ms;
        }
        let until = match self.store.next_job_ms().await? {
            Some(next) => u64::try_from(next - self.store.now_ms()).unwrap_or(0),
            None => u64::MAX,
        };
        Ok(Duration::from_millis(until).min(LONGEST_SLEEP))
    }

    /// Records the slots of a schedule that have become due, and stores its next slot.
    async fn record_slots(&self, job: &Job, now_ms: i64) -> Result<()> {
        let Some(slot) = job.next_ms else { return Ok(()) };
        let read = Document::of(job).and_then(|document| Ok((document.when()?, document)));
        let (when, document) = match read {
            Ok((Some(when), document)) => (when, document),
            Ok((None, _)) => {
                self.store.advance_job(job, None, &[]).await?;
                return Ok(());
            }
            Err(error) => {
                // A schedule can become invalid, for example because its time zone no longer exists. It is paused, so that it does not hold up the
                // others.
                self.store.pause_job(job.user, &job.name, Some(&error.message()), None).await?;
                return Ok(());
            }
        };
        let missed = document.missed();
        let come = tokio::task::spawn_blocking(move || when.come(slot, now_ms, &missed)).await;
        let come =
            come.map_err(|_| Error::refused("failed", "the due times of an automation cannot be computed"))?;
        let runs = runs(&come, &document.automation.text);
        match self.store.advance_job(job, come.next, &runs).await {
            // `false` means that the schedule was changed in the meantime, or that its slots are already on record.
            Ok(_) => Ok(()),
            Err(store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(Error::Store(error)),
        }
    }
}

/// Returns the rows to record for slots that have become due.
fn runs(come: &Come, text: &str) -> Vec<NewRun> {
    let missed = |slot: i64, note: String| NewRun {
        slot: slot.to_string(),
        due_ms: slot,
        state: RunState::Skipped,
        note,
        ..NewRun::default()
    };
    let why = "the server was not running at that time";
    let mut runs = Vec::new();
    for (place, slot) in come.missed.iter().enumerate() {
        let note = match come.earlier {
            earlier if place == 0 && earlier > 0 => format!("{why}, nor at the {earlier} earlier times"),
            _ => why.to_owned(),
        };
        runs.push(missed(*slot, note));
    }
    runs.extend(come.runs.iter().map(|slot| NewRun {
        slot: slot.to_string(),
        due_ms: *slot,
        state: RunState::Due,
        text: text.to_owned(),
        ..NewRun::default()
    }));
    runs
}
