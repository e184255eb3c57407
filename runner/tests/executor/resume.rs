//! Execs and changes that outlive their link: nothing is lost, repeated or reordered.

use std::time::Duration;

use proto::message::{Attached, ExecReport, ExitStatus};
use proto::request::{Attach, Exec, List, MkdirAll, Overflow, Report, Stdin, WriteFile};
use proto::{Channel, DataBuf, ErrorKind, Event, ExecId, Message, StreamId};

use crate::world::{World, eventually, id, is_alive, shell};

fn attach(id: ExecId, offset: u64) -> Attach {
    Attach { id, offset, output: true }
}

/// Attaches and reads the answer's first message.
async fn reattach(world: &mut World, id: ExecId, offset: u64) -> (StreamId, u64) {
    let stream = world.peer.open(attach(id, offset));
    match world.peer.event(stream).await {
        Event::Message { message: Message::Attached(Attached { input_bytes }), .. } => (stream, input_bytes),
        other => panic!("{other:?}"),
    }
}

/// Output until there is at least this much.
async fn read(world: &mut World, stream: StreamId, at_least: usize) -> Vec<u8> {
    let mut output = Vec::new();
    while output.len() < at_least {
        if let Event::Data(_, _, bytes) = world.peer.event(stream).await {
            output.extend_from_slice(&bytes);
        }
    }
    output
}

#[test]
fn an_exec_goes_on_without_a_link_and_is_read_on_the_next_one() {
    World::run(async |world| {
        let request = shell("echo one; while [ ! -e go ]; do sleep 0.02; done; echo two; exit 7");
        let exec_id = request.exec_id;
        let stream = world.peer.open(request);
        assert_eq!(read(world, stream, 4).await, b"one\n");
        world.cut().await;
        std::fs::write(world.path("go"), "").unwrap();
        let (stream, _) = reattach(world, exec_id, 4).await;
        let outcome = world.peer.outcome(stream).await;
        assert_eq!((outcome.text(), outcome.status()), ("two\n", ExitStatus::Code(7)));
        assert_eq!((outcome.closed().stdout_bytes, outcome.closed().dropped_bytes), (8, 0));
    });
}

#[test]
fn an_exec_is_known_to_the_request_behind_it() {
    World::run(async |world| {
        let request = shell("echo here; exit 5");
        let exec_id = request.exec_id;
        world.peer.open(request);
        let (stream, _) = reattach(world, exec_id, 0).await;
        let outcome = world.peer.outcome(stream).await;
        assert_eq!((outcome.text(), outcome.status()), ("here\n", ExitStatus::Code(5)));
    });
}

#[test]
fn a_result_is_kept_until_it_is_acknowledged() {
    World::run(async |world| {
        let request = shell("echo kept; exit 3");
        let exec_id = request.exec_id;
        assert_eq!(world.peer.exec(request.clone()).await.text(), "kept\n");
        for _ in 0..2 {
            world.cut().await;
            let (stream, _) = reattach(world, exec_id, 0).await;
            let outcome = world.peer.outcome(stream).await;
            assert_eq!(outcome.status(), ExitStatus::Code(3));
        }
        world.peer.session.acknowledge(exec_id);
        let stream = world.peer.open(attach(exec_id, 0));
        assert_eq!(world.peer.answer(stream).await.unwrap_err().kind, ErrorKind::Expired);
        assert_eq!(world.peer.exec(request).await.error.unwrap().kind, ErrorKind::Expired);
        let unknown = world.peer.open(attach(id(), 0));
        assert_eq!(world.peer.answer(unknown).await.unwrap_err().kind, ErrorKind::NoSuchExec);
    });
}

