//! Continues a command that began in an earlier run of the server.

use std::time::Duration;

use execs::follow::sandbox_id;
use sandbox::{AckMode, AttachOptions, ErrorKind, RouteError, Sandbox};
use store::ExecStatus;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{Instant, sleep, timeout_at};

use super::run::{Ended, Run};
use crate::limits::{RECOVER_NOTE_MS, RECOVER_RETRY_MS, RECOVER_TIMEOUT_S};
use execs::Ending;

impl Run {
    /// Waits for the command's place, and follows the command from the beginning of its output to its end; `None` if it was left to the
    /// next run of the server once more.
    pub(super) async fn go_on(&mut self, was_routed: bool) -> Option<Ended> {
        if !was_routed {
            return Some(self.lost("it is not known whether it began"));
        }
        let id = sandbox_id(&self.exec_id);
        let deadline = Instant::now() + Duration::from_secs(RECOVER_TIMEOUT_S);
        let (stop, command) = (self.service.stops.of(self.user.id), self.command.clone());
        loop {
            let routed = tokio::select! {
                biased;
                () = stop.cancelled() => return None,
                routed = timeout_at(deadline, self.reach()) => routed,
            };
            let sandbox = match routed {
                Ok(Ok(sandbox)) => sandbox,
                Ok(Err(error)) => return Some(self.lost(&error.to_string())),
                Err(_) => {
                    let place = self.document.runner.as_deref().unwrap_or("its runner");
                    let minutes = RECOVER_TIMEOUT_S / 60;
                    return Some(self.lost(&format!("{place} did not come back within {minutes} min")));
                }
            };
            self.command = sandbox.shown_as(None, &command);
            let options = AttachOptions { output: true, acks: AckMode::Manual };
            let ended = match sandbox.attach(id, 0, options).await {
                Ok(exec) => self.accompany(exec, &sandbox).await?,
                Err(error) => Ended::without_output(Ending::failed(&error)),
            };
            if !was_not_asked(&ended.ending) || Instant::now() >= deadline {
                return Some(self.without_a_doubt(ended));
            }
            tokio::select! {
                () = stop.cancelled() => return None,
                () = sleep(Duration::from_millis(RECOVER_RETRY_MS)) => {}
            }
        }
    }

    /// The place where the command runs, once it can be reached. Until then, the message shows the reason for the wait.
    async fn reach(&mut self) -> Result<Sandbox, RouteError> {
        let user = execs::sandbox_user(&self.user);
        let router = self.service.router.clone();
        let mut events = router.subscribe();
        let mut note = std::pin::pin!(sleep(Duration::from_millis(RECOVER_NOTE_MS)));
        let mut is_noted = false;
        loop {
            let runner = match router.for_user_at_once(&user, &self.route_request).await {
                Err(RouteError::Offline { runner }) => runner,
                routed => return routed,
            };
            tokio::select! {
                event = events.recv() => match event {
                    // Checking after any event is cheap; a missed event may have been the one that matters.
                    Ok(_) | Err(RecvError::Lagged(_)) => {}
                    Err(RecvError::Closed) => return Err(RouteError::Offline { runner }),
                },
                () = &mut note, if !is_noted => {
                    is_noted = true;
                    let note = format!(
                        "the server was restarted while this ran; it continues here as soon as {runner} is connected again"
                    );
                    self.document.error = Some(self.service.in_words_of(self.user.id, &note));
                    self.show_so_far().await;
                }
            }
        }
    }

    /// The end of a command that could not be followed: it counts as lost, and its message shows the stored output if that is longer.
    fn without_a_doubt(&self, ended: Ended) -> Ended {
        let mut ended = match ended.ending.outcome.status {
            ExecStatus::Failed => {
                let error = ended.ending.outcome.error.as_deref().unwrap_or("no reason was given");
                let why = match ended.ending.error_kind() {
                    Some(kind) if kind == ErrorKind::NoSuchExec.name() => "its runner no longer knows it",
                    Some(kind) if kind == ErrorKind::Expired.name() => "its runner no longer has its result",
                    _ => error,
                };
                let why = lost_by_restart(why);
                Ended { ending: ended.ending.lost(why), ..ended }
            }
            _ => ended,
        };
        if ended.ending.outcome.status == ExecStatus::Lost && ended.text.len() < self.message.text.len() {
            ended.text.clone_from(&self.message.text);
        }
        ended
    }

    fn lost(&self, why: &str) -> Ended {
        let ending = Ending::refused(ExecStatus::Lost.as_str(), lost_by_restart(why));
        Ended { text: self.message.text.clone(), ..Ended::without_output(ending) }
    }
}

/// True if the runner was not asked, so that it can be asked again.
fn was_not_asked(ending: &Ending) -> bool {
    ending.error_kind().is_some_and(|kind| kind == "offline" || kind == ErrorKind::Busy.name())
}

fn lost_by_restart(why: &str) -> String {
    format!("the server was restarted while this ran, and {why}; look at the machine before running it again")
}
