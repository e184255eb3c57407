//! Following an exec to its end on its machine, without its output, however often that machine becomes unreachable.

use std::time::Duration;

use sandbox::{
    AckMode, AttachOptions, ErrorKind, Exec, ExecControl, ExecEvent, ExecOutcome, RouteError, Sandbox,
    SandboxError, SandboxRouter,
};
use store::{ExecId, Store, User};
use tokio::time::{Instant, sleep, sleep_until, timeout_at};

use crate::limits::PLACE_LOOK;
use crate::{route_request, sandbox_user, seen};

/// An exec on record, and its user.
#[derive(Clone, Copy, Debug)]
pub struct Followed<'a> {
    /// The store that has the exec's record.
    pub store: &'a Store,
    /// The router to the machines.
    pub router: &'a SandboxRouter,
    /// The exec's user.
    pub user: &'a User,
    /// The name of the place that the exec was sent to.
    pub place: Option<&'a str>,
    /// The exec's id.
    pub id: &'a ExecId,
}

/// A periodic check of an exec while it is followed.
pub struct Tended<'a> {
    /// The interval of the checks.
    pub every: Duration,
    /// Checks the exec; the control can end it.
    pub look: &'a (dyn Fn(&ExecControl) + Sync),
}

impl Followed<'_> {
    /// Waits until the machine that the exec was sent to can be reached. Any obstacle may be temporary, unless the machine no longer exists.
    ///
    /// # Errors
    /// [`SandboxError::Lost`] if the machine cannot be reached before `until`, or no longer exists.
    pub async fn available(&self, until: Instant) -> Result<Sandbox, SandboxError> {
        let mut events = self.router.subscribe();
        loop {
            match route_request(self.store, self.user.id, self.place).await {
                Ok(route_request) => {
                    match self.router.for_user_at_once(&sandbox_user(self.user), &route_request).await {
                        Ok(sandbox) => return Ok(sandbox),
                        Err(error) if is_gone(&error) => return Err(self.lost()),
                        Err(_) => {}
                    }
                }
                Err(error) => tracing::warn!(%error, "cannot find out where an exec runs; trying again"),
            }
            // Any event may mean that the machine is back; it is also checked now and then without one.
            let news = async {
                tokio::select! {
                    _ = events.recv() => {}
                    () = sleep(PLACE_LOOK) => {}
                }
            };
            timeout_at(until, news).await.map_err(|_| self.lost())?;
        }
    }

    /// Waits until the exec ends; its machine may be unreachable for `away` at a time.
    ///
    /// # Errors
    /// [`SandboxError::Lost`] if the machine does not come back, or has no record of the exec; other errors of the machine.
    pub async fn end(&self, away: Duration, tended: Option<Tended<'_>>) -> Result<ExecOutcome, SandboxError> {
        let mut away_since = None;
        loop {
            let sandbox = self.available(away_since.take().unwrap_or_else(Instant::now) + away).await?;
            let options = AttachOptions { output: false, acks: AckMode::Manual };
            match sandbox.attach(sandbox_id(self.id), 0, options).await {
                Ok(exec) => match self.watch(exec, tended.as_ref(), &mut away_since).await {
                    // The link was given up; within the limit, wait for another one and attach again.
                    Err(SandboxError::Lost { .. }) if away_since.is_some() => {}
                    // The machine became unreachable before it could be asked; wait for it again.
                    Err(SandboxError::Offline { .. }) => {}
                    Err(error) if is_busy(&error) => sleep(PLACE_LOOK).await,
                    Err(error) if ["no_such_exec", "expired"].contains(&error.kind()) => {
                        return Err(self.lost());
                    }
                    ended => return ended,
                },
                Err(SandboxError::Offline { .. }) => {}
                Err(error) if is_busy(&error) => sleep(PLACE_LOOK).await,
                Err(error) => return Err(error),
            }
        }
    }

    async fn watch(
        &self,
        mut exec: Exec,
        tended: Option<&Tended<'_>>,
        away_since: &mut Option<Instant>,
    ) -> Result<ExecOutcome, SandboxError> {
        let control = exec.control();
        let mut due = Instant::now();
        loop {
            let look = async {
                match tended {
                    Some(tended) => {
                        sleep_until(due + tended.every).await;
                        tended
                    }
                    None => std::future::pending().await,
                }
            };
            let event = tokio::select! {
                event = exec.next() => event,
                tended = look => {
                    due = Instant::now();
                    (tended.look)(&control);
                    continue;
                }
            };
            if let Some(event) = &event {
                seen(event);
            }
            match event {
                Some(ExecEvent::Finished(outcome)) => return Ok(outcome),
                Some(ExecEvent::Failed(error)) => return Err(error),
                Some(ExecEvent::Interrupted) => *away_since = Some(Instant::now()),
                Some(ExecEvent::Resumed) => *away_since = None,
                Some(_) => {}
                None => return Err(self.lost()),
            }
        }
    }

    fn lost(&self) -> SandboxError {
        SandboxError::Lost { runner: self.place.unwrap_or_default().to_owned() }
    }
}

/// True if a place will not come back by itself: it is no longer registered, or it is disabled.
fn is_gone(error: &RouteError) -> bool {
    match error {
        RouteError::UnknownRunner { .. } | RouteError::NoRunner | RouteError::DockerDisabled => true,
        RouteError::Offline { .. }
        | RouteError::Several { .. }
        | RouteError::DockerUnavailable { .. }
        | RouteError::ImageNotPulled { .. }
        | RouteError::Refused { .. }
        | RouteError::LocalRefused { .. }
        | RouteError::LocalUnavailable { .. } => false,
    }
}

/// True if the only obstacle is that a runner is too busy at the moment.
fn is_busy(error: &SandboxError) -> bool {
    matches!(error, SandboxError::Remote { kind: ErrorKind::Busy, .. })
}

/// An exec's id on its machine.
pub fn sandbox_id(id: &ExecId) -> sandbox::ExecId {
    id.to_string().parse().expect("an id on record is 32 hexadecimal digits, as was checked on arrival")
}
