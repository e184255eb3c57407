//! Every trick of the attack corpus, tried on the requests that work on whole trees.
//!
//! The corpus makes one attempt with each path; here each path is given to every such request.

#[path = "../../../pathguard/tests/support/arena.rs"]
#[allow(dead_code)]
mod arena;
#[path = "../../../pathguard/tests/support/corpus.rs"]
#[allow(dead_code)]
mod corpus;

use std::os::unix::ffi::OsStrExt;

use proto::request::{Glob, Grep};
use proto::{ErrorKind, WirePath};
use runner::confine::Profile;

use self::arena::{Arena, OUTSIDE_MARK, Plant};
use self::corpus::{CASES, Case, Expected};
use crate::search::{glob, glob_for, grep, grep_for};
use crate::world::World;

/// What a request showed, or why it was refused.
type Seen = Result<String, ErrorKind>;

async fn attempts(world: &mut World, path: WirePath) -> Vec<(&'static str, Seen)> {
    let peer = &mut world.peer;
    let by_name = glob(peer, Glob { path: path.clone(), ..glob_for("**") }).await;
    let by_content = grep(peer, Grep { path: path.clone(), ..grep_for(OUTSIDE_MARK) }).await;
    vec![
        ("glob", by_name.map(|found| format!("{found:?}")).map_err(|error| error.kind)),
        ("grep", by_content.map(|(lines, _)| format!("{lines:?}")).map_err(|error| error.kind)),
    ]
}

fn check(case: &Case, arena: &Arena, what: &str, seen: &Seen, before: &arena::Snapshot) {
    let name = case.name;
    // A second name of a file is that file, as long as hard links may be read.
    let is_inside = case.plants.iter().any(|plant| matches!(plant, Plant::HardLink(..)));
    assert!(
        is_inside || seen.as_ref().is_ok_and(|seen| !seen.contains(OUTSIDE_MARK)) || seen.is_err(),
        "{name}: {what}"
    );
    assert_eq!(Arena::outside_of(before), Arena::outside_of(&arena.snapshot()), "{name}: {what}");
    if case.expected == Expected::Escapes {
        assert_eq!(*seen, Err(ErrorKind::EscapesWorkspace), "{name}: {what}");
    }
}

#[test]
fn no_case_of_the_corpus_gets_out_of_a_whole_tree() {
    for case in CASES {
        let arena = Arena::new(case.plants);
        let before = arena.snapshot();
        let path = WirePath(arena.expand(case.path).as_os_str().as_bytes().to_vec());
        World::run_in(arena.root(), Profile::Workspace, async |world| {
            for (what, seen) in attempts(world, path).await {
                check(case, &arena, what, &seen, &before);
            }
            // What was planted lies in the tree, too, when all of it is looked at.
            for (what, seen) in attempts(world, ".".into()).await {
                assert!(seen.is_ok_and(|seen| !seen.contains("OUTSIDE-")), "{}: {what}", case.name);
                assert_eq!(Arena::outside_of(&before), Arena::outside_of(&arena.snapshot()), "{}", case.name);
            }
        });
    }
}
