//! Searching over the link.

use std::time::{Duration, Instant, SystemTime};

use proto::codec;
use proto::message::{GlobBatch, GlobDone, GlobEntry, GrepBatch, GrepDone, Truncation};
use proto::request::{Glob, Grep};
use proto::{ErrorKind, Event, Message, WireError};

use crate::world::{Peer, World};

pub(crate) fn glob_for(pattern: &str) -> Glob {
    Glob { pattern: pattern.into(), path: ".".into(), ignored: false, max_results: u32::MAX }
}

pub(crate) fn grep_for(pattern: &str) -> Grep {
    Grep {
        pattern: pattern.into(),
        path: ".".into(),
        include: None,
        ignore_case: false,
        context_lines: 0,
        ignored: false,
        max_results: u32::MAX,
    }
}

pub(crate) async fn glob(peer: &mut Peer, request: Glob) -> Result<(Vec<GlobEntry>, GlobDone), WireError> {
    let stream = peer.open(request);
    let mut entries = Vec::new();
    loop {
        match peer.event(stream).await {
            Event::Data(_, _, bytes) => entries.extend(codec::decode::<GlobBatch>(&bytes).unwrap().entries),
            Event::Message { message: Message::GlobDone(done), fin: true, .. } => {
                assert_eq!(done.entries, entries.len() as u64);
                return Ok((entries, done));
            }
            Event::Failed(_, error) => return Err(error),
            _ => {}
        }
    }
}

/// The lines found, as `path:number:text` with `-` for context, and the search's result.
pub(crate) async fn grep(peer: &mut Peer, request: Grep) -> Result<(Vec<String>, GrepDone), WireError> {
    let stream = peer.open(request);
    let mut lines = Vec::new();
    loop {
        match peer.event(stream).await {
            Event::Data(_, _, bytes) => {
                for file in codec::decode::<GrepBatch>(&bytes).unwrap().files {
                    let path = String::from_utf8_lossy(&file.path).into_owned();
                    for line in file.lines {
                        let mark = if line.is_match { ':' } else { '-' };
                        let text = String::from_utf8_lossy(&line.text).into_owned();
                        lines.push(format!("{path}{mark}{}{mark}{text}", line.number));
                    }
                }
            }
            Event::Message { message: Message::GrepDone(done), fin: true, .. } => return Ok((lines, done)),
            Event::Failed(_, error) => return Err(error),
            _ => {}
        }
    }
}

/// Files of one line each, the first the oldest.
fn plant(world: &World, files: &[(&str, &str)]) {
    for (age, (name, content)) in files.iter().rev().enumerate() {
        let path = world.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        let modified = SystemTime::now() - Duration::from_secs(60 * age as u64);
        std::fs::File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
    }
}

async fn found(world: &mut World, request: Glob) -> Vec<String> {
    let (entries, _) = glob(&mut world.peer, request).await.unwrap();
    entries.into_iter().map(|entry| String::from_utf8(entry.path).unwrap()).collect()
}

const TREE: &[(&str, &str)] = &[
    ("a.rs", "fn a() {}\n"),
    ("src/b.rs", "fn b() {}\n"),
    ("src/deep/c.rs", "fn c() {}\n"),
    ("src/deep/d.txt", "fn d\n"),
    (".hidden/e.rs", "fn e() {}\n"),
    (".git/f.rs", "fn f() {}\n"),
];

#[test]
fn paths_are_found_the_newest_first() {
    World::run(async |world| {
        plant(world, TREE);
        std::os::unix::fs::symlink("src", world.path("link")).unwrap();
        for (pattern, path, expected) in [
            ("**/*.rs", ".", &[".hidden/e.rs", "src/deep/c.rs", "src/b.rs", "a.rs"][..]),
            ("*.rs", ".", &["a.rs"]),
            ("./*.rs", ".", &["a.rs"]),
            ("src/*.rs", ".", &["src/b.rs"]),
            ("src/**", "", &[]),
            ("**/*.{rs,txt}", "src", &["src/deep/d.txt", "src/deep/c.rs", "src/b.rs"]),
            ("*/?.rs", "./src/", &["./src/deep/c.rs"]),
            ("**/", "src", &["src/deep"]),
            ("lin*", ".", &["link"]),
            ("[ab].rs", ".", &["a.rs"]),
            ("nothing", ".", &[]),
        ] {
            let request = Glob { path: path.into(), ..glob_for(pattern) };
            if path.is_empty() {
                assert_eq!(glob(&mut world.peer, request).await.unwrap_err().kind, ErrorKind::InvalidPath);
                continue;
            }
            assert_eq!(found(world, request).await, expected, "{pattern} in {path}");
        }
    });
}

