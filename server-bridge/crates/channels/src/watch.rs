//! The settings of notices for administrators.

use std::path::PathBuf;
use std::time::Duration;

use crate::limits::{AWAY_MS, LOW_DISK_BYTES, NOTICE_EVERY};

/// Settings for how the server looks for events to notify administrators of.
#[derive(Clone, Debug)]
pub struct Watch {
    /// The directory of the server's data; without it, no disk is checked.
    pub home: Option<PathBuf>,
    /// The interval between checks.
    pub every: Duration,
    /// How long a runner must be offline before it is reported, in milliseconds.
    pub away_ms: i64,
    /// A disk counts as nearly full if it has less free space than this, in bytes.
    pub low_disk_bytes: u64,
}

impl Watch {
    /// Returns the default settings, with the server's home directory.
    pub fn of(home: PathBuf) -> Self {
        Self { home: Some(home), every: NOTICE_EVERY, away_ms: AWAY_MS, low_disk_bytes: LOW_DISK_BYTES }
    }
}
