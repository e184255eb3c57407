//! A driver against a scripted runner over an in-memory link.

mod expected;
mod files;
mod http;
mod llm;
mod overtaking;
mod resume;
mod resume_changes;
mod returning;
mod simulation;

use std::sync::Arc;
use std::time::Duration;

use proto::limits::{MAX_DATA_BYTES, MAX_STREAM_CREDIT_BYTES, STREAM_CREDIT_BYTES};
use proto::message::{
    DirBatch, DirRead, Done, ExecExited, ExecStarted, ExecStreamsClosed, FileOpened, FileRead, FileWritten,
};
use proto::session::{CloseCode, Event};
use proto::{Channel, DataBuf, ErrorKind, Message, Request, StreamId, WireError, codec};
use tokio::task::JoinHandle;

use crate::handle::Sandbox;
use crate::limits::MAX_WAITING_PIECES;
use crate::testing::{ScriptedRunner, admit, facts, settle};
use crate::*;

struct World {
    router: SandboxRouter,
    served: JoinHandle<Result<(), LinkError>>,
    sandbox: Sandbox,
    runner: ScriptedRunner,
}

fn user() -> User {
    User { key: "u1".to_owned(), name: "alice".to_owned(), is_admin: false }
}

fn route_request() -> RouteRequest {
    RouteRequest { choice: Choice::Auto, registered: vec!["laptop".to_owned()] }
}

/// Connects the runner, with the boot id `boot`.
async fn connect(
    router: &SandboxRouter,
    epoch: u64,
    boot: u8,
) -> (ScriptedRunner, JoinHandle<Result<(), LinkError>>) {
    let (server_end, runner_end) = memory_link();
    let serving = router.clone();
    let served = tokio::spawn(async move { serving.serve_remote(server_end, admit).await });
    let mut events = router.subscribe();
    let mut runner = ScriptedRunner::connect(runner_end, &format!("u1:laptop:{epoch}"), boot).await;
    runner.flush().await;
    while !matches!(events.recv().await.unwrap(), RunnerEvent::Online { .. }) {}
    (runner, served)
}

async fn world() -> World {
    let router = SandboxRouter::new(RouterConfig::default());
    let (runner, served) = connect(&router, 1, 1).await;
    let sandbox = router.for_user(&user(), &route_request()).await.unwrap();
    World { router, served, sandbox, runner }
}

impl ScriptedRunner {
    async fn opened(&mut self) -> (StreamId, Request) {
        match self.next().await {
            Some(Event::Opened(stream, request)) => (stream, request),
            other => panic!("expected a request, got {other:?}"),
        }
    }

    fn send(&mut self, stream: StreamId, message: impl Into<Message>, fin: bool) {
        self.session.message(stream, &message.into(), fin).unwrap();
    }

    fn write(&mut self, stream: StreamId, channel: Channel, bytes: &[u8]) {
        self.session.data(stream, channel, DataBuf::copy_from(bytes));
    }

    fn exit(&mut self, stream: StreamId, code: i32, stdout_bytes: u64) {
        self.send(stream, exited(code, false), false);
        self.send(stream, closed(stdout_bytes), true);
    }
}

fn exited(code: i32, cancelled: bool) -> ExecExited {
    let status = ExitStatus::Code(code);
    ExecExited { status, timed_out: false, cancelled, sandbox_denied: false, duration_us: 400 }
}

fn closed(stdout_bytes: u64) -> ExecStreamsClosed {
    ExecStreamsClosed { stdout_bytes, stderr_bytes: 0, dropped_bytes: 0, still_open: false }
}

fn text(bytes: &[u8]) -> bytes::Bytes {
    bytes::Bytes::copy_from_slice(bytes)
}

#[tokio::test(start_paused = true)]
async fn exec_delivers_its_events_in_order_and_its_outcome_last() {
    let mut world = world().await;
    let mut exec = world.sandbox.exec(ExecRequest::shell("echo hi")).await.unwrap();
    let (stream, request) = world.runner.opened().await;
    let Request::Exec(request) = request else { panic!("{request:?}") };
    assert_eq!((request.exec_id, request.command), (exec.exec_id(), Command::Shell(b"echo hi".to_vec())));
    world.runner.send(stream, ExecStarted { pid: 7 }, false);
    world.runner.write(stream, Channel::Stdout, b"one");
    world.runner.write(stream, Channel::Stderr, b"two");
    world.runner.write(stream, Channel::Stdout, b"three");
    world.runner.session.end(stream, Channel::Stdout);
    world.runner.exit(stream, 3, 11);
    world.runner.flush().await;
    assert_eq!(exec.next().await, Some(ExecEvent::Started { pid: 7 }));
    assert_eq!(exec.next().await, Some(ExecEvent::Stdout(text(b"one"))));
    assert_eq!(exec.next().await, Some(ExecEvent::Stderr(text(b"two"))));
    assert_eq!(exec.next().await, Some(ExecEvent::Stdout(text(b"three"))));
    assert_eq!(exec.next().await, Some(ExecEvent::Exited(ExitStatus::Code(3))));
    let Some(ExecEvent::Finished(outcome)) = exec.next().await else { panic!("no outcome") };
    assert_eq!((outcome.code, outcome.truncated, outcome.stdout_bytes), (Some(3), false, 11));
    assert_eq!(exec.next().await, None);
}