#[test]
fn what_was_sent_and_not_drained_is_sent_again() {
    World::run(async |world| {
        let expected: Vec<u8> = (0..3_000_000u32).flat_map(u32::to_le_bytes).collect();
        std::fs::write(world.path("large"), &expected).unwrap();
        let request = shell("cat large");
        let exec_id = request.exec_id;
        let mut stream = world.peer.open(request);
        let mut received = Vec::new();
        // A piece is drained when the next one has arrived; at each cut the last one is dropped, as if it never arrived.
        let (mut cuts, mut undrained) = (0, 0);
        world.peer.consumes = false;
        loop {
            match world.peer.event(stream).await {
                Event::Data(_, _, bytes) => {
                    received.extend_from_slice(&bytes);
                    if received.len() > (cuts + 1) * 1_000_000 {
                        cuts += 1;
                        received.truncate(received.len() - bytes.len());
                        world.cut().await;
                        world.peer.consumes = false;
                        undrained = 0;
                        stream = reattach(world, exec_id, received.len() as u64).await.0;
                        continue;
                    }
                    world.peer.session.consumed(stream, std::mem::replace(&mut undrained, bytes.len()));
                }
                Event::Message { message: Message::ExecStreamsClosed(closed), .. } => {
                    assert_eq!(closed.dropped_bytes, 0);
                    break;
                }
                Event::Gap(_, _, bytes) => panic!("{bytes} bytes were dropped"),
                Event::Failed(_, error) => panic!("{error}"),
                _ => {}
            }
        }
        assert!(cuts > 5 && received == expected, "{cuts} cuts, {} bytes", received.len());
    });
}

#[test]
fn a_command_without_a_link_never_waits_and_the_oldest_is_dropped_with_a_gap() {
    World::run(async |world| {
        let request = shell("head -c 80000000 /dev/zero; touch done; echo end");
        let exec_id = request.exec_id;
        let stream = world.peer.open(request);
        read(world, stream, 1).await;
        world.cut().await;
        let done = world.path("done");
        eventually("the command went on to its end", || done.exists()).await;
        let (stream, _) = reattach(world, exec_id, 0).await;
        let outcome = world.peer.outcome(stream).await;
        let closed = outcome.closed();
        assert_eq!(closed.stdout_bytes, 80_000_004);
        assert_eq!((outcome.stdout.len() as u64) + outcome.gap_bytes, 80_000_004);
        assert!(outcome.gap_bytes == closed.dropped_bytes && outcome.gap_bytes < 20_000_000, "{closed:?}");
        assert!(outcome.stdout.ends_with(b"end\n"));
    });
}

#[test]
fn input_goes_on_where_the_command_had_taken_it() {
    World::run(async |world| {
        let request = Exec { stdin: Stdin::Stream, ..shell("head -c 10; touch ten; cat") };
        let exec_id = request.exec_id;
        let stream = world.peer.open(request);
        world.peer.session.data(stream, Channel::Main, DataBuf::copy_from(b"0123456789"));
        assert_eq!(read(world, stream, 10).await, b"0123456789");
        world.cut().await;
        let (stream, input_bytes) = reattach(world, exec_id, 10).await;
        assert_eq!(input_bytes, 10);
        world.peer.session.set_input_offset(stream, input_bytes);
        world.peer.upload(stream, b"abc").await;
        world.peer.end(stream);
        let outcome = world.peer.outcome(stream).await;
        assert_eq!((outcome.text(), outcome.status()), ("abc", ExitStatus::Code(0)));
    });
}

#[test]
fn input_that_a_repeated_start_brings_again_is_not_taken_twice() {
    World::run(async |world| {
        let request = Exec { stdin: Stdin::Stream, ..shell("cat") };
        let stream = world.peer.open(request.clone());
        world.peer.upload(stream, b"first ").await;
        assert_eq!(read(world, stream, 6).await, b"first ");
        world.cut().await;
        let stream = world.peer.open(request);
        world.peer.upload(stream, b"first second").await;
        world.peer.end(stream);
        let outcome = world.peer.outcome(stream).await;
        // Little was drained, so no credit for it came yet: it is all still there.
        assert_eq!((outcome.text(), outcome.gap_bytes), ("first second", 0));
    });
}

