//! Random operations on random paths, with a hostile process alongside: the outside is never changed or revealed.

#![allow(clippy::unwrap_used)]

mod support;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use pathguard::{Error, Root};
use proptest::prelude::*;
use support::arena::{Arena, OUTSIDE_MARK, Plant};
use support::corpus::Attempt;
use support::{guarded, unguarded};

const ATTEMPTS: [Attempt; 11] = [
    Attempt::Read,
    Attempt::Write,
    Attempt::WriteWithParents,
    Attempt::Stat,
    Attempt::List,
    Attempt::WorkingDirectory,
    Attempt::MakeDirectories,
    Attempt::Remove,
    Attempt::RemoveAll,
    Attempt::RenameFrom,
    Attempt::RenameTo,
];

/// One step: through the guard, or a link planted by a confined command.
#[derive(Debug, Clone)]
enum Step {
    Attempt(Attempt, String),
    Plant(String, String),
}

fn path() -> impl Strategy<Value = String> {
    let component = prop_oneof![
        4 => prop::sample::select(vec!["a", "b", "c", "secret", "folder"]),
        3 => prop::sample::select(vec!["out", "out-relative", "here", "up", "new-outside"]),
        3 => prop::sample::select(vec!["..", ".", "", "outside", "work"]),
    ];
    let start =
        prop::sample::select(vec!["", "", "", "../", "{base}/", "{base}/work/", "/proc/self/root{base}/"]);
    (start, prop::collection::vec(component, 1..6))
        .prop_map(|(start, parts)| start.to_owned() + &parts.join("/"))
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        5 => (prop::sample::select(ATTEMPTS.to_vec()), path()).prop_map(|(attempt, path)| Step::Attempt(attempt, path)),
        1 => (prop::sample::select(vec!["a", "b", "a/b", "out", "c"]), path())
            .prop_map(|(at, target)| Step::Plant(at.to_owned(), target)),
    ]
}

fn arena() -> Arena {
    Arena::new(&[
        Plant::Directory("a/b"),
        Plant::File("mine"),
        Plant::File("a/secret"),
        Plant::Symlink("out", "{base}/outside"),
        Plant::Symlink("out-relative", "../outside"),
        Plant::Symlink("new-outside", "../outside/new"),
        Plant::Symlink("here", "."),
        Plant::Symlink("a/up", ".."),
    ])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_sequence_of_operations_touches_or_sees_the_outside(steps in prop::collection::vec(step(), 1..25)) {
        let arena = arena();
        let root = Root::open(arena.root()).unwrap();
        let before = arena.snapshot().outside;
        for step in &steps {
            match step {
                Step::Attempt(attempt, path) => {
                    let path = arena.expand(path.as_bytes());
                    if let Ok(seen) = guarded::attempt(&root, *attempt, &path) {
                        prop_assert!(!seen.contains(OUTSIDE_MARK), "{step:?} saw {seen:?}");
                    }
                }
                Step::Plant(at, target) => {
                    let _ = std::os::unix::fs::symlink(arena.expand(target.as_bytes()), arena.root().join(at));
                }
            }
        }
        prop_assert_eq!(arena.snapshot().outside, before);
    }

    #[test]
    fn any_bytes_are_answered_and_stay_inside(
        bytes in prop::collection::vec(prop_oneof![Just(b'/'), Just(b'.'), any::<u8>()], 0..40),
        attempt in prop::sample::select(ATTEMPTS.to_vec()),
    ) {
        let arena = arena();
        let root = Root::open(arena.root()).unwrap();
        let before = arena.snapshot().outside;
        let _ = guarded::attempt(&root, attempt, Path::new(OsStr::from_bytes(&bytes)));
        prop_assert_eq!(arena.snapshot().outside, before);
    }

    #[test]
    fn what_the_guard_lets_through_is_what_the_path_means(path in path()) {
        prop_assume!(!path.is_empty());
        let arena = arena();
        let root = Root::open(arena.root()).unwrap();
        let path = arena.expand(path.as_bytes());
        let plain = unguarded::attempt(&arena, Attempt::Stat, &path);
        match guarded::attempt(&root, Attempt::Stat, &path) {
            Ok(seen) => prop_assert_eq!(Some(seen), plain.ok()),
            Err(Error::NotFound | Error::NotADirectory) => prop_assert!(plain.is_err()),
            Err(error) => prop_assert_eq!(error, Error::EscapesRoot),
        }
    }
}