#[tokio::test(start_paused = true)]
async fn result_is_acknowledged_with_the_next_request() {
    let mut world = world().await;
    let exec = world.sandbox.exec(ExecRequest::argv(["true"])).await.unwrap();
    let exec_id = exec.exec_id();
    let (stream, _) = world.runner.opened().await;
    world.runner.exit(stream, 0, 0);
    world.runner.flush().await;
    assert_eq!(exec.collect(10).await.unwrap().outcome.code, Some(0));
    let _second = world.sandbox.exec(ExecRequest::argv(["true"])).await.unwrap();
    assert_eq!(world.runner.next().await, Some(Event::Acknowledged(exec_id)));
    world.runner.opened().await;
}

#[tokio::test(start_paused = true)]
async fn result_without_an_exit_status_is_never_made_up() {
    let mut world = world().await;
    let exec = world.sandbox.exec(ExecRequest::argv(["true"])).await.unwrap();
    let (stream, _) = world.runner.opened().await;
    world.runner.send(stream, closed(0), true);
    world.runner.flush().await;
    assert_eq!(exec.collect(10).await.unwrap_err().kind(), "protocol");
}

#[tokio::test(start_paused = true)]
async fn output_that_never_arrived_is_announced_as_truncated() {
    let mut world = world().await;
    let exec = world.sandbox.exec(ExecRequest::argv(["true"])).await.unwrap();
    let (stream, _) = world.runner.opened().await;
    world.runner.write(stream, Channel::Stdout, b"12345");
    world.runner.exit(stream, 0, 6);
    world.runner.flush().await;
    let collected = exec.collect(3).await.unwrap();
    assert_eq!((&collected.stdout[..], collected.outcome.truncated), (&b"123"[..], true));
}

#[tokio::test(start_paused = true)]
async fn producer_stops_at_its_credit_while_the_consumer_does_not_read() {
    let mut world = world().await;
    let mut exec = world.sandbox.exec(ExecRequest::argv(["yes"])).await.unwrap();
    let (stream, _) = world.runner.opened().await;
    let mut sent = 0;
    while world.runner.session.writable(stream) > 0 {
        let length = world.runner.session.writable(stream).min(MAX_DATA_BYTES);
        world.runner.write(stream, Channel::Stdout, &vec![b'y'; length]);
        world.runner.flush().await;
        settle().await;
        sent += length;
    }
    assert_eq!(sent, MAX_STREAM_CREDIT_BYTES as usize);
    let mut taken = 0;
    while taken < sent / 4 {
        let Some(ExecEvent::Stdout(bytes)) = exec.next().await else { panic!("no output") };
        taken += bytes.len();
    }
    assert_eq!(world.runner.next().await, Some(Event::Writable(stream, taken as u64)));
    assert_eq!(world.runner.session.writable(stream), taken);
}

#[tokio::test(start_paused = true)]
async fn small_pieces_are_gathered_while_nobody_reads() {
    let mut world = world().await;
    let mut exec = world.sandbox.exec(ExecRequest::argv(["tick"])).await.unwrap();
    let (stream, _) = world.runner.opened().await;
    for _ in 0..100 {
        world.runner.write(stream, Channel::Stdout, b"x");
        world.runner.flush().await;
    }
    settle().await;
    assert_eq!(exec.next().await, Some(ExecEvent::Stdout(text(&[b'x'; 100]))));
}