#[test]
fn what_git_ignores_is_left_out_unless_it_is_asked_for() {
    World::run(async |world| {
        plant(world, TREE);
        plant(
            world,
            &[
                (".gitignore", "target/\n*.log\n/src/deep/*.txt\n"),
                ("target/x.rs", "fn x() {}\n"),
                ("y.log", "fn y() {}\n"),
                ("sub/.gitignore", "!keep.log\n"),
                ("sub/keep.log", "fn keep() {}\n"),
                ("sub/target/z.rs", "fn z() {}\n"),
            ],
        );
        let all = found(world, Glob { ignored: true, ..glob_for("**/[a-z]*.*") }).await;
        assert_eq!(all.len(), 9, "{all:?}");
        let mut kept = found(world, glob_for("**/[a-z]*.*")).await;
        kept.sort();
        assert_eq!(kept, [".hidden/e.rs", "a.rs", "src/b.rs", "src/deep/c.rs", "sub/keep.log"]);
        // The rules of the directories above apply too; a file that the request names is searched even if they exclude it.
        assert!(found(world, Glob { path: "src/deep".into(), ..glob_for("*.txt") }).await.is_empty());
        assert_eq!(found(world, Glob { path: "target".into(), ..glob_for("*") }).await, ["target/x.rs"]);
        let (lines, done) = grep(&mut world.peer, grep_for("fn x|fn y|fn z|fn keep")).await.unwrap();
        assert_eq!((lines, done.matches), (vec!["sub/keep.log:1:fn keep() {}".to_owned()], 1));
    });
}

#[test]
fn of_many_paths_the_newest_are_sent_and_all_are_counted() {
    World::run(async |world| {
        for number in 0..3000 {
            std::fs::File::create(world.path(format!("{number:0>60}"))).unwrap();
        }
        plant(world, &[("new", "")]);
        let old = std::fs::File::options().write(true).open(world.path(format!("{:0>60}", 7))).unwrap();
        old.set_modified(SystemTime::UNIX_EPOCH - Duration::from_secs(5)).unwrap();
        let (entries, done) = glob(&mut world.peer, glob_for("*")).await.unwrap();
        assert_eq!((entries.len(), done.matched, done.truncated), (3001, 3001, None));
        assert_eq!(entries[3000].modified_ms, -5000);
        assert!(entries.is_sorted_by(|one, next| {
            (next.modified_ms, &one.path) <= (one.modified_ms, &next.path)
                || next.modified_ms < one.modified_ms
        }));
        let request = Glob { max_results: 2, ..glob_for("*") };
        let (entries, done) = glob(&mut world.peer, request).await.unwrap();
        assert_eq!((entries.len(), done.matched), (2, 3001));
        assert_eq!(done.truncated, Some(Truncation::Results));
    });
}

