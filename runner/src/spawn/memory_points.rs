//! The order of victims when memory runs out: commands, with their processes, and not the runner.
//!
//! A child is born with its parent's out-of-memory points. So the runner has those of its commands while one is born, and its own
//! before and after: that costs no thread, and a command never has fewer. As long as a child borrows the runner's memory the
//! kernel gives both the same points; so the runner restores its own when the last such child has its own memory. For each change
//! the kernel looks at every process: so not after each command of many, but in the first quiet moment ([`calm`]).

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use crate::limits::OUT_OF_MEMORY_POINTS;

/// The maximum number of points in the kernel.
const LIMIT: i32 = 1_000;

struct Points {
    file: File,
    own: String,
    raised: String,
}

static POINTS: OnceLock<Option<Points>> = OnceLock::new();

/// The state of the children that are being born.
struct Births {
    count: usize,
    /// True if this process has the points of commands.
    is_raised: bool,
}

static BIRTHS: Mutex<Births> = Mutex::new(Births { count: 0, is_raised: false });

/// Opens the file of this process's points; if the process will not be dumpable, call this before that.
pub(crate) fn prepare() {
    POINTS.get_or_init(|| {
        let own: i32 = fs::read_to_string("/proc/self/oom_score_adj").ok()?.trim().parse().ok()?;
        let raised = (own + OUT_OF_MEMORY_POINTS).min(LIMIT);
        let file = OpenOptions::new().write(true).open("/proc/self/oom_score_adj").ok()?;
        Some(Points { file, own: own.to_string(), raised: raised.to_string() })
    });
}

/// While this exists, newborn children are the first victims.
#[derive(Debug)]
pub(super) struct Raised(());

/// Makes children that are born from now on the first victims. If the kernel refuses that, only the preference is lost.
pub(super) fn raise() -> Raised {
    let mut births = births();
    births.count += 1;
    if !births.is_raised {
        births.is_raised = true;
        write(|points| &points.raised);
    }
    Raised(())
}

/// Restores the runner's own points unless a child is being born. Call this some time after each birth.
pub(crate) fn calm() {
    let mut births = births();
    if births.is_raised && births.count == 0 {
        births.is_raised = false;
        write(|points| &points.own);
    }
}

impl Drop for Raised {
    fn drop(&mut self) {
        births().count -= 1;
    }
}

fn births() -> MutexGuard<'static, Births> {
    // Every change is a single assignment.
    BIRTHS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn write(choose: impl FnOnce(&Points) -> &String) {
    if let Some(Some(points)) = POINTS.get() {
        let _ = points.file.write_all_at(choose(points).as_bytes(), 0);
    }
}