#[tokio::test(start_paused = true)]
async fn dropped_exec_is_cancelled_and_its_output_is_drained() {
    let mut world = world().await;
    let exec = world.sandbox.exec(ExecRequest::argv(["yes"])).await.unwrap();
    let (stream, _) = world.runner.opened().await;
    for _ in 0..MAX_STREAM_CREDIT_BYTES as usize / MAX_DATA_BYTES {
        world.runner.write(stream, Channel::Stdout, &[b'y'; MAX_DATA_BYTES]);
    }
    world.runner.flush().await;
    settle().await;
    drop(exec);
    assert_eq!(world.runner.next().await, Some(Event::Cancelled(stream)));
    assert_eq!(
        world.runner.next().await,
        Some(Event::Writable(stream, u64::from(MAX_STREAM_CREDIT_BYTES))),
        "unread data gives its credit back"
    );
    assert_eq!(world.runner.session.writable(stream), MAX_STREAM_CREDIT_BYTES as usize);
    for _ in 0..MAX_STREAM_CREDIT_BYTES as usize / MAX_DATA_BYTES / 4 {
        world.runner.write(stream, Channel::Stdout, &[b'y'; MAX_DATA_BYTES]);
    }
    assert_eq!(
        world.runner.next().await,
        Some(Event::Writable(stream, u64::from(MAX_STREAM_CREDIT_BYTES) / 4))
    );
    assert_eq!(world.runner.session.writable(stream), MAX_STREAM_CREDIT_BYTES as usize);
}

#[tokio::test(start_paused = true)]
async fn cancel_keeps_the_output_and_the_result() {
    let mut world = world().await;
    let exec = world.sandbox.exec(ExecRequest::argv(["sleep"])).await.unwrap();
    let (stream, _) = world.runner.opened().await;
    world.runner.write(stream, Channel::Stdout, b"so far");
    exec.control().cancel();
    assert_eq!(world.runner.next().await, Some(Event::Cancelled(stream)));
    world.runner.send(stream, exited(0, true), false);
    world.runner.send(stream, closed(6), true);
    world.runner.flush().await;
    let collected = exec.collect(100).await.unwrap();
    assert_eq!((&collected.stdout[..], collected.outcome.cancelled), (&b"so far"[..], true));
}

#[tokio::test(start_paused = true)]
async fn stdin_waits_for_credit_and_ends() {
    let mut world = world().await;
    let exec = world.sandbox.exec(ExecRequest { stdin: true, ..ExecRequest::argv(["cat"]) }).await.unwrap();
    let (stream, _) = world.runner.opened().await;
    let control = exec.control();
    let total = 3 * STREAM_CREDIT_BYTES as usize;
    let writing = tokio::spawn(async move {
        control.write_stdin(&vec![7; total]).await.unwrap();
        control.close_stdin();
    });
    let mut received = 0;
    loop {
        match world.runner.next().await {
            Some(Event::Data(from, Channel::Main, bytes)) if from == stream => {
                received += bytes.len();
                // Never more than the drained bytes and half a window may be in flight.
                assert!(received <= total);
                world.runner.session.consumed(stream, bytes.len());
            }
            Some(Event::End(_, Channel::Main)) => break,
            other => panic!("{other:?}"),
        }
    }
    writing.await.unwrap();
    assert_eq!(received, total);
    world.runner.exit(stream, 0, 0);
    world.runner.flush().await;
    let control = exec.control();
    exec.collect(0).await.unwrap();
    assert_eq!(control.write_stdin(b"late").await, Err(SandboxError::InputClosed));
}

#[tokio::test(start_paused = true)]
async fn writer_of_stdin_stops_while_the_command_does_not_read() {
    let mut world = world().await;
    let exec = world.sandbox.exec(ExecRequest { stdin: true, ..ExecRequest::argv(["sleep"]) }).await.unwrap();
    world.runner.opened().await;
    let control = exec.control();
    let mut writing = tokio::spawn(async move { control.write_stdin(&vec![7; 16 << 20]).await });
    let mut received = 0;
    while let Ok(Some(Event::Data(_, _, bytes))) =
        tokio::time::timeout(Duration::from_secs(1), world.runner.next()).await
    {
        received += bytes.len();
    }
    assert_eq!(received, STREAM_CREDIT_BYTES as usize);
    assert!(tokio::time::timeout(Duration::from_millis(1), &mut writing).await.is_err());
    drop(exec);
    assert_eq!(writing.await.unwrap(), Err(SandboxError::InputClosed));
}

#[tokio::test(start_paused = true)]
async fn fifty_execs_at_once_do_not_mix_up() {
    let mut world = world().await;
    let mut waiting = Vec::new();
    for number in 0..50 {
        let exec = world.sandbox.exec(ExecRequest::shell(format!("{number}"))).await.unwrap();
        waiting.push(tokio::spawn(async move { exec.collect(100).await.unwrap().stdout }));
    }
    for _ in 0..50 {
        let (stream, request) = world.runner.opened().await;
        let Request::Exec(proto::request::Exec { command: Command::Shell(line), .. }) = request else {
            panic!("{request:?}")
        };
        world.runner.write(stream, Channel::Stdout, &line);
        world.runner.exit(stream, 0, line.len() as u64);
    }
    world.runner.flush().await;
    for (number, task) in waiting.into_iter().enumerate() {
        assert_eq!(task.await.unwrap(), number.to_string().into_bytes());
    }
}

