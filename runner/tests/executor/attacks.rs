//! Every case of the attack corpus, tried on the requests that work on whole trees.
//!
//! The corpus makes one attempt with each path; here each path is given to every such request.

use std::net::SocketAddr;
use std::os::unix::ffi::OsStrExt;

use proto::request::{Download, Glob, Grep, WriteTree};
use proto::{ErrorKind, WirePath};
use runner::layers::Profile;

use crate::download::{answer, download_of, serve};
use crate::search::{glob, glob_for, grep, grep_for};
use crate::tree::{read_tree, tree_to, write_tree};
use crate::world::World;
use testkit::arena::{Arena, OUTSIDE_MARK, Plant};
use testkit::corpus::{Attempt, Case, Expected, cases};
use testkit::tar::Tar;

/// The data of a request, or the reason why it was refused.
type Seen = Result<String, ErrorKind>;

async fn attempts(world: &mut World, path: WirePath, source: SocketAddr) -> Vec<(&'static str, Seen)> {
    let peer = &mut world.peer;
    let by_name = glob(peer, Glob { path: path.clone(), ..glob_for("**") }).await;
    let by_content = grep(peer, Grep { path: path.clone(), ..grep_for(OUTSIDE_MARK) }).await;
    let out = read_tree(peer, path.clone()).await;
    let archive = Tar::new().file("secret", b"planted").directory("new").end();
    let mirror = WriteTree { delete_extra: true, ..tree_to(path.clone()) };
    let into = write_tree(peer, mirror, &archive).await;
    let download = Download { path, parents: true, ..download_of(source, "/dir/file") };
    let fetched = peer.ask(download).await;
    vec![
        ("glob", by_name.map(|found| format!("{found:?}")).map_err(|error| error.kind)),
        ("grep", by_content.map(|(lines, _)| format!("{lines:?}")).map_err(|error| error.kind)),
        ("read_tree", out.map(|(bytes, _)| text(&bytes)).map_err(|error| error.kind)),
        ("write_tree", into.map(|written| format!("{written:?}")).map_err(|error| error.kind)),
        ("download", fetched.map(|message| format!("{message:?}")).map_err(|error| error.kind)),
    ]
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn check(case: &Case, arena: &Arena, what: &str, seen: &Seen, before: &testkit::arena::Snapshot) {
    let name = case.name;
    // A second name of a file is the same file, as long as hard links may be read.
    let is_inside = case.plants.iter().any(|plant| matches!(plant, Plant::HardLink(..)));
    assert!(
        is_inside || seen.as_ref().is_ok_and(|seen| !seen.contains(OUTSIDE_MARK)) || seen.is_err(),
        "{name}: {what}"
    );
    assert_eq!(before.outside, arena.snapshot().outside, "{name}: {what}");
    let asked = match case.attempt {
        Attempt::Find => "glob",
        Attempt::Search => "grep",
        _ => "",
    };
    if what == asked {
        let kind = seen.as_ref().map(drop).map_err(|kind| *kind);
        let owed = match case.expected {
            Expected::Inside => Ok(()),
            Expected::Special => Err(ErrorKind::SpecialFile),
            _ => Err(ErrorKind::EscapesWorkspace),
        };
        assert_eq!(kind, owed, "{name}: {what}");
    }
    if case.expected == Expected::Escapes {
        // A file's path that ends in a slash is refused before any access.
        let is_refused = what == "download" && *seen == Err(ErrorKind::IsADirectory);
        assert!(is_refused || *seen == Err(ErrorKind::EscapesWorkspace), "{name}: {what}: {seen:?}");
    }
}

/// Plants cases in turn in the workspace of one executor, skipping those whose `of` equals an earlier one's.
fn play(of: impl Fn(&Case) -> String, test: impl AsyncFn(&mut World, &'static Case, &Arena)) {
    let mut played = std::collections::BTreeSet::new();
    let base = testkit::arena::quick_directory();
    let workspace = base.path().canonicalize().unwrap().join("work");
    std::fs::create_dir(&workspace).unwrap();
    let arena = Arena::around(&workspace, workspace.parent().unwrap(), None);
    let is_root = rustix::process::geteuid().is_root();
    World::run_in(&workspace, Profile::Workspace, async |world| {
        let cases = cases().filter(|case| is_root || !case.takes_root());
        for case in cases.filter(|case| played.insert(of(case))) {
            arena.clear();
            assert!(arena.plant_all(case.plants), "{}", case.name);
            test(world, case, &arena).await;
        }
    });
}

#[test]
fn no_case_of_the_corpus_gets_out_of_a_whole_tree() {
    let source = serve(answer);
    play(
        |case| format!("{:?}{:?}", case.plants, case.path),
        async |world, case, arena| {
            let before = arena.snapshot();
            let path = WirePath(arena.expand(case.path).as_os_str().as_bytes().to_vec());
            for (what, seen) in attempts(world, path, source).await {
                check(case, arena, what, &seen, &before);
            }
        },
    );
}

#[test]
fn what_is_planted_in_a_tree_leads_nowhere_when_all_of_it_is_looked_at() {
    play(
        |case| format!("{:?}", case.plants),
        async |world, case, arena| {
            let before = arena.snapshot().outside;
            let peer = &mut world.peer;
            let (paths, _) = glob(peer, glob_for("**")).await.unwrap();
            assert!(!format!("{paths:?}").contains(OUTSIDE_MARK), "{}", case.name);
            let (_, done) = grep(peer, grep_for(OUTSIDE_MARK)).await.unwrap();
            let twins = case.plants.iter().filter(|plant| matches!(plant, Plant::HardLink(..))).count();
            assert_eq!(done.matches, twins as u64, "{}", case.name);
            // A sparse tebibyte is refused, everything else is packed without entries that lead out.
            if let Ok((archive, _)) = read_tree(peer, ".".into()).await {
                assert!(twins > 0 || !text(&archive).contains(OUTSIDE_MARK), "{}", case.name);
                write_tree(peer, tree_to("copy-of-it"), &archive).await.unwrap();
            }
            assert_eq!(before, arena.snapshot().outside, "{}", case.name);
        },
    );
}
