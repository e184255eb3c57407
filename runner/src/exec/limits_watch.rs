//! The limits watch: notices that commands met a limit of all of them together, and ends the tree that is to blame.
//!
//! The kernel only refuses: a crowd at its limit would leave no room for the next command. What the kernel counts of a control
//! group is read from open files; where there is none, processes are counted here. While nothing runs nothing is done.
//!
//! A bomb of open files may leave the machine without any, and then nothing can be opened to count or to kill it. So what tells
//! how many there are is held open, what runs is paused before its files are counted, and a few files are held in reserve.

mod judge;
mod machine;

use std::cell::RefCell;
use std::collections::HashSet;
use std::rc::Rc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::blocking::{blocking, post};
use crate::executor::Executor;
use crate::group;
use crate::kill::{self, Counted, Mark, Usage};
use crate::limits::{LIMITS_LOOK_LIMIT_MS, LIMITS_LOOK_MS, LIMITS_LOOK_PART};
pub(super) use judge::MetLimit;
use judge::{Bounds, Signs, judge};

/// Whether there is something to watch.
#[derive(Debug, Default)]
pub(crate) struct LimitsWatch {
    started: Notify,
    reserve: RefCell<machine::Reserve>,
}

impl LimitsWatch {
    /// A command starts.
    pub(super) fn begin(&self) {
        self.started.notify_one();
    }

    /// Watches until the runner ends.
    pub(crate) async fn run(executor: Rc<Executor>) {
        tokio::select! {
            () = watch(&executor) => {}
            () = executor.stopping().cancelled() => {}
        }
    }
}

async fn watch(executor: &Executor) {
    let bounds = Bounds {
        processes: group::processes(),
        memory: group::memory(),
        files: machine::most_files(),
        counts_processes: !group::counts_refused(),
        counts_memory: !group::counts_kills(),
    };
    let least = Duration::from_millis(LIMITS_LOOK_MS);
    let mut pause = least;
    let mut signs = Signs::begin(group::met(), machine::now(&bounds));
    loop {
        if living_trees(executor).is_empty() {
            executor.limits_watch.started.notified().await;
            signs = Signs::begin(group::met(), machine::now(&bounds));
        }
        tokio::time::sleep(pause).await;
        let begun = Instant::now();
        signs = signs.next(&bounds, group::met(), machine::now(&bounds));
        executor.limits_watch.reserve.borrow_mut().take(!signs.many_files);
        if signs.ask_for_a_count() && look(executor, &bounds, &mut signs).await {
            signs = Signs::begin(group::met(), machine::now(&bounds));
        }
        // Counting many processes takes a while, and a small part of the time.
        pause =
            (begun.elapsed() * LIMITS_LOOK_PART).clamp(least, Duration::from_millis(LIMITS_LOOK_LIMIT_MS));
    }
}

/// The trees of commands that may still have a living process.
fn living_trees(executor: &Executor) -> Vec<Mark> {
    let mut seen = HashSet::new();
    executor.execs.marks().chain(executor.trees.marks()).filter(|mark| seen.insert(*mark)).collect()
}

/// Counts, and ends a tree that met a limit; says whether one did.
async fn look(executor: &Executor, bounds: &Bounds, signs: &mut Signs) -> bool {
    let mut paused = None;
    let mut usage = None;
    if !signs.crowded && !signs.many_files {
        // What looks at every process is held up for seconds by a crowd that comes meanwhile.
        tokio::select! {
            counted = count(executor, bounds, signs) => usage = counted,
            crowded = crowd(bounds, *signs) => *signs = crowded,
        }
    }
    if signs.crowded || signs.many_files {
        paused = blocking(kill::pause).await.ok();
        executor.limits_watch.reserve.borrow_mut().give_back();
        usage = count(executor, bounds, signs).await;
    }
    let Some(usage) = usage else {
        post(move || drop(paused));
        return false;
    };
    let Some((mark, limit)) = judge(&usage, signs, bounds) else {
        signs.counted(&usage, machine::now(bounds));
        post(move || drop(paused));
        return false;
    };
    // Before it dies, so that its exec knows why.
    let told = executor.execs.met_limit(mark, limit);
    tracing::warn!("a command was {limit}; told to its caller: {told}");
    let end = move || {
        let paused = paused.unwrap_or_else(kill::pause);
        kill::end_crowd(mark, &paused)
    };
    match blocking(end).await {
        Ok(outcome) if outcome.survivors > 0 => {
            tracing::error!("{} processes could not be killed", outcome.survivors);
        }
        Ok(_) | Err(_) => {}
    }
    true
}

/// What the trees take; `None` if the thread that counts failed.
async fn count(executor: &Executor, bounds: &Bounds, signs: &Signs) -> Option<Vec<Usage>> {
    let (trees, signs) = (living_trees(executor), *signs);
    let counted = Counted {
        memory_above_bytes: bounds.memory.filter(|_| signs.heavy || signs.killed).map(|most| most.0),
        files: signs.many_files,
    };
    let count = move || {
        let _urgent = signs.are_there().then(kill::Urgent::begin);
        kill::usage(&trees, counted)
    };
    blocking(count).await.ok()
}

/// Looks on, without counting, until there is a crowd.
async fn crowd(bounds: &Bounds, mut signs: Signs) -> Signs {
    while !signs.crowded {
        tokio::time::sleep(Duration::from_millis(LIMITS_LOOK_MS)).await;
        signs = signs.next(bounds, group::met(), machine::now(bounds));
    }
    signs
}
