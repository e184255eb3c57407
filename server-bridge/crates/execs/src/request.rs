//! A client's request: a command from the request to the record.

use std::time::Duration;

use sandbox::Sandbox;
use store::{Exec, ExecId, ExecKind, ExecRequest, ExecStart, User};
use tokio_util::sync::CancellationToken;

use crate::{Error, Ledger, Result};

/// A client's command.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// The exec's id, which the client chose.
    pub exec_id: &'a ExecId,
    /// The kind of client that asks.
    pub kind: ExecKind,
    /// Distinguishes a repetition of a request from a different one with the same id: see [`crate::document_hash`].
    pub hash: &'a str,
    /// The place where the command is to run; `None` for the user's active place.
    pub on: Option<&'a str>,
    /// The command in the form that people read.
    pub shown: &'a str,
    /// The user account on the machine that the command is to run as, if the client names one.
    pub run_as: Option<&'a str>,
    /// True if the command continues after its client has left.
    pub goes_on: bool,
    /// How long the command continues without a client; only a terminal has this.
    pub linger: Option<Duration>,
}

/// The result of a request.
#[derive(Debug)]
pub enum Begun {
    /// The exec is on record and is to be sent to this sandbox.
    New(Sandbox),
    /// The same request was made before.
    Known(Box<Exec>),
}

impl Ledger {
    /// Finds a place for a command and puts it on record before it is sent. A refusal is audited here, everything else when the command
    /// ends. Nothing begins once `stopping` is cancelled.
    ///
    /// # Errors
    /// [`Error::Conflict`]; [`Error::Stopping`]; [`Error::Route`]; [`Error::Store`].
    pub async fn request(
        &self,
        user: &User,
        request: &Request<'_>,
        stopping: &CancellationToken,
    ) -> Result<Begun> {
        // A repetition is sent to the place of the first request, even if another place is active now.
        if let Some(known) = self.known(user.id, request.exec_id).await? {
            if known.request_hash == request.hash {
                return Ok(Begun::Known(Box::new(known)));
            }
            let error = Error::Conflict(known.exec_id.to_string());
            self.note_refusal(user, known.runner.as_deref(), request.shown, &error).await;
            return Err(error);
        }
        let (place, begun) = match self.sandbox(user, request.on).await {
            Ok(sandbox) => {
                let place = sandbox.place().to_owned();
                (Some(place), self.put_on_record(user, request, sandbox, stopping).await)
            }
            Err(error) => (self.place_asked_for(user, request.on).await, Err(error)),
        };
        if let Err(error) = &begun {
            self.note_refusal(user, place.as_deref(), request.shown, error).await;
        }
        begun
    }

    async fn put_on_record(
        &self,
        user: &User,
        request: &Request<'_>,
        sandbox: Sandbox,
        stopping: &CancellationToken,
    ) -> Result<Begun> {
        // A command begins before the shutdown, or not at all.
        if stopping.is_cancelled() {
            return Err(Error::Stopping);
        }
        let start = ExecRequest {
            exec_id: request.exec_id.clone(),
            kind: request.kind,
            user: user.id,
            chat: None,
            message: None,
            request_hash: request.hash.to_owned(),
            runner: Some(sandbox.place().to_owned()),
            command: sandbox.shown_as(request.run_as, request.shown),
            audited: None,
            detached: request.goes_on,
            linger_ms: request.linger.map(|linger| i64::try_from(linger.as_millis()).unwrap_or(i64::MAX)),
        };
        match self.begin(&start).await? {
            ExecStart::New => Ok(Begun::New(sandbox)),
            ExecStart::Existing(known) => Ok(Begun::Known(known)),
        }
    }

    /// The place that a user without a sandbox asked for, for the audit trail: the one named by `on`, else their active one; `None` if
    /// there is neither.
    pub async fn place_asked_for(&self, user: &User, on: Option<&str>) -> Option<String> {
        match on {
            Some(name) => Some(name.to_owned()),
            // If the active runner cannot be read, the refusal is recorded without a place.
            None => self.store().active_runner(user.id).await.ok().flatten(),
        }
    }

    async fn note_refusal(&self, user: &User, place: Option<&str>, shown: &str, error: &Error) {
        if let Err(error) = self.refused(user, place, shown, error.kind()).await {
            tracing::error!(%error, "cannot write the audit trail");
        }
    }
}
