//! Searches, trees, downloads and conditional writes.

use proto::message::{FileWritten, GlobBatch, GrepBatch};
use proto::session::{CloseCode, Event};
use proto::{Channel, ErrorKind, Request, WireError, codec};

use super::world;
use crate::limits::MAX_WAITING_PIECES;
use crate::testing::settle;
use crate::{
    DownloadRequest, FileKind, GlobDone, GlobEntry, GlobQuery, GrepDone, GrepFile, GrepLine, GrepQuery,
    SandboxError, TreeRead, TreeWritten, Truncation, WriteOptions,
};

fn glob_query() -> GlobQuery {
    GlobQuery { pattern: "**".into(), path: b".".to_vec(), ignored: true, max_results: 7 }
}

fn grep_query() -> GrepQuery {
    GrepQuery {
        pattern: "x".into(),
        path: b"src".to_vec(),
        include: Some("*.rs".into()),
        ignore_case: true,
        context_lines: 2,
        ignored: false,
        max_results: 5,
    }
}

#[tokio::test(start_paused = true)]
async fn search_results_keep_their_batches_apart_and_end_with_what_they_came_to() {
    let mut world = world().await;
    let mut reader = world.sandbox.glob(glob_query()).await.unwrap();
    let (stream, request) = world.runner.opened().await;
    assert!(matches!(request, Request::Glob(glob) if glob.ignored && glob.max_results == 7));
    for name in [b"a", b"b"] {
        let entry = GlobEntry { path: name.to_vec(), kind: FileKind::File, size_bytes: 1, modified_ms: 2 };
        let batch = codec::encode(&GlobBatch { entries: vec![entry] }).unwrap();
        world.runner.write(stream, Channel::Main, &batch);
    }
    let done = GlobDone { entries: 2, matched: 9, truncated: Some(Truncation::Results) };
    world.runner.send(stream, done.clone(), true);
    world.runner.flush().await;
    settle().await;
    assert_eq!(reader.next_batch().await.unwrap().unwrap().entries[0].path, b"a");
    assert_eq!(reader.next_batch().await.unwrap().unwrap().entries[0].path, b"b");
    assert_eq!(reader.done(), None);
    assert!(reader.next_batch().await.is_none());
    assert_eq!(reader.done(), Some(&done));

    let mut reader = world.sandbox.grep(grep_query()).await.unwrap();
    let (stream, _) = world.runner.opened().await;
    let line = GrepLine { number: 3, is_match: true, is_cut: false, text: b"x".to_vec() };
    let file = GrepFile { path: b"src/f.rs".to_vec(), lines: vec![line] };
    let batch = codec::encode(&GrepBatch { files: vec![file.clone()] }).unwrap();
    world.runner.write(stream, Channel::Main, &batch);
    let done = GrepDone { matches: 1, files: 1, searched: 4, binary: 0, unreadable: 0, truncated: None };
    world.runner.send(stream, done.clone(), true);
    world.runner.flush().await;
    assert_eq!(reader.next_batch().await.unwrap().unwrap().files, [file]);
    assert!(reader.next_batch().await.is_none());
    assert_eq!(reader.done(), Some(&done));
}

#[tokio::test(start_paused = true)]
async fn search_results_that_are_none_are_a_protocol_error_and_a_dropped_search_is_cancelled() {
    let mut world = world().await;
    let mut reader = world.sandbox.grep(grep_query()).await.unwrap();
    let (stream, _) = world.runner.opened().await;
    world.runner.write(stream, Channel::Main, b"\xff");
    world.runner.flush().await;
    assert!(matches!(reader.next_batch().await, Some(Err(SandboxError::Protocol { .. }))));
    drop(reader);
    assert_eq!(world.runner.next().await, Some(Event::Cancelled(stream)));
}

#[tokio::test(start_paused = true)]
async fn search_results_in_pieces_of_one_byte_close_the_link() {
    let mut world = world().await;
    let _reader = world.sandbox.glob(glob_query()).await.unwrap();
    let (stream, _) = world.runner.opened().await;
    for _ in 0..=MAX_WAITING_PIECES {
        world.runner.write(stream, Channel::Main, b"x");
        world.runner.flush().await;
    }
    assert_eq!(world.runner.closed().await.code, CloseCode::Flooded);
}

#[tokio::test(start_paused = true)]
async fn trees_are_streamed_both_ways() {
    let mut world = world().await;
    let mut reader = world.sandbox.read_tree(b"a").await.unwrap();
    let (stream, _) = world.runner.opened().await;
    world.runner.write(stream, Channel::Main, b"archive");
    let read = TreeRead { files: 1, directories: 1, symlinks: 0, size_bytes: 3, skipped: 0, note: None };
    world.runner.send(stream, read.clone(), true);
    world.runner.flush().await;
    assert_eq!(reader.next().await.unwrap().unwrap(), "archive");
    assert!(reader.next().await.is_none());
    assert_eq!(reader.done(), Some(&read));

    let mut writer = world.sandbox.write_tree(b"b", true).await.unwrap();
    writer.write(b"archive").await.unwrap();
    let finishing = tokio::spawn(writer.finish());
    let (stream, request) = world.runner.opened().await;
    assert!(matches!(request, Request::WriteTree(tree) if tree.delete_extra && tree.path.0 == b"b"));
    while !matches!(world.runner.next().await, Some(Event::End(..))) {}
    let written = TreeWritten { files: 1, directories: 1, symlinks: 0, size_bytes: 3, removed: 2 };
    world.runner.send(stream, written.clone(), true);
    world.runner.flush().await;
    assert_eq!(finishing.await.unwrap(), Ok(written));
}

#[tokio::test(start_paused = true)]
async fn conditions_and_downloads_reach_the_runner_and_their_refusal_the_caller() {
    let mut world = world().await;
    let options = WriteOptions { if_match: Some([7; 32]), ..WriteOptions::default() };
    let writer = world.sandbox.write_file(b"f", options).await.unwrap();
    let (stream, request) = world.runner.opened().await;
    assert!(matches!(request, Request::WriteFile(write) if write.if_match == Some([7; 32])));
    let refusal = WireError::new(ErrorKind::PreconditionFailed, "it is another one");
    world.runner.session.fail(stream, &refusal);
    world.runner.flush().await;
    assert_eq!(writer.finish().await.unwrap_err().kind(), "precondition_failed");

    let sandbox = world.sandbox.clone();
    let request = DownloadRequest {
        url: "http://a/".into(),
        path: b"f".to_vec(),
        mode: None,
        parents: false,
        max_bytes: 9,
        sha256: None,
        present: None,
    };
    let downloading = tokio::spawn(async move { sandbox.download(request).await });
    let (stream, _) = world.runner.opened().await;
    world.runner.send(stream, FileWritten { bytes: 5 }, true);
    world.runner.flush().await;
    assert_eq!(downloading.await.unwrap(), Ok(5));
}
