//! An exec of an extension on a user's machine, from its record to its end.

use execs::{End, Ending, Ledger};
use sandbox::{Exec, ExecRequest};
use store::{ChatId, ExecId, ExecKind, User};

/// An exec that is recorded and about to be sent.
pub(crate) struct OnRecord {
    ledger: Ledger,
    user: User,
    exec_id: ExecId,
    place: String,
    shown: String,
    /// While this is held, no other code reports the end.
    _watch: execs::Watch,
}

impl OnRecord {
    /// Records a request. `command` is what runs, and `shown` is the description that the audit trail gets.
    pub(crate) async fn begin(
        ledger: &Ledger,
        user: &User,
        chat: Option<&ChatId>,
        request: &ExecRequest,
        place: &str,
        command: String,
        shown: String,
    ) -> store::Result<Self> {
        let exec_id = ExecId::from_bytes(request.exec_id.0);
        let start = store::ExecRequest {
            exec_id: exec_id.clone(),
            kind: ExecKind::Tool,
            user: user.id,
            chat: chat.cloned(),
            message: None,
            request_hash: execs::request_hash(Some(place), &command),
            runner: Some(place.to_owned()),
            command,
            audited: Some(shown.clone()),
            detached: false,
            linger_ms: None,
        };
        ledger.begin(&start).await?;
        let watch = ledger.watch(user.id, &exec_id);
        let (ledger, user, place) = (ledger.clone(), user.clone(), place.to_owned());
        Ok(Self { ledger, user, exec_id, place, shown, _watch: watch })
    }

    /// Records its end, and acknowledges the result if the exec ran to its end.
    pub(crate) async fn end(&self, ending: &Ending, exec: Option<&Exec>) {
        let Self { ledger, user, exec_id, place, shown, .. } = self;
        let end = End { user, exec_id, place: Some(place), shown, ending, message: None };
        match (ledger.end(end).await, exec) {
            (Ok(recorded), Some(exec)) => recorded.acknowledge(exec),
            (Ok(_), None) => {}
            (Err(error), _) => tracing::error!(%error, "the end of {shown} could not be recorded"),
        }
    }
}
