//! Reading and ending execs on record.

use sandbox::{ExecReport, Sandbox};
use store::{AuditEntry, ChatId, Exec, ExecId, ExecStatus, User, UserId};

use crate::follow::sandbox_id;
use crate::ledger::is_open;
use crate::limits::LIST_MAX_ROWS;
use crate::{Ending, Error, Ledger, Recorded, Result, route_request, sandbox_user};

impl Ledger {
    /// A user's exec; `None` if none has this id, or it was removed with its user.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn known(&self, user: UserId, id: &ExecId) -> Result<Option<Exec>> {
        match self.store().exec(user, id).await {
            Ok(exec) => Ok(Some(exec)),
            Err(store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// A user's exec, by its id in text form.
    ///
    /// # Errors
    /// [`Error::UnknownExec`]; [`Error::Store`].
    pub async fn exec(&self, user: UserId, id: &str) -> Result<Exec> {
        let unknown = || Error::UnknownExec(id.to_owned());
        let parsed = ExecId::parse(id).map_err(|_| unknown())?;
        self.known(user, &parsed).await?.ok_or_else(unknown)
    }

    /// A user's execs, or only the running ones, the most recently started first; `limit` is at most [`LIST_MAX_ROWS`].
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn execs(&self, user: UserId, only_running: bool, limit: u32) -> Result<Vec<Exec>> {
        // Running execs may be listed after many that have ended.
        let read = if only_running { LIST_MAX_ROWS } else { limit };
        let mut execs = self.store().execs(user, read).await?;
        execs.retain(|exec| !only_running || exec.status == ExecStatus::Running);
        execs.truncate(limit as usize);
        Ok(execs)
    }

    /// A user's background commands, running or ended, of one chat or of all, the most recently started first; without terminals. `limit`
    /// is at most [`LIST_MAX_ROWS`].
    ///
    /// # Errors
    /// [`Error::Store`], as `not_found` for a chat that does not belong to them.
    pub async fn tasks(
        &self,
        user: UserId,
        chat: Option<&ChatId>,
        only_running: bool,
        limit: u32,
    ) -> Result<Vec<Exec>> {
        if let Some(chat) = chat {
            self.store().chat(user, chat).await?;
        }
        Ok(self.store().tasks(user, chat, only_running, limit).await?)
    }

    /// One of a user's background commands, by its id in text form.
    ///
    /// # Errors
    /// [`Error::UnknownExec`] and [`Error::UnknownTask`]; [`Error::Store`].
    pub async fn task(&self, user: UserId, id: &str) -> Result<Exec> {
        let exec = self.exec(user, id).await?;
        let is_task = exec.detached && exec.message.is_none() && exec.linger_ms.is_none();
        if is_task { Ok(exec) } else { Err(Error::UnknownTask(id.to_owned())) }
    }

    /// The sandbox for a user's request: the place named by `on`, else the one in their settings.
    ///
    /// # Errors
    /// [`Error::Route`], for the user to read; [`Error::Store`].
    pub async fn sandbox(&self, user: &User, on: Option<&str>) -> Result<Sandbox> {
        let request = route_request(self.store(), user.id, on).await?;
        Ok(self.router().for_user(&sandbox_user(user), &request).await?)
    }

    /// The sandbox that an exec was sent to.
    ///
    /// # Errors
    /// As for [`Ledger::sandbox`].
    pub async fn sandbox_of(&self, user: &User, exec: &Exec) -> Result<Sandbox> {
        self.sandbox(user, exec.runner.as_deref()).await
    }

    /// An exec's state on its machine, with `head` bytes of the beginning and `tail` bytes of the end of its output.
    ///
    /// # Errors
    /// [`Error::Route`] and [`Error::Sandbox`].
    pub async fn report(&self, user: &User, exec: &Exec, head: u32, tail: u32) -> Result<ExecReport> {
        let sandbox = self.sandbox_of(user, exec).await?;
        Ok(sandbox.exec_report(sandbox_id(&exec.exec_id), head, tail).await?)
    }

    /// Ends an exec and everything it started, at its user's request, and waits until it has ended; audited. Returns the recorded end, if
    /// this call recorded it.
    ///
    /// # Errors
    /// [`Error::Route`] and [`Error::Sandbox`], if its machine cannot be reached.
    pub async fn kill(&self, user: &User, exec: &Exec) -> Result<Option<Recorded>> {
        let recorded = if is_open(exec.status) {
            let sandbox = self.sandbox_of(user, exec).await?;
            self.cancel(&sandbox, user, exec).await?
        } else {
            None
        };
        let entry = AuditEntry {
            user: Some(user.name.clone()),
            action: "cancel".to_owned(),
            location: exec.runner.clone(),
            target: exec.command.clone(),
            outcome: "ok".to_owned(),
        };
        if let Err(error) = self.store().append_audit(&entry).await {
            tracing::error!(%error, "cannot write the audit trail");
        }
        Ok(recorded)
    }

    /// Records an exec's end as [`Ledger::end_of_record`] does; `None` if that failed, which is logged.
    pub async fn settle(&self, user: &User, exec: &Exec, ending: &Ending) -> Option<Recorded> {
        match self.end_of_record(user, exec, ending).await {
            Ok(recorded) => Some(recorded),
            // The exec was removed with its user.
            Err(store::Error::NotFound { .. }) => None,
            Err(error) => {
                let id = &exec.exec_id;
                tracing::error!(%error, %id, "cannot record how an exec ended; the server will do so at its next start");
                None
            }
        }
    }
}
