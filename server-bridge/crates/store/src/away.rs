//! Records when PostgreSQL was last found unreachable: connections older than that may be broken.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::limits::POSTGRES_SUSPECT;

/// When any caller in this process last found the database unreachable.
static FOUND_AWAY: Mutex<Option<Instant>> = Mutex::new(None);

/// Records that the database was found unreachable.
pub(crate) fn note_away() {
    *FOUND_AWAY.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
}

/// True if the last outage may have broken a connection of this age.
pub(crate) fn is_suspect(age: Duration) -> bool {
    let found = *FOUND_AWAY.lock().unwrap_or_else(PoisonError::into_inner);
    found.map(|found| found.elapsed()).is_some_and(|since| since < age && since < POSTGRES_SUSPECT)
}
