//! Follows a command from its first event to its last.

use std::sync::Arc;
use std::time::Duration;

use sandbox::{ExecEvent, Sandbox};
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep_until};

use super::keeper::Keeper;
use super::output::{Output, OutputPieces};
use super::run::{Begin, Ended, Run};
use super::tidy;
use crate::limits::{CATCH_UP_MAX_MS, CATCH_UP_QUIET_MS, SNAPSHOT_INTERVAL_MS};
use crate::{Channel, ChatEvent};
use execs::Ending;

/// Decides when output that is read again from its beginning has caught up with the command: when no output has arrived for a moment,
/// or after a limited time. Output that was shown before is not sent again, so that no client shows it twice.
#[derive(Default)]
struct CatchUp {
    began: Option<Instant>,
    due: Option<Instant>,
}

impl CatchUp {
    fn note(&mut self, now: Instant) {
        let began = *self.began.get_or_insert(now);
        let quiet = now + Duration::from_millis(CATCH_UP_QUIET_MS);
        self.due = Some(quiet.min(began + Duration::from_millis(CATCH_UP_MAX_MS)));
    }
}

impl Run {
    /// Handles the command's events until the last one. Output is reported as drained once it has reached its destination.
    pub(super) async fn follow(&mut self, exec: &mut sandbox::Exec, sandbox: &Sandbox) -> Ended {
        let keeper = Keeper::new(sandbox.clone(), &self.exec_id);
        let language = self.service.language(self.user.id);
        let mut output = Output::new(Arc::clone(&self.slot.transcript), keeper, language);
        let started = Instant::now();
        let snapshot_interval = Duration::from_millis(SNAPSHOT_INTERVAL_MS);
        let mut snapshots = interval_at(started + snapshot_interval, snapshot_interval);
        snapshots.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut catch_up = CatchUp::default();
        let last = loop {
            let due = if self.is_live { output.due() } else { catch_up.due };
            let event = tokio::select! {
                event = exec.next() => event,
                () = sleep_until(due.unwrap_or(started)), if due.is_some() => {
                    if self.is_live {
                        self.tell(output.take_live());
                    } else {
                        output.forget_live();
                        self.go_live().await;
                    }
                    continue;
                }
                _ = snapshots.tick(), if self.is_live => {
                    self.store_snapshot().await;
                    continue;
                }
            };
            if let Some(event) = &event {
                execs::seen(event);
            }
            match event {
                Some(ExecEvent::Stdout(bytes)) => {
                    self.tell(output.push(Channel::Stdout, &bytes).await);
                    exec.consumed(bytes.len());
                }
                Some(ExecEvent::Stderr(bytes)) => {
                    self.tell(output.push(Channel::Stderr, &bytes).await);
                    exec.consumed(bytes.len());
                }
                Some(ExecEvent::Gap { stderr, bytes }) => {
                    let channel = if stderr { Channel::Stderr } else { Channel::Stdout };
                    self.tell(output.push_gap(channel, bytes).await);
                }
                Some(ExecEvent::Started { .. } | ExecEvent::Exited(..)) => {}
                Some(ExecEvent::Interrupted) => {
                    self.note_absence(sandbox.place()).await;
                    continue;
                }
                Some(ExecEvent::Resumed) => {
                    self.show_without_note().await;
                    continue;
                }
                last @ (Some(ExecEvent::Finished(_) | ExecEvent::Failed(_)) | None) => break last,
            }
            catch_up.note(Instant::now());
        };
        self.finish(output, last, sandbox, started).await
    }

    async fn finish(
        &self,
        mut output: Output,
        last: Option<ExecEvent>,
        sandbox: &Sandbox,
        started: Instant,
    ) -> Ended {
        // For a command that an earlier run of the server sent, the start time is unknown here.
        let elapsed = matches!(self.begin, Begin::Send(_)).then(|| started.elapsed());
        let (mut ending, duration, result_at) = match last {
            Some(ExecEvent::Finished(outcome)) => {
                let ending = self.explained(Ending::of(&outcome));
                (ending, Some(outcome.duration), Some(sandbox.clone()))
            }
            Some(ExecEvent::Failed(error)) => (Ending::failed(&error), elapsed, None),
            _ => (
                Ending::refused("protocol", "the sandbox gave no answer; run the command again"),
                elapsed,
                None,
            ),
        };
        self.tell(output.take_live());
        let finished = output.finish(sandbox.place()).await;
        if finished.path.is_some() {
            let (sandbox, stop) = (sandbox.clone(), self.service.stops.of(self.user.id));
            self.service.tasks.spawn(tidy::remove_oldest(sandbox, stop));
        }
        let (outcome, counted) = (&mut ending.outcome, finished.counted);
        outcome.stdout_bytes = outcome.stdout_bytes.max(counted.stdout_bytes);
        outcome.stderr_bytes = outcome.stderr_bytes.max(counted.stderr_bytes);
        outcome.output_path = finished.path;
        outcome.truncated |= counted.has_gap || finished.lost_some;
        Ended { ending, text: finished.text, duration, result_at }
    }

    /// From now on, the command's output is sent as it arrives.
    async fn go_live(&mut self) {
        self.is_live = true;
        self.slot.shown_by(self.message.id);
        self.show_without_note().await;
    }

    async fn note_absence(&mut self, place: &str) {
        let note = format!(
            "{place} is not connected right now; the command continues there, and its output appears here once the \
             connection is back"
        );
        self.document.error = Some(self.service.in_words_of(self.user.id, &note));
        self.show_so_far().await;
    }

    async fn show_without_note(&mut self) {
        self.document.error = None;
        self.show_so_far().await;
    }

    fn tell(&self, told: OutputPieces) {
        if !self.is_live {
            return;
        }
        for (channel, text) in told {
            let (chat, message) = (self.message.chat.clone(), self.message.id);
            self.service.tell(self.user.id, ChatEvent::Output { chat, message, channel, text, at: 0 });
        }
    }
}
