//! The ends of execs, as clients' sockets and requests put them on record.

use execs::Ending;
use execs::Recorded;
use store::User;

use crate::state::AppState;

/// Puts an exec's end on record with its audit entry and its message, and tells the user's clients of the latter; what was told
/// before stays. `None` where it could not be recorded.
pub(super) async fn put_end_on_record(
    state: &AppState,
    user: &User,
    record: &store::Exec,
    ending: &Ending,
) -> Option<Recorded> {
    match state.chats.execs().end_of_record(user, record, ending).await {
        Ok(recorded) => {
            state.chats.tell_ended(user.id, &recorded);
            Some(recorded)
        }
        // It is gone with its user.
        Err(store::Error::NotFound { .. }) => None,
        Err(error) => {
            let id = &record.exec_id;
            tracing::error!(%error, %id, "cannot record how an exec ended; the next start of the server does");
            None
        }
    }
}