#[test]
fn lines_are_found_with_their_context() {
    World::run(async |world| {
        plant(
            world,
            &[("f.txt", "one\ntwo\nthree Four\nfive\nsix\n"), ("d/g.rs", "fOur\r\n"), ("d/binary", "four\0")],
        );
        let request = Grep { ignore_case: true, ..grep_for("\\bfour$") };
        let (mut lines, done) = grep(&mut world.peer, request).await.unwrap();
        lines.sort();
        assert_eq!(lines, ["d/g.rs:1:fOur", "f.txt:3:three Four"]);
        assert_eq!((done.matches, done.files, done.searched, done.binary), (2, 2, 3, 1));
        let request = Grep { context_lines: 1, include: Some("*.txt".into()), ..grep_for("Four") };
        let (lines, _) = grep(&mut world.peer, request).await.unwrap();
        assert_eq!(lines, ["f.txt-2-two", "f.txt:3:three Four", "f.txt-4-five"]);
        let request = Grep { path: "d/g.rs".into(), ..grep_for("fO") };
        assert_eq!(grep(&mut world.peer, request).await.unwrap().0, ["d/g.rs:1:fOur"]);
        let request = Grep { include: Some("d/*".into()), ..grep_for(".") };
        assert_eq!(grep(&mut world.peer, request).await.unwrap().0, ["d/g.rs:1:fOur"]);
    });
}

#[test]
fn a_search_by_content_sends_no_more_than_was_asked_for_and_says_so() {
    World::run(async |world| {
        let text: String = (1..=9_000).map(|number| format!("line {number} {}\n", "x".repeat(50))).collect();
        plant(world, &[("f", &text)]);
        for (max_results, sent, truncated) in [
            (9_000, 9_000, None),
            (8_999, 8_999, Some(Truncation::Results)),
            (0, 0, Some(Truncation::Results)),
        ] {
            let request = Grep { max_results, ..grep_for("^line") };
            let (lines, done) = grep(&mut world.peer, request).await.unwrap();
            assert_eq!((lines.len(), done.matches, done.truncated), (sent, sent as u64, truncated));
        }
    });
}

#[test]
fn patterns_that_are_not_understood_are_refused_with_the_reason() {
    World::run(async |world| {
        let long = "a".repeat(5_000);
        for pattern in ["(", "a{1000}{1000}{1000}", "[z-a]", &long] {
            let error = grep(&mut world.peer, grep_for(pattern)).await.unwrap_err();
            assert_eq!(error.kind, ErrorKind::InvalidBody, "{error}");
        }
        for pattern in ["[", "{a", &long] {
            let error = glob(&mut world.peer, glob_for(pattern)).await.unwrap_err();
            assert_eq!(error.kind, ErrorKind::InvalidBody, "{error}");
            let request = Grep { include: Some(pattern.into()), ..grep_for("a") };
            assert_eq!(grep(&mut world.peer, request).await.unwrap_err().kind, ErrorKind::InvalidBody);
        }
        let error = glob(&mut world.peer, Glob { path: "none".into(), ..glob_for("*") }).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::NotFound);
    });
}

#[test]
fn a_cancelled_search_ends_at_once_though_it_has_much_to_do() {
    World::run(async |world| {
        // Sparse, so that it is created at once; a file of NUL bytes would be binary.
        let file = std::fs::File::create(world.path("large")).unwrap();
        let line = [b"x".repeat(1_000), b"\n".to_vec()].concat();
        std::io::Write::write_all(&mut &file, &line.repeat(60_000)).unwrap();
        for _ in 0..3 {
            let stream = world.peer.open(grep_for("(x+x+)+y$"));
            world.peer.flush().await;
            let start = Instant::now();
            world.peer.cancel(stream).await;
            assert_eq!(world.peer.answer(stream).await.unwrap_err().kind, ErrorKind::Cancelled);
            assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
        }
    });
}

#[test]
fn deep_trees_are_searched_as_far_as_they_may_go_and_that_is_told() {
    World::run(async |world| {
        let deep = "d/".repeat(200);
        std::fs::create_dir_all(world.path(&deep)).unwrap();
        std::fs::write(world.path(format!("{deep}f")), "hit").unwrap();
        std::fs::write(world.path(format!("{}f", "d/".repeat(100))), "hit").unwrap();
        let (entries, done) = glob(&mut world.peer, glob_for("**/f")).await.unwrap();
        assert_eq!((entries.len(), done.truncated), (1, Some(Truncation::Depth)));
        let (lines, done) = grep(&mut world.peer, grep_for("hit")).await.unwrap();
        assert_eq!((lines.len(), done.truncated), (1, Some(Truncation::Depth)));
    });
}
