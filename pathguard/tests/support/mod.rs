//! What the test binaries of this crate share.

// Each binary uses its part of it.
#![allow(dead_code)]

pub(crate) mod arena;
pub(crate) mod corpus;
pub(crate) mod guarded;
pub(crate) mod race;
pub(crate) mod tar;
pub(crate) mod unguarded;

use std::sync::mpsc;
use std::time::Duration;

use arena::{Arena, OUTSIDE_MARK};
use corpus::{CASES, Case, Expected};

/// No attempt may take longer: a read of a FIFO without a guard takes for ever.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(10);

/// Runs every case through the guard and panics with the list of those that went wrong.
pub(crate) fn run_corpus_guarded() {
    let failures: Vec<String> = CASES.iter().filter_map(|case| run_guarded(case).err()).collect();
    assert!(failures.is_empty(), "{} of {} cases:\n{}", failures.len(), CASES.len(), failures.join("\n"));
}

fn run_guarded(case: &'static Case) -> Result<(), String> {
    let arena = Arena::new(case.plants);
    let before = arena.snapshot();
    let root = pathguard::Root::open(arena.root()).unwrap();
    let path = arena.expand(case.path);
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || sender.send(guarded::attempt(&root, case.attempt, &path)));
    let answer = receiver
        .recv_timeout(ATTEMPT_TIMEOUT)
        .map_err(|_| format!("{}: no answer in {ATTEMPT_TIMEOUT:?}", case.name))?;
    let after = arena.snapshot();
    let told = match &answer {
        Ok(seen) if seen.contains(OUTSIDE_MARK) => {
            return Err(format!("{}: saw the outside: {seen:?}", case.name));
        }
        Ok(_) => Expected::Inside,
        Err(error) => guarded::expected(*error),
    };
    if told != case.expected {
        return Err(format!("{}: expected {:?}, got {answer:?}", case.name, case.expected));
    }
    if Arena::outside_of(&before) != Arena::outside_of(&after) {
        return Err(format!("{}: changed the outside", case.name));
    }
    if answer.is_err() && before != after {
        return Err(format!("{}: refused, yet something changed", case.name));
    }
    Ok(())
}

/// Whether the case gets out where paths are joined and used.
pub(crate) fn escapes_unguarded(case: &Case) -> bool {
    let arena = Arena::new(case.plants);
    let before = arena.snapshot();
    let seen = unguarded::attempt(arena.root(), case.attempt, &arena.expand(case.path));
    let after = arena.snapshot();
    seen.is_ok_and(|seen| seen.contains(OUTSIDE_MARK))
        || Arena::outside_of(&before) != Arena::outside_of(&after)
}
