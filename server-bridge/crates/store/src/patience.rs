//! Waiting for an unreachable database.
//!
//! A person's request fails at once with an error if PostgreSQL, or the bucket of long values, cannot be reached. Background work that must not be
//! left half done waits instead: it begins its statements and changes once the server can be reached again.

use std::time::Duration;

use crate::error::{Result, is_away};

/// The pause before work that is waiting for the database tries again.
const PAUSE: Duration = Duration::from_millis(200);

tokio::task_local! {
    static PATIENT: ();
}

/// Runs work in a patient task: its statements and changes wait until the database can be reached, however long that takes. A change that was in
/// progress when the database became unreachable still fails. Closing the store ends the wait.
pub async fn patiently<T>(work: impl Future<Output = T>) -> T {
    PATIENT.scope((), work).await
}

/// Like [`patiently`], but repeats the work until it succeeds or fails for another reason. Use it only for work that may be done twice: if the
/// database becomes unreachable during a change, it is unknown whether the change was made.
///
/// # Errors
/// The errors of the work, except those about an unreachable database.
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

/// True if the statements and changes that this task begins wait for an unreachable database instead of failing at once.
pub(crate) fn is_patient() -> bool {
    PATIENT.try_with(|()| ()).is_ok()
}

/// In a patient task, waits until the next attempt is due and returns true; otherwise returns false at once.
pub(crate) async fn pause() -> bool {
    if is_patient() {
        tokio::time::sleep(PAUSE).await;
    }
    is_patient()
}

/// True if an attempt to reach the database should not be repeated. In a patient task, returns false for an attempt that found the database
/// unreachable, once the next attempt is due.
pub(crate) async fn is_over(failed: Option<&sqlx::Error>) -> bool {
    !(failed.is_some_and(is_away) && pause().await)
}
