//! Execs that no client's socket records: detached ones, and those of an earlier life of the server.
//!
//! Such an exec is followed without its output. An attached one that no client came back to is cancelled once its runner
//! is there and 10 s have passed; time without a server does not count.

use agent::Ending;
use sandbox::{AckMode, AttachOptions, Exec, ExecEvent, SandboxError};
use store::User;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use super::Ended;
use super::attach::{available, exec_id};
use crate::limits::{EXEC_AWAY_TIMEOUT, EXEC_CLIENT_GRACE};
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
    loop {
        let sandbox = match available(state, &user, record, Instant::now() + EXEC_AWAY_TIMEOUT).await {
            Ok(sandbox) => sandbox,
            Err(error) => return Some(Ended::Failed(error)),
        };
        let options = AttachOptions { output: false, acks: AckMode::Manual };
        match sandbox.attach(exec_id(record), 0, options).await {
            Ok(exec) => match watch(state, record, exec).await {
                // It went away before it could be asked; it is waited for again.
                Ended::Failed(SandboxError::Offline { .. }) => {}
                Ended::Failed(error) if ["no_such_exec", "expired"].contains(&error.kind()) => {
                    let runner = record.runner.clone().unwrap_or_default();
                    return Some(Ended::Failed(SandboxError::Lost { runner }));
                }
                ended => return Some(ended),
            },
            Err(SandboxError::Offline { .. }) => {}
            Err(error) => return Some(Ended::Failed(error)),
        }
    }
}

async fn watch(state: &AppState, record: &store::Exec, mut exec: Exec) -> Ended {
    let control = exec.control();
    let mut alone = interval_at(Instant::now() + EXEC_CLIENT_GRACE, EXEC_CLIENT_GRACE);
    alone.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let event = tokio::select! {
            event = exec.next() => event,
            _ = alone.tick(), if !record.detached => {
                if !state.attendance.has_client(record.user, &record.exec_id) {
                    control.cancel();
                }
                continue;
            }
        };
        match event {
            Some(ExecEvent::Finished(outcome)) => return Ended::Finished(outcome),
            Some(ExecEvent::Failed(error)) => return Ended::Failed(error),
            Some(_) => {}
            None => {
                let runner = record.runner.clone().unwrap_or_default();
                return Ended::Failed(SandboxError::Lost { runner });
            }
        }
    }
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
