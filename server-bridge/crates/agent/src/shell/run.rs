//! Drives one command from its start to its record.

use std::convert::Infallible;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use sandbox::{ExecEvent, ExecRequest, Sandbox, Wish};
use store::{AuditEntry, ExecStatus, Message};
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep_until};

use super::keeper::Keeper;
use super::output::{Output, Told};
use super::tidy;
use super::transcript::LeftOut;
use crate::limits::{COMMAND_TIMEOUT_S, SNAPSHOT_INTERVAL_MS};
use crate::running::Slot;
use crate::service::Inner;
use crate::{Channel, ChatEvent, Ending, ExecDocument, place};

/// A command that is on record as running and shown by a message.
pub(crate) struct Run {
    pub(crate) service: Arc<Inner>,
    pub(crate) user: store::User,
    pub(crate) wish: Wish,
    pub(crate) message: Message,
    pub(crate) document: ExecDocument,
    pub(crate) exec_id: store::ExecId,
    pub(crate) request: ExecRequest,
    pub(crate) slot: Slot,
    pub(crate) command: String,
}

/// What a command came to, before it is put on record.
struct Ended {
    ending: Ending,
    text: String,
    duration: Duration,
}

impl Ended {
    fn without_output(ending: Ending) -> Self {
        Self { ending, text: String::new(), duration: Duration::ZERO }
    }
}

impl Run {
    /// Runs it to its end and records that.
    pub(crate) async fn run(mut self) {
        let ended = self.drive().await;
        self.document.duration_ms = Some(u64::try_from(ended.duration.as_millis()).unwrap_or(u64::MAX));
        let shown = Shown { user: &self.user, message: &self.message, command: &self.command };
        if let Err(error) =
            conclude(&self.service, shown, &mut self.document, &self.exec_id, &ended.ending, &ended.text)
                .await
        {
            // The chat may have been deleted meanwhile: then nobody waits for the message any more.
            tracing::warn!(%error, exec_id = %self.exec_id, "the end of a command could not be recorded");
        }
    }

    async fn drive(&mut self) -> Ended {
        let user = place::sandbox_user(&self.user);
        let cancelled = self.slot.cancelled.clone();
        let routed = tokio::select! {
            () = cancelled.cancelled() => {
                return Ended::without_output(self.explained(Ending::cancelled_before_it_began()));
            }
            routed = self.service.router.for_user(&user, &self.wish) => routed,
        };
        let sandbox = match routed {
            Ok(sandbox) => sandbox,
            Err(error) => return Ended::without_output(Ending::refused(error.kind(), &error)),
        };
        self.document.runner = Some(sandbox.place().to_owned());
        let started = Instant::now();
        let mut exec = match sandbox.exec(self.request.clone()).await {
            Ok(exec) => exec,
            Err(error) => return Ended::without_output(Ending::failed(&error)),
        };
        let control = exec.control();
        let relay = async {
            cancelled.cancelled().await;
            control.cancel();
            std::future::pending::<Infallible>().await
        };
        tokio::select! {
            never = relay => match never {},
            ended = self.follow(&mut exec, &sandbox, started) => ended,
        }
    }

