//! When PostgreSQL was found away last: connections that are older may be broken.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::limits::POSTGRES_SUSPECT;

/// When the database was found away last, by anybody in this process.
static FOUND_AWAY: Mutex<Option<Instant>> = Mutex::new(None);

/// Remembers that the database was found away.
pub(crate) fn note_away() {
    *FOUND_AWAY.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
}

/// True for a connection of this age that the last time away may have broken.
pub(crate) fn is_suspect(age: Duration) -> bool {
    let found = *FOUND_AWAY.lock().unwrap_or_else(PoisonError::into_inner);
    found.map(|found| found.elapsed()).is_some_and(|since| since < age && since < POSTGRES_SUSPECT)
}