#[test]
fn a_retained_exec_can_be_read_by_many_from_the_start() {
    World::run(async |world| {
        let request =
            Exec { retain: true, ..shell("echo one; while [ ! -e go ]; do sleep 0.02; done; echo two") };
        let exec_id = request.exec_id;
        let first = world.peer.open(request);
        assert_eq!(read(world, first, 4).await, b"one\n");
        let (second, _) = reattach(world, exec_id, 0).await;
        let quiet = world.peer.open(Attach { id: exec_id, offset: 0, output: false });
        std::fs::write(world.path("go"), "").unwrap();
        assert_eq!(world.peer.outcome(first).await.text(), "two\n");
        assert_eq!(world.peer.outcome(second).await.text(), "one\ntwo\n");
        assert!(matches!(
            world.peer.event(quiet).await,
            Event::Message { message: Message::Attached(_), .. }
        ));
        let outcome = world.peer.outcome(quiet).await;
        assert_eq!((outcome.text(), outcome.status()), ("", ExitStatus::Code(0)));
        let (late, _) = reattach(world, exec_id, 4).await;
        assert_eq!(world.peer.outcome(late).await.text(), "two\n");
    });
}

#[test]
fn a_reader_leaves_and_nothing_is_stopped() {
    World::run(async |world| {
        let request =
            Exec { retain: true, ..shell("echo one; while [ ! -e go ]; do sleep 0.02; done; echo two") };
        let exec_id = request.exec_id;
        let first = world.peer.open(request);
        read(world, first, 4).await;
        world.peer.session.leave(first);
        assert_eq!(world.peer.outcome(first).await.error.unwrap().kind, ErrorKind::Detached);
        std::fs::write(world.path("go"), "").unwrap();
        let (second, _) = reattach(world, exec_id, 0).await;
        let outcome = world.peer.outcome(second).await;
        assert_eq!((outcome.text(), outcome.exited().cancelled), ("one\ntwo\n", false));
    });
}

#[test]
fn a_report_has_head_tail_and_state() {
    World::run(async |world| {
        let request =
            Exec { retain: true, ..shell("seq 100000; while [ ! -e go ]; do sleep 0.02; done; exit 4") };
        let exec_id = request.exec_id;
        let stream = world.peer.open(request);
        read(world, stream, 588_895).await;
        let report = async |world: &mut World| -> ExecReport {
            let asked = Report { exec_id, head_bytes: 10, tail_bytes: 14 };
            world.peer.ask(asked).await.unwrap().try_into().unwrap()
        };
        let running = report(world).await;
        assert_eq!(
            (&running.head[..], &running.tail[..]),
            (&b"1\n2\n3\n4\n5\n"[..], &b"\n99999\n100000\n"[..])
        );
        assert_eq!((running.exited, running.complete, running.output_bytes), (None, false, 588_895));
        std::fs::write(world.path("go"), "").unwrap();
        world.peer.outcome(stream).await;
        let ended = report(world).await;
        assert!(ended.complete && ended.exited.unwrap().status == ExitStatus::Code(4));
        let Ok(Message::ExecList(list)) = world.peer.ask(List {}).await else { panic!("no list") };
        assert_eq!((list.execs.len(), list.execs[0].exec_id, list.execs[0].running), (1, exec_id, false));
        let unknown = Report { exec_id: id(), head_bytes: 1, tail_bytes: 1 };
        assert_eq!(world.peer.ask(unknown).await.unwrap_err().kind, ErrorKind::NoSuchExec);
    });
}

#[test]
fn a_cancel_on_the_next_link_ends_the_tree() {
    World::run(async |world| {
        let request = shell("setsid sleep 60 & echo $!; wait");
        let exec_id = request.exec_id;
        let stream = world.peer.open(request);
        let pid = String::from_utf8(read(world, stream, 2).await).unwrap();
        let sleeper: u32 = pid.trim().parse().unwrap();
        world.cut().await;
        assert!(is_alive(sleeper));
        let (stream, _) = reattach(world, exec_id, pid.len() as u64).await;
        world.peer.cancel(stream).await;
        assert!(world.peer.outcome(stream).await.exited().cancelled);
        assert!(!is_alive(sleeper));
    });
}

