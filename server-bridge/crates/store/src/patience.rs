//! Waiting for a database that is away.
//!
//! A request of a person fails at once where PostgreSQL is away, and they are told so. Work that goes on by itself, and must not
//! be lost half done, waits instead: it begins its statements and changes when the server is there again.

use std::time::Duration;

use crate::error::{Result, is_away};

/// How long work that waits for the database pauses before it looks again.
const PAUSE: Duration = Duration::from_millis(200);

tokio::task_local! {
    static PATIENT: ();
}

/// Does work whose statements and changes begin when the database is there, however long that takes. A change that was under way
/// when the database went away still fails. The closing of the store ends the wait.
pub async fn patiently<T>(work: impl Future<Output = T>) -> T {
    PATIENT.scope((), work).await
}

/// Does the same until it succeeds or fails for another reason than that the database is away. Only for what may be done twice:
/// of a change that was under way when the database went away, nobody knows if it happened.
///
/// # Errors
/// Those of the work, but for a database that is away.
pub async fn until_done<T, F: Future<Output = Result<T>>>(mut work: impl FnMut() -> F) -> Result<T> {
    PATIENT
        .scope((), async move {
            loop {
                match work().await {
                    Err(error) if error.is_away() => tokio::time::sleep(PAUSE).await,
                    done => return done,
                }
            }
        })
        .await
}

/// Whether this task waits for a database that is away.
pub(crate) fn is_patient() -> bool {
    PATIENT.try_with(|()| ()).is_ok()
}

/// True if an attempt to reach the database is the last one. In a task that waits for it, one that found it away is not; then this
/// returns when the next one is due.
pub(crate) async fn is_over(failed: Option<&sqlx::Error>) -> bool {
    let is_tried_again = is_patient() && failed.is_some_and(is_away);
    if is_tried_again {
        tokio::time::sleep(PAUSE).await;
    }
    !is_tried_again
}
