//! Attempts until one answers.

use std::time::Duration;

use tokio::time::sleep;

use crate::error::Error;
use crate::message::Request;
use crate::model::Model;
use crate::reply::{Delta, Reply};
use crate::retry::Patience;
use crate::slots::Seat;

/// What happens during a call.
#[derive(Debug)]
pub enum Progress<'a> {
    /// A piece of the answer.
    Delta(&'a Delta),
    /// The attempt failed, and all its pieces are void; another one follows.
    Retrying {
        /// The number of the attempt that follows; the first one was 1.
        attempt: u32,
        /// The last attempt that there can be.
        attempts: u32,
        /// When it follows.
        pause: Duration,
        /// Why the one before failed.
        error: &'a Error,
    },
}

impl std::fmt::Display for Progress<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Delta(_) => Ok(()),
            Self::Retrying { attempt, attempts, pause, error } => {
                let pause_s = pause.as_secs_f64();
                write!(formatter, "{error}; trying again in {pause_s:.0} s ({attempt}/{attempts})")
            }
        }
    }
}

/// Asks until there is an answer, or no point in asking; holds a slot during each attempt, none in the pauses.
///
/// Dropped, it ends at once.
///
/// # Errors
/// That of the last attempt.
pub async fn call(
    model: &Model,
    request: &Request,
    patience: Patience,
    seat: &Seat,
    mut each: impl FnMut(Progress<'_>),
) -> Result<Reply, Error> {
    let mut failed = 0;
    loop {
        let slot = seat.take().await;
        let answered = model.ask(request, |delta| each(Progress::Delta(delta))).await;
        drop(slot);
        let error = match answered {
            Ok(reply) => return Ok(reply),
            Err(error) => error,
        };
        failed += 1;
        let Some(pause) = patience.pause_after(failed, &error, rand::random()) else { return Err(error) };
        tracing::info!(%error, failed, ?pause, "a model did not answer");
        each(Progress::Retrying { attempt: failed + 1, attempts: patience.attempts, pause, error: &error });
        sleep(pause).await;
    }
}
