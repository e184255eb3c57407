//! Execs that no client's socket records: detached ones, and those of an earlier life of the server.
//!
//! Such an exec is followed without its output. An attached one that no client came back to is cancelled once its runner
//! is there and 10 s have passed; time without a server does not count. So is a terminal that nobody has looked at for as long
//! as it lingers.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use agent::Ending;
use agent::follow::Tended;
use sandbox::ExecControl;
use store::User;

use super::Ended;
use super::attach::followed;
use crate::limits::{EXEC_AWAY_TIMEOUT, EXEC_CLIENT_GRACE, TERMINAL_CHECK_INTERVAL};
use crate::state::AppState;

/// Follows every exec that an earlier life of the server left behind, but for those of chats. For a server's start.
///
/// # Errors
/// [`store::Error::Database`].
pub async fn recover(state: &AppState) -> store::Result<()> {
    for record in state.store.running_execs().await? {
        if record.message.is_none() {
            state.tasks.spawn(follow(state.clone(), record));
        }
    }
    Ok(())
}

/// Waits for an exec's end and records it; gives up where the server stops, as its next life goes on.
pub(super) async fn follow(state: AppState, record: store::Exec) {
    let followed = tokio::select! {
        followed = end_of(&state, &record) => followed,
        () = state.shutdown.cancelled() => return,
    };
    if let Some(ended) = followed {
        record_end(&state, &record, &ended).await;
    }
}

async fn end_of(state: &AppState, record: &store::Exec) -> Option<Ended> {
    let user = match state.store.user_by_id(record.user).await {
        Ok(Some(user)) => user,
        // Nobody is there to be told.
        Ok(None) => return None,
        Err(error) => {
            tracing::error!(%error, "cannot look for whose exec it is");
            return None;
        }
    };
    let has_client = || state.attendance.has_client(record.user, &record.exec_id);
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
        None => Some(Tended { every: EXEC_CLIENT_GRACE, look: &end_alone }),
    };
    Some(match followed(state, &user, record).end(time_away(linger), tended).await {
        Ok(outcome) => Ended::Finished(outcome),
        Err(error) => Ended::Failed(error),
    })
}

/// How long a terminal goes on without anybody who looks at it.
pub(super) fn linger(record: &store::Exec) -> Option<Duration> {
    record.linger_ms.map(|linger_ms| Duration::from_millis(linger_ms.unsigned_abs()))
}

/// How long an exec's runner may be away before the exec counts as lost: a terminal goes on there, and is ended where nobody
/// came to it, as long as it lingers.
pub(super) fn time_away(linger: Option<Duration>) -> Duration {
    linger.unwrap_or_default().max(EXEC_AWAY_TIMEOUT)
}

/// Puts the end of an exec on record that its client did not see.
pub(super) async fn record_end(state: &AppState, record: &store::Exec, ended: &Ended) {
    let user = match state.store.user_by_id(record.user).await {
        Ok(Some(user)) => user,
        Ok(None) => return,
        Err(error) => return tracing::error!(%error, "cannot record how an exec ended"),
    };
    let place = record.runner.as_deref().unwrap_or_default();
    put_end_on_record(state, &user, &record.exec_id, place, &record.command, &ended.ending()).await;
}

/// Tells the store and the audit trail how an exec ended; what was told before stays.
pub(super) async fn put_end_on_record(
    state: &AppState,
    user: &User,
    exec_id: &store::ExecId,
    place: &str,
    shown: &str,
    ending: &Ending,
) {
    match state.store.finish_exec(user.id, exec_id, &ending.outcome).await {
        Ok(true) => {
            let word = ending.audit_word();
            state.audit(Some(&user.name), "exec", Some(place), shown, &word).await;
        }
        Ok(false) => {}
        Err(error) => tracing::error!(%error, %exec_id, "cannot record how an exec ended"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::TERMINAL_LINGER;

    #[test]
    fn a_terminals_runner_may_be_away_as_long_as_it_lingers() {
        assert_eq!(time_away(None), EXEC_AWAY_TIMEOUT);
        assert_eq!(time_away(Some(Duration::from_secs(2))), EXEC_AWAY_TIMEOUT);
        assert_eq!(time_away(Some(TERMINAL_LINGER)), TERMINAL_LINGER);
    }
}
