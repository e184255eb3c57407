//! Who goes first when memory runs out: commands, with all that they start, and not the runner.
//!
//! A child is born with its parent's out-of-memory points. So the runner has those of its commands while one is born, and its own
//! before and after: that costs no thread, and leaves no moment in which a command has fewer.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;

use crate::limits::OUT_OF_MEMORY_POINTS;

/// The most points the kernel knows.
const LIMIT: i32 = 1_000;

struct Points {
    file: File,
    own: String,
    raised: String,
}

static POINTS: OnceLock<Option<Points>> = OnceLock::new();

/// Opens the file of this process's points; for a process that will not be dumpable, this has to come before that.
pub(crate) fn prepare() {
    POINTS.get_or_init(|| {
        let own: i32 = fs::read_to_string("/proc/self/oom_score_adj").ok()?.trim().parse().ok()?;
        let raised = (own + OUT_OF_MEMORY_POINTS).min(LIMIT);
        let file = OpenOptions::new().write(true).open("/proc/self/oom_score_adj").ok()?;
        Some(Points { file, own: own.to_string(), raised: raised.to_string() })
    });
}

/// Runs `work`, whose children go first. Where the kernel refuses that, nothing is lost but the preference.
pub(super) fn raised<T>(work: impl FnOnce() -> T) -> T {
    let Some(Some(points)) = POINTS.get() else { return work() };
    let _ = points.file.write_all_at(points.raised.as_bytes(), 0);
    let outcome = work();
    let _ = points.file.write_all_at(points.own.as_bytes(), 0);
    outcome
}
