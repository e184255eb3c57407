//! The limits watch: notices that commands reached a limit on all of them together, and ends the tree that is to blame.
//!
//! The kernel only refuses: a crowd of processes at its limit would leave no room for the next command. What the kernel counts of a control
//! group is read from open files; without one, processes are counted here. Without running commands it does nothing.
//!
//! A bomb of open files may leave the machine without any, and then nothing can be opened to count or to kill it. So the file
//! with their number is held open, commands are paused before their files are counted, and a few files are held in reserve.

mod judge;
mod machine;

use std::collections::HashSet;
use std::rc::Rc;
use std::time::Duration;

use tokio::time::Instant;

use super::execs::Execs;
use crate::blocking::{blocking, post};
use crate::group;
use crate::kill::{self, Counted, Mark, Usage};
use crate::limits::{LIMITS_LOOK_LIMIT_MS, LIMITS_LOOK_MS, LIMITS_LOOK_PART};
use judge::{Bounds, Signs, judge};

/// Watches until the runner ends.
pub(crate) async fn run(execs: Rc<Execs>) {
    tokio::select! {
        () = watch(&execs) => {}
        () = execs.host.stopping.cancelled() => {}
    }
}

async fn watch(execs: &Execs) {
    let bounds = Bounds {
        processes: group::processes(),
        memory: group::memory(),
        files: machine::most_files(),
        counts_processes: !group::counts_refused(),
        counts_memory: !group::counts_kills(),
    };
    let least = Duration::from_millis(LIMITS_LOOK_MS);
    let mut pause = least;
    let mut reserve = machine::Reserve::default();
    let mut signs = Signs::begin(group::met(), machine::now(&bounds));
    loop {
        if living_trees(execs).is_empty() {
            // No command is running that could use up all files.
            reserve.give_back();
            execs.command_started.notified().await;
            signs = Signs::begin(group::met(), machine::now(&bounds));
        }
        tokio::time::sleep(pause).await;
        let begun = Instant::now();
        signs = signs.next(&bounds, group::met(), machine::now(&bounds));
        reserve.take(!signs.many_files);
        if signs.ask_for_a_count() && look(execs, &bounds, &mut signs, &mut reserve).await {
            signs = Signs::begin(group::met(), machine::now(&bounds));
        }
        // Counting many processes takes a while, so it gets only a small part of the time.
        pause =
            (begun.elapsed() * LIMITS_LOOK_PART).clamp(least, Duration::from_millis(LIMITS_LOOK_LIMIT_MS));
    }
}

/// The trees of commands that may still have a living process.
fn living_trees(execs: &Execs) -> Vec<Mark> {
    let mut seen = HashSet::new();
    execs.registry.marks().chain(execs.trees.marks()).filter(|mark| seen.insert(*mark)).collect()
}

/// Counts, and ends a tree that reached a limit; returns true if one did.
async fn look(execs: &Execs, bounds: &Bounds, signs: &mut Signs, reserve: &mut machine::Reserve) -> bool {
    let mut paused = None;
    let mut usage = None;
    if !signs.crowded && !signs.many_files {
        // Code that looks at every process can be held up for seconds by a crowd that appears meanwhile.
        tokio::select! {
            counted = count(execs, bounds, signs) => usage = counted,
            crowded = crowd(bounds, *signs) => *signs = crowded,
        }
    }
    if signs.crowded || signs.many_files {
        paused = blocking(kill::pause).await.ok();
        reserve.give_back();
        usage = count(execs, bounds, signs).await;
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
    // Recorded before the tree dies, so that its exec can report the reason.
    let told = execs.registry.met_limit(mark, limit);
    tracing::warn!("a command was {limit}; reported to its caller: {told}");
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

/// The resources used by the trees; `None` if the counting thread failed.
async fn count(execs: &Execs, bounds: &Bounds, signs: &Signs) -> Option<Vec<Usage>> {
    let (trees, signs) = (living_trees(execs), *signs);
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

/// Watches without counting, until there is a crowd.
async fn crowd(bounds: &Bounds, mut signs: Signs) -> Signs {
    while !signs.crowded {
        tokio::time::sleep(Duration::from_millis(LIMITS_LOOK_MS)).await;
        signs = signs.next(bounds, group::met(), machine::now(bounds));
    }
    signs
}