    async fn follow(&self, exec: &mut sandbox::Exec, sandbox: &Sandbox, started: Instant) -> Ended {
        let keeper = Keeper::new(sandbox.clone(), &self.exec_id);
        let mut output = Output::new(Arc::clone(&self.slot.transcript), keeper);
        let snapshot_interval = Duration::from_millis(SNAPSHOT_INTERVAL_MS);
        let mut snapshots = interval_at(started + snapshot_interval, snapshot_interval);
        snapshots.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut stdout_bytes, mut stderr_bytes, mut has_gap) = (0, 0, false);
        let (mut ending, duration) = loop {
            let due = output.due();
            let event = tokio::select! {
                event = exec.next() => event,
                () = sleep_until(due.unwrap_or(started)), if due.is_some() => {
                    self.tell(output.take_live());
                    continue;
                }
                _ = snapshots.tick() => {
                    self.store_snapshot().await;
                    continue;
                }
            };
            match event {
                Some(ExecEvent::Stdout(bytes)) => {
                    stdout_bytes += bytes.len() as u64;
                    self.tell(output.push(Channel::Stdout, &bytes).await);
                }
                Some(ExecEvent::Stderr(bytes)) => {
                    stderr_bytes += bytes.len() as u64;
                    self.tell(output.push(Channel::Stderr, &bytes).await);
                }
                Some(ExecEvent::Gap { stderr, bytes }) => {
                    has_gap = true;
                    let channel = if stderr { Channel::Stderr } else { Channel::Stdout };
                    self.tell(output.push_gap(channel, bytes).await);
                }
                Some(ExecEvent::Started { .. } | ExecEvent::Exited(..)) => {}
                Some(ExecEvent::Interrupted | ExecEvent::Resumed) => {}
                Some(ExecEvent::Finished(outcome)) => {
                    break (self.explained(Ending::of(&outcome)), outcome.duration);
                }
                Some(ExecEvent::Failed(error)) => break (Ending::failed(&error), started.elapsed()),
                None => {
                    let ending = Ending::refused("protocol", "the sandbox gave no answer; run it again");
                    break (ending, started.elapsed());
                }
            }
        };
        let outcome = &mut ending.outcome;
        outcome.stdout_bytes = outcome.stdout_bytes.max(stdout_bytes);
        outcome.stderr_bytes = outcome.stderr_bytes.max(stderr_bytes);
        self.tell(output.take_live());
        let finished = output.finish(sandbox.place()).await;
        if finished.path.is_some() {
            let (sandbox, stop) = (sandbox.clone(), self.service.stop.clone());
            self.service.tasks.spawn(tidy::remove_oldest(sandbox, stop));
        }
        outcome.output_path = finished.path;
        outcome.truncated |= has_gap || finished.lost_some;
        Ended { ending, text: finished.text, duration }
    }

    /// Adds what only a chat knows of an end.
    fn explained(&self, mut ending: Ending) -> Ending {
        if ending.outcome.status == ExecStatus::TimedOut {
            ending.outcome.error = Some(format!(
                "stopped after {COMMAND_TIMEOUT_S} s, the time a command in a chat has; `sandbridge exec` has no such \
                 limit"
            ));
        }
        if self.service.is_stopping() { ending.while_the_server_stops() } else { ending }
    }

    fn tell(&self, told: Told) {
        for (channel, text) in told {
            let (chat, message) = (self.message.chat.clone(), self.message.id);
            self.service.tell(self.user.id, ChatEvent::Output { chat, message, channel, text });
        }
    }

    async fn store_snapshot(&self) {
        let text = {
            let transcript = self.slot.transcript.lock().unwrap_or_else(PoisonError::into_inner);
            transcript.render(&LeftOut::SoFar)
        };
        let document = self.document.to_json();
        let stored = self.service.store.update_message(self.user.id, self.message.id, &text, Some(&document));
        if let Err(error) = stored.await {
            tracing::debug!(%error, exec_id = %self.exec_id, "the output so far could not be stored");
        }
    }
}

/// Whose command it is and what shows it.
#[derive(Clone, Copy)]
pub(crate) struct Shown<'a> {
    pub(crate) user: &'a store::User,
    pub(crate) message: &'a Message,
    pub(crate) command: &'a str,
}

/// Puts a command's end on record: the exec, the audit trail, its message; and tells the user's clients.
pub(crate) async fn conclude(
    service: &Inner,
    shown: Shown<'_>,
    document: &mut ExecDocument,
    exec_id: &store::ExecId,
    ending: &Ending,
    text: &str,
) -> store::Result<Message> {
    document.apply(&ending.outcome);
    let user = shown.user;
    service.store.finish_exec(user.id, exec_id, &ending.outcome).await?;
    let entry = AuditEntry {
        user: Some(user.name.clone()),
        action: "exec".to_owned(),
        location: document.runner.clone(),
        target: shown.command.to_owned(),
        outcome: ending.audit_word(),
    };
    service.store.append_audit(&entry).await?;
    service.show(user.id, shown.message.id, text, document).await
}