#[tokio::test(start_paused = true)]
async fn too_many_data_streams_are_busy_and_small_requests_go_on() {
    let mut world = world().await;
    let mut running = Vec::new();
    for _ in 0..128 {
        running.push(world.sandbox.exec(ExecRequest::argv(["sleep"])).await.unwrap());
    }
    let mut refused = world.sandbox.exec(ExecRequest::argv(["sleep"])).await.unwrap();
    let Some(ExecEvent::Failed(error)) = refused.next().await else { panic!("not refused") };
    assert_eq!(error.kind(), "busy");
    let sandbox = world.sandbox.clone();
    let stat = tokio::spawn(async move { sandbox.stat(b"x").await });
    loop {
        if let (stream, Request::Stat(_)) = world.runner.opened().await {
            world.runner.session.fail(stream, &WireError::new(ErrorKind::NotFound, "nothing is there"));
            break;
        }
    }
    world.runner.flush().await;
    assert_eq!(stat.await.unwrap().unwrap_err().kind(), "not_found");
}

#[tokio::test(start_paused = true)]
async fn file_is_read_whole_and_written_whole() {
    let mut world = world().await;
    let sandbox = world.sandbox.clone();
    let reading = tokio::spawn(async move {
        let mut reader = sandbox.read_file(b"f", Range::default()).await.unwrap();
        let mut read = Vec::new();
        while let Some(bytes) = reader.next().await {
            read.extend_from_slice(&bytes.unwrap());
        }
        (reader.size_bytes(), reader.mode(), read)
    });
    let (stream, _) = world.runner.opened().await;
    world.runner.send(stream, FileOpened { size_bytes: 5, mode: 0o640, modified_ms: 1 }, false);
    world.runner.write(stream, Channel::Main, b"hello");
    world.runner.session.end(stream, Channel::Main);
    world.runner.send(stream, FileRead { bytes: 5 }, true);
    world.runner.flush().await;
    assert_eq!(reading.await.unwrap(), (5, 0o640, b"hello".to_vec()));

    let sandbox = world.sandbox.clone();
    let content: Vec<u8> = (0..200_000u32).map(|number| number as u8).collect();
    let expected = content.clone();
    let writing = tokio::spawn(async move {
        let mut writer = sandbox.write_file(b"g", WriteOptions::default()).await.unwrap();
        for piece in content.chunks(1000) {
            writer.write(piece).await.unwrap();
        }
        writer.finish().await
    });
    let (stream, _) = world.runner.opened().await;
    let mut received = Vec::new();
    while let Some(Event::Data(_, _, bytes)) = world.runner.next().await {
        received.extend_from_slice(&bytes);
    }
    assert_eq!(received, expected);
    world.runner.send(stream, FileWritten { bytes: 200_000 }, true);
    world.runner.flush().await;
    assert_eq!(writing.await.unwrap(), Ok(200_000));
}

#[tokio::test(start_paused = true)]
async fn writer_gets_the_reason_while_it_still_writes_and_a_dropped_one_cancels() {
    let mut world = world().await;
    let mut writer = world.sandbox.write_file(b"../x", WriteOptions::default()).await.unwrap();
    let (stream, _) = world.runner.opened().await;
    let error = WireError::new(ErrorKind::EscapesWorkspace, "path escapes the workspace");
    world.runner.session.fail(stream, &error);
    world.runner.flush().await;
    settle().await;
    let failed = writer.write(&[0; 2 * MAX_DATA_BYTES]).await.unwrap_err();
    assert_eq!(failed.kind(), "escapes_workspace");

    let writer = world.sandbox.write_file(b"x", WriteOptions::default()).await.unwrap();
    let (stream, _) = world.runner.opened().await;
    drop(writer);
    assert_eq!(world.runner.next().await, Some(Event::Cancelled(stream)));
}

