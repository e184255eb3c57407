//! [`Ledger`]: beginning and ending an exec.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sandbox::{Exec, Sandbox, SandboxRouter};
use store::{
    AuditEntry, ChatId, ExecEnd, ExecEnded, ExecId, ExecRequest, ExecStart, ExecStatus, Message, MessageId,
    Store, User, UserId,
};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::attendance::Attendance;
use crate::correct::corrected;
use crate::follow::{Followed, sandbox_id};
use crate::stops::Stops;
use crate::{Ending, Point, fault};

/// The audit trail's name for the end of an exec.
const AUDIT_ACTION: &str = "exec";

/// The life of every exec of a server. Cheap to clone; every clone is the same ledger.
#[derive(Clone, Debug)]
pub struct Ledger(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    store: Store,
    router: SandboxRouter,
    attendance: Attendance,
    watched: Mutex<HashMap<(UserId, ExecId), usize>>,
    tasks: TaskTracker,
    stops: Stops,
}

/// How an exec ended, with everything to record about it.
#[derive(Clone, Copy, Debug)]
pub struct End<'a> {
    /// The exec's user.
    pub user: &'a User,
    /// The exec's id.
    pub exec_id: &'a ExecId,
    /// The place where the exec ran or was to run, by the name that users see.
    pub place: Option<&'a str>,
    /// The command, as the audit trail shows it.
    pub shown: &'a str,
    /// How the exec ended.
    pub ending: &'a Ending,
    /// The new state of the message that shows the exec, if there is one.
    pub message: Option<ShownEnd<'a>>,
}

/// The new state of a message that shows an exec.
#[derive(Clone, Copy, Debug)]
pub struct ShownEnd<'a> {
    /// The message's id.
    pub id: MessageId,
    /// The message's text.
    pub text: &'a str,
    /// The message's document.
    pub document: &'a str,
}

/// The proof that an exec's end is on record. Only [`Ledger::end`] makes one, and only this type can acknowledge a result: if a runner
/// discarded a result that is not on record yet, it would be lost.
#[derive(Debug)]
#[must_use = "its runner keeps the result until it is acknowledged"]
pub struct Recorded {
    exec_id: ExecId,
    /// The changes made by this call.
    pub ended: ExecEnded,
}

/// Held by the code that serves an exec until it ends.
#[derive(Debug)]
pub struct Watch {
    ledger: Ledger,
    key: (UserId, ExecId),
}

impl Ledger {
    /// A ledger over this store and router.
    pub fn new(store: Store, router: SandboxRouter) -> Self {
        Self(Arc::new(Shared {
            stops: Stops::new(store.is_node()),
            store,
            router,
            attendance: Attendance::default(),
            watched: Mutex::default(),
            tasks: TaskTracker::new(),
        }))
    }

    /// The count of clients that each exec has at the moment.
    pub fn attendance(&self) -> &Attendance {
        &self.0.attendance
    }

    /// Puts an exec on record before it is sent; or returns the exec that the same request began earlier.
    ///
    /// # Errors
    /// [`store::Error::Conflict`] for another request under the same id; [`store::Error::Database`].
    pub async fn begin(&self, request: &ExecRequest) -> store::Result<ExecStart> {
        fault(Point::BeforeRecord);
        let start = self.0.store.start_exec(request).await?;
        fault(Point::AfterRecord);
        Ok(start)
    }

    /// Like [`Ledger::begin`] for a new exec, shown by a new message of a chat with this document.
    ///
    /// # Errors
    /// As for [`Store::start_shown_exec`].
    pub async fn begin_shown(
        &self,
        request: &ExecRequest,
        chat: &ChatId,
        document: &str,
    ) -> store::Result<Message> {
        fault(Point::BeforeRecord);
        let message = self.0.store.start_shown_exec(request, chat, document).await?;
        fault(Point::AfterRecord);
        Ok(message)
    }

    /// Records how an exec ended: its row, its audit entry and its message together, as soon as the database can be reached. If its end
    /// is on record already, nothing is changed, except that a lost exec may still be corrected.
    ///
    /// # Errors
    /// [`store::Error::NotFound`] for an exec that was removed with its user; others as for [`Store::end_exec`].
    pub async fn end(&self, end: End<'_>) -> store::Result<Recorded> {
        fault(Point::BeforeEnd);
        let End { user, exec_id, place, shown, ending, message } = end;
        let audit = AuditEntry {
            user: Some(user.name.clone()),
            action: AUDIT_ACTION.to_owned(),
            location: place.map(str::to_owned),
            target: shown.to_owned(),
            outcome: ending.audit_word(),
        };
        let message = message.map(|message| store::ShownEnd {
            id: message.id,
            text: message.text,
            document_json: message.document,
        });
        let end = ExecEnd { user: user.id, exec_id, outcome: &ending.outcome, audit: &audit, message };
        // The end that a machine reported must not be lost while the database cannot be reached, so the write is retried.
        let ended = store::until_done(|| self.0.store.end_exec(end, || fault(Point::BeforeCommit))).await?;
        fault(Point::AfterEnd);
        Ok(Recorded { exec_id: exec_id.clone(), ended })
    }

