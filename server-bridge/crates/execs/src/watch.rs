//! Following execs whose end no client records: background ones, and those of an earlier run of the server.
//!
//! Such an exec is followed without its output. An attached one that no client came back to is cancelled once its runner can be reached
//! and 10 s have passed; time during which the server was down does not count. A terminal is cancelled likewise if it had no client for
//! as long as it lingers.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use sandbox::{AckMode, AttachOptions, ExecControl, ExecEvent, SandboxError};
use store::{Exec, ExecKind, User, UserId};
use tokio::time::timeout;

use crate::follow::{Tended, sandbox_id};
use crate::ledger::is_open;
use crate::limits::{AWAY_TIMEOUT, CLIENT_GRACE, TASK_LIFETIME, TERMINAL_CHECK_INTERVAL};
use crate::{Ending, Ledger, Recorded};

impl Ledger {
    /// Continues every exec, of a user or of all users, that an earlier run of the server left: follows each to its end, except those
    /// that a message shows, which are returned with their users. Called when the server starts, or claims the user's home.
    ///
    /// # Errors
    /// [`store::Error::Database`].
    pub async fn recover(&self, of: Option<UserId>) -> store::Result<Vec<(User, Exec)>> {
        let mut shown = Vec::new();
        for record in self.store().running_execs(of).await? {
            // The record was removed with its user.
            let Some(user) = self.store().user_by_id(record.user).await? else { continue };
            match record.message {
                Some(_) => shown.push((user, record)),
                None => self.follow(user, record),
            }
        }
        Ok(shown)
    }

    /// Waits in the background for an exec's end on its machine, and records it; stops when the server stops, because the server's next
    /// run continues it.
    pub fn follow(&self, user: User, record: Exec) {
        let watch = self.watch(user.id, &record.exec_id);
        let (ledger, stopped) = (self.clone(), self.stopped(user.id));
        self.followers().spawn(store::patiently(async move {
            let _watch = watch;
            let ending = tokio::select! {
                ending = ledger.end_of(&user, &record) => ending,
                () = stopped.cancelled() => return,
            };
            match ledger.end_of_record(&user, &record, &ending).await {
                // The output and the result stay for later readers, as long as the exec's runner keeps them.
                Ok(_recorded) => {}
                // The exec was removed with its user.
                Err(store::Error::NotFound { .. }) => {}
                Err(error) => {
                    tracing::error!(%error, id = %record.exec_id, "cannot record how an exec ended");
                }
            }
        }));
    }

    /// Like [`Ledger::follow`], for an exec of which only the id is known.
    ///
    /// # Errors
    /// As for [`store::Store::exec`].
    pub async fn follow_id(&self, user: &User, id: &store::ExecId) -> store::Result<()> {
        let record = store::patiently(self.store().exec(user.id, id)).await?;
        self.follow(user.clone(), record);
        Ok(())
    }

    /// Ends an exec and everything it started, waits for that and records it. An exec that has already ended stays as it is.
    ///
    /// # Errors
    /// The machine's own error: [`SandboxError::Offline`] if it cannot be reached.
    pub async fn cancel(
        &self,
        sandbox: &sandbox::Sandbox,
        user: &User,
        record: &Exec,
    ) -> Result<Option<Recorded>, SandboxError> {
        if !is_open(record.status) {
            return Ok(None);
        }
        let options = AttachOptions { output: false, acks: AckMode::Manual };
        let mut exec = sandbox.attach(sandbox_id(&record.exec_id), 0, options).await?;
        exec.control().cancel();
        while let Some(event) = exec.next().await {
            crate::seen(&event);
            match event {
                // There is nothing left to end; its record stays.
                ExecEvent::Failed(error)
                    if record.status == store::ExecStatus::Lost
                        && ["no_such_exec", "expired"].contains(&error.kind()) =>
                {
                    return Ok(None);
                }
                ExecEvent::Failed(error) => return Err(error),
                ExecEvent::Finished(outcome) => {
                    // The end of an exec that a message shows is recorded, with its output, by the code that serves it.
                    if record.message.is_some() && self.is_watched(user.id, &record.exec_id) {
                        return Ok(None);
                    }
                    let recorded = self.end_of_record(user, record, &Ending::of(&outcome)).await;
                    return Ok(recorded
                        .inspect_err(|error| tracing::error!(%error, "cannot record how an exec ended"))
                        .ok());
                }
                _ => {}
            }
        }
        Ok(None)
    }

