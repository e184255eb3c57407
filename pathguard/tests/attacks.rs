//! The attack corpus against the guard, and against a program without one.

#![allow(clippy::unwrap_used)]

mod support;

use support::corpus::cases;
use support::{again, possible_cases, questions};

/// The minimum number of attacks in the corpus, without questions about the outside.
const ATTACKS_MIN: usize = 80;

/// The minimum number of questions that a program without a guard answers.
const ANSWERED_MIN: usize = 80;

#[test]
fn no_case_of_the_corpus_gets_out() {
    support::run_corpus_guarded();
}

#[test]
fn no_case_of_the_corpus_gets_out_when_an_ordinary_user_serves() {
    if rustix::process::geteuid().is_root() {
        again::as_an_ordinary_user("no_case_of_the_corpus_gets_out");
    }
}

#[test]
fn every_attack_does_harm_without_a_guard() {
    assert!(cases().filter(|case| case.is_attack).count() >= ATTACKS_MIN);
    let attacks = possible_cases().filter(|case| case.is_attack);
    let tame: Vec<_> = attacks.filter(|case| !support::harms_unguarded(case)).map(|case| case.name).collect();
    assert!(tame.is_empty(), "these show nothing: {tame:#?}");
}

#[test]
fn a_program_without_a_guard_tells_what_exists_outside() {
    let answered = questions().filter(|(oracle, attempt)| support::tells_unguarded(oracle, *attempt)).count();
    assert!(answered >= ANSWERED_MIN, "only {answered} of {} questions were answered", questions().count());
}

#[test]
fn the_names_of_the_cases_are_unique() {
    let names: std::collections::BTreeSet<_> = cases().map(|case| case.name).collect();
    assert_eq!(names.len(), cases().count());
}