#[test]
fn a_command_that_does_not_start_tells_so_on_the_next_link_too() {
    World::run(async |world| {
        let request = crate::world::argv(&["no-such-program"]);
        let exec_id = request.exec_id;
        assert_eq!(world.peer.exec(request).await.error.unwrap().kind, ErrorKind::CommandNotFound);
        world.cut().await;
        let (stream, _) = reattach(world, exec_id, 0).await;
        let error = world.peer.outcome(stream).await.error.unwrap();
        assert_eq!(error.kind, ErrorKind::CommandNotFound);
    });
}

#[test]
fn an_offset_beyond_the_output_is_refused() {
    World::run(async |world| {
        let request = shell("echo x");
        let exec_id = request.exec_id;
        world.peer.exec(request).await;
        let stream = world.peer.open(attach(exec_id, 3));
        assert_eq!(world.peer.answer(stream).await.unwrap_err().kind, ErrorKind::InvalidBody);
    });
}

#[test]
fn dropping_the_oldest_still_works_after_a_cut() {
    World::run(async |world| {
        let request =
            Exec { overflow: Overflow::DropOldest, ..shell("head -c 5000000 /dev/zero; touch done; cat") };
        let exec_id = request.exec_id;
        let stream = world.peer.open(request);
        read(world, stream, 1).await;
        world.cut().await;
        world.peer.consumes = false;
        let done = world.path("done");
        let (stream, _) = reattach(world, exec_id, 1).await;
        eventually("the command did not wait", || done.exists()).await;
        let mut seen = 1;
        while seen < 5_000_000 {
            match world.peer.event(stream).await {
                Event::Data(_, _, bytes) => {
                    seen += bytes.len() as u64;
                    world.peer.session.consumed(stream, bytes.len());
                    world.peer.flush().await;
                }
                Event::Gap(_, _, bytes) => seen += bytes,
                _ => {}
            }
        }
        assert_eq!(seen, 5_000_000);
    });
}

#[test]
fn a_change_is_made_once_and_its_answer_is_told_again() {
    World::run(async |world| {
        let request = MkdirAll { id: id(), path: "d".into(), mode: 0o755 };
        world.peer.ask(request.clone()).await.unwrap();
        std::fs::remove_dir(world.path("d")).unwrap();
        world.cut().await;
        let stream = world.peer.open(Attach { id: request.id, offset: 0, output: false });
        assert!(matches!(
            world.peer.event(stream).await,
            Event::Message { message: Message::Attached(_), .. }
        ));
        assert!(matches!(world.peer.answer(stream).await, Ok(Message::Done(_))));
        world.peer.ask(request.clone()).await.unwrap();
        assert!(!world.path("d").exists(), "it was made again");
        let other = MkdirAll { path: "e".into(), ..request };
        assert_eq!(world.peer.ask(other).await.unwrap_err().kind, ErrorKind::Conflict);
    });
}

#[test]
fn a_file_whose_link_was_cut_before_its_end_was_never_written() {
    World::run(async |world| {
        let write = WriteFile {
            id: id(),
            path: "f".into(),
            mode: None,
            parents: false,
            size_bytes: None,
            if_match: None,
        };
        let stream = world.peer.open(write.clone());
        world.peer.upload(stream, b"half").await;
        world.cut().await;
        let gone = async |world: &mut World| {
            let stream = world.peer.open(attach(write.id, 0));
            loop {
                match world.peer.event(stream).await {
                    Event::Failed(_, error) => return error.kind,
                    Event::Message { message: Message::Attached(_), .. } => {}
                    other => panic!("{other:?}"),
                }
            }
        };
        let kind = gone(world).await;
        assert!(matches!(kind, ErrorKind::NoSuchExec | ErrorKind::Cancelled), "{kind:?}");
        assert!(!world.path("f").exists());
        let stream = world.peer.open(write.clone());
        world.peer.upload(stream, b"whole").await;
        world.peer.end(stream);
        world.peer.answer(stream).await.unwrap();
        assert_eq!(std::fs::read(world.path("f")).unwrap(), b"whole");
        assert!(world.peer.event_within(stream, Duration::from_millis(1)).await.is_none());
    });
}
