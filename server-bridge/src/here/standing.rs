//! The process that serves a home, recorded in the home's `here.json`, which is valid while that process holds the home's lock.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use client::failure::Failure;
use home::atomic_file;

const FILE_NAME: &str = "here.json";

/// A server that serves a home.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Standing {
    /// The id of its process.
    pub(super) pid: u32,
    /// When it was ready, in Unix milliseconds.
    pub(super) since_ms: i64,
    /// The server's URL.
    pub(super) url: String,
}

impl Standing {
    /// Describes this process as ready from now on.
    pub(super) fn now(url: &str) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let since_ms = i64::try_from(now.as_millis()).unwrap_or(i64::MAX);
        Self { pid: std::process::id(), since_ms, url: url.to_owned() }
    }

    /// Writes the file for later processes.
    pub(super) fn write(&self, home: &Path) -> Result<(), Failure> {
        let path = home.join(FILE_NAME);
        let written = serde_json::to_vec(self)
            .map_err(std::io::Error::from)
            .and_then(|json| atomic_file::write(&path, &json));
        written.map_err(|error| Failure::other("io", format!("cannot write {}: {error}", path.display())))
    }

    /// The server that the process `pid` runs, if it is ready.
    pub(super) fn read(home: &Path, pid: u32) -> Option<Self> {
        let json = std::fs::read(home.join(FILE_NAME)).ok()?;
        serde_json::from_slice(&json).ok().filter(|standing: &Self| standing.pid == pid)
    }
}