    async fn end_of(&self, user: &User, record: &Exec) -> Ending {
        let has_client = || self.attendance().has_client(record.user, &record.exec_id);
        let end_alone = |control: &ExecControl| {
            if !has_client() {
                control.cancel();
            }
        };
        let linger = linger(record);
        let alone_since = Mutex::new(Some(Instant::now()));
        let end_forsaken = |control: &ExecControl| {
            let mut since = alone_since.lock().unwrap_or_else(PoisonError::into_inner);
            *since = if has_client() { None } else { since.or_else(|| Some(Instant::now())) };
            if since.zip(linger).is_some_and(|(since, linger)| since.elapsed() >= linger) {
                control.cancel();
            }
        };
        let tended = match linger {
            Some(linger) => Some(Tended { every: linger.min(TERMINAL_CHECK_INTERVAL), look: &end_forsaken }),
            None if record.detached => None,
            None => Some(Tended { every: CLIENT_GRACE, look: &end_alone }),
        };
        let followed = self.followed(user, record);
        let end = followed.end(time_away(record), tended);
        let ended = match is_task(record) {
            true => timeout(TASK_LIFETIME, end).await.ok(),
            false => Some(end.await),
        };
        match ended {
            Some(Ok(outcome)) => Ending::of(&outcome),
            Some(Err(error)) => Ending::failed(&error),
            None => Ending::refused("lost", "its runner did not reconnect"),
        }
    }
}

/// True if an exec is a background command of a model.
fn is_task(record: &Exec) -> bool {
    record.kind == ExecKind::Tool && record.detached
}

/// How long a terminal continues without a client.
fn linger(record: &Exec) -> Option<Duration> {
    record.linger_ms.map(|linger_ms| Duration::from_millis(linger_ms.unsigned_abs()))
}

/// How long an exec's runner may be unreachable before the exec counts as lost. A terminal continues on the runner, and is ended if no
/// client came for as long as it lingers.
pub fn time_away(record: &Exec) -> Duration {
    let least = if is_task(record) { TASK_LIFETIME } else { AWAY_TIMEOUT };
    linger(record).unwrap_or_default().max(least)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminals_runner_may_be_away_as_long_as_it_lingers_and_a_tasks_a_day() {
        let record = |kind, detached, linger: Option<Duration>| Exec {
            exec_id: store::ExecId::from_bytes([1; 16]),
            kind,
            user: store::UserId(1),
            chat: None,
            message: None,
            request_hash: String::new(),
            runner: None,
            command: String::new(),
            detached,
            status: store::ExecStatus::Running,
            exit_code: None,
            signal: None,
            sandbox_denied: false,
            truncated: false,
            stdout_bytes: 0,
            stderr_bytes: 0,
            output_path: None,
            error: None,
            started_at_ms: 0,
            finished_at_ms: None,
            linger_ms: linger.map(|linger| i64::try_from(linger.as_millis()).unwrap()),
            audited: None,
        };
        let day = Duration::from_secs(24 * 3600);
        for (kind, detached, linger, expected) in [
            (ExecKind::Client, false, None, AWAY_TIMEOUT),
            (ExecKind::Client, true, None, AWAY_TIMEOUT),
            (ExecKind::Terminal, true, Some(Duration::from_secs(2)), AWAY_TIMEOUT),
            (ExecKind::Terminal, true, Some(7 * day), 7 * day),
            (ExecKind::Tool, false, None, AWAY_TIMEOUT),
            (ExecKind::Tool, true, None, day),
        ] {
            assert_eq!(time_away(&record(kind, detached, linger)), expected, "{kind:?}");
        }
    }
}
