//! Readers of an exec whose request was lost with its link: their requests reach the runner before that request.

use proto::message::Attached;
use tokio::time::timeout;

use super::*;
use crate::limits::REOPEN_DELAY;

/// A runner that never received an exec's request and, over its next link, is asked for the exec twice: by the driver, and by
/// another reader.
async fn asked_twice() -> (World, Exec, Exec, [StreamId; 2]) {
    let mut world = world().await;
    let exec = world.sandbox.exec(ExecRequest::shell("x")).await.unwrap();
    settle().await;
    world.cut_and_connect().await;
    let options = AttachOptions { output: true, acks: AckMode::Manual };
    let reader = world.sandbox.attach(exec.exec_id(), 0, options).await.unwrap();
    let (of_exec, _) = world.runner.attached().await;
    let (of_reader, _) = world.runner.attached().await;
    (world, exec, reader, [of_exec, of_reader])
}

#[tokio::test(start_paused = true)]
async fn reader_that_overtakes_its_exec_waits_for_it() {
    let (mut world, mut exec, mut reader, [of_exec, of_reader]) = asked_twice().await;
    world.runner.no_such_exec(of_exec).await;
    world.runner.no_such_exec(of_reader).await;
    let (stream, request) = world.runner.opened().await;
    assert!(matches!(request, Request::Exec(_)), "it is sent again: {request:?}");
    let asked_again = timeout(2 * REOPEN_DELAY, world.runner.attached()).await;
    let (of_reader, attach) = asked_again.expect("the reader is asked for again");
    assert_eq!((attach.offset, attach.output), (0, true));
    world.runner.session.fail(stream, &WireError::new(ErrorKind::Detached, "another reader came"));
    world.runner.send(of_reader, Attached { input_bytes: 3 }, false);
    world.runner.write(of_reader, Channel::Stdout, b"out");
    world.runner.exit(of_reader, 5, 3);
    world.runner.flush().await;
    assert_eq!(reader.next().await, Some(ExecEvent::Stdout(text(b"out"))));
    assert_eq!(reader.input_bytes(), Some(3), "it is attached as if nothing had happened in between");
    assert_eq!(reader.next().await, Some(ExecEvent::Exited(ExitStatus::Code(5))));
    assert!(matches!(reader.next().await, Some(ExecEvent::Finished(outcome)) if outcome.code == Some(5)));
    assert_eq!(resume::kind(exec.next().await), "detached");
}

#[tokio::test(start_paused = true)]
async fn reader_of_an_exec_that_will_never_arrive_is_told_so() {
    let (mut world, exec, mut reader, [of_exec, of_reader]) = asked_twice().await;
    drop(exec);
    settle().await;
    world.runner.no_such_exec(of_exec).await;
    world.runner.no_such_exec(of_reader).await;
    assert_eq!(resume::kind(reader.next().await), "no_such_exec");
}