    /// Like [`Ledger::end`] for an exec of which only the record is known. A message that shows it is corrected as well.
    ///
    /// # Errors
    /// As for [`Ledger::end`].
    pub async fn end_of_record(
        &self,
        user: &User,
        record: &store::Exec,
        ending: &Ending,
    ) -> store::Result<Recorded> {
        let shown = match record.message {
            Some(id) => self.0.store.message(user.id, id).await.ok(),
            None => None,
        };
        let document = shown.as_ref().and_then(|message| message.document_json.as_deref());
        let document = document.and_then(|document| corrected(document, &ending.outcome));
        let message = shown.as_ref().zip(document.as_deref());
        self.end(End {
            user,
            exec_id: &record.exec_id,
            place: record.runner.as_deref(),
            shown: record.audited(),
            ending,
            message: message.map(|(message, document)| ShownEnd {
                id: message.id,
                text: &message.text,
                document,
            }),
        })
        .await
    }

    /// Adds an audit entry, and no row, for a command that was refused before it became an exec.
    ///
    /// # Errors
    /// [`store::Error::Database`].
    pub async fn refused(
        &self,
        user: &User,
        place: Option<&str>,
        shown: &str,
        kind: &str,
    ) -> store::Result<()> {
        let entry = AuditEntry {
            user: Some(user.name.clone()),
            action: AUDIT_ACTION.to_owned(),
            location: place.map(str::to_owned),
            target: shown.to_owned(),
            outcome: kind.to_owned(),
        };
        self.0.store.append_audit(&entry).await.map(drop)
    }

    /// Declares that the caller serves this exec to its end, until the returned watch is dropped.
    pub fn watch(&self, user: UserId, exec_id: &ExecId) -> Watch {
        let key = (user, exec_id.clone());
        *self.watched().entry(key.clone()).or_default() += 1;
        Watch { ledger: self.clone(), key }
    }

    /// True if an exec is being served to its end. Code that only looks at the exec must not record a guess: a viewer's link gives up
    /// sooner than the ledger does.
    pub fn is_watched(&self, user: UserId, exec_id: &ExecId) -> bool {
        self.watched().contains_key(&(user, exec_id.clone()))
    }

    /// An exec on record, ready to be followed.
    pub fn followed<'a>(&'a self, user: &'a User, record: &'a store::Exec) -> Followed<'a> {
        let (store, router, place) = (&self.0.store, &self.0.router, record.runner.as_deref());
        Followed { store, router, user, place, id: &record.exec_id }
    }

    /// Stops following execs at once; the server's next run continues with them.
    pub fn stop(&self) {
        self.0.stops.all().cancel();
    }

    /// Like [`Ledger::stop`], and waits until nothing is followed any more.
    pub async fn shutdown(&self) {
        self.stop();
        self.0.tasks.close();
        self.0.tasks.wait().await;
    }

    pub(crate) fn store(&self) -> &Store {
        &self.0.store
    }

    pub(crate) fn router(&self) -> &SandboxRouter {
        &self.0.router
    }

    pub(crate) fn followers(&self) -> &TaskTracker {
        &self.0.tasks
    }

    /// True if the server is stopping, or is no longer this user's home, which may be why the exec ends now.
    pub fn is_stopping(&self, user: UserId) -> bool {
        self.0.stops.is_stopping(user)
    }

    /// Cancelled when the server stops, or is no longer this user's home.
    pub fn stopped(&self, user: UserId) -> CancellationToken {
        self.0.stops.of(user)
    }

    /// Stops following a user's execs at once; the user's next home continues with them.
    pub fn end_user(&self, user: UserId) {
        self.0.stops.end(user);
    }

    /// Allows a user's execs to be followed again.
    pub fn begin_user(&self, user: UserId) {
        self.0.stops.begin(user);
    }

    /// True while any exec of a user is being served to its end.
    pub fn is_watching(&self, user: UserId) -> bool {
        self.watched().keys().any(|(watched, _)| *watched == user)
    }

    fn watched(&self) -> MutexGuard<'_, HashMap<(UserId, ExecId), usize>> {
        // Each change is a single step, so the data stays consistent if another thread panics.
        self.0.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Recorded {
    /// Allows the runner to discard the result and its output.
    #[expect(clippy::disallowed_methods, reason = "the end is on record: this is the one place that may")]
    pub fn acknowledge(&self, exec: &Exec) {
        exec.acknowledge();
        fault(Point::Acknowledged);
    }

    /// Like [`Recorded::acknowledge`], for an exec whose events are no longer read.
    #[expect(clippy::disallowed_methods, reason = "the end is on record: this is the one place that may")]
    pub fn acknowledge_at(&self, sandbox: &Sandbox) {
        sandbox.acknowledge(sandbox_id(&self.exec_id));
        fault(Point::Acknowledged);
    }

    /// True if this call recorded the end.
    pub fn is_new(&self) -> bool {
        self.ended != ExecEnded::Before
    }

    /// The message that shows the exec, if this call changed it.
    pub fn message(&self) -> Option<&Message> {
        match &self.ended {
            ExecEnded::Now(message) | ExecEnded::Corrected(message) => message.as_ref(),
            ExecEnded::Before => None,
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut watched = self.ledger.watched();
        if let Some(count) = watched.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                watched.remove(&self.key);
            }
        }
    }
}

/// True if an exec with this status may still end: it is running, or its state is unknown.
pub fn is_open(status: ExecStatus) -> bool {
    matches!(status, ExecStatus::Running | ExecStatus::Lost)
}
