//! Who goes first when memory runs out: commands, with all that they start, and not the runner.
//!
//! A child is born with its parent's out-of-memory points. So the runner has those of its commands while one is born, and its own
//! before and after: that costs no thread, and leaves no moment in which a command has fewer. As long as a child borrows the
//! runner's memory the kernel gives both the same points; so the runner takes its own back when the last such child has
//! a memory of its own. For each change the kernel looks at every process there is: so not after each command of many, but
//! in the first quiet moment ([`calm`]).

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use crate::limits::OUT_OF_MEMORY_POINTS;

/// The most points the kernel knows.
const LIMIT: i32 = 1_000;

struct Points {
    file: File,
    own: String,
    raised: String,
}

static POINTS: OnceLock<Option<Points>> = OnceLock::new();

/// Facts about the children that are being born.
struct Births {
    count: usize,
    /// True if this process has the points of commands.
    is_raised: bool,
}

static BIRTHS: Mutex<Births> = Mutex::new(Births { count: 0, is_raised: false });

/// Opens the file of this process's points; for a process that will not be dumpable, this has to come before that.
pub(crate) fn prepare() {
    POINTS.get_or_init(|| {
        let own: i32 = fs::read_to_string("/proc/self/oom_score_adj").ok()?.trim().parse().ok()?;
        let raised = (own + OUT_OF_MEMORY_POINTS).min(LIMIT);
        let file = OpenOptions::new().write(true).open("/proc/self/oom_score_adj").ok()?;
        Some(Points { file, own: own.to_string(), raised: raised.to_string() })
    });
}

/// While this lives, children that are born go first.
#[derive(Debug)]
pub(super) struct Raised(());

/// Lets children that are born from now on go first. Where the kernel refuses that, nothing is lost but the preference.
pub(super) fn raise() -> Raised {
    let mut births = births();
    births.count += 1;
    if !births.is_raised {
        births.is_raised = true;
        write(|points| &points.raised);
    }
    Raised(())
}

/// Takes the runner's own points back unless a child is being born. To be called some time after each birth.
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
