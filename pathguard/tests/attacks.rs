//! The attack corpus against the guard, and against a program without one.

#![allow(clippy::unwrap_used)]

mod support;

use support::corpus::CASES;

/// What the corpus promises at least.
const CASES_MIN: usize = 30;

#[test]
fn no_case_of_the_corpus_gets_out() {
    assert!(CASES.len() >= CASES_MIN);
    support::run_corpus_guarded();
}

#[test]
fn every_case_said_to_get_out_of_an_unguarded_root_does() {
    let tame: Vec<_> = CASES
        .iter()
        .filter(|case| case.escapes_unguarded && !support::escapes_unguarded(case))
        .map(|case| case.name)
        .collect();
    assert!(tame.is_empty(), "these show nothing: {tame:?}");
}

#[test]
fn the_names_of_the_cases_are_unique() {
    let names: std::collections::BTreeSet<_> = CASES.iter().map(|case| case.name).collect();
    assert_eq!(names.len(), CASES.len());
}
