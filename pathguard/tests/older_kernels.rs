//! The same guarantees on kernels and file systems that lack features that the guard uses.
//!
//! A seccomp filter removes a system call from one test's thread and those it starts.

#![allow(clippy::unwrap_used)]

mod support;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use pathguard::{CreateOptions, Error, Root};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};
use support::arena::Arena;
use support::corpus::Attempt;

/// The number of `openat2` on every architecture.
const OPENAT2: i64 = 437;
#[cfg(target_arch = "x86_64")]
const OPENAT: i64 = 257;
#[cfg(target_arch = "x86_64")]
const LINKAT: i64 = 265;
#[cfg(target_arch = "x86_64")]
const RENAMEAT2: i64 = 316;
#[cfg(not(target_arch = "x86_64"))]
const OPENAT: i64 = 56;
#[cfg(not(target_arch = "x86_64"))]
const LINKAT: i64 = 37;
#[cfg(not(target_arch = "x86_64"))]
const RENAMEAT2: i64 = 276;

/// How long each race lasts here.
const RACE_MS: u64 = 1_000;

/// Makes a system call fail with `errno`, if all of the given flags are in one argument, or always.
fn take_away(call: i64, flags: Option<(u8, u32)>, errno: Errno) {
    let rules = flags.map(|(argument, flags)| {
        let masked = SeccompCmpOp::MaskedEq(flags.into());
        let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, masked, flags.into());
        SeccompRule::new(vec![condition.unwrap()]).unwrap()
    });
    let answer = SeccompAction::Errno(errno.raw_os_error().cast_unsigned());
    let architecture = std::env::consts::ARCH.try_into().unwrap();
    let rules = BTreeMap::from([(call, rules.into_iter().collect())]);
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, answer, architecture).unwrap();
    let program: BpfProgram = filter.try_into().unwrap();
    seccompiler::apply_filter(&program).unwrap();
}

fn take_openat2_away(errno: Errno) {
    take_away(OPENAT2, None, errno);
    let refused = rustix::fs::openat2(CWD, ".", OFlags::PATH, Mode::empty(), ResolveFlags::BENEATH);
    assert_eq!(refused.unwrap_err(), errno);
}

#[test]
fn no_case_of_the_corpus_gets_out_without_openat2() {
    take_openat2_away(Errno::NOSYS);
    support::run_corpus_guarded();
}

#[test]
fn no_case_of_the_corpus_gets_out_where_a_container_forbids_openat2() {
    take_openat2_away(Errno::PERM);
    support::run_corpus_guarded();
}

#[test]
fn no_race_is_lost_without_openat2() {
    take_openat2_away(Errno::NOSYS);
    support::race::run_races(Some(RACE_MS));
}

fn names(root: &Root) -> Vec<String> {
    let entries = root.read_dir(".").unwrap();
    entries.map(|entry| entry.unwrap().name.into_string().unwrap()).collect()
}

#[test]
fn without_nameless_files_a_hidden_one_is_written_and_never_left() {
    take_away(OPENAT, Some((2, OFlags::TMPFILE.bits())), Errno::OPNOTSUPP);
    let arena = Arena::new(&[]);
    let root = Root::open(arena.root()).unwrap();
    let mut pending = root.create_file("f", CreateOptions::default()).unwrap();
    assert!(matches!(&names(&root)[..], [hidden] if hidden.starts_with(".sandbridge-")));
    pending.write_all(b"new").unwrap();
    pending.commit().unwrap();
    assert_eq!(std::fs::read(arena.root().join("f")).unwrap(), b"new");
    drop(root.create_file("g", CreateOptions::default()).unwrap());
    let refused = root.create_file("h", CreateOptions::default()).unwrap();
    std::fs::create_dir(arena.root().join("h")).unwrap();
    assert_eq!(refused.commit().unwrap_err(), Error::IsADirectory);
    std::fs::remove_dir(arena.root().join("h")).unwrap();
    assert_eq!(names(&root), ["f"]);
}

#[test]
fn a_kernel_that_links_no_descriptor_for_us_links_it_by_its_own_name() {
    take_away(LINKAT, Some((4, AtFlags::EMPTY_PATH.bits())), Errno::NOENT);
    let arena = Arena::new(&[]);
    let root = Root::open(arena.root()).unwrap();
    support::guarded::attempt(&root, Attempt::Write, Path::new("f")).unwrap();
    assert_eq!(names(&root), ["f"]);
}

#[test]
fn where_no_rename_keeps_what_is_there_a_new_file_is_still_refused_a_taken_name() {
    take_away(RENAMEAT2, None, Errno::INVAL);
    let arena = Arena::new(&[]);
    let root = Root::open(arena.root()).unwrap();
    let begun = |name: &str| {
        let mut pending = root.create_file(name, CreateOptions::default()).unwrap();
        pending.write_all(b"new").unwrap();
        pending
    };
    let (free, taken) = (begun("free"), begun("taken"));
    std::fs::write(arena.root().join("taken"), "old").unwrap();
    assert_eq!(taken.commit_new().unwrap_err(), Error::AlreadyExists);
    free.commit_new().unwrap();
    assert_eq!(std::fs::read(arena.root().join("taken")).unwrap(), b"old");
    assert_eq!(std::fs::read(arena.root().join("free")).unwrap(), b"new");
    let mut names = names(&root);
    names.sort_unstable();
    assert_eq!(names, ["free", "taken"]);
}
