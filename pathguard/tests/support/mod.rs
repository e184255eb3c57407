//! Code shared by the test binaries of this crate.

// Each binary uses its part of it.
#![allow(dead_code)]

pub(crate) mod again;
pub(crate) mod guarded;
pub(crate) mod race;
pub(crate) mod unguarded;

#[allow(unused_imports, reason = "each binary uses its part")]
pub(crate) use testkit::{arena, corpus, judge, tar};

use std::sync::{Arc, mpsc};
use std::time::Duration;

use arena::{Arena, Plant, Snapshot};
use corpus::oracles::{ASKED, ORACLES, Oracle};
use corpus::{Attempt, Case, cases};
use judge::{Answer, Refusal};

/// The timeout of an attempt: reading a FIFO without a guard takes forever.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(10);

/// After this long an attempt without a guard counts as waiting for a FIFO's other end, if there is a FIFO.
const HUNG_AFTER: Duration = Duration::from_millis(200);

/// The cases that are possible for the user of these tests.
pub(crate) fn possible_cases() -> impl Iterator<Item = &'static Case> {
    let is_root = rustix::process::geteuid().is_root();
    cases().filter(move |case| is_root || !case.takes_root())
}

/// Runs every case, and every question about the outside, through the guard; panics with a list of failures.
pub(crate) fn run_corpus_guarded() {
    let failures: Vec<String> = possible_cases().filter_map(|case| run_guarded(case).err()).collect();
    assert!(failures.is_empty(), "{} cases:\n{}", failures.len(), failures.join("\n"));
    let told: Vec<_> = questions().filter(|(oracle, attempt)| tells_guarded(oracle, *attempt)).collect();
    assert!(told.is_empty(), "these reveal what exists outside: {told:?}");
}

fn run_guarded(case: &'static Case) -> Result<(), String> {
    let arena = Arc::new(Arena::new(case.plants));
    let before = arena.snapshot();
    let root = pathguard::Root::open(arena.root()).unwrap();
    let path = arena.expand(case.path);
    let (sender, receiver) = mpsc::channel();
    let shared = Arc::clone(&arena);
    std::thread::spawn(move || sender.send(guarded::answer(&root, &shared, case.attempt, &path)));
    let answer = receiver
        .recv_timeout(ATTEMPT_TIMEOUT)
        .map_err(|_| format!("{}: no answer in {ATTEMPT_TIMEOUT:?}", case.name))?;
    judge::judge(case, &arena, &before, &arena.snapshot(), &answer)
}

/// True if the case does harm where paths are joined and used.
pub(crate) fn harms_unguarded(case: &'static Case) -> bool {
    let arena = Arc::new(Arena::new(case.plants));
    let before = arena.snapshot();
    let (sender, receiver) = mpsc::channel();
    let shared = Arc::clone(&arena);
    let path = arena.expand(case.path);
    // One that hangs remains until this process ends.
    std::thread::spawn(move || sender.send(unguarded::attempt(&shared, case.attempt, &path)));
    let has_fifo = case.plants.iter().any(|plant| matches!(plant, Plant::Fifo(_)));
    let answer = receiver.recv_timeout(if has_fifo { HUNG_AFTER } else { ATTEMPT_TIMEOUT }).ok();
    assert!(has_fifo || answer.is_some(), "{}: no answer in {ATTEMPT_TIMEOUT:?}", case.name);
    judge::is_harm(case, &arena, &before, &arena.snapshot(), answer.as_ref())
}

/// Every question about the existence of something outside.
pub(crate) fn questions() -> impl Iterator<Item = (&'static Oracle, Attempt)> {
    ORACLES.iter().flat_map(|oracle| ASKED.iter().map(move |attempt| (oracle, *attempt)))
}

/// True if the guard's answers, or what they leave, differ.
fn tells_guarded(oracle: &Oracle, attempt: Attempt) -> bool {
    let ask = |path: &[u8]| {
        let arena = Arena::new(oracle.plants);
        let before = arena.snapshot().outside;
        let root = pathguard::Root::open(arena.root()).unwrap();
        let answer: Answer = guarded::answer(&root, &arena, attempt, &arena.expand(path));
        assert_eq!(before, arena.snapshot().outside, "{} {attempt:?}", oracle.name);
        answer.map_err(|Refusal { kind, message }| (kind, message))
    };
    ask(oracle.there) != ask(oracle.gone)
}

/// True if a careless program's answers, or what they change, differ.
pub(crate) fn tells_unguarded(oracle: &Oracle, attempt: Attempt) -> bool {
    let ask = |path: &[u8]| {
        let arena = Arena::new(oracle.plants);
        let Snapshot { outside, .. } = arena.snapshot();
        let answer = unguarded::attempt(&arena, attempt, &arena.expand(path)).map_err(|error| error.kind());
        (answer, outside.len() != arena.snapshot().outside.len())
    };
    ask(oracle.there) != ask(oracle.gone)
}