#[tokio::test(start_paused = true)]
async fn listing_keeps_its_batches_apart() {
    let mut world = world().await;
    let mut reader = world.sandbox.read_dir(b".").await.unwrap();
    let (stream, _) = world.runner.opened().await;
    for name in ["a", "b"] {
        let entry = DirEntry { name: name.into(), kind: FileKind::File, size_bytes: 0 };
        let batch = codec::encode(&DirBatch { entries: vec![entry] }).unwrap();
        world.runner.write(stream, Channel::Main, &batch);
    }
    world.runner.send(stream, DirRead { entries: 2 }, true);
    world.runner.flush().await;
    settle().await;
    assert_eq!(reader.next_batch().await.unwrap().unwrap()[0].name, b"a");
    assert_eq!(reader.next_batch().await.unwrap().unwrap()[0].name, b"b");
    assert!(reader.next_batch().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn unknown_message_cancels_its_stream_and_the_link_lives() {
    let mut world = world().await;
    let mut exec = world.sandbox.exec(ExecRequest::argv(["true"])).await.unwrap();
    let (stream, _) = world.runner.opened().await;
    let header = proto::frame::Header {
        type_number: 9_999,
        ..proto::frame::Header::new(proto::frame::Kind::Message, stream)
    };
    let frame = LinkMessage::Binary(header.frame(b"from a later version"));
    futures_util::SinkExt::send(&mut world.runner.link, frame).await.unwrap();
    assert_eq!(world.runner.next().await, Some(Event::Cancelled(stream)));
    world.runner.session.fail(stream, &WireError::new(ErrorKind::Cancelled, "cancelled"));
    world.runner.flush().await;
    assert!(matches!(exec.next().await, Some(ExecEvent::Failed(_))));
    assert!(!world.served.is_finished());
}

#[tokio::test(start_paused = true)]
async fn messages_without_end_close_the_link() {
    let mut world = world().await;
    let _exec = world.sandbox.exec(ExecRequest::argv(["true"])).await.unwrap();
    let (stream, _) = world.runner.opened().await;
    for _ in 0..2_000 {
        world.runner.send(stream, ExecStarted { pid: 1 }, false);
    }
    let sending = async {
        world.runner.flush().await;
        world.runner.next().await
    };
    let Some(Event::Closed(close)) = sending.await else { panic!("not closed") };
    assert_eq!(close.code, CloseCode::Flooded);
    assert!(matches!(world.served.await.unwrap(), Err(LinkError::Broken(_))));
}

#[tokio::test(start_paused = true)]
async fn listing_in_pieces_of_one_byte_closes_the_link() {
    let mut world = world().await;
    let _reader = world.sandbox.read_dir(b".").await.unwrap();
    let (stream, _) = world.runner.opened().await;
    for _ in 0..=MAX_WAITING_PIECES {
        world.runner.write(stream, Channel::Main, b"x");
        world.runner.flush().await;
    }
    assert_eq!(world.runner.closed().await.code, CloseCode::Flooded);
    assert!(matches!(world.served.await.unwrap(), Err(LinkError::Broken(_))));
}

#[tokio::test(start_paused = true)]
async fn idle_link_lives_by_heartbeats_and_a_silent_peer_is_dead_after_30_s() {
    let mut world = world().await;
    let idle = tokio::time::timeout(Duration::from_secs(120), world.runner.next()).await;
    assert!(idle.is_err() && !world.served.is_finished());
    let before = tokio::time::Instant::now();
    assert!(
        matches!(world.served.await.unwrap(), Err(LinkError::Broken(close)) if close.code == CloseCode::Dead)
    );
    assert!(before.elapsed() <= Duration::from_secs(32), "{:?}", before.elapsed());
}

#[tokio::test(start_paused = true)]
async fn shutdown_says_goodbye_and_waits_for_the_end() {
    let mut world = world().await;
    let stopping = world.router.clone();
    let stopped = tokio::spawn(async move { stopping.shutdown().await });
    assert_eq!(world.runner.closed().await.code, CloseCode::GoingAway);
    stopped.await.unwrap();
    assert!(world.served.await.unwrap().is_ok());
}

#[tokio::test(start_paused = true)]
async fn answer_of_another_request_is_a_protocol_error() {
    let mut world = world().await;
    let sandbox = world.sandbox.clone();
    let stat = tokio::spawn(async move { sandbox.stat(b"x").await });
    let (stream, _) = world.runner.opened().await;
    world.runner.send(stream, Done {}, true);
    world.runner.flush().await;
    assert_eq!(stat.await.unwrap().unwrap_err().kind(), "protocol");
}

#[tokio::test(start_paused = true)]
async fn handles_share_one_set_of_facts() {
    let world = world().await;
    let facts = &world.router.runners("u1")[0].facts;
    assert!(std::ptr::eq(Arc::as_ptr(facts), world.sandbox.facts()));
}
