//! Files, changes and questions whose link is lost.

use proto::message::Attached;
use proto::request::Attach;

use super::*;

/// Spawns `mkdir_all` and waits until the runner has it.
async fn mkdir(world: &mut World) -> (JoinHandle<Result<(), SandboxError>>, Request) {
    let sandbox = world.sandbox.clone();
    let change = tokio::spawn(async move { sandbox.mkdir_all(b"d", 0o755).await });
    let (_, request) = world.runner.opened().await;
    (change, request)
}

fn id_of(request: &Request) -> ExecId {
    match request {
        Request::MkdirAll(change) => change.id,
        Request::WriteFile(change) => change.id,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn change_gets_its_answer_over_the_next_link() {
    let mut world = world().await;
    let (change, request) = mkdir(&mut world).await;
    world.cut_and_connect().await;
    let (stream, attach) = world.runner.attached().await;
    assert_eq!(attach, Attach { id: id_of(&request), offset: 0, output: false });
    world.runner.send(stream, Attached { input_bytes: 0 }, false);
    world.runner.send(stream, Done {}, true);
    world.runner.flush().await;
    assert_eq!(change.await.unwrap(), Ok(()));

    let (change, _) = mkdir(&mut world).await;
    world.cut().await;
    world.connect_again(3, 1).await;
    let (stream, _) = world.runner.attached().await;
    world.runner.session.fail(stream, &WireError::new(ErrorKind::NoSpace, "no space"));
    world.runner.flush().await;
    assert_eq!(change.await.unwrap().unwrap_err().kind(), "no_space");
}

#[tokio::test(start_paused = true)]
async fn change_that_never_arrived_is_sent_again() {
    let mut world = world().await;
    let (change, request) = mkdir(&mut world).await;
    world.cut_and_connect().await;
    let (stream, _) = world.runner.attached().await;
    world.runner.no_such_exec(stream).await;
    let (stream, again) = world.runner.opened().await;
    assert_eq!(again, request);
    world.runner.send(stream, Done {}, true);
    world.runner.flush().await;
    assert_eq!(change.await.unwrap(), Ok(()));
}

#[tokio::test(start_paused = true)]
async fn change_is_ambiguous_in_another_life_and_after_30_s() {
    let mut world = world().await;
    let (change, _) = mkdir(&mut world).await;
    world.cut().await;
    world.connect_again(2, 2).await;
    let error = change.await.unwrap().unwrap_err();
    assert_eq!(error.kind(), "ambiguous");
    assert!(error.to_string().contains("making the directory"), "{error}");

    world.sandbox = world.router.for_user(&user(), &route_request()).await.unwrap();
    let (change, _) = mkdir(&mut world).await;
    world.cut().await;
    let before = tokio::time::Instant::now();
    assert_eq!(change.await.unwrap().unwrap_err().kind(), "ambiguous");
    assert!(before.elapsed().as_millis().abs_diff(30_000) < 10, "{:?}", before.elapsed());
}

#[tokio::test(start_paused = true)]
async fn signal_whose_link_is_lost_is_ambiguous_at_once() {
    let mut world = world().await;
    let exec = world.sandbox.exec(ExecRequest::argv(["sleep"])).await.unwrap();
    world.runner.opened().await;
    let control = exec.control();
    let signalled = tokio::spawn(async move { (control.signal(2).await, control.resize(24, 80).await) });
    world.runner.opened().await;
    world.cut().await;
    let (signalled, resized) = signalled.await.unwrap();
    assert_eq!(signalled.unwrap_err().kind(), "ambiguous");
    assert_eq!(resized.unwrap_err().kind(), "offline");
}

#[tokio::test(start_paused = true)]
async fn file_that_was_not_sent_whole_is_not_written_and_says_so_at_once() {
    let mut world = world().await;
    let mut writer = world.sandbox.write_file(b"f", WriteOptions::default()).await.unwrap();
    world.runner.opened().await;
    writer.write(&[7; 100_000]).await.unwrap();
    world.runner.next().await;
    world.cut().await;
    let error = writer.finish().await.unwrap_err();
    assert_eq!(error.kind(), "lost");
    assert!(error.to_string().contains("nothing was written"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn file_that_was_sent_whole_gets_its_answer_over_the_next_link() {
    for is_known in [true, false] {
        let mut world = world().await;
        let mut writer = world.sandbox.write_file(b"f", WriteOptions::default()).await.unwrap();
        let (_, request) = world.runner.opened().await;
        let written = tokio::spawn(async move {
            writer.write(b"12345").await?;
            writer.finish().await
        });
        while !matches!(world.runner.next().await, Some(Event::End(..))) {}
        world.cut_and_connect().await;
        let (stream, attach) = world.runner.attached().await;
        assert_eq!(attach.id, id_of(&request));
        if is_known {
            world.runner.send(stream, FileWritten { bytes: 5 }, true);
            world.runner.flush().await;
            assert_eq!(written.await.unwrap(), Ok(5));
        } else {
            world.runner.no_such_exec(stream).await;
            let error = written.await.unwrap().unwrap_err();
            assert!(error.to_string().contains("nothing was written"), "{error}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn file_whose_request_never_left_is_written_over_the_next_link() {
    let mut world = world().await;
    // The link can queue 64 unread messages.
    let mut execs = Vec::new();
    for _ in 0..100 {
        execs.push(world.sandbox.exec(ExecRequest::argv(["sleep"])).await.unwrap());
    }
    let mut writer = world.sandbox.write_file(b"f", WriteOptions::default()).await.unwrap();
    writer.write(b"12345").await.unwrap();
    let written = tokio::spawn(writer.finish());
    settle().await;
    world.cut_and_connect().await;
    let stream = loop {
        if let (stream, Request::WriteFile(_)) = world.runner.opened().await {
            break stream;
        }
    };
    loop {
        match world.runner.next().await {
            Some(Event::Data(from, _, bytes)) => assert_eq!((from, bytes), (stream, text(b"12345"))),
            Some(Event::End(..)) => break,
            _ => {}
        }
    }
    world.runner.send(stream, FileWritten { bytes: 5 }, true);
    world.runner.flush().await;
    assert_eq!(written.await.unwrap(), Ok(5));
}

#[tokio::test(start_paused = true)]
async fn question_is_asked_again() {
    let mut world = world().await;
    let sandbox = world.sandbox.clone();
    let stat = tokio::spawn(async move { sandbox.stat(b"x").await });
    world.runner.opened().await;
    world.cut_and_connect().await;
    let (stream, request) = world.runner.opened().await;
    assert!(matches!(request, Request::Stat(_)));
    world.runner.session.fail(stream, &WireError::new(ErrorKind::NotFound, "nothing is there"));
    world.runner.flush().await;
    assert_eq!(stat.await.unwrap().unwrap_err().kind(), "not_found");
}

const OPENED: FileOpened = FileOpened { size_bytes: 110, mode: 0o644, modified_ms: 5 };

/// A reader that has taken 3 bytes, beginning at offset 10.
async fn reader(world: &mut World) -> FileReader {
    let sandbox = world.sandbox.clone();
    let range = Range { offset: 10, length: Some(5) };
    let opening = tokio::spawn(async move { sandbox.read_file(b"f", range).await.unwrap() });
    let (stream, _) = world.runner.opened().await;
    world.runner.send(stream, OPENED, false);
    world.runner.write(stream, Channel::Main, b"abc");
    world.runner.flush().await;
    let mut reader = opening.await.unwrap();
    assert_eq!(reader.next().await, Some(Ok(text(b"abc"))));
    world.runner.write(stream, Channel::Main, b"d");
    world.runner.flush().await;
    settle().await;
    world.cut_and_connect().await;
    reader
}

#[tokio::test(start_paused = true)]
async fn file_is_read_on_from_where_its_reader_was() {
    let mut world = world().await;
    let mut reader = reader(&mut world).await;
    let (stream, request) = world.runner.opened().await;
    let Request::ReadFile(request) = request else { panic!("{request:?}") };
    assert_eq!((request.offset, request.length), (13, Some(2)));
    world.runner.send(stream, OPENED, false);
    world.runner.write(stream, Channel::Main, b"de");
    world.runner.send(stream, FileRead { bytes: 2 }, true);
    world.runner.flush().await;
    assert_eq!(reader.next().await, Some(Ok(text(b"de"))));
    assert_eq!(reader.next().await, None);
}

#[tokio::test(start_paused = true)]
async fn file_that_changed_meanwhile_is_not_put_together_from_two() {
    let mut world = world().await;
    let mut reader = reader(&mut world).await;
    let (stream, _) = world.runner.opened().await;
    world.runner.send(stream, FileOpened { modified_ms: 6, ..OPENED }, false);
    world.runner.write(stream, Channel::Main, b"DE");
    assert_eq!(world.runner.next().await, Some(Event::Cancelled(stream)));
    let error = reader.next().await.unwrap().unwrap_err();
    assert!(error.to_string().contains("changed"), "{error}");
    assert_eq!(reader.next().await, None);
}

#[tokio::test(start_paused = true)]
async fn listing_begins_anew_unless_a_part_of_it_was_taken() {
    for is_taken in [false, true] {
        let mut world = world().await;
        let mut reader = world.sandbox.read_dir(b".").await.unwrap();
        let (stream, _) = world.runner.opened().await;
        let entry = DirEntry { name: b"a".to_vec(), kind: FileKind::File, size_bytes: 0 };
        let batch = codec::encode(&DirBatch { entries: vec![entry] }).unwrap();
        world.runner.write(stream, Channel::Main, &batch);
        world.runner.flush().await;
        settle().await;
        if is_taken {
            reader.next_batch().await.unwrap().unwrap();
            world.cut().await;
            assert_eq!(reader.next_batch().await.unwrap().unwrap_err().kind(), "lost");
        } else {
            world.cut_and_connect().await;
            let (stream, _) = world.runner.opened().await;
            world.runner.write(stream, Channel::Main, &batch);
            world.runner.send(stream, DirRead { entries: 1 }, true);
            world.runner.flush().await;
            assert_eq!(reader.next_batch().await.unwrap().unwrap().len(), 1);
            assert!(reader.next_batch().await.is_none());
        }
    }
}
